/* Readers of /proc and the control groups. Their text is the kernel's, but may be another machine's in a test
 * or a container: nothing is assumed about it. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "machine/machine.h"
#include "machine/machine_int.h"

/* The first line "name<blanks>: value": start and length of the value, or NULL. */
static const char *field_value(const char *text, const char *name, size_t *ret_length)
{
	size_t name_length = strlen(name);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, name_length) != 0)
			continue;
		const char *p = line + name_length;
		p += strspn(p, " \t");
		if (*p != ':')
			continue;
		p += 1 + strspn(p + 1, " \t");
		*ret_length = strcspn(p, "\n");
		return p;
	}
	return NULL;
}

static bool has_word(const char *words, size_t length, const char *word)
{
	size_t word_length = strlen(word);
	for (size_t i = 0; i < length;) {
		const char *p = words + i;
		size_t n = 0;
		while (i + n < length && p[n] != ' ' && p[n] != '\t')
			n++;
		if (n == word_length && memcmp(p, word, n) == 0)
			return true;
		i += n + 1;
	}
	return false;
}

static void list_features(const char *flags, size_t length, char *features, size_t size)
{
	/* As the kernel spells them; x86 ("flags"), then aarch64 ("Features"). */
	static const char *const names[] = {"fma", "avx", "avx2", "avx_vnni", "avx512f", "avx512bw",
		"avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "asimd",
		"asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "sme"};
	size_t used = 0;
	features[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!has_word(flags, length, names[i]))
			continue;
		int n = snprintf(features + used, size - used, "%s%s", used ? "," : "", names[i]);
		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

/* One space where there are several: vendors pad their names. */
static void copy_squeezed(char *to, size_t size, const char *from, size_t length)
{
	size_t used = 0;
	for (size_t i = 0; i < length && used + 1 < size; i++)
		if (from[i] != ' ' || (used && to[used - 1] != ' '))
			to[used++] = from[i];
	while (used && to[used - 1] == ' ')
		used--;
	to[used] = '\0';
}

void cpuinfo_parse(const char *text, struct machine *m)
{
	static const char *const models[] = {"model name", "Model", "cpu model", "cpu"};
	static const char *const flags[] = {"flags", "Features"};
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(models) && !m->cpu[0]; i++) {
		const char *model = field_value(text, models[i], &n);
		if (model)
			copy_squeezed(m->cpu, sizeof(m->cpu), model, n);
	}
	size_t implementer_n = 0, part_n = 0;
	const char *implementer = field_value(text, "CPU implementer", &implementer_n);
	const char *part = field_value(text, "CPU part", &part_n);
	if (!m->cpu[0] && implementer && part) /* aarch64 gives numbers, no name */
		snprintf(m->cpu, sizeof(m->cpu), "implementer %.*s part %.*s", (int)MIN_OF(implementer_n, 16),
			implementer, (int)MIN_OF(part_n, 16), part);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		const char *words = field_value(text, flags[i], &n);
		if (!words)
			continue;
		list_features(words, n, m->features, sizeof(m->features));
		m->virtualised |= has_word(words, n, "hypervisor");
		break;
	}
}

double meminfo_bytes(const char *text, const char *name)
{
	size_t n = 0;
	const char *value = field_value(text, name, &n);
	double kilobytes = 0;
	if (value && sscanf(value, "%lf", &kilobytes) == 1 && kilobytes > 0 && isfinite(kilobytes))
		return 1024 * kilobytes;
	return 0;
}

/* The least of the limits that the folders from root/path up to root hold. */
static double least_limit_upwards(const char *root, const char *path, const char *file)
{
	double least = INFINITY;
	CLEANUP(free_ptr) char *folder = xasprintf("%s%s", root, path);
	for (size_t length = strlen(folder); length >= strlen(root);) {
		folder[length] = '\0';
		CLEANUP(free_ptr) char *name = xasprintf("%s/%s", folder, file);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		double limit;
		if (file_read(name, 4096, &text, NULL) == OK) {
			text.buf[strcspn(text.buf, "\n")] = '\0';
			if (parse_number(text.buf, &limit) && limit > 0 && limit < least)
				least = limit; /* "max" is not a number and no limit */
		}
		while (length > 0 && folder[length - 1] != '/')
			length--;
		if (length == 0)
			break;
		length--;
	}
	return least;
}

double cgroup_memory_limit(const char *root, const char *membership)
{
	double least = INFINITY;
	CLEANUP(free_ptr) char *legacy_root = xasprintf("%s/memory", root);
	for (const char *line = membership; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* "0::/path" is version 2, "4:memory:/path" version 1 */
		const char *controllers = strchr(line, ':');
		const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		size_t n = strcspn(line, "\n");
		if (!path || (size_t)(path - line) >= n)
			continue;
		CLEANUP(free_ptr)
		char *folder = xasprintf("%.*s", (int)(n - (size_t)(path + 1 - line)), path + 1);
		double limit = INFINITY;
		if (path == controllers + 1)
			limit = least_limit_upwards(root, folder, "memory.max");
		else if (strncmp(controllers, ":memory:", 8) == 0)
			limit = least_limit_upwards(legacy_root, folder, "memory.limit_in_bytes");
		least = fmin(least, limit);
	}
	return least;
}

double memory_usable_bytes(void)
{
	double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (file_read("/proc/meminfo", FILE_CAP_DEFAULT, &text, NULL) == OK) {
		double total = meminfo_bytes(text.buf, "MemTotal");
		bytes = total > 0 ? total : bytes;
	}
	if (file_read("/proc/self/cgroup", FILE_CAP_DEFAULT, &text, NULL) == OK)
		bytes = fmin(bytes, cgroup_memory_limit("/sys/fs/cgroup", text.buf));
	return bytes > 0 ? bytes : 0;
}
