"""report --html, and the report.html of every replay: one file that holds every record exactly, names no
other file, and runs nothing but its own script, whatever the server said."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl, send_signal
from page_file import Page, shown
from raw_server import DONE, RawServer, stream, token, usage

WORDS = "</script><script>alert(1)</script><!-- <b onclick=alert(2)> @data@ \\u003c & \u2028 \u202e"


def report(folder, *flags):
    return subprocess.run([DRIFTLESS, "report", folder, *flags], capture_output=True, text=True)


class PageOfARun(Case):
    def expect_files(self, page, folder, whole=True):
        """The tables of the page are the lines of the run's files."""
        for table in ("requests", "periods", "client"):
            lines = read_jsonl(folder / f"{table}.jsonl", whole=whole)
            self.assertEqual(page.rows(table), [shown(line) for line in lines], table)
        return lines

    def expect_sealed(self, page):
        """Nothing outside is named, and only what has the page's own word runs."""
        self.assertEqual(page.policy["default-src"], ["'none'"])
        self.assertEqual(set(page.refers), {"data:,"})  # no icon is asked for
        (word,) = page.policy["script-src"]
        self.assertEqual(page.policy["style-src"], [word])
        (block, _), (code, text) = page.scripts
        self.assertEqual(block["type"], "application/json")
        self.assertEqual(f"'nonce-{code['nonce']}'", word)
        self.assertEqual([style["nonce"] for style in page.styles], [code["nonce"]])
        self.assertNotIn("<", page.text.split('id="data">')[1].split("</script>")[0])
        for forbidden in ("http-equiv=\"refresh\"", "XMLHttpRequest", "fetch(", "import(", "innerHTML"):
            self.assertNotIn(forbidden, text)

    def test_a_replay_leaves_a_page(self):
        with mock("--ttft", "5ms", "--itl", "1ms", "--fault-row", "500:3", "--fault-row", "truncate:5") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 60, "--speed", 20, "--no-preflight",
                              "--model", "mock-model", "--period", "200ms", "--event", "+300ms label half way")
        page = Page(run.folder / "report.html")
        self.expect_files(page, run.folder)
        self.assertEqual(page.rows("events"), [shown(line) for line in read_jsonl(run.folder / "events.jsonl")])
        self.assertEqual(page.data["summary"], run.json("summary.json"))
        self.assertEqual(page.data["run"]["ended"], True)
        self.assertIsNone(page.data["cache_size"])  # the mock has no limit
        self.expect_sealed(page)
        self.assertTrue(page.title.startswith("sample "), page.title)
        path = run.folder / "again.html"
        done = report(run.folder, "--html", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(path.read_text(), page.text)
        again = report(run.folder, "--html", path)  # never over what is there
        self.assertEqual(again.returncode, 2)
        self.assertIn("again.html: already exists", again.stderr)

    def test_it_has_why_and_the_steady_state(self):
        """As `report` says them; the rows of each statement are those that its words are true of."""
        with mock("--ttft", "10ms", "--itl", "2ms", "--ttft-per-token", "20us", "--cache-capacity", "64") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--speed", 8, "--no-preflight", "--model", "mock-model")
        page = Page(run.folder / "report.html")
        told = json.loads(report(run.folder, "--json", "--why", "--steady").stdout)
        self.assertEqual(page.data["why"], told["why"])
        self.assertEqual(page.data["steady_state"], told["steady_state"])
        self.assertTrue(told["steady_state"]["found"])
        records = read_jsonl(run.folder / "requests.jsonl")
        slowest, *marked = [page.column(packed, "row") for packed in page.data["why_rows"]]
        ttfts = sorted((record["ttft_ns"] for record in records), reverse=True)
        self.assertEqual(sorted((records[row]["ttft_ns"] for row in slowest), reverse=True), ttfts[:told["why"]["slow"]])
        self.assertGreater(len(marked), 0)
        for rows, statement in zip(marked, told["why"]["statements"], strict=True):
            self.assertEqual(len(rows), statement["rows_with_mark"], statement["mark"])
            self.assertEqual(len(set(rows) & set(slowest)), statement["slow_with_mark"])
            prompt = re.fullmatch(r"had a prompt of (\d+) tokens or more", statement["mark"])
            if prompt:
                least = int(prompt.group(1))
                self.assertEqual(set(rows), {i for i, one in enumerate(records) if one["prompt_tokens"] >= least})
        (_, (_, script)) = page.scripts
        self.expect_due_instants(script, records)
        self.assertEqual(page.data["cache_size"], {"tokens": 64 * 512, "caches": 1, "metric": "vllm:cache_config_info"})

    def expect_due_instants(self, script, records):
        """A drift over the edge of an interval moves no row into the next one; a late row is drawn when it left."""
        if shutil.which("node") is None:
            return
        begin = script.index("function firedAndLate")
        function = script[begin:script.index("\n}\n", begin) + 2]
        due = [record["due_ns"] / 1e9 for record in records] + [1.9999, 1.9999]
        fired = [record["fired_ns"] / 1e9 for record in records] + [2.0003, 2.5]
        call = f"firedAndLate({due}, {fired}, {list(range(len(due)))}, 0.2)"
        found = json.loads(subprocess.run(
            ["node", "-e", f"{function};const o={call};console.log(JSON.stringify([[...o.fired],[...o.late]]))"],
            capture_output=True, text=True, check=True).stdout)
        self.assertEqual(found, [due[:-1], [2.5]])

    def test_words_of_others_do_nothing(self):
        """In an error, in a header, in the name of the model, in a label and in the name of the trace."""
        said = json.dumps({"error": {"message": WORDS}}).encode()
        body = b"HTTP/1.1 500 x\r\nContent-Length: %d\r\nx-pod: </script><script>\r\n\r\n%s" % (len(said), said)
        whole = stream(token(), usage(1, 1), DONE)
        trace = self.write("@data@<script>.jsonl", "".join(SAMPLE.read_text().splitlines(True)[:4]))
        with RawServer([body, whole, body, whole]) as server:
            run = self.replay(trace, "--url", server.url, "--no-preflight", "--model", WORDS, "--output", "free",
                              "--record-header", "x-pod", "--label", f"a={WORDS}", "--speed", 50)
        page = Page(run.folder / "report.html")
        self.expect_sealed(page)
        self.expect_files(page, run.folder)
        failed = [row for row in page.rows("requests") if row["outcome"] == "http_5xx"]
        self.assertEqual(len(failed), 2)
        self.assertIn("alert(1)", failed[0]["error"])
        self.assertEqual(page.data["summary"], run.json("summary.json"))
        self.assertIn("@data@<script>", page.title)

    def test_a_killed_run(self):
        with mock("--ttft", "5ms", "--itl", "5ms") as server:
            command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 5)
            process = self.launch(command, folder, until="requests.jsonl")
            time.sleep(1)  # so that more than one write is on the disk
            process.kill()
            process.communicate()
        self.assertFalse((folder / "report.html").exists())
        path = self.scratch / "killed.html"
        done = report(folder, "--html", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Page(path)
        self.expect_files(page, folder, whole=False)
        self.assertEqual(page.data["run"]["ended"], False)
        self.assertGreater(page.data["summary"]["unfinished"]["rows"], 0)
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            # A page that cannot be written is a warning.
            (folder / "report.html").mkdir()
            resumed = subprocess.run([DRIFTLESS, "replay", "--resume", folder, "--url", server.url],
                                     capture_output=True, text=True)
        self.assertIn("report.html was not written: ", resumed.stderr)
        self.assertIn(f"driftless report {folder} --html FILE", resumed.stderr)
        self.assertEqual(json.loads((folder / "run.json").read_text())["end"]["exit_code"], resumed.returncode)
        self.assertNotIn(resumed.returncode, (2, 7), resumed.stderr)

    def test_a_long_run(self):
        """Of more records than a page holds it has every second one, and says of how many."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50, "--chunks", "none")
        record = read_jsonl(run.folder / "requests.jsonl")[0]
        with (run.folder / "requests.jsonl").open("w") as file:
            for row in range(50_001):
                file.write(json.dumps({**record, "row": row, "request": row}) + "\n")
        book = json.loads((run.folder / "run.json").read_text())
        book["trace"]["rows"] = 50_001
        (run.folder / "run.json").write_text(json.dumps(book))
        path = run.folder / "long.html"
        done = report(run.folder, "--html", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Page(path)
        self.assertEqual([row["row"] for row in page.rows("requests")], list(range(0, 50_001, 2)))
        self.assertEqual(page.data["tables"]["requests"]["of"], 50_001)
        self.assertEqual(page.data["summary"]["num_prompts"], 50_001)

    def test_none_is_written_where_none_is_wanted(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50, "--report", "none")
        self.assertFalse((run.folder / "report.html").exists())
        self.assertEqual(self.replay(SAMPLE, "--url", "http://127.0.0.1:9", "--report", "pdf").code, 2)

    def test_an_interrupted_run(self):
        with mock("--ttft", "5ms", "--itl", "5ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 2, "--grace", "10ms")
            send_signal(process, signal.SIGINT)
            run = self.finish(process, folder)
        self.expect_files(Page(run.folder / "report.html"), run.folder)
        self.assertLess(os.path.getsize(run.folder / "report.html"), 1_000_000)


if __name__ == "__main__":
    unittest.main()
