/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing what an application shares with the engine: a hostile one writes anything anywhere in
 * send and receive rings, shared receive queue and completion ring, between legal posts and frames.
 *
 * The entries lie in memory of exactly their size, so that the address sanitizer sees a step over
 * an edge. Next to the endpoint's memory there is a bystander, registered for another protection
 * domain: whatever keys and addresses entries and frames name, it is not read and not written.
 */
#include "rig.h"

#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BYSTANDER_WATCHED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define BYSTANDER_WATCHED
#endif
#ifdef BYSTANDER_WATCHED
#include <sanitizer/asan_interface.h>
#endif

enum {
	STEPS_MAX = 200,
	BYSTANDER_BYTES = 4096,
	BYSTANDER_PD = 8,
	BYSTANDER_FILL = 0x5a
};

/* Memory of the application's that the engine works in. */
struct shared {
	uint8_t *at;
	uint32_t bytes;
	uint32_t stride_bytes;
};

static struct {
	struct shared sends, recvs, cells, completions;
	uint8_t *bystander;
	uint32_t bystander_key;
} app;

static struct shared move(uint8_t **entries, uint32_t num, uint32_t stride_bytes)
{
	struct shared moved = {.bytes = num * stride_bytes, .stride_bytes = stride_bytes};

	moved.at = aligned_alloc(UROCE_CACHE_LINE_BYTES, moved.bytes);
	FUZZ_MUST(moved.at);
	memcpy(moved.at, *entries, moved.bytes);
	*entries = moved.at;
	return moved;
}

static void watch_bystander(bool on)
{
#ifdef BYSTANDER_WATCHED
	if (on)
		__asan_poison_memory_region(app.bystander, BYSTANDER_BYTES);
	else
		__asan_unpoison_memory_region(app.bystander, BYSTANDER_BYTES);
#else
	(void)on;
#endif
}

static void init_app(struct rig *rig)
{
	struct endpoint *ep = &rig->ep;
	struct uroce_ring *send = &ep->qp->send_ring, *recv = &ep->qp->recv_ring;
	struct uroce_ring *cq = &ep->cq->rings[0];
	struct uroce_mr_attr attr = {.pd = BYSTANDER_PD,
		.access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
			UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC |
			UROCE_ACCESS_MW_BIND | UROCE_ACCESS_FLUSH_GLOBAL,
		.bytes = BYSTANDER_BYTES};

	memset(&app, 0, sizeof(app));
	app.sends = move(&send->entries, send->mask + 1, send->stride_bytes);
	app.recvs = move(&recv->entries, recv->mask + 1, recv->stride_bytes);
	app.completions = move(&cq->entries, cq->mask + 1, cq->stride_bytes);
	if (ep->srq)
		app.cells = move(&ep->srq->cells, ep->srq->mask + 1, ep->srq->stride_bytes);
	app.bystander = malloc(BYSTANDER_BYTES);
	FUZZ_MUST(app.bystander);
	memset(app.bystander, BYSTANDER_FILL, BYSTANDER_BYTES);
	attr.ptr = app.bystander;
	attr.addr = (uintptr_t)app.bystander;
	FUZZ_MUST(uroce_mr_table_add(&ep->mrs, &attr, 77, &app.bystander_key) == 0);
	watch_bystander(true);
}

static void fini_app(void)
{
	watch_bystander(false);
	for (uint32_t i = 0; i < BYSTANDER_BYTES; i++)
		FUZZ_MUST(app.bystander[i] == BYSTANDER_FILL);
	free(app.bystander);
	free(app.sends.at);
	free(app.recvs.at);
	free(app.completions.at);
	free(app.cells.at);
}

static uint32_t take_key(struct rig *rig)
{
	uint32_t which = take(&rig->in, 1) % 8;

	if (which < RIG_KEYS)
		return rig->keys[which];
	return which == RIG_KEYS ? app.bystander_key : take(&rig->in, 4);
}

static uint64_t take_address(struct rig *rig)
{
	uint32_t offset = take(&rig->in, 2);

	switch (take(&rig->in, 1) % 4) {
	case 0:
		return (uintptr_t)app.bystander + offset % BYSTANDER_BYTES;
	case 1:
		return take_u64(&rig->in);
	default:
		return (uintptr_t)rig->ep.mem + offset % (RIG_MEM_BYTES + 128) - 64;
	}
}

static void put_segments(struct rig *rig, uint8_t *at, uint32_t room)
{
	for (; room >= sizeof(struct uroce_seg); room -= (uint32_t)sizeof(struct uroce_seg)) {
		struct uroce_seg seg;

		seg.addr = take_address(rig);
		seg.bytes = take(&rig->in, 2) % 5000;
		seg.lkey = take_key(rig);
		memcpy(at, &seg, sizeof(seg));
		at += sizeof(seg);
	}
}

/* An entry that is nearly right, past every check of posting. */
static void forge_send(struct rig *rig)
{
	struct uroce_ring *ring = &rig->ep.qp->send_ring;
	uint8_t *entry = uroce_ring_entry(ring, atomic_load(&ring->tail));
	struct uroce_send_wqe wqe = {.wr_id = 1};

	wqe.opcode = (uint8_t)take(&rig->in, 1);
	wqe.flags = (uint8_t)take(&rig->in, 1);
	wqe.num_segs = (uint16_t)take(&rig->in, wqe.opcode & 0x80 ? 2 : 1);
	wqe.opcode &= 0x7f;
	wqe.bytes = wqe.flags & 0x80 ? take(&rig->in, 4) : take(&rig->in, 1);
	wqe.imm = take_key(rig);
	if (rig->ep.conf.caps.type == UROCE_QP_UD)
		wqe.ah = take(&rig->in, 1);
	else
		wqe.rkey = take_key(rig);
	wqe.remote_addr = take_address(rig);
	wqe.compare_add = take(&rig->in, 2);
	if (wqe.flags & 0x40)
		wqe.swap = take_address(rig);
	else
		wqe.lkey = take_key(rig);
	memcpy(entry, &wqe, sizeof(wqe));
	put_segments(rig, entry + sizeof(wqe), 3 * sizeof(struct uroce_seg));
	atomic_store(&ring->tail, atomic_load(&ring->tail) + 1);
	ring->producer_tail = atomic_load(&ring->tail);
}

