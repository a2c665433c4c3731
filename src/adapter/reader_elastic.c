/* torchrun's elastic agent, where its log level shows it: a worker group that is started again. */
#include "base/base.h"

#include <string.h>

#include "adapter/reader_int.h"

static void elastic_line(struct reader *reader, const struct log_line *line)
{
	/* "Worker group FAILED. 3/3 attempts left; will restart worker group" announces it; older agents say
	 * "[default] Worker group FAILED. 2/3 attempts left; will restart worker group". */
	if (strstr(line->text, "will restart worker group"))
		reader_launched_again(reader);
}

static const char *const anchors[] = {"will restart worker group", NULL};

const struct reader_ops reader_elastic = {"elastic", anchors, NULL, 0, elastic_line, NULL, READER_AUXILIARY};
