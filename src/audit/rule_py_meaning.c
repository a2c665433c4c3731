/*
 * A11 for Python: what makes unchanged code mean something else, or hides what code means: evaluated texts,
 * names reached by strings, decorators, definitions in the place of what the code calls. Imports and replaced
 * attributes: rule_py_patching.c.
 */
#include "base/base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- hidden meaning ---- */

static const struct {
	const char *name; /* in full; a dot at the end stands for the whole module */
	const char *reason;
} hiding[] = {
	{"eval", "a text is evaluated as code"},
	{"exec", "a text is run as code"},
	{"compile", "a text is compiled"},
	{"__import__", "a module is brought in by a text"},
	{"importlib.", "a module is brought in by a text"},
	{"runpy.", "a module is run by a text"},
	{"imp.", "a module is brought in by a text"},
	{"pkgutil.", "a module is brought in by a text"},
	{"globals", "names are reached by texts"},
	{"locals", "names are reached by texts"},
	{"vars", "names are reached by texts"},
	{"operator.attrgetter", "an attribute is reached by a text"},
	{"operator.methodcaller", "a method is called by a text"},
	{"setattr", "an attribute is set by a text"},
	{"delattr", "an attribute is removed by a text"},
	{"object.__setattr__", "an attribute is set past its class"},
	{"sys.settrace", "code is run unseen"},
	{"sys.setprofile", "code is run unseen"},
	{"sys.addaudithook", "code is run unseen"},
	{"threading.settrace", "code is run unseen"},
	{"types.", "code or methods are made at run time"},
	{"base64.", "a text is encoded"},
	{"codecs.", "a text is encoded"},
	{"zlib.", "a text is encoded"},
	{"bytes.fromhex", "a text is encoded"},
	{"binascii.", "a text is encoded"},
	{"gc.get_objects", "objects are reached past their names"},
	{"gc.get_referrers", "objects are reached past their names"},
	{"unittest.mock.", "functions are replaced"},
	{"mock.", "functions are replaced"},
	{"ast.", "code is made at run time"},
	{"sys.path.insert", "modules are looked for elsewhere"},
	{"sys.path.append", "modules are looked for elsewhere"},
	{"sys.path.extend", "modules are looked for elsewhere"},
	{"sys.modules.", "modules are replaced"},
	{"site.addsitedir", "modules are looked for elsewhere"},
	{"torch.utils.cpp_extension.", "code of another language is built and loaded"},
	{"torch.ops.load_library", "code of another language is loaded"},
};

static void check_hiding(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char full[160];
		if (f->kind != FACT_CALL || f->twin)
			continue;
		py_full_name(change, f, f->init, f->name, full, sizeof(full));
		for (size_t k = 0; k < ARRAY_LEN(hiding); k++) {
			size_t length = strlen(hiding[k].name);
			bool module = hiding[k].name[length - 1] == '.';
			if (module ? strncmp(full, hiding[k].name, length) != 0
				   : strcmp(full, hiding[k].name) != 0)
				continue;
			bool own = strcmp(hiding[k].name, "setattr") == 0 &&
				   strncmp(f->value, "( self ,", 8) == 0;
			report(change, own ? AUDIT_REVIEW : AUDIT_BLOCK, f, hiding[k].reason);
		}
	}
}

/* getattr(optimizer, "st" + "ep"): the name must be a plain text that names no part of an update. */
static void check_getattr(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->twin || strcmp(f->name, "getattr") != 0 || f->init[0])
			continue;
		const char *comma = strchr(f->value, ',');
		char name[60] = "";
		if (!comma || sscanf(comma, ", \"%59[A-Za-z0-9_]\"", name) != 1) {
			report(change, AUDIT_BLOCK, f, "an attribute is reached by a text that is made up");
			continue;
		}
		struct fact call = {.kind = FACT_CALL,
			.name = name,
			.init = "optimizer",
			.text = "",
			.value = "",
			.function = ""};
		if (py_is_update(&call) || py_is_clock(&call) || py_is_wait(&call))
			report(change, AUDIT_BLOCK, f, "part of an update is reached by a text");
	}
}

