/* The tanh form of GELU, written out, as one function: five or six kernels, and as many tensors kept for
 * backward, become one. */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

static bool has_prefix(const char **text, const char *prefix)
{
	size_t n = strlen(prefix);
	if (strncmp(*text, prefix, n) != 0)
		return false;
	*text += n;
	return true;
}

/* The text goes on with one of the forms; the longest that fits is taken. */
static bool take(struct rewrite *r, const char **text, const char *const *forms, const char *x)
{
	for (; *forms; forms++) {
		const char *star = strchr(*forms, 'X');
		const char *form = *forms;
		if (star && strchr(star + 1, 'X'))
			form = arena_printf(r->arena, "%s*%s*%s", x, x, x);
		else if (star)
			form = arena_printf(r->arena, "%.*s%s%s", (int)(star - *forms), *forms, x, star + 1);
		if (has_prefix(text, form))
			return true;
	}
	return false;
}

static bool is_gelu(struct rewrite *r, const char *text, const char *x)
{
	static const char *const half[] = {"0.5*X*", NULL};
	static const char *const one[] = {"(1.0+torch.tanh(", "(1+torch.tanh(", "(1.+torch.tanh(", NULL};
	static const char *const scale[] = {"math.sqrt(2.0/math.pi)*", "math.sqrt(2/math.pi)*",
		"np.sqrt(2.0/np.pi)*", "np.sqrt(2/np.pi)*", "0.7978845608028654*", "0.7978845608*", NULL};
	static const char *const cubic[] = {"(X+0.044715*", NULL};
	static const char *const cube[] = {
		"torch.pow(X,3.0)", "torch.pow(X,3)", "X.pow(3)", "X**3.0", "X**3", "X*X*X", NULL};
	return take(r, &text, half, x) && take(r, &text, one, x) && take(r, &text, scale, x) &&
	       take(r, &text, cubic, x) && take(r, &text, cube, x) && strcmp(text, ")))") == 0;
}

static void find_gelu(struct rewrite *r, TSNode product, void *context)
{
	(void)context;
	TSNode left = code_field(product, "left"), x = code_field(left, "right");
	if (!node_is_kind(left, "binary_operator") || !node_is_kind(x, "identifier") ||
		!is_gelu(r, node_dense_text(r, product), code_text(r, x)))
		return;
	if (count_kind(r, product, "comment")) {
		rewrite_refuse(r, product, "comments would be lost");
		return;
	}
	rewrite_replace(r, ts_node_start_byte(product), ts_node_end_byte(product),
		arena_printf(
			r->arena, "torch.nn.functional.gelu(%s, approximate=\"tanh\")", code_text(r, x)));
	r->n_places++;
}

static void run(struct rewrite *r)
{
	if (file_has_word(r, "torch"))
		visit_kind(r, r->root, "binary_operator", find_gelu, NULL);
}

const struct codemod codemod_py_gelu = {
	{"gelu", "the tanh form of GELU in one kernel", "activation_fusion", "forward,backward",
		"0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))) of one variable, spelt with "
		"torch.pow, "
		"** or products; another constant is another function",
		LANGUAGE_PYTHON},
	run};
