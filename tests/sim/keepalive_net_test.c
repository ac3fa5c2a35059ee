/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keepalives on a network: among messages in both directions, over links that lose, repeat and
 * reorder frames, nobody sees anything of them; a node that is gone is found in the time that was
 * asked for, and one that was away for less is not.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "net.h"
#include "test_random.h"

enum {
	MESSAGES = 150, /* of each side */
	MTU = 256,
	LEN_MAX = 3 * MTU,
	PLACE = 1024, /* for a message */
	/* Where things are in a node's memory. */
	SOURCE_BYTES = 4096,
	WORD = SOURCE_BYTES,
	IN = 2 * SOURCE_BYTES,
	BACK = IN + MESSAGES * PLACE,
	MEM_BYTES = BACK + MESSAGES * PLACE,
	CROWD = 50,
	RETRIES = 7,
};

#define MS	   1000000ull
#define TIMEOUT_NS (4096ull << 8) /* 1.05 ms */
#define FOR_EVER   UINT64_MAX

struct message {
	enum uroce_wr_opcode opcode;
	uint32_t from, bytes;
};

struct side {
	struct message messages[MESSAGES];
	uint32_t posted, done, received;
	uint32_t sends, adds; /* among the messages */
	uint64_t next_ns;     /* when the next is to be posted */
};

struct talk {
	struct net net;
	struct side sides[2];
	uint64_t random;
	bool good;
};

static struct node_qp_conf alive_qp(uint32_t peer, uint32_t peer_qp, uint32_t keepalive_ms)
{
	struct node_qp_conf qp = node_qp_defaults(peer, peer_qp);

	qp.mtu_bytes = MTU;
	qp.attr.timeout = 8;
	qp.attr.retry_cnt = RETRIES;
	qp.caps.keepalive_ms = keepalive_ms;
	return qp;
}

/* ---- messages among keepalives ---- */

static void draw(struct talk *t, struct side *side)
{
	static const enum uroce_wr_opcode opcodes[] = {UROCE_WR_RDMA_WRITE, UROCE_WR_SEND,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD};

	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct message *m = &side->messages[i];

		m->opcode = opcodes[random_below(&t->random, 4)];
		m->bytes = random_below(&t->random, LEN_MAX + 1);
		m->from = random_below(&t->random, SOURCE_BYTES - LEN_MAX);
		if (m->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
			m->bytes = 8;
		side->adds += m->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD;
		side->sends += m->opcode == UROCE_WR_SEND;
	}
}

static void start(struct talk *t, uint64_t seed)
{
	struct net_port_conf ports[2];
	struct node_qp_conf qps[2];
	struct node_conf nodes[2];
	struct net_conf conf = {.num_nodes = 2,
		.nodes = nodes,
		.ports = ports,
		.seed = seed,
		.loss_ppm = (uint32_t)(seed % 4) * 10000,
		.duplicate_ppm = 50000,
		.reorder_ppm = 50000,
		.flip_ppm = 10000};

	memset(t, 0, sizeof(*t));
	t->random = seed;
	t->good = true;
	for (uint32_t i = 0; i < 2; i++) {
		ports[i] = (struct net_port_conf){.ns_per_kib = 819, .latency_ns = 5000};
		qps[i] = alive_qp(1 - i, 0, 1);
		qps[i].caps.max_send_wr = qps[i].caps.max_recv_wr = 256;
		qps[i].sq_psn = qps[i].rq_psn = seed % 2 ? 0xffffe0 : 0x7fffe0;
		qps[i].recv_cq = 1;
		nodes[i] = (struct node_conf){.mem_bytes = MEM_BYTES,
			.num_cqs = 2,
			.cqes = 256,
			.num_qps = 1,
			.qps = &qps[i]};
	}
	net_init(&t->net, &conf);
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t at = 0; at < SOURCE_BYTES; at++)
			t->net.nodes[i].mem[at] = (uint8_t)random_below(&t->random, 256);
		draw(t, &t->sides[i]);
	}
	/* The other side's SENDs come in order, each to the place of its own. */
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < MESSAGES; k++)
			if (t->sides[1 - i].messages[k].opcode == UROCE_WR_SEND)
				node_post_recv(&t->net.nodes[i], 0, k, IN + k * PLACE, PLACE);
}

static bool posts(const struct message *m)
{
	return m->opcode == UROCE_WR_RDMA_WRITE || m->opcode == UROCE_WR_SEND;
}

