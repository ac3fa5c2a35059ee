/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints on ports that a host owns: what they take from its bursts and what they hand back, when
 * neighbours are their business and when they are the host's.
 *
 * Nothing here touches a port: bursts are carried from one endpoint to the other by hand.
 */
#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "cunit_run.h"
#include "neigh.h"
#include "uroce.h"

enum {
	TURNS = 100000,
	BURST = 32,
	POOL = 255,
};

// clang-format off

/* 192.0.2.9 at 02::09 asks all who has 192.0.2.1; the last byte says who is asked for. */
static const uint8_t question[42] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x08, 0x06, 0x00, 0x01,
	0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0xc0, 0x00, 0x02, 0x09,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x02, 0x01,
};
/* 192.0.2.9 pings 192.0.2.1; the MAC that it goes to is filled in. */
static const uint8_t ping[42] = {
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x08, 0x00, 0x45, 0x00,
	0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x40, 0x01, 0xf6, 0xd6, 0xc0, 0x00, 0x02, 0x09, 0xc0, 0x00,
	0x02, 0x01, 0x08, 0x00, 0xf7, 0xfd, 0x00, 0x01, 0x00, 0x01,
};

// clang-format on

struct side {
	struct uroce_device *dev;
	struct uroce_worker *worker;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	struct uroce_peer local;
	struct uroce_device_attr attr;
};

static struct side sides[2];
static struct rte_mempool *pool;

static void open_side(int who, bool neighbours)
{
	struct side *s = &sides[who];
	struct uroce_device_conf conf = {.port_id = (uint16_t)who,
		.addr = who ? "192.0.2.2/24" : "192.0.2.1/24",
		.host_owns_port = true,
		.neighbours = neighbours};

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	s->worker = uroce_device_worker(s->dev, 0);
	uroce_device_query(s->dev, &s->attr);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 8, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(
		uroce_qp_create(
			s->pd, &(struct uroce_qp_conf){.send_cq = s->cq, .recv_cq = s->cq}, &s->qp),
		0);
	uroce_qp_local(s->qp, &s->local);
	memset(s->local.mac, 0, sizeof(s->local.mac));
}

static void close_side(int who)
{
	struct side *s = &sides[who];

	CU_ASSERT_EQUAL(uroce_qp_destroy(s->qp), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

static struct rte_mbuf *make_frame(const uint8_t *bytes, uint16_t n)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	memcpy(rte_pktmbuf_append(mbuf, n), bytes, n);
	return mbuf;
}

/* What an endpoint wants to send goes to the other, and what that hands back to nobody. */
static void carry(struct side *from, struct side *to)
{
	struct rte_mbuf *burst[BURST];
	uint16_t n = uroce_worker_tx(from->worker, burst, BURST);

	rte_pktmbuf_free_bulk(burst, uroce_worker_rx(to->worker, burst, n));
}

/* All that an endpoint sends by itself is gone for the next second. */
static void silence(struct side *s)
{
	struct rte_mbuf *burst[BURST];
	uint16_t n = uroce_worker_tx(s->worker, burst, BURST);

	rte_pktmbuf_free_bulk(burst, n);
}

static void endpoints_that_may_find_each_other(void)
{
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE, .flags = UROCE_SEND_SIGNALED};
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};
	int n = 0;

	open_side(0, true);
	open_side(1, true);
	CU_ASSERT_TRUE(sides[0].attr.neighbours && sides[0].attr.host_owns_port);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[0].qp, &sides[1].local), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[1].qp, &sides[0].local), 0);
	CU_ASSERT_EQUAL(uroce_post_send(sides[0].qp, &wr, 1), 1);
	for (int i = 0; n == 0 && i < TURNS; i++) {
		carry(&sides[0], &sides[1]);
		carry(&sides[1], &sides[0]);
		n = uroce_cq_poll(sides[0].cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	close_side(0);
	close_side(1);
}

static void an_endpoint_that_may_not_needs_records(void)
{
	open_side(0, false);
	open_side(1, false);
	CU_ASSERT_FALSE(sides[0].attr.neighbours);
	CU_ASSERT_EQUAL(uroce_qp_connect(sides[0].qp, &sides[1].local), -EHOSTUNREACH);
	memcpy(sides[1].local.mac, sides[1].attr.mac, sizeof(sides[1].local.mac));
	CU_ASSERT_EQUAL(uroce_qp_connect(sides[0].qp, &sides[1].local), 0);
	close_side(0);
	close_side(1);
}

/* Gives one frame; returns how many of it came back, and how many answers there are. */
static int give(struct side *s, const uint8_t *bytes, uint16_t num_bytes, uint16_t *answers)
{
	struct rte_mbuf *mbuf = make_frame(bytes, num_bytes), *burst[BURST];
	uint16_t back = uroce_worker_rx(s->worker, &mbuf, 1);

	if (back == 1) {
		CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(mbuf, uint8_t *), bytes, num_bytes), 0);
		rte_pktmbuf_free(mbuf);
	}
	*answers = uroce_worker_tx(s->worker, burst, BURST);
	if (*answers == 1)
		CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(burst[0], uint8_t *), bytes + 6, 6), 0);
	rte_pktmbuf_free_bulk(burst, *answers);
	return back;
}

