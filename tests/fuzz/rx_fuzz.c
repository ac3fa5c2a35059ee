/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the whole core through its calls: frames, posts and time, as the input says.
 *
 * The input is a small program. Most of its frames get right lengths and a right ICRC, since a
 * fuzzer cannot guess a CRC and would never get past it; some are raw bytes. Whatever happens, no
 * byte outside the registered memory may change (the sanitizers watch), the counters add up, and
 * every call returns. Built with clang and -Dfuzz=true it is a libFuzzer target; otherwise it runs
 * each file named on its command line once, which is how the corpus is replayed in every test run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "icrc.h"
#include "opcode.h"
#include "wire.h"

enum {
	STEPS_MAX = 200,
	PAYLOAD_MAX = 4096,
	MTU = 256,
	MEM = 16384,
	TX_MAX = 64
};

struct input {
	const uint8_t *at;
	size_t left;
};

static uint32_t take(struct input *in, uint32_t bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		value = value << 8 | *in->at++;
	return value;
}

static void take_bytes(struct input *in, uint8_t *to, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)take(in, 1);
}

/* Hands over a copy of exactly the frame's size, so that one byte too many is seen. */
static void give(struct endpoint *ep, uint64_t now_ns, const uint8_t *data, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	struct uroce_pkt pkt;

	if (!copy)
		abort();
	memcpy(copy, data, bytes);
	memset(&pkt, 0, sizeof(pkt));
	pkt.data = copy;
	pkt.bytes = bytes;
	uroce_core_rx(&ep->core, now_ns, &pkt, 1);
	free(copy);
}

static void give_raw(struct endpoint *ep, uint64_t now_ns, struct input *in)
{
	uint8_t data[256];
	uint32_t bytes = take(in, 1);

	take_bytes(in, data, bytes);
	give(ep, now_ns, data, bytes);
}

/* A key that sometimes exists and an address near the registered memory. */
static void put_address(const struct endpoint *ep, struct input *in, uint8_t *p)
{
	uint32_t how = take(in, 1);

	uroce_store_be64(p, (uintptr_t)ep->mem + take(in, 2) - 64);
	uroce_store_be32(p + 8, how & 1 ? ep->key : take(in, 4));
}

/* A frame of the peer with right lengths, checksum and ICRC around what the input says. */
static void give_packet(struct endpoint *ep, uint64_t now_ns, struct input *in)
{
	uint8_t f[UROCE_TEMPLATE_BYTES + 64 + PAYLOAD_MAX + 8] = {0};
	const struct uroce_opcode *op = &uroce_opcodes[take(in, 1)];
	uint32_t base = op->response ? ep->qp->req.psn_una : ep->qp->resp.epsn;
	int8_t ahead = (int8_t)take(in, 1);
	uint8_t flags = (uint8_t)take(in, 1);
	uint32_t payload = take(in, 2) % (PAYLOAD_MAX + 1);
	uint32_t header = op->name ? op->header_bytes : UROCE_BTH_BYTES;
	uint8_t *ip = f + UROCE_ETH_BYTES, *udp = ip + UROCE_IPV4_BYTES, *bth = udp + 8;
	uint32_t ip_bytes;

	memcpy(f, ep->path.smac, 6);
	memcpy(f + 6, ep->path.dmac, 6);
	uroce_store_be16(f + UROCE_ETH_TYPE, UROCE_ETHERTYPE_IPV4);
	ip[0] = 0x45;
	ip[UROCE_IPV4_PROTOCOL] = UROCE_IP_PROTOCOL_UDP;
	uroce_store_be32(ip + UROCE_IPV4_SRC, ep->conf.peer_ip);
	uroce_store_be32(ip + UROCE_IPV4_DST, ep->conf.ip);
	bth[UROCE_BTH_OPCODE] = op->name ? op->number : flags;
	bth[UROCE_BTH_FLAGS] = flags & 0xf0;
	uroce_store_be16(bth + UROCE_BTH_PKEY, UROCE_PKEY_DEFAULT);
	uroce_store_be24(bth + UROCE_BTH_DQPN, ep->qp->qpn);
	bth[UROCE_BTH_ACKREQ] = (uint8_t)(flags << 7);
	uroce_store_be24(bth + UROCE_BTH_PSN, uroce_psn_add(base, (uint32_t)ahead));
	take_bytes(in, bth + UROCE_BTH_BYTES, header - UROCE_BTH_BYTES);
	if (op->reth || op->atomiceth)
		put_address(ep, in, bth + UROCE_BTH_BYTES);
	if (op->reth && (flags & 2))
		uroce_store_be32(bth + UROCE_BTH_BYTES + UROCE_RETH_DMALEN, payload);
	memset(bth + header, flags, payload);
	ip_bytes = UROCE_IPV4_BYTES + UROCE_UDP_BYTES + header + payload + UROCE_ICRC_BYTES;
	uroce_store_be16(ip + UROCE_IPV4_TOTAL_LEN, (uint16_t)ip_bytes);
	uroce_store_be16(udp + UROCE_UDP_DPORT, UROCE_UDP_PORT);
	uroce_store_be16(udp + UROCE_UDP_LEN, (uint16_t)(ip_bytes - UROCE_IPV4_BYTES));
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM,
		(uint16_t)~uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
	uroce_store_le32(bth + header + payload,
		uroce_icrc_ipv4(ip, UROCE_IPV4_BYTES, header - UROCE_BTH_BYTES + payload));
	give(ep, now_ns, f, UROCE_ETH_BYTES + ip_bytes);
}

