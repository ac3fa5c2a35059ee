/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of uroce-perf, each with its refusals, and whether they fit each other. Those that say
 * where the other side is are the session's.
 */
#include "perf_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perftest.h"

enum {
	SIZE_BYTES = 65536,
	LATENCY_SIZE_BYTES = 64,
	DEPTH = 128,
};

static const char help[] =
	"usage: uroce-perf OPERATION [OPTIONS]\n"
	"       uroce-perf EAL-ARGUMENTS -- OPERATION [OPTIONS]\n"
	"\n"
	"Measures RDMA between two endpoints: how many gigabits and how many million messages a\n"
	"second, or, with --lat, how long one message takes. Without further arguments both\n"
	"endpoints are in this process, connected through memory; nothing has to be set up.\n"
	"\n"
	"operations:\n"
	"  write    RDMA Write: the client writes into the server's memory\n"
	"  read     RDMA Read: the client reads from the server's memory\n"
	"  send     messages that the server has posted receives for\n"
	"  atomic   8-byte atomic operations on the server's memory\n"
	"  all      each of them, one after the other\n"
	"\n"
	"what is measured (given to the client, which tells the server):\n"
	"  --size S|A..B      bytes per message, 65536 unless given (64 with --lat); 64, 4K, 1M;\n"
	"                     A..B doubles from A to B\n"
	"  --qps N            queue pairs (1)\n"
	"  --depth D          messages under way on each queue pair, at most (128)\n"
	"  --iters N          messages in all, per row (as many as take about a second)\n"
	"  --duration S       instead: seconds per row\n"
	"  --lat              latency: one message under way. write and send: half of a ping-pong\n"
	"                     round trip; read and atomic: from posting to completion\n"
	"  --verify           check every byte of every message, or every value that an atomic\n"
	"                     fetched. Slower, since messages are filled and checked; the depth "
	"is\n"
	"                     lowered where messages under way would take more than 64 MiB\n"
	"  --atomic-op OP     fadd (fetch and add, all queue pairs on one word; the default) or "
	"cas\n"
	"                     (compare and swap, a word for each queue pair)\n"
	"  --imm              writes and sends carry immediate data: the message's number\n"
	"  --perftest         the other side is perftest (ib_write_bw, ib_read_lat ...): one\n"
	"                     operation and size, given to both, with perftest's defaults;\n"
	"                     --iters counts per queue pair, as its -n does\n"
	"  --json             print one JSON object per row, and nothing else\n"
	"  --help             print this\n"
	"\n";

static const char examples[] =
	"\n"
	"columns: #bytes is the message size, #iterations the messages of all queue pairs. Gb/s\n"
	"is 10^9 bits of payload a second, Mmsg/s 10^6 messages a second, us microseconds.\n"
	"\n"
	"examples:\n"
	"  uroce-perf write                              64 KiB writes, within this process\n"
	"  uroce-perf all --size 2..1M --verify          everything, every byte checked\n"
	"  uroce-perf send --lat --json | jq .lat_us     latency, for a program\n"
	"\n"
	"  two processes on one machine, through shared memory (memif); server, then client.\n"
	"  The one with memif's role=server has to be started first; -l puts each on a core of\n"
	"  its own; bsize gives each frame one slot of memif's ring (one that takes several can "
	"be\n"
	"  lost when the ring is full):\n"
	"    uroce-perf -l 0 --no-huge --no-pci --no-shconf -m 512 --file-prefix a --vdev=\\\n"
	"net_memif0,role=server,socket=@uroce,socket-abstract=yes,bsize=8192 -- --server\n"
	"    uroce-perf -l 1 --no-huge --no-pci --no-shconf -m 512 --file-prefix b --vdev=\\\n"
	"net_memif0,role=client,socket=@uroce,socket-abstract=yes,bsize=8192 \\\n"
	"      -- write --client 127.0.0.1\n"
	"\n"
	"  over kernel interfaces (af_packet; as root), here a pair of virtual ones:\n"
	"    ip link add veth0 type veth peer name veth1 && ip link set veth0 up && \\\n"
	"      ip link set veth1 up\n"
	"    uroce-perf -l 0 --no-huge --no-pci --no-shconf -m 512 --file-prefix a \\\n"
	"      --vdev=net_af_packet0,iface=veth0 -- --server\n"
	"    uroce-perf -l 1 --no-huge --no-pci --no-shconf -m 512 --file-prefix b \\\n"
	"      --vdev=net_af_packet0,iface=veth1 -- write --client 127.0.0.1\n"
	"\n"
	"  with perftest in a Linux host whose address for TCP is HOST; it starts as server:\n"
	"    ib_write_bw -s 4096 -n 5000        and here: uroce-perf ... -- write --size 4K \\\n"
	"      --perftest --client HOST\n"
	"\n"
	"exit status: 0 done; 1 something went wrong, or data was wrong; 2 wrong arguments\n";

