/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target over the files named on the command line, each once, without libFuzzer: what
 * the fuzzers found stays found.
 *
 * A finding ends the process; the file that is being run is named before, so it is the last one on
 * standard error then.
 */
#include <string.h>

#include "input.h"

enum {
	INPUT_BYTES_MAX = 65536
};

/* A copy of exactly the input's size, so that a sanitizer sees a step over its edge. */
static int run_file(const char *path)
{
	static uint8_t data[INPUT_BYTES_MAX];
	FILE *file = fopen(path, "rb");
	uint8_t *copy;
	size_t bytes;

	if (!file) {
		perror(path);
		return -1;
	}
	bytes = fread(data, 1, sizeof(data), file);
	fclose(file);
	copy = malloc(bytes ? bytes : 1);
	if (!copy)
		return -1;
	memcpy(copy, data, bytes);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
	return 0;
}

int main(int argc, char **argv)
{
	int ran = 0, failed = 0;

	for (int i = 1; i < argc; i++) {
		if (run_file(argv[i]) == 0)
			ran++;
		else
			failed++;
	}
	printf("RESULT %s passed=%d failed=%d skipped=0\n", UROCE_FUZZ_NAME, ran, failed);
	return ran > 0 && failed == 0 ? 0 : 1;
}