/* By whether the endpoint answers for itself: what comes back, and how many answers there are. */
static void questions_and_pings(bool neighbours)
{
	uint8_t frame[42];
	uint16_t answers;

	open_side(0, neighbours);
	silence(&sides[0]);
	CU_ASSERT_EQUAL(give(&sides[0], question, sizeof(question), &answers), !neighbours);
	CU_ASSERT_EQUAL(answers, neighbours);
	memcpy(frame, ping, sizeof(frame));
	memcpy(frame, sides[0].attr.mac, 6);
	CU_ASSERT_EQUAL(give(&sides[0], frame, sizeof(frame), &answers), !neighbours);
	CU_ASSERT_EQUAL(answers, neighbours);
	/* Whoever else is asked for or pinged has to hear of it. */
	memcpy(frame, question, sizeof(frame));
	frame[41] = 7;
	CU_ASSERT_EQUAL(give(&sides[0], frame, sizeof(frame), &answers), 1);
	CU_ASSERT_EQUAL(answers, 0);
	memcpy(frame, ping, sizeof(frame));
	memcpy(frame, sides[0].attr.mac, 6);
	frame[0] ^= 4;
	CU_ASSERT_EQUAL(give(&sides[0], frame, sizeof(frame), &answers), 1);
	CU_ASSERT_EQUAL(answers, 0);
	close_side(0);
}

static void questions_to_an_endpoint_that_may_are_answered(void)
{
	questions_and_pings(true);
}

static void questions_to_one_that_may_not_are_the_hosts(void)
{
	questions_and_pings(false);
}

/* An answer to what the endpoint has asked is of use to the host's own stack as well. */
static void answers_are_heard_and_handed_back(void)
{
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE};
	struct rte_mbuf *request;
	uint8_t frame[42];
	uint16_t answers;

	open_side(0, true);
	open_side(1, true);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[0].qp, &sides[1].local), 0);
	silence(&sides[0]);
	CU_ASSERT_EQUAL(uroce_post_send(sides[0].qp, &wr, 1), 1);
	CU_ASSERT_EQUAL(uroce_worker_tx(sides[0].worker, &request, 1), 0);
	memcpy(frame, question, sizeof(frame));
	frame[31] = 2; /* 192.0.2.2 says where it is, and asks for another */
	frame[41] = 7;
	CU_ASSERT_EQUAL(give(&sides[0], frame, sizeof(frame), &answers), 1);
	CU_ASSERT_EQUAL_FATAL(uroce_worker_tx(sides[0].worker, &request, 1), 1);
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(request, uint8_t *), frame + 6, 6), 0);
	rte_pktmbuf_free(request);
	close_side(0);
	close_side(1);
}

static void nothing_is_left_of_the_hosts_buffers(void)
{
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), POOL);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"endpoints that may find each other by ARP", endpoints_that_may_find_each_other},
		{"an endpoint that may not needs records with MACs",
			an_endpoint_that_may_not_needs_records},
		{"questions and pings to an endpoint that may are answered, others handed back",
			questions_to_an_endpoint_that_may_are_answered},
		{"questions and pings to one that may not are the host's",
			questions_to_one_that_may_not_are_the_hosts},
		{"what others say of themselves is heard and handed back",
			answers_are_heard_and_handed_back},
		{"nothing is left of the host's buffers", nothing_is_left_of_the_hosts_buffers},
	};

	if (uroce_eal_init_embedded(2) != 0)
		return 1;
	pool = rte_pktmbuf_pool_create("host", POOL, 0, 0, 2048, SOCKET_ID_ANY);
	if (!pool)
		return 1;
	return run_suite("embed", cases, sizeof(cases) / sizeof(cases[0]));
}
