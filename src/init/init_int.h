/*
 * Between the files of the init stage: what is found in a repository (facts), and what is made of it (a
 * proposal). Everything lives in one arena. All text from the repository is untrusted: it is bounded when
 * read and quoted when written.
 */
#ifndef INFRARSI_INIT_INIT_INT_H
#define INFRARSI_INIT_INIT_INT_H

#include "base/base.h"
#include "base/memory.h"

struct strbuf;
struct init_report;

enum {
	INIT_FILES_MAX = 20000,           /* of a repository; the rest is not looked at */
	INIT_SOURCE_BYTES_MAX = 1 << 20,  /* of one file that is read */
	INIT_SOURCES_BYTES_MAX = 8 << 20, /* of all of them together */
	INIT_TEXT_MAX = 4096,             /* of one expanded make text */
	INIT_EFFECT_MAX = 1024,           /* of what is remembered of one conditional block */
	INIT_EXPAND_STEPS_MAX = 20000,    /* make references followed, all texts together */
	INIT_VALUES_MAX = 16,             /* settings of one knob */
	INIT_MAKE_VARIABLES_MAX = 8192,
	INIT_MAKE_RULES_MAX = 8192,
	INIT_MAKE_CHOICES_MAX = 256,
	INIT_MAKE_INCLUDES_MAX = 16,
	INIT_C_TABLES_MAX = 256,
	INIT_C_FUNCTIONS_MAX = 8192,
	INIT_C_INITIALS_MAX = 8192,
	INIT_C_OPTIONS_MAX = 256,
};

struct found_at {
	const char *file;
	int line; /* 0 = nowhere in particular */
};

/* ---- the repository (inspect_repo.c) ---- */

struct repo {
	struct arena *arena;
	const char *dir;    /* absolute */
	const char **files; /* regular files git knows or would add, relative to dir, sorted */
	size_t n_files;
	bool truncated;
	size_t bytes_read;
	const char *skipped[32]; /* "name: reason", for sources that could not be read */
	size_t n_skipped;
};
/* Room for one more element: the array, moved within the arena when it was full. */
void *init_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t element_size);
enum err_code repo_open(
	struct arena *arena, const char *dir, struct repo *ret_repo, struct err *reterr) MUST_CHECK;
/* The text of a file, or NULL with a note in `skipped` when it is too large, binary or unreadable. */
const char *repo_read(struct repo *repo, const char *path, size_t *ret_length);
bool repo_has(const struct repo *repo, const char *path);

/* ---- the Makefile (inspect_make.c reads it, make_*.c make sense of it) ---- */

struct make_variable {
	const char *name, *value; /* the value as written, += parts joined by blanks */
	struct found_at at;
	bool is_conditional; /* assigned inside ifeq ... endif */
	bool is_locked;      /* `override`: the command line cannot set it */
	bool is_added_to;    /* with += */
};

struct make_rule {
	const char *target, *prerequisites;
	const char **recipe; /* lines, without the leading tab */
	int *recipe_lines;
	size_t n_recipe, recipe_capacity;
	struct found_at at;
};

/* A place where the text depends on a variable's value: ifeq, ifdef, $(if ...). */
struct make_choice {
	const char *variable;
	const char *value; /* compared with; NULL = "not empty" */
	const char *
		prefix; /* $(PREFIX_$(VARIABLE)): the variables PREFIX_* say what the values are; else NULL */
	const char *effect; /* the text that is chosen, else-branch included */
	struct found_at at;
};

struct make_facts {
	struct arena *arena;
	struct repo *repo;
	const char *file; /* the top Makefile; NULL = none */
	const char *included[INIT_MAKE_INCLUDES_MAX];
	size_t n_included;
	struct make_variable *variables;
	size_t n_variables, variables_capacity;
	struct make_rule *rules;
	size_t n_rules, rules_capacity;
	struct make_choice *choices;
	size_t n_choices, choices_capacity;
	bool truncated;
	long *steps_left; /* of INIT_EXPAND_STEPS_MAX */

