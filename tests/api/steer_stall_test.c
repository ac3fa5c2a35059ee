/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three workers on one port, of which one does not run, or sleeps: what the others hand it, what
 * they wait for, and what is left when they end.
 */
#include "sleeper.h"
#include "steer_rig.h"

/* ---- workers that do not run ---- */

/* Turns of one worker at a time that stands still. */
static void turn_at(int who, unsigned int worker, uint64_t now_ns, int turns)
{
	struct uroce_worker *w = worker_of(who, worker);

	for (int i = 0; i < turns; i++)
		uroce_poller_turn(&w->poller, &w->core, now_ns);
}

static void frames_for_a_worker_that_does_not_run_are_bounded_and_counted(void)
{
	const uint32_t frames = MEM_BYTES / 256;
	struct uroce_qp *from, *to;
	struct uroce_poller *pusher;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 0);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	fill(7);
	post_write(from, MEM_BYTES);
	/* Each turn returns, and the pusher goes on, whether there is room for what it has or not.
	 */
	for (uint32_t i = 0; i < frames; i++) {
		turn_at(0, 0, 1, 1);
		turn_at(1, 0, 1, 1);
	}
	pusher = &worker_of(1, 0)->poller;
	CU_ASSERT_EQUAL(worker_of(1, 0)->core.counters.rx_handed_over, frames);
	CU_ASSERT_EQUAL(pusher->counters.handover_full, frames - UROCE_STEER_FRAMES_MAX / 2);
	CU_ASSERT_EQUAL(worker_of(1, 1)->core.counters.rx_frames, 0);
	/* What was lost is sent again once there is somebody to miss it. */
	await_write(MEM_BYTES);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

