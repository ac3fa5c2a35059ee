/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the whole core through its calls: frames, posts, states and time, as the input says.
 *
 * The first bytes choose what kind of queue pair it is, its MTU, rights and limits, and whether it
 * shares its receives. Whatever happens, no byte outside the registered memory may change (the
 * sanitizers watch), the counters add up, work requests complete in order and at most once, and
 * every call returns.
 */
#include "rig.h"

#include <string.h>

enum {
	STEPS_MAX = 200
};

static void step(struct rig *rig)
{
	switch (take(&rig->in, 1) % 10) {
	case 0:
		rig_give_raw(rig);
		break;
	case 1:
		rig_pass_time(rig);
		break;
	case 2:
	case 3:
		rig_post_send(rig);
		break;
	case 4:
		rig_post_recv(rig);
		break;
	case 5:
		rig_modify(rig);
		break;
	default:
		rig_give_packet(rig);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct rig rig;
	struct endpoint_conf conf;

	memset(&rig, 0, sizeof(rig));
	rig.in = (struct input){data, bytes};
	conf = rig_take_conf(&rig);
	rig_init(&rig, &conf);
	/* Mostly a live one; from RESET the input can find its own way. */
	if (!(take(&rig.in, 1) & 0x80))
		endpoint_connect(&rig.ep, 0x12);
	for (int i = 0; i < STEPS_MAX && rig.in.left > 0; i++)
		step(&rig);
	rig_fini(&rig);
	return 0;
}
