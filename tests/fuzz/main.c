/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target over the files that are named on the command line or lie in the folders named
 * there, each once, without libFuzzer: what the fuzzers found stays found.
 *
 * A finding ends the process; the file that is being run is named before, so it is the last one on
 * standard error then.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"

enum {
	INPUT_BYTES_MAX = 65536,
	PATH_BYTES = 4096
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

static int ran, failed;

static void count(const char *path)
{
	if (run_file(path) == 0)
		ran++;
	else
		failed++;
}

/* In the order of their names, so that two runs do the same. */
static void run_folder(const char *path)
{
	struct dirent **entries = NULL;
	int num = scandir(path, &entries, NULL, alphasort);

	if (num < 0) {
		perror(path);
		failed++;
		return;
	}
	for (int i = 0; i < num; i++) {
		char file[PATH_BYTES];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			count(file);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			run_folder(argv[i]);
		else
			count(argv[i]);
	}
	printf("RESULT %s passed=%d failed=%d skipped=0\n", UROCE_FUZZ_NAME, ran, failed);
	return ran > 0 && failed == 0 ? 0 : 1;
}
