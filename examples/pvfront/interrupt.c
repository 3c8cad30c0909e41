/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static const char *volatile partial_file;

static void on_signal(int number)
{
	if (came == 0) {
		came = number;
		return;
	}
	if (partial_file != NULL)
		(void)unlink(partial_file);
	_exit(128 + number);
}

void interrupt_setup(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	(void)sigemptyset(&action.sa_mask);
	(void)sigemptyset(&ignore.sa_mask);
	/* No SA_RESTART: a read of a terminal or pipe has to end. */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction before;
		/* nohup, and a shell's background jobs, have these ignored for a reason. */
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &action, NULL);
	}
	/* A closed pipe is an error of write(), told in words. */
	(void)sigaction(SIGPIPE, &ignore, NULL);
}

int interrupt_signal(void)
{
	return came;
}

void interrupt_partial_file(const char *path)
{
	partial_file = path;
}
