/*
 * Python training programs: which file is the program, what of it argparse (or nanoGPT's way, where every
 * number and text at the file's top level can be set by --name=value) lets the command line say, which
 * framework it is written for, and which modules of the repository belong to it.
 */
#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "init/init_int.h"
#include "patch/syntax.h"

struct script {
	const char *path, *text;
	size_t length;
	TSNode root;          /* while its tree is looked at */
	int score;            /* how much it looks like the program; 0 = it does not train */
	const char **imports; /* modules and what is taken from them: "a.b", "a.b.name" */
	size_t n_imports, imports_capacity;
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
	for (bool more = true; more; more = syntax_next(&cursor)) {
		TSNode node = ts_tree_cursor_current_node(&cursor);
		if (is_kind(node, kind))
			visitor(arena, s, node, context);
	}
	ts_tree_cursor_delete(&cursor);
}

/* ---- options ---- */

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

static void add_aliases(struct arena *arena, const struct script *s, TSNode list, struct job_option *o)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
		const char *text = literal(arena, s, ts_node_named_child(list, i));
		if (text && text[0] == '-' && !python_has_name(o, text) &&
			o->n_aliases < ARRAY_LEN(o->aliases))
			o->aliases[o->n_aliases++] = text;
	}
}

/* One value or none, taken in the usual way. type=bool makes every word true; **common may say anything. */
static bool is_usual_argument(struct arena *arena, const struct script *s, TSNode list)
{
	TSNode action = keyword(arena, s, list, "action"), value = keyword(arena, s, list, "default");
	const char *name = literal(arena, s, action);
	bool is_off = ts_node_is_null(value) || is_kind(value, "false") || is_kind(value, "none");
	bool is_usual = ts_node_is_null(action) || (name && strcmp(name, "store") == 0) ||
			(name && strcmp(name, "store_true") == 0 && is_off);
	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++)
		is_usual &= !is_kind(ts_node_named_child(list, i), "dictionary_splat");
	return is_usual && ts_node_is_null(keyword(arena, s, list, "nargs")) &&
	       strcmp(node_text(arena, s, keyword(arena, s, list, "type")), "bool") != 0;
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
	struct job_option *o = flag ? python_add_option(facts, flag, place_of(s, call)) : NULL;
	if (!o)
		return;
	TSNode choices = keyword(arena, s, list, "choices");
	const char *action = literal(arena, s, keyword(arena, s, list, "action"));
	add_aliases(arena, s, list, o);
	o->is_declared = true;
	o->is_left_alone = !is_usual_argument(arena, s, list);
	o->is_switch = action && strcmp(action, "store_true") == 0;
	o->value = o->is_switch ? NULL : literal(arena, s, keyword(arena, s, list, "default"));
	if (o->is_left_alone)
		return;
	for (uint32_t i = 0; !ts_node_is_null(choices) && i < ts_node_named_child_count(choices); i++) {
		const char *text = literal(arena, s, ts_node_named_child(choices, i));
		if (text)
			python_add_value(arena, o, text);
	}
	python_add_usual_values(arena, o);
}

