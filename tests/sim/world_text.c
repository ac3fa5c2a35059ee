/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Worlds in words. A part of a world is one line of key=value:
 *
 *	seed=17 nodes=3 plant=1 ops=0:2,5:1f pauses=1 fates=drop@0x101#2,delay:300ns@0x100#7
 *
 * nodes and plant only if they are not 0; ops by direction, as a mask in base 16, "ops=all" for all
 * of all; fates by queue pair number and turn, in the words of pcap/fault.h; no fates= at all:
 *faults by chance.
 */
#define _GNU_SOURCE
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap/fault.h"

static const enum uroce_fault_kind fault_kinds[] = {
	[NET_LOSE] = UROCE_FAULT_DROP,
	[NET_DELAY] = UROCE_FAULT_DELAY,
	[NET_FLIP] = UROCE_FAULT_CORRUPT,
	[NET_DUPLICATE] = UROCE_FAULT_DUPLICATE,
};

#define FAULT_KINDS (sizeof(fault_kinds) / sizeof(fault_kinds[0]))

/* ---- writing ---- */

struct text {
	char *to;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->to, t->left, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= t->left)
		abort();
	t->to += n;
	t->left -= (size_t)n;
}

static bool is_whole(const struct world_part *part)
{
	for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i++)
		if (part->ops[i] != UINT32_MAX)
			return false;
	return true;
}

static void add_ops(struct text *t, const struct world_part *part)
{
	const char *comma = "";

	if (is_whole(part)) {
		add(t, " ops=all");
		return;
	}
	add(t, " ops=");
	for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i++) {
		if (part->ops[i] == 0)
			continue;
		add(t, "%s%u:%x", comma, i, part->ops[i]);
		comma = ",";
	}
}

void world_part_text(const struct world_part *part, char *text, size_t bytes)
{
	struct text t = {text, bytes};

	add(&t, "seed=%" PRIu64, part->seed);
	if (part->num_nodes)
		add(&t, " nodes=%u", part->num_nodes);
	if (part->plant)
		add(&t, " plant=%u", part->plant);
	add_ops(&t, part);
	if (part->pauses != UINT32_MAX)
		add(&t, " pauses=%x", part->pauses);
	if (!part->explicit_fates)
		return;
	add(&t, " fates=");
	for (uint32_t i = 0; i < part->num_fates; i++) {
		const struct net_fate *fate = &part->fates[i];
		struct uroce_fault fault = {.kind = fault_kinds[fate->kind],
			.by_qpn = true,
			.connection = fate->qpn,
			.turn = fate->number,
			.arg = fate->arg};
		char word[64];

		uroce_fault_print(&fault, word, sizeof(word));
		add(&t, "%s%s", i ? "," : "", word);
	}
}

/* ---- reading ---- */

