#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/catalogue.h"
#include "campaign/sources.h"
#include "codemod/codemod.h"

enum { REFUSALS_SHOWN = 8 };

static const struct proposer *find_catalogue(const struct task *task)
{
	for (size_t i = 0; i < task->n_proposers; i++)
		if (task->proposers[i].kind == PROPOSE_CATALOGUE)
			return &task->proposers[i];
	return NULL;
}

static enum err_code write_patch(const char *folder, const struct codemod_proposal *p, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s.diff", folder, p->info->name);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "# title: %s\n# mechanism: %s\n# phases: %s\n%s", p->info->title,
		p->info->mechanism, p->info->phases, p->diff);
	return file_write_atomic(path, text.buf, text.len, 0644, reterr);
}

static void say_refusals(struct campaign *c, const struct codemod_result *result)
{
	for (size_t i = 0; i < result->n_refusals && i < REFUSALS_SHOWN; i++) {
		const struct codemod_refusal *r = &result->refusals[i];
		CLEANUP(free_ptr)
		char *text = xasprintf(
			"catalogue: %s leaves %s:%d alone: %s", r->info->name, r->path, r->line, r->reason);
		campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
	}
}

static enum err_code run_codemods(
	struct campaign *c, const char *folder, size_t *ret_count, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct source_file *sources = NULL;
	struct codemod_result result;
	size_t n = 0;
	TRY(sources_read_editable(c, &arena, &sources, &n, reterr));
	struct codemod_file *files = arena_array(&arena, n, sizeof(*files));
	for (size_t i = 0; i < n; i++)
		files[i] = (struct codemod_file){sources[i].path, sources[i].text, sources[i].length};
	TRY(codemod_run(files, n, &arena, &result, reterr));
	if (result.n_proposals)
		TRY(make_dirs(folder, 0755, reterr));
	for (size_t i = 0; i < result.n_proposals; i++)
		TRY(write_patch(folder, &result.proposals[i], reterr));
	say_refusals(c, &result);
	*ret_count = result.n_proposals;
	return OK;
}

static bool has_answered(const struct state *s, const char *name)
{
	int index = state_find_proposer(s, name);
	return index >= 0 && s->proposers[index].answers > 0;
}

enum err_code catalogue_propose(struct campaign *c, struct err *reterr)
{
	const struct proposer *p = find_catalogue(&c->task);
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct catalogue_knowledge known = {0};
	size_t n_patches = 0;
	if (!p || has_answered(&c->state, p->name))
		return OK;
	CLEANUP(free_ptr) char *folder = answers_patch_folder(c, p->name);
	TRY(run_codemods(c, folder, &n_patches, reterr));
	TRY(catalogue_know(c, &arena, &known, reterr));
	const struct answer answer = {.priors = known.priors, .n_priors = known.n_priors};
	const struct given_answer given = {.proposer = p->name,
		.answer = &answer,
		.failure = "",
		.conflicts = known.conflicts,
		.n_conflicts = known.n_conflicts};
	/* The files stand before the entry says that all is done. */
	TRY(answers_record(c, &given, reterr));
	CLEANUP(free_ptr)
	char *text =
		xasprintf("%s: %zu code change%s; of the task's knobs %zu published gain%s, %zu conflict%s",
			p->name, n_patches, n_patches == 1 ? "" : "s", known.n_priors,
			known.n_priors == 1 ? "" : "s", known.n_conflicts, known.n_conflicts == 1 ? "" : "s");
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
	return OK;
}

/* Name of the change whose start-up is known to be long, where all of the trial's patches are the
 * catalogue's; NULL else. */
static const char *known_start(const struct campaign *c, const struct trial *t)
{
	const struct proposer *p = find_catalogue(&c->task);
	const struct state *s = &c->state;
	const char *name = NULL;
	for (size_t i = 0; p && i < s->space.n_patches; i++) {
		const struct codemod_info *info = codemod_find(s->space.patches[i].name);
		if (!t->candidate.setting[s->task->n_knobs + i])
			continue;
		if (!info || strcmp(state_source_name(s, s->patch_sources[i]), p->name) != 0)
			return NULL;
		if (info->starts_slowly)
			name = info->name;
	}
	return name;
}

enum err_code catalogue_accept_start(struct campaign *c, int trial, struct err *reterr)
{
	const struct trial *t = NULL;
	for (size_t i = 0; i < c->state.n_trials; i++)
		if (c->state.trials[i].number == trial)
			t = &c->state.trials[i];
	if (!t || t->status != TRIAL_VALID || t->accepted_reviews || t->run.verdict.n_reviews != 1 ||
		review_kind_of(t->run.verdict.reviews[0]) != REVIEW_WALL_TIME)
		return OK;
	const char *name = known_start(c, t);
	if (!name)
		return OK;
	CLEANUP(free_ptr)
	char *reason = xasprintf("%s of the catalogue takes its time before the first update is over", name);
	CLEANUP(free_ptr) char *text = xasprintf("trial %d starts up longer: %s", trial, reason);
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("trial"));
	json_object_set_new(body, "trial", json_integer(trial));
	json_object_set_new(body, "by", json_from_text(find_catalogue(&c->task)->name));
	json_object_set_new(body, "reason", json_from_text(reason));
	TRY(campaign_append(c, ENTRY_ACCEPT, trial, NULL, json_dump_take(body), NULL, reterr));
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
	return campaign_refresh(c, reterr);
}
