/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim-soak: random worlds, one seed after another, for as long as is asked.
 *
 * Everything that happens in a world is simulated; the clock here only says when to stop, and when
 * to print a line. So a divergence is found again by its seed, at any speed.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plant.h"
#include "soak.h"

enum {
	TRACE_SHOWN = 40,
};

struct options {
	uint64_t seconds;
	uint64_t seeds; /* 0: as many as there is time for */
	uint64_t first;
	uint32_t nodes;
	uint32_t plant;
	const char *replay;
};

static void help(void)
{
	printf("usage: sim-soak --seconds N [--seed S] [--nodes N]\n"
	       "       sim-soak --replay TEXT\n"
	       "\n"
	       "Runs random worlds of 2 to %d nodes and up to %d connections over a bad network, "
	       "and\n"
	       "holds every completion and every byte of memory against a model of its own.\n"
	       "\n"
	       "  --seconds N    stop after the first seed that ends N seconds from now\n"
	       "  --seeds N      stop after N seeds, whatever that takes\n"
	       "  --seed S       the first seed (default 1); a seed is a world, always the same "
	       "one\n"
	       "  --nodes N      this many nodes in each world (default: drawn)\n"
	       "  --replay TEXT  run one world, or a part of one, as printed after a divergence\n"
	       "  --plant K      with a fault planted into the engine, to see that it is found:\n",
		WORLD_NODES_MAX, WORLD_CONNS_MAX);
	for (int k = 1; k < PLANT_COUNT; k++)
		printf("                 %d: %s\n", k, plant_name((enum plant_kind)k));
	printf("\n"
	       "Prints \"seed S\", a line each second, and at the end \"seeds N packets N "
	       "divergences\n"
	       "N\". The exit status is 1 after a divergence: it is made as small as it gets "
	       "(fewer\n"
	       "connections, operations, faults) and printed with the command that repeats it.\n"
	       "\n"
	       "  sim-soak --seconds 60                       one minute of seeds from 1 on\n"
	       "  sim-soak --seconds 60 --seed 1000000        and others\n"
	       "  sim-soak --seeds 1 --seed 17                that seed alone\n"
	       "  sim-soak --replay 'seed=17 ops=all'         the same\n"
	       "  sim-soak --seconds 60 --plant 1             finds the planted fault, and ends\n");
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool number_of(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *value <= max;
}

static bool read_option(struct options *o, int key, const char *text)
{
	uint64_t n = 0;
	bool good = true;

	switch (key) {
	case 's':
		return number_of(text, 1u << 30, &o->seconds) && o->seconds > 0;
	case 'n':
		return number_of(text, UINT64_MAX, &o->seeds) && o->seeds > 0;
	case 'f':
		return number_of(text, UINT64_MAX / 2, &o->first);
	case 'N':
		good = number_of(text, WORLD_NODES_MAX, &n) && n > 0;
		o->nodes = (uint32_t)n;
		return good;
	case 'p':
		good = number_of(text, PLANT_COUNT - 1, &n);
		o->plant = (uint32_t)n;
		return good;
	case 'r':
		o->replay = text;
		return true;
	default:
		return false;
	}
}

/* 0: go on; else the exit status is one less. */
static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option long_options[] = {{"seconds", required_argument, NULL, 's'},
		{"seeds", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, 'f'},
		{"nodes", required_argument, NULL, 'N'}, {"plant", required_argument, NULL, 'p'},
		{"replay", required_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}};
	int key, at = 0;

	while ((key = getopt_long(argc, argv, "h", long_options, &at)) != -1) {
		if (key == 'h') {
			help();
			return 1;
		}
		if (key == '?')
			break;
		if (!read_option(o, key, optarg)) {
			fprintf(stderr, "sim-soak: --%s cannot be \"%s\"; see --help\n",
				long_options[at].name, optarg);
			return 3;
		}
	}
	if (key == '?' || optind < argc || (!o->seconds && !o->seeds && !o->replay)) {
		fprintf(stderr, "sim-soak: give --seconds, --seeds or --replay; see --help\n");
		return 3;
	}
	return 0;
}

static int replay(const char *text)
{
	struct world_part part;
	struct soak_result result;
	const char *wrong;

	if (!world_part_parse(&part, text, &wrong)) {
		fprintf(stderr, "sim-soak: cannot read this from here on: \"%s\"\n", wrong);
		free(part.fates);
		return 2;
	}
	result = soak_run(&part, TRACE_SHOWN);
	printf("%s%s\n", result.good ? "no divergence" : "divergence: ", result.wrong);
	printf("seeds 1 packets %" PRIu64 " divergences %d\n", result.packets, !result.good);
	free(result.fates);
	free(part.fates);
	return result.good ? 0 : 1;
}

static int soak(const struct options *o)
{
	double began = seconds_now(), said = began;
	uint64_t packets = 0, n = 0, faults = 0, broken = 0, conns = 0, refused = 0;
	bool good = true;

	printf("seed %" PRIu64 "\n", o->first);
	while (good && (o->seeds ? n < o->seeds : seconds_now() < began + (double)o->seconds)) {
		struct world_part part = world_whole(o->first + n, o->nodes);
		struct soak_result result;

		part.plant = o->plant;
		result = soak_run(&part, 0);
		good = result.good;
		n++;
		packets += result.packets;
		faults += result.faults;
		broken += result.broken;
		refused += result.refused;
		conns += result.conns;
		free(result.fates);
		if (!good) {
			printf("seed %" PRIu64 ": ", part.seed);
			soak_report(&part, result.wrong);
		}
		if (seconds_now() >= said + 1) {
			said = seconds_now();
			printf("%.0f s: seeds %" PRIu64 " packets %" PRIu64 " faults %" PRIu64
			       " connections %" PRIu64 " of which %" PRIu64
			       " ran out of retries, %" PRIu64 " were refused something\n",
				said - began, n, packets, faults, conns, broken, refused);
			fflush(stdout);
		}
	}
	printf("seeds %" PRIu64 " packets %" PRIu64 " divergences %d\n", n, packets, !good);
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options o = {.first = 1};
	int status = read_options(&o, argc, argv);

	if (status)
		return status - 1;
	return o.replay ? replay(o.replay) : soak(&o);
}
