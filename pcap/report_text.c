/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report for people: connections as a table, then findings, the worst first.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "pcap/report.h"

#define NS_PER_S  1e9
#define NS_PER_US 1e3

const char *uroce_report_address(struct uroce_gid gid, char text[UROCE_REPORT_ADDRESS_BYTES])
{
	uint8_t bytes[UROCE_GID_BYTES];

	if (uroce_gid_is_ipv4(gid)) {
		uroce_store_be32(bytes, uroce_gid_ipv4(gid));
		inet_ntop(AF_INET, bytes, text, UROCE_REPORT_ADDRESS_BYTES);
	} else {
		uroce_gid_store(bytes, gid);
		inet_ntop(AF_INET6, bytes, text, UROCE_REPORT_ADDRESS_BYTES);
	}
	return text;
}

const char *uroce_report_service(const struct uroce_connection *c)
{
	static const char *const names[] = {[UROCE_SERVICE_NONE] = "-",
		[UROCE_SERVICE_RC] = "RC",
		[UROCE_SERVICE_UC] = "UC",
		[UROCE_SERVICE_UD] = "UD",
		[UROCE_SERVICE_CNP] = "-"};
	uint8_t service = c->streams[0]->service;

	if (service == UROCE_SERVICE_NONE && c->streams[1])
		service = c->streams[1]->service;
	return names[service];
}

const char *uroce_report_confidence(enum uroce_confidence confidence)
{
	static const char *const names[] = {[UROCE_CONFIDENCE_ALONE] = "alone",
		[UROCE_CONFIDENCE_GUESS] = "guess",
		[UROCE_CONFIDENCE_EVIDENCE] = "evidence",
		[UROCE_CONFIDENCE_STATED] = "stated"};

	return names[confidence];
}

uint32_t uroce_report_count(const struct uroce_analysis *a, enum uroce_grade grade)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->findings.num; i++)
		n += uroce_finding_grade(a->findings.list[i].kind) == grade;
	return n;
}

/* ---- connections ---- */

static void print_time(uint64_t ns, FILE *file)
{
	if (ns == 0)
		fprintf(file, " %9s", "-");
	else if (ns < UINT64_C(10000000))
		fprintf(file, " %6.1f us", (double)ns / NS_PER_US);
	else
		fprintf(file, " %6.1f ms", (double)ns / NS_PER_US / NS_PER_US);
}

/* In Gb/s, or smaller units. */
static void print_rate(double rate, FILE *file)
{
	if (rate >= 1)
		fprintf(file, " %6.2f Gb/s", rate);
	else if (rate >= 1e-3)
		fprintf(file, " %6.2f Mb/s", rate * 1e3);
	else
		fprintf(file, " %6.2f kb/s", rate * 1e6);
}

static void print_goodput(const struct uroce_stream *f, FILE *file)
{
	uint64_t ns = f->delivered_last_ns - f->delivered_first_ns;

	if (f->delivered_bytes == 0 || ns == 0)
		fprintf(file, " %11s", "-");
	else
		print_rate((double)f->delivered_bytes * 8 / (double)ns, file);
}

static uint64_t messages_of(const struct uroce_stream *f)
{
	uint64_t n = 0;

	for (uint32_t kind = 0; kind < UROCE_OPERATIONS; kind++)
		n += f->messages[kind];
	return n;
}

static void print_operations(const struct uroce_stream *f, FILE *file)
{
	for (uint32_t kind = 0; kind < UROCE_OPERATIONS; kind++) {
		if (f->messages[kind] == 0)
			continue;
		fprintf(file, "      %" PRIu64 " %s%s", f->messages[kind], uroce_op_words[kind],
			f->messages[kind] == 1 ? "" : "s");
		if (f->sizes_min[kind] == f->sizes_max[kind])
			fprintf(file, " of %" PRIu64 " bytes\n", f->sizes_min[kind]);
		else
			fprintf(file, " of %" PRIu64 " to %" PRIu64 " bytes\n", f->sizes_min[kind],
				f->sizes_max[kind]);
	}
}

static void print_stream(const struct uroce_stream *f, FILE *file)
{
	char from[UROCE_REPORT_ADDRESS_BYTES], to[UROCE_REPORT_ADDRESS_BYTES];

	uroce_report_address(f->src, from);
	uroce_report_address(f->dst, to);
	fprintf(file, "    %s > %s qp 0x%06x", from, to, f->dqpn);
	if (f->vlan)
		fprintf(file, " vlan %u", f->vlan);
	fprintf(file, "\n     %9" PRIu64 " %9" PRIu64 " %7" PRIu64, f->packets, messages_of(f),
		f->retransmitted);
	print_goodput(f, file);
	print_time(uroce_histogram_percentile_ns(&f->latency, 50), file);
	print_time(uroce_histogram_percentile_ns(&f->latency, 99), file);
	print_time(f->latency.max_ns, file);
	fputc('\n', file);
	print_operations(f, file);
}

