/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoint's side of the drill: what is fed to it, what is expected of it.
 *
 * Every expectation is a comparison of one line of text; what differs is printed with the line of
 * the test. Slots are allocated at exactly the size that the engine asks for, frames at exactly
 * theirs, so that a sanitizer sees a step over an edge.
 */
#include "drill.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

enum {
	BURST_MAX = 64,
	TRACE_SHOWN = 40,
	CNP = 0x81,
};

/* ---- a case from start to end ---- */

struct endpoint_conf drill_conf(const struct drill *d)
{
	struct endpoint_conf conf = endpoint_defaults(1, 2);

	conf.mtu_bytes = DRILL_MTU;
	conf.mem_bytes = DRILL_MEM;
	conf.rq_psn = d->rq_psn;
	conf.sq_psn = d->sq_psn;
	return conf;
}

void drill_start_reset(struct drill *d, const struct endpoint_conf *conf)
{
	endpoint_init(&d->ep, conf);
	for (size_t i = 0; i < conf->mem_bytes; i++)
		d->ep.mem[i] = drill_pattern(0, i);
}

void drill_start(struct drill *d, const struct endpoint_conf *conf)
{
	drill_start_reset(d, conf);
	endpoint_connect(&d->ep, DRILL_PEER_QPN);
}

void drill_restart_reset(struct drill *d, const struct endpoint_conf *conf)
{
	endpoint_fini(&d->ep);
	drill_start_reset(d, conf);
}

void drill_restart(struct drill *d, const struct endpoint_conf *conf)
{
	endpoint_fini(&d->ep);
	drill_start(d, conf);
}

void drill_run_case(const struct drill_case *drill_case, uint32_t rq_psn, uint32_t sq_psn)
{
	unsigned int failures = CU_get_number_of_failures();
	struct drill *d = calloc(1, sizeof(*d));
	struct endpoint_conf conf;

	if (!d)
		abort();
	d->rq_psn = rq_psn;
	d->sq_psn = sq_psn;
	conf = drill_conf(d);
	drill_start(d, &conf);
	drill_case->fn(d);
	expect_nothing(d);
	expect_no_cqe(d);
	expect_event(d, "nothing");
	expect_number(d, endpoint_counts_add_up(&d->ep), true);
	if (CU_get_number_of_failures() != failures) {
		printf("  in: %s (expects 0x%06x, sends 0x%06x)\n", drill_case->name, rq_psn,
			sq_psn);
		endpoint_print_trace(&d->ep, TRACE_SHOWN);
	}
	endpoint_fini(&d->ep);
	free(d);
}

/* A failed expectation, for CUnit and for the reader. */
static void check(bool good, const char *file, int line, const char *want, const char *got)
{
	CU_assertImplementation(good, (unsigned int)line, want, file, "", CU_FALSE);
	if (!good)
		printf("\n%s:%d:\n  want %s\n  got  %s\n", file, line, want, got);
}

/* ---- frames in ---- */

static void rx(struct drill *d, char *lines)
{
	struct uroce_pkt pkts[BURST_MAX];
	uint8_t *frames[BURST_MAX];
	uint8_t built[DRILL_FRAME_BYTES];
	char *save, *line;
	uint32_t n = 0;

	memset(pkts, 0, sizeof(pkts));
	for (line = strtok_r(lines, ";", &save); line && n < BURST_MAX;
		line = strtok_r(NULL, ";", &save)) {
		uint32_t bytes = drill_build_frame(d, line, built);

		frames[n] = malloc(bytes);
		if (!frames[n])
			abort();
		memcpy(frames[n], built, bytes);
		pkts[n].data = frames[n];
		pkts[n++].bytes = bytes;
	}
	uroce_core_rx(&d->ep.core, d->now_ns, pkts, n);
	d->drop = pkts[n - 1].drop;
	for (uint32_t i = 0; i < n; i++)
		free(frames[i]);
}

void drill_inject_bytes(struct drill *d, const uint8_t *bytes, uint32_t n)
{
	struct uroce_pkt pkt = {.bytes = n};
	uint8_t *frame = malloc(n ? n : 1);

	if (!frame)
		abort();
	memcpy(frame, bytes, n);
	pkt.data = frame;
	uroce_core_rx(&d->ep.core, d->now_ns, &pkt, 1);
	d->drop = pkt.drop;
	free(frame);
}