	const char *program; /* what the `run` target starts or the link rule makes, without "./" */
	struct found_at program_at;
	const char *target;             /* what make is asked for */
	const char *run_line;           /* the recipe line that starts the program, expanded; NULL = none */
	const char **run_words;         /* its words as a shell splits it; NULL = make_words() of it are */
	size_t n_run_words, run_script; /* the script's place among them */
	const char *module_folder; /* where the line starts a module: what it is found below; else NULL */
	struct found_at run_at;
	const char *run_target;
	const char *
		*sources; /* C files that are linked into the program, in the repository; none = not known */
	size_t n_sources;
	struct found_at openmp_at;
	bool has_openmp;
};
void inspect_make(struct repo *repo, struct make_facts *ret_facts);
/* The same from memory (tests, fuzzing); `repo` may be empty but for its arena. */
void inspect_make_text(struct repo *repo, const char *file, const char *text, struct make_facts *ret_facts);

/* make_text.c */
const struct make_variable *make_find(const struct make_facts *facts, const char *name);
const struct make_rule *make_find_rule(const struct make_facts *facts, const char *target);
/* Text with $(...) replaced; at most INIT_TEXT_MAX bytes. Shell calls and other functions become nothing.
 * `target` is $@. */
const char *make_expand(const struct make_facts *facts, const char *text, const char *target);
/* Words of a text, split at blanks. */
const char **make_words(struct arena *arena, const char *text, size_t *ret_count);
/* Words of the line that starts the program; none without such a line. */
const char **make_run_words(const struct make_facts *facts, struct arena *arena, size_t *ret_count);

/* make_choices.c: from the condition of an ifeq, ifneq, ifdef or ifndef; false when no variable decides it
 * alone. */
bool make_parse_condition(struct arena *arena, const char *directive, struct make_choice *ret_choice);
/* Adds the choices that a line makes by $(if ...) and by computed names such as $(LTO_$(LTO)). */
void make_find_inline_choices(struct make_facts *facts, const char *text, struct found_at at);
void make_add_choice(struct make_facts *facts, const struct make_choice *choice);

/* make_program.c: the program, how it is started, what it is linked from. */
void make_find_program(struct make_facts *facts);

/* ---- C sources (inspect_c.c, c_options.c) ---- */

struct c_file {
	const char *path;
	struct c_tokens *tokens;
	bool has_main;
};

struct job_option {
	const char *flag; /* as typed: "--recompute" */
	struct found_at at;
	const char *member;  /* the variable or field that it sets; NULL = not seen */
	const char **values; /* the legal words; none = a number, a path, or not known */
	size_t n_values;
	const char *value; /* when the option is not given; NULL = not known */
	struct found_at value_at;
	bool value_is_assumed;  /* the first of the words, because nothing said otherwise */
	bool is_enum;           /* the words stand in a table, so they count from 0 */
	bool is_switch;         /* takes no value */
	bool is_left_alone;     /* several values, or a way of taking them that nothing here knows */
	const char *aliases[4]; /* Python: its other spellings */
	size_t n_aliases;
	bool is_declared; /* Python: by argparse */
	bool is_joined;   /* --name=value */
	bool has_range;
	double low, high;
};

struct source_facts {
	struct arena *arena;
	struct c_file *files;
	size_t n_files;
	struct job_option *options;
	size_t n_options, options_capacity;
	struct found_at openmp_at, runtime_schedule_at, hook_at; /* file NULL = not seen */
	struct c_index *index;
	bool is_python;
	const char *stack;      /* for the task file: "native", "ddp", "log:megatron"; NULL = native */
	const char *stack_name; /* for people */
	const char *framework;  /* as the catalogue names it; NULL = none */
	const char *notes[16];  /* for the task file */
	size_t n_notes;
};
/* False: there is no Python program that trains. A launch line that was found is in ret_make, as if make had
 * it; its sources are the program and the modules of the repository that it imports. catalogue: may be NULL.
 */
struct catalogue;
bool inspect_python(struct repo *repo, const struct catalogue *catalogue, struct make_facts *ret_make,
	struct source_facts *ret_facts);
