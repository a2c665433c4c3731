#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "init/init_int.h"
#include "init/launch.h"
#include "mech/native.h"

static const struct native_option *row_of(const struct source_facts *c, const struct job_option *o)
{
	if (c->is_python)
		return o->is_left_alone ? NULL : python_option_find(o->flag);
	const struct native_option *row = native_option_find(o->flag);
	return row || !o->member ? row : native_option_find(o->member);
}

/* Whether a Python program's lever may vary without a question: what it is today and what it may be are known
 * to be ways of computing the same. */
static bool is_free(const struct launch *l, const struct job_option *o, const struct native_option *row)
{
	if (o->is_switch)
		return strcmp(row->mechanism, "torch_compile") == 0 ||
		       strcmp(row->mechanism, "activation_recompute") == 0;
	const char *value = launch_today(l, o);
	bool is_harmless = o->n_values >= 2 && value && python_value_is_harmless(row, value);
	for (size_t i = 0; i < o->n_values; i++)
		is_harmless &= python_value_is_harmless(row, o->values[i]);
	return is_harmless;
}

static enum native_role role_of(const struct launch *l, const struct job_option *o)
{
	const struct native_option *row = row_of(l->c, o), *other = native_option_find(o->flag);
	if (!row)
		return l->c->is_python && other && other->role == NATIVE_FIXED ? NATIVE_FIXED
									       : NATIVE_UNKNOWN;
	if (row->role == NATIVE_BATCH)
		return l->accum && !l->micro ? NATIVE_MICRO_BATCH : NATIVE_GLOBAL_BATCH;
	for (size_t i = 0; i < o->n_values; i++)
		if (native_value_is_algorithm(o->values[i]))
			return NATIVE_FIXED;
	if (l->c->is_python && row->role == NATIVE_LEVER && !is_free(l, o, row))
		return NATIVE_UNKNOWN;
	return row->role;
}

static const char *found_text(const struct launch *l, const struct job_option *o)
{
	struct arena *arena = l->p->arena;
	const char *where = place_text(arena, o->at);
	if (l->given[o - l->c->options])
		return arena_printf(arena, "option %s, %s; today's value from %s", o->flag, where,
			place_text(arena, l->make->run_at));
	if (o->value && !o->value_is_assumed && o->value_at.file)
		return arena_printf(arena, "option %s, %s; default from %s", o->flag, where,
			place_text(arena, o->value_at));
	return arena_printf(arena, "option %s, %s", o->flag, where);
}

static double number_today(const struct launch *l, const struct job_option *o)
{
	double value;
	const char *text = o ? launch_today(l, o) : NULL;
	return text && parse_number(text, &value) && value >= 1 && value < 1e9 ? value : 0;
}

/* ---- the run line ---- */

static const char *unquoted(struct arena *arena, const char *word)
{
	size_t n = strlen(word);
	bool is_quoted = n >= 2 && (word[0] == '"' || word[0] == '\'') && word[n - 1] == word[0];
	return is_quoted ? arena_strndup(arena, word + 1, n - 2) : word;
}

static void read_run_line(struct launch *l)
{
	struct arena *arena = l->p->arena;
	l->words = make_run_words(l->make, arena, &l->n_words);
	l->script = l->make->run_script;
	while (l->n_words && strchr(l->words[0], '=') && l->words[0][0] != '-') {
		l->words++; /* its environment: propose_environment() */
		l->n_words--;
		l->script--;
	}
	l->is_taken = arena_array(arena, l->n_words + 1, sizeof(bool));
	l->given = arena_array(arena, l->c->n_options + 1, sizeof(*l->given));
	if (l->c->is_python) {
		launch_read_python_line(l);
		return;
	}
	for (size_t w = 1; w < l->n_words; w++) {
		size_t n = strcspn(l->words[w], "=");
		for (size_t i = 0; i < l->c->n_options; i++) {
			const struct job_option *o = &l->c->options[i];
			if (strlen(o->flag) != n || strncmp(o->flag, l->words[w], n) != 0 || l->is_taken[w])
				continue;
			bool has_next = !l->words[w][n] && !o->is_switch && w + 1 < l->n_words;
			l->is_taken[w] = true;
			l->given[i] = l->words[w][n] ? l->words[w] + n + 1
				      : has_next     ? unquoted(arena, l->words[w + 1])
						     : "";
			if (has_next)
				l->is_taken[w + 1] = true;
		}
	}
}