static void check_special_names(struct change *change)
{
	static const char *const names[] = {"__dict__", "__builtins__", "builtins", "__code__", "__globals__",
		"__subclasses__", "__mro__", "__class__", "__getattribute__", "__closure__", "__defaults__",
		"__wrapped__", "__reduce__", "__kwdefaults__", "__bases__", "meta_path", "path_hooks",
		"modules_cache"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_NAME || f->twin || !IN(f->name, names))
			continue;
		/* self.__class__.__name__ in a text is common */
		bool shown = strcmp(f->name, "__class__") == 0;
		for (size_t k = 0; k < f->source->n_facts && shown; k++) {
			const struct fact *a = &f->source->facts[k];
			shown = !(a->kind == FACT_ASSIGN && strstr(a->init, "__class__") &&
				  node_contains(a->node, f->node));
		}
		if (!shown)
			report(change, AUDIT_BLOCK, f, "names or code are reached past the language");
	}
}

/* ---- decorators ---- */

static bool is_known_decorator(const struct fact *f)
{
	static const char *const names[] = {"compile", "jit", "script", "staticmethod", "classmethod",
		"property", "no_grad", "inference_mode", "enable_grad", "lru_cache", "cache",
		"cached_property", "contextmanager", "autotune", "heuristics", "wraps", "dataclass",
		"override", "custom_op", "custom_fwd", "custom_bwd", "once_differentiable", "disable",
		"record", "njit", "overload", "abstractmethod", "allow_in_graph", "annotate", "setter",
		"register_fake", "register_kernel", "ignore", "unused", "vmap", "total_ordering", "autocast",
		"set_grad_enabled", "memoize", "fixture", "parametrize", "main", "range", "impl_abstract",
		"triton_op", "register_autograd", "deprecated", "singledispatch", "dynamo_disable", "export",
		"compile_fn"};
	return IN(f->name, names);
}

/* The decorator is of this change, and runs what it decorates only sometimes. */
static bool decides(const struct change *change, const char *decorator)
{
	size_t length = strlen(decorator);
	bool calls = false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (strncmp(f->function, decorator, length) != 0 ||
			(f->function[length] != '\0' && f->function[length] != '.'))
			continue;
		if (f->kind == FACT_BRANCH || f->kind == FACT_HANDLER)
			return true;
		calls |= f->kind == FACT_CALL && f->function[length] == '.';
	}
	return !calls;
}

static void check_decorators(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_DECORATOR || f->twin || is_known_decorator(f) ||
			!py_existed_function(change, f->function))
			continue;
		bool defined = py_find(change, true, FACT_FUNCTION, f->name, NULL) != NULL;
		bool block = defined && decides(change, f->name);
		report(change, block ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"a decorator decides what the function does");
	}
}

/* ---- definitions in the place of others ---- */

static bool is_method(const struct fact *f)
{
	return (f->flags & DECLARE_FIELD) != 0;
}

static bool does_nothing(const struct change *change, const struct fact *function)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool acts = f->kind == FACT_CALL || f->kind == FACT_BINARY || f->kind == FACT_BRANCH ||
			    (f->kind == FACT_ASSIGN && f->op[0] != ':');
		if (acts && strcmp(f->function, function->name) == 0 && f->source == function->source &&
			!(f->kind == FACT_CALL && (strcmp(f->name, "tensor") == 0 || py_is_quiet(f))))
			return false;
	}
	return true;
}

static bool scales(const struct change *change, const struct fact *function)
{
	static const char *const scaling[] = {"mul_", "div_", "_foreach_mul_", "_foreach_div_", "copy_"};
	size_t length = strlen(function->name);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (strncmp(f->function, function->name, length) != 0)
			continue;
		if (f->kind == FACT_CALL && (IN(f->name, scaling) || strstr(f->name, "clip")))
			return true;
		if (f->kind == FACT_ASSIGN && (f->op[0] == '*' || f->op[0] == '/' || strchr(f->init, '.')))
			return true;
	}
	return false;
}

