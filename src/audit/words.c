#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/words.h"

static const char *const vocabulary[WORDS_COUNT] = {
	[WORDS_UPDATE] = " optimizer optim adam adamw sgd lion muon lamb adagrad step clip clipping decay "
			 "zero ema backward bwd allreduce reduce reducescatter scatter grad grads gradient "
			 "gradients scheduler momentum swa aux averages polyak auxiliary balance regularize "
			 "regularizer dropout scaler unscale "
			 "synchronize_gradients ",
	[WORDS_WORK] = " forward fwd backward bwd loss attention attn layer layers mlp moe expert experts "
		       "logits softmax "
		       "model crossentropy entropy embed embedding train matmul gemm head router ",
	[WORDS_DATA] = " data dataset dataloader loader corpus batch batches row rows sample samples tokens "
		       "shard ids prefetch ",
	[WORDS_LOADER] = " data dataset dataloader loader load corpus batches sampler shard prefetch ",
	[WORDS_RANDOM] = " rng rand random srand seed seeded drand erand lrand mrand shuffle permute "
			 "permutation xorshift "
			 "pcg splitmix philox uniform gaussian bernoulli ",
	[WORDS_REPORT] = " infrarsi report telemetry emit metrics ",
	[WORDS_RESULT] = " loss losses norm gnorm gradnorm ppl perplexity accuracy tokens digest balance nll "
			 "peak mem ",
	[WORDS_TIME] = " clock wtime timer timers elapsed stopwatch tic toc now gettime gettimeofday rdtsc "
		       "rdtscp time times seconds secs millis micros nanos msec usec nsec ms us ns dt "
		       "duration timestamp tstart tend started finished tv ts timing ",
	[WORDS_STEP] = " step steps iter iters iteration iterations update updates itr epoch epochs warmup ",
	[WORDS_SIZE] =
		" batch seq sequence layers layer heads experts expert topk vocab hidden accum accumulation "
		"micro window context capacity steps updates iterations seqlen nlayer nhead nembd active "
		"samples epochs tokens ",
	[WORDS_HYPER] =
		" decay wd clip clipping beta betas eps epsilon momentum rate lr dropout smoothing aux zloss "
		"coefficient coeff lambda regularization ema limit correction warmup floor peak maxnorm "
		"penalty temperature ",
	[WORDS_LOG] = " printf fprintf puts fputs putchar fflush perror log logging print snprintf vprintf "
		      "vfprintf debug trace warn warning verbose dump show profiling fputc write_log ",
	[WORDS_STALE] = " prev previous last cached cache stale old saved ref reference recorded golden "
			"replay replayed "
			"smooth smoothed smoothing average avg ",
	[WORDS_ALLOCATE] =
		" malloc calloc realloc alloc free memalign mmap munmap aligned arena buffer reserve madvise "
		"workspace ",
	[WORDS_REDUCED] =
		" half fp half2 bf bfloat float16 bfloat16 bf16 fp16 fp8 fp4 int8 int4 uint8 e4m3 e5m2 nf4 "
		"quant quantize quantized quantise dequantize dequant f16 fixedpoint compress compressed "
		"truncate lowp ",
	[WORDS_THREAD] = " thread threads tid rank worker omp ",
	[WORDS_TILE] = " tile tiles block blocking chunk chunks unroll buffer bytes align alignment vector "
		       "lanes panel simd cache "
		       "stripe scratch grain ",
	[WORDS_FAMILY] =
		" adam adamw sgd lion muon lamb adagrad adafactor rmsprop momentum nesterov shampoo sophia ",
};

static bool listed(const char *word, size_t length, enum words list)
{
	char key[40];
	if (!length || length > sizeof(key) - 3)
		return false;
	key[0] = ' ';
	for (size_t i = 0; i < length; i++)
		key[i + 1] = (char)tolower((unsigned char)word[i]);
	key[length + 1] = ' ';
	key[length + 2] = '\0';
	return strstr(vocabulary[list], key) != NULL;
}

/* A word ends at an underscore or before a capital that follows a small letter. */
static size_t word_length(const char *at, size_t left)
{
	size_t n = 0;
	while (n < left && at[n] != '_' &&
		(n == 0 || !isupper((unsigned char)at[n]) || !islower((unsigned char)at[n - 1])))
		n++;
	return n;
}

