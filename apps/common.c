/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs share.
 *
 * Percentiles are nearest ranks: the smallest sample that at least so many of all do not exceed. A
 * number that was measured, then, never one in between.
 */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "uroce.h"

const char *uroce_app_name = "uroce";

static bool progress_is_shown;

void uroce_app_progress_end(void)
{
	if (progress_is_shown)
		fputs("\r\033[K", stderr);
	progress_is_shown = false;
}

void uroce_app_say(const char *format, ...)
{
	va_list args;

	uroce_app_progress_end();
	fflush(stdout);
	fprintf(stderr, "%s: ", uroce_app_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void uroce_app_progress(const char *format, ...)
{
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
	progress_is_shown = true;
}

int uroce_app_finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	uroce_app_say("cannot write to standard output; check the space on its disk");
	return UROCE_APP_FAILED;
}

uint64_t uroce_app_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void uroce_app_nap(uint64_t ns)
{
	const struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&ts, NULL);
}

/* ---- the command line ---- */

/* Digits from *text on, which moves behind them. */
static bool take_digits(const char **text, uint64_t *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0;
}

bool uroce_count_parse(const char *text, uint64_t min, uint64_t max, uint64_t *count)
{
	return take_digits(&text, count) && *text == '\0' && *count >= min && *count <= max;
}

/* A number and perhaps one of K, M, G, which stand for powers of `unit`. */
static bool take_scaled(const char *text, uint64_t unit, uint64_t max, uint64_t *number)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	uint64_t scale = 1;

	if (!take_digits(&text, number))
		return false;
	if (*text) {
		suffix = strchr(suffixes, *text);
		if (!suffix || text[1])
			return false;
		for (long power = suffix - suffixes; power >= 0; power--)
			scale *= unit;
	}
	if (*number > max / scale)
		return false;
	*number *= scale;
	return true;
}

bool uroce_size_parse(const char *text, uint64_t max_bytes, uint64_t *bytes)
{
	return take_scaled(text, 1024, max_bytes, bytes);
}

bool uroce_rate_parse(const char *text, uint64_t *bps)
{
	return take_scaled(text, 1000, UROCE_RATE_MAX_BPS, bps) && *bps >= UROCE_RATE_MIN_BPS;
}

bool uroce_seconds_parse(const char *text, uint64_t *ns)
{
	char *end;
	double seconds;

	if (strspn(text, "0123456789.") != strlen(text))
		return false;
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds > 0) || seconds > 86400)
		return false;
	*ns = (uint64_t)(seconds * 1e9);
	return *ns > 0;
}

/* The option that argument names; *value is what stands behind its "=", or NULL. */
static const struct uroce_option *find_option(
	const struct uroce_option *const *tables, const char *argument, const char **value)
{
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) : strlen(argument);

	*value = equals ? equals + 1 : NULL;
	for (; *tables; tables++)
		for (const struct uroce_option *o = *tables; o->name; o++)
			if (strlen(o->name) == length && strncmp(o->name, argument, length) == 0)
				return o;
	return NULL;
}

bool uroce_options_parse(int argc, char **argv, const struct uroce_option *const *tables,
	bool (*word)(void *context, const char *text), void *context)
{
	for (int i = 0; i < argc; i++) {
		const struct uroce_option *option;
		const char *value;

		if (argv[i][0] != '-') {
			if (!word(context, argv[i]))
				return false;
			continue;
		}
		option = find_option(tables, argv[i], &value);
		if (!option) {
			uroce_app_say(
				"there is no option %s; --help lists those there are", argv[i]);
			return false;
		}
		if (option->value && !value && i + 1 < argc)
			value = argv[++i];
		if (option->value && !value) {
			uroce_app_say("%s needs %s behind it", option->name, option->value);
			return false;
		}
		if (!option->value && value) {
			uroce_app_say("%s takes no value, and got %s", option->name, value);
			return false;
		}
		if (!option->set(context, value))
			return false;
	}
	return true;
}

/* ---- latency samples ---- */

bool uroce_samples_init(struct uroce_samples *samples, uint64_t capacity)
{
	memset(samples, 0, sizeof(*samples));
	samples->capacity = capacity;
	samples->random = 1;
	samples->ns = calloc(capacity ? capacity : 1, sizeof(*samples->ns));
	return samples->ns != NULL;
}

void uroce_samples_fini(struct uroce_samples *samples)
{
	free(samples->ns);
	memset(samples, 0, sizeof(*samples));
}

void uroce_samples_add(struct uroce_samples *samples, uint64_t ns)
{
	uint64_t at = samples->count;

	if (samples->count == 0 || ns < samples->min_ns)
		samples->min_ns = ns;
	if (ns > samples->max_ns)
		samples->max_ns = ns;
	samples->count++;
	samples->counts_log2[63 - __builtin_clzll(ns | 1)]++;
	if (at >= samples->capacity) {
		/* A linear congruential step: good enough to choose what to forget. */
		samples->random = samples->random * UINT64_C(6364136223846793005) + 1;
		at = (samples->random >> 16) % samples->count;
	}
	if (at < samples->capacity)
		samples->ns[at] = ns;
}

uint64_t uroce_samples_kept(const struct uroce_samples *samples)
{
	return samples->count < samples->capacity ? samples->count : samples->capacity;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The sample of this rank, per 1000 of all. */
static double rank_us(const struct uroce_samples *samples, uint64_t kept, uint64_t per_mille)
{
	uint64_t rank = (kept * per_mille + 999) / 1000;

	return (double)samples->ns[rank ? rank - 1 : 0] / 1000;
}

void uroce_samples_summarise(struct uroce_samples *samples, struct uroce_latency *latency)
{
	uint64_t kept = uroce_samples_kept(samples);

	memset(latency, 0, sizeof(*latency));
	if (kept == 0)
		return;
	qsort(samples->ns, kept, sizeof(*samples->ns), compare);
	latency->min_us = (double)samples->min_ns / 1000;
	latency->max_us = (double)samples->max_ns / 1000;
	latency->p50_us = rank_us(samples, kept, 500);
	latency->p99_us = rank_us(samples, kept, 990);
	latency->p999_us = rank_us(samples, kept, 999);
}