static const char *pairing(const struct uroce_connection *c)
{
	switch (c->confidence) {
	case UROCE_CONFIDENCE_ALONE:
		return "one direction alone is in the capture";
	case UROCE_CONFIDENCE_GUESS:
		return "its two directions are paired by a guess: others would fit as well";
	case UROCE_CONFIDENCE_EVIDENCE:
		return "its two directions are paired by what the answers name";
	case UROCE_CONFIDENCE_STATED:
		break;
	}
	return c->service_id ? "paired by connection management" : "paired by its datagrams";
}

static void print_connection(const struct uroce_connection *c, FILE *file)
{
	fprintf(file, "\n  %u  %s%s", c->number, uroce_report_service(c),
		c->streams[0]->is_rocev1 ? " RoCEv1" : "");
	if (c->mtu_bytes)
		fprintf(file, ", path MTU %u", c->mtu_bytes);
	fprintf(file, ", %s", pairing(c));
	if (c->connect_ns)
		fprintf(file, ", set up in %.1f ms", (double)c->connect_ns / NS_PER_US / NS_PER_US);
	fputc('\n', file);
	for (int side = 0; side < 2; side++)
		if (c->streams[side])
			print_stream(c->streams[side], file);
}

/* ---- findings ---- */

static void print_frames(const struct uroce_finding *finding, FILE *file)
{
	if (finding->num_frames == 0)
		return;
	fprintf(file, finding->num_frames == 1 ? ", frame" : ", frames");
	for (uint32_t i = 0; i < finding->num_frames; i++)
		fprintf(file, " %" PRIu64, finding->frames[i]);
	if (finding->num_frames == UROCE_FINDING_FRAMES)
		fputs(" ...", file);
}

static void print_finding(const struct uroce_finding *finding, FILE *file)
{
	fprintf(file, "\n%-7s %s", uroce_grade_name(uroce_finding_grade(finding->kind)),
		uroce_finding_name(finding->kind));
	if (finding->connection)
		fprintf(file, ", connection %u", finding->connection);
	if (finding->count > 1)
		fprintf(file, ", %" PRIu64 " times", finding->count);
	if (finding->cost_ns)
		fprintf(file, ", cost %.3f ms", (double)finding->cost_ns / NS_PER_US / NS_PER_US);
	print_frames(finding, file);
	fprintf(file, "\n    %s\n    rule: %s\n", finding->text, uroce_finding_rule(finding->kind));
}

static void print_findings(const struct uroce_analysis *a, uint32_t most, FILE *file)
{
	uint32_t shown = most && most < a->findings.num ? most : a->findings.num;

	fprintf(file, "\nfindings: %u of grade error, %u warning, %u note\n",
		uroce_report_count(a, UROCE_GRADE_ERROR),
		uroce_report_count(a, UROCE_GRADE_WARNING),
		uroce_report_count(a, UROCE_GRADE_NOTE));
	for (uint32_t i = 0; i < shown; i++)
		print_finding(&a->findings.list[i], file);
	if (shown < a->findings.num)
		fprintf(file, "\n(%u more; --json has all)\n", a->findings.num - shown);
	if (a->findings.out_of_memory)
		fputs("\nthere was no memory for further findings\n", file);
}

void uroce_report_text(const struct uroce_analysis *a, const char *name, uint32_t most, FILE *file)
{
	uint32_t all = a->num_shown, shown = 0;

	fprintf(file, "%s: %" PRIu64 " frames, %" PRIu64 " of RoCE, %.6f s, %u connection%s\n",
		name, a->frames, a->roce_frames, (double)(a->last_ns - a->first_ns) / NS_PER_S, all,
		all == 1 ? "" : "s");
	if (all)
		fprintf(file,
			"\n       packets  messages  resent     goodput  latency: p50       p99 "
			"      max\n");
	for (uint32_t i = 0; i < a->num_connections && (most == 0 || shown < most); i++) {
		if (a->connections[i]->hidden)
			continue;
		print_connection(a->connections[i], file);
		shown++;
	}
	if (shown < all)
		fprintf(file, "\n  (%u more; --json has all)\n", all - shown);
	print_findings(a, most, file);
}
