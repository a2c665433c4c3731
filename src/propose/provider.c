#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "propose/provider.h"

static const struct provider *const table[] = {&provider_openai, &provider_anthropic};

void chat_reply_set_fault(struct chat_reply *reply, const char *message)
{
	if (!*reply->fault)
		snprintf(reply->fault, sizeof(reply->fault), "%s", *message ? message : "unknown error");
}

const struct provider *provider_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	return NULL;
}