static void add_option_words(struct launch *l, const struct job_option *o, const char *template)
{
	struct proposal *p = l->p;
	const char *flag = proposal_literal(p->arena, o->flag);
	if (o->is_joined) {
		proposal_add_word(p, &p->command, arena_printf(p->arena, "%s=%s", flag, template), true);
		return;
	}
	proposal_add_word(p, &p->command, flag, true);
	if (!o->is_switch)
		proposal_add_word(p, &p->command, template, false);
}

/* ---- one function a role ---- */

static void keep_as_given(struct launch *l, const struct job_option *o)
{
	const char *given = l->given[o - l->c->options];
	if (given && is_clean_text(given) && !l->c->is_python) /* of Python, what adds no words stays */
		add_option_words(l, o, proposal_literal(l->p->arena, given));
}

static void note_unknown(struct launch *l, const struct job_option *o)
{
	keep_as_given(l, o);
	proposal_add_note(l->p, "%s (%s)%s%s: left as it is", o->flag, place_text(l->p->arena, o->at),
		launch_today(l, o) ? ", today " : "", launch_today(l, o) ? launch_today(l, o) : "");
}

static void use_updates(struct launch *l, const struct job_option *o)
{
	l->p->updates = (struct proposed_number){number_today(l, o), found_text(l, o)};
	add_option_words(l, o, "{updates}");
}

/* "--batch-size" of a Python program on several devices is mostly that of one of them: it stays as it is. */
static void use_global_batch(struct launch *l, const struct job_option *o)
{
	double rows = number_today(l, o);
	bool is_vague = l->c->is_python && row_of(l->c, o)->role == NATIVE_BATCH;
	if (rows > 0 && (!is_vague || (l->p->devices == 1 && !l->spread)))
		l->p->global_batch = (struct proposed_number){rows, found_text(l, o)};
	if (rows <= 0 || is_vague) {
		note_unknown(l, o);
		return;
	}
	add_option_words(l, o, "{global_batch}");
}

static void use_seq_len(struct launch *l, const struct job_option *o)
{
	double tokens = number_today(l, o);
	if (tokens <= 0) {
		note_unknown(l, o);
		return;
	}
	l->p->seq_len = (struct proposed_number){tokens, found_text(l, o)};
	add_option_words(l, o, "{seq_len}");
}

/* "--capacity-mib 14": the unit is in the name, or the value has its own. */
static void use_memory(struct launch *l, const struct job_option *o)
{
	const char *text = launch_today(l, o);
	bool is_gib = strcasestr(o->flag, "gib") || strcasestr(o->flag, "gb");
	bool is_mib = strcasestr(o->flag, "mib") || strcasestr(o->flag, "mb");
	double value = number_today(l, o), bytes;
	if (value > 0 && (is_gib || is_mib))
		l->p->memory_cap_mib =
			(struct proposed_number){is_gib ? value * 1024 : value, found_text(l, o)};
	else if (text && value <= 0 && parse_bytes(text, &bytes) && bytes >= 1 << 20)
		l->p->memory_cap_mib = (struct proposed_number){bytes / (1 << 20), found_text(l, o)};
	if (!text || !is_clean_text(text)) {
		note_unknown(l, o);
		return;
	}
	add_option_words(l, o,
		proposal_literal(l->p->arena, text)); /* the contract: always said, never left to a default */
}

