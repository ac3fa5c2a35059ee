/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture writer: the bytes it writes, and that no failure to write stays unnoticed.
 *
 * The format is checked byte by byte against the layout of classic pcap, then once more with the
 * reader. /dev/full, where every write fails for want of space, stands for the full disk.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pcap/reader.h"
#include "pcap/writer.h"

#include "cunit_run.h"

static void temporary_path(char path[32])
{
	int fd;

	strcpy(path, "/tmp/uroce-writer-XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	close(fd);
}

static struct uroce_pcap_writer *open_writer(const char *path)
{
	char error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_writer *writer = NULL;
	int rc = uroce_pcap_writer_open(path, &writer, error, sizeof(error));

	if (rc)
		printf("\n  %s\n", error);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	return writer;
}

static void the_file_is_nanosecond_pcap_of_ethernet(void)
{
	static const uint32_t want[] = {
		0xa1b23c4d, 0x00040002, 0, 0, UROCE_PCAP_FRAME_BYTES_MAX, 1, /* file header */
		1500000000, 123456789, 4, 4, 0x03020100,		     /* one frame */
	};
	uint32_t got[sizeof(want) / 4 + 1];
	struct uroce_pcap_writer *writer;
	char path[32];
	FILE *file;

	temporary_path(path);
	writer = open_writer(path);
	CU_ASSERT_EQUAL(uroce_pcap_writer_write(writer, UINT64_C(1500000000123456789),
				(const uint8_t *)"\0\1\2\3", 4),
		0);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), 0);
	file = fopen(path, "rbe");
	unlink(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fread(got, 1, sizeof(got), file), sizeof(want));
	fclose(file);
	CU_ASSERT_EQUAL(memcmp(got, want, sizeof(want)), 0);
}

static void what_is_written_is_read_again(void)
{
	static const uint64_t times[] = {
		0, 1, 999999999, 1000000000, UINT64_C(4294967295999999999)};
	static const uint32_t sizes[] = {0, 60, 1514, 9018, UROCE_PCAP_FRAME_BYTES_MAX};
	uint8_t *data = malloc(UROCE_PCAP_FRAME_BYTES_MAX);
	char path[32], error[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader = NULL;
	struct uroce_pcap_writer *writer;
	struct uroce_pcap_frame frame;

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	for (uint32_t i = 0; i < UROCE_PCAP_FRAME_BYTES_MAX; i++)
		data[i] = (uint8_t)(i * 7);
	temporary_path(path);
	writer = open_writer(path);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(uroce_pcap_writer_write(writer, times[i], data, sizes[i]), 0);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_open(path, &reader, error, sizeof(error)), 0);
	for (int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_next(reader, &frame), 1);
		CU_ASSERT_EQUAL(frame.time_ns, times[i]);
		CU_ASSERT_EQUAL(frame.wire_bytes, sizes[i]);
		CU_ASSERT_EQUAL_FATAL(frame.captured_bytes, sizes[i]);
		CU_ASSERT_EQUAL(memcmp(frame.data, data, sizes[i]), 0);
	}
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
	uroce_pcap_reader_close(reader);
	unlink(path);
	free(data);
}

static void a_capture_of_no_frames_is_a_good_file(void)
{
	char path[32], error[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader = NULL;
	struct uroce_pcap_frame frame;

	temporary_path(path);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(open_writer(path)), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_open(path, &reader, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
	uroce_pcap_reader_close(reader);
	unlink(path);
}

static void a_full_disk_shows_at_the_close(void)
{
	struct uroce_pcap_writer *writer = open_writer("/dev/full");

	CU_ASSERT_EQUAL(uroce_pcap_writer_write(writer, 0, (const uint8_t *)"frame", 5), 0);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), -ENOSPC);
}

static void a_full_disk_shows_at_the_write_that_meets_it(void)
{
	struct uroce_pcap_writer *writer = open_writer("/dev/full");
	static const uint8_t data[1000];
	int rc = 0;

	for (int i = 0; i < 1000 && rc == 0; i++)
		rc = uroce_pcap_writer_write(writer, 0, data, sizeof(data));
	CU_ASSERT_EQUAL(rc, -ENOSPC);
	CU_ASSERT_EQUAL(uroce_pcap_writer_write(writer, 0, data, 1), -ENOSPC);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), -ENOSPC);
}

static void a_path_that_cannot_be_created_says_so(void)
{
	char error[UROCE_PCAP_ERROR_BYTES] = "";
	struct uroce_pcap_writer *writer;

	CU_ASSERT_EQUAL(
		uroce_pcap_writer_open("/nonexistent/x.pcap", &writer, error, sizeof(error)),
		-ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "/nonexistent/x.pcap"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "check the directory"));
	CU_ASSERT_EQUAL(uroce_pcap_writer_open("/nonexistent/x.pcap", &writer, NULL, 0), -ENOENT);
}

static void a_refused_frame_leaves_the_file_good(void)
{
	static const uint8_t data[UROCE_PCAP_FRAME_BYTES_MAX + 1];
	char path[32], error[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader = NULL;
	struct uroce_pcap_writer *writer;
	struct uroce_pcap_frame frame;

	temporary_path(path);
	writer = open_writer(path);
	CU_ASSERT_EQUAL(uroce_pcap_writer_write(writer, 0, data, sizeof(data)), -EMSGSIZE);
	CU_ASSERT_EQUAL(
		uroce_pcap_writer_write(writer, UINT64_C(4294967296000000000), data, 60), -ERANGE);
	CU_ASSERT_EQUAL(uroce_pcap_writer_write(writer, 5, data, 60), 0);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_open(path, &reader, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 1);
	CU_ASSERT_EQUAL(frame.time_ns, 5);
	CU_ASSERT_EQUAL(uroce_pcap_reader_next(reader, &frame), 0);
	uroce_pcap_reader_close(reader);
	unlink(path);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"the file is nanosecond pcap of ethernet",
			the_file_is_nanosecond_pcap_of_ethernet},
		{"what is written is read again", what_is_written_is_read_again},
		{"a capture of no frames is a good file", a_capture_of_no_frames_is_a_good_file},
		{"a full disk shows at the close", a_full_disk_shows_at_the_close},
		{"a full disk shows at the write that meets it",
			a_full_disk_shows_at_the_write_that_meets_it},
		{"a path that cannot be created says so", a_path_that_cannot_be_created_says_so},
		{"a refused frame leaves the file good", a_refused_frame_leaves_the_file_good},
	};

	return run_suite("writer", cases, sizeof(cases) / sizeof(cases[0]));
}