/* ---- the command line ---- */

static bool set_op(void *context, const char *word)
{
	struct uroce_perf_options *options = context;
	bool is_all = strcmp(word, "all") == 0, is_known = is_all;

	if (options->op_is_given) {
		uroce_app_say("one operation at a time, or \"all\": %s is one too many", word);
		return false;
	}
	options->op_is_given = true;
	for (int op = 0; op < UROCE_PERF_OPS; op++) {
		options->is_wanted[op] =
			is_all || strcmp(word, uroce_perf_op_name((enum uroce_perf_op)op)) == 0;
		is_known |= options->is_wanted[op];
	}
	if (!is_known)
		uroce_app_say(
			"there is no operation %s: it is write, read, send, atomic or all", word);
	return is_known;
}

static bool set_size(void *context, const char *value)
{
	struct uroce_perf_options *options = context;
	const char *dots = strstr(value, "..");
	int length = (int)(dots ? (size_t)(dots - value) : strlen(value));
	char first[24];
	uint64_t from, to;

	options->client_option = "--size";
	options->size_is_given = true;
	snprintf(first, sizeof(first), "%.*s", length, value);
	if (!uroce_size_parse(first, UROCE_PERF_SIZE_MAX, &from) ||
		!uroce_size_parse(dots ? dots + 2 : first, UROCE_PERF_SIZE_MAX, &to)) {
		uroce_app_say("--size %s is no message size: it is like 64, 4K, 16M (at most 1G), "
			      "or a range like 2..1M",
			value);
		return false;
	}
	if (from > to) {
		uroce_app_say("--size %s goes backwards: the smaller size comes first", value);
		return false;
	}
	options->size_from_bytes = (uint32_t)from;
	options->size_to_bytes = (uint32_t)to;
	return true;
}

/* A count from 1 to max for the option of that name. */
static bool take_count(struct uroce_perf_options *options, const char *name, const char *value,
	uint64_t max, uint64_t *count)
{
	options->client_option = name;
	if (uroce_count_parse(value, 1, max, count))
		return true;
	uroce_app_say("%s %s is out of range: it is a number from 1 to %" PRIu64, name, value, max);
	return false;
}

static bool set_qps(void *context, const char *value)
{
	struct uroce_perf_options *options = context;
	uint64_t count = 0;
	bool ok = take_count(options, "--qps", value, UROCE_PERF_QPS_MAX, &count);

	options->test.qps = (uint32_t)count;
	return ok;
}

static bool set_depth(void *context, const char *value)
{
	struct uroce_perf_options *options = context;
	uint64_t count = 0;
	bool ok = take_count(options, "--depth", value, UROCE_PERF_DEPTH_MAX, &count);

	options->depth_is_given = true;
	options->test.depth = (uint32_t)count;
	return ok;
}

static bool set_iters(void *context, const char *value)
{
	struct uroce_perf_options *options = context;

	return take_count(options, "--iters", value, INT64_MAX, &options->test.iterations);
}

static bool set_duration(void *context, const char *value)
{
	struct uroce_perf_options *options = context;

	options->client_option = "--duration";
	if (uroce_seconds_parse(value, &options->test.duration_ns))
		return true;
	uroce_app_say(
		"--duration %s is no time: it is seconds, like 10 or 0.5, up to 86400", value);
	return false;
}

static bool set_lat(void *context, const char *value)
{
	struct uroce_perf_options *options = context;

	(void)value;
	options->client_option = "--lat";
	options->test.latency = true;
	return true;
}

static bool set_verify(void *context, const char *value)
{
	struct uroce_perf_options *options = context;

	(void)value;
	options->client_option = "--verify";
	options->test.verify = true;
	return true;
}

static bool set_atomic_op(void *context, const char *value)
{
	struct uroce_perf_options *options = context;

	options->client_option = "--atomic-op";
	options->test.cas = strcmp(value, "cas") == 0;
	if (options->test.cas || strcmp(value, "fadd") == 0)
		return true;
	uroce_app_say("there is no atomic operation %s: it is fadd or cas", value);
	return false;
}

static bool set_imm(void *context, const char *value)
{
	struct uroce_perf_options *options = context;

	(void)value;
	options->client_option = "--imm";
	options->test.imm = true;
	return true;
}

static bool set_perftest(void *context, const char *value)
{
	(void)value;
	((struct uroce_perf_options *)context)->is_perftest = true;
	return true;
}

static const struct uroce_option perf_table[] = {
	{"--size", "a message size", set_size},
	{"--qps", "a number of queue pairs", set_qps},
	{"--depth", "a number of messages", set_depth},
	{"--iters", "a number of messages", set_iters},
	{"--duration", "a number of seconds", set_duration},
	{"--lat", NULL, set_lat},
	{"--verify", NULL, set_verify},
	{"--atomic-op", "fadd or cas", set_atomic_op},
	{"--imm", NULL, set_imm},
	{"--perftest", NULL, set_perftest},
	{0},
};