/* The options of one file from memory (tests, fuzzing). */
void inspect_python_text(
	struct arena *arena, const char *text, size_t length, struct source_facts *ret_facts);

/* python_start.c: the line that starts the script, into make->run_*; "python3 script" where there is none. */
void python_find_start(
	struct repo *repo, const char *script, struct make_facts *make, struct source_facts *facts);
/* The same in one text: what a file of that path holds. */
bool python_start_in_text(const char *path, const char *text, const char *script, struct make_facts *make,
	struct source_facts *facts);
/* The words that start it where no line was found: as a module where it imports from its own package.
 * *ret_script: where the script or module stands; *ret_folder: what a module is found below, else it stays as
 * it is. */
const char **python_start_of(struct repo *repo, const char *script, size_t *ret_count, size_t *ret_script,
	const char **ret_folder);
void python_add_note(struct source_facts *facts, const char *text);
/* python_options.c. NULL = it is there already, or there is no room. */
struct job_option *python_add_option(struct source_facts *facts, const char *flag, struct found_at at);
bool python_has_name(const struct job_option *o, const char *name);
void python_add_value(struct arena *arena, struct job_option *o, const char *text);
/* What is worth trying of a number whose range no program says. */
void python_add_usual_values(struct arena *arena, struct job_option *o);
/* Options that only the line has; words before the script are the launcher's. */
void python_read_line_options(
	const struct make_facts *make, const struct catalogue *catalogue, struct source_facts *facts);
/* A file of settings on the line may say what any option is that the line does not have. */
void python_doubt_defaults(const struct make_facts *make, struct source_facts *facts);
/* python_names.c: the row of an option whose whole name is known; NULL = nothing is known of it. */
struct native_option;
const struct native_option *python_option_find(const char *flag);
/* Whether a lever's value only says how the same thing is computed. */
bool python_value_is_harmless(const struct native_option *row, const char *value);
/* "-x", "--name", but not "-1". */
bool python_is_option_word(const char *word);
bool python_is_secret_name(const char *name);

/* Reads the C files of the repository; those of the program alone where make said which they are. */
void inspect_c(struct repo *repo, const struct make_facts *make, struct source_facts *ret_facts);

struct c_table { /* an array of words, or of rows that begin with a word */
	const char *name;
	const char **words;
	size_t n_words;
	struct found_at at;
};

struct c_function {
	const char *name;
	const struct c_file *file;
	size_t begin, end; /* tokens of the body */
};

struct c_initial { /* a value given to a name in the source */
	const char *name, *value;
	int rank; /* 0 designated initialiser, 1 declaration or #define, 2 assignment */
	struct found_at at;
};

struct c_index {
	struct c_table *tables;
	size_t n_tables, tables_capacity;
	struct c_function *functions;
	size_t n_functions, functions_capacity;
	struct c_initial *initials;
	size_t n_initials, initials_capacity;
};
/* c_index.c */
struct c_index *c_index_build(const struct source_facts *facts);
const struct c_table *c_find_table(const struct c_index *index, const char *name);
const struct c_function *c_find_function(const struct c_index *index, const char *name);
/* The value that a name has before anything is parsed (".name = 4", "int name = 4;", "#define NAME 4"),
 * looked up in `prefer_file` first; NULL = not found. Symbols stay as written. */
const struct c_initial *c_index_initial_value(
	const struct c_index *index, const char *name, const char *prefer_file);

/* c_options.c: fills facts->options from the index and the tokens. */
void c_find_options(struct source_facts *facts);
/* c_option_values.c: what the options are when they are not given, and words that only the help text names.
 */
void c_find_option_values(struct source_facts *facts);
bool c_is_option_word(const char *text);
void c_add_option_word(struct source_facts *facts, struct job_option *o, const char *word);

/* ---- the proposal (propose_*.c) and the file (init_write.c) ---- */

struct proposed_setting {
	const char *text;
	const char *prior; /* "30%"; NULL = none */
};

