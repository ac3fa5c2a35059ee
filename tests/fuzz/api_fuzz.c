/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the public interface as an application would use it: any calls in any order, with any
 * arguments that the header's rules of ownership allow, on two devices tied by a link in memory.
 *
 * What must hold: a call returns 0, a count, or an errno that api/uroce.h lists for it; a post that
 * stops says why when it is tried again; completions belong to queue pairs that exist; everything
 * can be taken down in order at any point, and then nothing is left.
 */
#include <errno.h>
#include <string.h>

#include "device.h"
#include "input.h"

enum {
	STEPS_MAX = 300,
	DEVICES = 2,
	WORKERS = 2,
	SLOTS = 6,
	MEM_BYTES = 16384,
	WIRE_FRAMES = 64,
	FRAME_BYTES = 4480,
	BURST = 16,
	MTU_BYTES = 4096,
	WC_MAX = 16,
	POST_MAX = 3
};

/* One direction of the link; a full one drops. */
struct wire {
	struct {
		uint32_t bytes;
		uint8_t data[FRAME_BYTES];
	} frames[WIRE_FRAMES];
	uint32_t head, tail;
};

struct port {
	struct side *side;
	unsigned int worker;
};

struct side {
	struct uroce_device *dev;
	struct wire in;
	struct port ports[WORKERS];
	unsigned int num_workers;
	struct uroce_pd *pds[SLOTS];
	struct uroce_mr *mrs[SLOTS];
	struct uroce_mw *mws[SLOTS];
	struct uroce_cq *cqs[SLOTS];
	struct uroce_channel *channels[SLOTS];
	struct uroce_srq *srqs[SLOTS];
	struct uroce_ah *ahs[SLOTS];
	struct uroce_qp *qps[SLOTS];
	uint8_t mem[MEM_BYTES];
};

static struct side sides[DEVICES];
static struct input in;
static uint64_t now_ns;
static uint64_t wr_id;

/* ---- the link ---- */

static uint32_t receive(struct port *port, struct uroce_core *core)
{
	struct wire *wire = &port->side->in;
	uint32_t n = 0;

	/* The first worker takes everything, and hands over what is another's. */
	for (; port->worker == 0 && wire->head != wire->tail && n < BURST; wire->head++, n++) {
		uint32_t at = wire->head % WIRE_FRAMES;
		struct uroce_pkt pkt = {
			.data = wire->frames[at].data, .bytes = wire->frames[at].bytes};

		uroce_core_rx(core, now_ns, &pkt, 1);
		if (pkt.handed_over)
			uroce_core_rx(&port->side->dev->workers[pkt.owner].core, now_ns, &pkt, 1);
	}
	uroce_core_rx_empty(core, now_ns);
	return n;
}

static uint32_t turn(void *arg, struct uroce_core *core, uint64_t real_ns)
{
	struct port *port = arg;
	struct wire *out = &sides[port->side == &sides[0]].in;
	uint32_t moved = receive(port, core);
	uint32_t sent = 0;

	(void)real_ns; /* time is the input's */
	uroce_core_expire(core, now_ns);
	for (; sent < BURST && out->tail - out->head < WIRE_FRAMES; sent++) {
		uint32_t at = out->tail % WIRE_FRAMES;
		struct uroce_slot slot = {
			.data = out->frames[at].data, .capacity_bytes = FRAME_BYTES};

		if (uroce_core_tx(core, now_ns, &slot, 1) == 0)
			break;
		out->frames[at].bytes = slot.bytes;
		out->tail++;
	}
	return moved + sent;
}

static const struct uroce_link_ops link_ops = {.turn = turn};

static void open_side(struct side *side, unsigned int id)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)id};
	struct uroce_device_conf conf = {.max_qps = 8,
		.max_mrs = SLOTS + 2,
		.max_ahs = 4,
		.addr = id == 2 ? "192.0.2.2/24" : "192.0.2.1/24,2001:db8::1"};
	void *links[WORKERS];

	side->num_workers = 1 + (take(&in, 1) & 1);
	conf.num_workers = (uint16_t)side->num_workers;
	for (unsigned int i = 0; i < WORKERS; i++) {
		side->ports[i] = (struct port){side, i};
		links[i] = &side->ports[i];
	}
	FUZZ_MUST(uroce_device_open_link(&conf, mac, MTU_BYTES, &link_ops, links, &side->dev) == 0);
}

