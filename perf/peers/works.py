"""The works of the race: what is asked of every client, and how the server answers."""

import dataclasses
import json

BURST_SIZES = (500, 1000)
MOONCAKE_ROWS = 600
MOONCAKE_SPEED = 5
OPEN = 64


@dataclasses.dataclass(frozen=True)
class Work:
    name: str
    title: str
    kind: str  # burst: all at once; trace: at the instants of `rows`; closed: OPEN at any time
    first_us: int
    gap_us: int
    input_tokens: int = 0
    output_tokens: int = 0
    rows: tuple = ()  # of a trace, in Mooncake's format, timestamps in ms
    rate: float = 0.0  # of a trace whose rows are equally far apart
    closed_requests: int = 0  # of a closed loop; 0: so many as the client sends within some seconds

    def requests(self, client):
        """How many the client sends."""
        if self.kind == "closed":
            return self.closed_requests or client.closed_requests
        return len(self.rows)

    def server_flags(self):
        return ["--first-us", self.first_us, "--gap-us", self.gap_us,
                "--tokens", max(self.output_tokens, 1)]


def row(at_ms, tokens_in, tokens_out, number):
    return {"timestamp": at_ms, "input_length": tokens_in, "output_length": tokens_out,
            "hash_ids": [number]}


def burst(count):
    """vllm-bench's own test (bench-overhead/run.sh in its repository), with our server."""
    return Work(f"a-{count}", f"vllm-bench's own test: {count:,} streams at once, first token after 50 ms, "
                "100 tokens 10 ms apart", "burst", 50_000, 10_000, 32, 100,
                tuple(row(0, 32, 100, i) for i in range(count)))


def mooncake(trace):
    """The first rows of the Mooncake conversation trace, fast enough to end within a minute."""
    rows = []
    for line in open(trace):
        rows.append(json.loads(line))
        if len(rows) == MOONCAKE_ROWS:
            break
    first = rows[0]["timestamp"]
    for each in rows:
        each["timestamp"] = (each["timestamp"] - first) // MOONCAKE_SPEED
    return Work("b", f"{len(rows)} Mooncake rows, {MOONCAKE_SPEED} times as fast, over "
                f"{rows[-1]['timestamp'] / 1000:.0f} s; first token after 50 ms, 5 ms a token", "trace",
                50_000, 5_000, rows=tuple(rows))


def paced(streams, tokens):
    """1,000 streams of 300 tokens are open together at the end of the starts."""
    return Work("c", f"{streams:,} streams of 50 tokens/s, starts 5 ms apart, {tokens} tokens each", "trace",
                50_000, 20_000, 32, tokens, tuple(row(5 * i, 32, tokens, i) for i in range(streams)), 200.0)


def closed(requests):
    return Work("d", f"closed loop, {OPEN} open, answers of one token without delay", "closed",
                0, 0, 8, 1, closed_requests=requests)


def all_works(trace, is_toy):
    """By letter. Without the trace b is missing."""
    if is_toy:
        return {"a": [burst(20)], "c": [paced(20, 10)], "d": [closed(2000)]}
    works = {"a": [burst(count) for count in BURST_SIZES], "c": [paced(1000, 300)], "d": [closed(0)]}
    if trace.exists():
        works["b"] = [mooncake(trace)]
    return works


def write_trace(work, count, path):
    """The rows of a work in a file; of a closed loop so many as the client sends."""
    rows = work.rows or (row(0, work.input_tokens, work.output_tokens, i) for i in range(count))
    with open(path, "w") as out:
        for each in rows:
            out.write(json.dumps(each) + "\n")
    return path