static void forge_recv(struct rig *rig)
{
	struct uroce_recv_wqe wqe = {.wr_id = 1};
	struct uroce_ring *ring = &rig->ep.qp->recv_ring;
	struct uroce_srq *srq = rig->ep.srq;
	uint8_t *entry;

	wqe.num_segs = take(&rig->in, 1);
	if (wqe.num_segs & 0x80)
		wqe.num_segs = take(&rig->in, 4);
	wqe.bytes = take(&rig->in, 2);
	if (srq) {
		uint32_t tail = atomic_load(&srq->tail);
		struct uroce_srq_cell *cell =
			(void *)(srq->cells + (size_t)(tail & srq->mask) * srq->stride_bytes);

		cell->wqe = wqe;
		put_segments(rig, (uint8_t *)(cell + 1), 3 * sizeof(struct uroce_seg));
		atomic_store(&cell->sequence, tail + 1);
		atomic_store(&srq->tail, tail + 1);
		return;
	}
	entry = uroce_ring_entry(ring, atomic_load(&ring->tail));
	memcpy(entry, &wqe, sizeof(wqe));
	put_segments(rig, entry + sizeof(wqe), 3 * sizeof(struct uroce_seg));
	atomic_store(&ring->tail, atomic_load(&ring->tail) + 1);
	ring->producer_tail = atomic_load(&ring->tail);
}

/* Any bytes of any entry. */
static void scribble_entries(struct rig *rig)
{
	const struct shared *all[] = {&app.sends, &app.recvs, &app.cells, &app.completions};
	const struct shared *shared = all[take(&rig->in, 1) % 4];
	uint32_t bytes = take(&rig->in, 1) % 32, at;

	if (shared->bytes == 0)
		return;
	at = take(&rig->in, 2) % (shared->bytes - 32);
	take_bytes(&rig->in, shared->at + at, bytes);
}

/* Any of the indices that the application may write, by a little or at will. */
static void scribble_index(struct rig *rig)
{
	struct uroce_qp *qp = rig->ep.qp;
	struct uroce_srq *srq = rig->ep.srq;
	struct uroce_ring *cq = &rig->ep.cq->rings[0];
	_Atomic uint32_t *const indices[] = {&qp->send_ring.tail, &qp->send_ring.head,
		&qp->recv_ring.tail, &qp->recv_ring.head, &cq->head, &cq->tail,
		srq ? &srq->tail : &cq->tail, srq ? &srq->head : &cq->head,
		srq ? &srq->limit : &cq->tail};
	_Atomic uint32_t *index = indices[take(&rig->in, 1) % 9];
	uint32_t how = take(&rig->in, 1);

	if (how & 0x80)
		atomic_store(index, take(&rig->in, 4));
	else
		atomic_store(index, atomic_load(index) + (uint32_t)(int32_t)(how % 64) - 32);
}

/* A poller that trusts nothing that it reads: takes all, and calls all slots free. */
static void poll_all(struct rig *rig)
{
	struct uroce_ring *cq = &rig->ep.cq->rings[0];
	struct uroce_qp *qp = rig->ep.qp;

	uroce_ring_release(cq, cq->producer_tail);
	uroce_ring_release(&qp->send_ring, qp->req.head);
	uroce_ring_release(&qp->recv_ring, qp->resp.recv_next);
}

static void ring_bell(struct rig *rig)
{
	uroce_bell_ring(&rig->ep.core.bells, &rig->ep.qp->bell);
}

static void step(struct rig *rig)
{
	switch (take(&rig->in, 1) % 14) {
	case 0:
		rig->now_ns += 1ull << take(&rig->in, 1) % 34;
		rig_work(rig);
		break;
	case 1:
		rig_post_send(rig);
		break;
	case 2:
		rig_post_recv(rig);
		break;
	case 3:
		scribble_entries(rig);
		break;
	case 4:
		scribble_index(rig);
		break;
	case 5:
		poll_all(rig);
		break;
	case 6:
	case 7:
		forge_send(rig);
		ring_bell(rig);
		break;
	case 8:
		forge_recv(rig);
		ring_bell(rig);
		break;
	case 9:
		rig_modify(rig);
		break;
	case 10:
		rig_work(rig);
		break;
	default:
		rig_give_packet(rig);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct rig rig;
	struct endpoint_conf conf;

	memset(&rig, 0, sizeof(rig));
	rig.in = (struct input){data, bytes};
	conf = rig_take_conf(&rig);
	conf.cqes = 30;
	rig_init(&rig, &conf);
	init_app(&rig);
	endpoint_connect(&rig.ep, 0x12);
	for (int i = 0; i < STEPS_MAX && rig.in.left > 0; i++)
		step(&rig);
	rig_work(&rig);
	FUZZ_MUST(endpoint_counts_add_up(&rig.ep));
	endpoint_fini(&rig.ep);
	fini_app();
	return 0;
}
