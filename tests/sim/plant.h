/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults planted into the engine, so that it can be shown that the simulation sees them.
 *
 * The engine is linked with --wrap for a few of its own calls: each passes through here, and is
 * passed on unchanged unless a fault is planted. So the engine that is tested is the one that
 * ships, and the faulty one differs from it in one thing.
 */
#ifndef UROCE_TESTS_PLANT_H
#define UROCE_TESTS_PLANT_H

enum plant_kind {
	PLANT_NONE,
	PLANT_TWICE,  /* a SEND or atomic that comes again is carried out again */
	PLANT_SWAP,   /* every third successful send completes after the next */
	PLANT_FLUSH,  /* the first work request to be flushed is flushed after the second */
	PLANT_SHORT,  /* the last partial word of a message is not placed */
	PLANT_WORD,   /* an ATOMIC WRITE that comes again is carried out again */
	PLANT_SHARED, /* every third shared receive completes as of another queue pair */
	PLANT_ALIVE,  /* a key that was invalidated is good for what it was good for */
	PLANT_RIGHTS, /* who may read by a key may write by it */
	PLANT_COUNT
};

/* For all engines of this process from now on; forgets what the one before remembered. */
void plant(enum plant_kind kind);

/* What is planted, in words. */
const char *plant_name(enum plant_kind kind);

#endif
