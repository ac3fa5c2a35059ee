/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-ping: is the other side there, and how long does a message take.
 *
 * One message at a time; the summary is percentiles and a histogram of all samples. Speaks
 * uroce-perf's protocol: either may be the other's server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session.h"

struct options {
	struct uroce_session_options session; /* first: uroce_session_table expects it there */
	struct uroce_perf_test test;
	/* What of the above only makes sense where the client is; for the message. */
	const char *client_option;
};

enum {
	SIZE_BYTES = 64,
	COUNT = 10000,
	BAR_COLUMNS = 50,
};

#define SAMPLES_MAX UINT64_C(4000000)

static const char help[] =
	"usage: uroce-ping [OPTIONS]\n"
	"       uroce-ping EAL-ARGUMENTS -- [OPTIONS]\n"
	"\n"
	"Sends RDMA messages to and fro, one at a time, and says how long one takes: minimum,\n"
	"median, 99th and 99.9th percentile, maximum, and a histogram. Without arguments both\n"
	"sides are in this process, connected through memory; nothing has to be set up.\n"
	"\n"
	"what is sent:\n"
	"  --op OP            send (the default), write, or read. send and write are answered by\n"
	"                     the same, and half of the round trip counts; read counts from "
	"posting\n"
	"                     to completion\n"
	"  --size S           bytes per message (64); like 64, 4K, 1M\n"
	"  --count N          messages (10000)\n"
	"  --interval S       seconds from one message to the next, like 0.01 (no pause), up to "
	"10\n"
	"  --verify           check every byte\n"
	"  --json             print one JSON object, and nothing else\n"
	"  --help             print this\n"
	"\n";

static const char examples[] =
	"\n"
	"examples:\n"
	"  uroce-ping                             within this process\n"
	"  uroce-ping --op write --size 4K --count 100000\n"
	"\n"
	"  two processes on one machine, through shared memory (memif); server, then client.\n"
	"  The one with memif's role=server has to be started first; -l puts each on a core of\n"
	"  its own; bsize gives each frame one slot of memif's ring (one that takes several can "
	"be\n"
	"  lost when the ring is full):\n"
	"    uroce-ping -l 0 --no-huge --no-pci --no-shconf -m 512 --file-prefix a --vdev=\\\n"
	"net_memif0,role=server,socket=@uroce,socket-abstract=yes,bsize=8192 -- --server\n"
	"    uroce-ping -l 1 --no-huge --no-pci --no-shconf -m 512 --file-prefix b --vdev=\\\n"
	"net_memif0,role=client,socket=@uroce,socket-abstract=yes,bsize=8192 \\\n"
	"      -- --client 127.0.0.1\n"
	"\n"
	"  over a kernel interface (af_packet; as root), on two machines:\n"
	"    uroce-ping --no-huge --no-pci -m 512 --vdev=net_af_packet0,iface=eth1 -- --server\n"
	"    uroce-ping --no-huge --no-pci -m 512 --vdev=net_af_packet0,iface=eth1 \\\n"
	"      -- --client SERVER\n"
	"\n"
	"exit status: 0 done; 1 something went wrong, or data was wrong; 2 wrong arguments\n";

/* ---- the command line ---- */

static bool set_op(void *context, const char *value)
{
	static const enum uroce_perf_op ops[] = {
		UROCE_PERF_SEND, UROCE_PERF_WRITE, UROCE_PERF_READ};
	struct options *options = context;

	options->client_option = "--op";
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(value, uroce_perf_op_name(ops[i])) != 0)
			continue;
		options->test.op = ops[i];
		return true;
	}
	uroce_app_say("--op %s cannot be: it is send, write or read", value);
	return false;
}

static bool set_size(void *context, const char *value)
{
	struct options *options = context;
	uint64_t bytes;

	options->client_option = "--size";
	if (!uroce_size_parse(value, UROCE_PERF_SIZE_MAX, &bytes)) {
		uroce_app_say(
			"--size %s is no message size: it is like 64, 4K, 16M, at most 1G", value);
		return false;
	}
	options->test.size_bytes = (uint32_t)bytes;
	return true;
}

static bool set_count(void *context, const char *value)
{
	struct options *options = context;

	options->client_option = "--count";
	if (uroce_count_parse(value, 1, INT64_MAX, &options->test.iterations))
		return true;
	uroce_app_say("--count %s is out of range: it is a number of messages, at least 1", value);
	return false;
}

static bool set_interval(void *context, const char *value)
{
	struct options *options = context;

	options->client_option = "--interval";
	if (uroce_seconds_parse(value, &options->test.interval_ns) &&
		options->test.interval_ns <= UINT64_C(10000000000))
		return true;
	uroce_app_say("--interval %s is no pause: it is seconds, like 0.01, up to 10", value);
	return false;
}

static bool set_verify(void *context, const char *value)
{
	struct options *options = context;

	(void)value;
	options->client_option = "--verify";
	options->test.verify = true;
	return true;
}

static const struct uroce_option ping_table[] = {
	{"--op", "send, write or read", set_op},
	{"--size", "a message size", set_size},
	{"--count", "a number of messages", set_count},
	{"--interval", "a number of seconds", set_interval},
	{"--verify", NULL, set_verify},
	{0},
};

static bool refuse_word(void *context, const char *word)
{
	(void)context;
	uroce_app_say(
		"%s is too much: the options are all that there is (--help lists them)", word);
	return false;
}

/* ---- the result ---- */

static double log2_us(int i)
{
	return (double)(UINT64_C(1) << i) / 1000;
}