static void use_micro_batch(struct launch *l, const struct job_option *o)
{
	struct proposal *p = l->p;
	long rows = (long)number_today(l, o), global = (long)p->global_batch.value / p->devices;
	if (!p->has_accumulation) {
		note_unknown(l, o);
		return;
	}
	struct proposed_knob *knob = proposal_add_knob(p, "micro_batch");
	int n_divisors = 0;
	for (long d = 1; d <= global && d <= 1 << 20; d++)
		n_divisors += global % d == 0;
	for (long d = 1; d <= global && d <= 1 << 20; d++) {
		bool is_power = (d & (d - 1)) == 0;
		bool is_wanted = global % d == 0 && (n_divisors <= 8 || is_power || d == rows);
		bool is_legal = !o->has_range || ((double)d >= o->low && (double)d <= o->high);
		if (is_wanted && is_legal)
			proposal_add_setting(knob, arena_printf(p->arena, "%ld", d));
	}
	proposal_set_reference(knob, arena_printf(p->arena, "%ld", rows));
	knob->ordered = true;
	knob->mechanism = "micro_batch_size";
	knob->phases = "forward,backward";
	knob->comment = found_text(l, o);
	add_option_words(l, o, "{micro_batch}");
}

static void use_grad_accum(struct launch *l, const struct job_option *o)
{
	if (l->p->has_accumulation)
		add_option_words(l, o, "{grad_accum}");
	else
		note_unknown(l, o);
}

static void use_threads(struct launch *l, const struct job_option *o)
{
	struct proposal *p = l->p;
	long threads = (long)number_today(l, o);
	struct proposed_knob *knob = proposal_add_knob(p, "threads");
	proposal_add_threads(p, knob, l->host->cpus, threads ? threads : l->host->cpus);
	knob->mechanism = "omp_num_threads";
	knob->phases = "forward,backward,data";
	knob->comment = found_text(l, o);
	if (!threads)
		knob->ask = "how many threads does the job use today? init could not read it";
	add_option_words(l, o, arena_printf(p->arena, "{%s}", knob->name));
}

static struct proposed_knob *add_option_knob(struct launch *l, const struct job_option *o)
{
	const struct native_option *row = row_of(l->c, o);
	struct proposed_knob *knob = proposal_add_knob(l->p, o->flag + strspn(o->flag, "-"));
	for (size_t i = 0; i < o->n_values; i++)
		proposal_add_setting(knob, o->values[i]);
	knob->mechanism = row ? row->mechanism : NULL;
	knob->phases = row ? row->phases : NULL;
	knob->comment = found_text(l, o);
	const char *value = launch_today(l, o);
	if (value && !proposal_set_reference(knob, value))
		value = NULL;
	if (!value || (o->value_is_assumed && !l->given[o - l->c->options]))
		knob->ask = "init could not read which value the job uses today; it took the first as the "
			    "reference";
	return knob;
}

static void use_switch(struct launch *l, const struct job_option *o)
{
	struct proposal *p = l->p;
	struct proposed_knob *knob = proposal_add_knob(p, o->flag + strspn(o->flag, "-"));
	const struct native_option *row = row_of(l->c, o);
	proposal_add_setting(knob, "off");
	proposal_add_setting(knob, "on");
	knob->reference = l->given[o - l->c->options] ? 1 : 0;
	knob->flag_on = o->flag;
	knob->flag_off = "";
	knob->mechanism = row->mechanism;
	knob->phases = row->phases;
	knob->comment = found_text(l, o);
	proposal_add_word(p, &p->command, arena_printf(p->arena, "{%s_flag}", knob->name), true);
}

static void use_lever(struct launch *l, const struct job_option *o)
{
	struct proposal *p = l->p;
	if (o->is_switch) {
		use_switch(l, o);
		return;
	}
	if (o->n_values < 2) {
		note_unknown(l, o);
		return;
	}
	struct proposed_knob *knob = add_option_knob(l, o);
	proposal_set_priors(p, knob);
	if (l->c->is_python && strcmp(row_of(l->c, o)->mechanism, "dataloader_workers") == 0)
		knob->ask = "each worker draws random numbers of its own: are order and augmentation of the "
			    "data the same whatever their number? If not, remove this knob";
	add_option_words(l, o, arena_printf(p->arena, "{%s}", knob->name));
}

