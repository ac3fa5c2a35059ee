/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language by which the test run moves a peer: a line of standard input is a command, and gets
 * one line of answer.
 *
 *	COMMAND NAME=VALUE...	->	ok NAME=VALUE...	or	error WHAT
 *
 * Numbers are written as C writes them; missing ones are 0. The commands are in the table at the
 * end. It knows peer.h, patterns and text, and nothing of how a peer does its work.
 *
 * Patterns: byte i of pattern `seed` depends on both; `skip` starts at a later i, so that what
 * surrounds a message can be checked as well as the message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

enum {
	LINE_BYTES_MAX = 4096,
	ARGS_MAX = 32,
	IDLE_US = 100
};

struct arg {
	const char *name, *value;
};

struct args {
	struct arg arg[ARGS_MAX];
	int n;
};

uint8_t *peer_memory;

static const char *text_of(const struct args *args, const char *name)
{
	for (int i = 0; i < args->n; i++)
		if (strcmp(args->arg[i].name, name) == 0)
			return args->arg[i].value;
	return "0";
}

static uint64_t number_of(const struct args *args, const char *name)
{
	return strtoull(text_of(args, name), NULL, 0);
}

static uint32_t u32_of(const struct args *args, const char *name)
{
	return (uint32_t)number_of(args, name);
}

