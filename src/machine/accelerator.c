#include "base/base.h"

#include <ctype.h>
#include <glob.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "machine/accelerator.h"

/* Words of device names, the longer before what it contains. H800 is an H100 with less NVLink. */
static const struct {
	const char *word, *class;
} classes[] = {
	{"GH200", "gh200"},
	{"GB200", "gb200"},
	{"GB300", "gb300"},
	{"H200", "h200"},
	{"H100", "h100"},
	{"H800", "h100"},
	{"H20", "h20"},
	{"A100", "a100"},
	{"B200", "b200"},
	{"MI300X", "mi300x"},
	{"TITAN RTX", "titan_rtx_pcie"},
};

/* An RTX A1000 is no A100. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool begins = at == text || !isalnum((unsigned char)at[-1]);
		if (begins && !isalnum((unsigned char)at[length]))
			return true;
	}
	return false;
}

const char *accelerator_class_of(const char *device)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (has_word(device, classes[i].word))
			return classes[i].class;
	return NULL;
}

/* One file for each device of that driver, with the device's name somewhere in it. */
static const char *const places[] = {
	"/proc/driver/nvidia/gpus/*/information",   /* "Model: \t\t NVIDIA H100 80GB HBM3" */
	"/sys/class/drm/card*/device/product_name", /* amdgpu: "AMD Instinct MI300X" */
};

const char *accelerator_class(void)
{
	const char *found = NULL;
	for (size_t i = 0; i < ARRAY_LEN(places) && !found; i++) {
		glob_t files;
		if (glob(places[i], 0, NULL, &files) != 0)
			continue;
		for (size_t k = 0; k < files.gl_pathc && !found; k++) {
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
			struct err ignored = ERR_INIT;
			if (file_read(files.gl_pathv[k], 1 << 16, &text, &ignored) != OK)
				continue;
			const char *class = accelerator_class_of(text.buf);
			found = class ? class : "any";
		}
		globfree(&files);
	}
	return found;
}
