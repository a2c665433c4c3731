/*
 * Python training programs: which file is the program, what of it argparse (or nanoGPT's way, where every
 * number and text at the file's top level can be set by --name=value) lets the command line say, which
 * framework it is written for, and the line in a script, a Makefile or a README that starts it.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "init/init_int.h"
#include "mech/catalogue.h"
#include "mech/native.h"
#include "patch/syntax.h"

struct script {
	const char *path, *text;
	size_t length;
	TSNode root; /* while its tree is looked at */
	int score;   /* how much it looks like the program; 0 = it does not train */
};

/* ---- text and tree ---- */

static bool ends_with(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n > m && strcmp(path + n - m, suffix) == 0;
}

static const char *node_text(struct arena *arena, const struct script *s, TSNode node)
{
	if (ts_node_is_null(node))
		return "";
	uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
	return arena_strndup(arena, s->text + start, end - start);
}

static bool is_kind(TSNode node, const char *kind)
{
	return !ts_node_is_null(node) && strcmp(ts_node_type(node), kind) == 0;
}

static TSNode field(TSNode node, const char *name)
{
	return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

static struct found_at place_of(const struct script *s, TSNode node)
{
	return (struct found_at){s->path, (int)ts_node_start_point(node).row + 1};
}

/* What a literal says, as the command line would: a text without its quotes, a number, True or False; NULL =
 * it is none. */
static const char *literal(struct arena *arena, const struct script *s, TSNode node)
{
	const char *text = node_text(arena, s, node);
	size_t n = strlen(text);
	if (is_kind(node, "integer") || is_kind(node, "float") || is_kind(node, "true") ||
		is_kind(node, "false"))
		return is_clean_text(text) ? text : NULL;
	bool is_plain = is_kind(node, "string") && n >= 2 && (text[0] == '"' || text[0] == '\'') &&
			text[1] != text[0];
	if (!is_plain || strchr(text, '\\'))
		return NULL;
	text = arena_strndup(arena, text + 1, n - 2);
	return is_clean_text(text) ? text : NULL;
}

typedef void (*visit_fn)(struct arena *arena, struct script *s, TSNode node, void *context);

static void visit(struct arena *arena, struct script *s, const char *kind, visit_fn visitor, void *context)
{
	TSTreeCursor cursor = ts_tree_cursor_new(s->root);
	for (bool more = true; more;) {
		TSNode node = ts_tree_cursor_current_node(&cursor);
		if (is_kind(node, kind))
			visitor(arena, s, node, context);
		if (ts_tree_cursor_goto_first_child(&cursor))
			continue;
		while (!(more = ts_tree_cursor_goto_next_sibling(&cursor)))
			if (!ts_tree_cursor_goto_parent(&cursor))
				break;
	}
	ts_tree_cursor_delete(&cursor);
}

/* ---- options ---- */

static void add_value(struct arena *arena, struct job_option *o, const char *text)
{
	if (!o->values)
		o->values = arena_array(arena, INIT_VALUES_MAX, sizeof(*o->values));
	for (size_t i = 0; i < o->n_values; i++)
		if (strcmp(o->values[i], text) == 0)
			return;
	if (o->n_values < INIT_VALUES_MAX && *text)
		o->values[o->n_values++] = text;
}

/* What is worth trying of a number whose range no program says. */
static void add_usual_values(struct arena *arena, struct job_option *o)
{
	static const struct {
		const char *mechanism, *values[6];
	} usual[] = {
		{"dataloader_workers", {"0", "1", "2", "4", "8"}},
		{"dataloader_prefetch", {"1", "2", "4", "8"}},
	};
	const struct native_option *row = native_option_find(o->flag);
	for (size_t i = 0; row && row->mechanism && !o->n_values && i < ARRAY_LEN(usual); i++)
		for (size_t k = 0; strcmp(row->mechanism, usual[i].mechanism) == 0 && usual[i].values[k]; k++)
			add_value(arena, o, usual[i].values[k]);
}

static struct job_option *add_option(struct source_facts *facts, const char *flag, struct found_at at)
{
	for (size_t i = 0; i < facts->n_options; i++)
		if (strcmp(facts->options[i].flag, flag) == 0)
			return NULL;
	if (facts->n_options == INIT_C_OPTIONS_MAX || !is_clean_text(flag))
		return NULL;
	facts->options = init_grow(facts->arena, facts->options, facts->n_options, &facts->options_capacity,
		sizeof(*facts->options));
	struct job_option *o = &facts->options[facts->n_options++];
	*o = (struct job_option){.flag = flag, .at = at, .value_at = at};
	return o;
}

static TSNode keyword(struct arena *arena, const struct script *s, TSNode list, const char *name)
{
	TSNode none = {0};
	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
		TSNode argument = ts_node_named_child(list, i);
		if (is_kind(argument, "keyword_argument") &&
			strcmp(node_text(arena, s, field(argument, "name")), name) == 0)
			return field(argument, "value");
	}
	return none;
}

