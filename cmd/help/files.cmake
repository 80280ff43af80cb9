# The files that a user needs beside the program: `driftless help NAME` prints each, and an installation has them
# below share/driftless. NAME|SUMMARY|PATH, in the order of the help; every list of them is made of this one. Pages lose
# their links into the sources (relink.cmake).
set(shipped_files
    "seccomp.json|seccomp profile that allows io_uring, for Docker, Podman and runc|cmd/containers/seccomp.json"
    "pod.yaml|Kubernetes: one replay in one pod|cmd/cluster/pod.yaml"
    "job.yaml|Kubernetes: one replay by four pods|cmd/cluster/job.yaml"
    "merge.yaml|Kubernetes: one run of what job.yaml wrote|cmd/cluster/merge.yaml"
    "driftless.sbatch|Slurm: one replay on the nodes of a job|cmd/cluster/driftless.sbatch"
    "run.ipynb|Jupyter notebook that reads a run|cmd/report/recipes/run.ipynb"
    "containers.md|how to run it in a container|cmd/containers/README.md"
    "cluster.md|how to replay from several machines|cmd/cluster/README.md"
    "templates.md|how to describe an API for --api template|proto/api/templates.md"
    "other_tools.txt|flags of other tools, and what replay makes of them|cmd/flags/other_tools.txt"
    "rules.md|how to write rules for --rules|cmd/flags/rules/README.md"
    "agentx-mvp.toml|rules: AgentX as its tutorial runs it|cmd/flags/rules/agentx-mvp.toml"
    "agentx.toml|rules: AgentX as InferenceX runs it|cmd/flags/rules/agentx.toml"
    "inferencex-993.toml|rules: InferenceX pull request 993|cmd/flags/rules/inferencex-993.toml"
    "mlperf-agentic.toml|rules: the agentic example of MLPerf Endpoints|cmd/flags/rules/mlperf-agentic.toml"
    "metrics.md|how to map a server's metrics to figures|proto/metrics/metrics.md"
    "atom.toml|table of metrics: ATOM|proto/metrics/atom.toml"
    "dynamo.toml|table of metrics: Dynamo|proto/metrics/dynamo.toml"
    "llamacpp.toml|table of metrics: llama.cpp|proto/metrics/llamacpp.toml"
    "power.toml|table of metrics: exporters of power|proto/metrics/power.toml"
    "sglang.toml|table of metrics: SGLang|proto/metrics/sglang.toml"
    "tgi.toml|table of metrics: TGI|proto/metrics/tgi.toml"
    "trtllm.toml|table of metrics: TensorRT-LLM|proto/metrics/trtllm.toml"
    "vllm.toml|table of metrics: vLLM|proto/metrics/vllm.toml"
    "records.md|keys and units of the files of a run, with jq|proto/run/README.md"
    "verdict.md|what each verdict means and what to do, taints, the client's error|proto/figures/README.md"
    "recipes.md|a run in pandas, Polars, DuckDB and Parquet|cmd/report/recipes/README.md"
    "record.schema.json|schema of requests.jsonl|proto/run/record.schema.json"
    "fired.schema.json|schema of fired.jsonl|proto/run/fired.schema.json"
    "period.schema.json|schema of periods.jsonl|proto/run/period.schema.json"
    "summary.schema.json|schema of summary.json|proto/figures/summary.schema.json"
    "timed_event.schema.json|schema of events.jsonl|proto/run/timed_event.schema.json"
    "client.schema.json|schema of client.jsonl|proto/run/client.schema.json"
    "server_series.schema.json|schema of server.jsonl: a line for each series|proto/run/server_series.schema.json"
    "server_scrape.schema.json|schema of server.jsonl: a line for each page|proto/run/server_scrape.schema.json"
    "inspect.schema.json|schema of inspect --json|cmd/reading/inspect.schema.json"
    "compare.schema.json|schema of compare --json|cmd/runs/compare.schema.json"
    "table.schema.json|schema of compare --table --json|cmd/runs/table.schema.json"
    "sweep.schema.json|schema of sweep.json|cmd/runs/sweep.schema.json"
    "find.schema.json|schema of find.json|cmd/runs/find.schema.json")

set(shipped_built "")  # the same, with the paths of what was made for it
foreach(entry ${shipped_files})
  string(REPLACE "|" ";" parts "${entry}")
  list(GET parts 0 name)
  list(GET parts 1 summary)
  list(GET parts 2 path)
  set(built ${CMAKE_CURRENT_SOURCE_DIR}/${path})
  if(name MATCHES "[.]md$")
    set(built ${PROJECT_BINARY_DIR}/shipped/${name})
    add_custom_command(OUTPUT ${built}
                       COMMAND ${CMAKE_COMMAND} "-DFILES=${shipped_files}" -DFROM=${path} -DOUT=${built}
                               -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/relink.cmake
                       DEPENDS ${path} ${CMAKE_CURRENT_LIST_DIR}/relink.cmake ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
  endif()
  list(APPEND shipped_built "${name}|${summary}|${built}")
  set(kind FILES)
  if(name MATCHES "[.]sbatch$")
    set(kind PROGRAMS)  # a script, which Debian wants executable
  endif()
  install(${kind} ${built} DESTINATION share/driftless RENAME ${name})
endforeach()
