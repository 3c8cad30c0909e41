/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"

/* Up to `want` bytes; less only at the end. -1: an error, or a signal. */
static ssize_t read_some(int fd, uint8_t *data, size_t want)
{
	size_t done = 0;

	while (done < want) {
		ssize_t n = read(fd, data + done, want - done);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR && interrupt_signal() == 0)
			continue;
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static bool write_all(int fd, const uint8_t *data, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = write(fd, data + done, bytes - done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* A pipe's bytes into a file without a name. */
static bool spool(struct input *input, uint64_t most, struct failure *failure)
{
	char name[] = "/tmp/pvfront-XXXXXX";
	int spooled = mkstemp(name);
	static uint8_t block[65536];
	ssize_t n = 1;

	if (spooled < 0)
		return fail(failure, CODE_IO, "%s has no length and cannot be kept in /tmp: %s; use --in FILE",
			    input->name, strerror(errno));
	(void)unlink(name);
	input->length = 0;
	while (input->length < most && n > 0) {
		uint64_t left = most - input->length;
		n = read_some(input->fd, block, left < sizeof(block) ? (size_t)left : sizeof(block));
		if (n < 0 || interrupt_signal() != 0 || !write_all(spooled, block, (size_t)n)) {
			int error = errno;
			(void)close(spooled);
			return interrupt_signal() == 0 &&
			       fail(failure, CODE_IO, "%s cannot be read: %s", input->name, strerror(error));
		}
		input->length += (uint64_t)n;
	}
	input_close(input);
	input->fd = spooled;
	return lseek(spooled, 0, SEEK_SET) == 0;
}

bool input_check(const char *path, struct failure *failure)
{
	struct stat info;

	if (path == NULL)
		return true;
	if (stat(path, &info) != 0 || access(path, R_OK) != 0)
		return fail(failure, CODE_USAGE, "--in %s cannot be read: %s", path, strerror(errno));
	if (S_ISDIR(info.st_mode))
		return fail(failure, CODE_USAGE, "--in %s is a directory; name a file", path);
	return true;
}

bool input_open(struct input *input, const char *path, uint64_t limit, uint64_t exactly, struct failure *failure)
{
	struct stat info;
	off_t here, end;

	*input = (struct input){.fd = STDIN_FILENO, .name = path != NULL ? path : "stdin"};
	if (path != NULL)
		input->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0 || fstat(input->fd, &info) != 0)
		return fail(failure, CODE_USAGE, "%s cannot be read: %s", input->name, strerror(errno));
	if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode))
		return spool(input, exactly != 0 ? exactly : limit + 1, failure);
	here = lseek(input->fd, 0, SEEK_CUR);
	end = lseek(input->fd, 0, SEEK_END);
	if (here < 0 || end < 0 || lseek(input->fd, here, SEEK_SET) != here)
		return fail(failure, CODE_IO, "%s cannot be read: %s", input->name, strerror(errno));
	input->length = end > here ? (uint64_t)(end - here) : 0;
	return true;
}

bool input_read(struct input *input, uint8_t *data, uint32_t bytes, struct failure *failure)
{
	ssize_t n = read_some(input->fd, data, bytes);

	if (n == (ssize_t)bytes)
		return true;
	if (interrupt_signal() != 0)
		return false;
	return fail(failure, CODE_IO, "%s %s: what came before was written", input->name,
		    n < 0 ? strerror(errno) : "became shorter while it was read");
}

void input_close(struct input *input)
{
	if (input->fd > STDERR_FILENO)
		(void)close(input->fd);
	input->fd = -1;
}
