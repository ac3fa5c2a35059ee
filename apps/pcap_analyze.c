/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-pcap analyze: reads a capture once and prints what was found.
 */
#define _GNU_SOURCE
#include "pcap_analyze.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap/analysis.h"
#include "pcap/reader.h"
#include "pcap/report.h"

enum {
	EXIT_CLEAN = 0,
	EXIT_FILE = 1,
	EXIT_USAGE = 2,
	EXIT_DAMAGED = 3,
	EXIT_FOUND = 4,
	FINDINGS_SHOWN = 40,
};

static const char help[] =
	"usage: uroce-pcap analyze [OPTIONS] FILE\n"
	"\n"
	"Says what is in the capture FILE (\"-\" is standard input), and what is wrong in it: the\n"
	"connections with both of their directions, their messages, goodput and latencies, and "
	"the\n"
	"findings, the worst first: each in a sentence, with frame numbers, the time that it cost "
	"and\n"
	"the standard's rule. Of a connection the table has a row for each direction:\n"
	"\n"
	"  packets    all that went that way\n"
	"  messages   requests begun that way and ended\n"
	"  resent     packets of requests that were sent again\n"
	"  goodput    bytes of messages acknowledged, over the time from the first to the last\n"
	"  latency    from the first packet of a message to its acknowledgement, or to the last\n"
	"             response of a READ; half of all took no longer than p50\n"
	"\n"
	"The wire names only the queue pair that a packet goes to. Which two directions are one\n"
	"connection is taken from connection management where that was captured, else from what "
	"the\n"
	"answers name; the report says which.\n"
	"\n"
	"options:\n"
	"  --json            print one JSON object, with the arrays connections and findings\n"
	"  --report OUT      also write the JSON object to the file OUT (a page with drawings\n"
	"                    is still to come)\n"
	"  --all             print all connections and findings, not the first 40\n"
	"  --fail-on KINDS   exit with 4 for findings of these kinds alone, as in\n"
	"                    --fail-on icrc-bad,rnr-nak; \"warning\" and \"note\" are all of that "
	"grade\n"
	"                    or worse, \"none\" is no kind\n"
	"  --kinds           print the kinds of findings, their grades and their rules\n"
	"  --help            print this\n"
	"\n"
	"examples:\n"
	"  uroce-pcap analyze roce.pcap\n"
	"  uroce-pcap analyze --report roce.json roce.pcap\n"
	"  uroce-pcap analyze --json roce.pcap | jq '.findings[] | select(.grade == \"error\")'\n"
	"  tcpdump -i eth0 -s 0 -w - udp port 4791 | uroce-pcap analyze -\n"
	"\n"
	"exit status: 0 no finding of grade error (or none that --fail-on names); 1 FILE cannot "
	"be\n"
	"read or OUT not be written; 2 wrong arguments; 3 FILE is damaged (what could be read was\n"
	"analysed); 4 findings of grade error, or that --fail-on names\n";

struct options {
	const char *path, *report;
	bool json, all, done;
	bool fails[UROCE_FINDING_COUNT];
};

static void fail_on_grade(struct options *o, enum uroce_grade least)
{
	for (uint32_t kind = 0; kind < UROCE_FINDING_COUNT; kind++)
		o->fails[kind] |= uroce_finding_grade((enum uroce_finding_kind)kind) >= least;
}

static int fail_on(struct options *o, const char *word)
{
	enum uroce_finding_kind kind = uroce_finding_kind_of(word);

	if (strcmp(word, "none") == 0)
		return 0;
	for (uint32_t grade = UROCE_GRADE_NOTE; grade <= UROCE_GRADE_ERROR; grade++)
		if (strcmp(word, uroce_grade_name((enum uroce_grade)grade)) == 0) {
			fail_on_grade(o, (enum uroce_grade)grade);
			return 0;
		}
	if (kind == UROCE_FINDING_COUNT) {
		fprintf(stderr,
			"uroce-pcap: there is no kind of finding \"%s\"; uroce-pcap analyze "
			"--kinds "
			"prints all\n",
			word);
		return EXIT_USAGE;
	}
	o->fails[kind] = true;
	return 0;
}

static int parse_fail_on(struct options *o, const char *list)
{
	char *words = strdup(list), *rest = words, *word;
	int rc = 0;

	memset(o->fails, 0, sizeof(o->fails));
	while (!rc && (word = strsep(&rest, ",")))
		rc = fail_on(o, word);
	free(words);
	return rc;
}

static void print_kinds(void)
{
	for (uint32_t i = 0; i < UROCE_FINDING_COUNT; i++) {
		enum uroce_finding_kind kind = (enum uroce_finding_kind)i;

		printf("%-7s %-26s %s\n", uroce_grade_name(uroce_finding_grade(kind)),
			uroce_finding_name(kind), uroce_finding_rule(kind));
	}
}

