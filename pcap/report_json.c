/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report for programs. Names are only added to, never renamed: scripts depend on them.
 */
#include <inttypes.h>

#include "pcap/report.h"

void uroce_report_quote(const char *text, FILE *file)
{
	fputc('"', file);
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < ' ' || c == '<' || c == '>' || c == '&' || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

static void put_operations(const struct uroce_stream *f, FILE *file)
{
	const char *comma = "";

	fputs("\"messages\": {", file);
	for (uint32_t kind = 0; kind < UROCE_OPERATIONS; kind++) {
		if (f->messages[kind] == 0)
			continue;
		fprintf(file,
			"%s\"%s\": {\"count\": %" PRIu64 ", \"bytes\": %" PRIu64
			", \"min_bytes\": %" PRIu64 ", \"max_bytes\": %" PRIu64 "}",
			comma, uroce_op_words[kind], f->messages[kind], f->message_bytes[kind],
			f->sizes_min[kind], f->sizes_max[kind]);
		comma = ", ";
	}
	fputs("}", file);
}

static void put_latency(const struct uroce_histogram *h, FILE *file)
{
	fprintf(file,
		"\"latency_ns\": {\"count\": %" PRIu64 ", \"min\": %" PRIu64 ", \"mean\": %" PRIu64
		", \"p50\": %" PRIu64 ", \"p90\": %" PRIu64 ", \"p99\": %" PRIu64
		", \"p99.9\": %" PRIu64 ", \"max\": %" PRIu64 "}",
		h->count, h->min_ns, uroce_histogram_mean_ns(h),
		uroce_histogram_percentile_ns(h, 50), uroce_histogram_percentile_ns(h, 90),
		uroce_histogram_percentile_ns(h, 99), uroce_histogram_percentile_ns(h, 99.9),
		h->max_ns);
}

static void put_numbers(const struct uroce_stream *f, FILE *file)
{
	fprintf(file,
		"\"packets\": %" PRIu64 ", \"wire_bytes\": %" PRIu64 ", \"requests\": %" PRIu64
		", \"answers\": %" PRIu64 ", \"retransmitted\": %" PRIu64 ", \"naks\": %" PRIu64
		", \"rnr_naks\": %" PRIu64 ", \"cnps\": %" PRIu64 ", \"ce_marked\": %" PRIu64
		", \"icrc_bad\": %" PRIu64 ", \"icrc_absent\": %" PRIu64
		", \"truncated\": %" PRIu64,
		f->packets, f->wire_bytes, f->requests_seen, f->answers_seen, f->retransmitted,
		f->naks, f->rnr_naks, f->cnps, f->ce_marks, f->icrc_bad, f->icrc_absent, f->cut);
}

static void put_stream(const struct uroce_stream *f, FILE *file)
{
	char from[UROCE_REPORT_ADDRESS_BYTES], to[UROCE_REPORT_ADDRESS_BYTES];
	uint64_t ns = f->delivered_last_ns - f->delivered_first_ns;

	fprintf(file, "{\"src\": \"%s\", \"dst\": \"%s\", \"dest_qpn\": %u, \"vlan\": %u, ",
		uroce_report_address(f->src, from), uroce_report_address(f->dst, to), f->dqpn,
		f->vlan);
	put_numbers(f, file);
	if (f->req.started)
		fprintf(file, ", \"first_psn\": %u, \"next_psn\": %u", f->req.psn_first,
			f->req.psn_next);
	fprintf(file,
		", \"first_frame\": %" PRIu64 ", \"last_frame\": %" PRIu64
		", \"delivered_bytes\": %" PRIu64 ", \"goodput_bps\": %.0f"
		", \"in_flight_max_bytes\": %" PRIu64 ", ",
		f->first_frame, f->last_frame, f->delivered_bytes,
		ns ? (double)f->delivered_bytes * 8e9 / (double)ns : 0.0, f->in_flight_max_bytes);
	put_operations(f, file);
	fputs(", ", file);
	put_latency(&f->latency, file);
	fputs("}", file);
}

static void put_connection(const struct uroce_connection *c, FILE *file)
{
	fprintf(file,
		"{\"connection\": %u, \"service\": \"%s\", \"rocev1\": %s, \"confidence\": \"%s\", "
		"\"answers_that_fit\": %" PRIu64 ", \"answers_that_do_not\": %" PRIu64
		", \"mtu_bytes\": %u, \"service_id\": %" PRIu64 ", \"connect_ns\": %" PRIu64
		", \"disconnected\": %s, \"first_ns\": %" PRIu64 ", \"last_ns\": %" PRIu64
		",\n   \"streams\": [",
		c->number, uroce_report_service(c), c->streams[0]->is_rocev1 ? "true" : "false",
		uroce_report_confidence(c->confidence), c->agree, c->disagree, c->mtu_bytes,
		c->service_id, c->connect_ns, c->disconnected ? "true" : "false", c->first_ns,
		c->last_ns);
	put_stream(c->streams[0], file);
	if (c->streams[1]) {
		fputs(",\n    ", file);
		put_stream(c->streams[1], file);
	}
	fputs("]}", file);
}

static void put_finding(const struct uroce_finding *finding, FILE *file)
{
	fprintf(file, "{\"kind\": \"%s\", \"grade\": \"%s\", \"connection\": ",
		uroce_finding_name(finding->kind),
		uroce_grade_name(uroce_finding_grade(finding->kind)));
	if (finding->connection)
		fprintf(file, "%u", finding->connection);
	else
		fputs("null", file);
	fprintf(file, ", \"count\": %" PRIu64 ", \"cost_ns\": %" PRIu64 ", \"frames\": [",
		finding->count, finding->cost_ns);
	for (uint32_t i = 0; i < finding->num_frames; i++)
		fprintf(file, "%s%" PRIu64, i ? ", " : "", finding->frames[i]);
	fputs("], \"text\": ", file);
	uroce_report_quote(finding->text, file);
	fputs(", \"rule\": ", file);
	uroce_report_quote(uroce_finding_rule(finding->kind), file);
	fputs("}", file);
}

void uroce_report_json(const struct uroce_analysis *a, const char *name, FILE *file)
{
	const char *comma = "";

	fputs("{\"capture\": ", file);
	uroce_report_quote(name, file);
	fprintf(file,
		", \"frames\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"roce_frames\": %" PRIu64
		", \"rocev1_frames\": %" PRIu64 ", \"other_frames\": %" PRIu64
		", \"left_out_frames\": %" PRIu64 ", \"first_ns\": %" PRIu64
		", \"last_ns\": %" PRIu64 ",\n \"connections\": [",
		a->frames, a->bytes, a->roce_frames, a->rocev1_frames, a->other_frames, a->left_out,
		a->first_ns, a->last_ns);
	for (uint32_t i = 0; i < a->num_connections; i++) {
		if (a->connections[i]->hidden)
			continue;
		fprintf(file, "%s\n  ", comma);
		put_connection(a->connections[i], file);
		comma = ",";
	}
	fputs("],\n \"findings\": [", file);
	for (uint32_t i = 0; i < a->findings.num; i++) {
		fputs(i ? ",\n  " : "\n  ", file);
		put_finding(&a->findings.list[i], file);
	}
	fputs("]}\n", file);
}
