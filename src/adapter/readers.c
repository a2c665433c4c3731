/* Every log format. Adding one is a file reader_<name>.c, its declaration in reader_int.h and a row here. */
#include "base/base.h"

#include "adapter/reader_int.h"

const struct reader_ops *const readers[] = {
	&reader_ddp,
	&reader_memory_summary,
	&reader_elastic,
	&reader_deepspeed,
	&reader_mllog,
	&reader_accelerate,
	&reader_composer,
	&reader_fairseq,
	&reader_hf_trainer,
	&reader_lightning,
	&reader_litgpt,
	&reader_llmc,
	&reader_maxtext,
	&reader_megatron,
	&reader_nanogpt,
	&reader_nanotron,
	&reader_torchtitan,
	&reader_torchtune,
	&reader_verl,
	&reader_gpt_neox,
	&reader_llama_factory,
	&reader_megatron_deepspeed,
	&reader_nemo,
	&reader_trl,
	NULL,
};
