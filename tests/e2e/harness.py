"""What the end-to-end tests share: starting servers, running replays, reading what they wrote.

Paths come from the environment (set by tests/tests.cmake): DRIFTLESS, RECEIVER, DATA; MODE, too. With
DRIVER=epoll the kernel forbids this process io_uring, and so all that it starts.
Python's standard library only.
"""

import ctypes
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

DRIFTLESS = os.environ["DRIFTLESS"]
RECEIVER = os.environ["RECEIVER"]
SAMPLE = pathlib.Path(os.environ["DATA"]) / "sample.jsonl"
TOKENIZERS = SAMPLE.parent / "tokenizers"
# Sanitizers take memory and signals into their own hands, and call what a filter may forbid.
SANITIZED = os.environ.get("MODE") in ("asan", "fuzz", "thread")
# With these a replay has a calibration of its own, or none that could be named.
MEASURES = {"--calibration", "--require-certified", "--resume"}
SECONDS_MAX = 120  # for one command; a test that needs it is broken
IO_URING = {425, 426, 427}  # the same numbers on every architecture
FILTERS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def forbid(calls, errno):
    """A classic BPF filter (seccomp(2)): these calls end with errno, all others pass."""
    arch = FILTERS[platform.machine()]
    code = [(0x20, 0, 0, 4), (0x15, 0, 4, arch), (0x20, 0, 0, 0)]
    code += [(0x35, 0, 2, min(calls)), (0x25, 1, 0, max(calls))]
    code += [(0x06, 0, 0, 0x00050000 | errno), (0x06, 0, 0, 0x7FFF0000)]
    text = b"".join(struct.pack("HBBI", *line) for line in code)
    lines = ctypes.create_string_buffer(text, len(text))
    head = struct.pack("HxxxxxxP", len(code), ctypes.addressof(lines))
    program = ctypes.create_string_buffer(head, len(head))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply(lines=lines):  # the kernel reads them through the head
        no_new_privileges, filter_mode, set_seccomp = 38, 2, 22
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(
            set_seccomp, filter_mode, program, 0, 0
        ):
            os._exit(99)

    return apply


DRIVER = os.environ.get("DRIVER", "io_uring")  # what a replay of this test moves its bytes with
CALIBRATION = "calibration-epoll" if DRIVER == "epoll" else "calibration"  # how its file's name begins
if DRIVER == "epoll":
    forbid(IO_URING, 1)()


def read_jsonl(path, whole=True):
    """The objects of a JSONL file; with whole=False an unfinished last line is left out."""
    text = pathlib.Path(path).read_text()
    lines = text.split("\n")
    if whole and lines[-1] != "":
        raise AssertionError(f"{path} ends in the middle of a line")
    return [json.loads(line) for line in lines[:-1]]


def row_of(request_id):
    """Row index at the end of a request id, or None for a probe."""
    found = re.search(r"-(\d+)$", request_id)
    return int(found.group(1)) if found and request_id[19:20] != "a" else None


def id_of(run_id, row, number=0, side="a"):
    """The request id of a row (proto/run/README.md)."""
    return f"{run_id}-{number // 1000:04}-8{number % 1000:03}-{8 if side == 'a' else 9}000-{row:012}"


class Server:
    """A server on a port that the kernel chose; stopped at the end of the with block."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, text=True
        )
        said = self.process.stdout.readline()
        if not said.startswith("listening on "):
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"{command} did not start: {said!r}")
        self.url = said.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=SECONDS_MAX)
        self.process.stdout.close()


def waits_of(parents):
    """(name, trigger) of each; a name alone waits for the answer."""
    return [(one, "completion") if isinstance(one, str) else one for one in parents]


def agentic(rows):
    """A trace of Dynamo's form: (name, what it waits for, delay in ms), each 100 tokens in."""
    header = {"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 64}
    lines = [json.dumps(header)]
    for name, parents, delay_ms in rows:
        row = {
            "request_id": name, "play_id": "p", "session_id": name[0], "input_length": 100,
            "output_length": 4, "hash_ids": [1, 2],
            "dependencies": [
                {"request_id": parent, "trigger": trigger, "delay_ms": delay_ms}
                for parent, trigger in waits_of(parents)
            ],
        }  # fmt: skip
        if not parents:
            row["not_before_ms"] = delay_ms
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


def receiver(*flags):
    return Server(RECEIVER, *flags)


def mock(*flags):
    return Server(DRIFTLESS, "mock", "--listen", "127.0.0.1:0", *flags)


def floor_ns(rounds=300):
    """One-way time of a small send on this host, now: (p50, p99) in ns."""
    done = subprocess.run(
        [RECEIVER, "--floor", str(rounds)], capture_output=True, text=True, check=True
    )
    floor = json.loads(done.stdout)
    return floor["p50_ns"], floor["p99_ns"]


def may_raise_priority():
    ask = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))"
    return subprocess.run(["python3", "-c", ask], capture_output=True, check=False).returncode == 0


