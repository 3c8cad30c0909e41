/* SPDX-License-Identifier: MIT */
#include "failure.h"

#include <string.h>

bool failure_set(struct failure *failure, enum exit_code code, int length)
{
	static const char ellipsis[] = "...";

	if (failure->code != CODE_OK)
		return false;
	failure->code = code;
	if (length < 0)
		memcpy(failure->text, "an error that cannot be put into words", 39);
	else if ((size_t)length >= sizeof(failure->text))
		memcpy(failure->text + sizeof(failure->text) - sizeof(ellipsis), ellipsis, sizeof(ellipsis));
	return false;
}

bool failure_about_device(struct failure *failure, int status)
{
	failure->about_device = true;
	failure->status = status;
	return false;
}

const char *failure_kind(enum exit_code code)
{
	static const char *const kinds[] = {
		[CODE_OK] = "ok",           [CODE_IO] = "io",           [CODE_USAGE] = "usage",
		[CODE_CONNECT] = "connect", [CODE_REFUSED] = "refused", [CODE_BROKEN] = "broken",
	};

	return kinds[code];
}
