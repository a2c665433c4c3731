/* A11 for Python, the part about imports and attributes: a name bound to another module, a module's or an
 * object's function replaced, files that Python runs or finds before others. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

/* ---- attributes ---- */

/* torch.backends.cudnn.benchmark = True, torch._inductor.config.x = ... */
static bool is_configuration(const char *target)
{
	static const char *const parts[] = {
		"config", "backends", "rcParams", "cfg", "args", "options", "settings", "flags", "hparams"};
	return py_text_has_any(target, parts, ARRAY_LEN(parts));
}

static bool is_import(const struct change *change, const struct fact *at, const char *target)
{
	const struct source *s = at->source;
	size_t length = strcspn(target, " ");
	for (size_t i = 0; spend(change, 1) && i < s->n_includes; i++)
		if (strncmp(s->includes[i]->name, target, length) == 0 && !s->includes[i]->name[length])
			return true;
	return false;
}

/* torch.compile(model.forward) and the like give back the same function. */
static bool is_wrapped(const char *value)
{
	static const char *const wrappers[] = {"compile", "make_graphed_callables", "script",
		"checkpoint_wrapper", "jit", "disable", "vmap"};
	return py_text_has_any(value, wrappers, ARRAY_LEN(wrappers)) && !text_has_token(value, "lambda");
}

static bool is_function(const struct change *change, const char *value)
{
	static const char *const makers[] = {
		"lambda", "partial", "MethodType", "FunctionType", "partialmethod", "wraps"};
	if (py_text_has_any(value, makers, ARRAY_LEN(makers)))
		return true;
	if (strchr(value, '(') && strchr(value, ' ')) {
		/* make_step(optimizer.step) of a function defined here */
		char name[80] = "";
		memcpy(name, value, MIN_OF(strcspn(value, " "), sizeof(name) - 1));
		return py_find(change, true, FACT_FUNCTION, name, NULL) != NULL;
	}
	const char *dot = strrchr(value, ' ');
	const char *last = dot ? dot + 1 : value;
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_FUNCTION && strcmp(change->new[i]->init, last) == 0)
			return true;
	return false;
}

/* Part of an update, a clock, a wait or a report by its name. */
static bool counts(const struct fact *assignment)
{
	const char *dot = strrchr(assignment->init, '.');
	CLEANUP(free_ptr)
	char *receiver = xasprintf("%.*s", (int)(dot - assignment->init), assignment->init);
	struct fact call = py_imagined_call(assignment->name);
	call.init = receiver;
	call.text = assignment->text;
	return py_is_update(&call) || py_is_clock(&call) || py_is_wait(&call) || py_is_report(&call);
}

static bool replaces_method(const struct change *change, const struct fact *f, bool self)
{
	if (is_function(change, f->value))
		return counts(f) || (!self && existed(change, FACT_CALL, f->name)) ||
		       (!self && !strstr(f->name, "fn") && py_is_forward(f->name));
	return counts(f) && !self && !py_is_literal(f->value);
}

static void check_attribute(struct change *change, const struct fact *f)
{
	bool self = strncmp(f->init, "self .", 6) == 0;
	if (is_configuration(f->init) || is_wrapped(f->value))
		return;
	if (!self && is_import(change, f, f->init))
		report(change, py_is_literal(f->value) && !counts(f) ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"an attribute of a module is replaced");
	else if (replaces_method(change, f, self))
		report(change, AUDIT_BLOCK, f, "a method is replaced");
}

static bool is_name_table(const char *target)
{
	static const char *const tables[] = {"sys . modules [", "globals ( ) [", "locals ( ) [",
		"sys . path [", "sys . meta_path", "sys . path_hooks", "builtins .", "__builtins__",
		"sys . path"};
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if (strncmp(target, tables[i], strlen(tables[i])) == 0)
			return true;
	return strstr(target, "__dict__") != NULL;
}

static void check_attributes(struct change *change)
{
	static const char *const outputs[] = {"sys . stdout", "sys . stderr"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		const char *target = f->kind == FACT_DELETE ? f->value : f->init;
		bool attribute = strchr(target, '.') && !strchr(target, '[');
		if (py_is_new(f, FACT_DELETE) && attribute && is_import(change, f, target))
			report(change, AUDIT_BLOCK, f, "an attribute of a module is removed");
		if (!py_is_assignment(f) || f->same)
			continue;
		if (IN(target, outputs))
			report(change, AUDIT_BLOCK, f, "output goes elsewhere");
		else if (is_name_table(target))
			report(change, AUDIT_BLOCK, f, "names or modules are replaced");
		else if (attribute && py_sets(f))
			check_attribute(change, f);
	}
}

/* ---- imports ---- */