static int parse_word(struct options *o, const char *word)
{
	if (strcmp(word, "--json") == 0) {
		o->json = true;
	} else if (strcmp(word, "--all") == 0) {
		o->all = true;
	} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		fputs(help, stdout);
		o->done = true;
	} else if (strcmp(word, "--kinds") == 0) {
		print_kinds();
		o->done = true;
	} else if (word[0] == '-' && word[1] != '\0') {
		fprintf(stderr, "uroce-pcap: analyze has no option %s; see analyze --help\n", word);
		return EXIT_USAGE;
	} else if (o->path) {
		fprintf(stderr, "uroce-pcap: analyze takes one FILE, and got both %s and %s\n",
			o->path, word);
		return EXIT_USAGE;
	} else {
		o->path = word;
	}
	return 0;
}

static int parse(struct options *o, int argc, char **argv)
{
	int rc = 0;

	fail_on_grade(o, UROCE_GRADE_ERROR);
	for (int i = 0; i < argc && !rc && !o->done; i++) {
		bool is_report = strcmp(argv[i], "--report") == 0;

		if (!is_report && strcmp(argv[i], "--fail-on") != 0) {
			rc = parse_word(o, argv[i]);
		} else if (i + 1 == argc) {
			fprintf(stderr, "uroce-pcap: %s needs a value; see analyze --help\n",
				argv[i]);
			rc = EXIT_USAGE;
		} else if (is_report) {
			o->report = argv[++i];
		} else {
			rc = parse_fail_on(o, argv[++i]);
		}
	}
	if (!rc && !o->done && !o->path) {
		fprintf(stderr,
			"uroce-pcap: analyze needs the name of a capture: uroce-pcap analyze "
			"FILE\n");
		rc = EXIT_USAGE;
	}
	return rc;
}

static bool has_failed(const struct options *o, const struct uroce_analysis *a)
{
	for (uint32_t i = 0; i < a->findings.num; i++)
		if (o->fails[a->findings.list[i].kind])
			return true;
	return false;
}

static int write_report(const struct options *o, const struct uroce_analysis *a)
{
	FILE *file = fopen(o->report, "w");
	int err = 0;

	if (file) {
		uroce_report_html(a, o->path, file);
		err = ferror(file);
	}
	if (!file || fclose(file) || err) {
		fprintf(stderr,
			"uroce-pcap: cannot write %s: %s; give another place for the report\n",
			o->report, strerror(errno));
		return EXIT_FILE;
	}
	return 0;
}

static int print(const struct options *o, const struct uroce_analysis *a)
{
	if (o->json)
		uroce_report_json(a, o->path, stdout);
	else
		uroce_report_text(a, o->path, o->all ? 0 : FINDINGS_SHOWN, stdout);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr,
			"uroce-pcap: cannot write to standard output; check the space on its "
			"disk\n");
		return EXIT_FILE;
	}
	return o->report ? write_report(o, a) : 0;
}

static int analyze(
	const struct options *o, struct uroce_analysis *a, struct uroce_pcap_reader *reader)
{
	struct uroce_pcap_frame frame;
	int damage, rc;

	while ((damage = uroce_pcap_reader_next(reader, &frame)) == 1)
		uroce_analysis_add(a, &frame);
	uroce_analysis_finish(a);
	rc = print(o, a);
	if (damage)
		fprintf(stderr, "uroce-pcap: %s\n", uroce_pcap_reader_error(reader));
	if (rc)
		return rc;
	if (damage)
		return EXIT_DAMAGED;
	return has_failed(o, a) ? EXIT_FOUND : EXIT_CLEAN;
}

int run_analyze(int argc, char **argv)
{
	char error[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader;
	struct uroce_analysis *a;
	struct options o = {0};
	int rc = parse(&o, argc, argv);

	if (rc || o.done)
		return rc;
	rc = uroce_pcap_reader_open(o.path, &reader, error, sizeof(error));
	if (rc) {
		fprintf(stderr, "uroce-pcap: %s\n", error);
		return rc == -EBADMSG ? EXIT_DAMAGED : EXIT_FILE;
	}
	a = uroce_analysis_create(&(struct uroce_analysis_conf){.drawings = o.report});
	rc = EXIT_FILE;
	if (a)
		rc = analyze(&o, a, reader);
	else
		fprintf(stderr, "uroce-pcap: out of memory; free some and try again\n");
	uroce_analysis_destroy(a);
	uroce_pcap_reader_close(reader);
	return rc;
}
