/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * l2fwd-watch: reads the counters of an l2fwd-uroce by RDMA READ, again and again, and prints them.
 *
 * Needs nothing of the forwarder's processor but to answer frames that it forwards anyway.
 */
#include <errno.h>
#include <stdlib.h>

#include "channel.h"
#include "common.h"
#include "endpoint.h"
#include "l2fwd_page.h"

enum {
	WORDS_BYTES = 512,
};

#define CONNECT_PATIENCE_NS UINT64_C(5000000000)
#define ANSWER_PATIENCE_NS  UINT64_C(5000000000)

static const char help[] =
	"usage: l2fwd-watch EAL-ARGUMENTS -- [OPTIONS] FORWARDER\n"
	"\n"
	"Reads the counters of the l2fwd-uroce on FORWARDER (a name or an IPv4 address, for TCP)\n"
	"by RDMA READ, and prints a line for each of its ports. EAL needs a port that leads to\n"
	"the forwarder's first; l2fwd-uroce --help has an example.\n"
	"\n"
	"  --addr ADDR        address of this side's endpoint (192.0.2.2/24)\n"
	"  --tcp-port N       where the forwarder listens (18516)\n"
	"  --interval S       seconds from one reading to the next (1)\n"
	"  --count N          end after N readings (never)\n"
	"  --help             print this\n"
	"\n"
	"exit status: 0 done; 1 something went wrong; 2 wrong arguments\n";

struct options {
	const char *host, *addr;
	uint64_t tcp_port, interval_ns, count;
	bool help;
};

struct watch {
	struct uroce_endpoint endpoint;
	struct uroce_channel channel;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	struct uroce_mr *mr;
	struct uroce_peer forwarder;
	struct l2fwd_page page;
};

/* ---- the command line ---- */

static bool set_addr(void *context, const char *value)
{
	((struct options *)context)->addr = value;
	return true;
}

static bool set_tcp_port(void *context, const char *value)
{
	if (uroce_count_parse(value, 1, 65535, &((struct options *)context)->tcp_port))
		return true;
	uroce_app_say("--tcp-port %s is no TCP port: it is a number from 1 to 65535", value);
	return false;
}

static bool set_interval(void *context, const char *value)
{
	if (uroce_seconds_parse(value, &((struct options *)context)->interval_ns))
		return true;
	uroce_app_say("--interval %s is no pause: it is seconds, like 0.5", value);
	return false;
}

static bool set_count(void *context, const char *value)
{
	if (uroce_count_parse(value, 1, UINT64_MAX, &((struct options *)context)->count))
		return true;
	uroce_app_say("--count %s is out of range: it is a number of readings, at least 1", value);
	return false;
}

static bool set_help(void *context, const char *value)
{
	(void)value;
	((struct options *)context)->help = true;
	return true;
}

static bool set_host(void *context, const char *text)
{
	((struct options *)context)->host = text;
	return true;
}

static const struct uroce_option table[] = {
	{"--addr", "an IP address", set_addr},
	{"--tcp-port", "a TCP port", set_tcp_port},
	{"--interval", "a number of seconds", set_interval},
	{"--count", "a number of readings", set_count},
	{"--help", NULL, set_help},
	{0},
};

/* ---- the other side ---- */

/* Waits for a line; the worker is polled meanwhile, since the forwarder may ask who we are. */
static int await_line(struct watch *watch, char line[UROCE_CHANNEL_LINE_BYTES])
{
	uint64_t since_ns = uroce_app_clock_ns();
	int got;

	while ((got = uroce_channel_recv(&watch->channel, line)) == 0) {
		uroce_endpoint_poll(&watch->endpoint);
		if (uroce_app_clock_ns() - since_ns > ANSWER_PATIENCE_NS)
			return -ETIMEDOUT;
	}
	return got < 0 ? got : 0;
}

/* The records go to and fro, and the queue pair stands. */
static int meet(struct watch *watch)
{
	char line[UROCE_CHANNEL_LINE_BYTES], record[L2FWD_LINE_BYTES];
	struct uroce_peer ours;
	int err;

	uroce_qp_local(watch->qp, &ours);
	l2fwd_record_write(record, &ours);
	record[strcspn(record, "\n")] = 0;
	err = uroce_channel_send(&watch->channel, "%s", record);
	if (!err)
		err = await_line(watch, line);
	if (err) {
		uroce_app_say("the forwarder does not answer: %s", strerror(-err));
		return err;
	}
	if (!l2fwd_record_read(line, &watch->forwarder) ||
		uroce_qp_connect(watch->qp, &watch->forwarder) != 0) {
		uroce_app_say("the forwarder said \"%.100s\", which is no queue pair", line);
		return -EPROTO;
	}
	return 0;
}