static void frames_of_a_worker_without_a_queue_wait_for_one_with_a_queue(void)
{
	const uint32_t bounded = UROCE_STEER_FRAMES_MAX / 2 + UROCE_BURST;
	struct uroce_qp *from, *to;
	struct uroce_worker *sender;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 1);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	fill(9);
	post_write(from, MEM_BYTES);
	turn_at(0, 1, 1, MEM_BYTES / 256);
	sender = worker_of(0, 1);
	/* No more is built than there is room for, and what is built is not lost. */
	CU_ASSERT_EQUAL(sender->core.counters.tx_frames, bounded);
	CU_ASSERT_EQUAL(sender->poller.pending.num, UROCE_BURST);
	CU_ASSERT_TRUE(sender->poller.counters.tx_kept > 0);
	CU_ASSERT_EQUAL(sender->poller.counters.tx_refused, 0);
	CU_ASSERT_EQUAL(rte_ring_count(wires[ONE_QUEUE][0]), 0);
	/* All of it goes out, and each turn takes a burst of each client's. */
	turn_at(0, 0, 2, 1);
	CU_ASSERT_EQUAL(relayed_by(0, 0), 2 * UROCE_BURST);
	CU_ASSERT_TRUE(rte_ring_count(wires[ONE_QUEUE][0]) >= 2 * UROCE_BURST);
	await_write(MEM_BYTES);
	CU_ASSERT_EQUAL(sender->poller.counters.tx_refused, 0);
	CU_ASSERT_EQUAL(worker_of(1, 1)->core.counters.out_of_sequence, 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

/* A worker with a queue that never runs again must not stop the others from turning. */
static void a_worker_whose_frames_nobody_takes_loses_the_oldest(void)
{
	struct uroce_qp *from, *to;
	struct uroce_worker *sender;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 1);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	post_write(from, MEM_BYTES);
	turn_at(0, 1, 1, MEM_BYTES / 256);
	sender = worker_of(0, 1);
	for (uint64_t i = 1; i <= 3; i++) {
		turn_at(0, 1, i * 200000000, 1);
		CU_ASSERT_EQUAL(sender->poller.counters.tx_refused, i);
	}
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

static void closing_frees_the_frames_on_their_way(void)
{
	struct uroce_qp *from, *to;
	struct rte_mempool *pool;

	open_sides(ONE_QUEUE);
	pool = sides[0].dev->port.pool;
	from = make_qp(0, 1);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	post_write(from, MEM_BYTES);
	turn_at(0, 1, 1, MEM_BYTES / 256);
	/* Some to the other side, some still on their way to who has the queue. */
	turn_at(0, 0, 2, 4);
	turn_at(1, 0, 2, 100);
	CU_ASSERT_TRUE(uroce_steer_any(&sides[0].dev->out, 0));
	CU_ASSERT_TRUE(uroce_steer_any(&sides[1].dev->in, 1));
	CU_ASSERT_TRUE(rte_mempool_in_use_count(pool) > 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	for (int who = 0; who < 2; who++)
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_poller_fini(&worker_of(who, w)->poller);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	/* But for what is on the wire, which is not this port's any more. */
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(sides[1].dev->port.pool),
		rte_ring_count(back[ONE_QUEUE][0]));
	close_sides();
}

/* ---- timers ---- */

#define MS 1000000ull

/*
 * The answer has come to the queue of worker 0, which does not run: the retry timer of worker 1's
 * queue pair waits for it, for a second.
 */
static void a_retry_timer_waits_for_who_has_the_queue(void)
{
	struct uroce_qp *from, *to;
	const struct uroce_counters *c;

	open_sides(ONE_QUEUE);
	c = &worker_of(0, 1)->core.counters;
	from = make_qp(0, 1);
	to = make_qp(1, 0);
	connect_qps(from, to, 4096);
	post_write(from, 64);
	turn_at(0, 1, 1 * MS, 1);
	turn_at(0, 0, 1 * MS, 1);
	turn_at(1, 0, 1 * MS, 2);
	for (uint64_t ms = 1; ms < 1000; ms++)
		turn_at(0, 1, ms * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 0);
	/* Then it takes the answer for lost; for how long, the timer says: 67 ms. */
	for (uint64_t ms = 1000; ms < 1060; ms++)
		turn_at(0, 1, ms * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 0);
	turn_at(0, 1, 1100 * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 1);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

static void a_retry_timer_does_not_wait_for_who_has_said_goodbye(void)
{
	struct uroce_qp *from, *to;
	const struct uroce_counters *c;

	open_sides(ONE_QUEUE);
	c = &worker_of(0, 1)->core.counters;
	from = make_qp(0, 1);
	to = make_qp(1, 0);
	connect_qps(from, to, 4096);
	post_write(from, 64);
	turn_at(0, 1, 1 * MS, 1);
	/* As a thread does that polls and then stops. */
	uroce_worker_poll(worker_of(0, 0));
	turn_at(0, 0, 1 * MS, 1);
	uroce_worker_offline(worker_of(0, 0));
	turn_at(0, 1, 60 * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 0);
	turn_at(0, 1, 100 * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 1);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

/* ---- damage ---- */

static void a_damaged_frame_is_found_out_by_whom_it_is_for(void)
{
	struct uroce_qp *from, *to;
	struct rte_mbuf *mbuf = NULL;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 0);
	to = make_qp(1, 2);
	connect_qps(from, to, 4096);
	fill(3);
	post_write(from, 4096);
	turn_at(0, 0, 1, 1);
	/* Behind ARP's questions. */
	do {
		CU_ASSERT_EQUAL_FATAL(rte_ring_dequeue(wires[ONE_QUEUE][0], (void **)&mbuf), 0);
		if (mbuf->pkt_len < 4096)
			rte_pktmbuf_free(mbuf);
	} while (mbuf->pkt_len < 4096);
	rte_pktmbuf_mtod(mbuf, uint8_t *)[2000] ^= 1;
	CU_ASSERT_EQUAL(rte_ring_enqueue(wires[ONE_QUEUE][0], mbuf), 0);
	turn_at(1, 0, 1, 1);
	turn_at(1, 2, 1, 1);
	CU_ASSERT_EQUAL(worker_of(1, 0)->core.counters.drops[UROCE_DROP_ICRC], 0);
	CU_ASSERT_EQUAL(worker_of(1, 2)->core.counters.drops[UROCE_DROP_ICRC], 1);
	CU_ASSERT_EQUAL(sides[1].mem[1900], 0);
	await_write(4096);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

/* ---- sleeping ---- */

/* Until the sleeper has answered, if it ever does. */
static void write_to_sleeper(struct uroce_qp *from, const struct sleeper *sleeper)
{
	struct uroce_wc wc;

	sleeper_await(sleeper);
	post_write(from, 64);
	while (uroce_cq_poll(sides[0].cq, &wc, 1) == 0) {
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_worker_poll(worker_of(0, w));
		uroce_worker_poll(worker_of(1, 0));
	}
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
}

/* On all queues, and without one of its own. */
static void a_frame_that_is_handed_over_wakes_its_worker(void)
{
	for (unsigned int t = ALL_QUEUES; t <= ONE_QUEUE; t++) {
		struct uroce_qp *from, *to;
		struct sleeper sleeper;

		open_side(t, 0, 0);
		open_side(t, 1, A_MINUTE_US);
		from = make_qp(0, 0);
		to = make_qp(1, 1);
		connect_qps(from, to, 4096);
		sleeper_start(&sleeper, worker_of(1, 1));
		for (int i = 0; i < 20; i++)
			write_to_sleeper(from, &sleeper);
		sleeper_stop(&sleeper);
		CU_ASSERT_TRUE(
			sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
		CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
		CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
		close_sides();
	}
}

static void a_frame_to_be_sent_wakes_who_has_the_queue(void)
{
	struct uroce_qp *from, *to;
	struct sleeper sleeper;
	uint64_t seen = 0;

	open_side(ONE_QUEUE, 0, A_MINUTE_US);
	open_side(ONE_QUEUE, 1, 0);
	from = make_qp(0, 1);
	to = make_qp(1, 0);
	connect_qps(from, to, 4096);
	sleeper_start(&sleeper, worker_of(0, 0));
	for (int i = 0; i < 20; i++) {
		sleeper_await(&sleeper);
		post_write(from, 64);
		/* It arrives; the answer waits for who sleeps on a port that cannot wake it. */
		while (worker_of(1, 0)->core.counters.rx_accepted == seen) {
			uroce_worker_poll(worker_of(0, 1));
			uroce_worker_poll(worker_of(1, 0));
		}
		seen = worker_of(1, 0)->core.counters.rx_accepted;
	}
	sleeper_stop(&sleeper);
	CU_ASSERT_TRUE(sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"frames for a worker that does not run are bounded and counted",
			frames_for_a_worker_that_does_not_run_are_bounded_and_counted},
		{"frames of a worker without a queue wait for one with a queue",
			frames_of_a_worker_without_a_queue_wait_for_one_with_a_queue},
		{"a worker whose frames nobody takes loses the oldest, and turns",
			a_worker_whose_frames_nobody_takes_loses_the_oldest},
		{"closing frees the frames on their way", closing_frees_the_frames_on_their_way},
		{"a retry timer waits for who has the queue",
			a_retry_timer_waits_for_who_has_the_queue},
		{"a retry timer does not wait for who has gone offline",
			a_retry_timer_does_not_wait_for_who_has_said_goodbye},
		{"a damaged frame is found out by whom it is for",
			a_damaged_frame_is_found_out_by_whom_it_is_for},
		{"a frame that is handed over wakes its worker",
			a_frame_that_is_handed_over_wakes_its_worker},
		{"a frame to be sent wakes who has the queue",
			a_frame_to_be_sent_wakes_who_has_the_queue},
	};

	if (uroce_eal_init_embedded(0) != 0 || !make_ports())
		return 1;
	return run_suite("steer_stall", cases, sizeof(cases) / sizeof(cases[0]));
}
