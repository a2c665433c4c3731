#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

size_t line_without_controls(char *text, size_t length)
{
	const char *p = text, *end = text + length;
	char *to = text;
	if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		p += 3;
	while (p < end) {
		if (*p == '\033')
			p = behind_escape(p, end);
		else if ((unsigned char)*p < 0x20 && *p != '\t')
			p++;
		else
			*to++ = *p++;
	}
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
		unsigned char c = (unsigned char)p[i];
		if (!isxdigit(c))
			return false;
		value = value * 16 + (unsigned)(isdigit(c) ? c - '0' : (tolower(c) - 'a') + 10);
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

static const char *digits(const char *p)
{
	while (isdigit((unsigned char)*p))
		p++;
	return p;
}

/* A rank number of a length that one can have. */
static bool take_rank(const char *p, const char **ret_end, int *ret_rank)
{
	const char *end = digits(p);
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
	if (*p != '[')
		return false;
	while (isalpha((unsigned char)*end) || *end == '_')
		end++;
	if (end == name || !take_rank(end, &p, &ret->rank) || p[0] != ']' || p[1] != ':')
		return false;
	if (end - name != 4 || memcmp(name, "rank", 4) != 0)
		ret->rank = -1;
	ret->end = behind_one_blank(p + 2);
	ret->tells_source = true;
	return true;
}

/* "[1,3]<stdout>:" of mpirun --tag-output. */
static bool mpi_prefix(const char *p, struct prefix *ret)
{
	if (*p != '[')
		return false;
	p = digits(p + 1);
	if (*p != ',' || !take_rank(p + 1, &p, &ret->rank) || *p != ']')
		return false;
	if (strncmp(p, "]<stdout>:", 10) != 0 && strncmp(p, "]<stderr>:", 10) != 0)
		return false;
	ret->end = behind_one_blank(p + 10);
	ret->tells_source = true;
	return true;
}

/* "0: ", " 3: " of srun --label. */
static bool srun_prefix(const char *p, struct prefix *ret)
{
	while (*p == ' ')
		p++;
	if (!take_rank(p, &p, &ret->rank) || p[0] != ':' || p[1] != ' ')
		return false;
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
	while (isalnum((unsigned char)*p) || *p == '_' || *p == '.' || *p == ':')
		p++;
	if (p == name || strncmp(p, " pid=", 5) != 0)
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
	while (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-' || *p == '.') {
		digit |= isdigit((unsigned char)*p) != 0;
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
		if (*form == '9' ? !isdigit((unsigned char)*p) : *p != *form)
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
	bool stream = strncmp(p, "stdout ", 7) == 0 || strncmp(p, "stderr ", 7) == 0;
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
		p = digits(p + 1);
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
	if (!isupper((unsigned char)*p) || !islower((unsigned char)p[1]) || !islower((unsigned char)p[2]) ||
		p[3] != ' ' || !(has_form(p + 4, "99 99:99:99 ") || has_form(p + 4, " 9 99:99:99 ")))
		return false;
	p += 16;
	p += strcspn(p, " ");
	if (*p++ != ' ')
		return false;
	p += strcspn(p, " [");
	if (*p != '[')
		return false;
	p = digits(p + 1);
	if (strncmp(p, "]: ", 3) != 0)
		return false;
	ret->end = p + 3;
	return true;
}

/* "trainer-1", "train_job_2": behind it; NULL = another word. */
static const char *behind_service(const char *p)
{
	const char *name = p;
	while (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-' || *p == '_')
		p++;
	const char *number = p;
	while (number > name && isdigit((unsigned char)number[-1]))
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

/* What a line can begin with. */
enum start {
	START_OTHER = 0,
	START_BRACKET = 1,
	START_PARENTHESIS = 2,
	START_BLANK = 4,
	START_DIGIT = 8,
	START_UPPER = 16,
	START_NAME = 32,
};

static enum start start_of(char c)
{
	if (c >= '0' && c <= '9')
		return START_DIGIT;
	if ((c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_')
		return START_NAME;
	if (c >= 'A' && c <= 'Z')
		return START_UPPER;
	return c == '[' ? START_BRACKET : c == '(' ? START_PARENTHESIS : c == ' ' ? START_BLANK : START_OTHER;
}

static bool any_prefix(const char *p, struct prefix *ret)
{
	static const struct {
		unsigned starts;
		bool (*take)(const char *, struct prefix *);
	} kinds[] = {
		{START_BRACKET, role_prefix},
		{START_BRACKET | START_DIGIT, time_prefix},
		{START_BRACKET, mpi_prefix},
		{START_PARENTHESIS, ray_prefix},
		{START_BLANK | START_DIGIT, srun_prefix},
		{START_NAME | START_DIGIT, host_prefix},
		{START_NAME | START_DIGIT, compose_prefix},
		{START_UPPER, syslog_prefix},
	};
	unsigned start = start_of(*p);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!(kinds[i].starts & start))
			continue;
		*ret = (struct prefix){NULL, -1, false};
		if (kinds[i].take(p, ret))
			return true;
	}
	return false;
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