/* ---- choosing ---- */

/* One of the slots of a side. */
#define SLOT(side, kind) (&(side)->kind[take(&in, 1) % SLOTS])

static struct side *take_side(void)
{
	return &sides[take(&in, 1) % DEVICES];
}

/* Mostly a small number; sometimes any. */
static uint32_t take_number(uint32_t usual)
{
	uint32_t value = take(&in, 1);

	return value < 0xf0 ? value % (usual + 1) : take(&in, 4);
}

static bool is_one_of(int result, int a, int b, int c, int d)
{
	return result == 0 || result == -a || result == -b || result == -c || result == -d;
}

#define MAY_FAIL(call, ...) \
	do { \
		int result_ = (call); \
		const int allowed_[4] = {__VA_ARGS__}; \
		if (!is_one_of(result_, allowed_[0], allowed_[1], allowed_[2], allowed_[3])) { \
			fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call, result_); \
			abort(); \
		} \
	} while (0)

static void take_gid(uint8_t gid[16])
{
	static const uint32_t addrs[] = {
		0xc0000201, 0xc0000202, 0xc0000203, 0xe0000001, 0xe0000002, 0xe1020304};
	uint32_t how = take(&in, 1);

	if (how < 0xf0)
		uroce_gid_store(gid, uroce_gid_of_ipv4(addrs[how % 6]));
	else if (how < 0xf8)
		uroce_gid_store(gid, (struct uroce_gid){0x20010db800000000, how & 3});
	else
		take_bytes(&in, gid, 16);
}

static void take_mac(uint8_t mac[6])
{
	memset(mac, 0, 6);
	mac[5] = (uint8_t)take(&in, 1) % 4;
	mac[0] = mac[5] ? 2 : 0;
}

/* The key of a region or window of either side, as it was first; or its next; or any. */
static uint32_t take_key(void)
{
	struct side *side = take_side();
	uint32_t how = take(&in, 1);
	uint32_t slot = how % SLOTS;

	if (how >= 0xf0)
		return take(&in, 4);
	if (how & 0x80)
		return side->mws[slot] ? side->mws[slot]->rkey + how / SLOTS % 4 : 0;
	return side->mrs[slot] ? side->mrs[slot]->lkey + (how & 0x40 ? 1 : 0) : 0;
}

static uint8_t *take_place(uint32_t *bytes)
{
	uint32_t offset = take(&in, 2) % MEM_BYTES;

	*bytes = take(&in, 1) < 0x80 ? take(&in, 1) : take(&in, 2);
	if (*bytes > MEM_BYTES - offset)
		*bytes = MEM_BYTES - offset;
	return take_side()->mem + offset;
}

/* ---- domains, memory ---- */

static void do_pd(struct side *side)
{
	struct uroce_pd **pd = SLOT(side, pds);

	if (!*pd) {
		MAY_FAIL(uroce_pd_create(side->dev, pd), ENOMEM);
		return;
	}
	if (uroce_pd_destroy(*pd) == 0)
		*pd = NULL;
}

static void do_mr(struct side *side)
{
	struct uroce_pd *pd = *SLOT(side, pds);
	struct uroce_mr **mr = SLOT(side, mrs);
	uint32_t how = take(&in, 1), access = take(&in, 2), bytes;
	uint8_t *addr = take_place(&bytes);
	int err;

	if (*mr) {
		err = uroce_mr_deregister(*mr);
		FUZZ_MUST(err == 0 || err == -EBUSY);
		if (!err)
			*mr = NULL;
		return;
	}
	if (!pd)
		return;
	if (how & 1)
		err = uroce_mr_create_fast(pd, addr, bytes, mr);
	else if (how & 2)
		err = uroce_mr_register_iova(pd, addr, bytes, take_u64(&in), access & 0x1ff, mr);
	else
		err = uroce_mr_register(pd, addr, bytes, how & 4 ? access : access & 0x13f, mr);
	MAY_FAIL(err, EINVAL, ENOMEM);
	if (err)
		*mr = NULL;
}

