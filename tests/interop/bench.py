"""What every server is tried with: the work folder, the trace, the product, and what is held."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import hf_model

HERE = pathlib.Path(__file__).resolve().parent
ROWS = 200
READY_SECONDS = 600
ALONE = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
         "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}  # one thread, and no hub

IDS = ("--prompt", "ids", "--ids-from", 300)  # the small models have 4,096 of no meaning behind it


class Skipped(Exception):
    """A server that cannot be had here, and why."""


def call(*command, log, **more):
    """A command that must succeed; else the server is skipped with the end of what it said."""
    with open(log, "ab") as out:
        done = subprocess.run(["nice", "-n", "5", *map(str, command)], stdout=out, stderr=out,
                              check=False, **more)
    if done.returncode != 0:
        said = pathlib.Path(log).read_text(errors="replace").strip().splitlines()
        name = pathlib.Path(command[0]).name
        raise Skipped(f"{name} failed: {said[-1].strip() if said else 'it said nothing'}")


def free_port():
    """One that is free now, below those that clients get: Dynamo reads 15 bits."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def write_trace(path):
    """Mooncake rows, five a second: half of them begin as an earlier one does."""
    random.seed(7)
    families = [[100 * family + block for block in range(3)] for family in range(8)]
    with open(path, "w") as out:
        for row in range(ROWS):
            tokens = random.randint(40, 1400)
            blocks = -(-tokens // 512)
            ids = families[row % 16] if row % 16 < 8 else [10_000 + 10 * row + b for b in range(3)]
            json.dump({"timestamp": 200 * row, "input_length": tokens,
                       "output_length": random.randint(1, 12), "hash_ids": ids[:blocks]}, out)
            out.write("\n")


def forecast(record):
    """What the cache should give: in the server's blocks where their size is known."""
    server = record["expected_cached_server"]
    return record["expected_cached_tokens"] if server is None else server


class Bench:
    """The work folder, the product, the trace, and a line of the table for every run."""

    def __init__(self, flags):
        self.flags = flags
        self.work = pathlib.Path(flags.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.trace = self.work / "trace.jsonl"
        self.table = []
        self.name = ""
        write_trace(self.trace)

    def driftless(self, *flags):
        return subprocess.run([self.flags.driftless, "replay", self.trace, "--calibration", "none",
                               *map(str, flags)], capture_output=True, text=True, timeout=900, check=False)

    def words(self):
        """The words of our prompts, from the bodies of a dry run."""
        bodies = self.work / "bodies.jsonl"
        bodies.unlink(missing_ok=True)
        out = self.work / "dry"
        shutil.rmtree(out, ignore_errors=True)
        done = self.driftless("--dry-run", "--api", "openai-completions", "--save-prompts", bodies,
                              "--out", out)
        if done.returncode != 0:
            sys.exit(f"the dry run failed: {done.stderr}")
        words = set()
        for line in open(bodies):
            row = json.loads(line)  # the first line says what the file is, and has none
            words.update(row["body"]["prompt"].split() if "body" in row else ())
        path = self.work / "words.txt"
        path.write_text("\n".join(sorted(words)))
        return path

    def model(self):
        """The folder of the small model as Hugging Face lays it out."""
        return hf_model.write(self.work / "tiny", self.words().read_text().split())

    def python(self, name, *packages, overrides=()):
        """The programs of a virtual environment that has these packages. `overrides` are taken
        whatever a package asks for."""
        tools = self.work / "venv-uv"
        log = self.work / f"{name}-install.log"
        if not (tools / "bin/uv").exists():
            call(sys.executable, "-m", "venv", tools, log=log)
            call(tools / "bin/pip", "install", "-q", "uv", log=log)
        folder = self.work / f"venv-{name}"
        settings = {**os.environ, "UV_PYTHON_DOWNLOADS": "never",
                    "UV_CACHE_DIR": str(self.work / "uv-cache")}
        if not (folder / "bin/python").exists():
            call(tools / "bin/uv", "venv", "-q", "-p", sys.executable, folder, log=log,
                 env=settings)
        more = []
        if overrides:
            path = self.work / f"{name}-overrides.txt"
            path.write_text("\n".join(overrides))
            more = ["--overrides", path]
        call(tools / "bin/uv", "pip", "install", "-q", "-p", folder / "bin/python",
             *more, *packages, log=log, env=settings)
        return folder / "bin"

    @contextlib.contextmanager
    def server(self, name, port, *command, ready="/v1/models", **environment):
        """A program that is started and stopped. Where it ends by itself it is skipped."""
        path = self.work / f"{name}.log"
        log = open(path, "wb")
        process = subprocess.Popen(["nice", "-n", "5", *map(str, command)], stdout=log, stderr=log,
                                   env={**os.environ, **environment}, start_new_session=True)
        try:
            self.wait(name, path, process, f"http://127.0.0.1:{port}{ready}")
            yield f"http://127.0.0.1:{port}"
        finally:
            self.stop(process)
            log.close()

    @staticmethod
    def stop(process):
        """It and what it started: vLLM's engine is a process of its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()

    @staticmethod
    def wait(name, path, process, url):
        for _ in range(READY_SECONDS * 5):
            if process.poll() is not None:
                said = path.read_text(errors="replace").strip().splitlines()
                raise Skipped(f"{name} ended with {process.returncode} before it was ready: "
                              f"{said[-1] if said else 'it said nothing'}")
            try:
                with urllib.request.urlopen(url, timeout=2):
                    return
            except urllib.error.HTTPError as answer:
                if answer.code < 500:
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise Skipped(f"{name} was not ready within {READY_SECONDS} s")

    def replay(self, title, url, *flags, prompts=True, answers=True, counted=True, cached=False,
               faults=(), speed=4, rows=ROWS):
        """Prints what came of one run; '' where all is well, else what is wrong. `prompts`,
        `answers`: their lengths must be the recorded ones. `counted`: every prompt's is told.
        `cached`: what the cache gave must be what was expected in the server's blocks.
        `faults`: outcomes that are the server's own, and not held against anybody. `rows`: so many,
        for a server that is slow here."""
        out = self.work / "run"
        shutil.rmtree(out, ignore_errors=True)
        done = self.driftless("--url", url, "--speed", speed, "--limit", rows, "--out", out, *flags)
        said = self.work / f"said-{self.name}-{title}.txt".replace(" ", "-").replace(",", "")
        said.write_text(f"{done.stdout}\n{done.stderr}")
        if done.returncode != 0:
            self.table.append((self.name, title, f"exit {done.returncode}", "", "", ""))
            return f"{title}: exit {done.returncode}: {done.stderr.strip()}"
        every = [json.loads(line) for line in open(out / "requests.jsonl")]
        records = [record for record in every if record["outcome"] not in faults]
        bad = [record for record in records if record["outcome"] != "ok"]
        off = [record for record in records
               if prompts and record["prompt_tokens"] != record["input_length"]
               and (counted or record["prompt_tokens"] is not None)]
        short = [record for record in records
                 if answers and record["output_tokens"] != record["output_length"]]
        other = [record for record in records
                 if record["cached_tokens"] not in (None, forecast(record))]
        self.tell(title, every, records, prompts, answers, cached)
        if cached and not any(record["cached_tokens"] for record in records):
            return f"{title}: the server tells no cached tokens"
        if len(every) != rows or 2 * len(records) < rows or bad or off or short or (cached and other):
            worst = (bad or off or short or other or records)[0]
            return f"{title}: {json.dumps({k: v for k, v in worst.items() if k != 'chunk_ns'})}"
        return ""

    def tell(self, title, every, records, prompts, answers, cached):
        """A line on the screen, and one of the table."""
        ok = sum(record["outcome"] == "ok" for record in every)
        own = f" ({len(every) - len(records)} by a fault of its own)" if len(records) < len(every) else ""
        exact = sum(record["prompt_tokens"] == record["input_length"] for record in records)
        untold = sum(record["prompt_tokens"] is None for record in records)
        long = sum(record["output_tokens"] == record["output_length"] for record in records)
        told = [record for record in records if record["cached_tokens"] is not None]
        hit = sum(record["cached_tokens"] == forecast(record) for record in told)
        total = sum(record["cached_tokens"] for record in told)
        line = (self.name, title, f"{ok} of {len(every)}{own}",
                (f"{exact}" + (f" ({untold} not told)" if untold else "")) if prompts else "not held",
                f"{long}" if answers else "not held",
                "not told" if not told else f"{hit} of {len(told)} rows, {total} tokens" if cached
                else f"not held, {total} tokens")
        self.table.append(line)
        print("  {1}: {2} rows ok; exact: prompts {3}, answers {4}; cached as expected: {5}".format(*line),
              flush=True)

    def print_table(self):
        print("\n| server | API | rows ok | prompts exact | answers exact | cached as forecast |")
        print("|---|---|---|---|---|---|")
        for line in self.table:
            print("| " + " | ".join(line) + " |")
