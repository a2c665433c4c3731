#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/chunk.h"
#include "patch/loose_diff.h"
#include "patch/nearest.h"

enum { PLACES_SHOWN = 8, BYTES_OF_A_COMPARISON = 32 };

/* How a line of the file may differ from that of a hunk; each allows what those before it do. */
enum fit { FIT_EXACT, FIT_LOST_BLANK, FIT_LINE_ENDS, N_FITS };

/* The lines of a hunk that are believed to belong to it. */
struct reading {
	struct diff_line *lines;
	size_t n_lines;
	struct text_line *olds;    /* context and removed lines */
	struct text_line *chopped; /* the same without white space at their ends */
	bool *is_context; /* of each: marked as such, so the blank before it may be part of the text */
	size_t n_olds;
	bool is_trusted; /* its counts are those of the @@ line, so the line's place is believed */
	size_t stated;   /* 0-based place that the @@ line names */
};

struct applying {
	const char *name;
	const struct diff_file *file;
	struct text_lines old;
	struct text_line *chopped; /* old lines without white space at their ends; by malloc */
	struct arena *arena;
	size_t *work_left;
	struct chunk_list chunks;
	struct err *reterr;
};

struct found {
	size_t places[PLACES_SHOWN];
	size_t count; /* PLACES_SHOWN + 1 = more */
};

static enum err_code refuse(const struct applying *a, size_t hunk, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT;
	strbuf_add_escaped(&path, a->file->path, MIN_OF(strlen(a->file->path), (size_t)300));
	return err_set_at(a->reterr, ERR_INPUT, a->name, a->file->hunks[hunk].place, 0,
		"hunk %zu of %s does not apply: %s", hunk + 1, path.buf, text);
}

/* ---- what a hunk says ---- */

static void list_olds(struct reading *r, struct arena *arena)
{
	r->olds = arena_array(arena, r->n_lines + 1, sizeof(*r->olds));
	r->chopped = arena_array(arena, r->n_lines + 1, sizeof(*r->chopped));
	r->is_context = arena_array(arena, r->n_lines + 1, sizeof(*r->is_context));
	for (size_t i = 0; i < r->n_lines; i++) {
		const struct diff_line *line = &r->lines[i];
		if (line->kind == '+')
			continue;
		r->is_context[r->n_olds] = line->kind == ' ';
		r->olds[r->n_olds] = (struct text_line){line->text, line->length};
		r->chopped[r->n_olds] = text_line_chop(r->olds[r->n_olds]);
		r->n_olds++;
	}
}

static void set_trust(struct reading *r, const struct diff_hunk *hunk)
{
	size_t news = 0;
	for (size_t i = 0; i < r->n_lines; i++)
		news += r->lines[i].kind != '-';
	r->is_trusted =
		hunk->has_place && (size_t)hunk->stated_old == r->n_olds && (size_t)hunk->stated_new == news;
	/* with no old lines, the start names the line before the insertion */
	r->stated = (size_t)hunk->old_start - (hunk->old_start > 0 && r->n_olds > 0);
}

/* Empty lines behind the hunk's last: part of it as far as the counts of the @@ line ask for them. */
static size_t wanted_bare_lines(const struct diff_hunk *hunk)
{
	int missing = hunk->stated_old - hunk->old_count;
	bool asked = hunk->has_place && missing > 0 && (size_t)missing <= hunk->n_bare_end &&
		     hunk->stated_new - hunk->new_count == missing;
	return asked ? (size_t)missing : 0;
}

static void read_whole(const struct diff_hunk *hunk, struct arena *arena, struct reading *ret_reading)
{
	struct reading r = {.n_lines = hunk->n_lines};
	size_t bare = wanted_bare_lines(hunk);
	r.lines = arena_array(arena, hunk->n_lines + bare, sizeof(*r.lines));
	memcpy(r.lines, hunk->lines, hunk->n_lines * sizeof(*r.lines));
	for (; bare; bare--)
		r.lines[r.n_lines++] = (struct diff_line){'?', "", 0, false};
	list_olds(&r, arena);
	set_trust(&r, hunk);
	*ret_reading = r;
}

/* Lines without a mark at the end are what somebody wrote below the diff, where an empty line or the counts
 * set them off; otherwise they are lines that lost their mark. */
static bool read_without_tail(const struct reading *whole, const struct diff_hunk *hunk, struct arena *arena,
	struct reading *ret_reading)
{
	struct reading r = {.lines = whole->lines, .n_lines = whole->n_lines};
	while (r.n_lines && r.lines[r.n_lines - 1].kind == '?')
		r.n_lines--;
	list_olds(&r, arena);
	set_trust(&r, hunk);
	*ret_reading = r;
	return r.n_lines < whole->n_lines && (r.is_trusted || !r.lines[r.n_lines].length);
}

/* ---- where it stands ---- */

static void spend(struct applying *a, size_t work)
{
	*a->work_left -= MIN_OF(work, *a->work_left);
}