static void do_mw(struct side *side)
{
	struct uroce_pd *pd = *SLOT(side, pds);
	struct uroce_mw **mw = SLOT(side, mws);
	int err;

	if (*mw) {
		FUZZ_MUST(uroce_mw_destroy(*mw) == 0);
		*mw = NULL;
	} else if (pd) {
		err = uroce_mw_create(pd, take(&in, 1) % 4, mw);
		MAY_FAIL(err, EINVAL, ENOMEM);
		if (err)
			*mw = NULL;
	}
}

/* ---- completion queues, channels ---- */

static bool is_live_qp(const struct side *side, uint32_t qpn)
{
	for (int i = 0; i < SLOTS; i++)
		if (side->qps[i] && uroce_qp_number(side->qps[i]) == qpn)
			return true;
	return false;
}

static void poll(struct side *side, struct uroce_cq *cq)
{
	struct uroce_wc wc[WC_MAX];
	int n = uroce_cq_poll(cq, wc, (int)(take(&in, 1) % WC_MAX));

	FUZZ_MUST(n >= 0 && n < WC_MAX);
	for (int i = 0; i < n; i++) {
		FUZZ_MUST(is_live_qp(side, wc[i].qpn));
		FUZZ_MUST(strcmp(uroce_status_name(wc[i].status), "?") != 0);
		FUZZ_MUST(wc[i].wr_id <= wr_id);
	}
	if (n > 0 && (wc[0].flags & UROCE_WC_GRH) && (take(&in, 1) & 1)) {
		struct uroce_ah **ah = SLOT(side, ahs);
		struct uroce_pd *pd = *SLOT(side, pds);
		int err;

		if (*ah || !pd)
			return;
		err = uroce_ah_create_from_wc(pd, &wc[0], side->mem, ah);
		MAY_FAIL(err, EINVAL, EADDRNOTAVAIL, EHOSTUNREACH, ENOMEM);
		if (err)
			*ah = NULL;
	}
}

static void make_cq(struct side *side, struct uroce_cq **cq)
{
	struct uroce_channel *channel = *SLOT(side, channels);
	uint32_t capacity = take_number(40) % 70000;
	int err = channel && (take(&in, 1) & 1) ? uroce_cq_create_on(channel, capacity, cq)
						: uroce_cq_create(side->dev, capacity, cq);

	MAY_FAIL(err, EINVAL, ENOMEM);
	if (err)
		*cq = NULL;
	else
		FUZZ_MUST(uroce_cq_capacity(*cq) == capacity);
}

static void do_cq(struct side *side)
{
	struct uroce_cq **cq = SLOT(side, cqs);
	uint32_t how = take(&in, 1) % 8, capacity;
	int result;

	if (!*cq) {
		make_cq(side, cq);
		return;
	}
	switch (how) {
	case 0:
		result = uroce_cq_destroy(*cq);
		MAY_FAIL(result, EBUSY);
		if (result == 0)
			*cq = NULL;
		break;
	case 1:
		capacity = take_number(40);
		result = uroce_cq_resize(*cq, capacity);
		MAY_FAIL(result, EINVAL, ENOMEM);
		FUZZ_MUST(result || uroce_cq_capacity(*cq) == capacity);
		break;
	case 2:
		result = uroce_cq_arm_event(*cq, take(&in, 1) & 1);
		FUZZ_MUST(result == 0 || result == 1);
		break;
	default:
		poll(side, *cq);
		break;
	}
}

static void do_channel(struct side *side)
{
	struct uroce_channel **channel = SLOT(side, channels);
	struct uroce_cq *fired[4];
	int n;

	if (!*channel) {
		if (take(&in, 1) & 1)
			MAY_FAIL(uroce_channel_create(side->dev, channel), ENOMEM, EMFILE);
		return;
	}
	if (take(&in, 1) % 4 == 0) {
		n = uroce_channel_destroy(*channel);
		MAY_FAIL(n, EBUSY);
		if (n == 0)
			*channel = NULL;
		return;
	}
	FUZZ_MUST(uroce_channel_fd(*channel) >= 0);
	n = uroce_channel_poll(*channel, fired, (int)(take(&in, 1) % 4));
	FUZZ_MUST(n >= 0 && n <= 3);
	/* Queues that exist: an event goes with its queue. */
	for (int i = 0; i < n; i++)
		FUZZ_MUST(uroce_cq_capacity(fired[i]) > 0);
}

