/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture reader on files that are good, cut, of other formats, and of other link types.
 *
 * Files for single checks are written byte by byte by this test, in temporary files that are
 * removed at once, so that neither libpcap's writer nor ours is trusted to make them.
 * UROCE_CAPTURES names the folder of the project's captures, UROCE_PUBLIC_CAPTURES a folder of
 * captures from elsewhere; without them the cases that need them are skipped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pcap/reader.h"

#include "cunit_run.h"

/* The first bytes of a file, in the byte order of the machine that wrote it. */
struct pcap_header {
	uint32_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t zone;
	uint32_t accuracy;
	uint32_t snaplen;
	uint32_t link_type;
};

struct record_header {
	uint32_t seconds;
	uint32_t fraction;
	uint32_t captured;
	uint32_t wire;
};

static const struct pcap_header microseconds = {0xa1b2c3d4, 2, 4, 0, 0, 65535, 1};
static const struct pcap_header nanoseconds = {0xa1b23c4d, 2, 4, 0, 0, 65535, 1};

/* Three frames of 4, 60 and 1 bytes; the second was 1500 bytes long on the wire. */
static const struct record_header records[3] = {
	{1000, 1, 4, 4}, {1000, 999999, 60, 1500}, {999, 5, 1, 1}};

enum {
	PCAP_HEADER_BYTES = sizeof(struct pcap_header),
	RECORD_BYTES = sizeof(records[0])
};

/* A temporary file with n bytes of content; remove it with unlink(path). */
static void write_file(char path[32], const void *content, size_t n)
{
	int fd;

	strcpy(path, "/tmp/uroce-reader-XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, content, n), (ssize_t)n);
	close(fd);
}

/* The three frames behind header, each byte of a frame its offset; returns how many bytes. */
static size_t make_capture(uint8_t *out, const struct pcap_header *header)
{
	size_t n = PCAP_HEADER_BYTES;

	memcpy(out, header, n);
	for (int i = 0; i < 3; i++) {
		memcpy(out + n, &records[i], RECORD_BYTES);
		n += RECORD_BYTES;
		for (uint32_t at = 0; at < records[i].captured; at++)
			out[n++] = (uint8_t)at;
	}
	return n;
}

static struct uroce_pcap_reader *open_bytes(const void *content, size_t n)
{
	char path[32], error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_reader *reader = NULL;
	int rc;

	write_file(path, content, n);
	rc = uroce_pcap_reader_open(path, &reader, error, sizeof(error));
	unlink(path);
	if (rc)
		printf("\n  %s\n", error);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	return reader;
}

/* Opening content must fail with rc and a sentence that contains both words. */
static void check_open_fails(
	const void *content, size_t n, int rc, const char *word, const char *advice)
{
	char path[32], error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_reader *reader;

	write_file(path, content, n);
	CU_ASSERT_EQUAL(uroce_pcap_reader_open(path, &reader, error, sizeof(error)), rc);
	unlink(path);
	if (!strstr(error, word) || !strstr(error, advice))
		printf("\n  \"%s\" lacks \"%s\" or \"%s\"\n", error, word, advice);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, word));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, advice));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, path));
}

static void check_frames(struct uroce_pcap_reader *reader, uint64_t ns_per_unit)
{
	struct uroce_pcap_frame frame;

	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_next(reader, &frame), 1);
		CU_ASSERT_EQUAL(frame.number, i + 1);
		CU_ASSERT_EQUAL(frame.time_ns,
			records[i].seconds * UINT64_C(1000000000) +
				records[i].fraction * ns_per_unit);
		CU_ASSERT_EQUAL_FATAL(frame.captured_bytes, records[i].captured);
		CU_ASSERT_EQUAL(frame.wire_bytes, records[i].wire);
		for (uint32_t at = 0; at < frame.captured_bytes; at++)
			CU_ASSERT_EQUAL(frame.data[at], at);
	}
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
	CU_ASSERT_STRING_EQUAL(uroce_pcap_reader_error(reader), "");
	uroce_pcap_reader_close(reader);
}

static void microsecond_files_are_read_in_nanoseconds(void)
{
	uint8_t content[256];

	check_frames(open_bytes(content, make_capture(content, &microseconds)), 1000);
}

static void nanosecond_files_keep_every_nanosecond(void)
{
	uint8_t content[256];

	check_frames(open_bytes(content, make_capture(content, &nanoseconds)), 1);
}