static int gid_of(const struct args *args, uint8_t gid[16])
{
	return inet_pton(AF_INET6, text_of(args, "gid"), gid) == 1 ? 0 : -EINVAL;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- memory ---- */

static uint64_t pattern_word(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed << 32) + i;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint8_t pattern_byte(uint64_t seed, uint64_t i)
{
	return (uint8_t)(pattern_word(seed, i / 8) >> (i % 8 * 8));
}

/* The range that a command names, or NULL. */
static uint8_t *range_of(const struct args *args, uint64_t bytes)
{
	uint64_t at = number_of(args, "at");

	if (at > PEER_MEMORY_BYTES || bytes > PEER_MEMORY_BYTES - at)
		return NULL;
	return peer_memory + at;
}

static int fill(const struct args *args)
{
	uint64_t bytes = number_of(args, "len"), seed = number_of(args, "seed");
	uint64_t skip = number_of(args, "skip"), i = 0;
	uint8_t *to = range_of(args, bytes);

	if (to == NULL)
		return -ERANGE;
	for (; i < bytes && (skip + i) % 8 != 0; i++)
		to[i] = pattern_byte(seed, skip + i);
	for (; i + 8 <= bytes; i += 8)
		memcpy(to + i, &(uint64_t){pattern_word(seed, (skip + i) / 8)}, 8);
	for (; i < bytes; i++)
		to[i] = pattern_byte(seed, skip + i);
	return 0;
}

static int check(const struct args *args)
{
	uint64_t bytes = number_of(args, "len"), seed = number_of(args, "seed");
	uint64_t skip = number_of(args, "skip"), i = 0;
	const uint8_t *in = range_of(args, bytes);

	if (in == NULL)
		return -ERANGE;
	while (i < bytes) {
		uint64_t word = pattern_word(seed, (skip + i) / 8);

		if ((skip + i) % 8 == 0 && i + 8 <= bytes && memcmp(in + i, &word, 8) == 0) {
			i += 8;
			continue;
		}
		if (in[i] != pattern_byte(seed, skip + i)) {
			printf("error byte %" PRIu64 " of %" PRIu64 " is 0x%02x, not 0x%02x", i,
				bytes, in[i], pattern_byte(seed, skip + i));
			return 1;
		}
		i++;
	}
	return 0;
}

static int word(const struct args *args)
{
	uint8_t *at = range_of(args, 8);
	uint64_t value = number_of(args, "set");

	if (at == NULL)
		return -ERANGE;
	if (strcmp(text_of(args, "set"), "0") != 0)
		memcpy(at, &value, 8);
	memcpy(&value, at, 8);
	printf("ok value=0x%" PRIx64, value);
	return 1;
}

/* ---- the peer ---- */

static int do_register(const struct args *args)
{
	uint32_t lkey, rkey;
	int err = peer_register(number_of(args, "at"), number_of(args, "len"),
		u32_of(args, "access"), &lkey, &rkey);

	if (err != 0)
		return err;
	printf("ok lkey=0x%x rkey=0x%x addr=0x%" PRIxPTR, lkey, rkey,
		(uintptr_t)peer_memory + (uintptr_t)number_of(args, "at"));
	return 1;
}

static int create(const struct args *args)
{
	struct peer_qp_conf conf = {
		.type = u32_of(args, "type"),
		.net = text_of(args, "net"),
		.access = u32_of(args, "access"),
		.max_wr = u32_of(args, "wr"),
	};
	struct peer_local local;
	char gid[INET6_ADDRSTRLEN];
	int err = peer_qp_create(u32_of(args, "qp"), &conf, &local);

	if (err != 0)
		return err;
	printf("ok qpn=%u gid=%s", local.qpn, inet_ntop(AF_INET6, local.gid, gid, sizeof(gid)));
	return 1;
}

static int do_connect(const struct args *args)
{
	struct peer_route route = {
		.qpn = u32_of(args, "qpn"),
		.psn = u32_of(args, "psn"),
		.own_psn = u32_of(args, "own_psn"),
		.mtu_bytes = u32_of(args, "mtu"),
		.timeout = u32_of(args, "timeout"),
		.retry = u32_of(args, "retry"),
		.rnr_retry = u32_of(args, "rnr_retry"),
		.min_rnr = u32_of(args, "min_rnr"),
		.rd_atomic = u32_of(args, "rd"),
		.qkey = u32_of(args, "qkey"),
		.traffic_class = u32_of(args, "tclass"),
		.flow_label = u32_of(args, "flow"),
	};
	int err = gid_of(args, route.gid);

	return err != 0 ? err : peer_qp_connect(u32_of(args, "qp"), &route);
}

static int do_send(const struct args *args)
{
	struct peer_send send = {
		.id = number_of(args, "id"),
		.opcode = u32_of(args, "op"),
		.flags = u32_of(args, "flags"),
		.at = number_of(args, "at"),
		.bytes = u32_of(args, "len"),
		.lkey = u32_of(args, "lkey"),
		.remote_addr = number_of(args, "to"),
		.rkey = u32_of(args, "rkey"),
		.imm = u32_of(args, "imm"),
		.invalidate_rkey = u32_of(args, "inv"),
		.compare_add = number_of(args, "add"),
		.swap = number_of(args, "swap"),
	};

	return peer_send(u32_of(args, "qp"), &send);
}

static int do_recv(const struct args *args)
{
	return peer_recv(u32_of(args, "qp"), number_of(args, "id"), number_of(args, "at"),
		u32_of(args, "len"), u32_of(args, "lkey"));
}

/* Completions, until there are n of them or ms are over: "ok ID,STATUS,OPCODE,BYTES,FLAGS,IMM,QPN
 * ...". */
static int poll_some(const struct args *args)
{
	uint64_t limit = now_ms() + number_of(args, "ms");
	uint32_t left = u32_of(args, "n");
	struct peer_wc wc;

	printf("ok");
	while (left > 0) {
		int n = peer_poll(u32_of(args, "qp"), &wc);

		if (n > 0) {
			printf(" %" PRIu64 ",%u,%u,%u,%u,%u,%u", wc.id, wc.status, wc.opcode,
				wc.bytes, wc.flags, wc.imm, wc.src_qpn);
			left--;
		} else if (n < 0 || now_ms() >= limit) {
			break;
		} else {
			usleep(IDLE_US);
		}
	}
	return 1;
}

static int bind_window(const struct args *args)
{
	uint32_t rkey;
	int err = peer_bind(u32_of(args, "qp"), u32_of(args, "lkey"), number_of(args, "at"),
		number_of(args, "len"), u32_of(args, "access"), &rkey);

	if (err != 0)
		return err;
	printf("ok rkey=0x%x", rkey);
	return 1;
}

static int state(const struct args *args)
{
	unsigned int state;
	int err = peer_qp_state(u32_of(args, "qp"), &state);

	if (err != 0)
		return err;
	printf("ok state=%u", state);
	return 1;
}

static int why(const struct args *args)
{
	char text[512];

	peer_qp_why(u32_of(args, "qp"), text, sizeof(text));
	printf("ok %s", text);
	return 1;
}

static int counters(const struct args *args)
{
	(void)args;
	printf("ok");
	peer_counters();
	return 1;
}

static int set_error(const struct args *args)
{
	return peer_qp_set_error(u32_of(args, "qp"));
}

static int destroy(const struct args *args)
{
	return peer_qp_destroy(u32_of(args, "qp"));
}

/* Each prints its answer and returns 1, or returns 0 for a bare "ok", or a negative errno. */
static const struct command {
	const char *name;
	int (*run)(const struct args *args);
	bool wants_qp;
} commands[] = {
	{"fill", fill, false},		  /* at, len, seed, skip */
	{"check", check, false},	  /* at, len, seed, skip */
	{"word", word, false},		  /* at, set */
	{"register", do_register, false}, /* at, len, access */
	{"counters", counters, false},
	{"create", create, true},      /* type, net, access, wr */
	{"connect", do_connect, true}, /* struct peer_route's */
	{"send", do_send, true},       /* struct peer_send's */
	{"recv", do_recv, true},       /* id, at, len, lkey */
	{"poll", poll_some, true},     /* n, ms */
	{"bind", bind_window, true},   /* lkey, at, len, access */
	{"state", state, true},
	{"why", why, true},
	{"error", set_error, true},
	{"destroy", destroy, true},
};

static void obey(const char *name, const struct args *args)
{
	int err = -ENOSYS;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		err = -ERANGE;
		if (!commands[i].wants_qp || u32_of(args, "qp") < PEER_QPS_MAX)
			err = commands[i].run(args);
	}
	if (err == 0)
		printf("ok");
	else if (err < 0)
		printf("error %s", strerrorname_np(-err));
	putchar('\n');
	fflush(stdout);
}

int peer_talk(void)
{
	char line[LINE_BYTES_MAX];

	peer_memory = mmap(NULL, PEER_MEMORY_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (peer_memory == MAP_FAILED) {
		perror("peer: memory");
		return 1;
	}
	while (fgets(line, sizeof(line), stdin) != NULL) {
		struct args args = {.n = 0};
		char *save, *name = strtok_r(line, " \n", &save), *word;

		if (name == NULL)
			continue;
		while ((word = strtok_r(NULL, " \n", &save)) != NULL && args.n < ARGS_MAX) {
			char *value = strchr(word, '=');

			if (value == NULL)
				continue;
			*value = 0;
			args.arg[args.n++] = (struct arg){.name = word, .value = value + 1};
		}
		obey(name, &args);
	}
	return 0;
}
