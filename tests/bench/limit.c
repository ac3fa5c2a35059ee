/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine's own limit for what an endpoint does: copy and CRC out, copy and CRC in.
 *
 * One thread builds frames of a header and a payload copied from memory, with ISA-L's CRC over the
 * copy, into a ring; the other side checks the CRC and copies the payload out. No protocol: nobody
 * who does the protocol can be faster on this machine. Both sides in one thread, or two pinned
 * threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <isa-l/crc.h>

#include "ring.h"

enum {
	HEADER_BYTES = 74,
	FRAMES = 256,
	BURST = 32,
	FRAME_BYTES = 4480,
	REGION = 1 << 20
};

struct frame {
	uint32_t bytes;
	uint32_t crc;
	uint8_t data[FRAME_BYTES - 8];
};

static struct uroce_ring ring;
static uint8_t source[REGION], sink[REGION];
static uint32_t payload_bytes;
static long frames_wanted;
static long bad;

static uint32_t send_burst(size_t *offset)
{
	uint32_t n = 0;

	for (; n < BURST; n++) {
		struct frame *frame = uroce_ring_reserve(&ring);

		if (!frame)
			break;
		memset(frame->data, 0x45, HEADER_BYTES);
		memcpy(frame->data + HEADER_BYTES, source + *offset, payload_bytes);
		frame->bytes = HEADER_BYTES + payload_bytes;
		frame->crc = crc32_gzip_refl(0, frame->data, frame->bytes);
		*offset = (*offset + payload_bytes) % (REGION - 4096);
		uroce_ring_advance(&ring);
	}
	uroce_ring_publish(&ring);
	return n;
}

static uint32_t receive_burst(size_t *offset)
{
	uint32_t n = 0;

	for (; n < BURST; n++) {
		const struct frame *frame = uroce_ring_peek(&ring);

		if (!frame)
			break;
		bad += crc32_gzip_refl(0, (unsigned char *)(uintptr_t)frame->data, frame->bytes) !=
			frame->crc;
		memcpy(sink + *offset, frame->data + HEADER_BYTES, payload_bytes);
		*offset = (*offset + payload_bytes) % (REGION - 4096);
		uroce_ring_pop(&ring);
	}
	return n;
}

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	/* Without the right to pin the figure is still true, only noisier. */
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *sender(void *arg)
{
	size_t offset = 0;

	(void)arg;
	pin(1);
	for (long sent = 0; sent < frames_wanted;)
		sent += send_burst(&offset);
	return NULL;
}

static void run(uint32_t bytes, int threads)
{
	size_t out = 0, in = 0;
	struct timespec from, to;
	pthread_t thread;
	double took;

	payload_bytes = bytes;
	frames_wanted = 2000000000L / (bytes + 600);
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (threads == 2 && pthread_create(&thread, NULL, sender, NULL) != 0)
		abort();
	for (long got = 0; got < frames_wanted;) {
		if (threads == 1)
			send_burst(&out);
		got += receive_burst(&in);
	}
	if (threads == 2)
		pthread_join(thread, NULL);
	else
		while (receive_burst(&in) > 0)
			;
	clock_gettime(CLOCK_MONOTONIC, &to);
	/* A sender that overshot by part of a burst leaves it behind. */
	while (receive_burst(&in) > 0)
		;
	took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
	printf("%7d %8u %10.3f %10.2f %12.1f\n", threads, bytes,
		(double)frames_wanted / took * 1e-6,
		(double)frames_wanted * bytes * 8 / took * 1e-9,
		took * 1e9 / (double)frames_wanted);
}

int main(void)
{
	static const uint32_t sizes[] = {8, 64, 256, 1024, 4096};
	void *memory = calloc(FRAMES, sizeof(struct frame));

	if (!memory)
		return 1;
	uroce_ring_init(&ring, memory, sizeof(struct frame), FRAMES);
	memset(source, 0x5a, sizeof(source));
	pin(0);
	printf("%7s %8s %10s %10s %12s\n", "threads", "bytes", "Mframe/s", "Gb/s", "ns/frame");
	for (int threads = 1; threads <= 2; threads++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			run(sizes[i], threads);
	free(memory);
	return bad ? 1 : 0;
}
