/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-pcap replay: a capture against the engine, and what came of it.
 *
 * Every exchange is replayed in both roles, unless one is asked for. A row each, then what the
 * differences are and why they are allowed, then the first one that is not. The engine's packets
 * can be written to a capture of their own.
 */
#include "pcap_replay.h"
#include "pcap_rerun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pcap/reader.h"
#include "pcap/replay.h"
#include "pcap/report.h"
#include "pcap/writer.h"

enum {
	EXIT_AGREES = 0,
	EXIT_DIFFERS = 1,
	EXIT_USAGE = 2,
	EXIT_DAMAGED = 3
};

static const char help[] =
	"usage: uroce-pcap replay [OPTIONS] FILE\n"
	"\n"
	"Feeds one side of each RC, UC or UD exchange in the capture FILE to the engine, over IPv4 "
	"or\n"
	"IPv6 and on the capture's own clock, and compares every packet that the engine sends "
	"with\n"
	"what the recorded peer sent; what UC and UD bring must lie where it belongs.\n"
	"As responder the engine is given the recorded requests; as requester it is given work\n"
	"requests rebuilt from them, and the recorded answers. Memory, keys, addresses, queue "
	"pair\n"
	"numbers and sequence numbers are the capture's.\n"
	"\n"
	"options:\n"
	"  --responder     only as responder\n"
	"  --requester     only as requester\n"
	"  --write OUT     write what the engine sends to the capture OUT\n"
	"  --faults LIST   instead, run each RC exchange once more with the engine at both ends "
	"and\n"
	"                  these faults between them: does it recover, and with the same memory?\n"
	"  --faults-file F the same, with the faults in a file, one a line\n"
	"  --json          one JSON object a line for each exchange and role\n"
	"  --help          print this\n"
	"\n"
	"verdicts:\n"
	"  agrees   every packet is the recorded one, or differs in a way the standard leaves "
	"open\n"
	"  departs  also where the recorded peer is known to depart from the standard\n"
	"  differs  in a way that no rule allows; the first such packet is shown\n"
	"  skipped  cannot be replayed; the reason is given\n"
	"\n"
	"faults are KIND[:ARGUMENT]@EXCHANGE:PSN[#TURN][/a], exchanges numbered as --faults "
	"prints\n"
	"them; +N is a PSN counted from the exchange's first, TURN 2 the second time it is sent, "
	"/a an\n"
	"answer. Kinds: drop, delay:TIME, duplicate[:TIME], reorder[:PACKETS], corrupt[:BIT], ce.\n"
	"  uroce-pcap replay --faults drop@1:+3,drop@1:+3#2,delay:5ms@2:+0/a roce.pcap\n"
	"\n"
	"Not compared are fields that no peer may rely on: IPv4 identification, TTL, TOS and the\n"
	"checksum over them, IPv6 hop limit, traffic class and flow label, the UDP source port,\n"
	"MigReq. The ICRC is, with those fields put equal.\n"
	"Frames that the wire lost behind the capturing side are told by what was sent again.\n"
	"\n"
	"exit status: 0 nothing differs, all recover; 1 something does not, or FILE cannot be "
	"read; 2 wrong "
	"arguments;\n"
	"3 FILE is damaged (what could be read was replayed)\n";

struct options {
	const char *path;
	const char *write;
	bool json;
	bool only[2]; /* by role */
	bool rerun;
	struct uroce_faults faults;
};

struct totals {
	uint32_t exchanges;
	uint32_t counts[UROCE_REPLAY_CLASS_COUNT];
	uint32_t verdicts[UROCE_REPLAY_SKIPPED + 1];
	char difference[UROCE_DIFFERENCE_BYTES];
};

static const char *const roles[] = {"responder", "requester"};

/* The frame that an exchange begins with is a request. */
static const struct uroce_text_packet *first_request(const struct uroce_exchange *e)
{
	return &e->frames[0]->text;
}

static void print_row(const struct uroce_exchange *e, int role, const struct uroce_replay_result *r)
{
	printf("%-9s %15s 0x%06x > %15s 0x%06x  mtu %4u  fed %5u  lost %3u  sent %5u  same %5u  "
	       "%s%s%s\n",
		roles[role], first_request(e)->src, e->requester_qpn, first_request(e)->dst,
		e->responder_qpn, e->mtu_bytes, r->fed, r->lost, r->sent,
		r->comparison.counts[UROCE_REPLAY_IDENTICAL], uroce_replay_verdict_name(r->verdict),
		r->skipped ? ": " : "", r->skipped ? r->skipped : "");
}

