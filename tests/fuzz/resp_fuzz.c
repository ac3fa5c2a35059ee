/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the requester with answers: ACK, NAK, RNR NAK, read responses, atomic ACKs, right and
 * wrong ones, to outstanding work of all kinds.
 *
 * The input chooses window, first PSN, retries and MTU. What must hold: every work request
 * completes at most once and in order; answers change no byte of memory but those that an
 * outstanding read or atomic names; and what succeeds has filled all of its bytes.
 */
#include "rig.h"

#include <string.h>

#include "opcode.h"
#include "wire.h"
#include "wr.h"

enum {
	STEPS_MAX = 200,
	MEM = 4096,
	POSTED_MAX = 1024
};

/* Where answers may be placed: of each byte, how many outstanding requests name it. */
static uint8_t named[MEM];
static uint8_t expected[MEM];

/* Where the answer of a request goes, if it brings anything. */
static struct posted {
	uint32_t offset;
	uint32_t bytes;
} posted[POSTED_MAX];
static uint64_t completed;

static void check_memory(const struct rig *rig)
{
	const uint8_t *mem = rig->ep.mem;

	if (memcmp(mem, expected, MEM) == 0)
		return;
	for (uint32_t i = 0; i < MEM; i++) {
		FUZZ_MUST(named[i] || mem[i] == expected[i]);
		expected[i] = mem[i];
	}
}

/* The number of a completion, after rig has checked it: all before it are complete too. */
static void note(struct rig *rig, const struct uroce_cqe *cqe)
{
	FUZZ_MUST(cqe->wr_id == completed + 1);
	check_memory(rig);
	for (; completed < cqe->wr_id; completed++) {
		const struct posted *p = &posted[(completed + 1) % POSTED_MAX];

		for (uint32_t i = p->offset; i < p->offset + p->bytes; i++) {
			/* It was zero when posted, and no answer brings zeros. */
			FUZZ_MUST(cqe->status != UROCE_STATUS_SUCCESS || rig->ep.mem[i] != 0);
			named[i]--;
		}
	}
}

static void post(struct rig *rig)
{
	static const enum uroce_wr_opcode ops[] = {UROCE_WR_SEND, UROCE_WR_RDMA_WRITE,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_CMP_AND_SWP,
		UROCE_WR_RDMA_READ, UROCE_WR_FLUSH, UROCE_WR_ATOMIC_WRITE};
	struct endpoint_wr wr = {.num_segs = 1};
	struct posted *p = &posted[(rig->sends_posted + 1) % POSTED_MAX];
	uint32_t offset = take(&rig->in, 2) % MEM, bytes;
	bool placed;

	wr.opcode = ops[take(&rig->in, 1) % 8];
	bytes = take(&rig->in, 2) % (MEM + 1);
	wr.flags = take(&rig->in, 1) & UROCE_SEND_FENCE;
	placed = wr.opcode == UROCE_WR_RDMA_READ || wr.opcode == UROCE_WR_ATOMIC_CMP_AND_SWP ||
		wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD;
	if (wr.opcode == UROCE_WR_ATOMIC_WRITE || (placed && wr.opcode != UROCE_WR_RDMA_READ))
		bytes = 8;
	if (offset + bytes > MEM)
		offset = MEM - bytes;
	if (wr.opcode == UROCE_WR_FLUSH)
		wr.num_segs = 0;
	wr.segs[0].offset = offset;
	wr.segs[0].bytes = bytes;
	wr.wr_id = rig->sends_posted + 1;
	if (!endpoint_post_send(&rig->ep, &wr))
		return;
	rig->sends_posted++;
	*p = (struct posted){offset, placed ? bytes : 0};
	for (uint32_t i = offset; i < offset + p->bytes; i++)
		if (named[i]++ == 0)
			rig->ep.mem[i] = expected[i] = 0;
}

