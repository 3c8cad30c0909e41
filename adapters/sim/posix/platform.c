/* SPDX-License-Identifier: MIT */
/* Threads, futexes, clock and memory of Linux for the simulated Xen. */
#define _GNU_SOURCE
#include <pvfront/sim_posix.h>

#include <pvfront/compiler.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000u

/* From here on memory is taken by pages of its own, which cost nothing until they are touched. */
#define LARGE (256u * 1024u)

static void *platform_alloc(void *ctx, size_t bytes)
{
	void *memory;

	(void)ctx;
	if (bytes >= LARGE) {
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return memory == MAP_FAILED ? NULL : memory;
	}
	if (bytes < PVF_PAGE_SIZE)
		return calloc(1, bytes ? bytes : 1);
	if (posix_memalign(&memory, PVF_PAGE_SIZE, bytes) != 0)
		return NULL;
	return memset(memory, 0, bytes);
}

static void platform_free(void *ctx, void *memory, size_t bytes)
{
	(void)ctx;
	if (bytes >= LARGE)
		(void)munmap(memory, bytes);
	else
		free(memory);
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec time;

	(void)clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

static uint64_t platform_now(void *ctx)
{
	(void)ctx;
	return clock_of(CLOCK_MONOTONIC);
}

static uint64_t platform_thread_cpu(void *ctx)
{
	(void)ctx;
	return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- threads ---- */

struct thread {
	pthread_t id;
	void (*run)(void *arg);
	void *arg;
};

static void *thread_main(void *arg)
{
	struct thread *thread = arg;

	thread->run(thread->arg);
	return NULL;
}

static int platform_spawn(void *ctx, void (*run)(void *arg), void *arg, const char *name, void **started)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	(void)ctx;
	if (!thread)
		return PVF_NO_MEMORY;
	thread->run = run;
	thread->arg = arg;
	if (pthread_create(&thread->id, NULL, thread_main, thread) != 0) {
		free(thread);
		return PVF_NO_SPACE;
	}
	(void)pthread_setname_np(thread->id, name);
	*started = thread;
	return PVF_OK;
}

static void platform_join(void *ctx, void *started)
{
	struct thread *thread = started;

	(void)ctx;
	(void)pthread_join(thread->id, NULL);
	free(thread);
}

/* ---- sleeping on a word ---- */

static int platform_wait(void *ctx, volatile uint32_t *word, uint32_t value, uint64_t deadline)
{
	struct timespec until = {0}, *timeout = NULL;

	(void)ctx;
	if (deadline != PVF_FOREVER) {
		until.tv_sec = (time_t)(deadline / NS);
		until.tv_nsec = (long)(deadline % NS);
		timeout = &until;
	}
	/* The BITSET form takes an absolute time of the monotonic clock. */
	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
		return PVF_OK;
	if (errno == ETIMEDOUT)
		return PVF_TIMEOUT;
	return errno == EINTR ? PVF_AGAIN : PVF_OK;
}

static void platform_wake(void *ctx, volatile uint32_t *word)
{
	(void)ctx;
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- a barrier on every CPU that runs this program ---- */

static void platform_fence(void *ctx)
{
	(void)ctx;
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* ThreadSanitizer does not know what membarrier orders: with it, owners of queues use barriers of their own. */
static bool has_fence(void)
{
#if defined(PVF_COMPILER_TSAN)
	return false;
#else
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

/* ---- log ---- */

/* PVF_SIM_LOG: the highest enum pvf_log_level that is printed; errors when it is not set, or no number. */
static long highest_level(void)
{
	const char *wanted = getenv("PVF_SIM_LOG");
	char *end;
	long level;

	if (!wanted)
		return PVF_LOG_ERROR;
	level = strtol(wanted, &end, 10);
	return end != wanted && *end == '\0' ? level : PVF_LOG_ERROR;
}

static void platform_log(void *ctx, int level, const char *message)
{
	(void)ctx;
	if (level <= highest_level())
		(void)fprintf(stderr, "pvfront-sim: %s\n", message);
}

#define PLATFORM \
	.size = sizeof(struct pvf_sim_platform), .alloc = platform_alloc, .free = platform_free, .now = platform_now, \
	.thread_cpu = platform_thread_cpu, .spawn = platform_spawn, .join = platform_join, .wait = platform_wait, \
	.wake = platform_wake, .log = platform_log

static const struct pvf_sim_platform with_fence = {PLATFORM, .fence = platform_fence};
static const struct pvf_sim_platform without_fence = {PLATFORM};

const struct pvf_sim_platform *pvf_sim_posix_platform(void)
{
	return has_fence() ? &with_fence : &without_fence;
}