/* Written as a comment: whether it may vary is not for the program to decide. */
static void ask_before_use(struct launch *l, const struct job_option *o, const char *question)
{
	if (o->n_values < 2 || (l->c->is_python && o->is_switch)) {
		note_unknown(l, o);
		return;
	}
	struct proposed_knob *knob = add_option_knob(l, o);
	keep_as_given(l, o);
	knob->is_switched_off = true;
	knob->ask = arena_printf(l->p->arena,
		o->is_joined ? "%s If so, uncomment it and put \"%s={%s}\" into the command"
			     : "%s If so, uncomment it and put \"%s\", \"{%s}\" into the command",
		question, o->flag, knob->name);
}

static void ask_about_numerics(struct launch *l, const struct job_option *o)
{
	const char *value = launch_today(l, o);
	static const char *const known[] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8"};
	for (size_t i = 0; value && i < ARRAY_LEN(known); i++)
		if (strcmp(value, known[i]) == 0)
			l->p->precision = known[i];
	ask_before_use(l, o, "may the job compute or store in another precision (contract.precision)?");
}

static void ask_about_unknown(struct launch *l, const struct job_option *o)
{
	ask_before_use(l, o, "does it change only how, not what, is trained?");
}

static void (*const handlers[])(struct launch *l, const struct job_option *o) = {
	[NATIVE_UNKNOWN] = ask_about_unknown,
	[NATIVE_MICRO_BATCH] = use_micro_batch,
	[NATIVE_GRAD_ACCUM] = use_grad_accum,
	[NATIVE_GLOBAL_BATCH] = use_global_batch,
	[NATIVE_BATCH] = use_global_batch,
	[NATIVE_SEQ_LEN] = use_seq_len,
	[NATIVE_UPDATES] = use_updates,
	[NATIVE_MEMORY] = use_memory,
	[NATIVE_THREADS] = use_threads,
	[NATIVE_LEVER] = use_lever,
	[NATIVE_NUMERICS] = ask_about_numerics,
	[NATIVE_FIXED] = keep_as_given,
};

/* The second option of a role is some other quantity with a like name. */
static bool is_first_of_role(const struct launch *l, const struct job_option *o, enum native_role role)
{
	if (role == NATIVE_LEVER || role == NATIVE_NUMERICS || role == NATIVE_UNKNOWN || role == NATIVE_FIXED)
		return true;
	for (const struct job_option *earlier = l->c->options; earlier < o; earlier++)
		if (role_of(l, earlier) == role)
			return false;
	return true;
}

static const struct job_option *find_role(const struct source_facts *c, enum native_role role)
{
	for (size_t i = 0; i < c->n_options; i++) {
		const struct native_option *row = row_of(c, &c->options[i]);
		if (row && row->role == role)
			return &c->options[i];
	}
	return NULL;
}

/* A Python program that is told both batches works out itself how many passes an update has. */
static bool is_split_by_job(const struct launch *l, double rows, double global)
{
	return l->c->is_python && l->micro && !l->accum && rows > 0 && global > 0 &&
	       fmod(global, rows * l->p->devices) == 0;
}

/* micro_batch * grad_accum == global_batch must hold today, or the pair is not what it seems. */
static void find_batch(struct launch *l)
{
	struct proposal *p = l->p;
	l->micro = find_role(l->c, NATIVE_MICRO_BATCH);
	l->accum = find_role(l->c, NATIVE_GRAD_ACCUM);
	l->global = find_role(l->c, NATIVE_GLOBAL_BATCH);
	const struct job_option *micro = l->micro   ? l->micro
					 : l->accum ? find_role(l->c, NATIVE_BATCH)
						    : NULL;
	double rows = number_today(l, micro), steps = number_today(l, l->accum),
	       global = number_today(l, l->global);
	if (l->spread) {
		proposal_add_note(p,
			"%s. How many rows an update has does not follow from the devices then: there is no "
			"knob for the micro-batch",
			l->spread);
		return;
	}
	if (rows > 0 && steps > 0 && (global <= 0 || rows * steps * p->devices == global)) {
		p->has_accumulation = true;
		p->global_batch = (struct proposed_number){rows * steps * p->devices,
			arena_printf(p->arena,
				p->devices > 1 ? "%s * %s of today, on each of %d devices"
					       : "%s * %s of today",
				micro->flag, l->accum->flag, p->devices)};
	} else if (is_split_by_job(l, rows, global)) {
		p->has_accumulation = true;
	} else if (micro && l->accum) {
		proposal_add_note(p, "%s and %s do not multiply to a known global batch: no micro-batch knob",
			micro->flag, l->accum->flag);
	}
}

