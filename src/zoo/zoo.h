/*
 * The zoo: changes to a training job whose right verdict is known, run through the audit. One reading serves
 * the command (`infrarsi audit --zoo`), the unit test and the figures in docs/audit.md.
 *
 *     struct zoo zoo;
 *     TRY(zoo_read("tests/zoo", &zoo, reterr));
 *     code = zoo_run(&zoo, reterr);
 *     zoo_tally(&zoo, ZOO_ALL, &tally);
 *     zoo_release(&zoo);
 *
 * On disk (tests/zoo/README.md): DIR/kinds and DIR/look-alikes name what cases may be of; DIR/c and
 * DIR/python hold a base job (job/), the precision menu of its contract (menu) and one folder a case with
 * change.diff and expect.
 */
#ifndef INFRARSI_ZOO_ZOO_H
#define INFRARSI_ZOO_ZOO_H

#include "audit/audit.h"
#include "base/base.h"
#include "base/memory.h"

enum zoo_language { ZOO_C, ZOO_PYTHON, ZOO_N_LANGUAGES, ZOO_ALL = ZOO_N_LANGUAGES };
extern const char *const zoo_language_names[ZOO_N_LANGUAGES]; /* also the names of the folders */

/* The first word of an expect file. */
enum zoo_want {
	ZOO_BLOCK,    /* a cheat that the audit must block */
	ZOO_REVIEW,   /* a cheat that it must at least hold for review */
	ZOO_VERIFIER, /* a cheat that reading cannot decide: an item of the verifier catches it */
	ZOO_HONEST,   /* must not be blocked */
	ZOO_CLEAN,    /* honest and without any finding */
};
extern const char *const zoo_want_names[5];

enum zoo_outcome { ZOO_PASSED, ZOO_HELD, ZOO_BLOCKED };
extern const char *const zoo_outcome_names[3];

enum { ZOO_RULES_MAX = 13, ZOO_KINDS_MAX = 99, ZOO_NAMES_MAX = 8 };

struct zoo_expect {
	enum zoo_want want;
	unsigned rules;    /* bit i: rule i of audit_rule_at() is one of those named */
	const char *named; /* "A3|A4", or the item of the verifier; "" for honest changes */
	int kinds[ZOO_NAMES_MAX];
	size_t n_kinds;
	const char *likes[ZOO_NAMES_MAX]; /* entries of DIR/look-alikes */
	size_t n_likes;
	const char *job;    /* folder of the base files that come before those of job/; NULL = none */
	const char *remark; /* the # lines, in one; may be "" */
};

struct zoo_case {
	enum zoo_language language;
	const char *name;
	struct zoo_expect expect;
	bool has_run;
	struct audit_report report;
	const char *refusal; /* what the audit refused to read on (ERR_LIMIT), else NULL */
	enum zoo_outcome outcome;
	bool named; /* a cheat stopped by a rule that its expect file names */
	bool right; /* as the expect file says */
};

struct zoo_entry { /* of DIR/kinds and DIR/look-alikes */
	const char *name, *text;
};

struct zoo {
	struct arena arena;
	const char *dir;
	struct zoo_entry *kinds, *likes; /* kinds: kinds[i].name is i + 1 */
	size_t n_kinds, n_likes;
	struct zoo_case *cases; /* sorted: language, then name with numbers as numbers */
	size_t n_cases;
};

/* ERR_INPUT names the file, the line and what was expected there; ERR_NOT_FOUND when there is no zoo. */
enum err_code zoo_read(const char *dir, struct zoo *ret_zoo, struct err *reterr) MUST_CHECK;
/* Audits every case under the menu of its language. ERR_INPUT when a diff does not apply to its base. */
enum err_code zoo_run(struct zoo *zoo, struct err *reterr) MUST_CHECK;
void zoo_release(struct zoo *zoo);

/* The files of a case before the change: context for audit_diff_with(). */
struct zoo_place {
	const struct zoo *zoo;
	const struct zoo_case *c;
};
enum err_code zoo_read_base(
	void *place, const char *path, struct strbuf *ret_text, struct err *reterr) MUST_CHECK;

bool zoo_is_cheat(const struct zoo_case *c);
/* Whether the audit stopped this cheat: blocked, or for review where no block was asked for. That no rule
 * reads the file (A0) counts only where the expect file names A0. */
bool zoo_is_caught(const struct zoo_case *c);

struct zoo_tally {
	int cheats, caught, blocked, held; /* caught = blocked + held */
	int named;                         /* of those caught: by a rule named */
	int left;                          /* not caught, an item of the verifier is named */
	int missed;                        /* cheats - caught - left */
	int honest, honest_blocked, honest_held;
	int wrong; /* cases that are not as their expect files say */
};
void zoo_tally(const struct zoo *zoo, enum zoo_language language, struct zoo_tally *ret_tally);

#endif
