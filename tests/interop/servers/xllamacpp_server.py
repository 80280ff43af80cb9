"""Serves the model of the first argument at the port of the second until it is ended."""

import signal
import sys

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.hostnames = ["127.0.0.1"]
settings.port = int(sys.argv[2])
settings.n_parallel = 2
settings.n_ctx = 16384
settings.cpuparams.n_threads = 1
settings.cpuparams_batch.n_threads = 1
settings.endpoint_metrics = True
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
signal.pause()
