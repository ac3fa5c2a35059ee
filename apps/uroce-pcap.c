/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-pcap: looks at captures of RoCEv2 traffic.
 *
 * One row of the table below is one subcommand; a subcommand gets the arguments behind its name and
 * returns the exit status. Everything that a user can get wrong ends in one line on standard error
 * that says what to do, and in an exit status: 0 done, 1 cannot read or write, 2 wrong arguments,
 * 3 the capture is damaged (and what could be read was printed), 4 analyze found what is wrong.
 *
 * Frames go to standard output one a line and nothing else does, so that the output can be piped.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pcap_analyze.h"
#include "pcap_replay.h"

#include "pcap/reader.h"
#include "pcap/text.h"

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FILE = 1,
	EXIT_USAGE = 2,
	EXIT_DAMAGED = 3,
};

static int run_dump(int argc, char **argv);

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} subcommands[] = {
	{"dump", run_dump, "print every frame of a capture, one line each"},
	{"analyze", run_analyze, "connections, latencies, and what is wrong, in words"},
	{"replay", run_replay, "replay it against the engine, and compare the answers"},
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static const char dump_help[] =
	"usage: uroce-pcap dump [--json] FILE\n"
	"\n"
	"Prints every frame of the capture FILE (pcap or pcapng of an Ethernet interface; \"-\" "
	"is\n"
	"standard input), one line each: frame number, seconds since the first frame, addresses,\n"
	"and what the RoCEv2 packet says. For example\n"
	"\n"
	"  3 0.008230000 192.0.2.1 > 192.0.2.2 RC_SEND_ONLY qp 0x000011 psn 100 ack len 64 icrc "
	"ok\n"
	"\n"
	"is a SEND of 64 bytes to queue pair 0x11, in one packet with sequence number 100, which\n"
	"asks for an acknowledgement. That one reads\n"
	"\n"
	"  4 0.009117000 192.0.2.2 > 192.0.2.1 RC_ACKNOWLEDGE qp 0x000012 psn 100 ACK credits "
	"none\n"
	"    msn 1 icrc ok\n"
	"\n"
	"A refusal reads NAK and its reason, or RNR NAK and how long to wait. At the end of a "
	"line:\n"
	"  vlan 100 pcp 3  its VLAN tag, and the priority in that (svlan: a provider's tag)\n"
	"  icrc ok         the packet arrived as it was sent\n"
	"  icrc bad        it was altered on the way: a receiver drops it\n"
	"  icrc absent     the sender left the check out: a receiver drops it\n"
	"  icrc unknown    the capture does not have the whole frame (record with tcpdump -s 0)\n"
	"  refused REASON  a receiver drops the packet whatever else it holds\n"
	"\n"
	"options:\n"
	"  --json   print one JSON object a line: frame, time_ns (since 1970), proto, opcode, "
	"dqpn,\n"
	"           psn, the headers that are present (reth, aeth, ...), icrc, and drop: what a\n"
	"           receiver drops the frame for, or null. Frames that are not RoCE have null "
	"there.\n"
	"  --help   print this\n"
	"\n"
	"examples:\n"
	"  tcpdump -i eth0 -s 0 -w roce.pcap udp port 4791     record (on Linux, as root)\n"
	"  uroce-pcap dump roce.pcap                           look at it\n"
	"  uroce-pcap dump roce.pcap | grep NAK                only what was refused\n"
	"  uroce-pcap dump --json roce.pcap | jq 'select(.drop)'   only what a receiver drops\n"
	"\n"
	"exit status: 0 done; 1 FILE cannot be read; 2 wrong arguments; 3 FILE is damaged (the "
	"frames\n"
	"before the damage are printed)\n";

static void print_help(void)
{
	printf("usage: uroce-pcap COMMAND [OPTIONS] FILE\n"
	       "\n"
	       "Looks at captures of RoCEv2 traffic: RDMA over UDP port 4791. It reads pcap and "
	       "pcapng\n"
	       "files and needs neither an RDMA device nor root.\n"
	       "\n"
	       "commands:\n");
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		printf("  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
	printf("\n"
	       "examples:\n"
	       "  uroce-pcap dump roce.pcap          one line a frame\n"
	       "  uroce-pcap dump --json roce.pcap   one JSON object a frame\n"
	       "  uroce-pcap analyze roce.pcap       what is in it, and what is wrong in it\n"
	       "  uroce-pcap replay roce.pcap        does the engine answer as the recorded peer?\n"
	       "  uroce-pcap dump --help             what the lines mean, and how to record a "
	       "capture\n");
}

/* Standard output is where the result goes: if it did not arrive, that is a failure. */
static int finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr,
		"uroce-pcap: cannot write to standard output; check the space on its disk\n");
	return EXIT_FILE;
}