/* The long one of "-n", "--name"; NULL = a positional argument. */
static const char *flag_of(struct arena *arena, const struct script *s, TSNode list)
{
	const char *flag = NULL;
	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
		const char *text = literal(arena, s, ts_node_named_child(list, i));
		if (text && text[0] == '-' && (!flag || (text[1] == '-' && flag[1] != '-')))
			flag = text;
	}
	return flag;
}

/* parser.add_argument("--name", default=..., choices=[...], action="store_true") */
static void find_argument(struct arena *arena, struct script *s, TSNode call, void *context)
{
	struct source_facts *facts = context;
	TSNode function = field(call, "function"), list = field(call, "arguments");
	if (!is_kind(function, "attribute") || !is_kind(list, "argument_list") ||
		strcmp(node_text(arena, s, field(function, "attribute")), "add_argument") != 0)
		return;
	const char *flag = flag_of(arena, s, list);
	struct job_option *o = flag ? add_option(facts, flag, place_of(s, call)) : NULL;
	if (!o)
		return;
	TSNode choices = keyword(arena, s, list, "choices");
	const char *action = literal(arena, s, keyword(arena, s, list, "action"));
	o->is_switch = action && strncmp(action, "store_", 6) == 0 && strcmp(action, "store_const") != 0;
	o->value = o->is_switch ? NULL : literal(arena, s, keyword(arena, s, list, "default"));
	for (uint32_t i = 0; !ts_node_is_null(choices) && i < ts_node_named_child_count(choices); i++) {
		const char *text = literal(arena, s, ts_node_named_child(choices, i));
		if (text)
			add_value(arena, o, text);
	}
	add_usual_values(arena, o);
}

/* name = 12 at the top level of a program that lets --name=value set it */
static void find_global(struct arena *arena, struct script *s, TSNode assignment, void *context)
{
	TSNode left = field(assignment, "left"), statement = ts_node_parent(assignment);
	const char *value = literal(arena, s, field(assignment, "right"));
	if (!value || !is_kind(left, "identifier") || !is_kind(ts_node_parent(statement), "module"))
		return;
	const char *flag = arena_printf(arena, "--%s", node_text(arena, s, left));
	struct job_option *o = add_option(context, flag, place_of(s, assignment));
	if (!o)
		return;
	o->is_joined = true;
	o->value = value;
	if (strcmp(value, "True") == 0 || strcmp(value, "False") == 0) {
		add_value(arena, o, "False");
		add_value(arena, o, "True");
	}
	add_usual_values(arena, o);
}

/* ---- which file is the program ---- */

static bool has(const struct script *s, const char *text)
{
	return memmem(s->text, s->length, text, strlen(text)) != NULL;
}

static bool is_named_program(const char *path)
{
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	return strncmp(name, "train", 5) == 0 || strncmp(name, "pretrain", 8) == 0 ||
	       strncmp(name, "main", 4) == 0 || strncmp(name, "finetune", 8) == 0;
}