static bool read_number(const char **at, int base, uint64_t *value)
{
	char *end;

	if (!strchr("0123456789abcdef", **at) || **at == '\0')
		return false;
	*value = strtoull(*at, &end, base);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static bool read_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

static bool read_ops(struct world_part *part, const char **at)
{
	uint64_t direction, mask;

	if (strncmp(*at, "all", 3) == 0) {
		*at += 3;
		return true;
	}
	memset(part->ops, 0, sizeof(part->ops));
	if (**at == ' ' || **at == '\0')
		return true;
	do {
		if (!read_number(at, 10, &direction) || direction >= WORLD_DIRECTIONS_MAX ||
			!read_char(at, ':') || !read_number(at, 16, &mask))
			return false;
		part->ops[direction] = (uint32_t)mask;
	} while (read_char(at, ','));
	return true;
}

static bool read_fate(struct net_fate *fate, const struct uroce_fault *fault)
{
	size_t kind = 0;

	while (kind < FAULT_KINDS && fault_kinds[kind] != fault->kind)
		kind++;
	*fate = (struct net_fate){
		fault->connection, fault->turn, (enum net_fate_kind)kind, fault->arg};
	return fault->by_qpn && kind < FAULT_KINDS;
}

static bool read_fates(struct world_part *part, const char **at)
{
	size_t n = strcspn(*at, " ");
	char *words = strndup(*at, n), err[256];
	struct uroce_faults faults = {0};
	bool good = words && uroce_faults_parse(&faults, words, err, sizeof(err)) == 0;

	part->explicit_fates = true;
	part->fates = calloc(faults.num + 1, sizeof(part->fates[0]));
	if (!part->fates)
		abort();
	for (; good && part->num_fates < faults.num; part->num_fates++)
		good = read_fate(&part->fates[part->num_fates], &faults.list[part->num_fates]);
	*at += n;
	uroce_faults_fini(&faults);
	free(words);
	return good;
}

static bool is_key(const char **at, const char *key)
{
	if (strncmp(*at, key, strlen(key)) != 0)
		return false;
	*at += strlen(key);
	return true;
}

static bool read_one(struct world_part *part, const char **at)
{
	uint64_t n;

	if (is_key(at, "seed="))
		return read_number(at, 10, &part->seed);
	if (is_key(at, "ops="))
		return read_ops(part, at);
	if (is_key(at, "fates="))
		return read_fates(part, at);
	if (is_key(at, "nodes=")) {
		if (!read_number(at, 10, &n) || n > WORLD_NODES_MAX)
			return false;
		part->num_nodes = (uint32_t)n;
		return true;
	}
	if (is_key(at, "plant=")) {
		if (!read_number(at, 10, &n))
			return false;
		part->plant = (uint32_t)n;
		return true;
	}
	if (is_key(at, "pauses=")) {
		if (!read_number(at, 16, &n))
			return false;
		part->pauses = (uint32_t)n;
		return true;
	}
	return false;
}

bool world_part_parse(struct world_part *part, const char *text, const char **wrong)
{
	*part = world_whole(0, 0);
	*wrong = text;
	if (strncmp(text, "seed=", 5) != 0)
		return false;
	while (**wrong) {
		if (read_char(wrong, ' '))
			continue;
		if (!read_one(part, wrong) || (**wrong != ' ' && **wrong != '\0'))
			return false;
	}
	return true;
}

/* ---- telling ---- */

static void print_key(const struct world_op *op)
{
	if (op->op.key || op->op.source)
		printf(", %skey %u%s", op->op.source ? "from " : "",
			op->op.source ? op->op.source : op->op.key,
			op->op.old_key ? " by its old name" : "");
	if (op->op.kind == MODEL_BIND || op->op.kind == MODEL_REGISTER)
		printf(" for 0x%x%s", op->op.rights, op->zero_based ? ", zero-based" : "");
	if (op->op.region)
		printf(" on key %u", op->op.region);
	if (op->op.after)
		printf(", after %u of the other end", op->op.after);
}

static void print_op(uint32_t direction, const struct world_op *op)
{
	static const char *const names[] = {"SEND", "SEND with immediate", "WRITE",
		"WRITE with immediate", "READ", "COMPARE-AND-SWAP", "FETCH-AND-ADD", "ATOMIC WRITE",
		"FLUSH", "SEND with invalidate", "LOCAL INVALIDATE", "BIND", "REGISTER"};

	printf("  %u.%" PRIu64 ": %s of %u bytes, local %u", direction, op->op.id,
		names[op->op.kind], op->op.bytes, op->op.local);
	if (op->op.everywhere)
		printf(", all memory");
	else if (op->op.kind > MODEL_SEND_IMM && op->op.kind < MODEL_SEND_INV)
		printf(", remote %u", op->op.remote);
	else if (op->recv.bytes > 0)
		printf(", receive at %u", op->recv.at);
	print_key(op);
	if (op->num_segs != 1)
		printf(", %u segments", op->num_segs);
	printf("%s%s%s%s\n", op->op.fence ? ", fence" : "", op->op.signalled ? ", signalled" : "",
		op->is_inline ? ", inline" : "", op->bad_key ? ", bad key" : "");
}

static void print_direction(const struct world *w, uint32_t direction)
{
	static const char *const services[] = {
		[MODEL_RC] = "RC", [MODEL_UC] = "UC", [MODEL_UD] = "UD"};
	const struct world_direction *dir = &w->directions[direction];
	const struct world_direction *back = &w->directions[direction ^ 1];
	const struct node_qp_conf *qp = &w->qps[dir->node][dir->qp];

	if (dir->num == 0)
		return;
	printf("direction %u, %s: node %u qp 0x%x to node %u qp 0x%x; MTU %u, PSN 0x%06x, window "
	       "%u, "
	       "%u sends, %u receives, %u reads, timeout code %u%s\n",
		direction, services[dir->service], dir->node, qp->qpn, back->node,
		world_qpn(direction ^ 1), qp->mtu_bytes, qp->sq_psn, qp->caps.window_pkts,
		qp->caps.max_send_wr, w->qps[back->node][back->qp].caps.max_recv_wr,
		qp->attr.max_rd_atomic, qp->attr.timeout, qp->signal_all ? ", all signalled" : "");
	if (world_is_shared(w, direction))
		printf("  receives are shared\n");
	for (uint32_t i = 0; i < dir->num; i++)
		print_op(direction, &dir->ops[i]);
}

static void print_shared(const struct world *w, uint32_t node)
{
	const struct world_shared *shared = &w->shared[node];

	if (shared->num == 0)
		return;
	printf("node %u has %u receives of %u bytes on a shared queue, %u at a time\n", node,
		shared->num, shared->recvs[0].bytes, w->nodes[node].srq_wr);
	for (uint32_t i = 0; i < shared->num; i++)
		printf("%s%" PRIu64 " at %u", i ? ", " : "  ", shared->recvs[i].id,
			shared->recvs[i].at);
	printf("\n");
}

static void print_fate(const struct net_fate *fate)
{
	static const char *const what[] = {
		"is lost", "is delayed by ns:", "has a bit flipped:", "comes twice, ns later:"};

	printf("frame %u for qp 0x%x %s", fate->number, fate->qpn, what[fate->kind]);
	if (fate->kind != NET_LOSE)
		printf(" %" PRIu64, fate->arg);
	printf("\n");
}

void world_print(const struct world *w, const struct world_part *part)
{
	static const char *const kinds[] = {[MODEL_FAST] = "fast region",
		[MODEL_WINDOW_1] = "window of type 1",
		[MODEL_WINDOW_2] = "window of type 2"};

	printf("%u nodes of %u bytes; receives are posted %s\n", w->num_nodes, w->mem_bytes,
		w->late_receives ? "late" : "early");
	for (uint32_t i = 0; i < 2 * w->num_conns; i++)
		print_direction(w, i);
	for (uint32_t i = 0; i < w->num_nodes; i++)
		print_shared(w, i);
	for (uint32_t i = 0; i < w->num_keys; i++)
		printf("key %u is a %s of node %u\n", i + 1, kinds[w->keys[i].kind],
			w->keys[i].node);
	for (uint32_t i = 0; i < w->net.num_pauses; i++)
		printf("node %u pauses from %" PRIu64 " to %" PRIu64 " ns\n", w->pauses[i].node,
			w->pauses[i].from_ns, w->pauses[i].until_ns);
	if (!part->explicit_fates)
		printf("faults by chance, ppm: loss %u, duplication %u, reordering %u, flips %u\n",
			w->net.loss_ppm, w->net.duplicate_ppm, w->net.reorder_ppm, w->net.flip_ppm);
	for (uint32_t i = 0; i < part->num_fates; i++)
		print_fate(&part->fates[i]);
}
