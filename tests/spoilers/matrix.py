"""One cell of the matrix: a spoiler, a way to wait, a wire, a number of streams; what came of it."""

import dataclasses
import json
import os
import pathlib
import selectors
import subprocess
import threading
import time

import truth
from spoilers import Target

SECONDS_MAX = 120  # for one run; a cell that needs them is broken
WITHOUT_NAME_NS = 5_000_000  # a run that names no limit is held to this
# How far a stamp may lie behind a send on a quiet loopback, and the receiver be late unnoticed.
TRANSIT_NS = truth.OWN_GAP_NS + 300_000
GOOD_MS = 17  # the first token of most loads comes after 15
NOT_CERTIFIED = 6
# By number of streams: rows, us between rows, tokens, us between tokens, and how many seconds after
# the first row the spoiler strikes.
LOADS = {
    1: {"rows": 8, "gap_us": 300_000, "tokens": 50, "between_us": 5_000, "strike": 1.0},
    30: {"rows": 30, "gap_us": 10_000, "tokens": 200, "between_us": 10_000, "strike": 1.0},
    1000: {"rows": 1000, "gap_us": 1_000, "tokens": 20, "between_us": 100_000, "strike": 1.2},
}


@dataclasses.dataclass
class Cell:
    spoiler: object
    wait: str
    tls: bool
    streams: int

    @property
    def name(self):
        return f"{self.spoiler.name}/{self.wait}/{'tls' if self.tls else 'plain'}/{self.streams}"

    def load(self):
        return {"first_ms": 15, "input": 200, **LOADS[self.streams], **self.spoiler.load}


@dataclasses.dataclass
class Rig:
    """What all cells share."""

    driftless: str
    receiver: str
    scratch: pathlib.Path
    calibration: pathlib.Path
    papers: tuple  # certificate and key
    engine_cpu: int
    other_cpu: int
    client: tuple = ()  # flags of every run


def write_trace(path, load):
    """Due times in us: 20 us between two rows are a whole number. `dues` are pairs of due time and
    prompt length; without them rows are alike."""
    dues = load.get("dues") or [(row * load["gap_us"], load["input"]) for row in range(load["rows"])]
    with open(path, "w") as file:
        ids = 0
        for due_us, length in dues:
            blocks = -(-length // 512)
            file.write(json.dumps({
                "timestamp": due_us, "input_length": length, "output_length": load["tokens"],
                "hash_ids": list(range(ids, ids + blocks)),
            }) + "\n")
            ids += blocks


def on_cpu(cpu, then=None):
    def prepare():
        os.sched_setaffinity(0, {cpu} if isinstance(cpu, int) else cpu)
        if then:
            then()

    return prepare


def start_receiver(rig, cell, folder):
    load = cell.load()
    command = [
        rig.receiver, "--log", folder / "receiver.jsonl", "--first-ms", load["first_ms"],
        "--between-us", load["between_us"], "--announce", *cell.spoiler.receiver,
    ]
    if cell.tls:
        command += ["--cert", rig.papers[0], "--key", rig.papers[1]]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, text=True,
        preexec_fn=on_cpu(rig.other_cpu),
    )
    return process, process.stdout.readline().split()[-1]


def start_client(rig, cell, folder, url):
    trace = folder / "trace.jsonl"
    write_trace(trace, cell.load())
    command = [
        rig.driftless, "replay", trace, "--url", url, "--api", "openai-completions", "--format",
        "mooncake", "--time-unit", "us", "--lenient", "--no-preflight", "--model", "m", "--cpu",
        rig.engine_cpu, "--wait", cell.wait, "--calibration", rig.calibration,
        "--require-certified", "--goodput", f"ttft:{GOOD_MS}", "--out", folder / "run", *rig.client,
        *cell.spoiler.client,
    ]
    if cell.tls:
        command.append("--insecure")
    return subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env={**os.environ, **cell.spoiler.env},
        preexec_fn=on_cpu({rig.engine_cpu, rig.other_cpu}, cell.spoiler.limit),
    )


def wait_for_row(receiver, client):
    """Until the receiver announces the first row; false where the client ends before."""
    with selectors.DefaultSelector() as selector:
        selector.register(receiver.stdout, selectors.EVENT_READ)
        while client.poll() is None:
            if selector.select(timeout=0.2):
                return True
    return False


def strike(rig, cell, receiver, client):
    if cell.spoiler.strike and wait_for_row(receiver, client):
        time.sleep(cell.load()["strike"])
        if client.poll() is None:
            cell.spoiler.strike(Target(client, rig.engine_cpu, rig.other_cpu, rig.scratch))


def play(rig, cell, folder):
    """Runs the cell; returns the client's exit code and what it said."""
    folder.mkdir()
    (rig.scratch / "disk-works").touch()
    with cell.spoiler.around():
        receiver, url = start_receiver(rig, cell, folder)
        try:
            client = start_client(rig, cell, folder, url)
            struck = threading.Thread(target=strike, args=(rig, cell, receiver, client))
            struck.start()
            try:
                said, _ = client.communicate(timeout=SECONDS_MAX)
            finally:
                client.kill()
                struck.join()
        finally:
            receiver.terminate()
            receiver.communicate()
    return client.returncode, said


