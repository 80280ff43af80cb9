"""compare --table: runs and sweeps in one table, held against their own files; other work is refused; the
frontiers are those that the definition gives; every file that it writes."""

import csv
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock
from page_file import Page

QUICK = ("--calibration", "none", "--report", "none")
COLUMNS = ["exp_name", "tp", "users", "offload", "status", "num_requests", "throughput_rps"]


def compare(*flags):
    return subprocess.run([DRIFTLESS, "compare", "--table", *[str(flag) for flag in flags]],
                          capture_output=True, text=True, timeout=SECONDS_MAX, check=False)  # fmt: skip


def beaten(points, a):
    """Whether another point is at least as good in both figures, and better in one."""
    def gains(b):
        signs = [1 if a["chart"][side]["better"] == "high" else -1 for side in ("x", "y")]
        return [sign * (b[side]["mean"] - a[side]["mean"]) for sign, side in zip(signs, ("x", "y"))]
    return any(min(gains(b)) >= 0 and max(gains(b)) > 0 for b in points)


class Tables(Case):
    def sweep(self, name, *flags):
        folder = self.scratch / name
        done = subprocess.run([str(part) for part in (DRIFTLESS, "sweep", SAMPLE, "--out", folder, *flags)],
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return folder

    def two_sweeps(self):
        folders = []
        for tp in (1, 2):
            with mock("--ttft", f"{8 // tp}ms", "--itl", "1ms", "--slots", str(4 * tp)) as server:
                folders.append(self.sweep(f"tp{tp}", "--url", server.url, "--over", "speed=20,40", "--repeat", 2,
                                          "--label", f"tp={tp}", "--label", f"gpus={tp}", "--", "--limit", 60,
                                          *QUICK))  # fmt: skip
        return folders

    def test_two_sweeps(self):
        folders = self.two_sweeps()
        done = compare(*folders, "--group", "tp", "--json", self.scratch / "t.json", "--csv", self.scratch / "t.csv",
                       "--html", self.scratch / "t.html", "--inferencex", self.scratch / "ix.json", "--llm-d",
                       self.scratch / "llmd.json")  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:5]], ["tp1/01", "tp1/02", "tp2/01", "tp2/02"])
        table = json.loads((self.scratch / "t.json").read_text())
        self.expect_cells(table)
        self.expect_frontiers(table)
        self.expect_csv((self.scratch / "t.csv").read_text(), table)
        page = Page(self.scratch / "t.html")
        self.assertEqual(page.data["table"], table)
        self.assertEqual(page.data["links"][0][0], "tp1/01-speed%3D20")  # no report.html: --report none
        self.assertEqual(set(page.refers), {"data:,"})
        rows = json.loads((self.scratch / "ix.json").read_text())
        self.assertEqual([row["tp"] for row in rows], [1] * 4 + [2] * 4)
        rates = rows[7]["request_metrics"]["throughput"]
        self.assertAlmostEqual(rates["per_gpu"]["total_tput_tps"], rates["total"]["tokens_per_second"] / 2)
        reports = json.loads((self.scratch / "llmd.json").read_text())
        self.assertEqual([report["run"]["eid"] for report in reports], ["tp1"] * 4 + ["tp2"] * 4)
        again = compare(*folders, "--csv", self.scratch / "t.csv")  # never over what is there
        self.assertEqual(again.returncode, 2)
        self.assertIn("t.csv", again.stderr)

    def expect_cells(self, table):
        """Means, ranges and counts are those of the summaries."""
        self.assertEqual([cell["name"] for cell in table["cells"]],
                         ["tp1/01-speed=20", "tp1/02-speed=40", "tp2/01-speed=20", "tp2/02-speed=40"])
        self.assertEqual(table["columns"][0], "speed")
        for cell in table["cells"]:
            files = [json.loads(pathlib.Path(run["folder"], "summary.json").read_text()) for run in cell["runs"]]
            self.assertEqual(len(files), 2)
            for name, key in (("ttft:p99", "p99_ttft_ms"), ("e2e:p50", "p50_e2el_ms"), ("completed", "completed"),
                              ("output_throughput", "output_throughput")):  # fmt: skip
                values = [one[key] for one in files]
                shown = cell["figures"][name]
                self.assertAlmostEqual(shown["mean"], sum(values) / 2)
                self.assertEqual((shown["low"], shown["high"]), (min(values), max(values)))
            self.assertAlmostEqual(cell["figures"]["interactivity:p90"]["low"],
                                   min(1000 / one["p90_tpot_ms"] for one in files))  # fmt: skip
            self.assertTrue(cell["figures"]["ttft:p99"]["below_floor"])  # 60 rows; p99 needs 662
            self.assertFalse(cell["figures"]["ttft:p50"]["below_floor"])

    def expect_frontiers(self, table):
        self.assertEqual(len(table["charts"]), 16)
        for chart in table["charts"]:
            self.assertTrue(chart["y"]["name"].endswith("/gpu"), chart["y"])
            points = [dict(point, chart=chart) for point in chart["points"]]
            self.assertEqual(len(points), 4)
            wanted = {i for i, point in enumerate(points) if not beaten(points, point)}
            self.assertEqual(set(chart["frontier"]), wanted, chart["x"]["name"])
            for number, group in enumerate(chart["groups"]):
                mine = [i for i, point in enumerate(points) if point["group"] == number]
                of_group = {i for i in mine if not beaten([points[j] for j in mine], points[i])}
                self.assertEqual(set(group["frontier"]), of_group)
                self.assertLessEqual(group["hypervolume"], chart["hypervolume"] * (1 + 1e-12))

    def expect_csv(self, text, table):
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), 4)
        for column in COLUMNS:
            self.assertIn(column, rows[0])
        for row, cell in zip(rows, table["cells"]):
            self.assertEqual(float(row["p99_ttft_ms"]), cell["figures"]["ttft:p99"]["mean"])
            self.assertEqual((row["status"], row["runs"], row["tp"]), ("SUCCESS", "2", cell["values"]["tp"]))

    def test_other_work_is_refused(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            runs = [self.replay_well(SAMPLE, "--url", server.url, "--limit", limit, "--speed", speed, "--seed", seed,
                                     *QUICK).folder
                    for limit, speed, seed in ((40, 50, 0), (40, 25, 0), (30, 50, 0), (40, 50, 1))]  # fmt: skip
        done = compare(runs[0], runs[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        done = compare(*runs)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"{runs[2]}: window is start to end, due within any time, limit 30: 30 rows, not", done.stderr)
        self.assertIn(f"{runs[3]}: seed is 1, not 0", done.stderr)
        self.assertIn("--anyway", done.stderr)
        done = compare(*runs, "--anyway", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["differences"]), 2)

    def test_runs_of_other_settings_share_no_line(self):
        """What changes the load or what is measured is a column; how the client used its host is told."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            runs = [self.replay_well(SAMPLE, "--url", server.url, "--speed", 50, "--limit", 24, *QUICK, *flags).folder
                    for flags in ((), ("--budget-input", "20M/s"), ("--header", "X-Priority: low"),
                                  ("--end", "1h", "--certify-within", "sent:5ms read:5ms"),
                                  ("--driver", "epoll", "--time-unit", "ms"))]  # fmt: skip
        done = compare(*runs, "--group", "budget-input", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = json.loads(done.stdout)["cells"]
        self.assertEqual([len(cell["runs"]) for cell in cells], [3, 1, 1])
        self.assertEqual([(cell["values"]["budget-input"], cell["values"]["header"]) for cell in cells],
                         [(None, None), ("20M/s", None), (None, "X-Priority: low")])
        self.assertIn("runs that share a line differ in driver; --each lists them separately", done.stderr)
        done = subprocess.run([DRIFTLESS, "compare", *map(str, (runs[0], runs[3]))], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Differs", done.stdout)

    def test_a_killed_run_has_a_line_and_no_figures(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            good = self.replay_well(SAMPLE, "--url", server.url, "--limit", 40, "--speed", 50, *QUICK).folder
            command, folder = self.command(SAMPLE, "--url", server.url, *QUICK)
            process = self.launch(command, folder)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = compare(good, folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no summary.json: the run was killed or is still running", done.stdout)
        self.assertIn("killed", done.stdout.splitlines()[2])
        done = compare(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no summary.json", done.stderr)

    def test_a_dual_run_is_no_single_server(self):
        """Its figures are over both: it has a line and no place among the others."""
        with mock("--ttft", "5ms", "--itl", "1ms") as a, mock("--ttft", "5ms", "--itl", "1ms") as b:
            flags = ("--limit", 40, "--speed", 50, *QUICK)
            one = self.replay_well(SAMPLE, "--url", a.url, *flags).folder
            dual = self.replay_well(SAMPLE, "--url", a.url, "--against", b.url, *flags).folder
        done = compare(one, dual, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        outcomes = [run["outcome"] for cell in json.loads(done.stdout)["cells"] for run in cell["runs"]]
        self.assertEqual(sorted(outcomes), ["completed", "dual"])

    def test_one_run_is_no_repeat_of_itself(self):
        """Neither as a copy, nor by another path, nor in its sweep and by itself."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            sweep = self.sweep("one", "--url", server.url, "--over", "speed=50", "--", "--limit", 10, *QUICK)
        cell = next(path for path in sweep.iterdir() if path.is_dir())
        copy, link = self.scratch / "copy", self.scratch / "link"
        shutil.copytree(cell, copy)
        link.symlink_to(cell)
        for other in (copy, link, sweep):
            done = compare(cell, other)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn("is the same run as", done.stderr)

    def test_a_pipe_is_no_file_of_a_run(self):
        """Reading it would wait for a writer for ever."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            runs = [self.replay_well(SAMPLE, "--url", server.url, "--limit", 10, "--speed", 50, *QUICK).folder
                    for _ in range(2)]  # fmt: skip
        for name in ("run.json", "summary.json"):
            (runs[1] / name).unlink()
            os.mkfifo(runs[1] / name)
            done = compare(*runs)
            self.assertEqual(done.returncode, 0, done.stderr)
            # Of run.json the table needs nothing that must be there.
            self.assertEqual("is not a regular file" in done.stdout, name == "summary.json", done.stdout)
        done = subprocess.run([DRIFTLESS, "compare", *map(str, runs)], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertIn("is not a regular file", done.stderr)
        for name in ("summary.json", "run.json"):  # the harness reads what runs wrote
            (runs[1] / name).unlink()

    def test_bad_input(self):
        (self.scratch / "empty").mkdir()
        for flags, words in (((self.scratch / "empty",), "not a run or sweep folder"),
                             ((self.scratch / "nowhere",), "no such folder"),
                             (("x", "--sort", "speed"), "is not a known figure"),
                             (("x", "--pareto", "ttft:p99"), "names only one figure"),
                             ((), "no run is given")):  # fmt: skip
            done = compare(*flags)
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        (self.scratch / "empty" / "summary.json").write_text("[1")
        (self.scratch / "empty" / "run.json").write_text("{}")
        done = compare(self.scratch / "empty")
        self.assertEqual(done.returncode, 3)
        self.assertIn("not a JSON object", done.stderr)
        os.remove(self.scratch / "empty" / "run.json")
        (self.scratch / "empty" / "sweep.json").write_text("{}")
        self.assertIn("sweep.json: was written by another version", compare(self.scratch / "empty").stderr)


if __name__ == "__main__":
    unittest.main()