static bool is_library(const char *root)
{
	static const char *const names[] = {"torch", "numpy", "math", "time", "os", "sys", "functools",
		"itertools", "contextlib", "typing", "dataclasses", "collections", "triton", "flash_attn",
		"xformers", "apex", "einops", "liger_kernel", "transformer_engine", "deepspeed",
		"transformers", "datasets", "accelerate", "megatron", "json", "random", "copy", "re",
		"logging", "argparse", "pathlib", "warnings", "gc", "threading", "queue", "abc", "enum",
		"operator", "statistics", "heapq", "bisect", "string", "datetime", "tqdm", "numba", "jax",
		"scipy", "pandas", "torchtitan", "trl", "peft", "bitsandbytes", "torchao", "fairscale",
		"lightning", "pytorch_lightning", "wandb", "tensorboard", "yaml", "tiktoken", "sentencepiece",
		"safetensors", "concurrent", "__future__", "types", "hashlib", "array", "struct", "io",
		"platform", "inspect", "traceback", "pickle", "infrarsi_hook", "nvtx", "torchvision",
		"cut_cross_entropy", "fla", "mamba_ssm", "causal_conv1d", "torch_xla", "cupy", "uuid",
		"textwrap", "signal", "subprocess", "multiprocessing", "weakref", "fractions", "decimal",
		"numbers", "timeit", "psutil", "socket", "tempfile", "shutil", "glob", "asyncio", "hydra",
		"omegaconf", "typing_extensions", "attr", "pydantic", "fire", "click", "absl", "rich",
		"colorama", "sklearn", "nltk", "ast", "pynvml"};
	return IN(root, names);
}

static void root_of(const char *path, char root[60])
{
	memset(root, 0, 60);
	memcpy(root, path, MIN_OF(strcspn(path, " "), (size_t)59));
}

static const char *last_of(const char *path)
{
	const char *blank = strrchr(path, ' ');
	return blank ? blank + 1 : path;
}

/* The old import of the same name, if it is no longer there. */
static const struct fact *lost_import(const struct change *change, const struct fact *now)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_INCLUDE && strcmp(f->name, now->name) == 0 &&
			strcmp(f->source->path, now->source->path) == 0 && strcmp(f->value, now->value) != 0)
			return f;
	}
	return NULL;
}

static bool is_changed_file(const struct change *change, const char *module)
{
	char root[60];
	root_of(module[0] == '.' ? module + strspn(module, ". ") : module, root);
	for (size_t i = 0; i < change->n_files; i++)
		if (root[0] && strstr(change->files[i].path, root))
			return true;
	return false;
}

static void check_rebound(struct change *change, const struct fact *f, const struct fact *old)
{
	char was[60], now[60];
	root_of(old->value, was);
	root_of(f->value, now);
	bool other_name = strcmp(last_of(f->value), last_of(old->value)) != 0;
	/* import a . b instead of import a binds the same */
	if (strcmp(was, now) == 0 && !other_name)
		return;
	if (strcmp(was, now) == 0 && strcmp(f->name, now) == 0)
		return;
	bool block = other_name || (is_library(was) && !is_library(now));
	report(change, block ? AUDIT_BLOCK : AUDIT_REVIEW, f,
		"a name now stands for something of another module");
}

void py_check_imports(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char root[60];
		if (f->kind != FACT_INCLUDE || f->twin || !spend(change, change->n_old))
			continue;
		root_of(f->value, root);
		const struct fact *old = lost_import(change, f);
		bool relative = f->value[0] == '.';
		if (strcmp(f->name, "*") == 0)
			report(change, AUDIT_BLOCK, f, "all names of a module take the place of others");
		else if (old)
			check_rebound(change, f, old);
		else if (existed(change, FACT_CALL, f->name) && !is_library(root) &&
			 !py_find(change, false, FACT_INCLUDE, f->name, NULL))
			report(change, AUDIT_REVIEW, f, "a name that the code uses now comes from a module");
		else if (!is_library(root) && !relative && !is_changed_file(change, f->value))
			report(change, AUDIT_REVIEW, f, "a further module is brought in");
	}
}

/* ---- files ---- */

static bool is_imported(const struct change *change, const char *module)
{
	for (size_t i = 0; i < change->n_new; i++) {
		char root[60];
		if (change->new[i]->kind != FACT_INCLUDE)
			continue;
		root_of(change->new[i]->value, root);
		if (strcmp(root, module) == 0 && change->new[i]->twin)
			return true;
	}
	return false;
}

static void check_files(struct change *change)
{
	static const char *const run_by_python[] = {"sitecustomize.py", "usercustomize.py", "conftest.py"};
	for (size_t i = 0; i < change->n_files; i++) {
		const struct changed_file *file = &change->files[i];
		const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
		char module[60] = "";
		if (file->language != LANGUAGE_PYTHON)
			continue;
		bool package = strcmp(name, "__init__.py") == 0 && slash;
		const char *from = package ? file->path : name;
		memcpy(module, from, MIN_OF(strcspn(from, package ? "/" : "."), sizeof(module) - 1));
		if (IN(name, run_by_python))
			report_line(change, AUDIT_BLOCK, file->path, 1, false, "", 0,
				"Python runs this file by itself");
		else if (file->diff->created && is_library(module) &&
			 !(slash && strcmp(name, "__init__.py") != 0))
			report_line(change, AUDIT_BLOCK, file->path, 1, false, "", 0,
				"the file takes the place of a library of that name");
		else if (file->diff->created && !slash && is_imported(change, module))
			report_line(change, AUDIT_BLOCK, file->path, 1, false, "", 0,
				"the file takes the place of a module that the code uses");
	}
}

void py_check_patching(struct change *change)
{
	check_attributes(change);
	check_files(change);
}
