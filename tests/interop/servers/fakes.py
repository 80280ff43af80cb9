"""Servers that only seem to think."""

import json
import os
import shutil

from bench import Skipped, call, free_port


def fakellm(bench):
    program = bench.python("fakellm", "fakellm==0.3.5") / "fakellm"
    if not program.exists():
        raise Skipped("the package has no program of that name")
    config = bench.work / "fakellm.yaml"
    config.write_text("version: 1\nrules: []\n")
    port = free_port()
    with bench.server("fakellm", port, program, "serve", "--port", port, "--config",
                      config) as url:
        for api in ("openai-chat", "anthropic"):  # its counts are made up: no probe would pass
            yield bench.replay(api, url, "--api", api, "--model", "gpt-4o", "--output", "cap",
                               "--no-preflight", prompts=False, answers=False)


def aimock(bench):
    if shutil.which("npm") is None:
        raise Skipped("npm is not here")
    folder = bench.work / "npm"
    folder.mkdir(exist_ok=True)
    call("npm", "install", "--no-audit", "--no-fund", "--prefix", folder, "@copilotkit/aimock@1.43.0",
         log=bench.work / "npm.log")
    fixtures = bench.work / "fixtures"
    fixtures.mkdir(exist_ok=True)
    (fixtures / "all.json").write_text(json.dumps(
        {"fixtures": [{"match": {}, "response": {"content": "a few words back"}}]}))
    port = free_port()
    with bench.server("aimock", port, folder / "node_modules/.bin/llmock", "-p", port, "-f",
                      fixtures) as url:
        for api in ("openai-chat", "openai-responses", "anthropic"):
            yield bench.replay(api, url, "--api", api, "--model", "gpt-4o", "--output", "cap",
                               prompts=api == "openai-chat", answers=False)


def llm_d_sim(bench):
    """Its module is built where the Go module proxy has it."""
    if shutil.which("go") is None:
        raise Skipped("go is not here")
    program = bench.work / "go/bin/llm-d-inference-sim"
    if not program.exists():
        call("go", "install",
             "github.com/llm-d/llm-d-inference-sim/cmd/llm-d-inference-sim@latest",
             log=bench.work / "go.log", env={**os.environ, "GOBIN": str(program.parent)})
    port = free_port()
    with bench.server("llm-d-sim", port, program, "--model", "tiny", "--port", port) as url:
        for api in ("openai-chat", "openai-completions"):
            yield bench.replay(api, url, "--api", api)
