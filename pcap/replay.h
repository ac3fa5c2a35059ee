/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaying a capture: one side of it is fed to the engine on the capture's own clock, and what the
 * engine sends is compared with what the recorded peer sent.
 *
 *	struct uroce_exchanges all;
 *	struct uroce_replay_result result;
 *
 *	uroce_exchanges_init(&all, "my.pcap", err, sizeof(err));
 *	for (uint32_t i = 0; i < all.num; i++) {
 *		uroce_replay_run(&all.list[i], UROCE_REPLAY_RESPONDER, NULL, &result);
 *		CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_AGREES);
 *	}
 *	uroce_exchanges_fini(&all);
 *
 * No device, no thread, no clock: the same file gives the same result always. Any thread.
 */
#ifndef UROCE_PCAP_REPLAY_H
#define UROCE_PCAP_REPLAY_H

#include "pcap/compare.h"
#include "pcap/exchange.h"

enum uroce_replay_role {
	UROCE_REPLAY_RESPONDER, /* the engine answers the recorded requests */
	UROCE_REPLAY_REQUESTER, /* the engine asks, and gets the recorded answers */
};

enum uroce_replay_verdict {
	UROCE_REPLAY_AGREES,  /* identical, or different in legal ways only */
	UROCE_REPLAY_DEPARTS, /* also in ways in which the recorded peer is known to depart */
	UROCE_REPLAY_DIFFERS, /* in ways that no rule allows: comparison.difference says the first
			       */
	UROCE_REPLAY_SKIPPED, /* it cannot be replayed; skipped says why */
};

struct uroce_replay_result {
	enum uroce_replay_verdict verdict;
	const char *skipped;
	uint32_t fed;  /* frames given to the engine */
	uint32_t lost; /* frames taken as lost on the wire, and not given */
	uint32_t sent; /* frames that the engine sent */
	struct uroce_comparison comparison;
};

/* Called for each frame that the engine sends; time_ns is the capture's. */
struct uroce_replay_tap {
	void (*frame)(void *arg, uint64_t time_ns, const uint8_t *data, uint32_t bytes);
	void *arg;
};

/*
 * Replays an exchange in a role. tap may be NULL. Returns 0 with *result filled, or -ENOMEM.
 */
int uroce_replay_run(const struct uroce_exchange *exchange, enum uroce_replay_role role,
	const struct uroce_replay_tap *tap, struct uroce_replay_result *result);

const char *uroce_replay_verdict_name(enum uroce_replay_verdict verdict);

#endif