static void print_json(
	const struct uroce_exchange *e, int role, const struct uroce_replay_result *r)
{
	printf("{\"role\": \"%s\", \"requester\": \"%s\", \"requester_qpn\": %u, "
	       "\"responder\": \"%s\", \"responder_qpn\": %u, \"mtu_bytes\": %u, \"fed\": %u, "
	       "\"lost\": %u, \"sent\": %u, \"verdict\": \"%s\", \"skipped\": ",
		roles[role], first_request(e)->src, e->requester_qpn, first_request(e)->dst,
		e->responder_qpn, e->mtu_bytes, r->fed, r->lost, r->sent,
		uroce_replay_verdict_name(r->verdict));
	if (r->skipped)
		uroce_report_quote(r->skipped, stdout);
	else
		fputs("null", stdout);
	fputs(", \"classes\": {", stdout);
	for (int c = 0, n = 0; c < UROCE_REPLAY_CLASS_COUNT; c++)
		if (r->comparison.counts[c] > 0)
			printf("%s\"%s\": %u", n++ ? ", " : "",
				uroce_replay_class_name((enum uroce_replay_class)c),
				r->comparison.counts[c]);
	fputs("}, \"difference\": ", stdout);
	if (r->comparison.difference[0])
		uroce_report_quote(r->comparison.difference, stdout);
	else
		fputs("null", stdout);
	puts("}");
}

static void add(struct totals *t, const struct uroce_replay_result *r)
{
	for (int c = 0; c < UROCE_REPLAY_CLASS_COUNT; c++)
		t->counts[c] += r->comparison.counts[c];
	t->verdicts[r->verdict]++;
	if (!t->difference[0])
		memcpy(t->difference, r->comparison.difference, sizeof(t->difference));
}

static void print_totals(const struct uroce_exchanges *all, const struct totals *t)
{
	static const char *const kinds[] = {"same", "legal", "known departure", "WRONG"};

	printf("\n%-20s %-16s %7s  rule\n", "class", "kind", "packets");
	for (int c = 0; c < UROCE_REPLAY_CLASS_COUNT; c++) {
		enum uroce_replay_class class = (enum uroce_replay_class)c;

		if (t->counts[c] > 0)
			printf("%-20s %-16s %7u  %s\n", uroce_replay_class_name(class),
				kinds[uroce_replay_class_kind(class)], t->counts[c],
				uroce_replay_class_rule(class));
	}
	if (all->left_out + all->unpaired > 0)
		printf("\nleft out: %u frames that are not RC, UC or UD or cannot be read, %u "
		       "answers to nothing in the capture\n",
			all->left_out, all->unpaired);
	if (t->difference[0])
		printf("\nfirst difference, %s\n", t->difference);
	printf("\n%u agree, %u depart, %u differ, %u skipped\n", t->verdicts[UROCE_REPLAY_AGREES],
		t->verdicts[UROCE_REPLAY_DEPARTS], t->verdicts[UROCE_REPLAY_DIFFERS],
		t->verdicts[UROCE_REPLAY_SKIPPED]);
}

/* ---- running ---- */

struct tap {
	struct uroce_pcap_writer *writer;
	int err;
};

static void tap_frame(void *arg, uint64_t time_ns, const uint8_t *data, uint32_t bytes)
{
	struct tap *tap = arg;

	if (!tap->err)
		tap->err = uroce_pcap_writer_write(tap->writer, time_ns, data, bytes);
}

static int replay_all(const struct uroce_exchanges *all, const struct options *o, struct tap *tap,
	struct totals *t)
{
	const struct uroce_replay_tap frames = {.frame = tap_frame, .arg = tap};
	struct uroce_replay_result result;

	for (uint32_t i = 0; i < all->num; i++) {
		for (int role = 0; role < 2; role++) {
			int err;

			if (o->only[1 - role])
				continue;
			err = uroce_replay_run(&all->list[i], (enum uroce_replay_role)role,
				tap->writer ? &frames : NULL, &result);
			if (err)
				return err;
			if (o->json)
				print_json(&all->list[i], role, &result);
			else
				print_row(&all->list[i], role, &result);
			add(t, &result);
		}
	}
	return tap->err;
}

/* The exit status, once everything is written. */
static int run(const struct uroce_exchanges *all, const struct options *o, struct tap *tap,
	struct totals *t, int *err)
{
	const struct uroce_replay_tap frames = {.frame = tap_frame, .arg = tap};
	int broken;