static void find_seq_len(struct launch *l)
{
	static const char *const names[] = {"seq_len", "SEQ_LEN", "seqlen", "sequence_length",
		"context_length", "block_size", "BLOCK_SIZE", "max_seq_len"};
	struct proposal *p = l->p;
	for (size_t i = 0; i < ARRAY_LEN(names) && p->seq_len.value <= 0; i++) {
		double value;
		const struct c_initial *found = c_index_initial_value(l->c->index, names[i], NULL);
		if (found && parse_number(found->value, &value) && value >= 1 && value < 1e9)
			p->seq_len = (struct proposed_number){value,
				arena_printf(p->arena, "%s, %s", names[i], place_text(p->arena, found->at))};
	}
}

static void describe_launch(struct launch *l)
{
	const struct make_facts *make = l->make;
	l->p->launch_where =
		make->run_target ? arena_printf(l->p->arena, "from Makefile target '%s'", make->run_target)
		: make->run_at.file
			? arena_printf(l->p->arena, "from %s", place_text(l->p->arena, make->run_at))
		: l->c->is_python ? "no line was found that starts it: program and options as found"
				  : "no run target: program and options as found";
}

static void handle_option(struct launch *l, const struct job_option *o)
{
	enum native_role role = role_of(l, o);
	bool is_kept = l->c->is_python && role == NATIVE_FIXED;
	if (is_first_of_role(l, o, role) && !is_kept)
		handlers[role](l, o);
	else
		note_unknown(l, o);
}

/* What is given by options, each on its own. The caller puts them into the line. */
static struct proposed_words *words_by_option(struct launch *l)
{
	struct proposal *p = l->p;
	struct proposed_words *words = arena_array(p->arena, l->c->n_options + 1, sizeof(*words));
	for (size_t i = 0; i < l->c->n_options; i++) {
		struct proposed_words before = p->command;
		p->command = (struct proposed_words){0};
		handle_option(l, &l->c->options[i]);
		words[i] = p->command;
		p->command = before;
	}
	return words;
}

static void add_native_command(struct launch *l)
{
	struct proposal *p = l->p;
	const char *program = l->n_words ? l->words[0] : arena_printf(p->arena, "./%s", l->make->program);
	bool is_plain = l->n_words && !strchr(program, '/') && make_find_rule(l->make, program);
	proposal_add_word(p, &p->command,
		proposal_literal(p->arena, is_plain ? arena_printf(p->arena, "./%s", program) : program),
		false);
	for (size_t w = 1; w < l->n_words; w++)
		if (!l->is_taken[w] && is_clean_text(l->words[w]))
			proposal_add_word(p, &p->command,
				proposal_literal(p->arena, unquoted(p->arena, l->words[w])), false);
	for (size_t i = 0; i < l->c->n_options; i++)
		handle_option(l, &l->c->options[i]);
}

void propose_launch(const struct make_facts *make, const struct source_facts *c, const struct init_host *host,
	struct proposal *p)
{
	struct launch l = {.make = make, .c = c, .host = host, .p = p};
	read_run_line(&l);
	launch_read_devices(&l);
	find_batch(&l);
	describe_launch(&l);
	if (c->is_python)
		launch_add_python_command(&l, words_by_option(&l));
	else
		add_native_command(&l);
	find_seq_len(&l);
}
