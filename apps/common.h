/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs share that has nothing to do with a network: their voice on standard error,
 * numbers and options on the command line, the clock, latency samples.
 *
 * One thread. Everything that a user can get wrong ends in one line that says what is wrong and how
 * it should be; the functions here that refuse something have said so already.
 */
#ifndef UROCE_APP_COMMON_H
#define UROCE_APP_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uroce_app_exit {
	UROCE_APP_DONE = 0,
	UROCE_APP_FAILED = 1,
	UROCE_APP_USAGE = 2,
};

/* The program's name, in front of what it says. Set by main. */
extern const char *uroce_app_name;

/* One line on standard error, behind the program's name; clears a progress line first. */
void uroce_app_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Shows how far things are, if standard error is a terminal; the next one replaces it. */
void uroce_app_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Removes the progress line. */
void uroce_app_progress_end(void);
/* Flushes standard output: status, or UROCE_APP_FAILED (and words) if it did not arrive. */
int uroce_app_finish_output(int status);

/* Monotonic. */
uint64_t uroce_app_clock_ns(void);
/* Sleeps; for places where nothing is to be polled. */
void uroce_app_nap(uint64_t ns);

/* ---- the command line ---- */

/* Decimal, nothing behind it, from min to max. False: it is not that; nothing was said. */
bool uroce_count_parse(const char *text, uint64_t min, uint64_t max, uint64_t *count);
/* "64", "4K", "16M", "1G" (powers of 1024). False as above. */
bool uroce_size_parse(const char *text, uint64_t max_bytes, uint64_t *bytes);
/* Bits a second, "250M", "1G" (powers of 1000), from 1K to 8000G. False as above. */
bool uroce_rate_parse(const char *text, uint64_t *bps);
/* Seconds, "2" or "0.5", as nanoseconds; more than nothing, at most a day. False as above. */
bool uroce_seconds_parse(const char *text, uint64_t *ns);

/* One option. A table of them ends with a name of NULL. */
struct uroce_option {
	const char *name;  /* "--size" */
	const char *value; /* what it takes, for the message when it is missing; NULL: nothing */
	/* Takes the value (NULL where there is none). False: it was refused, and words were said.
	 */
	bool (*set)(void *context, const char *value);
};

/*
 * Goes through the arguments. A value may follow as the next argument or behind "=". What starts
 * with no dash goes to `word`. False: something was refused, and words were said.
 */
bool uroce_options_parse(int argc, char **argv, const struct uroce_option *const *tables,
	bool (*word)(void *context, const char *text), void *context);

/* ---- latency samples ---- */

/* Keeps every sample up to its capacity, and a fair choice of all beyond; min and max always. */
struct uroce_samples {
	uint64_t *ns;
	uint64_t capacity;
	uint64_t count; /* how many were added */
	uint64_t min_ns, max_ns;
	/* How many of all were from 2^i to below 2^(i+1) ns; those of 0 are with 1's. */
	uint64_t counts_log2[64];
	uint64_t random;
};

struct uroce_latency {
	double min_us, p50_us, p99_us, p999_us, max_us;
};

/* False: no memory. */
bool uroce_samples_init(struct uroce_samples *samples, uint64_t capacity);
void uroce_samples_fini(struct uroce_samples *samples);
void uroce_samples_add(struct uroce_samples *samples, uint64_t ns);
/* How many are kept. */
uint64_t uroce_samples_kept(const struct uroce_samples *samples);
/* Sorts what is kept, and sums it up; all zero if there are none. */
void uroce_samples_summarise(struct uroce_samples *samples, struct uroce_latency *latency);

#endif