static void post(struct endpoint *ep, struct input *in)
{
	static const enum uroce_wr_opcode ops[] = {UROCE_WR_SEND, UROCE_WR_RDMA_WRITE,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_CMP_AND_SWP,
		UROCE_WR_SEND_WITH_INV, UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_SEND_WITH_IMM};
	struct endpoint_wr wr = {.opcode = ops[take(in, 1) % 8],
		.num_segs = 1,
		.flags = take(in, 1) & UROCE_SEND_FENCE};

	wr.segs[0].bytes = take(in, 2) % 2048;
	if (wr.opcode == UROCE_WR_ATOMIC_CMP_AND_SWP || wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
		wr.segs[0].bytes = 8;
	endpoint_post_send(ep, &wr);
}

/* An application that writes where it must not: anything in the shared rings. */
static void scribble(struct endpoint *ep, struct input *in)
{
	struct uroce_ring *ring = take(in, 1) & 1 ? &ep->qp->send_ring : &ep->qp->recv_ring;
	uint32_t bytes = (ring->mask + 1) * ring->stride_bytes;
	uint32_t at = take(in, 2) % (bytes - 16);

	take_bytes(in, ring->entries + at, 16);
	if (take(in, 1) == 0xff)
		atomic_store(&ring->tail, take(in, 4));
	uroce_bell_ring(&ep->core.bells, &ep->qp->bell);
}

static void drain(struct endpoint *ep, uint64_t now_ns)
{
	uint8_t data[ENDPOINT_FRAME_BYTES];
	struct uroce_slot slot = {.data = data, .capacity_bytes = sizeof(data)};
	struct uroce_core_event event;
	struct uroce_cqe cqe;

	uroce_core_rx_empty(&ep->core, now_ns);
	uroce_core_expire(&ep->core, now_ns);
	for (int i = 0; i < TX_MAX && uroce_core_tx(&ep->core, now_ns, &slot, 1) == 1; i++)
		;
	while (uroce_core_events(&ep->core, &event, 1) == 1)
		;
	while (endpoint_poll(ep, &cqe, 1) == 1)
		;
}

static void step(struct endpoint *ep, uint64_t *now_ns, struct input *in)
{
	switch (take(in, 1) % 8) {
	case 0:
		give_raw(ep, *now_ns, in);
		break;
	case 1:
		*now_ns += 1ull << (take(in, 1) % 34);
		drain(ep, *now_ns);
		break;
	case 2:
		post(ep, in);
		break;
	case 3:
		endpoint_post_recv(ep, 1, take(in, 2) % MEM, take(in, 2) % 1024);
		break;
	case 4:
		scribble(ep, in);
		break;
	default:
		give_packet(ep, *now_ns, in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct endpoint ep;
	struct endpoint_conf conf = endpoint_defaults(1, 2);
	struct input in = {data, bytes};
	uint64_t now_ns = 0;

	conf.mtu_bytes = MTU;
	conf.mem_bytes = MEM + 2048;
	conf.cqes = 256;
	endpoint_init(&ep, &conf);
	endpoint_connect(&ep, 0x12);
	for (int i = 0; i < STEPS_MAX && in.left > 0; i++)
		step(&ep, &now_ns, &in);
	drain(&ep, now_ns);
	if (!endpoint_counts_add_up(&ep)) {
		fprintf(stderr, "frames received are not those accepted and dropped\n");
		abort();
	}
	endpoint_fini(&ep);
	return 0;
}

#ifndef UROCE_FUZZ
/* Runs each file once. */
int main(int argc, char **argv)
{
	int ran = 0;

	for (int i = 1; i < argc; i++) {
		static uint8_t data[65536];
		FILE *file = fopen(argv[i], "rb");
		size_t bytes;

		if (!file) {
			perror(argv[i]);
			return 1;
		}
		bytes = fread(data, 1, sizeof(data), file);
		fclose(file);
		LLVMFuzzerTestOneInput(data, bytes);
		ran++;
	}
	printf("RESULT rx_fuzz passed=%d failed=0 skipped=0\n", ran);
	return ran > 0 ? 0 : 1;
}
#endif
