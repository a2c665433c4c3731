#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/line_int.h"

/* ---- terminal control ---- */

static bool is_between(char c, unsigned char from, unsigned char below)
{
	return (unsigned char)c >= from && (unsigned char)c < below;
}

/* "[31m": parameters and intermediate bytes, then the final one. */
static const char *behind_control_sequence(const char *p, const char *end)
{
	p++;
	while (p < end && is_between(*p, 0x20, 0x40))
		p++;
	return p < end && is_between(*p, 0x40, 0x7F) ? p + 1 : p;
}

/* "]0;title BEL", or with ESC \ at its end. */
static const char *behind_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\a')
			return p + 1;
		if (*p == '\033')
			return p + 1 < end && p[1] == '\\' ? p + 2 : p;
	}
	return p;
}

/* Behind the escape sequence at p, which begins with ESC (ECMA-48; OSC also ends with BEL). */
static const char *behind_escape(const char *p, const char *end)
{
	p++;
	if (p == end)
		return p;
	if (*p == '[')
		return behind_control_sequence(p, end);
	if (*p && strchr("]P_^", *p))
		return behind_string(p, end);
	while (p < end && is_between(*p, 0x20, 0x30))
		p++;
	return p < end ? p + 1 : p;
}

/* Whether one of eight bytes is below 0x20. */
static bool has_control(uint64_t bytes)
{
	return ((bytes - 0x2020202020202020u) & ~bytes & 0x8080808080808080u) != 0;
}

/* Moves the text up to the next control byte; returns where that is. */
static const char *move_plain(const char *p, const char *end, char **to)
{
	char *target = *to;
	uint64_t bytes;
	for (; end - p >= (ptrdiff_t)sizeof(bytes); p += sizeof(bytes), target += sizeof(bytes)) {
		memcpy(&bytes, p, sizeof(bytes));
		if (has_control(bytes))
			break;
		memcpy(target, &bytes, sizeof(bytes));
	}
	while (p < end && ((unsigned char)*p >= 0x20 || *p == '\t'))
		*target++ = *p++;
	*to = target;
	return p;
}

static const char byte_order_mark[] = "\xEF\xBB\xBF";

bool line_has_controls(const char *text, size_t length)
{
	size_t i = 0;
	uint64_t bytes;
	if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		return true;
	for (; i + sizeof(bytes) <= length; i += sizeof(bytes)) {
		memcpy(&bytes, text + i, sizeof(bytes));
		if (has_control(bytes))
			return true;
	}
	while (i < length && (unsigned char)text[i] >= 0x20)
		i++;
	return i < length;
}

size_t line_without_controls(char *text, size_t length)
{
	const char *p = text, *end = text + length;
	char *to = text;
	if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		p += 3;
	while ((p = move_plain(p, end, &to)) < end)
		p = *p == '\033' ? behind_escape(p, end) : p + 1;
	*to = '\0';
	return (size_t)(to - text);
}

/* ---- docker ---- */

static void put_utf8(char **to, unsigned c)
{
	char *p = *to;
	if (c < 0x80) {
		*p++ = (char)c;
	} else if (c < 0x800) {
		*p++ = (char)(0xC0 | c >> 6);
		*p++ = (char)(0x80 | (c & 0x3F));
	} else if (c < 0x10000) {
		*p++ = (char)(0xE0 | c >> 12);
		*p++ = (char)(0x80 | (c >> 6 & 0x3F));
		*p++ = (char)(0x80 | (c & 0x3F));
	} else {
		*p++ = (char)(0xF0 | c >> 18);
		*p++ = (char)(0x80 | (c >> 12 & 0x3F));
		*p++ = (char)(0x80 | (c >> 6 & 0x3F));
		*p++ = (char)(0x80 | (c & 0x3F));
	}
	*to = p;
}