void inject(struct drill *d, const char *format, ...)
{
	char text[16 * DRILL_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	rx(d, text);
}

const char *drill_drop_name(enum uroce_drop drop)
{
#define NAME(name, handed_back, text) [UROCE_DROP_##name] = #name,
	static const char *const names[UROCE_DROP_COUNT] = {
		[UROCE_ACCEPTED] = "accepted", UROCE_DROP_REASONS(NAME)};
#undef NAME

	return names[drop];
}

void drill_inject_dropped(
	struct drill *d, const char *file, int line, enum uroce_drop drop, const char *format, ...)
{
	uint64_t counted = d->ep.core.counters.drops[drop];
	uint64_t accepted = d->ep.core.counters.rx_accepted;
	char text[DRILL_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	rx(d, text);
	check(d->drop == drop, file, line, drill_drop_name(drop), drill_drop_name(d->drop));
	check(d->ep.core.counters.drops[drop] == counted + 1 &&
			d->ep.core.counters.rx_accepted == accepted,
		file, line, "counted once, as dropped", "something else");
}

void idle(struct drill *d)
{
	uroce_core_rx_empty(&d->ep.core, d->now_ns);
}

void pass(struct drill *d, uint64_t ns)
{
	d->now_ns += ns;
	uroce_core_rx_empty(&d->ep.core, d->now_ns);
	uroce_core_expire(&d->ep.core, d->now_ns);
}

/* ---- frames out ---- */

static void remove_text(char *line, const char *text)
{
	char *at = strstr(line, text);

	if (at)
		memmove(at, at + strlen(text), strlen(at + strlen(text)) + 1);
}

bool drill_next_line(struct drill *d, char *line, size_t size)
{
	struct uroce_slot slot = {
		.capacity_bytes = d->ep.conf.mtu_bytes + UROCE_OVERHEAD_BYTES_MAX};
	uint32_t base;
	bool answer;

	slot.data = malloc(slot.capacity_bytes);
	if (!slot.data)
		abort();
	memset(slot.data, 0xdd, slot.capacity_bytes);
	if (uroce_core_tx(&d->ep.core, d->now_ns, &slot, 1) == 0) {
		free(slot.data);
		return false;
	}
	memcpy(d->frame, slot.data, slot.bytes);
	d->frame_bytes = slot.bytes;
	free(slot.data);
	uroce_text_decode(d->frame, d->frame_bytes, d->frame_bytes, &d->packet);
	answer = d->packet.opcode >= 0x0d && d->packet.opcode <= 0x12;
	if (d->packet.opcode == CNP)
		base = 0;
	else
		base = answer ? d->rq_psn : d->sq_psn;
	uroce_text_line_relative(&d->packet, base, line, size);
	remove_text(line, "RC_");
	remove_text(line, " qp 0x000022");
	remove_text(line, " credits none");
	remove_text(line, " icrc ok");
	return true;
}

void drill_expect(struct drill *d, const char *file, int line, const char *format, ...)
{
	char text[16 * DRILL_TEXT_BYTES], got[DRILL_TEXT_BYTES];
	char *save, *want;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (want = strtok_r(text, ";", &save); want; want = strtok_r(NULL, ";", &save)) {
		want += strspn(want, " ");
		if (!drill_next_line(d, got, sizeof(got)))
			snprintf(got, sizeof(got), "nothing");
		check(strcmp(want, got) == 0, file, line, want, got);
	}
}

void drill_expect_payload(struct drill *d, const char *file, int line, uint32_t fill, uint64_t at)
{
	bool good = d->packet.has_payload;

	for (uint32_t i = 0; good && i < d->packet.payload_bytes; i++)
		good = d->frame[d->packet.payload_offset + i] == drill_pattern(fill, at + i);
	check(good, file, line, "the right payload", "other bytes");
}

/* ---- completions, events, state, memory ---- */

static const char *status_name(uint32_t status)
{
	static const char *const names[] = {
		[UROCE_STATUS_SUCCESS] = "SUCCESS",
		[UROCE_STATUS_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[UROCE_STATUS_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[UROCE_STATUS_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[UROCE_STATUS_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[UROCE_STATUS_MW_BIND_ERR] = "MW_BIND_ERR",
		[UROCE_STATUS_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[UROCE_STATUS_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[UROCE_STATUS_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[UROCE_STATUS_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[UROCE_STATUS_REM_OP_ERR] = "REM_OP_ERR",
		[UROCE_STATUS_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[UROCE_STATUS_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
		[UROCE_STATUS_FATAL_ERR] = "FATAL_ERR",
		[UROCE_STATUS_GENERAL_ERR] = "GENERAL_ERR",
	};

	if (status >= sizeof(names) / sizeof(names[0]) || !names[status])
		return "?";
	return names[status];
}

static const char *wc_opcode_name(uint32_t opcode)
{
	switch ((enum uroce_wc_opcode)opcode) {
	case UROCE_WC_SEND:
		return "send";
	case UROCE_WC_RDMA_WRITE:
		return "write";
	case UROCE_WC_RDMA_READ:
		return "read";
	case UROCE_WC_COMP_SWAP:
		return "cas";
	case UROCE_WC_FETCH_ADD:
		return "fadd";
	case UROCE_WC_BIND_MW:
		return "bind";
	case UROCE_WC_LOCAL_INV:
		return "inv";
	case UROCE_WC_FLUSH:
		return "flush";
	case UROCE_WC_ATOMIC_WRITE:
		return "atomic_write";
	case UROCE_WC_REG_MR:
		return "reg";
	case UROCE_WC_RECV:
		return "recv";
	case UROCE_WC_RECV_RDMA_WITH_IMM:
		return "recv_imm";
	}
	return "?";
}

static void print_cqe(const struct drill *d, const struct uroce_cqe *cqe, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%s %llu %s", wc_opcode_name(cqe->opcode),
		(unsigned long long)cqe->wr_id, status_name(cqe->status));

	if (cqe->status == UROCE_STATUS_SUCCESS)
		n += (size_t)snprintf(out + n, size - n, " len %u", cqe->bytes);
	if (cqe->flags & UROCE_WC_WITH_IMM)
		n += (size_t)snprintf(out + n, size - n, " imm %u", cqe->imm);
	if (cqe->flags & UROCE_WC_WITH_INV)
		n += (size_t)snprintf(out + n, size - n, " inv 0x%08x", cqe->imm);
	if (cqe->flags & UROCE_WC_GRH)
		n += (size_t)snprintf(out + n, size - n, " grh");
	if (cqe->solicited)
		n += (size_t)snprintf(out + n, size - n, " se");
	if (cqe->vendor_err)
		n += (size_t)snprintf(out + n, size - n, " why 0x%x", cqe->vendor_err);
	if (cqe->qpn != d->ep.qp->qpn)
		n += (size_t)snprintf(out + n, size - n, " qp 0x%x", cqe->qpn);
	if (cqe->src_qpn != d->ep.qp->attr.dest_qpn)
		snprintf(out + n, size - n, " src 0x%x", cqe->src_qpn);
}

void drill_expect_cqe(struct drill *d, const char *file, int line, const char *format, ...)
{
	char text[16 * DRILL_TEXT_BYTES], got[DRILL_TEXT_BYTES];
	struct uroce_cqe cqe;
	char *save, *want;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (want = strtok_r(text, ";", &save); want; want = strtok_r(NULL, ";", &save)) {
		want += strspn(want, " ");
		if (endpoint_poll(&d->ep, &cqe, 1) == 1)
			print_cqe(d, &cqe, got, sizeof(got));
		else
			snprintf(got, sizeof(got), "nothing");
		check(strcmp(want, got) == 0, file, line, want, got);
	}
}

static const char *event_name(enum uroce_event_type type)
{
	switch (type) {
	case UROCE_EVENT_CQ_ERR:
		return "CQ_ERR";
	case UROCE_EVENT_QP_FATAL:
		return "QP_FATAL";
	case UROCE_EVENT_QP_REQ_ERR:
		return "QP_REQ_ERR";
	case UROCE_EVENT_QP_ACCESS_ERR:
		return "QP_ACCESS_ERR";
	case UROCE_EVENT_COMM_EST:
		return "COMM_EST";
	case UROCE_EVENT_SQ_DRAINED:
		return "SQ_DRAINED";
	case UROCE_EVENT_PORT_ACTIVE:
	case UROCE_EVENT_PORT_ERR:
		break;
	case UROCE_EVENT_SRQ_LIMIT_REACHED:
		return "SRQ_LIMIT";
	case UROCE_EVENT_QP_LAST_WQE_REACHED:
		return "LAST_WQE_REACHED";
	case UROCE_EVENT_CQ_FIRED:
		return "CQ_FIRED";
	}
	return "?";
}

static bool is_event_of(const struct drill *d, const struct uroce_core_event *event)
{
	if (event->type == UROCE_EVENT_CQ_ERR || event->type == UROCE_EVENT_CQ_FIRED)
		return event->cq == d->ep.cq;
	if (event->type == UROCE_EVENT_SRQ_LIMIT_REACHED)
		return event->srq == d->ep.srq;
	return event->qpn == d->ep.qp->qpn;
}

void drill_expect_event(struct drill *d, const char *file, int line, const char *format, ...)
{
	char text[DRILL_TEXT_BYTES];
	struct uroce_core_event event;
	char *save, *want;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (want = strtok_r(text, ";", &save); want; want = strtok_r(NULL, ";", &save)) {
		const char *got = "nothing";

		want += strspn(want, " ");
		if (uroce_core_events(&d->ep.core, &event, 1) == 1)
			got = is_event_of(d, &event) ? event_name(event.type)
						     : "an event of something else";
		check(strcmp(want, got) == 0, file, line, want, got);
	}
}

void drill_expect_state(struct drill *d, const char *file, int line, enum uroce_qp_state state)
{
	drill_expect_number(d, file, line, "state", d->ep.qp->state, state);
}

void drill_expect_memory(struct drill *d, const char *file, int line, size_t offset, size_t bytes,
	uint32_t fill, uint64_t at)
{
	char want[64], got[64] = "that";
	bool good = true;

	snprintf(want, sizeof(want), "fill %u at 0x%zx", fill, offset);
	for (size_t i = 0; good && i < bytes; i++) {
		good = d->ep.mem[offset + i] == drill_pattern(fill, at + i);
		if (!good)
			snprintf(got, sizeof(got), "another byte at +%zu", i);
	}
	check(good, file, line, want, got);
}

void drill_expect_number(
	struct drill *d, const char *file, int line, const char *what, uint64_t got, uint64_t want)
{
	char got_text[64], want_text[160];

	(void)d;
	snprintf(want_text, sizeof(want_text), "%s == %llu (0x%llx)", what,
		(unsigned long long)want, (unsigned long long)want);
	snprintf(got_text, sizeof(got_text), "%llu (0x%llx)", (unsigned long long)got,
		(unsigned long long)got);
	check(got == want, file, line, want_text, got_text);
}

/* ---- the application's side ---- */

static bool read_wr_flag(struct endpoint_wr *wr, const char *word)
{
	if (strcmp(word, "fence") == 0)
		wr->flags |= UROCE_SEND_FENCE;
	else if (strcmp(word, "se") == 0)
		wr->flags |= UROCE_SEND_SOLICITED;
	else if (strcmp(word, "inline") == 0)
		wr->flags |= UROCE_SEND_INLINE;
	else if (strcmp(word, "signal") == 0)
		wr->flags |= UROCE_SEND_SIGNALED;
	else
		return false;
	return true;
}

struct wr_numbers {
	uint64_t len, at, segs, lkey, raddr, rkey, imm, add, cmp, swap;
	uint64_t ah, qpn, qkey, new_key, mr, addr, bytes, access;
};

static void read_wr_number(struct wr_numbers *n, const char *word, const char *number)
{
	const struct {
		const char *word;
		uint64_t *field;
	} fields[] = {{"len", &n->len}, {"at", &n->at}, {"segs", &n->segs}, {"lkey", &n->lkey},
		{"raddr", &n->raddr}, {"rkey", &n->rkey}, {"imm", &n->imm}, {"inv", &n->imm},
		{"add", &n->add}, {"cmp", &n->cmp}, {"swap", &n->swap}, {"ah", &n->ah},
		{"qpn", &n->qpn}, {"qkey", &n->qkey}, {"key", &n->imm}, {"new", &n->new_key},
		{"mr", &n->mr}, {"addr", &n->addr}, {"bytes", &n->bytes}, {"access", &n->access}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (number && strcmp(word, fields[i].word) == 0) {
			*fields[i].field = strtoull(number, NULL, 0);
			return;
		}
	}
	fprintf(stderr, "drill: cannot read '%s' of a work request\n", word);
	abort();
}

static enum uroce_wr_opcode wr_opcode(const char *word)
{
	static const struct {
		const char *name;
		enum uroce_wr_opcode opcode;
	} names[] = {{"WRITE", UROCE_WR_RDMA_WRITE}, {"WRITE_IMM", UROCE_WR_RDMA_WRITE_WITH_IMM},
		{"SEND", UROCE_WR_SEND}, {"SEND_IMM", UROCE_WR_SEND_WITH_IMM},
		{"SEND_INV", UROCE_WR_SEND_WITH_INV}, {"READ", UROCE_WR_RDMA_READ},
		{"CAS", UROCE_WR_ATOMIC_CMP_AND_SWP}, {"FADD", UROCE_WR_ATOMIC_FETCH_AND_ADD},
		{"LOCAL_INV", UROCE_WR_LOCAL_INV}, {"BIND", UROCE_WR_BIND_MW},
		{"REG", UROCE_WR_REG_MR}, {"FLUSH", UROCE_WR_FLUSH},
		{"ATOMIC_WRITE", UROCE_WR_ATOMIC_WRITE}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (word && strcmp(word, names[i].name) == 0)
			return names[i].opcode;
	fprintf(stderr, "drill: no work request is called '%s'\n", word ? word : "");
	abort();
}

/* Cuts len bytes at `at` into segs parts that differ in length. */
static void cut_segments(struct endpoint_wr *wr, const struct wr_numbers *n)
{
	uint64_t left = n->len, offset = n->at;

	wr->num_segs = (uint32_t)n->segs;
	for (uint64_t i = 0; i < n->segs; i++) {
		uint64_t part = i + 1 == n->segs ? left : left / (n->segs - i) + (i & 1);

		if (part > left)
			part = left;
		wr->segs[i].offset = offset;
		wr->segs[i].bytes = (uint32_t)part;
		offset += part;
		left -= part;
	}
}

/* What windows, fast regions, flushes and datagrams need; addresses are offsets in memory. */
static void fill_rest(const struct drill *d, struct endpoint_wr *wr, const struct wr_numbers *n)
{
	bool flush = wr->opcode == UROCE_WR_FLUSH;

	wr->ah = (uint32_t)n->ah;
	wr->remote_qpn = (uint32_t)n->qpn;
	wr->remote_qkey = (uint32_t)n->qkey;
	wr->bytes = (uint32_t)(flush ? n->bytes : n->access);
	wr->change = (struct uroce_mr_change){.new_key = (uint32_t)n->new_key,
		.lkey = (uint32_t)(n->mr ? n->mr : d->ep.key),
		.addr = (uintptr_t)d->ep.mem + n->addr,
		.bytes = n->bytes,
		.ptr = d->ep.mem + n->addr};
}

void post(struct drill *d, const char *format, ...)
{
	struct wr_numbers n = {.raddr = DRILL_RADDR, .rkey = DRILL_RKEY, .segs = 1};
	struct endpoint_wr wr = {0};
	char text[DRILL_TEXT_BYTES];
	char *save, *word;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wr.opcode = wr_opcode(strtok_r(text, " ", &save));
	word = strtok_r(NULL, " ", &save);
	wr.wr_id = word ? strtoull(word, NULL, 0) : 0;
	if (wr.opcode == UROCE_WR_ATOMIC_CMP_AND_SWP ||
		wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD || wr.opcode == UROCE_WR_ATOMIC_WRITE)
		n.len = 8;
	while ((word = strtok_r(NULL, " ", &save)))
		if (!read_wr_flag(&wr, word))
			read_wr_number(&n, word, strtok_r(NULL, " ", &save));
	if (n.len == 0 && n.segs == 1)
		n.segs = 0;
	cut_segments(&wr, &n);
	wr.lkey = (uint32_t)n.lkey;
	wr.imm = (uint32_t)n.imm;
	wr.rkey = (uint32_t)n.rkey;
	wr.remote_addr = n.raddr;
	wr.compare_add = wr.opcode == UROCE_WR_ATOMIC_CMP_AND_SWP ? n.cmp : n.add;
	wr.swap = n.swap;
	fill_rest(d, &wr, &n);
	drill_expect_number(
		d, __FILE__, __LINE__, "room to post", endpoint_post_send(&d->ep, &wr), true);
}

void post_recv(struct drill *d, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	drill_expect_number(d, __FILE__, __LINE__, "room to post a receive",
		endpoint_post_recv(&d->ep, wr_id, offset, bytes), true);
}

int drill_modify(struct drill *d, const struct uroce_qp_attr *attr, uint32_t mask)
{
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_QP_MODIFY, .qp = d->ep.qp, .attr = *attr, .attr_mask = mask};

	return uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns);
}

int drill_to_state(struct drill *d, enum uroce_qp_state state)
{
	const struct uroce_qp_attr attr = {.state = state};

	return drill_modify(d, &attr, UROCE_QP_ATTR_STATE);
}
