#!/usr/bin/env python3
"""What reading the servers' metrics costs a run: scraped.py [TURNS [SECONDS [DRIFTLESS]]]

Runs of one trace, one after the other, in three ways that take turns: `none` (`--metrics none`), `other` (the same, and a
process of its own reads a page of 1,000 series, all of which change, each second) and `scraped` (the run itself reads
that page each second). The page is served by a process of its own. What `other` costs is the page and a busy CPU beside
the engine; what `scraped` costs more than `other` is our own reading. For each run: drift, how many rows, bytes of
server.jsonl, and the floor of the same run: how late this script's own sleeps end meanwhile on the writer's CPU. At the
end the ratios of each pair. Standard library only.
"""
import http.server
import json
import multiprocessing
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROWS_PER_S = 100
ENGINE_CPU, OTHER_CPU = "1", "0"


class Page(http.server.BaseHTTPRequestHandler):
    """40 histograms of 22 series, 60 counters and 60 gauges."""

    state = {"random": random.Random(1), "buckets": [[0] * 20 for _ in range(40)], "sums": [0.0] * 40,
             "counters": [0] * 60}

    def text(self):
        draw, lines = self.state["random"], []
        for i, buckets in enumerate(self.state["buckets"]):
            lines.append(f"# TYPE vllm:seconds_{i} histogram")
            below = 0
            for at in range(20):
                buckets[at] = below = max(buckets[at] + draw.randint(1, 15 * (at + 1)), below)
                edge = "+Inf" if at == 19 else 0.005 * (at + 1)
                lines.append(f'vllm:seconds_{i}_bucket{{model_name="m",le="{edge}"}} {below}')
            self.state["sums"][i] += 90 * draw.random()
            lines.append(f'vllm:seconds_{i}_sum{{model_name="m"}} {self.state["sums"][i]!r}')
            lines.append(f'vllm:seconds_{i}_count{{model_name="m"}} {below}')
        for i in range(60):
            self.state["counters"][i] += draw.randint(1, 200_000)
            lines.append(f"# TYPE vllm:c_{i}_total counter")
            lines.append(f'vllm:c_{i}_total{{model_name="m"}} {self.state["counters"][i]}')
            lines.append(f"# TYPE vllm:g_{i} gauge")
            lines.append(f'vllm:g_{i}{{model_name="m"}} {draw.random()!r}')
        return "\n".join(lines) + "\n"

    def do_GET(self):
        body = self.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(port):
    os.sched_setaffinity(0, {int(OTHER_CPU)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    port.put(server.server_port)
    server.serve_forever()


def read_each_second(url):
    os.sched_setaffinity(0, {int(OTHER_CPU)})
    while True:
        urllib.request.urlopen(url).read()
        time.sleep(1)


def percentile(values, per_mille):
    values = sorted(values)
    return values[max(0, -(-len(values) * per_mille // 1000) - 1)]


class Floor(threading.Thread):
    """How late sleeps of 5 ms end."""

    def __init__(self):
        super().__init__()
        self.ended, self.late = threading.Event(), []

    def run(self):
        while not self.ended.is_set():
            begin = time.monotonic_ns()
            time.sleep(0.005)
            self.late.append(time.monotonic_ns() - begin - 5_000_000)


def play(driftless, trace, url, folder, way, page):
    metrics = page if way == "scraped" else "none"
    reader = multiprocessing.Process(target=read_each_second, args=(page,), daemon=True)
    if way == "other":
        reader.start()
    floor = Floor()
    floor.start()
    try:
        subprocess.run([driftless, "replay", trace, "--url", url, "--out", folder, "--cpu", ENGINE_CPU, "--writer-cpu",
                        OTHER_CPU, "--calibration", "none", "--no-preflight", "--model", "mock-model", "--report", "none",
                        "--metrics", metrics], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        floor.ended.set()
        floor.join()
        if way == "other":
            reader.terminate()
    with open(folder + "/requests.jsonl", encoding="utf-8") as lines:
        drift = [json.loads(line)["drift_ns"] for line in lines]
    lines = folder + "/server.jsonl"
    size = os.path.getsize(lines) if os.path.exists(lines) else 0
    at = {per_mille: percentile(drift, per_mille) for per_mille in (500, 990)}
    print("%-8s %d rows | drift us p50 %.2f p99 %.2f worst %.1f | floor us p50 %.1f p99 %.1f | server.jsonl %d bytes" % (
        way, len(drift), at[500] / 1e3, at[990] / 1e3, max(drift) / 1e3,
        percentile(floor.late, 500) / 1e3, percentile(floor.late, 990) / 1e3, size), flush=True)
    return at


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    driftless = sys.argv[3] if len(sys.argv) > 3 else "build-release/driftless"
    os.sched_setaffinity(0, {int(OTHER_CPU)})
    ports = multiprocessing.Queue()
    page = multiprocessing.Process(target=serve, args=(ports,), daemon=True)
    page.start()
    mock = subprocess.Popen([driftless, "mock", "--listen", "127.0.0.1:0", "--ttft", "5ms", "--itl", "2ms", "--metrics",
                             "none", "--cpu", OTHER_CPU], stdout=subprocess.PIPE, text=True)
    url = mock.stdout.readline().split()[-1]
    metrics = f"http://127.0.0.1:{ports.get()}/metrics"
    pairs_of = (("scraped", "none"), ("other", "none"), ("scraped", "other"))
    ratios = {(pair, per_mille): [] for pair in pairs_of for per_mille in (500, 990)}
    try:
        with tempfile.TemporaryDirectory() as scratch:
            trace = scratch + "/rows.jsonl"
            with open(trace, "w", encoding="utf-8") as out:
                for i in range(seconds * ROWS_PER_S):
                    out.write(json.dumps({"timestamp": i * 1000 / ROWS_PER_S, "input_length": 64, "output_length": 8,
                                          "hash_ids": [i]}) + "\n")
            for turn in range(turns):
                # The first of a turn alternates: what grows over the turns is in all.
                ways = ["none", "other", "scraped"]
                ways = ways[turn % 3:] + ways[:turn % 3]
                found = {way: play(driftless, trace, url, f"{scratch}/{turn}-{way}", way, metrics) for way in ways}
                for ((with_it, without), per_mille), list_of in ratios.items():
                    list_of.append(found[with_it][per_mille] / max(1, found[without][per_mille]))
    finally:
        mock.send_signal(signal.SIGINT)
        mock.wait()
        page.terminate()
    for ((with_it, without), per_mille), list_of in ratios.items():
        print("%s / %s, p%d: %s, median %.2f" % (
            with_it, without, per_mille // 10, ", ".join("%.2f" % one for one in list_of), statistics.median(list_of)))


if __name__ == "__main__":
    main()