static bool take_hex4(const char *p, const char *end, unsigned *ret_value)
{
	unsigned value = 0;
	if (end - p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = to_lower(p[i]);
		if (!is_digit(c) && !(c >= 'a' && c <= 'f'))
			return false;
		value = value * 16 + (unsigned)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	*ret_value = value;
	return true;
}

/* The escape at p (behind the backslash); returns behind it, NULL when it is none. Never longer than what it
 * replaces. */
static const char *take_escape(const char *p, const char *end, char **to)
{
	static const char from[] = "nrtbf\"\\/", into[] = "\n\r\t\b\f\"\\/";
	unsigned c, low;
	if (p == end)
		return NULL;
	const char *simple = *p ? strchr(from, *p) : NULL;
	if (simple) {
		*(*to)++ = into[simple - from];
		return p + 1;
	}
	if (*p != 'u' || !take_hex4(p + 1, end, &c))
		return NULL;
	p += 5;
	if (c >= 0xD800 && c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
		take_hex4(p + 2, end, &low) && low >= 0xDC00 && low < 0xE000) {
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
		p += 6;
	}
	put_utf8(to, c);
	return p;
}

static const char docker_head[] = "{\"log\":\"";

bool line_is_dockers(const char *text, size_t length)
{
	return length >= sizeof(docker_head) - 1 && memcmp(text, docker_head, sizeof(docker_head) - 1) == 0;
}

bool line_out_of_docker(char *text, size_t *length)
{
	if (!line_is_dockers(text, *length))
		return false;
	const char *p = text + sizeof(docker_head) - 1, *end = text + *length;
	char *to = text;
	while (p < end && *p != '"') {
		if (*p != '\\') {
			*to++ = *p++;
			continue;
		}
		p = take_escape(p + 1, end, &to);
		/* The line has been changed already: what could be read stays. */
		if (!p)
			break;
	}
	while (to > text && (to[-1] == '\n' || to[-1] == '\r'))
		to--;
	*to = '\0';
	*length = (size_t)(to - text);
	return true;
}

/* ---- prefixes ---- */

struct prefix {
	const char *end; /* behind it */
	int rank;        /* global; -1 = not told */
	bool tells_source;
};
/* The functions below leave it as it is where they find none. */

/* A rank number of a length that one can have. */
static bool take_rank(const char *p, const char **ret_end, int *ret_rank)
{
	const char *end = skip_digits(p);
	if (end == p || end - p > 7)
		return false;
	*ret_end = end;
	*ret_rank = atoi(p);
	return true;
}

static const char *behind_one_blank(const char *p)
{
	return *p == ' ' ? p + 1 : p;
}

/* "[rank3]:", and "[default3]:" or "[trainer3]:" of torchrun --tee, whose number is the rank on its host. */
static bool role_prefix(const char *p, struct prefix *ret)
{
	const char *name = p + 1, *end = name;
	int rank;
	if (*p != '[')
		return false;
	while (is_letter(*end) || *end == '_')
		end++;
	if (end == name || !take_rank(end, &p, &rank) || p[0] != ']' || p[1] != ':')
		return false;
	if (end - name == 4 && memcmp(name, "rank", 4) == 0)
		ret->rank = rank;
	ret->end = behind_one_blank(p + 2);
	ret->tells_source = true;
	return true;
}

/* "[1,3]<stdout>:" of mpirun --tag-output. */
static bool mpi_prefix(const char *p, struct prefix *ret)
{
	int rank;
	if (*p != '[')
		return false;
	p = skip_digits(p + 1);
	if (*p != ',' || !take_rank(p + 1, &p, &rank) || *p != ']')
		return false;
	if (!begins_with(p, "]<stdout>:") && !begins_with(p, "]<stderr>:"))
		return false;
	ret->rank = rank;
	ret->end = behind_one_blank(p + 10);
	ret->tells_source = true;
	return true;
}

/* "0: ", " 3: " of srun --label. */
static bool srun_prefix(const char *p, struct prefix *ret)
{
	int rank;
	while (*p == ' ')
		p++;
	if (!take_rank(p, &p, &rank) || p[0] != ':' || p[1] != ' ')
		return false;
	ret->rank = rank;
	ret->end = p + 2;
	ret->tells_source = true;
	return true;
}

/* "(TaskRunner pid=4242)", "(WorkerDict pid=7, ip=192.0.2.1)" of Ray. */
static bool ray_prefix(const char *p, struct prefix *ret)
{
	if (*p != '(')
		return false;
	const char *name = ++p;
	while ((is_letter(*p) || is_digit(*p)) || *p == '_' || *p == '.' || *p == ':')
		p++;
	if (p == name || !begins_with(p, " pid="))
		return false;
	p += strcspn(p, ")");
	if (*p != ')')
		return false;
	ret->end = behind_one_blank(p + 1);
	ret->tells_source = true;
	return true;
}

/* "node-a: " of pdsh and of tees that name the host. A name alone could be anything ("step: 1", "wandb: "):
 * it has a digit and a dash or dot, or a role's prefix follows. */
static bool host_prefix(const char *p, struct prefix *ret)
{
	const char *name = p;
	bool digit = false, joined = false;
	while (is_lower(*p) || is_digit(*p) || *p == '-' || *p == '.') {
		digit |= is_digit(*p);
		joined |= *p == '-' || *p == '.';
		p++;
	}
	if (p == name || p - name > 64 || p[0] != ':' || p[1] != ' ')
		return false;
	struct prefix role;
	if (!(digit && joined) && !role_prefix(p + 2, &role))
		return false;
	ret->end = p + 2;
	ret->tells_source = true;
	return true;
}

/* True when p has the form of a pattern in which 9 is any digit. */
static bool has_form(const char *p, const char *form)
{
	for (; *form; form++, p++)
		if (*form == '9' ? !is_digit(*p) : *p != *form)
			return false;
	return true;
}

/* Behind the time zone at p: "Z", "+02:00", "-0700", or nothing. */
static const char *behind_zone(const char *p)
{
	if (*p == 'Z')
		return p + 1;
	if (*p != '+' && *p != '-')
		return p;
	return has_form(p + 1, "99:99") ? p + 6 : has_form(p + 1, "9999") ? p + 5 : p;
}

/* Behind "stdout F " of a kubelet's record. */
static const char *behind_stream(const char *p)
{
	bool stream = begins_with(p, "stdout ") || begins_with(p, "stderr ");
	return stream && (p[7] == 'F' || p[7] == 'P') && p[8] == ' ' ? p + 9 : p;
}

/* "2025-10-04T15:16:10.735Z ", also with "[..]" around it. A stamp with a blank between date and time is a
 * logger's own and stays. */
static bool time_prefix(const char *p, struct prefix *ret)
{
	bool bracket = *p == '[';
	p += bracket;
	if (!has_form(p, "9999-99-99T99:99:99"))
		return false;
	p += 19;
	if (*p == '.' || *p == ',')
		p = skip_digits(p + 1);
	p = behind_zone(p);
	if (bracket && *p++ != ']')
		return false;
	if (*p != ' ' && *p != '\t' && *p)
		return false;
	ret->end = behind_stream(p + (*p != '\0'));
	return true;
}

/* "Oct 04 15:16:10 node-a train[123]: " of syslog and journald. */
static bool syslog_prefix(const char *p, struct prefix *ret)
{
	if (*p < 'A' || *p > 'Z' || !is_lower(p[1]) || !is_lower(p[2]) || p[3] != ' ' ||
		!(has_form(p + 4, "99 99:99:99 ") || has_form(p + 4, " 9 99:99:99 ")))
		return false;
	p += 16;
	p += strcspn(p, " ");
	if (*p++ != ' ')
		return false;
	p += strcspn(p, " [");
	if (*p != '[')
		return false;
	p = skip_digits(p + 1);
	if (!begins_with(p, "]: "))
		return false;
	ret->end = p + 3;
	return true;
}

/* "trainer-1", "train_job_2": behind it; NULL = another word. */
static const char *behind_service(const char *p)
{
	const char *name = p;
	while (is_lower(*p) || is_digit(*p) || *p == '-' || *p == '_')
		p++;
	const char *number = p;
	while (number > name && is_digit(number[-1]))
		number--;
	bool numbered = number < p && number - name >= 2 && (number[-1] == '-' || number[-1] == '_');
	return numbered ? p : NULL;
}

/* "trainer-1  | " of docker compose. */
static bool compose_prefix(const char *p, struct prefix *ret)
{
	p = behind_service(p);
	if (!p || *p != ' ')
		return false;
	while (*p == ' ')
		p++;
	if (p[0] != '|' || p[1] != ' ')
		return false;
	ret->end = p + 2;
	ret->tells_source = true;
	return true;
}

/* A prefix of one of the kinds that can begin so. */
static bool any_prefix(const char *p, struct prefix *ret)
{
	char c = *p;
	*ret = (struct prefix){NULL, -1, false};
	if (c == '[')
		return role_prefix(p, ret) || time_prefix(p, ret) || mpi_prefix(p, ret);
	if (is_digit(c))
		return time_prefix(p, ret) || srun_prefix(p, ret) || host_prefix(p, ret) ||
		       compose_prefix(p, ret);
	if (is_lower(c) || c == '-' || c == '.' || c == '_')
		return host_prefix(p, ret) || compose_prefix(p, ret);
	if (c == '(')
		return ray_prefix(p, ret);
	if (c == ' ')
		return srun_prefix(p, ret);
	return syslog_prefix(p, ret);
}

/* FNV-1a; never 0. */
static uint32_t mix(uint32_t hash, const char *from, const char *to)
{
	hash = hash ? hash : 2166136261u;
	for (; from < to; from++)
		hash = (hash ^ (unsigned char)*from) * 16777619u;
	return hash ? hash : 1;
}

/* Another rank's prefix further on, behind what looks like values: its write went into this line. A logger's
 * own "INFO [rank0]: step=1" is none. */
static bool is_torn(const char *text)
{
	for (const char *p = text; (p = strchr(p, '[')) != NULL; p++) {
		struct prefix role;
		if (p == text || p[-1] == ']' || !role_prefix(p, &role))
			continue;
		if (p[-1] != ' ' || memchr(text, '=', (size_t)(p - text)) ||
			memchr(text, '|', (size_t)(p - text)))
			return true;
	}
	return false;
}

void line_without_prefixes(struct log_line *line)
{
	enum { MAX_PREFIXES = 6 };
	const char *p = line->raw;
	struct prefix prefix;
	line->rank = -1;
	line->source = 0;
	for (int i = 0; i < MAX_PREFIXES && any_prefix(p, &prefix); i++) {
		if (prefix.tells_source)
			line->source = mix(line->source, p, prefix.end);
		if (prefix.rank >= 0)
			line->rank = prefix.rank;
		p = prefix.end;
	}
	line->text = p;
	line->length -= (size_t)(p - line->raw);
	line->torn = is_torn(p);
}
