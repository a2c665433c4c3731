#include "base/base.h"

#include <string.h>

#include "adapter/line_parts_int.h"
#include "adapter/reader_dictionary_int.h"

enum part { PART_PERCENT = 1, PART_DICTIONARY = 2, PART_BAR = 4, PART_BAR_VALUES = 8, PART_RECORD = 16 };

static bool is_news(struct line_parts *parts, enum part part)
{
	bool news = !(parts->known & part);
	parts->known |= part;
	return news;
}

const char *line_percent(const struct log_line *line)
{
	if (is_news(line->parts, PART_PERCENT))
		line->parts->percent = strstr(line->text, "%|");
	return line->parts->percent;
}

const char *line_dictionary(const struct log_line *line)
{
	if (is_news(line->parts, PART_DICTIONARY))
		line->parts->dictionary = dictionary_begin(line->text);
	return line->parts->dictionary;
}

const struct line_record *line_record(
	const struct log_line *line, void (*read)(const char *dictionary, struct line_record *ret_record))
{
	if (is_news(line->parts, PART_RECORD))
		read(line_dictionary(line), &line->parts->record);
	return &line->parts->record;
}

const struct progress_bar *line_bar(const struct log_line *line)
{
	struct line_parts *parts = line->parts;
	if (is_news(parts, PART_BAR))
		parts->has_bar = read_progress_bar(line->text, &parts->bar);
	return parts->has_bar ? &parts->bar : NULL;
}

const struct field_set *line_bar_values(const struct log_line *line)
{
	struct line_parts *parts = line->parts;
	if (is_news(parts, PART_BAR_VALUES))
		line_values_of_bar(line, line_bar(line), &parts->bar_values);
	return &parts->bar_values;
}

void line_values_of_bar(
	const struct log_line *line, const struct progress_bar *bar, struct field_set *ret_set)
{
	bar_values(bar->postfix, &line->parts->bar_keys, ret_set);
}
