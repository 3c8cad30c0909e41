/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "pattern.h"
#include "progress.h"
#include "session.h"

static bool raw_requests(struct session *session, struct bench_picker *picker, int fd, uint8_t *block, double *iops)
{
	uint32_t bytes = picker->pattern.block;
	uint64_t started = progress_now();
	uint64_t ends = started + session->options->seconds * 1000000u, now = started, requests = 0;

	while (now < ends && !session_interrupted(session)) {
		bool read;
		off_t offset = (off_t)(bench_pick(picker, &read) * 512);
		ssize_t n = read ? pread(fd, block, bytes, offset) : pwrite(fd, block, bytes, offset);

		if (n != (ssize_t)bytes)
			return fail(&session->failure, CODE_IO, "--compare %s cannot be %s at byte %" PRIu64 ": %s",
				    session->options->compare, read ? "read" : "written", (uint64_t)offset,
				    n < 0 ? strerror(errno) : "less came than asked for");
		requests++;
		now = progress_now();
	}
	*iops = now > started ? (double)requests * 1e9 / (double)(now - started) : 0;
	return !session_interrupted(session);
}

bool bench_raw(struct session *session, struct bench_picker *picker, double *iops)
{
	const char *path = session->options->compare;
	uint64_t needs = (picker->first + picker->blocks * (picker->pattern.block / 512u)) * 512;
	int fd = open(path, (picker->pattern.read_percent < 100 ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	uint8_t *block = malloc(picker->pattern.block);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	bool good = false;

	if (fd < 0 || size < 0 || block == NULL)
		(void)fail(&session->failure, CODE_USAGE, "--compare %s cannot be opened: %s", path, strerror(errno));
	else if ((uint64_t)size < needs)
		(void)fail(&session->failure, CODE_USAGE,
			   "--compare %s has %" PRIu64 " bytes, the range that is measured needs %" PRIu64, path,
			   (uint64_t)size, needs);
	else {
		for (uint32_t at = 0; at < picker->pattern.block; at += PATTERN_BYTES)
			pattern_fill(block + at, at, 0);
		good = raw_requests(session, picker, fd, block, iops);
	}
	free(block);
	if (fd >= 0)
		(void)close(fd);
	return good;
}
