/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-perf: how much, how many and how fast.
 *
 * This file: the command line, and which rows it asks for. What a row measures is in perf_*.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf_report.h"
#include "session.h"

struct options {
	struct uroce_session_options session; /* first: uroce_session_table expects it there */
	bool is_wanted[UROCE_PERF_OPS];
	bool op_is_given, size_is_given, depth_is_given;
	uint32_t size_from_bytes, size_to_bytes;
	struct uroce_perf_test test; /* what all rows have in common */
	/* What of the above only makes sense where the client is; for the message. */
	const char *client_option;
};

enum {
	SIZE_BYTES = 65536,
	LATENCY_SIZE_BYTES = 64,
	DEPTH = 128,
};

#define SAMPLES_MAX UINT64_C(4000000)

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
	"exit status: 0 done; 1 something went wrong, or data was wrong; 2 wrong arguments\n";

/* ---- the command line ---- */

static bool set_op(void *context, const char *word)
{
	struct options *options = context;
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
	struct options *options = context;
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
static bool take_count(
	struct options *options, const char *name, const char *value, uint64_t max, uint64_t *count)
{
	options->client_option = name;
	if (uroce_count_parse(value, 1, max, count))
		return true;
	uroce_app_say("%s %s is out of range: it is a number from 1 to %" PRIu64, name, value, max);
	return false;
}

static bool set_qps(void *context, const char *value)
{
	struct options *options = context;
	uint64_t count = 0;
	bool ok = take_count(options, "--qps", value, UROCE_PERF_QPS_MAX, &count);

	options->test.qps = (uint32_t)count;
	return ok;
}

static bool set_depth(void *context, const char *value)
{
	struct options *options = context;
	uint64_t count = 0;
	bool ok = take_count(options, "--depth", value, UROCE_PERF_DEPTH_MAX, &count);

	options->depth_is_given = true;
	options->test.depth = (uint32_t)count;
	return ok;
}

static bool set_iters(void *context, const char *value)
{
	struct options *options = context;

	return take_count(options, "--iters", value, INT64_MAX, &options->test.iterations);
}

static bool set_duration(void *context, const char *value)
{
	struct options *options = context;

	options->client_option = "--duration";
	if (uroce_seconds_parse(value, &options->test.duration_ns))
		return true;
	uroce_app_say(
		"--duration %s is no time: it is seconds, like 10 or 0.5, up to 86400", value);
	return false;
}

static bool set_lat(void *context, const char *value)
{
	struct options *options = context;

	(void)value;
	options->client_option = "--lat";
	options->test.latency = true;
	return true;
}

static bool set_verify(void *context, const char *value)
{
	struct options *options = context;

	(void)value;
	options->client_option = "--verify";
	options->test.verify = true;
	return true;
}

static bool set_atomic_op(void *context, const char *value)
{
	struct options *options = context;

	options->client_option = "--atomic-op";
	options->test.cas = strcmp(value, "cas") == 0;
	if (options->test.cas || strcmp(value, "fadd") == 0)
		return true;
	uroce_app_say("there is no atomic operation %s: it is fadd or cas", value);
	return false;
}

static bool set_imm(void *context, const char *value)
{
	struct options *options = context;

	(void)value;
	options->client_option = "--imm";
	options->test.imm = true;
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
	{0},
};

/* ---- rows ---- */

static int run_row(struct uroce_perf_client *client, const struct options *options,
	const struct uroce_perf_test *test, bool is_first)
{
	struct uroce_perf_result result;
	struct uroce_samples samples = {0};
	struct uroce_latency latency;
	uint64_t wanted =
		test->iterations && test->iterations < SAMPLES_MAX ? test->iterations : SAMPLES_MAX;
	int err = -1;

	if (test->latency && !uroce_samples_init(&samples, wanted))
		uroce_app_say("no memory for the samples");
	else
		err = uroce_perf_client_run(client, test, &samples, &result);
	if (!err) {
		uroce_samples_summarise(&samples, &latency);
		if (!options->session.json && is_first)
			uroce_perf_report_head(&result, client->server != NULL);
		if (options->session.json)
			uroce_perf_report_json(&result, &latency);
		else
			uroce_perf_report_row(&result, &latency);
		fflush(stdout);
	}
	uroce_samples_fini(&samples);
	return err;
}

/* The next size of a sweep; 0 doubles to 1, and the last one is where the user said. */
static uint64_t next_size(uint64_t size, uint64_t to)
{
	uint64_t next = size ? 2 * size : 1;

	return size < to && next > to ? to : next;
}

static int drive(struct uroce_perf_client *client, void *context)
{
	const struct options *options = context;

	for (int op = 0; op < UROCE_PERF_OPS; op++) {
		bool is_sweep = op != UROCE_PERF_ATOMIC;
		uint64_t to = is_sweep ? options->size_to_bytes : 0;

		if (!options->is_wanted[op])
			continue;
		for (uint64_t size = is_sweep ? options->size_from_bytes : 0; size <= to;
			size = next_size(size, to)) {
			struct uroce_perf_test test = options->test;

			test.op = (enum uroce_perf_op)op;
			test.size_bytes = (uint32_t)size;
			test.imm &= op == UROCE_PERF_WRITE || op == UROCE_PERF_SEND;
			uroce_perf_test_settle(&test);
			if (run_row(client, options, &test,
				    size == (is_sweep ? options->size_from_bytes : 0)))
				return -1;
		}
	}
	return 0;
}

/* ---- */

/* Defaults, and whether the options fit each other. */
static bool settle(struct options *options, const struct uroce_arguments *arguments)
{
	struct uroce_perf_test largest;
	const char *why;

	if (!uroce_session_options_check(&options->session, arguments))
		return false;
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

/* The operation that a server was started for; -1: any. */
static int only_op(const struct options *options)
{
	for (int op = 0; op < UROCE_PERF_OPS; op++)
		if (options->is_wanted[op] && !options->is_wanted[(op + 1) % UROCE_PERF_OPS])
			return op;
	return -1;
}

int main(int argc, char **argv)
{
	const struct uroce_option *const tables[] = {uroce_session_table, perf_table, NULL};
	struct options options = {.test = {.qps = 1, .depth = DEPTH}};
	struct uroce_arguments arguments;

	uroce_app_name = "uroce-perf";
	uroce_session_options_init(&options.session);
	uroce_arguments_split(&arguments, argc, argv);
	if (!uroce_options_parse(arguments.argc, arguments.argv, tables, set_op, &options))
		return UROCE_APP_USAGE;
	if (options.session.help) {
		printf("%s%s%s", help, uroce_session_help, examples);
		return uroce_app_finish_output(UROCE_APP_DONE);
	}
	if (!settle(&options, &arguments))
		return UROCE_APP_USAGE;
	return uroce_session_run(&options.session, &arguments, only_op(&options), drive, &options);
}