/* A new function with the name of one that the code calls. */
static bool had_such_function(const struct change *change, const struct fact *now)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_FUNCTION && strcmp(f->init, now->init) == 0 &&
			is_method(f) == is_method(now))
			return true;
	}
	return false;
}

static void check_function(struct change *change, const struct fact *f)
{
	struct fact call = py_imagined_call(f->init);
	bool tells = py_is_clock(&call) || py_is_wait(&call);
	if (is_method(f) && !tells && !py_is_update(&call))
		return;
	if (does_nothing(change, f))
		report(change, AUDIT_BLOCK, f,
			"a function that the code calls is replaced by one that does nothing");
	else if (py_trade(&call) == PY_CLIP && !scales(change, f))
		report(change, AUDIT_BLOCK, f, "gradients are no longer scaled where they are clipped");
	else if (is_method(f) ? strcmp(f->init, "backward") != 0 : !had_such_function(change, f))
		report(change, tells ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			is_method(f) ? "a part of the update is defined anew"
				     : "a function that the code calls is defined anew");
}

static void check_functions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_new(f, FACT_FUNCTION) && existed(change, FACT_CALL, f->init))
			check_function(change, f);
	}
}

static bool is_builtin(const char *name)
{
	static const char *const names[] = {"range", "len", "print", "min", "max", "sum", "enumerate", "zip",
		"next", "iter", "isinstance", "float", "int", "open", "getattr", "super", "abs", "round",
		"any", "all", "sorted", "reversed", "map", "filter", "list", "dict", "tuple", "set", "str",
		"bool", "type"};
	return IN(name, names);
}

/* range = lambda n: ...; clip_grad_norm_ = lambda *a: 0; synchronize = nothing */
static void check_assigned_function(struct change *change, const struct fact *f)
{
	if (!existed(change, FACT_CALL, f->name))
		return;
	if (is_builtin(f->name)) {
		report(change, AUDIT_BLOCK, f, "a function of the language is replaced");
		return;
	}
	bool calls_itself = text_has_token(f->value, f->name) && !strstr(f->value, " if ");
	if (strncmp(f->value, "lambda", 6) == 0)
		report(change, calls_itself ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"a function that the code calls is replaced");
}

static void check_defined_name(struct change *change, const struct fact *f, const char *name)
{
	if (is_method(f))
		return;
	if (f->kind != FACT_ASSIGN && is_builtin(name))
		report(change, AUDIT_BLOCK, f, "a function of the language is replaced");
	else if (py_find(change, false, FACT_INCLUDE, name, NULL) && !text_has_token(f->value, name))
		report(change, AUDIT_BLOCK, f, "a name that was imported is defined anew");
}

static void check_names(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool assigns = py_sets(f) && f->init[0] && !strchr(f->init, ' ');
		if (f->twin)
			continue;
		if (assigns)
			check_assigned_function(change, f);
		if (assigns || f->kind == FACT_CLASS)
			check_defined_name(change, f, f->name);
		else if (f->kind == FACT_FUNCTION)
			check_defined_name(change, f, f->init);
	}
}

static void check_special_methods(struct change *change)
{
	static const char *const deep[] = {"__getattribute__", "__setattr__", "__del__", "__torch_function__",
		"__torch_dispatch__", "__init_subclass__", "__instancecheck__", "__class_getitem__",
		"__prepare__", "__set_name__", "__new__"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_FUNCTION && !f->twin && IN(f->init, deep))
			report(change, AUDIT_BLOCK, f, "code is run where none is seen");
		else if (f->kind == FACT_FUNCTION && !f->twin && strcmp(f->init, "__getattr__") == 0)
			report(change, AUDIT_REVIEW, f, "attributes are made up when they are asked for");
		if (f->kind == FACT_CLASS && is_added(f) && strstr(f->value, "metaclass"))
			report(change, AUDIT_BLOCK, f, "a class is made by another class");
	}
}

void rule_py_meaning(struct change *change)
{
	check_hiding(change);
	check_getattr(change);
	check_special_names(change);
	check_decorators(change);
	check_functions(change);
	check_names(change);
	check_special_methods(change);
	py_check_imports(change);
	py_check_patching(change);
}
