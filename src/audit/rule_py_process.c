/* A7 for Python: other processes, the environment, files and the machine are none of a training step's
 * business. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

/* By full name; one that ends in a dot stands for everything in the module. */
static const struct {
	const char *name;
	enum audit_severity severity;
	const char *reason;
} calls[] = {
	{"os.system", AUDIT_BLOCK, "another program is started"},
	{"os.popen", AUDIT_BLOCK, "another program is started"},
	{"os.fork", AUDIT_BLOCK, "another process is started"},
	{"os.exec", AUDIT_BLOCK, "another program is started"},
	{"os.spawn", AUDIT_BLOCK, "another program is started"},
	{"os.posix_spawn", AUDIT_BLOCK, "another program is started"},
	{"os.kill", AUDIT_BLOCK, "a signal is sent"},
	{"os.setsid", AUDIT_BLOCK, "the process leaves its session"},
	{"os.setpgid", AUDIT_BLOCK, "the process leaves its group"},
	{"os.nice", AUDIT_BLOCK, "the scheduler's treatment of the process is changed"},
	{"os.setpriority", AUDIT_BLOCK, "the scheduler's treatment of the process is changed"},
	{"os.sched_setscheduler", AUDIT_BLOCK, "the scheduler's treatment of the process is changed"},
	{"os.sched_setaffinity", AUDIT_REVIEW, "threads are pinned"},
	{"os.putenv", AUDIT_BLOCK, "the environment is changed"},
	{"os.unsetenv", AUDIT_BLOCK, "the environment is changed"},
	{"os.getppid", AUDIT_BLOCK, "the parent process is looked at"},
	{"os.isatty", AUDIT_BLOCK, "the program looks at who is watching"},
	{"sys.stdout.isatty", AUDIT_BLOCK, "the program looks at who is watching"},
	{"os.getpgid", AUDIT_BLOCK, "the parent process is looked at"},
	{"os.remove", AUDIT_BLOCK, "files are changed"},
	{"os.unlink", AUDIT_BLOCK, "files are changed"},
	{"os.rename", AUDIT_BLOCK, "files are changed"},
	{"os.replace", AUDIT_BLOCK, "files are changed"},
	{"os.rmdir", AUDIT_BLOCK, "files are changed"},
	{"os.makedirs", AUDIT_REVIEW, "a folder is made"},
	{"os.mkdir", AUDIT_REVIEW, "a folder is made"},
	{"os.symlink", AUDIT_BLOCK, "files are changed"},
	{"os.link", AUDIT_BLOCK, "files are changed"},
	{"os.chmod", AUDIT_BLOCK, "files are changed"},
	{"os.truncate", AUDIT_BLOCK, "files are changed"},
	{"os.mkfifo", AUDIT_BLOCK, "a channel to another process is made"},
	{"os.pipe", AUDIT_BLOCK, "a channel to another process is made"},
	{"os.chdir", AUDIT_BLOCK, "the working folder is changed"},
	{"os.dup", AUDIT_BLOCK, "output goes elsewhere"},
	{"os.write", AUDIT_BLOCK, "a file is written"},
	{"os.open", AUDIT_BLOCK, "a file is opened by its descriptor"},
	{"os.listdir", AUDIT_REVIEW, "a folder is looked at"},
	{"os.walk", AUDIT_REVIEW, "a folder is looked at"},
	{"os.path.exists", AUDIT_REVIEW, "the program asks whether a file is there"},
	{"os.path.isfile", AUDIT_REVIEW, "the program asks whether a file is there"},
	{"shutil.", AUDIT_BLOCK, "files are changed"},
	{"tempfile.", AUDIT_BLOCK, "files are made"},
	{"subprocess.", AUDIT_BLOCK, "another program is started"},
	{"pexpect.", AUDIT_BLOCK, "another program is started"},
	{"pty.", AUDIT_BLOCK, "another program is started"},
	{"asyncio.create_subprocess", AUDIT_BLOCK, "another program is started"},
	{"multiprocessing.", AUDIT_BLOCK, "another process is started"},
	{"torch.multiprocessing.", AUDIT_BLOCK, "another process is started"},
	{"concurrent.futures.ProcessPoolExecutor", AUDIT_BLOCK, "another process is started"},
	{"socket.", AUDIT_BLOCK, "the network is used"},
	{"requests.", AUDIT_BLOCK, "the network is used"},
	{"urllib.", AUDIT_BLOCK, "the network is used"},
	{"urllib3.", AUDIT_BLOCK, "the network is used"},
	{"http.", AUDIT_BLOCK, "the network is used"},
	{"httpx.", AUDIT_BLOCK, "the network is used"},
	{"aiohttp.", AUDIT_BLOCK, "the network is used"},
	{"ftplib.", AUDIT_BLOCK, "the network is used"},
	{"paramiko.", AUDIT_BLOCK, "the network is used"},
	{"zmq.", AUDIT_BLOCK, "the network is used"},
	{"grpc.", AUDIT_BLOCK, "the network is used"},
	{"torch.hub.", AUDIT_BLOCK, "the network is used"},
	{"ctypes.", AUDIT_BLOCK, "memory and libraries are reached past the language"},
	{"cffi.", AUDIT_BLOCK, "memory and libraries are reached past the language"},
	{"mmap.", AUDIT_REVIEW, "memory is mapped"},
	{"fcntl.", AUDIT_BLOCK, "a descriptor is reconfigured"},
	{"resource.setrlimit", AUDIT_BLOCK, "a limit is changed"},
	{"resource.prlimit", AUDIT_BLOCK, "a limit is changed"},
	{"time.clock_settime", AUDIT_BLOCK, "the machine's clock is set"},
	{"time.sleep", AUDIT_REVIEW, "the program waits for nothing"},
	{"signal.", AUDIT_BLOCK, "signals are handled or sent"},
	{"psutil.", AUDIT_BLOCK, "other processes are looked at"},
	{"pynvml.", AUDIT_BLOCK, "the device's clocks and limits are reached"},
	{"inspect.", AUDIT_BLOCK, "the program looks at its own code or callers"},
	{"sys._getframe", AUDIT_BLOCK, "the program looks at its callers"},
	{"traceback.extract_stack", AUDIT_BLOCK, "the program looks at its callers"},
	{"platform.node", AUDIT_BLOCK, "the program looks at the machine's name"},
	{"os.uname", AUDIT_BLOCK, "the program looks at the machine's name"},
	{"getpass.", AUDIT_BLOCK, "the program looks at who runs it"},
	{"os.getlogin", AUDIT_BLOCK, "the program looks at who runs it"},
	{"pickle.dump", AUDIT_BLOCK, "a file is written"},
	{"marshal.", AUDIT_BLOCK, "a file is written or code is read"},
	{"pickle.load", AUDIT_REVIEW, "a file is read"},
	{"shelve.", AUDIT_BLOCK, "a file is written"},
	{"dbm.", AUDIT_BLOCK, "a file is written"},
	{"sqlite3.", AUDIT_BLOCK, "a file is written"},
	{"joblib.", AUDIT_BLOCK, "a file is written"},
	{"diskcache.", AUDIT_BLOCK, "a file is written"},
	{"torch.save", AUDIT_BLOCK, "a file is written"},
	{"torch.load", AUDIT_REVIEW, "a file is read"},
	{"torch.serialization.", AUDIT_REVIEW, "a file is read or written"},
	{"numpy.save", AUDIT_BLOCK, "a file is written"},
	{"np.save", AUDIT_BLOCK, "a file is written"},
	{"numpy.load", AUDIT_REVIEW, "a file is read"},
	{"np.load", AUDIT_REVIEW, "a file is read"},
	{"json.dump", AUDIT_BLOCK, "a file is written"},
	{"safetensors.torch.save_file", AUDIT_BLOCK, "a file is written"},
	{"input", AUDIT_BLOCK, "the program asks someone"},
};

