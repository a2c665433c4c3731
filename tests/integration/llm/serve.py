"""llama.cpp's own server on a port of this machine, from the wheel that holds it as a library.

    serve.py MODEL PORT CONTEXT_TOKENS        until it is killed
"""

import signal
import sys

import xllamacpp

SEED = 7


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.hostnames, params.port = ["127.0.0.1"], int(sys.argv[2])
    params.n_ctx, params.n_parallel = int(sys.argv[3]), 1
    # Threads that wait for each other stand still on a busy machine; one does not wait.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.seed = SEED
    params.cache_ram_mib = 0
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


main()
