/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"

static bool cannot(const struct output *output, const char *what, int error, struct failure *failure)
{
	if (error == EPIPE)
		return fail(failure, CODE_IO, "%s was closed by whoever was reading it", output->name);
	return fail(failure, CODE_IO, "%s cannot be %s: %s", output->name, what, strerror(error));
}

static bool open_temporary(struct output *output, struct failure *failure)
{
	static const char suffix[] = ".pvfront-XXXXXX";
	size_t length = strlen(output->path);
	mode_t mask = umask(0);

	(void)umask(mask);
	output->temporary = malloc(length + sizeof(suffix));
	if (output->temporary == NULL) {
		free(output->path);
		return fail(failure, CODE_IO, "no memory for the name of a temporary file beside %s", output->name);
	}
	memcpy(output->temporary, output->path, length);
	memcpy(output->temporary + length, suffix, sizeof(suffix));
	output->fd = mkstemp(output->temporary);
	if (output->fd < 0) {
		int error = errno;
		free(output->temporary);
		free(output->path);
		output->temporary = NULL;
		output->path = NULL;
		return fail(failure, CODE_USAGE, "%s cannot be made: %s", output->name, strerror(error));
	}
	interrupt_partial_file(output->temporary);
	(void)fchmod(output->fd, 0666 & ~mask);
	return true;
}

bool output_open(struct output *output, const char *path, struct failure *failure)
{
	struct stat info;

	*output = (struct output){.fd = STDOUT_FILENO, .name = path != NULL ? path : "stdout"};
	if (path == NULL)
		return true;
	if (stat(path, &info) == 0) {
		if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode)) {
			output->fd = open(path, O_WRONLY | O_CLOEXEC);
			return output->fd >= 0 || cannot(output, "opened", errno, failure);
		}
		if (!S_ISREG(info.st_mode))
			return fail(failure, CODE_USAGE, "--out %s is %s; name a file", path,
				    S_ISDIR(info.st_mode) ? "a directory" : "no regular file");
		/* A symbolic link stays one: what it points to is replaced. */
		output->path = realpath(path, NULL);
	} else {
		output->path = strdup(path);
	}
	if (output->path == NULL)
		return cannot(output, "found", errno, failure);
	return open_temporary(output, failure);
}

static bool all_zero(const uint8_t *data, uint32_t bytes)
{
	return data[0] == 0 && memcmp(data, data + 1, bytes - 1u) == 0;
}

bool output_write(struct output *output, const uint8_t *data, uint32_t bytes, struct failure *failure)
{
	uint32_t done = 0;

	if (output->temporary != NULL && all_zero(data, bytes)) {
		output->position += bytes;
		return true;
	}
	while (done < bytes) {
		ssize_t n = output->temporary != NULL
				    ? pwrite(output->fd, data + done, bytes - done, (off_t)(output->position + done))
				    : write(output->fd, data + done, bytes - done);
		if (n < 0 && errno == EINTR) {
			if (interrupt_signal() != 0)
				return false;
			continue;
		}
		if (n < 0)
			return cannot(output, "written", errno, failure);
		done += (uint32_t)n;
	}
	output->position += bytes;
	return true;
}

bool output_close(struct output *output, bool complete, struct failure *failure)
{
	bool good = complete;

	/* The last block may be a hole; the length is set here. */
	if (good && output->temporary != NULL &&
	    (ftruncate(output->fd, (off_t)output->position) != 0 || fsync(output->fd) != 0))
		good = cannot(output, "written", errno, failure);
	if (output->fd > STDERR_FILENO && close(output->fd) != 0 && good)
		good = cannot(output, "written", errno, failure);
	if (good && output->temporary != NULL && rename(output->temporary, output->path) != 0)
		good = cannot(output, "given its name", errno, failure);
	if (!good && output->temporary != NULL)
		(void)unlink(output->temporary);
	interrupt_partial_file(NULL);
	free(output->temporary);
	free(output->path);
	output->temporary = NULL;
	output->path = NULL;
	output->fd = -1;
	return good;
}