static void do_srq(struct side *side)
{
	struct uroce_srq **srq = SLOT(side, srqs);
	struct uroce_pd *pd = *SLOT(side, pds);
	struct uroce_srq_conf conf;
	int err;

	if (*srq) {
		if (take(&in, 1) & 1) {
			MAY_FAIL(uroce_srq_set_limit(*srq, take_number(10)), EINVAL);
			uroce_srq_query(*srq, &conf);
			return;
		}
		err = uroce_srq_destroy(*srq);
		MAY_FAIL(err, EBUSY);
		if (!err)
			*srq = NULL;
		return;
	}
	if (!pd)
		return;
	conf.max_wr = take_number(9);
	conf.max_sge = take_number(3);
	conf.limit = take_number(4);
	err = uroce_srq_create(pd, &conf, srq);
	MAY_FAIL(err, EINVAL, ENOMEM);
	if (err)
		*srq = NULL;
}

/* ---- datagrams ---- */

static void do_ah(struct side *side)
{
	struct uroce_ah **ah = SLOT(side, ahs);
	struct uroce_pd *pd = *SLOT(side, pds);
	struct uroce_ah_conf conf = {0};
	int err;

	if (*ah) {
		uroce_ah_query(*ah, &conf);
		if (take(&in, 1) & 1)
			return;
		FUZZ_MUST(uroce_ah_destroy(*ah) == 0);
		*ah = NULL;
		return;
	}
	if (!pd)
		return;
	take_gid(conf.dgid);
	take_mac(conf.mac);
	err = uroce_ah_create(pd, &conf, ah);
	MAY_FAIL(err, EINVAL, EADDRNOTAVAIL, EHOSTUNREACH, ENOMEM);
	if (err)
		*ah = NULL;
}

static void do_group(struct side *side)
{
	struct uroce_qp *qp = *SLOT(side, qps);
	uint8_t gid[16];

	take_gid(gid);
	if (!qp)
		return;
	if (take(&in, 1) % 4)
		MAY_FAIL(uroce_qp_attach_group(qp, gid), EINVAL, EEXIST, ENOSPC, ENOMEM);
	else
		MAY_FAIL(uroce_qp_detach_group(qp, gid), ENOENT);
}

/* ---- queue pairs ---- */

static void make_qp(struct side *side, struct uroce_qp **qp)
{
	struct uroce_pd *pd = *SLOT(side, pds);
	struct uroce_qp_conf conf = {.type = take(&in, 1) % 6};
	uint32_t how = take(&in, 1);
	struct side *from;
	int err;

	if (!pd)
		return;
	/* Sometimes the other side's, which is no use here. */
	from = how & 0x80 ? take_side() : side;
	conf.send_cq = *SLOT(from, cqs);
	conf.recv_cq = *SLOT(side, cqs);
	if (how & 1)
		conf.srq = *SLOT(from, srqs);
	if (how & 2) {
		conf.max_send_wr = take_number(9);
		conf.max_recv_wr = take_number(9);
		conf.max_send_sge = take_number(4);
		conf.max_recv_sge = take_number(4);
		conf.max_inline_bytes = take_number(200);
		conf.max_dest_rd_atomic = take_number(5);
		conf.window_pkts = take_number(9);
	}
	conf.signal_all = how & 4;
	conf.worker = how >> 3 & 3;
	conf.qpn = how & 0x10 ? take_number(40) : 0;
	err = uroce_qp_create(pd, &conf, qp);
	MAY_FAIL(err, EINVAL, EOPNOTSUPP, ENOMEM, EEXIST);
	if (err)
		*qp = NULL;
	else
		FUZZ_MUST(uroce_qp_memory_bytes(&conf) > 0);
}

