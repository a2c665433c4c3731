/* Rows that say what kind of text a line is, and reports that any other row beats. */
#include "base/base.h"

#include "adapter/signatures_int.h"

#define TEXT(pattern, act)                                                                                   \
	{                                                                                                    \
		pattern, FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, act, 0, 0                                  \
	}

static const struct signature rows[] = {
	{"calledprocesserror: command*returned non-zero exit status", FAILURE_CRASH, STRENGTH_LAUNCHER, 0,
		NULL, ACT_RETURN_CODE, 0, 0},
	TEXT("traceback (most recent call last", ACT_TRACEBACK),
	TEXT("  file \"", ACT_FRAME),
	TEXT("exception ignored in", ACT_IGNORED),
	TEXT("exception ignored on", ACT_IGNORED),
	TEXT("--- logging error ---", ACT_IGNORED),
	TEXT("error in atexit._run_exitfuncs", ACT_IGNORED),
	TEXT("exception in thread ", ACT_THREAD),
	TEXT("exception in callback ", ACT_THREAD),
	TEXT("task exception was never retrieved", ACT_THREAD),
	TEXT("future exception was never retrieved", ACT_THREAD),
	TEXT("during handling of the above exception", ACT_CHAIN_CONTEXT),
	TEXT("direct cause of the following exception", ACT_CHAIN_CAUSE),
	TEXT("terminated with the following error", ACT_CHAIN_ORIGINAL),
	TEXT("connection closed by remote peer", ACT_PEER_GONE),
	TEXT("proxy call to rank ", ACT_PEER_GONE),
	TEXT("socket recv failed", ACT_PEER_GONE),
	TEXT("socketprogress: connection", ACT_PEER_GONE),
	/* noise around the end of a run */
	TEXT("leaked semaphore", ACT_END_NOISE),
	TEXT("leaked shared_memory", ACT_END_NOISE),
	TEXT("closing signal sigterm", ACT_END_NOISE),
};

const struct signature_table signatures_text = {rows, ARRAY_LEN(rows)};