static void files_of_the_other_byte_order_are_read(void)
{
	uint8_t content[256];
	size_t n = make_capture(content, &microseconds), at = PCAP_HEADER_BYTES;
	uint32_t word;

	/* Swap every field: magic, two halves, the rest of the header, each record header. */
	for (size_t i = 0; i < PCAP_HEADER_BYTES; i += 4) {
		memcpy(&word, content + i, 4);
		word = __builtin_bswap32(word);
		if (i == 4)
			word = word << 16 | word >> 16;
		memcpy(content + i, &word, 4);
	}
	for (int i = 0; i < 3; i++) {
		for (size_t j = 0; j < RECORD_BYTES; j += 4) {
			memcpy(&word, content + at + j, 4);
			word = __builtin_bswap32(word);
			memcpy(content + at + j, &word, 4);
		}
		at += RECORD_BYTES + records[i].captured;
	}
	check_frames(open_bytes(content, n), 1000);
}

/* One section, one Ethernet interface with nanoseconds, one frame of 4 bytes. */
static void pcapng_files_are_read(void)
{
	static const uint32_t section[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28};
	static const uint32_t interface[] = {
		1, 32, 1, 65535, 0x00010009, 9 /* if_tsresol: 10^-9 */, 0, 32};
	static const uint32_t packet[] = {6, 36, 0, 0x00000001, 0x00000007, 4, 99, 0x03020100, 36};
	uint8_t content[sizeof(section) + sizeof(interface) + sizeof(packet)];
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;

	memcpy(content, section, sizeof(section));
	memcpy(content + sizeof(section), interface, sizeof(interface));
	memcpy(content + sizeof(section) + sizeof(interface), packet, sizeof(packet));
	reader = open_bytes(content, sizeof(content));
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_next(reader, &frame), 1);
	CU_ASSERT_EQUAL(frame.number, 1);
	CU_ASSERT_EQUAL(frame.time_ns, UINT64_C(0x0000000100000007));
	CU_ASSERT_EQUAL(frame.captured_bytes, 4);
	CU_ASSERT_EQUAL(frame.wire_bytes, 99);
	CU_ASSERT_EQUAL(memcmp(frame.data, "\0\1\2\3", 4), 0);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
	uroce_pcap_reader_close(reader);
}

static void a_cut_file_gives_every_whole_frame_and_then_an_error(void)
{
	uint8_t content[256];
	size_t whole = make_capture(content, &microseconds), ends[4] = {PCAP_HEADER_BYTES};
	struct uroce_pcap_frame frame;

	for (int i = 0; i < 3; i++)
		ends[i + 1] = ends[i] + RECORD_BYTES + records[i].captured;
	for (size_t n = PCAP_HEADER_BYTES; n < whole; n++) {
		struct uroce_pcap_reader *reader = open_bytes(content, n);
		unsigned int frames = 0, complete = 0;

		while (complete < 3 && ends[complete + 1] <= n)
			complete++;
		while (uroce_pcap_reader_next(reader, &frame) == 1)
			frames++;
		CU_ASSERT_EQUAL(frames, complete);
		if (n == ends[complete]) {
			CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
		} else {
			CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), -EBADMSG);
			CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), -EBADMSG);
			CU_ASSERT_PTR_NOT_NULL(
				strstr(uroce_pcap_reader_error(reader), "damaged after frame"));
		}
		uroce_pcap_reader_close(reader);
	}
}

static void a_record_of_absurd_length_is_damage(void)
{
	uint8_t content[256];
	size_t n = make_capture(content, &microseconds);
	static const uint32_t absurd = 0xfffffff0;
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;

	/* The captured length of the second record. */
	memcpy(content + PCAP_HEADER_BYTES + RECORD_BYTES + 4 + 8, &absurd, 4);
	reader = open_bytes(content, n);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 1);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(uroce_pcap_reader_error(reader), "after frame 1 "));
	uroce_pcap_reader_close(reader);
}

static void a_wire_length_below_the_captured_one_is_raised(void)
{
	uint8_t content[256];
	size_t n = make_capture(content, &microseconds);
	static const uint32_t two = 2;
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;

	memcpy(content + PCAP_HEADER_BYTES + 12, &two, 4);
	reader = open_bytes(content, n);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 1);
	CU_ASSERT_EQUAL(frame.captured_bytes, 4);
	CU_ASSERT_EQUAL(frame.wire_bytes, 4);
	uroce_pcap_reader_close(reader);
}

static void a_header_cut_short_is_damage(void)
{
	check_open_fails(&microseconds, 0, -EBADMSG, "nothing can be read", "whole copy");
	check_open_fails(&microseconds, 10, -EBADMSG, "nothing can be read", "whole copy");
}

static void a_file_of_another_kind_is_refused(void)
{
	static const char text[] = "# A text file that is longer than the header of a capture\n";

	check_open_fails(text, sizeof(text) - 1, -EINVAL, "not a pcap or pcapng", "convert");
}

