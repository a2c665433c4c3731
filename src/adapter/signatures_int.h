/*
 * The tables of the failure classifier: parts of a line and what they mean. A table is a theme and one file;
 * signature_tables[] gives their order, and within a line the first row that matches decides. Internal to
 * adapter/.
 */
#ifndef INFRARSI_ADAPTER_SIGNATURES_INT_H
#define INFRARSI_ADAPTER_SIGNATURES_INT_H

#include "adapter/log.h"
#include "base/base.h"
#include "event/receipt.h"

/* How much a line proves. */
enum strength {
	STRENGTH_NOTHING,  /* the row is there for what it does, not for what it says */
	STRENGTH_NOISE,    /* seen in healthy runs too; tells where a failure surfaced */
	STRENGTH_WEAK,     /* counts only where the exit proves a failure */
	STRENGTH_LAUNCHER, /* a report about a process that may have named its cause itself */
	STRENGTH_ECHO,     /* what a process says when another one is gone, or while it dies */
	STRENGTH_CAUSE,
};

enum signature_flags {
	SIG_CLEAN = 1,      /* counts even where the job exits 0 */
	SIG_BUILD = 2,      /* in the log of a build step only */
	SIG_WORD = 4,       /* no letter, digit or underscore directly before or behind the match */
	SIG_END = 8,        /* the same, behind it only */
	SIG_START = 16,     /* at the start of the line, behind its level */
	SIG_ANY_LEVEL = 32, /* counts on a line that calls itself a warning or information */
	SIG_PROSE =
		64, /* people and programs also write about it: advice, retries and the like do not count */
	SIG_RAISED = 128,     /* only as the exception that ends a traceback */
	SIG_GENERIC = 256,    /* the following lines of the message may name a cause that says more */
	SIG_ERROR_ONLY = 512, /* only on a line that calls itself an error */
	SIG_FINAL = 1024,     /* announced and then carried out: work that goes on meanwhile proves nothing */
};

/* What else a line is good for. */
enum signature_act {
	ACT_NONE,
	ACT_OOM,            /* numbers of device memory, perhaps over several lines */
	ACT_TRACEBACK,      /* heading of a traceback */
	ACT_FRAME,          /* a frame without a heading: the log was cut */
	ACT_IGNORED,        /* Python shows the next traceback and goes on */
	ACT_THREAD,         /* the next traceback ends a thread, not the process */
	ACT_CHAIN_CONTEXT,  /* the next traceback is of the exception that ended it all */
	ACT_CHAIN_CAUSE,    /* the next traceback repeats the one before */
	ACT_CHAIN_ORIGINAL, /* the next traceback is the origin of the one before */
	ACT_NEXT_LINE,      /* the reason stands alone on the next line */
	ACT_ELASTIC_EXIT,   /* failed (exitcode: -9) local_rank: 5 (pid: 2630) */
	ACT_ELASTIC_BLOCK,  /* Root Cause (first observed failure): */
	ACT_RETURN_CODE,    /* exits with return code = -7 */
	ACT_MPI_SIGNAL,     /* process rank 1 with PID 0 on node a exited on signal 9 (Killed) */
	ACT_MPI_BLOCK,      /* BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES and the like */
	ACT_SRUN,           /* srun: error: node-a: task 3: Killed */
	ACT_SPAWN,          /* process 0 terminated with signal SIGKILL */
	ACT_SHELL_STATUS,   /* $ echo $? */
	ACT_SHELL_KILLED,   /* line 28: 8156 Killed */
	ACT_KERNEL_KILL,    /* Killed process 2343 (python3) ... anon-rss:13928044kB */
	ACT_HOST_REQUEST,   /* you tried to allocate 34359738368 bytes */
	ACT_PORT,           /* [::]:29500 */
	ACT_NOT_FINITE,     /* a value that is not finite may stand here */
	ACT_LOSS_SCALE,     /* Attempted loss scale: 2, reducing to 1 */
	ACT_COMPILER,       /* file:line: error: */
	ACT_STATUS_SIGNAL,  /* a worker's pid, and the signal that killed it */
	ACT_PEER_GONE,      /* the message at hand is about another process's end */
	ACT_END_NOISE,      /* seen when a healthy run is cleared away */
};

struct signature {
	const char *pattern; /* part of a line, lower case; * stands for any text. At least four bytes before
				the first * and behind the last one, rare ones: only lines that hold those are
				looked at */
	enum failure_class class;
	enum strength strength;
	unsigned flags;
	const char *subkind;
	enum signature_act act;
	int signal;         /* that such a line reports; 0 = none */
	uint32_t log_flags; /* 1 << enum log_flag: said of the log by any such line */
};

struct signature_table {
	const struct signature *rows;
	size_t count;
};
extern const struct signature_table signatures_memory, signatures_data, signatures_launcher, signatures_crash,
	signatures_nan, signatures_compile, signatures_collective, signatures_text;

enum { SIGNATURE_MAX_HITS = 24, SIGNATURE_MAX_ROWS = 1024 };

/* All rows that occur in a line, in the order of the tables. Levels, prose and tracebacks are the caller's.
 */
struct signature_index;
struct signature_hit {
	const struct signature *signature;
	size_t order, at; /* row over all tables; where the match begins */
};
struct signature_index *signature_index_new(void);
void signature_index_free(struct signature_index *index); /* NULL is allowed */
size_t signature_find(const struct signature_index *index, const char *lower, size_t length, bool build,
	struct signature_hit hits[SIGNATURE_MAX_HITS]);
/* The row over all tables; NULL past the end. */
const struct signature *signature_at(size_t order);

/* What a line calls itself. */
enum line_level { LEVEL_NONE, LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };
enum line_level line_level_of(const char *lower);
/* Bytes of a prefix such as "E0813 06:09:49.845341 140336 a/b.py:205] " before the message proper. */
size_t level_prefix_length(const char *lower);
/* Which kinds of talk a line has the words of, for the functions below. */
unsigned signature_talk(const struct signature_index *index, const char *lower, size_t length);
/* Somebody explains: of the text before the match. */
bool is_advice(unsigned talk, const char *lower, size_t match_at);
/* A retry, a batch that is skipped: the line says that nothing ended. */
bool is_coping(unsigned talk);
/* Either, or the line says itself that it is no failure. */
bool is_talk(unsigned talk, const char *lower, size_t match_at);

#endif