/* name = 12 at the top level of a program that lets --name=value set it */
static void find_global(struct arena *arena, struct script *s, TSNode assignment, void *context)
{
	TSNode left = field(assignment, "left"), statement = ts_node_parent(assignment);
	const char *value = literal(arena, s, field(assignment, "right"));
	if (!value || !is_kind(left, "identifier") || !is_kind(ts_node_parent(statement), "module"))
		return;
	const char *flag = arena_printf(arena, "--%s", node_text(arena, s, left));
	struct job_option *o = python_add_option(context, flag, place_of(s, assignment));
	if (!o)
		return;
	o->is_joined = true;
	o->value = value;
	if (strcmp(value, "True") == 0 || strcmp(value, "False") == 0) {
		python_add_value(arena, o, "False");
		python_add_value(arena, o, "True");
	}
	python_add_usual_values(arena, o);
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

/* torch, and torch.nn, but not torchvision */
static bool imports(const struct script *s, const char *module)
{
	size_t n = strlen(module);
	for (size_t i = 0; i < s->n_imports; i++)
		if (strncmp(s->imports[i], module, n) == 0 && (!s->imports[i][n] || s->imports[i][n] == '.'))
			return true;
	return false;
}

static void add_import(struct arena *arena, struct script *s, const char *module)
{
	s->imports = init_grow(arena, s->imports, s->n_imports, &s->imports_capacity, sizeof(*s->imports));
	s->imports[s->n_imports++] = module;
}

/* import a.b, from a.b import c, d; of "from .a" the dots are left out: the path's end says enough. */
static void find_import(struct arena *arena, struct script *s, TSNode statement, void *context)
{
	(void)context;
	TSNode from = field(statement, "module_name");
	const char *module = node_text(arena, s, from);
	module += strspn(module, ". ");
	if (*module)
		add_import(arena, s, module);
	for (uint32_t i = 0; i < ts_node_named_child_count(statement); i++) {
		TSNode name = ts_node_named_child(statement, i);
		if (!ts_node_is_null(from) && ts_node_eq(name, from))
			continue;
		if (is_kind(name, "aliased_import"))
			name = field(name, "name");
		if (is_kind(name, "dotted_name"))
			add_import(arena, s,
				arena_printf(arena, "%s%s%s", module, *module ? "." : "",
					node_text(arena, s, name)));
	}
}

/* The Trainer's own loop writes the log; a program that only takes models from transformers has its own. */
static bool has_framework(const struct script *s, size_t row)
{
	bool is_hf = strcmp(frameworks[row].stack, "hf") == 0;
	return imports(s, frameworks[row].word) && (!is_hf || has(s, "Trainer("));
}

static void take_framework(const struct script *s, struct source_facts *facts)
{
	bool has_hook = imports(s, "infrarsi_hook");
	facts->stack = "ddp";
	facts->stack_name = "Python";
	for (size_t i = 0; i < ARRAY_LEN(frameworks); i++)
		if (has_framework(s, i)) {
			facts->framework = frameworks[i].stack;
			facts->stack = has_hook || !frameworks[i].log_stack ? frameworks[i].stack
									    : frameworks[i].log_stack;
			facts->stack_name = frameworks[i].name;
			break;
		}
	if (has_hook)
		facts->hook_at = (struct found_at){s->path, 1};
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

static void read_imports(struct arena *arena, struct script *s)
{
	CLEANUP(syntax_free) TSTree *tree = NULL;
	if (syntax_parse(LANGUAGE_PYTHON, s->path, s->text, s->length, &tree, NULL) != OK)
		return;
	s->root = ts_tree_root_node(tree);
	visit(arena, s, "import_statement", find_import, NULL);
	visit(arena, s, "import_from_statement", find_import, NULL);
}

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
	read_imports(arena, &s);
	take_framework(&s, ret_facts);
	read_options(&s, ret_facts);
}

/* pkg/args.py and pkg/args/__init__.py are "pkg.args", which "args" from within pkg names, too. */
static bool is_module_of(struct arena *arena, const struct script *program, const char *path)
{
	size_t n = strlen(path) - strlen(".py");
	char *module = arena_strndup(arena, path, n);
	if (ends_with(module, "/__init__"))
		module[n - strlen("/__init__")] = '\0';
	for (char *c = module; *c; c++)
		*c = *c == '/' ? '.' : *c;
	n = strlen(module);
	for (size_t i = 0; i < program->n_imports; i++) {
		size_t m = strlen(program->imports[i]);
		const char *end = m <= n ? module + n - m : NULL;
		if (end && strcmp(end, program->imports[i]) == 0 && (end == module || end[-1] == '.'))
			return true;
	}
	return false;
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
			!is_module_of(repo->arena, program, path) || !read_script(repo, path, &s))
			continue;
		sources[make->n_sources++] = path;
		if (has(&s, "add_argument("))
			read_options(&s, facts);
	}
	make->sources = sources;
}

static bool is_candidate(const char *path, bool is_named)
{
	return ends_with(path, ".py") && is_named_program(path) == is_named && is_clean_text(path) &&
	       !strchr(path, ' ');
}

static void note_other_programs(struct repo *repo, const struct script *found, size_t n,
	const struct script *best, struct source_facts *facts)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
	for (size_t i = 0; i < n; i++)
		if (strcmp(found[i].path, best->path) != 0)
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", found[i].path);
	if (names.len)
		python_add_note(
			facts, arena_printf(repo->arena, "other programs that train: %s (init took %s)",
				       names.buf, best->path));
}

/* Files whose names say it first: in a large repository not all of them are read. */
static struct script find_program(struct repo *repo, struct source_facts *facts)
{
	struct script best = {0}, found[8];
	size_t n_found = 0;
	for (int pass = 0; pass < 2 && !best.score; pass++)
		for (size_t i = 0; i < repo->n_files; i++) {
			struct script s;
			if (!is_candidate(repo->files[i], pass == 0) ||
				!read_script(repo, repo->files[i], &s))
				continue;
			s.score = score_of(&s);
			if (s.score > best.score)
				best = s;
			if (s.score && n_found < ARRAY_LEN(found))
				found[n_found++] = s;
		}
	if (best.score)
		note_other_programs(repo, found, n_found, &best, facts);
	return best;
}

bool inspect_python(struct repo *repo, const struct catalogue *catalogue, struct make_facts *ret_make,
	struct source_facts *ret_facts)
{
	struct source_facts facts = {.arena = repo->arena, .is_python = true};
	struct script program = find_program(repo, &facts);
	if (!program.score)
		return false;
	*ret_make = (struct make_facts){.arena = repo->arena, .repo = repo, .program = program.path};
	ret_make->program_at = (struct found_at){program.path, 1};
	read_imports(repo->arena, &program);
	take_framework(&program, &facts);
	python_find_start(repo, program.path, ret_make, &facts);
	facts.index = c_index_build(&facts);
	read_program(repo, &program, ret_make, &facts);
	python_read_line_options(ret_make, catalogue, &facts);
	python_doubt_defaults(ret_make, &facts);
	index_options(&facts);
	*ret_facts = facts;
	return true;
}