/* A prefix stands for os.execv and the like; "json.dump" is not "json.dumps". */
static bool is_named(const char *full, const char *name)
{
	size_t length = strlen(name);
	if (strncmp(full, name, length) != 0)
		return false;
	if (name[length - 1] == '.' || !full[length])
		return true;
	static const char *const families[] = {"os.exec", "os.spawn", "os.posix_spawn", "os.kill", "os.dup",
		"os.fork", "os.pipe", "asyncio.create_subprocess", "np.save", "numpy.save", "pickle.load"};
	return IN(name, families);
}

static void check_calls(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char full[160];
		if (f->kind != FACT_CALL || f->twin || !spend(change, ARRAY_LEN(calls) / 8))
			continue;
		py_full_name(change, f, f->init, f->name, full, sizeof(full));
		for (size_t k = 0; k < ARRAY_LEN(calls); k++)
			if (is_named(full, calls[k].name))
				report(change, calls[k].severity, f, calls[k].reason);
	}
}

/* Modules that a training step has no use for. */
static void check_modules(struct change *change)
{
	static const char *const modules[] = {"subprocess", "socket", "requests", "urllib", "urllib3", "http",
		"httpx", "aiohttp", "ctypes", "cffi", "multiprocessing", "signal", "psutil", "pynvml",
		"pickle", "shelve", "marshal", "fcntl", "pty", "resource", "tempfile", "shutil", "ftplib",
		"smtplib", "telnetlib", "paramiko", "sqlite3", "joblib", "diskcache", "socketserver",
		"xmlrpc", "asyncio", "dill", "cloudpickle", "dbm", "getpass", "inspect", "zmq", "glob",
		"cupy_backends", "pyximport", "cython"};
	static const char *const harmless[] = {
		"glob", "asyncio", "resource", "tempfile", "pickle", "inspect"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char root[60] = "";
		if (f->kind != FACT_INCLUDE || f->twin)
			continue;
		memcpy(root, f->value, MIN_OF(strcspn(f->value, " "), sizeof(root) - 1));
		if (IN(root, modules))
			report(change, IN(root, harmless) ? AUDIT_REVIEW : AUDIT_BLOCK, f,
				"a module for processes, files or the network is brought in");
	}
}

