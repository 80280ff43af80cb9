"""The runs whose pages are looked at: each played against the mock, or made of one that was."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import time

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = TREE / "tests/data/sample.jsonl"
LONG_RECORDS = 50_001
# Meant to do harm where it is not shown as the text that it is: tags, line ends of JavaScript, marks that turn the
# text around, and more of it than fits anywhere.
WORDS = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>\u2028\u202e)1(trela\u2066 " + "A" * 3000


@contextlib.contextmanager
def mock(driftless, *flags):
    process = subprocess.Popen([driftless, "mock", "--listen", "127.0.0.1:0", *flags],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate()


def command(flags, folder, url, *more):
    parts = [flags.driftless, "replay", *more, "--url", url, "--out", folder, "--no-preflight",
             "--model", "mock-model", "--calibration", "none", "--no-progress"]
    return [str(part) for part in parts]


def play(flags, folder, url, *more):
    done = subprocess.run(command(flags, folder, url, *more), capture_output=True, text=True)
    if not (folder / "summary.json").exists():
        raise SystemExit(f"{folder.name}: {done.stderr}")
    return folder


def report(flags, folder):
    subprocess.run([flags.driftless, "report", folder, "--html", folder / "report.html"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def quietly(*parts):
    subprocess.run([str(part) for part in parts], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def all_runs(flags, work):
    """Names and folders."""
    hour = flags.trace
    if hour is None:
        hour = work / "hour.jsonl"
        quietly(flags.driftless, "convert", SAMPLE, "-o", hour, "--replicate", 50)
    agents = work / "agents.jsonl"
    quietly(flags.driftless, "synth", "agents", "--trees", 12, "--turns", 6, "--gap", "exponential:200ms",
            "--spawn", 0.3, "-o", agents)
    pace = ("--ttft", "20ms", "--itl", "5ms", "--jitter", "0.3")
    with mock(flags.driftless, *pace, "--ttft-per-token", "3us") as url:
        yield "hour", play(flags, work / "hour", url, hour, "--speed", flags.speed)
        yield "one", play(flags, work / "one", url, SAMPLE, "--limit", 1)
        yield "killed", killed(flags, work / "killed", url)
    with mock(flags.driftless, *pace, "--fault", "500:0.05", "--fault", "truncate:0.03", "--fault", "429:0.03",
              "--cache-capacity", "200") as url:
        yield "failures", play(flags, work / "failures", url, SAMPLE, "--speed", 3, "--event",
                               "+2s label a new config", "--period", "1s")
    with mock(flags.driftless, "--ttft", "20ms", "--itl", "2ms", "--jitter", "0.3") as url:
        yield "agents", play(flags, work / "agents", url, agents, "--users", 6)
        yield "long", long_run(flags, work / "long", url)
        yield "merged", merged(flags, work, url)
    yield "words", with_words(flags, work / "failures", work / "words")


def killed(flags, folder, url):
    """A run that was killed while requests were in flight."""
    process = subprocess.Popen(command(flags, folder, url, SAMPLE), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    requests = folder / "requests.jsonl"
    end = time.monotonic() + 30
    while not (requests.exists() and requests.stat().st_size > 50_000):
        if time.monotonic() > end or process.poll() is not None:
            raise SystemExit("killed: the run has no records")
        time.sleep(0.05)  # polls another process
    process.kill()
    process.wait()
    return report(flags, folder)


def merged(flags, work, url):
    """One run of two shards, played at the same time, one of them by two engines."""
    shards = work / "shards"
    players = [subprocess.Popen(command(flags, shards, url, SAMPLE, "--shard", f"{index}/2", "--engines", str(index + 1)),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for index in range(2)]
    for player in players:
        player.wait()
    quietly(flags.driftless, "merge", shards / "shard-0", shards / "shard-1", "--out", work / "merged")
    return work / "merged"


def long_run(flags, folder, url):
    """More records than a page has: those of the sample over and over, each time later and otherwise numbered."""
    play(flags, folder, url, SAMPLE, "--speed", 10, "--chunks", "none", "--report", "none")
    records = [json.loads(line) for line in (folder / "requests.jsonl").open()]
    span = max(record["ended_ns"] for record in records)
    stamps = [key for key in records[0] if key.endswith("_ns") and key in {
        "due_ns", "armed_ns", "fired_ns", "wire_ns", "sent_ns", "headers_ns", "first_byte_ns", "first_token_ns",
        "first_content_ns", "last_token_ns", "done_ns", "ended_ns"}]
    with (folder / "requests.jsonl").open("w") as file:
        for number in range(LONG_RECORDS):
            turn, place = divmod(number, len(records))
            record = {**records[place], "row": number, "request": number}
            for key in stamps:
                record[key] = None if record[key] is None else record[key] + turn * span
            file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")
    run = json.loads((folder / "run.json").read_text())
    run["trace"]["rows"] = run["plan"]["rows"] = run["end"]["rows_fired"] = run["end"]["records"] = LONG_RECORDS
    (folder / "run.json").write_text(json.dumps(run) + "\n")
    return report(flags, folder)


def with_words(flags, folder, copy):
    """The run with failures, whose server has said something that is meant to do harm."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("report.html"))
    records = [json.loads(line) for line in (copy / "requests.jsonl").open()]
    for record in records:
        record["error"] = WORDS if record["outcome"] != "ok" else None
        record["model"] = WORDS[:200]
    lines = (json.dumps(record, separators=(",", ":"), ensure_ascii=False) for record in records)
    (copy / "requests.jsonl").write_text("\n".join(lines) + "\n")
    write_server_lines(copy / "server.jsonl", records)
    return report(flags, copy)


def write_server_lines(path, records):
    """What a page of vLLM would have said four times a second: requests that run, tokens made, cache in use, and
    how many tokens that holds."""
    url, spans = "http://server/metrics", [(r["fired_ns"], r["ended_ns"]) for r in records if r["fired_ns"] is not None]
    series = (("vllm:num_requests_running", "gauge", {}), ("vllm:generation_tokens_total", "counter", {}),
              ("vllm:kv_cache_usage_perc", "gauge", {}),
              ("vllm:cache_config_info", "gauge", {"block_size": "16", "num_gpu_blocks": "4096", "note": WORDS[:300]}))
    lines = [{"segment": 0, "series": number, "url": url, "name": name, "type": kind, "counter": kind == "counter",
              "labels": {"engine": "0", **labels}} for number, (name, kind, labels) in enumerate(series)]
    for at in range(-250_000_000, max(end for _, end in spans) + 250_000_000, 250_000_000):
        running = sum(fired <= at < end for fired, end in spans)
        made = sum(r["output_tokens"] or 0 for r in records if r["ended_ns"] is not None and r["ended_ns"] <= at)
        lines.append({"segment": 0, "t_ns": at, "took_ns": 1_000_000, "url": url, "error": None, "left_out": 0,
                      "series": [0, 1, 2, 3], "values": [running, made, running / 100, 1]})
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