static void modify(struct uroce_qp *qp)
{
	struct uroce_qp_modify_attr attr = {0};
	uint32_t mask = take(&in, 3);

	attr.state = take(&in, 1) % 8;
	attr.cur_state = take(&in, 1) % 8;
	attr.access = take(&in, 2);
	take_gid(attr.dgid);
	attr.path_mtu_bytes = 256u << take(&in, 1) % 6;
	attr.dest_qpn = take_number(40);
	attr.rq_psn = take_number(3);
	attr.sq_psn = take_number(3);
	attr.timeout = (uint8_t)take(&in, 1);
	attr.retry_cnt = (uint8_t)take(&in, 1) % 10;
	attr.rnr_retry = (uint8_t)take(&in, 1) % 10;
	attr.max_rd_atomic = (uint8_t)take(&in, 1);
	attr.max_dest_rd_atomic = (uint8_t)take(&in, 1) % 20;
	MAY_FAIL(uroce_qp_modify(qp, &attr, mask), EINVAL, EMSGSIZE, EADDRNOTAVAIL, ENOMEM);
}

/* The step that a state needs next, with good values. */
static void step_state(struct uroce_qp *qp)
{
	static const enum uroce_qp_state states[] = {
		UROCE_QP_RESET, UROCE_QP_ERR, UROCE_QP_SQD, UROCE_QP_RTS};
	struct uroce_qp_modify_attr attr = {.state = states[take(&in, 1) % 4]};

	MAY_FAIL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_STATE), EINVAL, EMSGSIZE, ENOMEM);
}

static void query(struct uroce_qp *qp)
{
	struct uroce_qp_modify_attr attr;
	struct uroce_qp_conf conf;
	uint32_t bytes = take(&in, 1);
	char *text = malloc(bytes ? bytes : 1);
	int length;

	FUZZ_MUST(text);
	FUZZ_MUST(uroce_qp_query(qp, &attr) == 0);
	FUZZ_MUST(attr.state <= UROCE_QP_ERR);
	uroce_qp_query_conf(qp, &conf);
	FUZZ_MUST(uroce_qp_memory_bytes(&conf) > 0);
	length = uroce_qp_last_error(qp, text, bytes);
	FUZZ_MUST(length >= 0);
	FUZZ_MUST(bytes == 0 || length == 0 || strlen(text) < bytes);
	free(text);
}

static void connect(struct uroce_qp *qp)
{
	struct side *side = take_side();
	struct uroce_qp *other = *SLOT(side, qps);
	struct uroce_peer peer = {0};
	uint32_t how = take(&in, 1);

	if (how & 1) {
		MAY_FAIL(uroce_qp_open_datagrams(qp, 7), EINVAL);
		return;
	}
	if (other)
		uroce_qp_local(other, &peer);
	if (how & 0x80) {
		take_gid(peer.gid);
		take_mac(peer.mac);
		peer.qpn = take_number(40);
		peer.psn = take_number(40);
		peer.mtu_bytes = 256u << take(&in, 1) % 6;
		peer.max_rd_atomic = (uint8_t)take(&in, 1);
		peer.access = take(&in, 2);
	}
	if (how & 0x40) {
		peer.timeout = (uint8_t)take(&in, 1);
		peer.retry_cnt = (uint8_t)take(&in, 1);
		peer.rnr_retry = (uint8_t)take(&in, 1);
		peer.min_rnr_timer = (uint8_t)take(&in, 1);
	}
	MAY_FAIL(uroce_qp_connect(qp, &peer), EINVAL, EADDRNOTAVAIL, EHOSTUNREACH, ENOMEM);
}

static void do_qp(struct side *side)
{
	struct uroce_qp **qp = SLOT(side, qps);

	if (!*qp) {
		make_qp(side, qp);
		return;
	}
	switch (take(&in, 1) % 9) {
	case 0:
		FUZZ_MUST(uroce_qp_destroy(*qp) == 0);
		*qp = NULL;
		break;
	case 1:
		modify(*qp);
		break;
	case 2:
		query(*qp);
		break;
	case 3:
		MAY_FAIL(uroce_qp_prepare(*qp), EINVAL, EMSGSIZE, ENOMEM);
		break;
	case 4:
		step_state(*qp);
		break;
	default:
		connect(*qp);
		break;
	}
}

/* ---- posting ---- */

static void take_sge(struct uroce_sge *sge, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		uint32_t bytes;

		sge[i].addr = take_place(&bytes);
		sge[i].len_bytes = bytes;
		sge[i].lkey = take_key();
	}
}