/* ---- files ---- */

/* The mode of open(path, mode), or of path.open(mode). */
static bool opens_to_write(const struct fact *call)
{
	static const char *const modes[] = {"\"w\"", "\"a\"", "\"x\"", "\"wb\"", "\"ab\"", "\"xb\"", "\"w+\"",
		"\"r+\"", "\"a+\"", "\"r+b\"", "\"w+b\"", "\"rb+\"", "\"wb+\"", "\"wt\"", "\"at\"",
		"\"ab+\""};
	return py_text_has_any(call->value, modes, ARRAY_LEN(modes)) ||
	       text_has_token(call->value, "O_WRONLY") || text_has_token(call->value, "O_RDWR");
}

/* torch.save(state, path) became open(path, "wb") and torch.save(state, f): the file was written before. */
static bool wrote_before(const struct change *change, const struct fact *opening)
{
	static const char *const writers[] = {"save", "open", "dump", "save_file", "savez"};
	const char *at = opening->value + (opening->value[0] == '(');
	char path[PY_ARGUMENT_CAP];
	if (!py_next_argument(&at, path))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_CALL && IN(f->name, writers) && same_function(f, opening) &&
			text_contains(f->value, path) && (strcmp(f->name, "open") != 0 || opens_to_write(f)))
			return true;
	}
	return false;
}

static void check_opening(struct change *change, const struct fact *f)
{
	if (wrote_before(change, f) && opens_to_write(f))
		return;
	if (opens_to_write(f) && !(f->twin && opens_to_write(f->twin)))
		report(change, AUDIT_BLOCK, f, "a file is written");
	else if (!f->twin && strcmp(f->name, "memmap") != 0)
		report(change, AUDIT_REVIEW, f, "a file is opened");
}

static void check_files(struct change *change)
{
	static const char *const writers[] = {"write_text", "write_bytes", "to_csv", "savetxt",
		"save_pretrained", "to_pickle", "to_parquet", "unlink", "touch", "symlink_to", "hardlink_to",
		"tofile", "rmtree", "save_to_disk", "dump_all"};
	static const char *const openers[] = {"open", "memmap", "fdopen", "TextIOWrapper", "FileIO"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->same)
			continue;
		bool method = !f->twin && f->init[0];
		if (IN(f->name, openers))
			check_opening(change, f);
		else if (method && IN(f->name, writers))
			report(change, AUDIT_BLOCK, f, "a file is written");
		else if (method && strcmp(f->name, "exists") == 0)
			report(change, AUDIT_REVIEW, f, "the program asks whether a file is there");
	}
}

/* A file that is looked for and then read decides what is computed: one of an earlier run may be there. */
static void check_leftovers(struct change *change)
{
	static const char *const asks[] = {"exists", "isfile", "is_file"};
	static const char *const reads[] = {
		"load", "open", "read_text", "read_bytes", "load_state_dict", "from_file", "loads"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_BRANCH || f->twin || !py_text_has_any(f->value, asks, ARRAY_LEN(asks)) ||
			!spend(change, f->source->n_facts))
			continue;
		for (size_t k = 0; k < f->source->n_facts; k++) {
			const struct fact *g = &f->source->facts[k];
			if (g->kind == FACT_CALL && !g->twin && IN(g->name, reads) &&
				node_contains(f->node, g->node)) {
				report(change, AUDIT_BLOCK, f, "what an earlier run left is used");
				break;
			}
		}
	}
}

/* ---- environment ---- */

