/* SPDX-License-Identifier: MIT */
#include "safety.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "session.h"
#include "signature.h"
#include "verbs.h"

static bool refuse(const struct options *options, const char *what, const char *found, struct failure *failure)
{
	return fail(
		failure, CODE_REFUSED,
		"%s holds %s, which vbd %s would destroy; nothing was written; --scratch says that it may be overwritten",
		what, found, options->verb->name);
}

bool safety_device_is_scratch(struct session *session)
{
	uint64_t bytes = session->info.sectors * 512;
	uint32_t tail = bytes < SIGNATURE_END_BYTES ? (uint32_t)bytes : SIGNATURE_END_BYTES;
	uint32_t head = bytes < SIGNATURE_BYTES ? (uint32_t)bytes : SIGNATURE_BYTES;
	const char *found = NULL;
	uint8_t *data;
	bool good;

	if (session->options->scratch)
		return true;
	data = malloc(SIGNATURE_BYTES);
	if (data == NULL)
		return fail(&session->failure, CODE_IO, "no memory to look at the device");
	good = io_read(session, 0, data, head);
	if (good)
		found = signature_find(data, head);
	if (good && found == NULL) {
		good = io_read(session, (bytes - tail) / 512, data, tail);
		if (good)
			found = signature_find_last(data, tail, bytes);
	}
	free(data);
	if (found == NULL)
		return good;
	(void)refuse(session->options, "the device", found, &session->failure);
	session->failure.about_device = true;
	return false;
}

bool safety_file_is_scratch(const struct options *options, const char *path, struct failure *failure)
{
	uint8_t *data;
	const char *found = NULL;
	int fd;
	ssize_t n;
	off_t end;

	if (options->scratch)
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	data = malloc(SIGNATURE_BYTES);
	if (fd < 0 || data == NULL) {
		free(data);
		return fail(failure, CODE_USAGE, "--compare %s cannot be read: %s", path, strerror(errno));
	}
	n = pread(fd, data, SIGNATURE_BYTES, 0);
	found = n > 0 ? signature_find(data, (size_t)n) : NULL;
	end = lseek(fd, 0, SEEK_END);
	if (found == NULL && end > 0) {
		off_t from = end > (off_t)SIGNATURE_END_BYTES ? end - (off_t)SIGNATURE_END_BYTES : 0;

		n = pread(fd, data, SIGNATURE_END_BYTES, from);
		found = n == end - from ? signature_find_last(data, (size_t)n, (uint64_t)end) : NULL;
	}
	free(data);
	(void)close(fd);
	return found == NULL || refuse(options, path, found, failure);
}
