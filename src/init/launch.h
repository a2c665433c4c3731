/*
 * Between propose_launch.c, which makes knobs of the options, propose_python.c, which finds them on a Python
 * program's line and puts the templates into it, and propose_devices.c, which counts what the line starts it
 * on.
 */
#ifndef INFRARSI_INIT_LAUNCH_H
#define INFRARSI_INIT_LAUNCH_H

#include "base/base.h"
#include "init/init_int.h"

struct launch {
	const struct make_facts *make;
	const struct source_facts *c;
	const struct init_host *host;
	struct proposal *p;
	const char **words; /* of the run line, from the program on */
	size_t n_words;
	const char **given; /* by option: the value on the run line, "" for a switch that is there; NULL = not
			       there */
	bool *is_taken;     /* by word */
	size_t script;      /* Python: its place among the words */
	size_t *site;       /* Python, by word: 1 + the option that begins there; 0 = none */
	size_t *n_covered;  /* Python, by word: words of that option, its value included */
	const struct job_option *micro, *accum, *global; /* the options that split a batch */
	const char *spread; /* what says that several devices or machines hold one model; NULL = nothing */
};

/* What the option says today: on the line, else its default; NULL = neither, or a switch. */
const char *launch_today(const struct launch *l, const struct job_option *o);
/* Sets proposal.devices and launch.spread. */
void launch_read_devices(struct launch *l);

/* Where the options stand; of one that stands there twice the last counts. */
void launch_read_python_line(struct launch *l);
/* The line with its words in their order: what an option adds (words, by option; used up) stands where the
 * line has the option, or at the end. An option that adds nothing leaves the line's words as they are. */
void launch_add_python_command(struct launch *l, struct proposed_words *words);

#endif