/* Settings of allocators, libraries and compile caches, which change no result. */
static bool is_setting(const char *name)
{
	static const char *const begins[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
		"PYTORCH_HIP_ALLOC_CONF", "NCCL_", "TORCH_NCCL_", "OMP_", "MKL_", "KMP_",
		"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING", "TORCHINDUCTOR_", "TRITON_CACHE",
		"TOKENIZERS_PARALLELISM", "MALLOC_", "UCX_", "GLOO_", "CUBLAS_WORKSPACE", "NUMEXPR_",
		"OPENBLAS_", "TORCH_COMPILE", "XLA_", "CUDA_CACHE", "TORCH_CUDA_ARCH_LIST", "NVTE_FLASH",
		"PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_EXTENSIONS_DIR", "GOMP_", "CUDA_LAUNCH_BLOCKING"};
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool is_rank(const char *name)
{
	static const char *const names[] = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
		"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "GROUP_RANK"};
	return IN(name, names);
}

/* The variable's name in os.environ["X"], getenv("X"), environ.get("X", ...). */
static void variable_name(const char *text, char name[80])
{
	const char *from = strchr(text, '"');
	name[0] = '\0';
	if (from)
		snprintf(name, 80, "%.*s", (int)MIN_OF(strcspn(from + 1, "\""), (size_t)79), from + 1);
}

/* The value that a setting is given, or its name. */
static bool is_set_as_setting(const struct change *change, const struct fact *part)
{
	const struct source *s = part->source;
	char name[80];
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		bool call = f->kind == FACT_CALL && strstr(f->init, "environ");
		if ((f->kind != FACT_ASSIGN && !call) || !node_contains(f->node, part->node))
			continue;
		variable_name(call ? f->value : f->init, name);
		if (is_setting(name) || strcasestr(f->name, "cache_dir"))
			return true;
	}
	return false;
}

static void check_environment_set(struct change *change, const struct fact *f, const char *where)
{
	char name[80];
	variable_name(where, name);
	if (!is_setting(name))
		report(change, AUDIT_BLOCK, f, "the environment is changed");
}

/* os.environ.get("X"), os.getenv("X"), os.environ.pop("X") */
static void check_environment_call(struct change *change, const struct fact *f)
{
	static const char *const setters[] = {"setdefault", "pop", "update", "clear", "putenv"};
	char name[80];
	bool of_environ = strstr(f->init, "environ") != NULL;
	if (!of_environ && strcmp(f->name, "getenv") != 0)
		return;
	if (of_environ && IN(f->name, setters)) {
		check_environment_set(change, f, f->value);
		return;
	}
	variable_name(f->value, name);
	if (!is_rank(name) && !is_setting(name))
		report(change, AUDIT_REVIEW, f, "the environment is read");
}

static void check_environment_name(struct change *change, const struct fact *f)
{
	if (strcmp(f->name, "argv") == 0)
		report(change, AUDIT_BLOCK, f, "the command line is looked at");
	if (strcmp(f->name, "environ") != 0 || is_set_as_setting(change, f))
		return;
	TSNode outer = node_parent(node_parent(f->node));
	if (node_is(outer, "subscript"))
		report(change, AUDIT_REVIEW, f, "the environment is read");
	else if (!node_is(outer, "attribute"))
		report(change, AUDIT_BLOCK, f, "the environment is read as a whole");
}

static void check_environment(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->same)
			continue;
		if (f->kind == FACT_ASSIGN && strstr(f->init, "environ"))
			check_environment_set(change, f, f->init);
		else if (f->kind == FACT_DELETE && strstr(f->value, "environ"))
			check_environment_set(change, f, f->value);
		else if (f->kind == FACT_CALL)
			check_environment_call(change, f);
		else if (py_is_new(f, FACT_NAME))
			check_environment_name(change, f);
	}
}

static void check_strings(struct change *change)
{
	static const char *const telling[] = {"INFRARSI", "/proc", "/sys/", "/dev/", ".infrarsi",
		"LD_PRELOAD", "infrarsi", "/tmp", "/var/", "/etc/", "../", "/.git", "PYTHONPATH",
		"PYTHONSTARTUP", "nvidia-smi"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_STRING || f->twin)
			continue;
		bool address = strstr(f->text, "http://") || strstr(f->text, "https://");
		for (size_t k = 0; k < ARRAY_LEN(telling); k++)
			if (strstr(f->text, telling[k]) && !is_set_as_setting(change, f))
				report(change, AUDIT_BLOCK, f,
					"a path or variable outside the job's business is named");
		if (address)
			report(change, AUDIT_REVIEW, f, "an address is named");
	}
}

void rule_py_process(struct change *change)
{
	check_calls(change);
	check_modules(change);
	check_files(change);
	check_leftovers(change);
	check_environment(change);
	check_strings(change);
}