static bool compare(struct applying *a, struct text_line x, struct text_line y)
{
	spend(a, 1 + (x.length == y.length ? x.length / BYTES_OF_A_COMPARISON : 0));
	return *a->work_left && text_line_equal(x, y);
}

static bool line_fits(struct applying *a, const struct reading *r, size_t index, size_t place, enum fit fit)
{
	struct text_line line = fit == FIT_LINE_ENDS ? r->chopped[index] : r->olds[index];
	struct text_line found = fit == FIT_LINE_ENDS ? a->chopped[place] : a->old.items[place];
	if (compare(a, line, found))
		return true;
	if (fit == FIT_EXACT || !r->is_context[index] || (fit == FIT_LINE_ENDS && !line.length))
		return false;
	return compare(a, (struct text_line){line.text - 1, line.length + 1}, found);
}

static bool fits_at(struct applying *a, const struct reading *r, size_t place, enum fit fit)
{
	if (place > a->old.count || a->old.count - place < r->n_olds)
		return false;
	for (size_t i = 0; i < r->n_olds; i++)
		if (!line_fits(a, r, i, place + i, fit))
			return false;
	return true;
}

static void find_places(struct applying *a, const struct reading *r, enum fit fit, struct found *ret_found)
{
	struct found found = {.count = 0};
	for (size_t place = 0; place + r->n_olds <= a->old.count && found.count <= PLACES_SHOWN; place++) {
		if (!fits_at(a, r, place, fit))
			continue;
		if (found.count < PLACES_SHOWN)
			found.places[found.count] = place;
		found.count++;
	}
	*ret_found = found;
}

static enum err_code refuse_ambiguous(const struct applying *a, size_t hunk, const struct found *found)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	size_t shown = MIN_OF(found->count, (size_t)PLACES_SHOWN);
	strbuf_addf(
		&text, "it fits in %s%zu places: at line", found->count > shown ? "more than " : "", shown);
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(&text, "%s %zu",
			i == 0           ? ""
			: i + 1 == shown ? " and"
					 : ",",
			found->places[i] + 1);
	strbuf_addstr(&text, "; give it more context lines, or the right line and counts after @@");
	return refuse(a, hunk, text.buf);
}

static enum err_code refuse_unfound(const struct applying *a, size_t hunk, const struct reading *r)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct nearest nearest;
	const struct wanted wanted = {.lines = r->olds, .count = r->n_olds};
	strbuf_addstr(&text, "its context and removed lines are not in the file; ");
	if (nearest_find(&a->old, &wanted, &nearest))
		nearest_describe(&nearest, a->file->path, &text);
	else
		strbuf_addstr(&text, "nothing there is similar");
	return refuse(a, hunk, text.buf);
}

/* A hunk of added lines alone. */
static enum err_code locate_insertion(
	struct applying *a, size_t hunk, const struct reading *r, size_t *ret_place)
{
	bool names_place = r->is_trusted && r->stated <= a->old.count;
	if (!names_place && a->old.count)
		return refuse(a, hunk,
			"it has only added lines, and its @@ line does not say where they go: give it "
			"context lines");
	*ret_place = names_place ? r->stated : 0;
	return OK;
}

/* The place that the @@ line names needs no search. */
static bool stands_as_stated(struct applying *a, const struct reading *r, enum fit fit)
{
	return r->is_trusted && fits_at(a, r, r->stated, fit);
}

static enum err_code locate_in(struct applying *a, size_t hunk, const struct reading *r, bool *ret_found,
	size_t *ret_place, enum fit *ret_fit)
{
	*ret_found = false;
	for (enum fit fit = FIT_EXACT; fit < N_FITS; fit++) {
		struct found found;
		find_places(a, r, fit, &found);
		if (!*a->work_left)
			return err_set_at(a->reterr, ERR_LIMIT, a->name, a->file->hunks[hunk].place, 0,
				"hunk %zu and the file are too repetitive to be compared", hunk + 1);
		if (!found.count)
			continue;
		bool stated = stands_as_stated(a, r, fit);
		if (found.count > 1 && !stated)
			return refuse_ambiguous(a, hunk, &found);
		*ret_found = true;
		*ret_place = stated ? r->stated : found.places[0];
		*ret_fit = fit;
		return OK;
	}
	return OK;
}

static enum err_code locate(
	struct applying *a, size_t hunk, struct reading *ret_reading, size_t *ret_place, enum fit *ret_fit)
{
	const struct diff_hunk *h = &a->file->hunks[hunk];
	struct reading readings[2];
	read_whole(h, a->arena, &readings[0]);
	size_t n = read_without_tail(&readings[0], h, a->arena, &readings[1]) ? 2 : 1;
	bool found = false;
	*ret_fit = FIT_EXACT;
	for (size_t i = 0; i < n && !found; i++) {
		*ret_reading = readings[i];
		if (!readings[i].n_olds)
			return locate_insertion(a, hunk, &readings[i], ret_place);
		found = stands_as_stated(a, &readings[i], FIT_EXACT);
		*ret_place = readings[i].stated;
	}
	for (size_t i = 0; i < n && !found; i++) {
		*ret_reading = readings[i];
		TRY(locate_in(a, hunk, &readings[i], &found, ret_place, ret_fit));
	}
	return found ? OK : refuse_unfound(a, hunk, &readings[n - 1]);
}

