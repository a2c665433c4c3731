#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "init/init_int.h"

/* Hashing more than this takes long enough to ask first. */
#define DATA_BYTES_MAX ((double)(1LL << 30))
enum { DATA_ENTRIES_MAX = 20000, DATA_DEPTH_MAX = 8 };

/* Words in a file's name that say what it must not change. */
static const struct {
	const char *word, *reason;
	bool is_python; /* only there */
} frozen_words[] = {
	{"data", "data loading"},
	{"dataset", "data loading"},
	{"dataloader", "data loading"},
	{"loader", "data loading"},
	{"loading", "data loading", true},
	{"corpus", "data loading"},
	{"tokenizer", "data loading"},
	{"token", "data loading"},
	{"batch", "data loading"},
	{"random", "random numbers: weights and data order come from them"},
	{"rng", "random numbers: weights and data order come from them"},
	{"seed", "random numbers: weights and data order come from them"},
	{"eval", "evaluation"},
	{"evaluate", "evaluation"},
	{"validate", "evaluation"},
	{"validation", "evaluation"},
	{"accuracy", "evaluation"},
	{"timer", "timing"},
	{"time", "timing"},
	{"timing", "timing"},
	{"clock", "timing"},
	{"hook", "what is measured"},
	{"report", "what is reported"},
	{"logger", "what is reported"},
	{"metrics", "what is reported"},
	{"options", "the command line: where the contract's numbers are checked"},
	{"args", "the command line: where the contract's numbers are checked"},
	{"config", "the model's shape"},
	{"hparams", "the model's shape"},
	{"test", "a test"},
	{"check", "a test"},
	{"bench", "a benchmark"},
};

static bool name_has_word(const char *path, const char *word)
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	size_t n = strlen(word);
	for (const char *p = base; *p && *p != '.';) {
		size_t length = strcspn(p, "_-.");
		bool is_plural = length == n + 1 && p[n] == 's';
		if ((length == n || is_plural) && strncasecmp(p, word, n) == 0)
			return true;
		p += length;
		p += strspn(p, "_-");
	}
	return false;
}

static const char *frozen_reason(const char *path, bool is_python)
{
	for (size_t i = 0; i < ARRAY_LEN(frozen_words); i++)
		if (frozen_words[i].is_python <= is_python && name_has_word(path, frozen_words[i].word))
			return frozen_words[i].reason;
	if (strncmp(path, "tests/", 6) == 0 || strncmp(path, "test/", 5) == 0)
		return "a test";
	return NULL;
}

/* The path as a pattern that matches it and, short of look-alikes, nothing else. */
static const char *as_pattern(struct arena *arena, const char *path)
{
	char *pattern = arena_strdup(arena, path);
	for (char *p = pattern; *p; p++)
		if (strchr("*[", *p))
			*p = '?';
	return pattern;
}

static void add_pattern(
	struct proposal *p, struct proposed_files *list, const char *pattern, const char *reason)
{
	if (list->count >= 512)
		return;
	list->items = init_grow(p->arena, list->items, list->count, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = (struct proposed_file){pattern, reason};
}

static void add_file(struct proposal *p, struct proposed_files *list, const char *path, const char *reason)
{
	if (is_clean_text(path))
		add_pattern(p, list, as_pattern(p->arena, path), reason);
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n > m && strcmp(path + n - m, suffix) == 0;
}

static bool is_program_source(const struct make_facts *make, const char *path)
{
	for (size_t i = 0; i < make->n_sources; i++)
		if (strcmp(make->sources[i], path) == 0)
			return true;
	return make->n_sources == 0;
}

struct folder_size {
	double bytes;
	long entries;
};

static void add_folder(int parent, const char *name, int depth, struct folder_size *size)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		close_fd(&fd);
		return;
	}
	struct dirent *entry;
	while ((entry = readdir(dir)) && size->entries < DATA_ENTRIES_MAX) {
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DATA_DEPTH_MAX) {
			add_folder(dirfd(dir), entry->d_name, depth + 1, size);
		} else if (S_ISREG(st.st_mode)) {
			size->bytes += (double)st.st_size;
			size->entries++;
		}
	}
	closedir(dir);
}

/* Data folders count as they lie on disk: git often ignores them. */
static void freeze_data_folders(const struct repo *repo, struct proposal *p)
{
	static const char *const names[] = {"data", "corpus", "dataset", "datasets", "tokens"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", repo->dir, names[i]);
		struct folder_size size = {0};
		add_folder(AT_FDCWD, path, 0, &size);
		if (size.bytes > DATA_BYTES_MAX || size.entries >= DATA_ENTRIES_MAX)
			proposal_add_note(p,
				"%s/ is large (%.1f GiB or more): add \"%s/**\" to frozen_files when hashing "
				"it once a trial is acceptable",
				names[i], size.bytes / DATA_BYTES_MAX, names[i]);
		else if (size.entries)
			add_pattern(p, &p->frozen, arena_printf(p->arena, "%s/**", names[i]), "the data");
	}
}

static bool is_in_data_folder(const struct proposal *p, const char *path)
{
	for (size_t i = 0; i < p->frozen.count; i++)
		if (strcmp(p->frozen.items[i].reason, "the data") == 0 &&
			glob_match(p->frozen.items[i].pattern, path))
			return true;
	return false;
}

static void find_patches(struct repo *repo, struct proposal *p)
{
	for (size_t i = 0; i < repo->n_files && !p->patches_dir; i++) {
		const char *path = repo->files[i];
		bool is_diff = has_suffix(path, ".diff") || has_suffix(path, ".patch");
		if (is_diff && strncmp(path, "patches/", 8) == 0 && !strchr(path + 8, '/'))
			p->patches_dir = "patches";
	}
}

/* A loss file stays editable, with a word of warning: a faster loss is a common and honest patch, and what
 * the loss is worth is held by the contract's tolerance. */
void propose_files(
	struct repo *repo, const struct make_facts *make, const struct source_facts *c, struct proposal *p)
{
	freeze_data_folders(repo, p);
	for (size_t i = 0; i < repo->n_files; i++) {
		const char *path = repo->files[i];
		bool is_source = has_suffix(path, c->is_python ? ".py" : ".c");
		bool is_header = !c->is_python && has_suffix(path, ".h");
		if ((!is_source && !is_header) || is_in_data_folder(p, path))
			continue;
		const char *reason = frozen_reason(path, c->is_python);
		if (reason)
			add_file(p, &p->frozen, path, reason);
		else if (is_header || is_program_source(make, path))
			add_file(p, &p->editable, path,
				name_has_word(path, "loss") ? "the loss: freeze it to keep patches out"
							    : NULL);
	}
	if (make->file)
		add_file(p, &p->frozen, make->file, "the build: only its variables may vary");
	for (size_t i = 0; i < make->n_included; i++)
		add_file(p, &p->frozen, make->included[i], "the build");
	find_patches(repo, p);
}