/* The first and last histogram row that has something; there is at least one sample. */
static void find_rows(const struct uroce_samples *samples, int *first, int *last)
{
	*first = -1;
	*last = -1;
	for (int i = 0; i < 63; i++) {
		if (samples->counts_log2[i] == 0)
			continue;
		*last = i;
		if (*first < 0)
			*first = i;
	}
}

static void print_histogram(const struct uroce_samples *samples)
{
	static const char bar[] = "##################################################";
	uint64_t most = 0;
	int first, last;

	find_rows(samples, &first, &last);
	for (int i = first; i <= last; i++)
		if (samples->counts_log2[i] > most)
			most = samples->counts_log2[i];
	printf("\n %12s   %12s %12s\n", "from [us]", "below [us]", "messages");
	for (int i = first; i <= last; i++) {
		uint64_t count = samples->counts_log2[i];
		/* Rounded up: a single message out of millions is still seen. */
		int columns =
			(int)(((double)count * BAR_COLUMNS + (double)most - 1) / (double)most);

		printf(" %12.3f - %12.3f %12" PRIu64 " %s%.*s\n", log2_us(i), log2_us(i + 1), count,
			count ? "|" : "", count ? columns : 0, bar);
	}
}

static void print_text(const struct uroce_perf_result *result, const struct uroce_samples *samples,
	const struct uroce_latency *latency, bool is_loopback)
{
	printf("%s of %" PRIu32 " bytes, %s, %s, path MTU %" PRIu32 " bytes%s\n",
		uroce_perf_op_name(result->test.op), result->test.size_bytes,
		uroce_perf_test_is_pingpong(&result->test) ? "half of a round trip"
							   : "posting to completion",
		is_loopback ? "both sides in this process" : "to another process",
		result->mtu_bytes, result->is_verified ? ", every byte was right" : "");
	printf("%" PRIu64 " messages: min %.2f us, median %.2f us, 99%% %.2f us, 99.9%% %.2f us, "
	       "max %.2f us\n",
		result->messages, latency->min_us, latency->p50_us, latency->p99_us,
		latency->p999_us, latency->max_us);
	print_histogram(samples);
}

static void print_json(const struct uroce_perf_result *result, const struct uroce_samples *samples,
	const struct uroce_latency *latency)
{
	int first, last;

	printf("{\"op\": \"%s\", \"size_bytes\": %" PRIu32 ", \"mtu_bytes\": %" PRIu32
	       ", \"count\": %" PRIu64 ", \"is_half_round_trip\": %s, \"lat_us\": "
	       "{\"min\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, \"max\": %.3f}, "
	       "\"histogram\": [",
		uroce_perf_op_name(result->test.op), result->test.size_bytes, result->mtu_bytes,
		result->messages, uroce_perf_test_is_pingpong(&result->test) ? "true" : "false",
		latency->min_us, latency->p50_us, latency->p99_us, latency->p999_us,
		latency->max_us);
	find_rows(samples, &first, &last);
	for (int i = first; i <= last; i++)
		printf("%s{\"from_us\": %.3f, \"below_us\": %.3f, \"count\": %" PRIu64 "}",
			i == first ? "" : ", ", log2_us(i), log2_us(i + 1),
			samples->counts_log2[i]);
	printf("], \"verified\": %s}\n", result->is_verified ? "true" : "false");
}

static int drive(struct uroce_perf_client *client, void *context)
{
	const struct options *options = context;
	uint64_t count = options->test.iterations;
	struct uroce_perf_result result;
	struct uroce_samples samples;
	struct uroce_latency latency;
	int err = -1;

	if (!uroce_samples_init(&samples, count < SAMPLES_MAX ? count : SAMPLES_MAX))
		uroce_app_say("no memory for the samples");
	else
		err = uroce_perf_client_run(client, &options->test, &samples, &result);
	if (!err) {
		uroce_samples_summarise(&samples, &latency);
		if (options->session.json)
			print_json(&result, &samples, &latency);
		else
			print_text(&result, &samples, &latency, client->server != NULL);
	}
	uroce_samples_fini(&samples);
	return err;
}

/* Whether the options fit each other. */
static bool settle(struct options *options, const struct uroce_arguments *arguments)
{
	const char *why;

	if (!uroce_session_options_check(&options->session, arguments))
		return false;
	if (options->session.role == UROCE_SESSION_SERVER && options->client_option) {
		uroce_app_say("%s belongs to the client; the server does what that asks for",
			options->client_option);
		return false;
	}
	uroce_perf_test_settle(&options->test);
	why = uroce_perf_test_check(&options->test);
	if (why)
		uroce_app_say("%s: lower --size", why);
	return !why;
}

int main(int argc, char **argv)
{
	const struct uroce_option *const tables[] = {uroce_session_table, ping_table, NULL};
	struct options options = {.test = {.op = UROCE_PERF_SEND,
					  .latency = true,
					  .size_bytes = SIZE_BYTES,
					  .qps = 1,
					  .iterations = COUNT}};
	struct uroce_arguments arguments;

	uroce_app_name = "uroce-ping";
	uroce_session_options_init(&options.session);
	uroce_arguments_split(&arguments, argc, argv);
	if (!uroce_options_parse(arguments.argc, arguments.argv, tables, refuse_word, &options))
		return UROCE_APP_USAGE;
	if (options.session.help) {
		printf("%s%s%s", help, uroce_session_help, examples);
		return uroce_app_finish_output(UROCE_APP_DONE);
	}
	if (!settle(&options, &arguments))
		return UROCE_APP_USAGE;
	return uroce_session_run(&options.session, &arguments, -1, drive, &options);
}