static void take_send(struct uroce_send_wr *wr, struct uroce_sge *sge, struct side *side)
{
	uint32_t how = take(&in, 1), bytes;

	wr_id++;
	*wr = (struct uroce_send_wr){.wr_id = wr_id, .sge = sge};
	wr->opcode = how < 0xf0 ? how % 16 : how == 0xf0 ? take(&in, 4) : UROCE_WR_REG_MR;
	wr->flags = take(&in, 1) % 20;
	wr->num_sge = take(&in, 1) % 4;
	take_sge(sge, wr->num_sge);
	wr->rdma.remote_addr = (uintptr_t)take_place(&bytes);
	wr->rdma.rkey = take_key();
	if (wr->opcode == UROCE_WR_ATOMIC_CMP_AND_SWP || wr->opcode == UROCE_WR_ATOMIC_WRITE ||
		wr->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
		wr->rdma.remote_addr &= ~(uint64_t)(how & 1 ? 7 : 0);
		sge[0].len_bytes = 8;
		if (sge[0].addr > (void *)(side->mem + MEM_BYTES - 8))
			sge[0].addr = side->mem;
	}
	wr->invalidate_rkey = take_key();
	wr->ud.ah = *SLOT(side, ahs);
	wr->ud.remote_qpn = how & 2 ? 0xffffff : take_number(40);
	wr->ud.remote_qkey = how & 4 ? 0x80000000 : 7;
	wr->flush.type = take(&in, 1) % 3;
	wr->flush.level = wr->flush.type == 2;
	wr->flush.bytes = bytes;
	wr->bind.key = wr->reg.key = take_key();
	wr->bind.new_key = wr->reg.new_key = uroce_key_next(wr->bind.key);
	wr->bind.lkey = take_key();
	wr->reg.addr = take_place(&bytes);
	wr->bind.addr = wr->reg.iova = (uintptr_t)wr->reg.addr;
	wr->bind.bytes = wr->reg.bytes = bytes;
	wr->bind.access = wr->reg.access = take(&in, 2);
}

/* A post that stopped at an entry says why when it begins there. */
static void check_post(int accepted, int n, int again)
{
	FUZZ_MUST(n == 0 || accepted != 0);
	FUZZ_MUST(accepted <= n && (accepted >= 0 || is_one_of(accepted, EINVAL, ENOMEM, 0, 0)));
	FUZZ_MUST(accepted < 0 || accepted == n || again == -EINVAL || again == -ENOMEM);
}

static void do_send(struct side *side)
{
	struct uroce_qp *qp = *SLOT(side, qps);
	struct uroce_send_wr wr[POST_MAX];
	struct uroce_sge sge[POST_MAX][3];
	int n = (int)(1 + take(&in, 1) % POST_MAX), accepted, again = 0;

	if (!qp)
		return;
	for (int i = 0; i < n; i++)
		take_send(&wr[i], sge[i], side);
	accepted = uroce_post_send(qp, wr, n);
	if (accepted > 0 && accepted < n)
		again = uroce_post_send(qp, &wr[accepted], 1);
	check_post(accepted, n, again);
}

static void do_recv(struct side *side)
{
	struct uroce_qp *qp = *SLOT(side, qps);
	struct uroce_srq *srq = *SLOT(side, srqs);
	struct uroce_recv_wr wr[POST_MAX];
	struct uroce_sge sge[POST_MAX][3];
	int n = (int)(1 + take(&in, 1) % POST_MAX), accepted = n, again = 0;
	bool shared = take(&in, 1) & 1;

	for (int i = 0; i < n; i++) {
		wr[i] = (struct uroce_recv_wr){++wr_id, sge[i], take(&in, 1) % 4};
		take_sge(sge[i], wr[i].num_sge);
	}
	if (shared && srq) {
		accepted = uroce_post_srq_recv(srq, wr, n);
		if (accepted > 0 && accepted < n)
			again = uroce_post_srq_recv(srq, &wr[accepted], 1);
	} else if (qp) {
		accepted = uroce_post_recv(qp, wr, n);
		if (accepted > 0 && accepted < n)
			again = uroce_post_recv(qp, &wr[accepted], 1);
	}
	check_post(accepted, n, again);
}

/* ---- the device ---- */

