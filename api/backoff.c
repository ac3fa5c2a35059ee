/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker that has nothing to do: spins, then pauses, then sleeps.
 *
 * Spinning costs a core and no time, pausing leaves the core's other half to its sibling, sleeping
 * costs nothing but the way back. A sleeper is woken by what is posted, by control calls, by its
 * next timer, by the port if that can interrupt, by what a kernel behind an exception path sends,
 * and else looks for frames every idle_sleep_us. It
 * says that it sleeps and then looks once more for work, as those who bring work put it there and
 * then look whether it sleeps (see ready.h).
 */
#include <poll.h>
#include <time.h>

#include "conn.h"

enum {
	TURNS_SPINNING = 2000,
	TURNS_PAUSING = 4000,
	PAUSES = 32,
	NS_PER_US = 1000,
	NS_PER_S = 1000000000,
};

void uroce_worker_wake(struct uroce_worker *worker)
{
	if (worker->wake_fd >= 0)
		uroce_fd_raise(worker->wake_fd);
}

void uroce_worker_wake_sleeper(struct uroce_worker *worker)
{
	/* The work must be seen to be there by who sees no sleeper here: backoff looks in turn. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&worker->core.bells.asleep))
		uroce_worker_wake(worker);
}

bool uroce_worker_asks(const struct uroce_worker *worker)
{
	return worker->index == 0 && worker->dev->resolves;
}

static void pause_for_a_moment(void)
{
	for (int i = 0; i < PAUSES; i++)
		uroce_poller_pause();
}

/* Whether there is something to do that no descriptor would tell. */
static bool has_work(struct uroce_worker *worker)
{
	const struct uroce_core *core = &worker->core;
	const struct conn_manager *manager = atomic_load(&worker->manager);

	return (manager && uroce_conn_has_work(manager)) || atomic_load(&worker->core.bells.head) ||
		atomic_load(&worker->mailbox) || atomic_load(&worker->stop) || core->ready.head ||
		core->idle_acks ||
		atomic_load(&worker->dev->neigh.version) != worker->neigh_version ||
		(worker->dev->has_port && uroce_poller_holds_frames(&worker->poller));
}

/* How long at the most: until the next timer or question, and no longer than asked for. */
static uint64_t sleep_ns(struct uroce_worker *worker, uint64_t now_ns)
{
	const struct conn_manager *manager = atomic_load(&worker->manager);
	uint64_t deadline_ns = uroce_core_next_deadline(&worker->core);
	uint64_t due_ns =
		uroce_worker_asks(worker) ? atomic_load(&worker->dev->neigh.due_ns) : UINT64_MAX;
	uint64_t most_ns = (uint64_t)worker->dev->conf.idle_sleep_us * NS_PER_US;

	if (due_ns < deadline_ns)
		deadline_ns = due_ns;
	due_ns = manager ? uroce_conn_due_ns(manager) : UINT64_MAX;
	if (due_ns < deadline_ns)
		deadline_ns = due_ns;
	if (deadline_ns <= now_ns)
		return 0;
	return deadline_ns - now_ns < most_ns ? deadline_ns - now_ns : most_ns;
}

static void wait_for(struct uroce_worker *worker, int port_fd, uint64_t ns)
{
	/* Those that are -1 are none, to the kernel too. */
	struct pollfd fds[] = {{.fd = worker->wake_fd, .events = POLLIN},
		{.fd = port_fd, .events = POLLIN},
		{.fd = uroce_poller_kernel_fd(&worker->poller), .events = POLLIN}};
	const struct timespec ts = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

	ppoll(fds, sizeof(fds) / sizeof(fds[0]), &ts, NULL);
	uroce_fd_drain(worker->wake_fd);
}

static uint64_t sleep_once(struct uroce_worker *worker)
{
	int port_fd = worker->dev->has_port ? uroce_poller_listen(&worker->poller) : -1;
	uint64_t from_ns = uroce_clock_ns(), slept_ns = 0, ns;

	atomic_store(&worker->core.bells.asleep, 1);
	/* A frame that came just before the port was asked to interrupt makes no interrupt. */
	if (port_fd >= 0 && uroce_worker_poll(worker) > 0)
		worker->idle_turns = 0;
	ns = sleep_ns(worker, from_ns);
	if (worker->idle_turns > 0 && ns > 0 && !has_work(worker)) {
		/* What comes to its queue wakes it. */
		if (port_fd >= 0)
			uroce_poller_excuse(&worker->poller);
		wait_for(worker, port_fd, ns);
		slept_ns = uroce_clock_ns() - from_ns;
	}
	atomic_store(&worker->core.bells.asleep, 0);
	if (port_fd >= 0)
		uroce_poller_listen_end(&worker->poller);
	return slept_ns;
}

uint64_t uroce_worker_backoff(struct uroce_worker *worker, unsigned int moved)
{
	if (moved > 0 || worker->wake_fd < 0) {
		worker->idle_turns = 0;
		return 0;
	}
	if (worker->idle_turns < TURNS_PAUSING)
		worker->idle_turns++;
	if (worker->idle_turns < TURNS_SPINNING)
		return 0;
	if (worker->idle_turns < TURNS_PAUSING) {
		pause_for_a_moment();
		return 0;
	}
	return sleep_once(worker);
}