static void give(struct rig *rig, uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t bytes)
{
	uint8_t ext[UROCE_AETH_BYTES + UROCE_ATOMICACKETH_BYTES];
	struct rig_packet packet = {.opcode = opcode,
		.flags = (uint8_t)((-bytes & 3) << UROCE_BTH_PAD_SHIFT),
		.psn = psn,
		.payload_bytes = bytes + (-bytes & 3),
		.ext = ext};

	memset(ext, 1, sizeof(ext));
	ext[UROCE_AETH_SYNDROME] = syndrome;
	rig_give_built(rig, &packet);
}

/* The answer that the oldest request waits for. */
static void answer_right(struct rig *rig)
{
	const struct uroce_qp *qp = rig->ep.qp;
	const struct uroce_send_wqe *wqe = uroce_qp_send_wqe(qp, qp->req.head);
	const struct uroce_send_state *state = uroce_qp_send_state(qp, qp->req.head);
	const struct uroce_wr_kind *kind = uroce_wr_kind(wqe->opcode);
	uint32_t psn = qp->req.psn_una, mtu = rig->ep.conf.mtu_bytes, pkt, bytes;

	if (qp->req.head == qp->req.tail || state->pkts == 0)
		return;
	pkt = (psn - state->psn_first) & UROCE_PSN_MASK;
	if (kind->atomic) {
		give(rig, 0x12, psn, 0x1f, 0);
	} else if (kind->reads) {
		bool first = pkt == 0;
		bool last = pkt + 1 == state->pkts;

		bytes = last ? wqe->bytes - pkt * mtu : mtu;
		give(rig,
			first && last	? 0x10
				: first ? 0x0d
				: last	? 0x0f
					: 0x0e,
			psn, 0x1f, bytes);
	} else {
		/* A FLUSH or ATOMIC WRITE is answered like a read of nothing. */
		give(rig, kind->answered ? 0x10 : 0x11, psn, 0x1f, 0);
	}
}

static void answer_any(struct rig *rig)
{
	uint8_t opcode = (uint8_t)(0x0d + take(&rig->in, 1) % 6);
	uint32_t psn = uroce_psn_add(rig->ep.qp->req.psn_una, (uint32_t)(int8_t)take(&rig->in, 1));
	uint8_t syndrome = (uint8_t)take(&rig->in, 1);
	uint32_t bytes = 0;

	if (opcode < 0x11) {
		bytes = take(&rig->in, 1);
		if (bytes >= 0x80)
			bytes = rig->ep.conf.mtu_bytes - (bytes - 0x80) % 8;
	}
	give(rig, opcode, psn, syndrome, bytes);
}

static void step(struct rig *rig)
{
	switch (take(&rig->in, 1) % 8) {
	case 0:
		rig_pass_time(rig);
		break;
	case 1:
	case 2:
		post(rig);
		break;
	case 3:
		rig_turn(rig);
		break;
	case 4:
	case 5:
		answer_right(rig);
		break;
	case 6:
		rig_give_packet(rig);
		break;
	default:
		answer_any(rig);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct rig rig;
	struct endpoint_conf conf;

	memset(&rig, 0, sizeof(rig));
	rig.in = (struct input){data, bytes};
	rig.faultless = true;
	conf = rig_take_conf(&rig);
	conf.caps.type = UROCE_QP_RC;
	rig.is_member = false;
	conf.signal_all = true;
	/* The peer may touch nothing: what changes is an answer's. */
	conf.access = 0;
	conf.mem_bytes = RIG_MEM_BYTES;
	memset(named, 0, sizeof(named));
	memset(expected, 0, sizeof(expected));
	completed = 0;
	rig_completed = note;
	rig_init(&rig, &conf);
	endpoint_connect(&rig.ep, 0x12);
	for (int i = 0; i < STEPS_MAX && rig.in.left > 0; i++) {
		step(&rig);
		check_memory(&rig);
	}
	FUZZ_MUST(completed <= rig.sends_posted);
	rig_fini(&rig);
	return 0;
}
