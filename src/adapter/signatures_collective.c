/* Collectives, their transports, rendezvous and stores. What a process says when its peer is gone is an echo:
 * the peer may have said why. */
#include "base/base.h"

#include "adapter/signatures_int.h"

#define CAUSE(pattern, flags, subkind)                                                                       \
	{                                                                                                    \
		pattern, FAILURE_COLLECTIVE, STRENGTH_CAUSE, flags, subkind, ACT_NONE, 0, 0                  \
	}
#define ECHO(pattern, flags, subkind)                                                                        \
	{                                                                                                    \
		pattern, FAILURE_COLLECTIVE, STRENGTH_ECHO, flags, subkind, ACT_NONE, 0, 0                   \
	}
#define NOISE(pattern)                                                                                       \
	{                                                                                                    \
		pattern, FAILURE_COLLECTIVE, STRENGTH_NOISE, SIG_ANY_LEVEL, NULL, ACT_NONE, 0, 0             \
	}

static const struct signature rows[] = {
	/* torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, 1.6 to 2.9 */
	CAUSE("detected mismatch between collectives", 0, "desync"),
	CAUSE("collectives differ in the following aspects", 0, "desync"),
	CAUSE("heartbeat monitor timed out", 0, "hang"),
	CAUSE("watchdog got stuck for", 0, "hang"),
	CAUSE("caught collective operation timeout", 0, "timeout"),
	CAUSE("observed flight recorder dump signal", SIG_ERROR_ONLY, "timeout"),
	CAUSE("ran for*milliseconds before timing out", 0, "timeout"),
	CAUSE("nccl watchdog thread terminated with exception", SIG_GENERIC, NULL),
	CAUSE("watchdog thread terminated with exception", SIG_GENERIC, NULL),
	CAUSE("some nccl operations have failed", SIG_GENERIC, NULL),
	CAUSE("to avoid data inconsistency, we are taking the entire process down", SIG_GENERIC, NULL),
	ECHO("nccl communicator was aborted", 0, NULL),
	ECHO("nccl error: remote process exited", 0, "network"),
	ECHO("remote process exited or there was a network error", 0, "network"),
	CAUSE("nccl error in:", SIG_GENERIC, NULL),
	CAUSE("nccl error in ", SIG_GENERIC, NULL),
	CAUSE("nccl error: ", SIG_GENERIC, NULL),
	CAUSE("nccl backend error", SIG_GENERIC, NULL),
	CAUSE("nccl failure ", SIG_GENERIC, NULL), /* nccl-tests, llm.c */
	CAUSE("[nccl error]", SIG_GENERIC, NULL),
	CAUSE("unhandled cuda error, nccl version", 0, "unhandled_cuda"),
	CAUSE("unhandled system error", SIG_PROSE, "system_error"),
	CAUSE("ncclunhandledcudaerror", SIG_PROSE, "unhandled_cuda"),
	CAUSE("ncclsystemerror", SIG_PROSE, "system_error"),
	CAUSE("ncclinternalerror", SIG_PROSE, "internal_error"),
	CAUSE("ncclinvalidusage", SIG_PROSE, "invalid_usage"),
	CAUSE("ncclinvalidargument", SIG_PROSE, "invalid_usage"),
	ECHO("ncclremoteerror", SIG_PROSE, "network"),
	CAUSE("duplicate gpu detected", 0, "invalid_usage"),
	CAUSE("got completion from peer*with error", SIG_ANY_LEVEL, "network"),
	CAUSE("got completion from peer*with status=", SIG_ANY_LEVEL, "network"),
	CAUSE("got completion with error", SIG_ANY_LEVEL | SIG_PROSE, "network"),
	CAUSE("hccl*timeout", SIG_PROSE | SIG_ERROR_ONLY, "timeout"),
	CAUSE("hccl function error", 0, NULL),
	CAUSE("error creating shared memory segment", 0, "shm"),
	CAUSE("error while creating shared memory segment", SIG_ANY_LEVEL, "shm"),
	/* gloo: transport/tcp, rendezvous */
	CAUSE("gloo*timed out waiting", 0, "timeout"),
	CAUSE("timed out waiting*for recv operation", 0, "timeout"),
	CAUSE("timed out waiting*for send operation", 0, "timeout"),
	CAUSE("gloo*connectfullmesh failed", 0, "rendezvous"),
	CAUSE("gloo*op.preamble.length <= op.nbytes", 0, "desync"),
	CAUSE("gloo*enforce fail", SIG_PROSE, NULL),
	ECHO("gloo*connection closed by peer", 0, "network"),
	ECHO("gloo*connection reset by peer", 0, "network"),
	ECHO("gloo*broken pipe", 0, "network"),
	ECHO("gloo*read error", 0, "network"),
	ECHO("application timeout caused pair closure", 0, "timeout"),
	/* monitoredBarrier, barriers with names */
	CAUSE("failed to pass monitoredbarrier", 0, "timeout"),
	CAUSE("ranks*failed to reach", SIG_RAISED, "timeout"),
	/* stores and rendezvous: TCPStore.cpp, socket.cpp, elastic/rendezvous */
	CAUSE("seconds waiting for clients", 0, "rendezvous"),
	CAUSE("waiting for workers.*workers joined", 0, "rendezvous"),
	CAUSE("clients joined.", SIG_RAISED, "rendezvous"),
	CAUSE("client socket has timed out", SIG_PROSE, "rendezvous"),
	CAUSE("client socket has failed to connect to any network address", 0, "rendezvous"),
	CAUSE("rendezvoustimeouterror", 0, "rendezvous"),
	CAUSE("rendezvousconnectionerror", 0, "rendezvous"),
	CAUSE("rendezvousclosederror", 0, "rendezvous"),
	CAUSE("rendezvousgracefulexiterror", 0, "rendezvous"),
	CAUSE("the rendezvous backend has failed", 0, "rendezvous"),
	CAUSE("connection to the c10d store has failed", 0, "rendezvous"),
	CAUSE("wait timeout after", SIG_RAISED, "rendezvous"),
	CAUSE("key not found in tcpstore", SIG_RAISED, "rendezvous"),
	ECHO("store->get('*reset by peer", SIG_RAISED, "network"),
	ECHO("store->get('*broken pipe", SIG_RAISED, "network"),
	ECHO("store->get('*socket timeout", SIG_RAISED, "rendezvous"),
	ECHO("store->get('0')", SIG_RAISED, NULL),
	ECHO("diststoreerror: socket timeout", 0, "rendezvous"),
	ECHO("socket timeout", SIG_RAISED, "rendezvous"),
	ECHO("distnetworkerror: failed to recv", 0, "network"),
	ECHO("distnetworkerror: connection was", 0, "network"),
	CAUSE("diststoreerror", SIG_RAISED, "rendezvous"),
	CAUSE("distnetworkerror", SIG_RAISED, "network"),
	CAUSE("distbackenderror", SIG_RAISED | SIG_GENERIC, NULL),
	ECHO("connection closed by peer", SIG_RAISED, "network"),
	ECHO("connection reset by peer", SIG_RAISED, "network"),
	ECHO("broken pipe", SIG_RAISED, "network"),
	ECHO("connectionreseterror", SIG_RAISED, "network"),
	ECHO("connectionrefusederror", SIG_RAISED, "network"),
	ECHO("brokenpipeerror", SIG_RAISED, "network"),
	/* JAX: the coordination service and its clients */
	CAUSE("deadline_exceeded: barrier timed out", 0, "timeout"),
	CAUSE("barrier timed out", SIG_RAISED, "timeout"),
	ECHO("the tasks have crashed. task errors", SIG_PROSE, "network"),
	ECHO("terminating process because the jax distributed service detected fatal errors", 0, "network"),
	CAUSE("unable to connect to the coordination service", 0, "rendezvous"),
	/* MPI: errhandler of the communicator, PMIx, ORTE */
	CAUSE("mpi_errors_are_fatal", SIG_PROSE, NULL),
	CAUSE("an error occurred in mpi_", 0, NULL),
	CAUSE("fatal error in pmpi_", 0, NULL),
	CAUSE("fatal error in internal_", 0, NULL),
	CAUSE("orte has lost communication with a remote daemon", 0, "network"),
	CAUSE("prte has lost communication with a remote daemon", 0, "network"),
	/* DeepSpeed, Megatron */
	CAUSE("timed out initializing process group in store based barrier", 0, "rendezvous"),

	/* seen around the end of healthy runs, too */
	NOISE("recvvalue failed on socketimpl"),
	NOISE("sendbytes failed on socketimpl"),
	NOISE("recvbytes failed on socketimpl"),
	NOISE("failed to check the \"should dump\" flag"),
	NOISE("connection was likely closed"),
	NOISE("failed to recv, got 0 bytes"),
	NOISE("tcpstore server has shut down too early"),
	NOISE("- abort complete"),
	NOISE("exception (either an error or timeout) detected by watchdog"),
};

const struct signature_table signatures_collective = {rows, ARRAY_LEN(rows)};
