"""driftless from Python: replays the request traces of LLM services, and reads what a run has measured.

    run = driftless.replay("trace.jsonl", url="http://127.0.0.1:8000", speed=2)
    print(run.verdict, run.summary["p99_ttft_ms"])
    frame = run.requests("pandas")

The program does the work; this module starts it and reads its files. It needs nothing but Python.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, overload

Paths = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Run:
    """A run, by its folder. Keys and units: `driftless help records.md`, `driftless help summary.schema.json`."""

    folder: Path

    @functools.cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json; of a run that was killed, what `driftless report` makes of its records."""
        path = self.folder / "summary.json"
        text = path.read_text("utf-8") if path.exists() else _output("report", str(self.folder), "--json")
        return dict(json.loads(text))

    @property
    def verdict(self) -> str:
        """`certified`, `host-noisy`, ..; why is in `summary["verdict"]` (`driftless help verdict.md`)."""
        return str(self.summary["verdict"]["name"])

    @overload
    def requests(self) -> list[dict[str, Any]]: ...

    @overload
    def requests(self, library: str) -> Any: ...

    def requests(self, library: str | None = None) -> Any:
        """The records, in the order in which requests ended: dicts, or a table of "pandas", "polars" or "pyarrow".

        Those of a warm-up are there, too: figures of the summary are of `phase` "profile" alone.
        """
        place = json.loads((self.folder / "run.json").read_bytes())["records"]  # of --output-path, else null
        with open(self.folder / (place or "requests.jsonl"), encoding="utf-8", newline="\n") as lines:
            rows = [json.loads(line) for line in lines if line.endswith("\n")]  # a kill can cut the last one
        if library is None:
            return rows
        if library == "pandas":
            import pandas

            return pandas.DataFrame(rows)
        if library == "polars":
            import polars

            return polars.DataFrame(rows, infer_schema_length=None)
        if library == "pyarrow":
            import pyarrow

            return pyarrow.Table.from_pylist(rows)
        raise ValueError(f'requests("{library}"): use pandas, polars or pyarrow, or no argument for dicts')


class Error(Exception):
    """The program ended with another exit code than 0. The text is its own error, with the remedy."""

    def __init__(self, text: str, code: int = 1, run: Run | None = None) -> None:
        super().__init__(text)  # with this alone an Error can be pickled; the rest follows by itself
        self.code = code  #: exit code; negative: the signal that ended the program
        self.run = run  #: what was measured nevertheless; None: nothing was written


class WrongFlags(Error):
    """Exit code 2: wrong flags, or an output that already exists."""


class InputRefused(Error):
    """Exit code 3: the trace or the tokenizer was refused."""


class ServerRefused(Error):
    """Exit code 4: the server cannot be reached, or refused the probes."""


class NoAnswer(Error):
    """Exit code 5: no request got a complete answer."""


class NotCertified(Error):
    """Exit code 6: not certified, or a rule violated, when that was required."""


class HostLacks(Error):
    """Exit code 7: the host lacks something or fails: limits, disk, hooks."""


class ConditionHolds(Error):
    """Exit code 8: a --fail-if or --stop-when holds."""


class Interrupted(Error):
    """Exit code 130: interrupted."""


_ERRORS: dict[int, type[Error]] = {
    2: WrongFlags, 3: InputRefused, 4: ServerRefused, 5: NoAnswer, 6: NotCertified, 7: HostLacks, 8: ConditionHolds,
    130: Interrupted,
}  # fmt: skip


def run(folder: Paths) -> Run:
    """A run that is already there: the folder that `driftless replay` wrote."""
    found = Path(folder).absolute()
    if not (found / "run.json").exists():
        raise FileNotFoundError(f"{folder}: is not the folder of a run (no run.json in it); name one that replay wrote")
    return Run(found)


