/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the reading of captures and the words made of their frames: the input is a whole file.
 *
 * The file lives in memory. Reading must end, with frames numbered in order and none longer than it
 * was on the wire; every line and object fits the size that text.h promises; nothing is leaked, and
 * no file stays open.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input.h"
#include "pcap/reader.h"
#include "pcap/text.h"

enum {
	FRAMES_MAX = 1 << 16
};

static void describe(const struct uroce_pcap_frame *frame)
{
	struct uroce_text_packet packet;
	char line[UROCE_TEXT_LINE_BYTES], json[UROCE_TEXT_JSON_BYTES], small[7];
	/* A copy of exactly its size, so that one byte too many is seen. */
	uint8_t *copy = malloc(frame->captured_bytes ? frame->captured_bytes : 1);
	int bytes;

	FUZZ_MUST(copy);
	memcpy(copy, frame->data, frame->captured_bytes);
	uroce_text_decode(copy, frame->captured_bytes, frame->wire_bytes, &packet);
	free(copy);
	bytes = uroce_text_line(&packet, line, sizeof(line));
	FUZZ_MUST(bytes >= 0 && (size_t)bytes < sizeof(line) && strlen(line) == (size_t)bytes);
	FUZZ_MUST(!strchr(line, '\n'));
	FUZZ_MUST(uroce_text_line(&packet, small, sizeof(small)) == bytes);
	FUZZ_MUST(strlen(small) < sizeof(small));
	bytes = uroce_text_line_relative(&packet, packet.psn + 1, line, sizeof(line));
	FUZZ_MUST(bytes >= 0 && (size_t)bytes < sizeof(line));
	bytes = uroce_text_json(&packet, frame->number, frame->time_ns,
		uroce_text_drop_reason(&packet), json, sizeof(json));
	FUZZ_MUST(bytes > 0 && (size_t)bytes < sizeof(json));
	FUZZ_MUST(json[bytes - 1] == '}');
	FUZZ_MUST(strlen(uroce_text_icrc_name(packet.icrc)) > 0);
}

static void read_all(struct uroce_pcap_reader *reader)
{
	struct uroce_pcap_frame frame;
	uint64_t frames = 0;
	int rc;

	while ((rc = uroce_pcap_reader_next(reader, &frame)) == 1) {
		FUZZ_MUST(frame.number == ++frames);
		FUZZ_MUST(frame.captured_bytes <= frame.wire_bytes);
		FUZZ_MUST(frames < FRAMES_MAX);
		describe(&frame);
	}
	FUZZ_MUST(rc == 0 || rc == -EBADMSG);
	FUZZ_MUST((rc == 0) == (uroce_pcap_reader_error(reader)[0] == 0));
	if (rc)
		FUZZ_MUST(uroce_pcap_reader_next(reader, &frame) == rc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct uroce_pcap_reader *reader = NULL;
	char path[64], err[UROCE_PCAP_ERROR_BYTES] = "";
	int fd = memfd_create("capture", 0);
	int rc, again;

	FUZZ_MUST(fd >= 0);
	FUZZ_MUST(write(fd, data, bytes) == (ssize_t)bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = uroce_pcap_reader_open(path, &reader, err, sizeof(err));
	if (rc == 0) {
		read_all(reader);
		uroce_pcap_reader_close(reader);
	} else {
		FUZZ_MUST(rc == -EPROTONOSUPPORT || rc == -EINVAL || rc == -EBADMSG);
		FUZZ_MUST(err[0] && memchr(err, 0, sizeof(err)));
	}
	close(fd);
	/* The lowest free number is what it was: nothing was left open. */
	again = memfd_create("again", 0);
	FUZZ_MUST(again == fd);
	close(again);
	return 0;
}