static void post(struct talk *t, uint32_t i)
{
	struct side *side = &t->sides[i];
	const struct message *m = &side->messages[side->posted];
	struct node *near = &t->net.nodes[i], *far = &t->net.nodes[1 - i];
	uint32_t place = side->posted * PLACE;
	struct endpoint_wr wr = {.wr_id = side->posted,
		.opcode = m->opcode,
		.num_segs = m->bytes > 0,
		.rkey = far->key,
		.remote_addr = (uintptr_t)(far->mem + IN + place),
		.compare_add = 1,
		.segs = {{posts(m) ? m->from : BACK + place, m->bytes}}};

	if (m->opcode == UROCE_WR_RDMA_READ)
		wr.remote_addr = (uintptr_t)(far->mem + m->from);
	if (m->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
		wr.remote_addr = (uintptr_t)(far->mem + WORD);
	t->good &= node_post_send(near, 0, &wr);
	side->posted++;
	/* Often enough at once, and often after a silence. */
	side->next_ns = t->net.now_ns;
	if (random_below(&t->random, 2))
		side->next_ns += random_below(&t->random, 4 * (uint32_t)MS);
}

static void poll(struct talk *t, uint32_t i)
{
	struct side *side = &t->sides[i];
	struct uroce_cqe cqe;

	while (node_poll(&t->net.nodes[i], 0, &cqe, 1) == 1)
		t->good &= cqe.status == UROCE_STATUS_SUCCESS && cqe.wr_id == side->done++;
	while (node_poll(&t->net.nodes[i], 1, &cqe, 1) == 1) {
		t->good &= cqe.status == UROCE_STATUS_SUCCESS &&
			cqe.bytes == t->sides[1 - i].messages[cqe.wr_id].bytes;
		side->received++;
	}
}

/* A moment of the net, or the time of the next message. */
static bool step(struct talk *t)
{
	uint64_t next_ns = FOR_EVER - 1;
	bool is_over = true;

	for (uint32_t i = 0; i < 2; i++) {
		struct side *side = &t->sides[i];

		poll(t, i);
		if (side->posted < MESSAGES && side->next_ns <= t->net.now_ns)
			post(t, i);
		if (side->posted < MESSAGES && side->next_ns < next_ns)
			next_ns = side->next_ns;
		is_over &= side->done == MESSAGES && side->received == t->sides[1 - i].sends;
	}
	if (is_over || !t->good || t->net.now_ns > 60000 * MS)
		return false;
	if (next_ns < t->net.now_ns)
		next_ns = t->net.now_ns;
	if (!net_step(&t->net, next_ns) && t->net.now_ns < next_ns)
		t->net.now_ns = next_ns;
	return true;
}

static bool memory_is_right(const struct talk *t)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct side *side = &t->sides[i];
		const uint8_t *near = t->net.nodes[i].mem, *far = t->net.nodes[1 - i].mem;
		uint64_t added = 0, word;

		memcpy(&word, far + WORD, sizeof(word));
		for (uint32_t k = 0; k < MESSAGES; k++) {
			const struct message *m = &side->messages[k];
			uint32_t place = k * PLACE;

			if (m->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
				if (memcmp(near + BACK + place, &added, sizeof(added)) != 0)
					return false;
				added++;
			} else if (posts(m)
					? memcmp(far + IN + place, near + m->from, m->bytes)
					: memcmp(near + BACK + place, far + m->from, m->bytes)) {
				return false;
			}
		}
		if (word != side->adds)
			return false;
	}
	return true;
}

static void nobody_sees_them(void)
{
	static struct talk t;
	uint64_t asked = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		start(&t, seed);
		while (step(&t))
			;
		CU_ASSERT_TRUE(t.good);
		for (uint32_t i = 0; i < 2; i++) {
			const struct node *node = &t.net.nodes[i];

			CU_ASSERT_EQUAL(t.sides[i].done, MESSAGES);
			CU_ASSERT_EQUAL(t.sides[i].received, t.sides[1 - i].sends);
			CU_ASSERT_EQUAL(node->core.counters.messages_sent, MESSAGES);
			CU_ASSERT_EQUAL(node->qps[0].qp->state, UROCE_QP_RTS);
			CU_ASSERT_TRUE(node_counts_add_up(node));
			asked += node->core.counters.keepalives_sent;
		}
		CU_ASSERT_TRUE(memory_is_right(&t));
		if (!t.good)
			printf("  seed %llu\n", (unsigned long long)seed);
		net_fini(&t.net);
	}
	/* And they were there. */
	CU_ASSERT_TRUE(asked > 100 * 20);
}