static int score_of(const struct script *s)
{
	bool trains =
		has(s, ".backward(") || has(s, "Trainer(") || has(s, ".train_batch(") || has(s, "pretrain(");
	bool starts = has(s, "__main__") || has(s, "ArgumentParser(") || has(s, "configurator");
	bool is_test = strncmp(s->path, "test", 4) == 0 || strstr(s->path, "/test");
	if (!trains || !starts || is_test)
		return 0;
	int depth = 0;
	for (const char *p = s->path; *p; p++)
		depth += *p == '/';
	return MAX_OF(100 - depth, 1);
}

static const struct {
	const char *word, *stack, *log_stack, *name;
} frameworks[] = {
	{"megatron", "megatron", "log:megatron", "Megatron"},
	{"torchtitan", "torchtitan", "log:torchtitan", "TorchTitan"},
	{"deepspeed", "deepspeed", "log:deepspeed", "DeepSpeed"},
	{"transformers", "hf", "log:hf-trainer", "Hugging Face Trainer"},
	{"trl", "hf", "log:hf-trainer", "TRL"},
	{"torch", "ddp", NULL, "PyTorch"},
};

static bool imports(const struct script *s, const char *module)
{
	static const char *const forms[] = {"import %s", "from %s"};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "%.*s%s", (int)(strchr(forms[i], '%') - forms[i]), forms[i], module);
		const char *at = s->text;
		while ((at = strstr(at, text.buf)) != NULL) {
			bool begins = at == s->text || at[-1] == '\n' || at[-1] == ' ';
			at += text.len;
			if (begins && !isalnum((unsigned char)*at) && *at != '_')
				return true;
		}
	}
	return false;
}

static void take_framework(const struct script *s, struct source_facts *facts)
{
	bool has_hook = imports(s, "infrarsi_hook");
	facts->stack = "ddp";
	facts->stack_name = "Python";
	for (size_t i = 0; i < ARRAY_LEN(frameworks); i++)
		if (imports(s, frameworks[i].word)) {
			facts->framework = frameworks[i].stack;
			facts->stack = has_hook || !frameworks[i].log_stack ? frameworks[i].stack
									    : frameworks[i].log_stack;
			facts->stack_name = frameworks[i].name;
			break;
		}
	if (has_hook)
		facts->hook_at = (struct found_at){s->path, 1};
}

/* ---- how it is started ---- */

static bool is_start_word(const char *word)
{
	static const char *const starters[] = {"python", "python3", "torchrun", "accelerate", "deepspeed"};
	for (size_t i = 0; i < ARRAY_LEN(starters); i++)
		if (strcmp(word, starters[i]) == 0)
			return true;
	return false;
}

/* At the program's word, behind a prompt, exec and NAME=value; n = there is none that starts Python. */
static size_t program_of(const char *const *words, size_t n, size_t *ret_begin)
{
	size_t begin = 0;
	while (begin < n && (strcmp(words[begin], "$") == 0 || strcmp(words[begin], "exec") == 0))
		begin++;
	size_t program = begin;
	while (program < n && strchr(words[program], '=') && words[program][0] != '-')
		program++;
	*ret_begin = begin;
	return program < n && is_start_word(words[program]) ? program : n;
}

/* The line from its environment or its program on, where it starts the script with words that need no shell.
 */
static const char *start_in_line(struct arena *arena, const char *line, const char *script)
{
	size_t n, begin;
	const char **words = make_words(arena, line, &n);
	bool names_it = false;
	for (size_t i = program_of(words, n, &begin) + 1; i < n; i++)
		names_it |= strcmp(words[i], script) == 0;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = begin; names_it && i < n && words[i][0] != '#'; i++) {
		if (strpbrk(words[i], "$`|;&<>(){}*\\") || !is_clean_text(words[i]))
			return NULL;
		strbuf_addf(&text, "%s%s", text.len ? " " : "", words[i]);
	}
	return names_it ? arena_strdup(arena, text.buf) : NULL;
}

