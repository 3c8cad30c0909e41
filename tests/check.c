/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a failed test said; longer texts (a sanitizer's report) are cut in the report, never on the terminal. */
#define MESSAGE_BYTES 4096

/* How a process says that its test passed: one that exits early with 0, or whose leaks were found at exit, does not. */
#define EXIT_PASSED 42

struct outcome {
	bool passed;
	double seconds;
	char message[MESSAGE_BYTES];
};

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : otherwise;
}

static double seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void json_string(FILE *out, const char *text)
{
	(void)fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			(void)fprintf(out, "\\%c", *c);
		else if (*c == '\n')
			(void)fputs("\\n", out);
		else if (*c < 0x20 || *c == 0x7f)
			(void)fprintf(out, "\\u%04x", *c);
		else
			(void)fputc(*c, out);
	}
	(void)fputc('"', out);
}

static void json_words(FILE *out, const char *words)
{
	const char *separator = "";

	(void)fputc('[', out);
	while (*words != '\0') {
		size_t length = strcspn(words, " ");

		if (length > 0) {
			(void)fprintf(out, "%s\"%.*s\"", separator, (int)length, words);
			separator = ",";
		}
		words += length;
		words += strspn(words, " ");
	}
	(void)fputc(']', out);
}

/* One write to a file opened for appending: suites that run side by side share the report. */
static bool append(const char *path, const char *line, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	bool written;

	if (fd < 0) {
		(void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return false;
	}
	written = write(fd, line, length) == (ssize_t)length;
	if (!written)
		(void)fprintf(stderr, "%s: the line could not be written\n", path);
	(void)close(fd);
	return written;
}

static bool report(const char *suite, const struct pvf_test *test, const struct outcome *outcome)
{
	const char *path = getenv("PVF_REPORT");
	char *line = NULL;
	size_t length = 0;
	FILE *out;
	bool written;

	if (path == NULL || path[0] == '\0')
		return true;
	out = open_memstream(&line, &length);
	if (out == NULL)
		return false;
	(void)fputs("{\"suite\":", out);
	json_string(out, setting("PVF_SUITE", suite));
	(void)fputs(",\"test\":", out);
	json_string(out, test->sentence);
	(void)fputs(",\"rows\":", out);
	json_words(out, test->rows);
	(void)fputs(",\"peer\":", out);
	json_string(out, setting("PVF_PEER", test->peer));
	(void)fputs(",\"build\":", out);
	json_string(out, setting("PVF_BUILD", "plain"));
	(void)fprintf(out, ",\"result\":\"%s\",\"seconds\":%.3f,\"message\":", outcome->passed ? "pass" : "fail",
		      outcome->seconds);
	json_string(out, outcome->message);
	(void)fputs("}\n", out);
	(void)fclose(out);
	written = append(path, line, length);
	free(line);
	return written;
}

static int run_by_cmocka(const struct pvf_test *test)
{
	const struct CMUnitTest tests[] = {
		{test->sentence, test->function, test->setup, test->teardown, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Lines of CMocka's frame, which say nothing about the failure. */
static bool is_frame(const char *line)
{
	static const char *const frames[] = {"[==========]", "[ RUN      ]", "[       OK ]",
					     "[  PASSED  ]", "[  FAILED  ]", " 1 FAILED TEST(S)"};

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		if (strncmp(line, frames[i], strlen(frames[i])) == 0)
			return true;
	}
	return false;
}

/* Copies what the test said to the terminal and to the outcome's message; true when it skipped itself. */
static bool read_back(FILE *said, bool show, struct outcome *outcome)
{
	char line[1024];
	size_t used = strlen(outcome->message);
	bool skipped = false;

	rewind(said);
	while (fgets(line, sizeof(line), said) != NULL) {
		size_t length = strlen(line);

		if (strncmp(line, "[  SKIPPED ]", 12) == 0)
			skipped = true;
		if (is_frame(line))
			continue;
		if (show)
			(void)fputs(line, stderr);
		if (used + length < sizeof(outcome->message)) {
			memcpy(outcome->message + used, line, length + 1);
			used += length;
		}
	}
	while (used > 0 && outcome->message[used - 1] == '\n')
		outcome->message[--used] = '\0';
	return skipped;
}

/* A failure that the test could not report itself. */
static void blame(struct outcome *outcome, const char *before, int number)
{
	outcome->passed = false;
	(void)snprintf(outcome->message, sizeof(outcome->message), "%s %d\n", before, number);
	(void)fputs(outcome->message, stderr);
}

/* Waits for the test's process; kills it when its time is over. */
static void await(pid_t child, struct outcome *outcome)
{
	int limit = (int)strtol(setting("PVF_TIMEOUT", "300"), NULL, 10);
	double end = seconds_now() + (double)limit;
	struct timespec pause = {0, 200000};
	int status = 0;

	while (waitpid(child, &status, WNOHANG) == 0) {
		if (seconds_now() > end) {
			(void)kill(child, SIGKILL);
			(void)waitpid(child, &status, 0);
			blame(outcome, "killed: it was not done within its seconds,", limit);
			return;
		}
		(void)nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec += pause.tv_nsec / 2;
	}
	if (WIFSIGNALED(status))
		blame(outcome, "died of signal", WTERMSIG(status));
	else
		outcome->passed = WEXITSTATUS(status) == EXIT_PASSED;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		blame(outcome, "left before its end with exit code", 0);
}

static void run_forked(const struct pvf_test *test, struct outcome *outcome)
{
	FILE *said = tmpfile();
	pid_t child;

	if (said == NULL) {
		blame(outcome, "no temporary file: errno", errno);
		return;
	}
	(void)fflush(NULL);
	child = fork();
	if (child < 0) {
		blame(outcome, "no process: errno", errno);
		(void)fclose(said);
		return;
	}
	if (child == 0) {
		(void)dup2(fileno(said), STDOUT_FILENO);
		(void)dup2(fileno(said), STDERR_FILENO);
		exit(run_by_cmocka(test) == 0 ? EXIT_PASSED : EXIT_FAILURE);
	}
	await(child, outcome);
	if (read_back(said, !outcome->passed || getenv("PVF_VERBOSE") != NULL, outcome) && outcome->passed)
		blame(outcome, "it skipped itself; tests skipped:", 1);
	if (outcome->passed)
		outcome->message[0] = '\0';
	(void)fclose(said);
}

static bool wanted(const struct pvf_test *test)
{
	const char *only = setting("PVF_ONLY", "");

	return strstr(test->sentence, only) != NULL || strstr(test->function_name, only) != NULL;
}

int pvf_run_tests(const char *suite, const struct pvf_test *tests, size_t n)
{
	size_t ran = 0;
	size_t failed = 0;
	bool reported = true;

	for (size_t i = 0; i < n; i++) {
		struct outcome outcome = {0};
		double begin = seconds_now();

		if (!wanted(&tests[i]))
			continue;
		(void)printf("[ RUN      ] %s\n", tests[i].sentence);
		if (getenv("PVF_NO_FORK") != NULL)
			outcome.passed = run_by_cmocka(&tests[i]) == 0;
		else
			run_forked(&tests[i], &outcome);
		outcome.seconds = seconds_now() - begin;
		(void)printf("%s %s (%.2f s)\n", outcome.passed ? "[       OK ]" : "[  FAILED  ]", tests[i].sentence,
			     outcome.seconds);
		(void)fflush(stdout);
		ran++;
		failed += outcome.passed ? 0 : 1;
		reported = report(suite, &tests[i], &outcome) && reported;
	}
	(void)printf("%s: %zu passed, %zu failed\n", suite, ran - failed, failed);
	return ran > 0 && failed == 0 && reported ? 0 : 1;
}
