"""report --csv, --markdown, --junit, --perfetto, --xlsx: each file says what the run's own files say, also of a run that was killed."""

import csv
import json
import os
import signal
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
import zipfile

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl, send_signal

INPUT, HOST = 3, 7
WHOLE = {"chunk_ns", "chunk_tokens", "chunk_late_ns"}  # arrays of numbers are in no table


def report(folder, *flags):
    return subprocess.run([DRIFTLESS, "report", folder, *flags], capture_output=True, text=True)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file, strict=True))


def shown(value):
    """A value of a record as its cell has it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def lines_of(path):
    return read_jsonl(path, whole=False)


class Exports(Case):
    def play(self, server, *flags):
        return self.replay(SAMPLE, "--url", server.url, "--limit", 20, "--speed", 50, *flags)

    def test_tables(self):
        with mock("--ttft", "20ms", "--itl", "1ms", "--fault-row", "500:3") as server:
            run = self.play(server, "--no-preflight", "--model", "mock-model", "--period", "100ms")
        tables = os.path.join(run.folder, "tables")
        done = report(run.folder, "--csv", tables)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("requests", "periods"):
            head, *rows = rows_of(f"{tables}/{name}.csv")
            records = lines_of(f"{run.folder}/{name}.jsonl")
            self.assertGreater(len(records), 1)
            self.assertEqual([key for key in head if key != "shard"],  # of merged runs alone
                             [key for key in records[0] if key not in WHOLE])  # fmt: skip
            self.assertEqual(rows, [[shown(record.get(key)) for key in head] for record in records])
        head, *rows = rows_of(f"{tables}/summary.csv")
        self.assertEqual(head, ["figure", "value", "unit"])
        figures = {name: value for name, value, _ in rows}
        summary = run.json("summary.json")
        self.assertEqual(float(figures["p99_ttft_ms"]), summary["p99_ttft_ms"])
        self.assertEqual(figures["drift_ns.p50"], shown(summary["drift_ns"]["p50"]))
        self.assertEqual(figures["cache.cached_tokens"], str(summary["cache"]["cached_tokens"]))
        self.assertEqual(figures["outcomes.http_5xx"], "1")
        head, *rows = rows_of(f"{tables}/definitions.csv")
        self.assertEqual(head, ["table", "name", "unit", "definition"])
        self.assertIn(["requests", "drift_ns", "ns", "fired_ns - due_ns; never negative."], rows)
        self.assertEqual(len({(table, name) for table, name, _, _ in rows}), len(rows))

        again = report(run.folder, "--csv", tables)  # never over what is there
        self.assertEqual(again.returncode, 2)
        self.assertIn("requests.csv: already exists; name a new file", again.stderr)

    def test_the_summary_says_what_was_run(self):
        """One file a run is enough for a table of runs; a report says the same."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            run = self.play(server, "--cache-salt", "night")
        said, facts = run.json("summary.json")["run"], run.json("run.json")
        self.assertEqual(said["trace_digest"], facts["trace"]["digest"])
        self.assertEqual(said["schedule_digest"], facts["plan"]["schedule_digest"])
        self.assertEqual((said["users"], said["for_ns"], said["cache_salt"]), (None, None, "night"))
        self.assertEqual(json.loads(report(run.folder, "--json").stdout)["run"], said)

    def test_job_summary(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            run = self.play(server, "--fail-if", "ttft:p50 > 1ms", "--fail-if", "errors > 0 %")
        page = report(run.folder, "--markdown", "-")
        self.assertEqual(page.returncode, 0, page.stderr)
        summary = run.json("summary.json")
        lines = page.stdout.splitlines()
        self.assertEqual(lines[0], f"## driftless: {summary['verdict']['name']}")
        self.assertTrue(any(line.startswith("| Requests | 20 of 20 ok in ") for line in lines), lines)
        ttft = [f"{summary[key + '_ttft_ms']:.2f}" for key in ("mean", "p50", "p90", "p95", "p99", "max")]
        moved = max(summary["client_error"]["ttft_ms"]["p99"].values())
        self.assertIn(f"| TTFT | {' | '.join(ttft)} | {moved:.{3 if moved < 1 else 2}f} |", lines)
        self.assertIn(f"| p99 | {summary['load_error']['p99_ms']:.2f} | ms |", lines)
        self.assertTrue(summary["thresholds"][0]["sure"])
        value, error = (summary["thresholds"][0][key] for key in ("value", "client_error"))
        self.assertEqual(error, summary["client_error"]["ttft_ms"]["p50"])
        told = f"{value:.3f} ms (client at most {max(error.values()):.3f} ms)"
        self.assertIn(f"| **fail** | ttft:p50 \\> 1ms | {told} |", lines)
        self.assertIn("| pass | errors \\> 0 % | 0 % |", lines)
        order = [lines.index(f"### {title}") for title in ("Load", "Latency", "Cache", "Sent late", "Thresholds")]
        self.assertEqual(order, sorted(order))

    def test_junit(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            run = self.play(server, "--label", "a=b")
        path = os.path.join(run.folder, "junit.xml")
        done = report(run.folder, "--junit", path, "--fail-if", "ttft:p50 > 1ms", "--fail-if", "failed > 0")
        self.assertEqual(done.returncode, 8, done.stderr)  # the files are written all the same
        root = ElementTree.parse(path).getroot()
        verdict, *cases = root.iter("testcase")
        name = run.json("summary.json")["verdict"]["name"]
        self.assertEqual(verdict.find("skipped") is not None, name == "uncalibrated")
        self.assertEqual(verdict.find("failure") is not None, name in ("client-limited", "host-noisy", "network-limited"))
        self.assertEqual([case.get("name") for case in cases], ["ttft:p50 > 1ms", "failed > 0"])
        self.assertEqual([case.find("failure") is not None for case in cases], [True, False])
        suite = root.find("testsuite")
        self.assertEqual(int(suite.get("tests")), 3)
        self.assertEqual(int(suite.get("failures")), len(list(root.iter("failure"))))

    def test_one_text_on_standard_output(self):
        for flags in (("--markdown", "-", "--junit", "-"), ("--json", "--markdown", "-")):
            refused = report("nowhere", *flags)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("write to standard output", refused.stderr)

    def test_files_that_cannot_be_written(self):
        """One line says why, and what was there stays as it was."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.play(server)
        before = (run.folder / "run.json").read_bytes()
        for flag in ("--xlsx", "--perfetto", "--markdown", "--junit", "--html"):
            for path, code, why in ((run.folder / "run.json", 2, "already exists; name a new file or remove it"),
                                    (run.folder / "run.json" / "file", 7, "cannot create the file: Not a directory")):
                done = report(run.folder, flag, path)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(f"driftless: {flag} {path}: {why}", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual((run.folder / "run.json").read_bytes(), before)

    def test_force(self):
        """Earlier exports are replaced; nothing else is, nor what lies beside them under another name."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.play(server)
        tables = run.folder / "tables"
        flags = [f"--{kind}={self.scratch / kind}" for kind in ("markdown", "junit", "html", "xlsx", "perfetto")]
        (self.scratch / "junit").touch()  # an empty file may become any
        (self.scratch / "html.new").symlink_to(run.folder / "requests.jsonl")
        for _ in range(3):
            done = report(run.folder, *flags, "--csv", tables, "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
        made = {path: path.read_bytes() for path in self.scratch.glob("*") if path.is_file()}
        for flag, path in (("--markdown", "junit"), ("--xlsx", "perfetto"), ("--html", "markdown"), ("--junit", "xlsx")):
            done = report(run.folder, flag, self.scratch / path, "--force")
            self.assertIn("is no earlier export of this kind", done.stderr)
            self.assertEqual(done.returncode, 2)
        self.assertEqual({path: path.read_bytes() for path in self.scratch.glob("*") if path.is_file()}, made)
        for kind in ("markdown", "junit", "html", "xlsx", "perfetto"):
            self.assertGreater((self.scratch / kind).stat().st_size, 500, kind)
        self.assertEqual(report(run.folder, "--csv", tables).returncode, 2)
        for flag in ("--markdown", "--html", "--xlsx", "--perfetto"):  # never what it is made of
            for name in ("requests.jsonl", "run.json"):
                done = report(run.folder, flag, run.folder / name, "--force")
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"{flag} {run.folder / name}: already exists and is no earlier export", done.stderr)
        self.assertEqual(len(run.records()), 20)
        self.assertEqual(report(run.folder, "--html", "/dev/null", "--force").returncode, 2)
        self.assertEqual(report(run.folder, "--html", tables, "--force").returncode, 2)

    def test_a_replay_writes_for_ci(self):
        """The same files as a report of it; refused before anything is sent where one is there."""
        page, cases = self.scratch / "ci" / "page.md", self.scratch / "ci" / "cases.xml"
        flags = ("--markdown", page, "--junit", cases)
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.play(server, *flags, "--fail-if", "ttft:p50 > 1h")
            self.assertEqual(run.code, 0, run.complained)
            self.assertEqual(report(run.folder, "--markdown", "-").stdout, page.read_text())
            self.assertEqual(report(run.folder, "--junit", "-").stdout, cases.read_text())
            again = self.play(server, *flags)
            self.assertEqual((again.code, again.folder.exists()), (2, False))
            self.assertIn(f"--markdown {page}: already exists", again.complained)
            for wrong, why in (((self.scratch, "--force"), "is no regular file"), ((cases, "--force"), "name two"),
                               ((SAMPLE, "--force"), "is no earlier export of this kind"),
                               ((self.scratch / "ci" / ".." / "ci" / "cases.xml", "--force"), "name one file")):
                refused = self.play(server, "--junit", cases, "--markdown", *wrong)
                self.assertEqual((refused.code, refused.folder.exists()), (2, False))
                self.assertIn(why, refused.complained)
            forced = self.play(server, *flags, "--force", "--fail-if", "ttft:p50 > 1ms")
        self.assertEqual(forced.code, 8, forced.complained)
        self.assertIn("ttft:p50 &gt; 1ms", cases.read_text())

    def test_a_replay_that_cannot_begin_writes_for_ci(self):
        """Whichever step fails: both files have the line that says why."""
        page, cases = self.scratch / "page.md", self.scratch / "cases.xml"
        files = ("--markdown", page, "--junit", cases)
        with mock("--ttft", "1ms") as server:
            for flags in (("--url", "http://127.0.0.1:9"), ("--url", server.url, "--model", "none")):
                run = self.replay(SAMPLE, "--limit", "20", *flags, *files)
                self.assertNotIn(run.code, (0, 130), run.said)
                why = run.complained.splitlines()[-1]
                root = ElementTree.parse(cases).getroot()
                self.assertEqual([error.get("message") for error in root.iter("error")], [why])
                self.assertEqual(root.find("testsuite").get("errors"), "1")
                self.assertIn(why[:30], page.read_text())
                page.unlink()
                cases.unlink()
            refused = self.replay(SAMPLE, "--url", server.url, "--speed", "x", *files)
        self.assertEqual((refused.code, page.exists(), cases.exists()), (2, False, False))

    def test_a_workbook_without_temporary_files(self):
        """However few files may be open: a workbook that is whole, or one line that says why not."""
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            run = self.play(server)
        refused = 0
        for files in range(5, 17):
            path = self.scratch / f"{files}.xlsx"
            done = subprocess.run(["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", DRIFTLESS, "report", run.folder,
                                   "--xlsx", path], capture_output=True, text=True)  # fmt: skip
            self.assertIn(done.returncode, (0, HOST, INPUT), done.stderr)
            refused += done.returncode != 0
            self.assertEqual(path.exists(), done.returncode == 0)
            self.assertEqual(len(done.stderr.splitlines()), int(done.returncode != 0), done.stderr)
        self.assertGreater(refused, 0)
        self.assertLess(refused, 12)

    def test_a_killed_run(self):
        with mock("--ttft", "20ms", "--itl", "20ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--period", "200ms", until="requests.jsonl")
            send_signal(process, signal.SIGKILL)
            process.communicate()
        with open(f"{folder}/requests.jsonl", "a") as file:
            file.write('{"row":99999,"torn')
        done = report(folder, "--csv", f"{folder}/tables", "--junit", f"{folder}/junit.xml",
                      "--markdown", f"{folder}/page.md", "--perfetto", f"{folder}/run.pftrace",
                      "--xlsx", f"{folder}/run.xlsx")
        self.assertEqual(done.returncode, 0, done.stderr)
        head, *rows = rows_of(f"{folder}/tables/requests.csv")
        self.assertEqual([row[0] for row in rows], [str(one["row"]) for one in lines_of(f"{folder}/requests.jsonl")])
        case = next(ElementTree.parse(f"{folder}/junit.xml").iter("testcase"))
        self.assertIn("rows have no record", case.find("failure").get("message"))
        for one in lines_of(f"{folder}/requests.jsonl"):  # what is in it: tests/interop/exports
            self.assertIn(f"row {one['row']}".encode(), (folder / "run.pftrace").read_bytes())
        with zipfile.ZipFile(folder / "run.xlsx") as book:
            sheet = book.read("xl/worksheets/sheet3.xml").decode()  # requests
        self.assertEqual(sheet.count("<row "), 1 + len(rows))
        self.assertIn("| Unfinished |", (folder / "page.md").read_text())


if __name__ == "__main__":
    unittest.main()