static void do_turns(struct side *side)
{
	uint32_t how = take(&in, 1);

	if (how & 0x80)
		now_ns += 1ull << take(&in, 1) % 34;
	for (uint32_t i = 0; i < how % 8 + 1; i++)
		for (unsigned int w = 0; w < side->num_workers; w++)
			uroce_worker_poll(uroce_device_worker(side->dev, w));
}

static void do_device(struct side *side)
{
	struct uroce_event events[4];
	struct uroce_counters counters;
	uint8_t mac[6];
	int n;

	switch (take(&in, 1) % 4) {
	case 0:
		n = uroce_event_poll(side->dev, events, 4);
		FUZZ_MUST(n >= 0 && n <= 4);
		for (int i = 0; i < n; i++)
			FUZZ_MUST(strcmp(uroce_event_name(events[i].type), "?") != 0);
		break;
	case 1:
		FUZZ_MUST(uroce_event_fd(side->dev) >= 0);
		break;
	case 2:
		take_mac(mac);
		MAY_FAIL(uroce_device_neighbour_set(
				 side->dev, take(&in, 1) & 1 ? "192.0.2.3" : "192.0.2.2", mac),
			EINVAL, ENOMEM);
		break;
	default:
		uroce_device_counters(side->dev, &counters);
		break;
	}
}

/* The wire loses or damages what is under way. */
static void do_wire(struct side *side)
{
	struct wire *wire = &side->in;
	uint32_t how = take(&in, 1);
	uint32_t at = wire->head % WIRE_FRAMES;

	if (wire->head == wire->tail)
		return;
	if (how & 1)
		wire->head++;
	else
		wire->frames[at].data[take(&in, 2) % wire->frames[at].bytes] ^= (uint8_t)how;
}

/* Everything that there is, in the order that the header asks for. */
static void close_side(struct side *side)
{
	for (int i = 0; i < SLOTS; i++)
		FUZZ_MUST(!side->qps[i] || uroce_qp_destroy(side->qps[i]) == 0);
	for (int i = 0; i < SLOTS; i++) {
		FUZZ_MUST(!side->srqs[i] || uroce_srq_destroy(side->srqs[i]) == 0);
		FUZZ_MUST(!side->ahs[i] || uroce_ah_destroy(side->ahs[i]) == 0);
		FUZZ_MUST(!side->mws[i] || uroce_mw_destroy(side->mws[i]) == 0);
		FUZZ_MUST(!side->cqs[i] || uroce_cq_destroy(side->cqs[i]) == 0);
	}
	for (int i = 0; i < SLOTS; i++) {
		FUZZ_MUST(!side->mrs[i] || uroce_mr_deregister(side->mrs[i]) == 0);
		FUZZ_MUST(!side->channels[i] || uroce_channel_destroy(side->channels[i]) == 0);
	}
	for (int i = 0; i < SLOTS; i++)
		FUZZ_MUST(!side->pds[i] || uroce_pd_destroy(side->pds[i]) == 0);
	FUZZ_MUST(uroce_device_close(side->dev) == 0);
}

/* What most inputs need, so that they need not find it. */
static void make_usual(struct side *side)
{
	FUZZ_MUST(uroce_pd_create(side->dev, &side->pds[0]) == 0);
	FUZZ_MUST(uroce_mr_register(side->pds[0], side->mem, MEM_BYTES, 0x11f, &side->mrs[0]) == 0);
	FUZZ_MUST(uroce_cq_create(side->dev, 32, &side->cqs[0]) == 0);
}

static void step(void (*op)(struct side *))
{
	op(take_side());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static void (*const ops[])(struct side *) = {do_pd, do_mr, do_mw, do_cq, do_cq, do_channel,
		do_srq, do_ah, do_group, do_qp, do_qp, do_send, do_send, do_recv, do_turns,
		do_turns, do_device, do_wire};

	memset(sides, 0, sizeof(sides));
	in = (struct input){data, bytes};
	now_ns = wr_id = 0;
	open_side(&sides[0], 1);
	open_side(&sides[1], 2);
	make_usual(&sides[0]);
	make_usual(&sides[1]);
	for (int i = 0; i < STEPS_MAX && in.left > 0; i++)
		step(ops[take(&in, 1) % (sizeof(ops) / sizeof(ops[0]))]);
	close_side(&sides[0]);
	close_side(&sides[1]);
	return 0;
}
