/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the analysis: the input writes a capture, packet by packet, or gives the bytes of frames.
 *
 * Whatever a capture holds, the analysis ends, in bounded memory, its numbers add up, its reports
 * are whole, and the fast reading of a frame says what the slow one says.
 */
#include <stdbool.h>
#include <string.h>

#include "capture_script.h"
#include "engine/opcode.h"
#include "input.h"
#include "pcap/analysis.h"
#include "pcap/report.h"

enum {
	PACKETS_MAX = 2000,
	RAW_BYTES_MAX = 200,
	LINE_BYTES = 160,
	CONNECTIONS_MAX = 16,
};

static const char *const words[] = {"SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY",
	"RDMA_WRITE_FIRST", "RDMA_WRITE_MIDDLE", "RDMA_WRITE_LAST", "RDMA_WRITE_ONLY", "READ",
	"RDMA_READ_RESPONSE_FIRST", "RDMA_READ_RESPONSE_MIDDLE", "RDMA_READ_RESPONSE_LAST",
	"RDMA_READ_RESPONSE_ONLY", "ACK", "NAK", "RNR", "ATOMIC_ACKNOWLEDGE", "FETCH_ADD",
	"COMPARE_SWAP", "CNP", "UC_SEND_ONLY", "UC_SEND_FIRST", "UC_RDMA_WRITE_LAST",
	"UD_SEND_ONLY"};

/* The next packet in words: PSNs move a little from where they were, or jump. */
static void write_line(struct input *in, uint32_t psn[2], char line[LINE_BYTES])
{
	static const uint32_t lengths[] = {0, 1, 8, 255, 256, 1024, 1025, 4096};
	static const uint32_t sizes[] = {0, 8, 1000, 3000, 70000, 1u << 31, UINT32_MAX, 1024};
	uint32_t how = take(in, 1), what = take(in, 1), step = take(in, 1), b = how & 1;
	const char *word = words[what % (sizeof(words) / sizeof(words[0]))];
	uint32_t len = strcmp(word, "CNP") == 0 ? 16 : lengths[take(in, 1) & 7];
	bool syndrome = strcmp(word, "NAK") == 0 || strcmp(word, "RNR") == 0;

	if (how & 0x80)
		psn[b] += step << 14;
	else
		psn[b] += step % 16 - 4;
	psn[b] &= 0xffffff;
	snprintf(line, LINE_BYTES, "%c %s %u", b ? 'B' : 'A', word, psn[b]);
	line += strlen(line);
	if (syndrome)
		line += sprintf(line, " %u", (step >> 4 & 7) | (*word == 'N' ? 0x60 : 0));
	line += sprintf(line, " len %u of %u +%u", len, sizes[step >> 5], 1u << (what >> 3));
	if (how & 0x40)
		line += sprintf(line, " qp %u", 1 + (step & 7) + 16 * b);
	if (how & 0x20)
		line += sprintf(line, " sqpn %u", 1 + (step & 7));
	if ((how & 0x1e) == 0x02)
		sprintf(line, " bad");
	else if ((how & 0x1e) == 0x04)
		sprintf(line, " zero");
	else if ((how & 0x1e) == 0x06)
		sprintf(line, " cut %u", 14 + step);
	else if ((how & 0x1e) == 0x08)
		sprintf(line, " ce");
}

static void must_agree(const struct uroce_pcap_frame *frame)
{
	struct uroce_text_packet slow;
	struct uroce_packet fast;
	bool roce = uroce_packet_decode(frame, &fast);

	uroce_text_decode(frame->data, frame->captured_bytes, frame->wire_bytes, &slow);
	FUZZ_MUST(roce == slow.is_roce);
	if (!roce)
		return;
	FUZZ_MUST(fast.icrc == slow.icrc);
	FUZZ_MUST(fast.has_bth == slow.has_bth);
	if (!fast.is_rocev1)
		FUZZ_MUST(!fast.malformed == !slow.malformed &&
			(!fast.malformed || strcmp(fast.malformed, slow.malformed) == 0));
	if (!slow.has_bth)
		return;
	FUZZ_MUST(fast.psn == slow.psn && fast.dqpn == slow.dqpn && fast.ackreq == slow.ackreq);
	FUZZ_MUST(fast.has_aeth == slow.has_aeth && fast.has_reth == slow.has_reth);
	if (slow.has_aeth)
		FUZZ_MUST(fast.syndrome == slow.aeth.syndrome && fast.msn == slow.aeth.msn);
	if (slow.has_reth)
		FUZZ_MUST(fast.dma_len == slow.reth.dma_len && fast.va == slow.reth.va);
	FUZZ_MUST(fast.payload_bytes == slow.payload_bytes);
	FUZZ_MUST(fast.payload_seen_bytes <= frame->captured_bytes);
}

