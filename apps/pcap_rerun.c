/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row for each exchange, and what an analysis of its packets finds.
 */
#include "pcap_rerun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "pcap/report.h"

#define NS_PER_MS 1e6

static const char *verdict(const struct uroce_rerun_result *r)
{
	if (r->skipped)
		return "skipped";
	return r->recovered ? "recovers" : "breaks";
}

static void print_row(
	const struct uroce_exchange *e, uint32_t number, const struct uroce_rerun_result *r)
{
	const struct uroce_text_packet *first = &e->frames[0]->text;

	printf("%3u %15s > %15s 0x%06x  requests %5u  answers %5u  faults %3u  %9.3f ms, without "
	       "%9.3f  %s%s%s\n",
		number, first->src, first->dst, e->responder_qpn, r->requests, r->answers,
		r->faults, (double)r->took_ns / NS_PER_MS, (double)r->took_without_ns / NS_PER_MS,
		verdict(r), r->skipped || r->words[0] ? ": " : "",
		r->skipped ? r->skipped : r->words);
}

static void print_json(const struct uroce_exchange *e, uint32_t number,
	const struct uroce_rerun_result *r, const struct uroce_analysis *a)
{
	printf("{\"connection\": %u, \"responder_qpn\": %u, \"requests\": %u, \"answers\": %u, "
	       "\"faults\": %u, \"took_ns\": %" PRIu64 ", \"took_without_ns\": %" PRIu64
	       ", \"verdict\": \"%s\", \"words\": ",
		number, e->responder_qpn, r->requests, r->answers, r->faults, r->took_ns,
		r->took_without_ns, verdict(r));
	uroce_report_quote(r->skipped ? r->skipped : r->words, stdout);
	fputs(", \"findings\": [", stdout);
	for (uint32_t i = 0; i < a->findings.num; i++) {
		printf("%s{\"kind\": \"%s\", \"count\": %" PRIu64 ", \"text\": ", i ? ", " : "",
			uroce_finding_name(a->findings.list[i].kind), a->findings.list[i].count);
		uroce_report_quote(a->findings.list[i].text, stdout);
		putchar('}');
	}
	puts("]}");
}

static void print_findings(const struct uroce_analysis *a)
{
	for (uint32_t i = 0; i < a->findings.num; i++) {
		const struct uroce_finding *f = &a->findings.list[i];

		printf("      %-7s %s: %s\n", uroce_grade_name(uroce_finding_grade(f->kind)),
			uroce_finding_name(f->kind), f->text);
	}
}

/* 1: it did not recover, or did what no endpoint may. */
static int rerun_one(const struct uroce_exchange *e, uint32_t number,
	const struct uroce_faults *faults, bool json, const struct uroce_replay_tap *tap)
{
	struct uroce_analysis *a = uroce_analysis_create(&(struct uroce_analysis_conf){0});
	struct uroce_rerun_result result;
	int rc = a ? uroce_rerun(e, number, faults, tap, a, &result) : -ENOMEM;

	if (!rc) {
		uroce_analysis_finish(a);
		if (json) {
			print_json(e, number, &result, a);
		} else {
			print_row(e, number, &result);
			print_findings(a);
		}
		rc = !result.skipped && !result.recovered;
	}
	uroce_analysis_destroy(a);
	return rc;
}

int rerun_all(const struct uroce_exchanges *all, const struct uroce_faults *faults, bool json,
	const struct uroce_replay_tap *tap)
{
	int broken = 0;

	for (uint32_t i = 0; i < all->num; i++) {
		int rc = rerun_one(&all->list[i], i + 1, faults, json, tap);

		if (rc < 0)
			return rc;
		broken += rc;
	}
	return broken;
}
