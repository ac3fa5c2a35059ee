/* SPDX-License-Identifier: BSD-3-Clause */
#include "sleeper.h"

#include "must.h"

static void *loop(void *arg)
{
	struct sleeper *s = arg;
	struct uroce_worker *worker = s->worker;

	while (!atomic_load(&worker->stop)) {
		uint64_t ns = uroce_worker_backoff(worker, uroce_worker_poll(worker));

		if (ns > s->longest_ns)
			s->longest_ns = ns;
	}
	uroce_worker_offline(worker);
	return NULL;
}

void sleeper_start(struct sleeper *s, struct uroce_worker *worker)
{
	s->worker = worker;
	s->longest_ns = 0;
	MUST(pthread_create(&s->thread, NULL, loop, s) == 0);
}

void sleeper_await(const struct sleeper *s)
{
	while (!atomic_load(&s->worker->core.bells.asleep))
		;
}

void sleeper_stop(struct sleeper *s)
{
	atomic_store(&s->worker->stop, true);
	uroce_worker_wake(s->worker);
	MUST(pthread_join(s->thread, NULL) == 0);
	atomic_store(&s->worker->stop, false);
}
