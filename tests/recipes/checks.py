"""What the recipes must give. Expectations are the run's summary.json, its records as Python's own json reads them, and
what `driftless compare` says."""

import base64
import contextlib
import io
import json
import math
import pathlib
import subprocess
import traceback
import types
import warnings

import duckdb
import nbclient
import nbformat
import numpy as np
import pandas as pd
import polars as pl
from recipes_page import NOTEBOOK, PAGE, blocks_of

SHARES = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p99.9"}
LATENCIES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2e": "e2el_ms"}  # as recipes name them, and the summary
SAMPLED = 20_480  # lines from which DuckDB learns the columns


def rank(values, per_mille):
    """The percentile of the summary: the smallest value with at least so many at or below it."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * per_mille // 1000) - 1]


def lines_of(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


class Run:
    """A folder of a run, read without any of the libraries."""

    def __init__(self, folder):
        self.summary = json.loads(pathlib.Path(folder, "summary.json").read_text())
        self.records = [one for one in lines_of(f"{folder}/requests.jsonl") if one["phase"] == "profile"]
        self.ok = [one for one in self.records if one["outcome"] == "ok"]


class Checks:
    def __init__(self, driftless):
        self.driftless, self.passed, self.failed = driftless, 0, 0

    def hold(self, what, holds, found=""):
        self.passed += 1 if holds else 0
        self.failed += 0 if holds else 1
        print(f"  {'ok    ' if holds else 'FAILED'} {what}{f': {found}' if found != '' else ''}", flush=True)

    def same(self, what, found, wanted, within=1e-12):
        """Numbers as near as a double of ms is to whole ns; everything else equal."""
        pairs = list(zip(found, wanted, strict=False))
        near = all(a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float))
                              and math.isclose(a, b, rel_tol=within)) for a, b in pairs)
        holds = len(found) == len(wanted) and near
        self.hold(what, holds, "" if holds else f"{found} instead of {wanted}")


def say_failure(checks, what):
    checks.hold(what, False, traceback.format_exc(limit=3))


# Libraries: what the page says of percentiles and of keys that come late.


def ranks_by_numpy(values, share):
    return float(np.quantile(values, share, method="inverted_cdf"))


def answer(query):
    """The one line that DuckDB gives."""
    (line,) = duckdb.execute(query).fetchall()
    return line


def look_at_libraries(checks, folder):
    print("libraries", flush=True)
    folder.mkdir(parents=True)
    counts = [*range(1, 200), *range(995, 1010), 2000, 5000, 12_031, 100_000]
    wrong = dict.fromkeys(("np.quantile", "quantile_disc", "equiprobable", "np.percentile", "pandas", "nearest"), 0)
    for count in counts:
        values = list(range(count))
        wanted = [rank(values, round(share * 1000)) for share in SHARES]
        series, column = pd.Series(values), pl.Series(values)
        found = {
            "np.quantile": [ranks_by_numpy(values, share) for share in SHARES],
            "np.percentile": np.percentile(values, [100 * share for share in SHARES], method="inverted_cdf").tolist(),
            "equiprobable": [column.quantile(share, interpolation="equiprobable") for share in SHARES],
            "nearest": [column.quantile(share) for share in SHARES],
            "pandas": series.quantile(list(SHARES), interpolation="higher").tolist(),
            "quantile_disc": answer(f"SELECT quantile_disc(range, {list(SHARES)}) FROM range({count})")[0],
        }
        for name, got in found.items():
            wrong[name] += got != wanted
    checks.hold(f"nearest rank of {len(counts)} numbers of values", not any(
        wrong[name] for name in ("np.quantile", "quantile_disc", "equiprobable")), wrong)
    checks.hold("those that the page warns of differ", all(
        wrong[name] for name in ("np.percentile", "pandas", "nearest")))
    look_at_late_keys(checks, folder / "late.jsonl")


def look_at_late_keys(checks, path):
    """A key that is null in as many lines as DuckDB looks at, and known in the next."""
    first = {"row": 0, "turn": None, "worker": None, "trace_id": "0123456789abcdef0123456789abcdef"}
    last = {**first, "turn": 7, "worker": {"worker_id": 3}}
    path.write_text("\n".join([json.dumps(first)] * SAMPLED + [json.dumps(last)]) + "\n")
    asked = "SELECT max(turn), count(worker), any_value(typeof(trace_id)) FROM"
    without, whole = (answer(f"{asked} read_json('{path}'{more})") for more in ("", ", sample_size = -1"))
    checks.hold("DuckDB loses late keys, and not with sample_size = -1",
                without[0] is None and whole == (7, 1, "VARCHAR"), (without, whole))
    read = pl.read_ndjson(path, infer_schema_length=None)
    try:
        pl.read_ndjson(path)
        checks.hold("Polars says so where it loses them", False)
    except pl.exceptions.PolarsError as said:
        checks.hold("Polars says so where it loses them", True, str(said)[:60])
    checks.hold("Polars keeps late keys", read["turn"].max() == 7 and read["worker"][-1] == {"worker_id": 3})


# The page. A check for each block; `got` are the rows of SQL, or the names of a session of Python.


def check_percentiles(checks, table):
    run = Run("first")
    for name, key in LATENCIES.items():
        wanted = [run.summary[f"{SHARES[share]}_{key}"] for share in SHARES]
        checks.same(f"percentiles of {name} are those of the summary", table[name], wanted)


def check_outcomes(checks, counts):
    wanted = {name: count for name, count in Run("first").summary["outcomes"].items() if count}
    checks.hold("outcomes are those of the summary", counts == wanted, counts)


def check_hits(checks, expected, hit):
    cache = Run("first").summary["cache"]
    checks.same("cached tokens are those of the summary", [expected, hit],
                [cache["expected_cached_tokens_reported"], cache["cached_tokens"]])


def check_pairs(checks, pairs, a_ms, b_ms, median):
    first, second = ({(one["row"], one["pass"]): one["ttft_ns"] for one in Run(name).ok}
                     for name in ("first", "second"))
    both = sorted(first.keys() & second.keys())
    checks.same("pairs and their percentiles", [pairs, a_ms, b_ms],
                [len(both), *(rank([side[key] for key in both], 500) / 1e6 for side in (first, second))])
    ratios = sorted(second[key] / first[key] for key in both)
    low, high = ratios[(len(ratios) - 1) // 2], ratios[len(ratios) // 2]
    checks.hold("the median of ratios", low * (1 - 1e-12) <= median <= high * (1 + 1e-12), median)
    said = subprocess.run([checks.driftless, "compare", "first", "second", "--json", "-"], capture_output=True,
                          text=True, check=False)
    (metric,) = [one for one in json.loads(said.stdout)["metrics"] if one["name"] == "ttft:p50"]
    checks.hold("as many as compare has", metric["pairs"] == pairs, metric["pairs"])
    if metric["a"] is not None:
        checks.same("the figures of compare", [a_ms, b_ms], [metric["a"] / 1e6, metric["b"] / 1e6])


def sql_parquet(checks, _):
    whole = lines_of("first/requests.jsonl")
    names = ", ".join(whole[0])
    plain = [key for key, value in whole[0].items() if key not in ("kept", "headers", "worker")]
    by_duckdb = duckdb.sql(f"SELECT {names} FROM 'first.parquet'").fetchall()
    table = [dict(zip(whole[0], row, strict=True)) for row in by_duckdb]
    checks.hold("Parquet has every record", [{key: one[key] for key in plain} for one in table]
                == [{key: one[key] for key in plain} for one in whole], len(whole))
    read = pl.read_parquet("first.parquet")
    checks.hold("Polars reads it, too", all(read[key].to_list() == [one[key] for one in whole] for key in (
        "row", "ttft_ns", "tpot_ns", "chunk_ns", "output_digest", "outcome")))
    by_header = duckdb.sql("SELECT headers FROM 'first.parquet'").fetchall()
    checks.hold("with headers", all((json.dumps(one["headers"]) == "{}") or list(row[0].values()) == list(
        one["headers"].values()) for one, row in zip(whole, by_header, strict=True)))
    sizes = [pathlib.Path(name).stat().st_size for name in ("first/requests.jsonl", "first.parquet")]
    checks.hold("and is smaller", len(whole) < 100 or sizes[1] < 0.4 * sizes[0], sizes)


def sql_equal(checks, got):
    checks.hold("no line differs", got == [{"lines_that_differ": 0}], got)


def sql_view(checks, got):
    checks.hold("the view says nothing", got == [])


def sql_percentiles(checks, got):
    checks.hold("shares", [one["percentile"] for one in got] == list(SHARES.values()))
    check_percentiles(checks, {name: [one[name + "_ms"] for one in got] for name in LATENCIES})


def sql_outcomes(checks, got):
    check_outcomes(checks, {one["outcome"]: one["requests"] for one in got})
    summary = Run("first").summary
    ok = next(one for one in got if one["outcome"] == "ok")
    keys = ("p50_ttft_ms", "p99_ttft_ms")
    checks.same("latency by outcome", [ok[key] for key in keys], [summary[key] for key in keys])


def sql_hits(checks, got):
    (line,) = got
    check_hits(checks, line["expected"], line["hit"])
    checks.hold("rows that report", line["rows"] == Run("first").summary["cache"]["rows_reported"], line["rows"])


def sql_misses(checks, got):
    cache = Run("first").summary["cache"]
    checks.hold("rows that missed something", len(got) == cache["rows_reported"] - cache["rows_equal"], len(got))


def sql_gaps(checks, got):
    (line,) = got
    gaps = [b - a for one in Run("first").ok for a, b in zip(one["chunk_ns"], one["chunk_ns"][1:])]
    found = [line["gaps"], line["p50_ms"], line["p99_ms"]]
    checks.same("gaps", found, [len(gaps), rank(gaps, 500) / 1e6, rank(gaps, 990) / 1e6])
    summary = Run("first").summary
    checks.same("gaps are those of the summary, within 0.1 %", found,
                [summary[key] for key in ("count_chunk_gap", "p50_chunk_gap_ms", "p99_chunk_gap_ms")], within=1.001e-3)


def sql_drift(checks, got):
    causes = Run("first").summary["drift_by_cause_ns"]
    for one in got:
        said = causes[one["late_cause"]]
        checks.same(f"drift by cause {one['late_cause']}", [one["rows"], one["p50_us"], one["worst_us"]],
                    [said["count"], said["p50"] / 1e3, said["max"] / 1e3], within=1e-3)
    checks.hold("all causes", sum(one["rows"] for one in got) == Run("first").summary["fired"])


def sql_pairs(checks, got):
    (line,) = got
    check_pairs(checks, line["pairs"], line["a_ms"], line["b_ms"], line["median_of_ratios"])


def sql_table(checks, got):
    keys = ("completed", "failed", "request_throughput", "p50_ttft_ms", "p99_ttft_ms")
    for one, name in zip(got, ("first", "second"), strict=True):
        summary = Run(name).summary
        checks.same(f"the table's line of {name}", [one["run"], one["verdict"], *(one[key] for key in keys)],
                    [name, summary["verdict"]["name"], *(summary[key] for key in keys)])


def pandas_load(checks, got):
    check_outcomes(checks, got.requests.outcome.value_counts().to_dict())
    checks.hold("every key is a column", list(got.requests.columns) == list(Run("first").records[0]))
    tpot, text = ([one[key] for one in Run("first").records] for key in ("tpot_ns", "output_digest"))
    found = [None if math.isnan(one) else one for one in got.requests.tpot_ns.astype(float)]
    checks.hold("tpot_ns to its last digit", found == tpot)
    found = [one if isinstance(one, str) else None for one in got.requests.output_digest]
    checks.hold("digests are text", found == text)


def pandas_percentiles(checks, got):
    check_percentiles(checks, {name: got.table[name + "_ns"].tolist() for name in LATENCIES})


def pandas_hits(checks, got):
    check_hits(checks, int(got.hits.expected_cached_tokens), int(got.hits.cached_tokens))


def pandas_in_flight(checks, got):
    checks.hold("most in flight", int(got.steps.in_flight.max()) == Run("first").summary["max_concurrent_requests"])


def pandas_by_length(checks, got):
    checks.hold("every row is in a part", int(got.by_length["size"].sum()) == len(Run("first").ok))
    checks.same("the slowest", [float(got.by_length["max"].max())], [Run("first").summary["max_ttft_ms"]])


def pandas_pairs(checks, got):
    check_pairs(checks, len(got.pairs), *got.medians, float(got.ratios.median()))


def polars_load(checks, got):
    check_outcomes(checks, dict(got.requests["outcome"].value_counts().iter_rows()))
    records = Run("first").records
    checks.hold("every key is a column", set(got.requests.columns) == set(records[0]))
    checks.hold("values", all(got.requests[key].to_list() == [one[key] for one in records] for key in (
        "row", "ttft_ns", "tpot_ns", "chunk_ns", "output_digest", "tainted", "session", "trace_id")))


def polars_percentiles(checks, got):
    check_percentiles(checks, {name: got.table[name + "_ns"].to_list() for name in LATENCIES})


def polars_hits(checks, got):
    check_hits(checks, *got.hits.row(0))


def polars_windows(checks, got):
    windows = {}
    for one in Run("first").ok:
        windows.setdefault(one["fired_ns"] // 10**10 * 10, []).append(one["ttft_ns"])
    wanted = [part for at, values in sorted(windows.items())
              for part in (at, len(values), rank(values, 500) / 1e6, rank(values, 990) / 1e6)]
    checks.same("windows", [part for row in got.windows.iter_rows() for part in row], wanted)


def polars_pairs(checks, got):
    check_pairs(checks, *got.compared.row(0))


BLOCKS = {
    "DuckDB": [sql_parquet, sql_equal, sql_view, sql_percentiles, sql_outcomes, sql_hits, sql_misses, sql_gaps,
               sql_drift, sql_pairs, sql_table],
    "pandas": [pandas_load, pandas_percentiles, pandas_hits, pandas_in_flight, pandas_by_length, pandas_pairs],
    "Polars": [polars_load, polars_percentiles, polars_hits, polars_windows, polars_pairs],
}


def run_block(language, code, session):
    """What it gives; anything that it complains of is an error."""
    if language == "python":
        said = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(said):
            warnings.simplefilter("error")
            exec(compile(code, "recipe", "exec"), session)
        assert said.getvalue(), "it prints nothing"
        return types.SimpleNamespace(**session)
    command = ["bash", "-ec", code] if language == "sh" else ["duckdb", "-json", "runs.db", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout) if done.stdout.strip().startswith("[") else []


def look_at_page(checks):
    blocks = [one for one in blocks_of(PAGE) if one[0] in BLOCKS]
    for tool, wanted in BLOCKS.items():
        own, session = [one for one in blocks if one[0] == tool], {}
        checks.hold(f"{tool}: every block has its check", len(own) == len(wanted), len(own))
        for (_, language, code), check in zip(own, wanted):
            try:
                check(checks, run_block(language, code, session))
            except subprocess.CalledProcessError as wrong:
                checks.hold(check.__name__, False, wrong.stderr)
            except Exception:
                say_failure(checks, check.__name__)


# The notebook, by a kernel as people run it.

FIGURES = """print(json.dumps({"difference": largest_difference, "expected": expected, "hit": hit, "pairs": len(pairs),
                  "a_ms": a_ms, "b_ms": b_ms, "median": ratio.median()}))"""


def look_at_notebook(checks, folder):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(FIGURES))
    try:
        where = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()
    except nbclient.exceptions.CellExecutionError:
        say_failure(checks, "the notebook runs")
        return
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    for number, picture in enumerate(pictures):
        (folder / f"notebook-{number}.png").write_bytes(base64.b64decode(picture))
    checks.hold("the notebook has its charts", len(pictures) == 5, len(pictures))
    complaints = [output.text for output in outputs if output.get("name") == "stderr"]
    checks.hold("and no warning", not complaints, complaints or "")
    figures = json.loads(outputs[-1].text)
    checks.hold("its percentiles are those of the summary", figures["difference"] < 1e-12, figures["difference"])
    check_hits(checks, figures["expected"], figures["hit"])
    check_pairs(checks, figures["pairs"], figures["a_ms"], figures["b_ms"], figures["median"])