def send_signal(process, number):
    """And waits until the process has taken it: of two that wait, the kernel makes one."""
    process.send_signal(number)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    end = time.monotonic() + SECONDS_MAX
    while process.poll() is None and time.monotonic() < end:
        waiting = re.findall(r"^(?:Sig|Shd)Pnd:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE)
        if not any(int(mask, 16) >> (number - 1) & 1 for mask in waiting):
            return
        time.sleep(0.005)  # polls the kernel


class Run:
    """A finished replay: exit code, what it said, and its files."""

    def __init__(self, done, folder):
        self.code = done.returncode
        self.said = done.stdout
        self.complained = done.stderr
        self.folder = pathlib.Path(folder)

    def json(self, name):
        return json.loads((self.folder / name).read_text())

    def records(self):
        return {record["row"]: record for record in read_jsonl(self.folder / "requests.jsonl")}


def spread_of(ns):
    """Measured a thousand times, always the same."""
    return {"count": 1000, **dict.fromkeys(("p50_ns", "p99_ns", "p999_ns", "max_ns"), ns)}


class Case(unittest.TestCase):
    """A test with a scratch folder."""

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="driftless-e2e-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.addCleanup(self.forget_marks)
        self.runs = 0

    def forget_marks(self):
        """What runs that were killed have left in shared memory for a resumption."""
        for path in self.scratch.glob("*/run.json"):
            for run_id in re.findall(r'"run_id":"([0-9a-f]{8})"', path.read_text()):
                for marks in pathlib.Path("/dev/shm").glob(f"driftless-{run_id}*"):  # of each engine
                    marks.unlink(missing_ok=True)

    def command(self, *flags, folder=None):
        self.runs += 1
        folder = folder or self.scratch / f"run{self.runs}"
        command = [DRIFTLESS, "replay", *[str(flag) for flag in flags], "--out", str(folder)]
        if not MEASURES & set(command):
            command += ["--calibration", "none"]  # no test needs 2 s of measuring but those of it
        return command, folder

    def replay(self, *flags, folder=None, stdin=None, env=None):
        command, folder = self.command(*flags, folder=folder)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX,
                              input=stdin, check=False, env=env)
        return Run(done, folder)

    def replay_well(self, *flags):
        run = self.replay(*flags)
        self.assertEqual(run.code, 0, f"{flags}: {run.said}{run.complained}")
        return run

    def launch(self, command, folder, until="fired.jsonl", **how):
        """Starts a command, and waits until the named file of its folder has grown; None: not."""
        grows = folder / until if until else None
        before = grows.stat().st_size if grows and grows.exists() else 0
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
        process = subprocess.Popen(command, **how)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        end = time.monotonic() + SECONDS_MAX
        while grows and not (grows.exists() and grows.stat().st_size > before):
            self.assertIsNone(process.poll(), f"ended before {until} grew")
            self.assertLess(time.monotonic(), end, f"{until} does not grow")
            time.sleep(0.005)  # polls a file that another process writes
        return process

    def long_enough(self, play, enough, seconds):
        """What `play(seconds)` gives of a run that lasts long enough to hold what the test looks at: on
        a machine that is busy with others, less happens in a second."""
        for times in (1, 4, 16):
            played = play(seconds * times)
            if enough(played):
                return played
        raise AssertionError(f"nothing to look at in a run of {seconds * times} s")

    def start(self, *flags, until="fired.jsonl", **how):
        """A replay that has sent its first rows, and its folder."""
        command, folder = self.command(*flags)
        return self.launch(command, folder, until=until, **how), folder

    def finish(self, process, folder):
        said, complained = process.communicate(timeout=SECONDS_MAX)
        done = subprocess.CompletedProcess(process.args, process.returncode, said, complained)
        return Run(done, folder)

    def lenient_calibration(self, **figures):
        """Flags of a calibration by which the engine makes no row late; `figures` replace others."""
        path = self.scratch / "calibration.json"
        done = subprocess.run(
            [DRIFTLESS, "calibrate", "--quick", "--accept-noise", "--out", str(path)],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        measured = json.loads(path.read_text())
        for rehearsal in measured["rehearsals"]:
            rehearsal["drift"] = rehearsal["receive_delay"] = spread_of(1_000_000_000)
        measured.update((name, spread_of(ns)) for name, ns in figures.items())
        path.write_text(json.dumps(measured))
        return ("--calibration", path, "--certify-within", "10s")  # else a bar of 1 ms cuts them

    def had_the_cpu(self, run):
        """Others left the run the CPU that it needs to be in time: no large share of a second was
        taken, and it was never stopped for long, whoever the kernel names for it."""
        client = run.json("summary.json")["client"]
        stops = ("wake_error_max_ns", "spin_gap_max_ns", "turn_max_ns")
        return client["taken_share_max"] <= 0.1 and all(client[name] <= 50_000_000
                                                        for name in stops)

    def expect_lanes_in_time(self, run):
        """No row waited for a connection, where others left us the CPU to open it with."""
        if not self.had_the_cpu(run):
            return
        late = [r["row"] for r in run.records().values() if r["late_cause"] == "lane"]
        self.assertEqual(late, [])

    def write(self, name, text):
        path = self.scratch / name
        path.write_text(text)
        return path

    def sample_rows(self):
        return read_jsonl(SAMPLE)
