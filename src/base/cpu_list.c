#include "base/base.h"

#include <ctype.h>

#include "base/cpu_list.h"

/* Digits only; takes them off *cursor. -1: none, or too large. */
static int take_number(const char **cursor)
{
	int number = 0;
	const char *p = *cursor;
	if (!isdigit((unsigned char)*p))
		return -1;
	for (; isdigit((unsigned char)*p); p++) {
		number = 10 * number + (*p - '0');
		if (number >= CPU_SETSIZE)
			return -1;
	}
	*cursor = p;
	return number;
}

bool cpu_list_parse(const char *text, cpu_set_t *ret_set)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	for (const char *p = text;; p++) {
		int first = take_number(&p), last = first;
		if (first >= 0 && *p == '-') {
			p++;
			last = take_number(&p);
		}
		if (first < 0 || last < first || (*p && *p != ','))
			return false;
		for (int cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, &set);
		if (!*p)
			break;
	}
	*ret_set = set;
	return true;
}
