#include "base/base.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "model/columns.h"
#include "simulate/failure_text.h"

static const double names_culprits = 0.60, names_others = 0.15;

/* How a text puts a setting: as a field, an option, a dictionary's entry. */
static const struct {
	const char *before, *between, *after;
} forms[] = {{"", "=", ""}, {"--", " ", ""}, {"'", "': '", "'"}};

static const char *opening(enum job_end end, bool is_alone)
{
	if (end == JOB_HANGS)
		return "Watchdog caught collective operation timeout: ranks wait for each other with ";
	return is_alone ? "NotImplementedError: no support for "
			: "NotImplementedError: no support for this combination of ";
}

static void add_escaped(struct strbuf *text, const char *name)
{
	strbuf_add_escaped(text, name, strlen(name));
}

static char *write_text(
	const struct simulated_job *job, const int *setting, const int *named, int n, struct random *random)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	size_t form = random_below(random, ARRAY_LEN(forms));
	strbuf_addstr(&text, opening(job_evaluate(job, setting).end, n == 1));
	for (int i = 0; i < n; i++) {
		const struct lever *lever = &job->levers[named[i]];
		strbuf_addf(&text, "%s%s", i ? ", " : "", forms[form].before);
		add_escaped(&text, lever->name);
		strbuf_addstr(&text, forms[form].between);
		add_escaped(&text, lever->setting_names[setting[named[i]]]);
		strbuf_addstr(&text, forms[form].after);
	}
	return strbuf_detach(&text);
}

static bool are_culprits(const int *culprit, int n_culprits, const int *pair)
{
	return n_culprits == 2 && ((culprit[0] == pair[0] && culprit[1] == pair[1]) ||
					  (culprit[0] == pair[1] && culprit[1] == pair[0]));
}

/* A setting that was changed and any other one, but not the two that are to blame. */
static bool draw_others(const struct simulated_job *job, const int *setting, const int *culprit,
	int n_culprits, int *ret_pair, struct random *random)
{
	CLEANUP(free_ptr) int *changed = xcalloc((size_t)job->n_levers + 1, sizeof(*changed));
	int n_changed = 0;
	for (int l = 0; l < job->n_levers; l++)
		if (setting[l] != job->levers[l].reference)
			changed[n_changed++] = l;
	/* Two levers leave one pair, three leave two that are not to blame. */
	if (n_changed == 0 || job->n_levers < 3)
		return false;
	do {
		ret_pair[0] = changed[random_below(random, (uint64_t)n_changed)];
		ret_pair[1] = (int)random_below(random, (uint64_t)job->n_levers);
	} while (ret_pair[0] == ret_pair[1] || are_culprits(culprit, n_culprits, ret_pair));
	return true;
}

char *failure_text(const struct simulated_job *job, const int *setting, uint64_t seed)
{
	int named[CULPRITS_MAX], others[2];
	struct random random;
	if (!job->failures_explain || !job->kind->culprits)
		return NULL;
	int n = job->kind->culprits(job, setting, named);
	random_init(&random, seed, "failure text", settings_hash(setting, job->n_levers));
	double lot = random_uniform(&random);
	if (n == 0 || lot >= names_culprits + names_others)
		return NULL;
	if (lot < names_culprits)
		return write_text(job, setting, named, n, &random);
	if (!draw_others(job, setting, named, n, others, &random))
		return NULL;
	return write_text(job, setting, others, 2, &random);
}