static int open_watch(struct watch *watch, const struct options *options)
{
	struct uroce_qp_conf conf = {.max_send_wr = 1, .max_recv_wr = 1};
	int err = uroce_channel_connect(
		&watch->channel, options->host, (uint16_t)options->tcp_port, CONNECT_PATIENCE_NS);

	if (err) {
		uroce_app_say("cannot connect to %s: %s. Start l2fwd-uroce there first, with the "
			      "same --tcp-port",
			options->host, strerror(-err));
		return err;
	}
	err = uroce_endpoint_open(
		&watch->endpoint, &(struct uroce_device_conf){.addr = options->addr});
	if (!err)
		err = uroce_cq_create(watch->endpoint.device, 2, &watch->cq);
	if (!err)
		err = uroce_mr_register(watch->endpoint.pd, &watch->page, sizeof(watch->page),
			UROCE_ACCESS_LOCAL_WRITE, &watch->mr);
	conf.send_cq = conf.recv_cq = watch->cq;
	if (!err)
		err = uroce_qp_create(watch->endpoint.pd, &conf, &watch->qp);
	return err ? err : meet(watch);
}

static void close_watch(struct watch *watch)
{
	if (watch->qp)
		uroce_qp_destroy(watch->qp);
	if (watch->mr)
		uroce_mr_deregister(watch->mr);
	if (watch->cq)
		uroce_cq_destroy(watch->cq);
	uroce_endpoint_close(&watch->endpoint);
	uroce_channel_close(&watch->channel);
}

/* ---- reading ---- */

static int read_page(struct watch *watch)
{
	struct uroce_sge sge = {&watch->page, sizeof(watch->page), watch->mr->lkey};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_READ,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {watch->forwarder.addr, watch->forwarder.rkey}};
	char words[WORDS_BYTES];
	struct uroce_wc wc;

	if (uroce_post_send(watch->qp, &wr, 1) != 1)
		return -EIO;
	while (uroce_cq_poll(watch->cq, &wc, 1) == 0)
		uroce_endpoint_poll(&watch->endpoint);
	if (wc.status == UROCE_STATUS_SUCCESS)
		return 0;
	uroce_qp_last_error(watch->qp, words, sizeof(words));
	uroce_app_say("the page cannot be read: %s", words);
	return -EIO;
}

static int watch_on(struct watch *watch, const struct options *options)
{
	uint64_t next_ns = uroce_app_clock_ns();

	for (uint64_t i = 0; options->count == 0 || i < options->count; i++) {
		int err = read_page(watch);

		if (err)
			return err;
		l2fwd_page_print(&watch->page);
		next_ns += options->interval_ns;
		while (i + 1 != options->count && uroce_app_clock_ns() < next_ns)
			uroce_endpoint_poll(&watch->endpoint);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct uroce_option *const tables[] = {table, NULL};
	struct options options = {
		.addr = "192.0.2.2/24", .tcp_port = L2FWD_TCP_PORT, .interval_ns = 1000000000};
	struct uroce_arguments arguments;
	static struct watch watch;
	int err;

	uroce_app_name = "l2fwd-watch";
	uroce_arguments_split(&arguments, argc, argv);
	if (!uroce_options_parse(arguments.argc, arguments.argv, tables, set_host, &options))
		return UROCE_APP_USAGE;
	if (options.help)
		return uroce_app_finish_output(fputs(help, stdout) < 0);
	if (!options.host || !arguments.eal_argc) {
		uroce_app_say("needs EAL arguments, \"--\", and where the forwarder is; --help has "
			      "an example");
		return UROCE_APP_USAGE;
	}
	if (uroce_app_start_eal(&arguments))
		return UROCE_APP_FAILED;
	watch.channel.fd = -1;
	err = open_watch(&watch, &options);
	if (!err)
		err = watch_on(&watch, &options);
	close_watch(&watch);
	uroce_app_stop_eal();
	return uroce_app_finish_output(err ? UROCE_APP_FAILED : UROCE_APP_DONE);
}