/* step_s, wall_s: a unit of time at the end of a name, not of a word by itself. */
static bool ends_in_seconds(const char *name, size_t length)
{
	return length > 2 && name[length - 2] == '_' && name[length - 1] == 's';
}

static bool word_in_span(const char *name, size_t length, enum words list)
{
	if (ends_in_seconds(name, length))
		return list == WORDS_TIME;
	for (size_t i = 0; i < length;) {
		if (name[i] == '_') {
			i++;
			continue;
		}
		size_t n = word_length(name + i, length - i), letters = n;
		while (letters && isdigit((unsigned char)name[i + letters - 1]))
			letters--;
		if (listed(name + i, n, list) || (list != WORDS_REDUCED && listed(name + i, letters, list)))
			return true;
		/* two words that are written as one elsewhere: top_k, z_loss, all_reduce */
		size_t next = i + n + 1;
		if (next < length && name[i + n] == '_') {
			char joined[40];
			size_t m = word_length(name + next, length - next);
			if (n + m < sizeof(joined)) {
				memcpy(joined, name + i, n);
				memcpy(joined + n, name + next, m);
				if (listed(joined, n + m, list))
					return true;
			}
		}
		i += n;
	}
	return false;
}

bool word_in(const char *name, enum words list)
{
	return word_in_span(name, strlen(name), list);
}

bool name_is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool next_token(const char **at, struct token *ret_token)
{
	const char *p = *at;
	while (*p == ' ')
		p++;
	if (!*p)
		return false;
	ret_token->text = p;
	ret_token->length = strcspn(p, " ");
	*at = p + ret_token->length;
	return true;
}

bool token_is(const struct token *token, const char *text)
{
	return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}

static bool is_name(const struct token *token)
{
	return isalpha((unsigned char)token->text[0]) || token->text[0] == '_';
}

bool text_has_token(const char *text, const char *token)
{
	struct token t;
	while (next_token(&text, &t))
		if (token_is(&t, token))
			return true;
	return false;
}

bool text_has_word(const char *text, enum words list)
{
	struct token t;
	while (next_token(&text, &t))
		if (is_name(&t) && word_in_span(t.text, t.length, list))
			return true;
	return false;
}

bool text_contains(const char *text, const char *part)
{
	size_t length = strlen(part);
	if (!length)
		return false;
	for (const char *at = text; (at = strstr(at, part)); at++)
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

bool text_is_literal(const char *text)
{
	struct token t;
	size_t numbers = 0;
	while (next_token(&text, &t)) {
		bool number = isdigit((unsigned char)t.text[0]) || t.text[0] == '.' || t.text[0] == '\'';
		if (!number && !strchr("()-+", t.text[0]))
			return false;
		numbers += number;
	}
	return numbers == 1;
}

bool text_has_identifier(const char *text)
{
	struct token t;
	while (next_token(&text, &t))
		if (is_name(&t))
			return true;
	return false;
}

bool text_has_real(const char *text)
{
	struct token t;
	while (next_token(&text, &t)) {
		if (!isdigit((unsigned char)t.text[0]) && t.text[0] != '.')
			continue;
		bool hex = t.length > 1 && (t.text[1] == 'x' || t.text[1] == 'X');
		if (!hex && (memchr(t.text, '.', t.length) || memchr(t.text, 'e', t.length)) && t.length > 1)
			return true;
	}
	return false;
}

double text_number(const char *text)
{
	struct token t;
	bool negative = false;
	if (!text_is_literal(text))
		return NAN;
	while (next_token(&text, &t)) {
		if (t.text[0] == '-')
			negative = !negative;
		if (isdigit((unsigned char)t.text[0]) || t.text[0] == '.')
			return negative ? -strtod(t.text, NULL) : strtod(t.text, NULL);
	}
	return NAN;
}

bool text_has_new_number(const char *now, const char *before)
{
	struct token t;
	while (next_token(&now, &t)) {
		char text[40] = "";
		memcpy(text, t.text, MIN_OF(t.length, sizeof(text) - 1));
		double number = text_number(text);
		if (!isnan(number) && number != 0 && number != 1 && !text_has_token(before, text))
			return true;
	}
	return false;
}
