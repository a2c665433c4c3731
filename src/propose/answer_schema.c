/* The schema as servers take it for structured output: no optional members where a server wants all of them
 * to be required would be too strict for the rest, so only what makes an item usable is. */
#include "base/base.h"

#include "propose/answer.h"

#define TEXT "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"number\"}"
#define LIST(items) "{\"type\":\"array\",\"items\":" items "}"
#define OBJECT(members, required)                                                                            \
	"{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]}"

/* clang-format off */
const char answer_schema[] = OBJECT(
	"\"configurations\":" LIST(OBJECT(
		"\"settings\":{\"type\":\"object\",\"additionalProperties\":" TEXT "},"
		"\"speedup\":" NUMBER ",\"peak_gib\":" NUMBER ",\"reason\":" TEXT, "\"settings\"")) ","
	"\"priors\":" LIST(OBJECT(
		"\"knob\":" TEXT ",\"setting\":" TEXT ",\"speedup\":" NUMBER ",\"speedup_sd\":" NUMBER ","
		"\"memory_gib\":" NUMBER ",\"memory_sd_gib\":" NUMBER ",\"reason\":" TEXT,
		"\"knob\",\"setting\"")) ","
	"\"patches\":" LIST(OBJECT(
		"\"name\":" TEXT ",\"title\":" TEXT ",\"mechanism\":" TEXT ",\"phases\":" LIST(TEXT) ","
		"\"speedup\":" NUMBER ",\"diff\":" TEXT ",\"edits\":" LIST(OBJECT(
			"\"file\":" TEXT ",\"old\":" TEXT ",\"new\":" TEXT, "\"file\",\"old\",\"new\"")),
		"\"name\"")) ","
	"\"reviews\":" LIST(OBJECT(
		"\"patch\":" TEXT ",\"verdict\":{\"type\":\"string\",\"enum\":[\"accept\",\"reject\"]},"
		"\"reason\":" TEXT, "\"patch\",\"verdict\"")), "");
/* clang-format on */
