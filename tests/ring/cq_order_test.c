/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of a completion queue's loads and stores, stopped in the middle.
 *
 * Between some two steps the other side must be able to act, and threads alone hardly ever meet
 * there. So the page that the second step touches is protected: the fault stops the call exactly
 * before that step, the handler does what the other side would do, and the call goes on. Worker
 * far_worker's ring lies on another page than the arm flag, which makes the two separable.
 *
 * The thread sanitizer does atomic accesses inside a lock of its own, which a handler that does
 * another one would wait for; so these cases do not run under it.
 */
#define _GNU_SOURCE
#include "cq.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/cunit_run.h"
#include "sanitized.h"

#define SKIP_UNDER_THREAD_SANITIZER() \
	do { \
		if (UNDER_THREAD_SANITIZER) \
			SKIP("the thread sanitizer's atomics cannot be stopped half-way"); \
	} while (0)

static struct uroce_cq *cq;
static uint32_t far_worker;
static size_t page_bytes;
static struct uroce_ring *queue; /* on a page of its own */
static uint64_t queue_entry[8];

/* What lies in wait: the page, what the other side does there, and what came of it. */
static void *trap_page;
static void (*trap_action)(void);
static volatile sig_atomic_t stops;
static volatile sig_atomic_t action_result;

static void *pages(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(memory, MAP_FAILED);
	return memory;
}

static void start(void)
{
	uint32_t num_workers;

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	far_worker = (uint32_t)(page_bytes / sizeof(struct uroce_ring)) + 1;
	num_workers = far_worker + 1;
	cq = pages(uroce_cq_bytes(1, num_workers));
	uroce_cq_init(cq, 1, num_workers);
	queue = pages(page_bytes);
	uroce_ring_init(queue, queue_entry, sizeof(queue_entry[0]), 1);
}

static void stop(void)
{
	munmap(cq, uroce_cq_bytes(1, far_worker + 1));
	munmap(queue, page_bytes);
}

static void spring(int signal)
{
	(void)signal;
	mprotect(trap_page, page_bytes, PROT_READ | PROT_WRITE);
	stops++;
	trap_action();
}

static struct sigaction before_trap;

static void set_trap(void *page, int protection, void (*action)(void))
{
	struct sigaction act = {.sa_handler = spring};

	trap_page = page;
	trap_action = action;
	stops = 0;
	action_result = -1;
	CU_ASSERT_EQUAL_FATAL(sigaction(SIGSEGV, &act, &before_trap), 0);
	CU_ASSERT_EQUAL_FATAL(mprotect(page, page_bytes, protection), 0);
}

/* The call was stopped once, no more and no less. */
static void clear_trap(void)
{
	sigaction(SIGSEGV, &before_trap, NULL);
	CU_ASSERT_EQUAL(stops, 1);
}

static bool push(bool *fire)
{
	struct uroce_cqe cqe = {.wr_id = 7, .queue = queue, .queue_head = 1};

	return uroce_cq_push(cq, far_worker, &cqe, fire);
}

static void worker_completes_one(void)
{
	bool fire;

	action_result = push(&fire);
}

/*
 * A queue of one slot on a completion queue of one: whoever sees the slot free may post, and the
 * worker may have completed that before the poller makes its next step.
 */
static void a_queues_slot_is_freed_only_after_the_completions_own(void)
{
	struct uroce_cqe out;
	bool fire;

	SKIP_UNDER_THREAD_SANITIZER();
	start();
	CU_ASSERT_TRUE(push(&fire));
	set_trap(queue, PROT_READ, worker_completes_one);
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, &out, 1), 1);
	clear_trap();
	CU_ASSERT_EQUAL(action_result, true);
	CU_ASSERT_EQUAL(atomic_load(&cq->overrun), 0);
	stop();
}

static void worker_completes_before_the_arm(void)
{
	bool fire = true;

	push(&fire);
	action_result = fire;
}

/* The worker saw no arm, so the poller must see the completion. */
static void the_poller_looks_only_after_it_has_armed(void)
{
	SKIP_UNDER_THREAD_SANITIZER();
	start();
	set_trap(cq, PROT_READ, worker_completes_before_the_arm);
	CU_ASSERT_TRUE(uroce_cq_arm(cq, false));
	clear_trap();
	CU_ASSERT_EQUAL(action_result, false);
	stop();
}

static void poller_arms(void)
{
	action_result = uroce_cq_arm(cq, false);
}

/* Whatever the worker finds in the flag, a poller that arms before that must see the completion. */
static void the_worker_looks_at_the_flag_only_after_it_has_published(void)
{
	bool fire = true;

	SKIP_UNDER_THREAD_SANITIZER();
	start();
	set_trap(cq, PROT_NONE, poller_arms);
	CU_ASSERT_TRUE(push(&fire));
	clear_trap();
	CU_ASSERT_EQUAL(action_result, true);
	CU_ASSERT_FALSE(fire);
	stop();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"A queue's slot is freed only after the completion's own",
			a_queues_slot_is_freed_only_after_the_completions_own},
		{"The poller looks only after it has armed",
			the_poller_looks_only_after_it_has_armed},
		{"The worker looks at the flag only after it has published",
			the_worker_looks_at_the_flag_only_after_it_has_published},
	};

	return run_suite("cq_order", cases, sizeof(cases) / sizeof(cases[0]));
}