/* Lines that end with a backslash go on. */
static bool find_start_in(struct repo *repo, const char *path, const char *script, struct make_facts *make)
{
	size_t length;
	const char *text = repo_read(repo, path, &length);
	int line = 1;
	for (const char *p = text; p && *p;) {
		CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT;
		int first = line;
		for (bool more = true; more;) {
			size_t n = strcspn(p, "\n");
			more = n > 0 && p[n - 1] == '\\' && p[n];
			strbuf_add(&whole, p, n - more);
			strbuf_addch(&whole, ' ');
			p += n + (p[n] == '\n');
			line++;
		}
		const char *start = start_in_line(repo->arena, whole.buf, script);
		if (!start)
			continue;
		make->run_line = start;
		make->run_at = (struct found_at){path, first};
		return true;
	}
	return false;
}

static void find_start(struct repo *repo, const char *script, struct make_facts *make)
{
	static const char *const kinds[] = {".sh", "Makefile", ".md", ".rst", ".txt"};
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < repo->n_files; i++) {
			const char *path = repo->files[i];
			bool is_it = ends_with(path, kinds[k]) || strcmp(path, kinds[k]) == 0;
			if (is_it && find_start_in(repo, path, script, make))
				return;
		}
	make->run_line = arena_printf(repo->arena, "python3 %s", script);
}

/* ---- options of the framework, which only the line that starts the job shows ---- */

static const struct mechanism_spelling *spelling_of(
	const struct catalogue *catalogue, const char *framework, const char *flag)
{
	for (size_t i = 0; catalogue && framework && i < catalogue->n_mechanisms; i++) {
		const struct mechanism *m = &catalogue->mechanisms[i];
		const struct mechanism_spelling *s = mechanism_spelling_find(m, framework, flag);
		/* The catalogue writes some keys without the dashes that the command line wants. */
		s = s ? s : mechanism_spelling_find(m, framework, flag + strspn(flag, "-"));
		if (s)
			return s;
	}
	return NULL;
}

static void take_line_option(const struct catalogue *catalogue, struct source_facts *facts, const char *word,
	const char *next, struct found_at at)
{
	const char *equals = strchr(word, '=');
	const char *flag = equals ? arena_strndup(facts->arena, word, (size_t)(equals - word)) : word;
	const struct mechanism_spelling *spelling = spelling_of(catalogue, facts->framework, flag);
	if (!spelling && !native_option_find(flag))
		return;
	struct job_option *o = add_option(facts, flag, at);
	if (!o)
		return;
	o->is_joined = equals != NULL;
	o->is_switch = !equals && (!next || next[0] == '-');
	o->value = equals ? equals + 1 : o->is_switch ? NULL : next;
	for (size_t i = 0; spelling && !o->is_switch && i < spelling->n_values; i++)
		if (spelling->values[i].canonical[0] != '=' && strcmp(spelling->values[i].raw, "*") != 0)
			add_value(facts->arena, o, spelling->values[i].raw);
	add_usual_values(facts->arena, o);
}

static void read_line_options(
	const struct make_facts *make, const struct catalogue *catalogue, struct source_facts *facts)
{
	size_t n;
	const char **words = make_words(facts->arena, make->run_line, &n);
	for (size_t i = 1; i < n; i++)
		if (words[i][0] == '-' && words[i][1] == '-' && isalpha((unsigned char)words[i][2]))
			take_line_option(
				catalogue, facts, words[i], i + 1 < n ? words[i + 1] : NULL, make->run_at);
}

/* Numbers that the task asks for and no option says by its usual name: BLOCK_SIZE = 512, --block-size. */
static void add_initial(struct source_facts *facts, const char *name, const char *value, struct found_at at)
{
	struct c_index *index = facts->index;
	if (!value || index->n_initials == INIT_C_INITIALS_MAX)
		return;
	index->initials = init_grow(facts->arena, index->initials, index->n_initials,
		&index->initials_capacity, sizeof(*index->initials));
	index->initials[index->n_initials++] = (struct c_initial){.name = name, .value = value, .at = at};
}

static void find_constant(struct arena *arena, struct script *s, TSNode assignment, void *context)
{
	TSNode left = field(assignment, "left");
	if (is_kind(left, "identifier") && is_kind(ts_node_parent(ts_node_parent(assignment)), "module"))
		add_initial(context, node_text(arena, s, left), literal(arena, s, field(assignment, "right")),
			place_of(s, assignment));
}

