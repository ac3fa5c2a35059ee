/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a message costs: engine and API over a link in memory, both ends in one thread.
 *
 * No port and no device, so what is left is uroce itself with its CRC and copies. Prints a row per
 * size and operation: messages a second, bytes a second, nanoseconds a message for both ends
 * together. Under `valgrind --tool=callgrind` it counts instructions, which repeat exactly.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pair.h"

enum {
	LIST = 32,
	IN_FLIGHT = 128
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void run(const char *name, enum uroce_wr_opcode opcode, uint32_t bytes, long messages)
{
	static struct pair pair;
	const struct uroce_qp_conf conf = {.max_send_wr = 2 * IN_FLIGHT};
	struct uroce_send_wr wr[LIST];
	struct uroce_sge sge;
	struct uroce_wc wc[LIST];
	long posted = 0, done = 0;
	double took;

	pair_init(&pair, &conf);
	sge = pair_sge(&pair, 0, 0, bytes);
	for (int i = 0; i < LIST; i++)
		wr[i] = (struct uroce_send_wr){.opcode = opcode,
			.sge = &sge,
			.num_sge = 1,
			.flags = i == LIST - 1 ? UROCE_SEND_SIGNALED : 0,
			.rdma = {.remote_addr = (uintptr_t)pair.side[1].mem,
				.rkey = pair.side[1].mr->rkey}};
	took = seconds();
	while (done < messages) {
		while (posted - done <= IN_FLIGHT - LIST) {
			if (uroce_post_send(pair.side[0].qp, wr, LIST) != LIST)
				abort();
			posted += LIST;
		}
		pair_turn(&pair);
		for (int n = uroce_cq_poll(pair.side[0].cq, wc, LIST); n > 0; n--) {
			if (wc[n - 1].status != UROCE_STATUS_SUCCESS)
				abort();
			done += LIST;
		}
	}
	took = seconds() - took;
	printf("%-6s %8u %10.3f %10.2f %12.1f\n", name, bytes, (double)done / took * 1e-6,
		(double)done * bytes * 8 / took * 1e-9, took * 1e9 / (double)done);
	/* What is still in flight goes with the pair. */
	pair_fini(&pair);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {8, 64, 1024, 4096, 65536, 1048576};
	long scale = argc > 1 ? atol(argv[1]) : 200;

	if (argc > 2 || scale < 1) {
		fprintf(stderr,
			"usage: message_rate [MEGABYTES_AND_KILOMESSAGES_PER_ROW, default 200]\n");
		return 2;
	}
	printf("%-6s %8s %10s %10s %12s\n", "op", "bytes", "Mmsg/s", "Gb/s", "ns/message");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		long messages = scale * 1000000 / sizes[i];

		if (messages > scale * 5000)
			messages = scale * 5000;
		run("write", UROCE_WR_RDMA_WRITE, sizes[i], messages);
		run("read", UROCE_WR_RDMA_READ, sizes[i], messages);
	}
	return 0;
}