struct proposed_knob {
	const char *name;
	struct proposed_setting settings[INIT_VALUES_MAX];
	size_t n_settings, reference;
	bool ordered;
	const char *mechanism, *phases; /* phases: comma-separated */
	const char *comment;            /* what it is and where it was found */
	const char *prior_source;
	const char *ask;      /* a question only the owner can answer; NULL = none */
	bool is_switched_off; /* written as a comment until the owner says yes */
	const char *flag_on;  /* a switch: what {name_flag} is for the setting "on"; NULL = not a switch */
	const char *flag_off;
};

struct proposed_file {
	const char *pattern, *reason;
};

struct proposed_word {
	const char *text; /* a template */
	bool starts_line; /* words of one option stand on one line */
};

struct proposed_words {
	struct proposed_word *items;
	size_t count, capacity;
};

struct proposed_env {
	const char *name, *value, *comment;
};

struct proposed_number {
	double value; /* 0 = not known */
	const char *comment;
};

struct proposed_files {
	struct proposed_file *items;
	size_t count, capacity;
};

struct proposal {
	struct arena *arena;
	const char *name;
	struct proposed_words build, command;
	struct proposed_env env[16];
	size_t n_env;
	struct proposed_number updates, global_batch, seq_len, memory_cap_mib;
	struct proposed_knob *knobs;
	size_t n_knobs, knobs_capacity;
	bool has_accumulation; /* grad_accum is derived from micro_batch */
	int devices;           /* that the launcher starts a process for each; 1 = it does not say */
	const char *precision; /* what the job uses today, where an option says so; else NULL */
	struct proposed_files frozen, editable;
	const char *patches_dir;
	const char *notes[64]; /* options seen and left alone, things not looked at */
	size_t n_notes;
	const char *stack; /* of the task file */
	bool needs_hook;   /* the job does not report yet */
	const char *stack_text, *stack_where, *launch_where;
	int n_build_knobs, n_env_knobs, n_flag_knobs;
	int asks; /* counted while writing */
};

struct init_host { /* what depends on the machine, apart so that tests do not */
	int cpus;
	bool has_clang;
};

/* propose.c */
void propose(struct repo *repo, const struct make_facts *make, const struct source_facts *c,
	const struct init_host *host, struct proposal *ret_proposal);
struct proposed_knob *proposal_add_knob(struct proposal *p, const char *name);
void proposal_add_setting(struct proposed_knob *knob, const char *text);
bool proposal_set_reference(struct proposed_knob *knob, const char *text); /* adds it when it is not there */
void proposal_add_word(struct proposal *p, struct proposed_words *words, const char *text, bool starts_line);
void proposal_add_env(struct proposal *p, const char *name, const char *value, const char *comment);
void proposal_add_note(struct proposal *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Powers of two up to the number of CPUs, that number itself, and what the job uses today as the reference;
 * ascending. */
void proposal_add_threads(struct proposal *p, struct proposed_knob *knob, int cpus, int64_t today);
/* Priors of all settings against the reference, where the catalogue has one. */
void proposal_set_priors(struct proposal *p, struct proposed_knob *knob);
/* Literal text inside a template: braces doubled. */
const char *proposal_literal(struct arena *arena, const char *text);
/* "Makefile:12" */
const char *place_text(struct arena *arena, struct found_at at);
/* Text that can be written into the file as it is: valid UTF-8 without control characters. */
bool is_clean_text(const char *text);

void propose_build(const struct make_facts *make, const struct init_host *host, struct proposal *p);
void propose_launch(const struct make_facts *make, const struct source_facts *c, const struct init_host *host,
	struct proposal *p);
void propose_environment(const struct make_facts *make, const struct source_facts *c,
	const struct init_host *host, struct proposal *p);
void propose_files(
	struct repo *repo, const struct make_facts *make, const struct source_facts *c, struct proposal *p);

/* The commented task file (init_write.c). */
void init_write(struct proposal *p, struct strbuf *yaml);

/* The whole stage with the machine's facts given; init_run() reads them itself. */
struct init_options;
enum err_code init_run_on(const struct init_options *options, const struct init_host *host,
	struct init_report *ret_report, struct err *reterr) MUST_CHECK;

#endif