def replay(trace: Paths | Sequence[Paths] = (), url: str | Sequence[str] | None = None, **flags: Any) -> Run:
    """Replays a trace, or several files of one, and waits for the end.

    Flags are those of `driftless replay --help all`, with `_` for `-`: `wait_ready="60s"`, `no_preflight=True`,
    `header=["A: 1", "B: 2"]` (repeated); where Python has the word itself, with `_` behind: `from_=run.folder`. False
    and None leave a flag out. Warnings go to sys.stderr, and with `quiet=False` progress. `api_key` never becomes an
    argument; give other keys as `header="X-Key: env:NAME"`.

    Raises an Error by the exit code. Failed requests are data, and raise nothing.
    """
    env = dict(os.environ)
    key = flags.pop("api_key", None)
    if isinstance(key, str) and not key.startswith("env:"):
        env["OPENAI_API_KEY"] = key
    else:
        flags["api_key"] = key
    traces = [trace] if isinstance(trace, (str, os.PathLike)) else trace
    arguments = [*[os.fspath(one) for one in traces], *_arguments({"url": url, "quiet": True, **flags})]
    try:
        text = _output("replay", *arguments, env=env)
    except Error as error:  # a signal leaves no time to say where the run is
        if error.code < 0 and flags.get("out") and (Path(flags["out"]) / "run.json").exists():
            error.run = run(flags["out"])
        raise
    written = _run_of(text)
    if written is None:
        raise ValueError(f"driftless replay wrote no run; for this use the command itself\n{text}")
    return written


def program() -> str:
    """The program of this installation, else the one on PATH."""
    try:
        listed = importlib.metadata.files("driftless") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    own = [Path(str(file.locate())).resolve() for file in listed if file.name == "driftless"]
    beside = Path(__file__).resolve().parents[1] / "bin" / "driftless"  # pip install --target
    found = next((str(path) for path in [*own, beside] if path.is_file()), None) or shutil.which("driftless")
    if found is None:
        raise FileNotFoundError("driftless: no such program in this installation or on PATH; install the wheel again")
    return found


def _arguments(flags: dict[str, Any]) -> list[str]:
    made = []
    for name, value in flags.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                made.append(flag if one is True else f"{flag}={one}")
    return made


def _run_of(text: str) -> Run | None:
    """The last line `files: FOLDER` that replay printed."""
    folders = [line[len("files: "):] for line in text.splitlines() if line.startswith("files: ")]  # fmt: skip
    return Run(Path(folders[-1]).absolute()) if folders else None


def _output(*arguments: str, env: dict[str, str] | None = None) -> str:
    """What the program prints. Its errors become an Error, and all else that it says goes to sys.stderr at once."""
    how: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}
    with tempfile.TemporaryFile("w+", **how) as printed:
        command = [program(), *arguments]
        with subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE, env=env, **how) as process:
            try:
                said = _listen(process)
            except BaseException:
                process.terminate()
                raise
        printed.seek(0)
        text: str = printed.read()
    if process.returncode == 0:
        sys.stderr.write(said)
        return text
    kind = _ERRORS.get(process.returncode, Error)
    lines = [line for line in text.splitlines() if not line.startswith(("files: ", "page: "))]
    ended = f"exit code {process.returncode}"
    if process.returncode < 0:
        ended = f"ended by a signal: {signal.strsignal(-process.returncode)}; run(FOLDER) reads what was written"
    words = said.strip() or "\n".join(lines) or ended
    raise kind(words, process.returncode, _run_of(text))


def _listen(process: subprocess.Popen[str]) -> str:
    """Its errors, once it has ended.

    A terminal or a notebook interrupts the program, too, and it ends in good order. Where only we were interrupted, the
    third one is passed on: a third of its own ends it at once anyway."""
    errors, interrupts = "", 0

    def interrupt(*_: Any) -> None:
        nonlocal interrupts
        interrupts += 1
        os.write(2, b"driftless: waits for the program to end; if it does not, interrupt three times\n")
        if interrupts > 2:
            process.send_signal(signal.SIGINT)

    is_main = threading.current_thread() is threading.main_thread()  # no other is interrupted
    before = signal.signal(signal.SIGINT, interrupt) if is_main else None
    try:
        for line in process.stderr or []:
            if errors or (line.startswith("driftless") and not line.startswith("driftless: warning: ")):
                errors += line
            else:
                sys.stderr.write(line)
        process.wait()
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)
    return errors
