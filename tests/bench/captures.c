/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast captures are read and analysed on one core, and in how much memory.
 *
 * The capture is made by the simulator first, and is read once before anything is measured, so
 * that the disk is not. Rows: the file's bytes alone, as the limit; the reader; the analysis.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "captures_made.h"
#include "pcap/analysis.h"

enum {
	CHUNK = 1 << 20
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void read_bytes(const char *path)
{
	static char chunk[CHUNK];
	FILE *file = fopen(path, "rb");

	if (!file)
		exit(1);
	while (fread(chunk, 1, sizeof(chunk), file) == sizeof(chunk))
		;
	fclose(file);
}

static void read_frames(const char *path, struct uroce_analysis *a)
{
	char err[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;

	if (uroce_pcap_reader_open(path, &reader, err, sizeof(err))) {
		fprintf(stderr, "captures: %s\n", err);
		exit(1);
	}
	while (uroce_pcap_reader_next(reader, &frame) == 1)
		if (a)
			uroce_analysis_add(a, &frame);
	uroce_pcap_reader_close(reader);
}

static void print(const char *what, double began, const struct captures_made *made)
{
	double took = seconds() - began;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-10s %10.2f %10.2f %12.1f\n", what, (double)made->frames / took * 1e-6,
		(double)made->bytes / took * 1e-9, (double)usage.ru_maxrss / 1024);
}

/* What it found, to be held against what was lost. */
static void print_kinds(const struct uroce_analysis *a)
{
	uint64_t counts[UROCE_FINDING_COUNT] = {0};

	for (uint32_t i = 0; i < a->findings.num; i++)
		counts[a->findings.list[i].kind] += a->findings.list[i].count;
	printf("\n%u connections\n", a->num_shown);
	for (uint32_t i = 0; i < UROCE_FINDING_COUNT; i++)
		if (counts[i])
			printf("%8lu %s\n", counts[i],
				uroce_finding_name((enum uroce_finding_kind)i));
}

int main(int argc, char **argv)
{
	uint64_t frames = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint32_t mtu = argc > 2 ? (uint32_t)atoi(argv[2]) : 1024;
	char temporary[] = "/tmp/uroce-captures-XXXXXX";
	const char *path = argc > 3 ? argv[3] : NULL;
	struct uroce_analysis *a;
	struct captures_made made;
	double began;
	int fd;

	if (argc > 4 || frames == 0) {
		fprintf(stderr,
			"usage: captures [FRAMES, default 1000000 [MTU, default 1024 [FILE to "
			"keep it in]]]\n");
		return 2;
	}
	if (argc < 4) {
		fd = mkstemp(temporary);
		if (fd < 0)
			return 1;
		close(fd);
		path = temporary;
	}
	made = captures_make(path, frames, mtu);
	printf("%lu frames, %lu bytes, %lu lost on their way\n\n", made.frames, made.bytes,
		made.lost);
	printf("%-10s %10s %10s %12s\n", "", "Mframes/s", "GB/s", "MiB at most");
	read_bytes(path);
	began = seconds();
	read_bytes(path);
	print("bytes", began, &made);
	began = seconds();
	read_frames(path, NULL);
	print("reader", began, &made);
	began = seconds();
	a = uroce_analysis_create(&(struct uroce_analysis_conf){.drawings = true});
	read_frames(path, a);
	uroce_analysis_finish(a);
	print("analysis", began, &made);
	print_kinds(a);
	uroce_analysis_destroy(a);
	if (path == temporary)
		unlink(path);
	return 0;
}