/* ---- a node that is gone ---- */

static void start_crowd(
	struct net *net, uint32_t keepalive_ms, const struct net_pause *pause, uint32_t num_qps)
{
	const struct net_port_conf ports[2] = {
		{.ns_per_kib = 819, .latency_ns = 5000}, {.ns_per_kib = 819, .latency_ns = 5000}};
	struct node_qp_conf qps[2][CROWD];
	struct node_conf nodes[2];
	struct net_conf conf = {.num_nodes = 2,
		.nodes = nodes,
		.ports = ports,
		.seed = 1,
		.pauses = pause,
		.num_pauses = pause ? 1 : 0};

	for (uint32_t i = 0; i < num_qps; i++) {
		qps[0][i] = alive_qp(1, i, keepalive_ms);
		qps[1][i] = alive_qp(0, i, 0);
	}
	for (uint32_t i = 0; i < 2; i++)
		nodes[i] = (struct node_conf){.mem_bytes = 4096,
			.num_cqs = 1,
			.cqes = 64,
			.num_qps = num_qps,
			.qps = qps[i]};
	net_init(net, &conf);
}

static uint32_t count_lost(const struct net *net)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; i < net->nodes[0].num_qps; i++) {
		const struct uroce_qp *qp = net->nodes[0].qps[i].qp;

		lost += qp->state == UROCE_QP_ERR && qp->report.cause == UROCE_CAUSE_KEEPALIVE;
	}
	return lost;
}

static void who_is_gone_is_found_in_time(void)
{
	static const uint32_t every_ms[] = {1, 10, 1000};

	for (size_t i = 0; i < sizeof(every_ms) / sizeof(every_ms[0]); i++) {
		uint64_t alive_ns = every_ms[i] * MS, gone_ns = 20 * alive_ns + MS / 3;
		const struct net_pause gone = {1, gone_ns, FOR_EVER};
		struct net net;

		start_crowd(&net, every_ms[i], &gone, CROWD);
		net_run(&net, gone_ns + TIMEOUT_NS * RETRIES);
		CU_ASSERT_EQUAL(count_lost(&net), 0);
		net_run(&net, gone_ns + alive_ns + TIMEOUT_NS * (RETRIES + 1) + MS / 10);
		CU_ASSERT_EQUAL(count_lost(&net), CROWD);
		net_fini(&net);
	}
}

/* So that the test above can fail. */
static void without_one_nobody_is_missed(void)
{
	const struct net_pause gone = {1, MS, FOR_EVER};
	struct net net;

	start_crowd(&net, 0, &gone, CROWD);
	CU_ASSERT_TRUE(net_run(&net, 100000 * MS));
	CU_ASSERT_EQUAL(net.frames, 0);
	for (uint32_t i = 0; i < CROWD; i++)
		CU_ASSERT_EQUAL(net.nodes[0].qps[i].qp->state, UROCE_QP_RTS);
	net_fini(&net);
}

static void who_comes_back_is_not_lost(void)
{
	const struct net_pause away = {1, 20 * MS + MS / 3, 20 * MS + TIMEOUT_NS * RETRIES};
	struct net net;

	start_crowd(&net, 1, &away, CROWD);
	net_run(&net, 1000 * MS);
	CU_ASSERT_EQUAL(count_lost(&net), 0);
	for (uint32_t i = 0; i < CROWD; i++)
		CU_ASSERT_EQUAL(net.nodes[0].qps[i].qp->state, UROCE_QP_RTS);
	net_fini(&net);
}

/* A question and an answer for each span, and nothing else. */
static void silence_costs_two_frames_a_span(void)
{
	struct net net;

	start_crowd(&net, 10, NULL, 1);
	net_run(&net, 1000 * MS);
	CU_ASSERT_TRUE(net.frames >= 2 * 98 && net.frames <= 2 * 100);
	net_fini(&net);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"among messages nobody sees them", nobody_sees_them},
		{"who is gone is found in time", who_is_gone_is_found_in_time},
		{"without a keepalive nobody is missed", without_one_nobody_is_missed},
		{"who comes back is not lost", who_comes_back_is_not_lost},
		{"silence costs two frames a span", silence_costs_two_frames_a_span},
	};

	return run_suite("keepalive_net", cases, sizeof(cases) / sizeof(cases[0]));
}