	if (!o->rerun) {
		*err = replay_all(all, o, tap, t);
		return t->verdicts[UROCE_REPLAY_DIFFERS] > 0 ? EXIT_DIFFERS : EXIT_AGREES;
	}
	broken = rerun_all(all, &o->faults, o->json, tap->writer ? &frames : NULL);
	*err = broken < 0 ? broken : tap->err;
	return broken > 0 ? EXIT_DIFFERS : EXIT_AGREES;
}

static int replay(const struct uroce_exchanges *all, const struct options *o)
{
	char err_text[UROCE_PCAP_ERROR_BYTES];
	struct totals totals = {.exchanges = all->num};
	struct tap tap = {0};
	int err = 0, status;

	if (o->write)
		err = uroce_pcap_writer_open(o->write, &tap.writer, err_text, sizeof(err_text));
	if (err) {
		fprintf(stderr, "uroce-pcap: %s\n", err_text);
		return EXIT_DIFFERS;
	}
	status = run(all, o, &tap, &totals, &err);
	if (tap.writer && uroce_pcap_writer_close(tap.writer) != 0 && !err)
		err = -EIO;
	if (err) {
		fprintf(stderr, "uroce-pcap: the replay stopped: %s\n", strerror(-err));
		return EXIT_DIFFERS;
	}
	if (!o->json && !o->rerun)
		print_totals(all, &totals);
	return status;
}

static int replay_file(const struct options *o)
{
	char err_text[UROCE_PCAP_ERROR_BYTES];
	struct uroce_exchanges all;
	int rc = uroce_exchanges_init(&all, o->path, err_text, sizeof(err_text));
	int status = EXIT_DIFFERS;

	if (rc == 0 || rc == -EBADMSG)
		status = replay(&all, o);
	if (rc) {
		fflush(stdout);
		fprintf(stderr, "uroce-pcap: %s\n", err_text);
		status = rc == -EBADMSG ? EXIT_DAMAGED : EXIT_DIFFERS;
	}
	uroce_exchanges_fini(&all);
	return status;
}

/* ---- arguments ---- */

static int take_faults(struct options *o, const char *value, bool is_file)
{
	char err[UROCE_PCAP_ERROR_BYTES];
	int rc = is_file ? uroce_faults_read(&o->faults, value, err, sizeof(err))
			 : uroce_faults_parse(&o->faults, value, err, sizeof(err));

	o->rerun = true;
	if (!rc)
		return 0;
	fprintf(stderr, "uroce-pcap: %s\n", err);
	return EXIT_USAGE;
}

/* An option and its value. -1: it is none of these. */
static int take_option(struct options *o, const char *option, const char *value)
{
	bool is_file = strcmp(option, "--faults-file") == 0;

	if (!is_file && strcmp(option, "--faults") != 0 && strcmp(option, "--write") != 0)
		return -1;
	if (!value) {
		fprintf(stderr, "uroce-pcap: %s needs a value; replay --help explains\n", option);
		return EXIT_USAGE;
	}
	if (strcmp(option, "--write") != 0)
		return take_faults(o, value, is_file);
	o->write = value;
	return 0;
}

static int take_word(struct options *o, const char *word)
{
	if (strcmp(word, "--json") == 0) {
		o->json = true;
	} else if (strcmp(word, "--responder") == 0) {
		o->only[UROCE_REPLAY_RESPONDER] = true;
	} else if (strcmp(word, "--requester") == 0) {
		o->only[UROCE_REPLAY_REQUESTER] = true;
	} else if (word[0] == '-' && word[1] != '\0') {
		fprintf(stderr, "uroce-pcap: replay has no option %s; --help lists them\n", word);
		return EXIT_USAGE;
	} else if (o->path) {
		fprintf(stderr, "uroce-pcap: replay takes one FILE, and got both %s and %s\n",
			o->path, word);
		return EXIT_USAGE;
	} else {
		o->path = word;
	}
	return 0;
}

static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 0; i < argc; i++) {
		int rc = take_option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);

		if (rc < 0)
			rc = take_word(o, argv[i]);
		else
			i++;
		if (rc)
			return rc;
	}
	if (o->path && !(o->only[0] && o->only[1]))
		return 0;
	fprintf(stderr,
		o->path ? "uroce-pcap: --responder and --requester exclude each other; without "
			  "either both are replayed\n"
			: "uroce-pcap: replay needs the name of a capture: uroce-pcap replay "
			  "FILE\n");
	return EXIT_USAGE;
}

int run_replay(int argc, char **argv)
{
	struct options o = {0};
	int status;

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(help, stdout);
			return EXIT_AGREES;
		}
	status = parse(argc, argv, &o);
	if (!status)
		status = replay_file(&o);
	uroce_faults_fini(&o.faults);
	return status;
}
