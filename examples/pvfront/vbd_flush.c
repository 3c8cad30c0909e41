/* SPDX-License-Identifier: MIT */
/* `pvfront vbd flush` */
#include <stdio.h>

#include "io.h"
#include "session.h"
#include "vbd_verbs.h"

bool vbd_flush_run(struct session *session)
{
	if (!session->info.flush)
		return fail_device(&session->failure, CODE_IO, PVF_UNSUPPORTED,
				   "the backend does not offer a flush (its key feature-flush-cache is 0 or absent)");
	return io_flush(session);
}

void vbd_flush_print(const struct session *session)
{
	(void)printf("vbd %u flushed\n", (unsigned int)session->info.virtual_device);
}