static void index_options(struct source_facts *facts)
{
	for (size_t i = 0; i < facts->n_options; i++) {
		const struct job_option *o = &facts->options[i];
		char *name = arena_strdup(facts->arena, o->flag + strspn(o->flag, "-"));
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		add_initial(facts, name, o->value, o->value_at);
	}
}

/* ---- all of it ---- */

static void read_options(struct script *s, struct source_facts *facts)
{
	CLEANUP(syntax_free) TSTree *tree = NULL;
	if (syntax_parse(LANGUAGE_PYTHON, s->path, s->text, s->length, &tree, NULL) != OK)
		return;
	s->root = ts_tree_root_node(tree);
	visit(facts->arena, s, "call", find_argument, facts);
	visit(facts->arena, s, "assignment", find_constant, facts);
	if (has(s, "configurator") || has(s, "exec(open("))
		visit(facts->arena, s, "assignment", find_global, facts);
}

void inspect_python_text(struct arena *arena, const char *text, size_t length, struct source_facts *ret_facts)
{
	struct script s = {.path = "train.py", .text = text, .length = length};
	*ret_facts = (struct source_facts){.arena = arena, .is_python = true};
	ret_facts->index = c_index_build(ret_facts);
	take_framework(&s, ret_facts);
	read_options(&s, ret_facts);
}

static bool is_module_of(const struct script *program, const char *path)
{
	char module[256];
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	size_t n = strlen(name) - strlen(".py");
	if (n == 0 || n >= sizeof(module))
		return false;
	memcpy(module, name, n);
	module[n] = '\0';
	return imports(program, module);
}

static bool read_script(struct repo *repo, const char *path, struct script *s)
{
	*s = (struct script){.path = path};
	s->text = repo_read(repo, path, &s->length);
	return s->text != NULL;
}

/* Options that are declared in the program, or in modules of the repository that it imports. */
static void read_program(
	struct repo *repo, struct script *program, struct make_facts *make, struct source_facts *facts)
{
	const char **sources = arena_array(repo->arena, repo->n_files + 1, sizeof(*sources));
	sources[make->n_sources++] = program->path;
	read_options(program, facts);
	for (size_t i = 0; i < repo->n_files; i++) {
		struct script s;
		const char *path = repo->files[i];
		if (!ends_with(path, ".py") || strcmp(path, program->path) == 0 ||
			!is_module_of(program, path) || !read_script(repo, path, &s))
			continue;
		sources[make->n_sources++] = path;
		if (has(&s, "add_argument("))
			read_options(&s, facts);
	}
	make->sources = sources;
}

/* Files whose names say it first: in a large repository not all of them are read. */
static struct script find_program(struct repo *repo)
{
	struct script best = {0};
	for (int pass = 0; pass < 2 && !best.score; pass++)
		for (size_t i = 0; i < repo->n_files; i++) {
			struct script s;
			const char *path = repo->files[i];
			if (!ends_with(path, ".py") || is_named_program(path) != (pass == 0) ||
				!read_script(repo, path, &s))
				continue;
			s.score = score_of(&s);
			if (s.score > best.score)
				best = s;
		}
	return best;
}

bool inspect_python(struct repo *repo, const struct catalogue *catalogue, struct make_facts *ret_make,
	struct source_facts *ret_facts)
{
	struct script program = find_program(repo);
	if (!program.score || !is_clean_text(program.path) || strchr(program.path, ' '))
		return false;
	*ret_make = (struct make_facts){.arena = repo->arena, .repo = repo, .program = program.path};
	ret_make->program_at = (struct found_at){program.path, 1};
	*ret_facts = (struct source_facts){.arena = repo->arena, .is_python = true};
	take_framework(&program, ret_facts);
	find_start(repo, program.path, ret_make);
	ret_facts->index = c_index_build(ret_facts);
	read_program(repo, &program, ret_make, ret_facts);
	read_line_options(ret_make, catalogue, ret_facts);
	index_options(ret_facts);
	return true;
}
