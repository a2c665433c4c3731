/* Input data: what reads it dies, hangs, or finds it broken. */
#include "base/base.h"

#include <signal.h>

#include "adapter/signatures_int.h"

#define BROKEN_INPUT(pattern, flags)                                                                         \
	{                                                                                                    \
		pattern, FAILURE_DATA, STRENGTH_CAUSE, SIG_RAISED | (flags), "corrupt_input", ACT_NONE, 0, 0 \
	}

static const struct signature rows[] = {
	/* torch/utils/data/_utils/signal_handling.py, torch/csrc/DataLoader.cpp */
	{"dataloader worker (pid*killed by signal: terminated", FAILURE_KILLED, STRENGTH_ECHO, 0, NULL,
		ACT_STATUS_SIGNAL, SIGTERM, 0},
	{"dataloader worker (pid*killed by signal: bus error", FAILURE_DATA, STRENGTH_CAUSE, 0, "shm",
		ACT_STATUS_SIGNAL, SIGBUS, 0},
	{"dataloader worker (pid*killed by signal: segmentation fault", FAILURE_DATA, STRENGTH_CAUSE, 0,
		"worker_segfault", ACT_STATUS_SIGNAL, SIGSEGV, 0},
	{"dataloader worker (pid*killed by signal: aborted", FAILURE_DATA, STRENGTH_CAUSE, 0,
		"worker_aborted", ACT_STATUS_SIGNAL, SIGABRT, 0},
	{"dataloader worker (pid*killed by signal: killed", FAILURE_DATA, STRENGTH_CAUSE, 0, "worker_killed",
		ACT_STATUS_SIGNAL, SIGKILL, 0},
	{"dataloader worker (pid*killed by signal:", FAILURE_DATA, STRENGTH_CAUSE, 0, "worker_killed",
		ACT_STATUS_SIGNAL, 0, 0},
	{"dataloader worker (pid*exited unexpectedly", FAILURE_DATA, STRENGTH_CAUSE, 0, "worker_exited",
		ACT_STATUS_SIGNAL, 0, 0},
	{"segmentation fault encountered in worker", FAILURE_DATA, STRENGTH_CAUSE, SIG_ANY_LEVEL,
		"worker_segfault", ACT_NONE, SIGSEGV, 0},
	{"bus error encountered in worker", FAILURE_DATA, STRENGTH_CAUSE, SIG_ANY_LEVEL, "shm", ACT_NONE,
		SIGBUS, 0},
	{"floating-point exception encountered in worker", FAILURE_DATA, STRENGTH_CAUSE, SIG_ANY_LEVEL,
		"worker_aborted", ACT_NONE, SIGFPE, 0},
	{"dataloader timed out after", FAILURE_DATA, STRENGTH_CAUSE, SIG_PROSE, "loader_timeout", ACT_NONE, 0,
		0},
	{"unable to open shared memory object", FAILURE_DATA, STRENGTH_CAUSE, SIG_RAISED, "shm", ACT_NONE, 0,
		0},
	{"unable to write to file </torch_", FAILURE_DATA, STRENGTH_CAUSE, SIG_RAISED, "shm", ACT_NONE, 0, 0},
	/* workers hand tensors over as descriptors, and these are used up */
	{"received 0 items of ancdata", FAILURE_DATA, STRENGTH_CAUSE, SIG_RAISED, "open_files", ACT_NONE, 0,
		0},
	{"too many open files", FAILURE_DATA, STRENGTH_CAUSE, SIG_RAISED, "open_files", ACT_NONE, 0, 0},
	{"unable to allocate shared memory(shm)", FAILURE_DATA, STRENGTH_CAUSE, 0, "shm", ACT_NONE, 0, 0},
	{"no space left on device: '/dev/shm", FAILURE_DATA, STRENGTH_CAUSE, SIG_RAISED, "shm", ACT_NONE, 0,
		0},

	/* files that do not hold what they should: json, pickle, torch, pyarrow, datasets, webdataset, PIL,
	 * OpenCV, gzip, zipfile, h5py, Megatron's and NumPy's memory maps, sentencepiece */
	BROKEN_INPUT("jsondecodeerror", 0),
	BROKEN_INPUT("unpicklingerror", 0),
	BROKEN_INPUT("eoferror: ran out of input", 0),
	BROKEN_INPUT("eoferror: compressed file ended", 0),
	BROKEN_INPUT("pytorchstreamreader failed", 0),
	BROKEN_INPUT("invalid header or archive is corrupted", 0),
	BROKEN_INPUT("unicodedecodeerror", 0),
	BROKEN_INPUT("arrowinvalid", 0),
	BROKEN_INPUT("parquet magic bytes not found", 0),
	BROKEN_INPUT("couldn't deserialize thrift", 0),
	BROKEN_INPUT("datasetgenerationerror", 0),
	BROKEN_INPUT("datasetgenerationcasterror", 0),
	BROKEN_INPUT("couldn't find any data file", 0),
	BROKEN_INPUT("tarfile.readerror", 0),
	BROKEN_INPUT("unexpected end of data", 0),
	BROKEN_INPUT("unidentifiedimageerror", 0),
	BROKEN_INPUT("image file is truncated", 0),
	BROKEN_INPUT("broken data stream when reading image file", 0),
	BROKEN_INPUT("truncated file read", 0),
	BROKEN_INPUT("zlib.error:", 0),
	BROKEN_INPUT("lzmaerror", 0),
	BROKEN_INPUT("badgzipfile", 0),
	BROKEN_INPUT("badzipfile", 0),
	BROKEN_INPUT("not a gzipped file", 0),
	BROKEN_INPUT("zstd.error", 0),
	BROKEN_INPUT("zstderror", 0),
	BROKEN_INPUT("truncated file: eof =", 0),
	BROKEN_INPUT("file signature not found", 0),
	BROKEN_INPUT("mmap length is greater than file size", 0),
	BROKEN_INPUT("cannot mmap an empty file", 0),
	BROKEN_INPUT("index file doesn't match expected format", 0),
	BROKEN_INPUT("data loss: truncated record", 0),
	BROKEN_INPUT("corrupted record at", 0),
	BROKEN_INPUT("datalosserror", 0),
};

const struct signature_table signatures_data = {rows, ARRAY_LEN(rows)};