static void other_link_types_are_refused_by_name(void)
{
	static const struct {
		uint32_t number;
		const char *words;
		const char *advice;
	} types[] = {
		{197, "link type 197, ERF", "Ethernet interface"},
		{101, "link type 101, RAW", "Ethernet interface"},
		{113, "link type 113, LINUX_SLL", "tcpdump -i eth0"},
		{276, "link type 276, LINUX_SLL2", "tcpdump -i eth0"},
		{60000, "link type 60000, unknown", "Ethernet interface"},
	};
	struct pcap_header header = microseconds;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		header.link_type = types[i].number;
		check_open_fails(
			&header, sizeof(header), -EPROTONOSUPPORT, types[i].words, types[i].advice);
	}
}

static void a_missing_file_says_what_to_do(void)
{
	char error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_reader *reader;

	CU_ASSERT_EQUAL(
		uroce_pcap_reader_open("/nonexistent/x.pcap", &reader, error, sizeof(error)),
		-ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "/nonexistent/x.pcap"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "check the path"));
	CU_ASSERT_EQUAL(uroce_pcap_reader_open("/nonexistent/x.pcap", &reader, NULL, 0), -ENOENT);
}

static void a_directory_is_refused(void)
{
	char error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_reader *reader;

	CU_ASSERT_EQUAL(uroce_pcap_reader_open("/tmp", &reader, error, sizeof(error)), -EISDIR);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "directory"));
}

static void a_dash_is_standard_input(void)
{
	char path[32], error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_reader *reader = NULL;
	uint8_t content[256];
	int saved = dup(STDIN_FILENO);
	int fd;

	write_file(path, content, make_capture(content, &microseconds));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0 && dup2(fd, STDIN_FILENO) >= 0);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_open("-", &reader, error, sizeof(error)), 0);
	check_frames(reader, 1000);
	/* It was not ours to close. */
	CU_ASSERT_TRUE(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
}

/* Reads all of folder/name; returns its frames, or the negative errno of opening or reading. */
static int count_frames(const char *folder, const char *name)
{
	char path[4096], error[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;
	int frames = 0;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rc = uroce_pcap_reader_open(path, &reader, error, sizeof(error));
	if (rc)
		return rc;
	while ((rc = uroce_pcap_reader_next(reader, &frame)) == 1)
		frames++;
	uroce_pcap_reader_close(reader);
	return rc ? rc : frames;
}

static void the_projects_captures_are_read_to_their_end(void)
{
	const char *folder = getenv("UROCE_CAPTURES");

	if (!folder)
		SKIP("UROCE_CAPTURES is not set");
	CU_ASSERT_EQUAL(count_frames(folder, "rc-pingpong-64.pcap"), 42);
	CU_ASSERT_EQUAL(count_frames(folder, "rc-pingpong-16k.pcap"), 172);
	CU_ASSERT_EQUAL(count_frames(folder, "host-raw-peer.pcap"), 73);
}

static void public_captures_are_read_or_refused_as_expected(void)
{
	const char *folder = getenv("UROCE_PUBLIC_CAPTURES");

	if (!folder)
		SKIP("UROCE_PUBLIC_CAPTURES is not set");
	CU_ASSERT_EQUAL(count_frames(folder, "huawei-nic-rc-send-imm.pcap"), 123);
	CU_ASSERT_EQUAL(count_frames(folder, "derived-nanosecond-magic.pcap"), 18);
	CU_ASSERT_EQUAL(count_frames(folder, "derived-pcapng.pcapng"), 18);
	CU_ASSERT_EQUAL(
		count_frames(folder, "wireshark-sample-infiniband-erf.pcap"), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(count_frames(folder, "derived-sll-linktype113.pcap"), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(count_frames(folder, "derived-rawip-linktype101.pcap"), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(count_frames(folder, "README.md"), -EINVAL);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"microsecond files are read in nanoseconds",
			microsecond_files_are_read_in_nanoseconds},
		{"nanosecond files keep every nanosecond", nanosecond_files_keep_every_nanosecond},
		{"files of the other byte order are read", files_of_the_other_byte_order_are_read},
		{"pcapng files are read", pcapng_files_are_read},
		{"a cut file gives every whole frame and then an error",
			a_cut_file_gives_every_whole_frame_and_then_an_error},
		{"a record of absurd length is damage", a_record_of_absurd_length_is_damage},
		{"a wire length below the captured one is raised",
			a_wire_length_below_the_captured_one_is_raised},
		{"a header cut short is damage", a_header_cut_short_is_damage},
		{"a file of another kind is refused", a_file_of_another_kind_is_refused},
		{"other link types are refused by name", other_link_types_are_refused_by_name},
		{"a missing file says what to do", a_missing_file_says_what_to_do},
		{"a directory is refused", a_directory_is_refused},
		{"a dash is standard input", a_dash_is_standard_input},
		{"the projects captures are read to their end",
			the_projects_captures_are_read_to_their_end},
		{"public captures are read or refused as expected",
			public_captures_are_read_or_refused_as_expected},
	};

	return run_suite("reader", cases, sizeof(cases) / sizeof(cases[0]));
}