/* ---- what it makes of the file ---- */

static void set_line_end(struct diff_line *line, bool with_return, struct arena *arena)
{
	struct text_line text = {line->text, line->length};
	if (text_line_has_return(text) == with_return)
		return;
	size_t length = line->length - !with_return;
	char *copy = arena_alloc(arena, length + 2);
	memcpy(copy, line->text, length);
	if (with_return)
		copy[length++] = '\r';
	line->text = copy;
	line->length = length;
}

/* Added lines end as the line of the file before them does, or behind them at its beginning. */
static void adopt_line_ends(const struct applying *a, struct reading *r, size_t place)
{
	size_t at = place, near = place ? place - 1 : 0;
	struct diff_line *lines = arena_array(a->arena, r->n_lines, sizeof(*lines));
	if (!a->old.count)
		return;
	memcpy(lines, r->lines, r->n_lines * sizeof(*lines));
	for (size_t i = 0; i < r->n_lines; i++) {
		if (lines[i].kind != '+')
			near = at++;
		else
			set_line_end(&lines[i], text_line_has_return(a->old.items[near]), a->arena);
	}
	r->lines = lines;
}

static bool changes_something(const struct reading *r)
{
	for (size_t i = 0; i < r->n_lines; i++)
		if (r->lines[i].kind == '+' || r->lines[i].kind == '-')
			return true;
	return false;
}

static enum err_code place_hunk(struct applying *a, size_t hunk)
{
	struct reading r;
	size_t place = 0;
	enum fit fit = FIT_EXACT;
	TRY(locate(a, hunk, &r, &place, &fit));
	if (!changes_something(&r))
		return refuse(a, hunk, "it has no line that begins with '+' or '-'");
	if (fit == FIT_LINE_ENDS || !r.n_olds)
		adopt_line_ends(a, &r, place);
	const struct diff_hunk placed = {.lines = r.lines, .n_lines = r.n_lines};
	chunk_list_add_hunk(&a->chunks, &placed, place, (int)hunk + 1, a->arena);
	return OK;
}

static enum err_code check_apart(const struct applying *a)
{
	for (size_t i = 1; i < a->chunks.count; i++) {
		const struct chunk *before = &a->chunks.items[i - 1], *c = &a->chunks.items[i];
		bool same_gap = c->at == before->at && !c->n_old && !before->n_old;
		if (c->at >= before->at + before->n_old && !same_gap)
			continue;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "hunk %d changes the same place, ", MIN_OF(before->hunk, c->hunk));
		chunk_describe(c, &text);
		return refuse(a, (size_t)MAX_OF(before->hunk, c->hunk) - 1, text.buf);
	}
	return OK;
}

static enum err_code change_file(struct applying *a, struct strbuf *ret_text)
{
	for (size_t i = 0; i < a->file->n_hunks; i++)
		TRY(place_hunk(a, i));
	chunk_list_sort(&a->chunks);
	TRY(check_apart(a));
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	chunk_list_apply(&a->chunks, &a->old, &text);
	if (a->file->deleted && text.len)
		return refuse(a, 0, "it deletes the file but does not remove all of its lines");
	strbuf_release(ret_text);
	*ret_text = text;
	text = (struct strbuf)STRBUF_INIT;
	return OK;
}

static enum err_code create_file(const struct applying *a, struct strbuf *ret_text)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	bool finished = true;
	for (size_t h = 0; h < a->file->n_hunks; h++) {
		const struct diff_hunk *hunk = &a->file->hunks[h];
		if (hunk->old_count || h)
			return refuse(a, h, "there is no such file");
		for (size_t i = 0; i < hunk->n_lines; i++) {
			strbuf_add(&text, hunk->lines[i].text, hunk->lines[i].length);
			strbuf_addch(&text, '\n');
			finished = !hunk->lines[i].no_newline;
		}
	}
	if (!finished)
		text.buf[--text.len] = '\0';
	strbuf_release(ret_text);
	*ret_text = text;
	text = (struct strbuf)STRBUF_INIT;
	return OK;
}

enum err_code loose_diff_apply(const char *name, const struct diff_file *file, const struct old_file *old,
	size_t *work_left, struct arena *arena, struct strbuf *ret_text, struct err *reterr)
{
	struct applying a = {
		.name = name, .file = file, .arena = arena, .work_left = work_left, .reterr = reterr};
	if (!old->exists)
		return create_file(&a, ret_text);
	if (file->created)
		return refuse(&a, 0, "it creates the file, which exists");
	text_lines_split(&a.old, old->text, old->length);
	a.chopped = xcalloc(a.old.count + 1, sizeof(*a.chopped));
	for (size_t i = 0; i < a.old.count; i++)
		a.chopped[i] = text_line_chop(a.old.items[i]);
	enum err_code code = change_file(&a, ret_text);
	free(a.chopped);
	text_lines_release(&a.old);
	chunk_list_release(&a.chunks);
	return code;
}