static void give(struct uroce_analysis *a, const struct uroce_pcap_frame *frame)
{
	/* A copy of exactly its size, so that one byte too many is seen. */
	uint8_t *copy = malloc(frame->captured_bytes ? frame->captured_bytes : 1);
	struct uroce_pcap_frame exact = *frame;

	FUZZ_MUST(copy);
	memcpy(copy, frame->data, frame->captured_bytes);
	exact.data = copy;
	must_agree(&exact);
	uroce_analysis_add(a, &exact);
	free(copy);
}

static void give_words(struct uroce_analysis *a, struct input *in)
{
	struct capture_script script = {0};
	struct uroce_pcap_frame frame = {0};
	uint32_t psn[2] = {100, 100};
	char line[LINE_BYTES];

	for (int i = 0; i < PACKETS_MAX && in->left > 0; i++) {
		write_line(in, psn, line);
		script.at = line;
		FUZZ_MUST(capture_script_next(&script, &frame));
		give(a, &frame);
	}
}

/* Frames of IPv4, IPv6 or RoCEv1 whose bytes are the input's; in the end some IP goes before. */
static void give_bytes(struct uroce_analysis *a, struct input *in)
{
	static const uint8_t types[][2] = {{8, 0}, {0x86, 0xdd}, {0x89, 0x15}, {0x81, 0}};
	uint8_t bytes[RAW_BYTES_MAX] = {0};
	struct uroce_pcap_frame frame = {.data = bytes};

	for (int i = 0; i < PACKETS_MAX && in->left > 0; i++) {
		uint32_t how = take(in, 1), n = 14 + take(in, 1) % (RAW_BYTES_MAX - 14);

		memcpy(bytes + 12, types[how & 3], 2);
		take_bytes(in, bytes + 14, n - 14);
		if ((how & 0x0c) == 0x0c && (how & 3) == 0) {
			bytes[14] = 0x45;
			bytes[23] = 17;
			bytes[20] &= 0x40;
			bytes[21] = 0;
			bytes[36] = 0x12;
			bytes[37] = 0xb7;
		}
		frame.number++;
		frame.time_ns += take(in, 2);
		frame.captured_bytes = n;
		frame.wire_bytes = n + (how >> 4);
		give(a, &frame);
	}
}

static void check(const struct uroce_analysis *a)
{
	uint64_t packets = 0;
	FILE *nowhere = fopen("/dev/null", "w");

	FUZZ_MUST(nowhere);
	FUZZ_MUST(a->frames == a->roce_frames + a->other_frames);
	FUZZ_MUST(a->num_streams <= 2 * CONNECTIONS_MAX);
	for (uint32_t i = 0; i < a->num_streams; i++) {
		const struct uroce_stream *s = a->streams[i];

		packets += s->packets;
		FUZZ_MUST(s->connection->streams[s->side] == s);
		FUZZ_MUST(s->in_flight_max_bytes < UINT64_C(1) << 62);
		FUZZ_MUST(s->req.in_flight_bytes <= s->in_flight_max_bytes);
	}
	FUZZ_MUST(packets <= a->roce_frames);
	for (uint32_t i = 0; i < a->findings.num; i++) {
		const struct uroce_finding *f = &a->findings.list[i];

		FUZZ_MUST(f->count > 0 && f->text[0] && f->connection <= a->num_shown);
		FUZZ_MUST(
			i == 0 || uroce_finding_grade(f->kind) <= uroce_finding_grade(f[-1].kind));
	}
	uroce_report_text(a, "it", 0, nowhere);
	uroce_report_json(a, "it", nowhere);
	uroce_report_html(a, "it", nowhere);
	FUZZ_MUST(!ferror(nowhere));
	fclose(nowhere);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input in = {.at = data, .left = bytes};
	uint32_t how = take(&in, 1);
	struct uroce_analysis *a = uroce_analysis_create(&(struct uroce_analysis_conf){
		.drawings = how & 2, .connections_max = CONNECTIONS_MAX});

	FUZZ_MUST(a);
	if (how & 1)
		give_bytes(a, &in);
	else
		give_words(a, &in);
	uroce_analysis_finish(a);
	check(a);
	uroce_analysis_destroy(a);
	return 0;
}
