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
#include "talk.h"

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

const char *args_text(const struct args *args, const char *name)
{
	for (int i = 0; i < args->n; i++)
		if (strcmp(args->arg[i].name, name) == 0)
			return args->arg[i].value;
	return "0";
}

uint64_t args_number(const struct args *args, const char *name)
{
	return strtoull(args_text(args, name), NULL, 0);
}

uint32_t args_u32(const struct args *args, const char *name)
{
	return (uint32_t)args_number(args, name);
}

size_t args_bytes(const struct args *args, const char *name, uint8_t *bytes, size_t most)
{
	const char *text = args_text(args, name);
	unsigned int byte;
	size_t n = 0;

	while (n < most && sscanf(text + 2 * n, "%2x", &byte) == 1 && text[2 * n + 1] != 0)
		bytes[n++] = (uint8_t)byte;
	return n;
}

void print_bytes(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

static int gid_of(const struct args *args, uint8_t gid[16])
{
	return inet_pton(AF_INET6, args_text(args, "gid"), gid) == 1 ? 0 : -EINVAL;
}

uint64_t now_ms(void)
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

uint8_t *args_range(const struct args *args, uint64_t bytes)
{
	uint64_t at = args_number(args, "at");

	if (at > PEER_MEMORY_BYTES || bytes > PEER_MEMORY_BYTES - at)
		return NULL;
	return peer_memory + at;
}

static int fill(const struct args *args)
{
	uint64_t bytes = args_number(args, "len"), seed = args_number(args, "seed");
	uint64_t skip = args_number(args, "skip"), i = 0;
	uint8_t *to = args_range(args, bytes);

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
	uint64_t bytes = args_number(args, "len"), seed = args_number(args, "seed");
	uint64_t skip = args_number(args, "skip"), i = 0;
	const uint8_t *in = args_range(args, bytes);

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
	uint8_t *at = args_range(args, 8);
	uint64_t value = args_number(args, "set");

	if (at == NULL)
		return -ERANGE;
	if (strcmp(args_text(args, "set"), "0") != 0)
		memcpy(at, &value, 8);
	memcpy(&value, at, 8);
	printf("ok value=0x%" PRIx64, value);
	return 1;
}

/* Bytes as they are: get, put. */
static int get(const struct args *args)
{
	uint64_t bytes = args_number(args, "len");
	const uint8_t *at = args_range(args, bytes);

	if (at == NULL)
		return -ERANGE;
	printf("ok ");
	print_bytes(at, bytes);
	return 1;
}

static int put(const struct args *args)
{
	uint8_t bytes[LINE_BYTES_MAX / 2];
	size_t n = args_bytes(args, "hex", bytes, sizeof(bytes));
	uint8_t *at = args_range(args, n);

	if (at == NULL)
		return -ERANGE;
	memcpy(at, bytes, n);
	return 0;
}

/* ---- the peer ---- */

static int do_register(const struct args *args)
{
	uint32_t lkey, rkey;
	int err = peer_register(args_number(args, "at"), args_number(args, "len"),
		args_u32(args, "access"), &lkey, &rkey);

	if (err != 0)
		return err;
	printf("ok lkey=0x%x rkey=0x%x addr=0x%" PRIxPTR, lkey, rkey,
		(uintptr_t)peer_memory + (uintptr_t)args_number(args, "at"));
	return 1;
}

static int create(const struct args *args)
{
	struct peer_qp_conf conf = {
		.type = args_u32(args, "type"),
		.net = args_text(args, "net"),
		.access = args_u32(args, "access"),
		.max_wr = args_u32(args, "wr"),
	};
	struct peer_local local;
	char gid[INET6_ADDRSTRLEN];
	int err = peer_qp_create(args_u32(args, "qp"), &conf, &local);

	if (err != 0)
		return err;
	printf("ok qpn=%u gid=%s", local.qpn, inet_ntop(AF_INET6, local.gid, gid, sizeof(gid)));
	return 1;
}

static int do_connect(const struct args *args)
{
	struct peer_route route = {
		.qpn = args_u32(args, "qpn"),
		.psn = args_u32(args, "psn"),
		.own_psn = args_u32(args, "own_psn"),
		.mtu_bytes = args_u32(args, "mtu"),
		.timeout = args_u32(args, "timeout"),
		.retry = args_u32(args, "retry"),
		.rnr_retry = args_u32(args, "rnr_retry"),
		.min_rnr = args_u32(args, "min_rnr"),
		.rd_atomic = args_u32(args, "rd"),
		.qkey = args_u32(args, "qkey"),
		.traffic_class = args_u32(args, "tclass"),
		.flow_label = args_u32(args, "flow"),
	};
	int err = gid_of(args, route.gid);

	return err != 0 ? err : peer_qp_connect(args_u32(args, "qp"), &route);
}

static int do_send(const struct args *args)
{
	struct peer_send send = {
		.id = args_number(args, "id"),
		.opcode = args_u32(args, "op"),
		.flags = args_u32(args, "flags"),
		.at = args_number(args, "at"),
		.bytes = args_u32(args, "len"),
		.lkey = args_u32(args, "lkey"),
		.remote_addr = args_number(args, "to"),
		.rkey = args_u32(args, "rkey"),
		.imm = args_u32(args, "imm"),
		.invalidate_rkey = args_u32(args, "inv"),
		.compare_add = args_number(args, "add"),
		.swap = args_number(args, "swap"),
	};

	return peer_send(args_u32(args, "qp"), &send);
}

static int do_recv(const struct args *args)
{
	return peer_recv(args_u32(args, "qp"), args_number(args, "id"), args_number(args, "at"),
		args_u32(args, "len"), args_u32(args, "lkey"));
}

/* Completions, until there are n of them or ms are over: "ok ID,STATUS,OPCODE,BYTES,FLAGS,IMM,QPN
 * ...". */
static int poll_some(const struct args *args)
{
	uint64_t limit = now_ms() + args_number(args, "ms");
	uint32_t left = args_u32(args, "n");
	struct peer_wc wc;

	printf("ok");
	while (left > 0) {
		int n = peer_poll(args_u32(args, "qp"), &wc);

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
	int err = peer_bind(args_u32(args, "qp"), args_u32(args, "lkey"), args_number(args, "at"),
		args_number(args, "len"), args_u32(args, "access"), &rkey);

	if (err != 0)
		return err;
	printf("ok rkey=0x%x", rkey);
	return 1;
}

static int state(const struct args *args)
{
	unsigned int state;
	int err = peer_qp_state(args_u32(args, "qp"), &state);

	if (err != 0)
		return err;
	printf("ok state=%u", state);
	return 1;
}

static int why(const struct args *args)
{
	char text[512];

	peer_qp_why(args_u32(args, "qp"), text, sizeof(text));
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
	return peer_qp_set_error(args_u32(args, "qp"));
}

static int destroy(const struct args *args)
{
	return peer_qp_destroy(args_u32(args, "qp"));
}

static const struct command commands[] = {
	{"fill", fill, false},		  /* at, len, seed, skip */
	{"check", check, false},	  /* at, len, seed, skip */
	{"word", word, false},		  /* at, set */
	{"get", get, false},		  /* at, len */
	{"put", put, false},		  /* at, hex */
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
	{0},
};

static const struct command *find(const struct command *in, const char *name)
{
	while (in != NULL && in->name != NULL && strcmp(name, in->name) != 0)
		in++;
	return in != NULL && in->name != NULL ? in : NULL;
}

static void obey(const struct command *command, const struct args *args)
{
	int err = -ENOSYS;

	if (command != NULL && command->wants_qp && args_u32(args, "qp") >= PEER_QPS_MAX)
		err = -ERANGE;
	else if (command != NULL)
		err = command->run(args);
	if (err == 0)
		printf("ok");
	else if (err < 0)
		printf("error %s", strerrorname_np(-err));
	putchar('\n');
	fflush(stdout);
}

int peer_talk(const struct command *more)
{
	const struct command *command;
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
		command = find(commands, name);
		obey(command != NULL ? command : find(more, name), &args);
	}
	return 0;
}
