/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client before a test: both sides tell each other their queue pairs and memory, in lines or,
 * by connection management, with the connections.
 *
 * Before anything is measured each queue pair has carried an empty write: a port whose link came up
 * late has then made good for what it lost, and ports that do not lead to each other are found out
 * with words for exactly that.
 */
#include <inttypes.h>
#include <string.h>

#include "perf_client.h"

/* Connects this side's queue pairs to those that the server lists. */
static int take_peers(struct uroce_perf_client *client)
{
	char line[UROCE_CHANNEL_LINE_BYTES], words[UROCE_PERF_WORDS_BYTES];
	struct uroce_peer peer;

	for (uint32_t i = 0; i < client->side.test.qps; i++) {
		if (uroce_perf_client_expect(client, line))
			return -1;
		if (!uroce_record_read_peer(line, i, &peer))
			return uroce_perf_client_fail(client,
				"the server said \"%.100s\" where its queue pair %" PRIu32
				" was expected",
				line, i);
		if (uroce_perf_side_connect(&client->side, i, &peer, words))
			return uroce_perf_client_fail(client, "on the client %s", words);
	}
	if (uroce_perf_client_expect(client, line))
		return -1;
	if (uroce_perf_side_read_memory(line, &client->side))
		return 0;
	return uroce_perf_client_fail(client,
		"the server said \"%.100s\" where its memory was expected, as large as the "
		"client's",
		line);
}

static void tell_own(struct uroce_perf_client *client)
{
	char line[UROCE_RECORD_BYTES];
	struct uroce_peer local;

	for (uint32_t i = 0; i < client->side.test.qps; i++) {
		uroce_qp_local(client->side.lanes[i].qp, &local);
		uroce_record_write_peer(line, i, &local);
		uroce_channel_send(client->channel, "%s", line);
	}
	uroce_perf_side_write_memory(line, &client->side);
	uroce_channel_send(client->channel, "%s", line);
}

/* Once the server expects it. */
static int connect_lanes(struct uroce_perf_client *client)
{
	char line[UROCE_CHANNEL_LINE_BYTES], words[UROCE_PERF_WORDS_BYTES];
	int up = 0;

	if (uroce_perf_client_expect(client, line))
		return -1;
	if (strcmp(line, "connect") != 0)
		return uroce_perf_client_fail(
			client, "the server said \"%.100s\" where \"connect\" was expected", line);
	if (uroce_perf_cm_ask(client->cm, &client->side, words))
		return uroce_perf_client_fail(client, "on the client %s", words);
	/* That it comes to an end is seen to by connection management. */
	while (up == 0) {
		if (uroce_perf_client_pump(client))
			return -1;
		up = uroce_perf_cm_check(client->cm, words);
	}
	uroce_perf_cm_expect(client->cm, NULL);
	return up > 0 ? 0 : uroce_perf_client_fail(client, "on the client %s", words);
}

static int agree(struct uroce_perf_client *client)
{
	char line[UROCE_CHANNEL_LINE_BYTES];

	uroce_perf_test_write(line, &client->side.test);
	uroce_channel_send(client->channel, "%s", line);
	if (client->cm) {
		if (connect_lanes(client))
			return -1;
	} else {
		if (take_peers(client))
			return -1;
		tell_own(client);
	}
	if (uroce_perf_client_expect(client, line))
		return -1;
	if (strcmp(line, "go") == 0)
		return 0;
	return uroce_perf_client_fail(
		client, "the server said \"%.100s\" where \"go\" was expected", line);
}

/* One empty write per queue pair, there and back. */
static int probe(struct uroce_perf_client *client)
{
	struct uroce_perf_side *side = &client->side;
	char words[UROCE_PERF_WORDS_BYTES];
	struct uroce_wc wc;
	uint64_t now_ns = 0;

	for (uint32_t i = 0; i < side->test.qps; i++) {
		struct uroce_send_wr wr = {
			.wr_id = (uint64_t)i << 32,
			.opcode = UROCE_WR_RDMA_WRITE,
			.flags = UROCE_SEND_SIGNALED,
			.rdma = {uroce_perf_side_remote(side, i, 0), side->remote_rkey},
		};

		if (uroce_post_send(side->lanes[i].qp, &wr, 1) != 1)
			return uroce_perf_client_fail(client, "the first write was refused");
	}
	for (uint32_t i = 0; i < side->test.qps;) {
		if (uroce_perf_client_pump(client) || uroce_perf_client_tend(client, &now_ns))
			return -1;
		if (uroce_cq_poll(side->cq, &wc, 1) == 0)
			continue;
		if (wc.status != UROCE_STATUS_SUCCESS) {
			uroce_perf_side_explain(side, &wc, words);
			return uroce_perf_client_fail(
				client, "no frames come through between the two ports: %s", words);
		}
		i++;
	}
	return 0;
}

int uroce_perf_client_set_up(struct uroce_perf_client *client)
{
	return agree(client) || probe(client) ? -1 : 0;
}
