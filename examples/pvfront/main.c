/* SPDX-License-Identifier: MIT */
#include "failure.h"
#include "help.h"
#include "interrupt.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "verbs.h"

/* Attach, connect, do it, close, detach: also when one of them fails, each that was done is undone. */
static void run_verb(struct session *session)
{
	const struct verb *verb = session->options->verb;

	if (session_attach(session)) {
		if (verb->connects_itself || session_connect(session))
			(void)verb->run(session);
		session_disconnect(session);
	}
	session_detach(session);
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct session session;
	int code;

	session.options = &options;
	interrupt_setup();
	if (options_parse(&options, argc, argv, &session.failure)) {
		if (options.version || options.help) {
			options.json = false;
			if (options.version)
				help_version();
			else
				help_print(&options);
			options.verb = NULL;
		} else if (options_check(&options, &session.failure)) {
			run_verb(&session);
		}
	}
	code = report(&session, interrupt_signal());
	trace_free(&session.trace);
	return code;
}