def read_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def judge(cell, code, said, folder):
    """What came of a cell, as one flat object; `wrong` lists why it fails."""
    result = {"cell": cell.name, "exit": code, "wrong": []}
    if not (folder / "run" / "summary.json").exists():
        # Refused before time 0, as a client that lacks something should: nothing was certified.
        result["verdict"] = f"refused ({code})"
        result["said"] = said.strip().splitlines()[-1:]
        if not cell.spoiler.caps or code not in (3, 7):
            result["wrong"].append(f"no summary; exit {code}: {said[-300:]}")
        return result
    summary = json.loads((folder / "run" / "summary.json").read_text())
    facts = json.loads((folder / "run" / "run.json").read_text())
    records = read_lines(folder / "run" / "requests.jsonl")
    seen = {}
    for request in read_lines(folder / "receiver.jsonl"):
        if request["request_id"][19:20] != "a":  # a probe
            seen[int(request["request_id"].rsplit("-", 1)[1])] = request
    result["verdict"] = summary["verdict"]["name"]
    result["reasons"] = summary["verdict"]["reasons"]
    result["rows"] = len(records)
    result["tainted"] = sum(bool(record["tainted"]) for record in records)
    add_errors(result, records, seen, facts)
    add_figures(result, summary, truth.times_of(records, seen))
    if outside := truth.good_outside(summary, records, seen, GOOD_MS * 1_000_000, TRANSIT_NS):
        result["wrong"].append(f"{outside:g} good rows outside of their bar")
    if len(records) != cell.load()["rows"]:
        result["wrong"].append(f"{len(records)} records of {cell.load()['rows']} rows")
    if code not in (0, NOT_CERTIFIED) or (code == 0) != (result["verdict"] == "certified"):
        result["wrong"].append(f"exit {code} with the verdict {result['verdict']}")
    return result


def add_figures(result, summary, times):
    """Of the run, whatever its word: no true figure may lie outside its bar."""
    if not times:
        result["figures"] = "no figure checked: the receiver lacks a row that is ok"
        return
    for name, moved, bar, outside in truth.bars_of(summary, *times):
        if outside > TRANSIT_NS:
            what = f"{name} lies {outside / 1e6:.3f} ms outside its bar of {bar / 1e6:.3f} ms"
            result["wrong"].append(what)
        if name == "ttft p99":
            result["ttft_p99_moved_ns"], result["ttft_p99_bar_ns"] = moved, bar


def add_errors(result, records, seen, facts):
    zero = facts["clock"]["zero_monotonic_ns"]
    limits = truth.limits_of(facts)
    place_of = truth.places(records)
    limits.sent, limits.read = limits.sent or WITHOUT_NAME_NS, limits.read or WITHOUT_NAME_NS
    result["limit_sent_ns"], result["limit_read_ns"] = limits.sent, limits.read
    worst = {"sent": 0, "late": 0, "read": 0, "early": 0, "starved": 0, "receiver": 0}
    hidden = {"sent": 0, "read": 0, "starved": 0}
    over, lies = {}, {}
    beyond = 0
    for record in records:
        row = record["row"]
        if lie := truth.outcome_lie(record, seen.get(row)):
            lies.setdefault(lie, []).append(row)
        if record["fired_ns"] is None or row not in seen:
            if not record["tainted"] and record["outcome"] != "not_sent":
                over.setdefault(f"untainted {record['outcome']}, never seen", []).append(row)
            continue
        errors = truth.errors_of(record, seen[row], zero)
        beyond = max(beyond, errors.beyond)
        if errors.beyond > TRANSIT_NS:
            lies.setdefault("tokens that waited for longer than their bounds", []).append(row)
        if record["tainted"]:
            hidden = {kind: max(hidden[kind], getattr(errors, kind)) for kind in hidden}
            continue
        worst = {kind: max(worst[kind], getattr(errors, kind)) for kind in worst}
        allowed = {"sent": limits.sent + limits.wire, "read": limits.read, "starved": limits.read,
                   "late": limits.sent_at(place_of[row]) + limits.wire}
        for kind, limit in allowed.items():
            if getattr(errors, kind) > limit + TRANSIT_NS:
                over.setdefault(kind, []).append(row)
        if errors.early > 0:
            over.setdefault("early", []).append(row)
        if record["outcome"] != "ok":
            over.setdefault(f"untainted {record['outcome']}", []).append(row)
    result["worst_beyond_ns"] = beyond
    result.update({f"worst_{kind}_ns": value for kind, value in worst.items()})
    result.update({f"tainted_worst_{kind}_ns": value for kind, value in hidden.items()})
    for kind, rows in over.items():
        result["wrong"].append(f"{kind}: {len(rows)} untainted rows, first {rows[0]}")
    for lie, rows in lies.items():
        by = f", by up to {beyond / 1e6:.3f} ms" if lie.startswith("tokens") else ""
        result["wrong"].append(f"{lie}: {len(rows)} rows, first {rows[0]}{by}")