/* "192.0.2.1 > 192.0.2.2 ", "" for frames without addresses. */
static void print_addresses(const struct uroce_text_packet *packet)
{
	if (*packet->src)
		printf("%s > %s ", packet->src, packet->dst);
}

static void print_line(const struct uroce_pcap_frame *frame, uint64_t first_ns,
	const struct uroce_text_packet *packet)
{
	bool before = frame->time_ns < first_ns;
	uint64_t ns = before ? first_ns - frame->time_ns : frame->time_ns - first_ns;
	char text[UROCE_TEXT_LINE_BYTES];

	printf("%" PRIu64 " %s%" PRIu64 ".%09" PRIu64 " ", frame->number, before ? "-" : "",
		ns / UINT64_C(1000000000), ns % UINT64_C(1000000000));
	print_addresses(packet);
	uroce_text_line(packet, text, sizeof(text));
	puts(text);
}

static void print_json(const struct uroce_pcap_frame *frame, const struct uroce_text_packet *packet)
{
	char text[UROCE_TEXT_JSON_BYTES];

	uroce_text_json(packet, frame->number, frame->time_ns, uroce_text_drop_reason(packet), text,
		sizeof(text));
	puts(text);
}

static int dump(struct uroce_pcap_reader *reader, bool json)
{
	struct uroce_text_packet packet;
	struct uroce_pcap_frame frame;
	uint64_t first_ns = 0;
	int rc;

	while ((rc = uroce_pcap_reader_next(reader, &frame)) == 1) {
		uroce_text_decode(frame.data, frame.captured_bytes, frame.wire_bytes, &packet);
		if (frame.number == 1)
			first_ns = frame.time_ns;
		if (json)
			print_json(&frame, &packet);
		else
			print_line(&frame, first_ns, &packet);
		if (ferror(stdout))
			break;
	}
	if (rc >= 0)
		return finish_output(EXIT_DONE);
	/* The frames first: where both streams are one terminal, the line explains the end. */
	rc = finish_output(EXIT_DAMAGED);
	fprintf(stderr, "uroce-pcap: %s\n", uroce_pcap_reader_error(reader));
	return rc;
}

static int dump_file(const char *path, bool json)
{
	char error[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader;
	int rc = uroce_pcap_reader_open(path, &reader, error, sizeof(error));

	if (rc) {
		fprintf(stderr, "uroce-pcap: %s\n", error);
		return rc == -EBADMSG ? EXIT_DAMAGED : EXIT_FILE;
	}
	rc = dump(reader, json);
	uroce_pcap_reader_close(reader);
	return rc;
}

static int run_dump(int argc, char **argv)
{
	const char *path = NULL;
	bool json = false;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(dump_help, stdout);
			return finish_output(EXIT_DONE);
		}
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (argv[i][0] == '-' && argv[i][1] != '\0') {
			fprintf(stderr,
				"uroce-pcap: dump has no option %s; its options are --json and "
				"--help\n",
				argv[i]);
			return EXIT_USAGE;
		} else if (path) {
			fprintf(stderr, "uroce-pcap: dump takes one FILE, and got both %s and %s\n",
				path, argv[i]);
			return EXIT_USAGE;
		} else {
			path = argv[i];
		}
	}
	if (!path) {
		fprintf(stderr,
			"uroce-pcap: dump needs the name of a capture: uroce-pcap dump [--json] "
			"FILE\n");
		return EXIT_USAGE;
	}
	return dump_file(path, json);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr,
			"uroce-pcap: say what to do, for example: uroce-pcap dump FILE "
			"(--help explains)\n");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help();
		return finish_output(EXIT_DONE);
	}
	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(argc - 2, argv + 2);
	}
	fprintf(stderr, "uroce-pcap: there is no command \"%s\"; uroce-pcap --help lists them\n",
		argv[1]);
	return EXIT_USAGE;
}