/* ---- together ---- */

/* Perftest knows one test at a time, and both sides have to be told which. */
static bool settle_perftest(struct uroce_perf_options *options)
{
	struct uroce_perf_test *test = &options->test;
	int op = uroce_perf_options_only_op(options);
	const char *why;

	if (options->session.cm) {
		uroce_app_say("--cm does not go with --perftest: leave one out");
		return false;
	}
	if (options->session.role == UROCE_SESSION_LOOPBACK) {
		uroce_app_say("--perftest needs --server or --client HOST: the other side is "
			      "perftest");
		return false;
	}
	if (op < 0 || options->size_from_bytes != options->size_to_bytes) {
		uroce_app_say("--perftest measures one operation with one size: name the same "
			      "as on the other side, for example \"write --size 4K\" for "
			      "\"ib_write_bw -s 4096\"");
		return false;
	}
	if (test->verify || test->imm || test->duration_ns) {
		uroce_app_say("%s does not go with --perftest, which has no such thing",
			test->verify	    ? "--verify"
				: test->imm ? "--imm"
					    : "--duration");
		return false;
	}
	test->op = (enum uroce_perf_op)op;
	test->size_bytes = options->size_from_bytes;
	uroce_perftest_settle(test, options->size_is_given);
	options->size_from_bytes = options->size_to_bytes = test->size_bytes;
	uroce_perf_test_settle(test);
	why = uroce_perf_test_check(test);
	if (why)
		uroce_app_say("%s: lower --qps, --depth or --size", why);
	options->session.perftest = test;
	return !why;
}

/* Defaults, and whether the options fit each other. */
static bool settle(struct uroce_perf_options *options, const struct uroce_arguments *arguments)
{
	struct uroce_perf_test largest;
	const char *why;

	if (!uroce_session_options_check(&options->session, arguments))
		return false;
	if (options->is_perftest)
		return settle_perftest(options);
	if (options->session.role == UROCE_SESSION_SERVER) {
		if (options->client_option)
			uroce_app_say(
				"%s belongs to the client; the server does what that asks for",
				options->client_option);
		return !options->client_option;
	}
	if (!options->op_is_given) {
		uroce_app_say("say what to measure: write, read, send, atomic or all, for example: "
			      "uroce-perf write (--help explains)");
		return false;
	}
	if (options->test.iterations && options->test.duration_ns) {
		uroce_app_say("--iters and --duration exclude each other: give one");
		return false;
	}
	if (options->size_is_given && options->is_wanted[UROCE_PERF_ATOMIC] &&
		!options->is_wanted[UROCE_PERF_WRITE] &&
		(options->size_from_bytes != 8 || options->size_to_bytes != 8)) {
		uroce_app_say("atomics are of 8 bytes always: leave --size out");
		return false;
	}
	if (options->test.imm && !options->is_wanted[UROCE_PERF_WRITE] &&
		!options->is_wanted[UROCE_PERF_SEND]) {
		uroce_app_say("reads and atomics carry no immediate data: leave --imm out");
		return false;
	}
	if (options->test.latency && options->depth_is_given && options->test.depth != 1) {
		uroce_app_say("--lat has one message under way: leave --depth out");
		return false;
	}
	if (!options->size_is_given)
		options->size_from_bytes = options->size_to_bytes =
			options->test.latency ? LATENCY_SIZE_BYTES : SIZE_BYTES;
	largest = options->test;
	largest.size_bytes = options->size_to_bytes;
	uroce_perf_test_settle(&largest);
	why = uroce_perf_test_check(&largest);
	if (why)
		uroce_app_say("%s: lower --qps, --depth or --size", why);
	return !why;
}

bool uroce_perf_options_parse(
	struct uroce_perf_options *options, const struct uroce_arguments *arguments)
{
	const struct uroce_option *const tables[] = {uroce_session_table, perf_table, NULL};

	*options = (struct uroce_perf_options){.test = {.qps = 1, .depth = DEPTH}};
	uroce_session_options_init(&options->session);
	if (!uroce_options_parse(arguments->argc, arguments->argv, tables, set_op, options))
		return false;
	return options->session.help || settle(options, arguments);
}

void uroce_perf_options_help(void)
{
	printf("%s%s%s", help, uroce_session_help, examples);
}

int uroce_perf_options_only_op(const struct uroce_perf_options *options)
{
	for (int op = 0; op < UROCE_PERF_OPS; op++)
		if (options->is_wanted[op] && !options->is_wanted[(op + 1) % UROCE_PERF_OPS])
			return op;
	return -1;
}
