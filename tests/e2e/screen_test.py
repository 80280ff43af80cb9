"""What a person sees: the short table, warnings, the selection, other servers, typos, Ctrl-C."""

import json
import re
import signal
import socket
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock

FAST = ("--ttft", "1ms", "--itl", "0")
QUICK = ("--limit", 40, "--speed", 20)


def call(*arguments):
    return subprocess.run([DRIFTLESS, *[str(a) for a in arguments]], capture_output=True, text=True,
                          timeout=SECONDS_MAX, check=False)


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


# On a busy machine rows leave late, and nobody knows.
KEPT_UP = "; (the server kept up|not known whether the server kept up)"


class Screen(Case):
    def test_short_and_full_table(self):
        """25 lines of 80 columns; --table full has every figure; a report prints the same."""
        with mock(*FAST) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *QUICK)
            full = self.replay_well(SAMPLE, "--url", server.url, *QUICK, "--table", "full")
        table = run.said[run.said.index("==="):run.said.index("files: ")]
        self.assertLessEqual(len(table.splitlines()), 25, table)
        self.assertLessEqual(max(len(line) for line in table.splitlines()), 80, table)
        self.assertRegex(table, rf"\nRequests        40 of 40 ok in [0-9.]+ s{KEPT_UP}\n")
        self.assertEqual(run.complained, "")
        self.assertIn("Successful requests:                     40\n", full.said)
        self.assertEqual(call("report", run.folder).stdout, table)
        self.assertIn("Std TTFT (ms):", call("report", run.folder, "--table", "full").stdout)

    def test_quiet(self):
        """The result alone; a refusal is said all the same."""
        with mock(*FAST) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *QUICK, "--quiet")
        self.assertRegex(run.said, rf"^40 of 40 ok in [0-9.]+ s{KEPT_UP}; TTFT p99 [0-9.]+ ms; \S+\nfiles: ")
        self.assertEqual(run.complained, "")
        dead = self.replay(SAMPLE, "--url", f"http://127.0.0.1:{closed_port()}", "--quiet")
        self.assertEqual((dead.code, dead.said), (4, ""))
        self.assertIn("preflight", dead.complained)
        dry = self.replay_well(SAMPLE, "--dry-run", "--quiet")
        self.assertTrue(dry.said.startswith("dry run: "), dry.said)

    def test_selection_and_what_was_run(self):
        """Said before the start, and kept in the summary; a report rebuilds it to the byte."""
        with mock(*FAST) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 20, "--start", "1s",
                                   "--end", "8s", "--limit", 30, "--duration", "10s",
                                   "--seed", 7, "--cache-salt", "monday")
        rows = run.json("run.json")["plan"]
        said = re.search(r"^selected: 30 of 240 rows, sent within ([0-9.]+) s .* at speed 20\nselected: "
                         r"([0-9,]+) input and ([0-9,]+) output tokens$", run.said, re.M)
        self.assertIsNotNone(said, run.said)
        self.assertAlmostEqual(float(said[1]), rows["last_due_ns"] / 1e9, places=3)
        self.assertEqual(int(said[2].replace(",", "")), rows["input_tokens"])
        told = run.json("summary.json")["run"]
        self.assertEqual(told["urls"], [server.url + "/v1/chat/completions"])
        self.assertEqual(told["trace_paths"], [str(SAMPLE)])
        self.assertEqual((told["trace_rows"], told["rows"], told["limit"]), (240, 30, 30))
        self.assertEqual((told["start_ns"], told["end_ns"]), (1_000_000_000, 8_000_000_000))
        self.assertEqual((told["speed"], told["seed"], told["cache_salt"]), ("20", 7, "monday"))
        self.assertIn("--limit=30", told["arguments"])
        report = call("report", run.folder, "--json").stdout
        self.assertEqual(report, (run.folder / "summary.json").read_text())

    def test_a_warm_cache_is_told(self):
        """The second identical run: on the screen, in the summary, beside the verdict."""
        with mock(*FAST) as server:
            cold = self.replay_well(SAMPLE, "--url", server.url, *QUICK)
            warm = self.replay_well(SAMPLE, "--url", server.url, *QUICK)
            salted = self.replay_well("--from", warm.folder, "--cache-salt", "random")
        for run in (cold, salted):
            self.assertNotIn("\nWarning", run.said)
            self.assertEqual(run.json("summary.json")["verdict"]["warnings"], [])
        self.assertIn("\nWarning         the prefix cache was warm", warm.said)
        warnings = warm.json("summary.json")["verdict"]["warnings"]
        self.assertEqual(len(warnings), 1)
        self.assertIn("--cache-salt random", warnings[0])

    def test_a_warm_cache_that_evicts(self):
        """The prompts of the beginning come again at the end, when they are evicted: the second run
        hits no more than expected in sum, but at its beginning, where a cold cache cannot."""
        def line(at_ms, block):
            return json.dumps({"timestamp": at_ms, "input_length": 1536, "output_length": 2,
                               "hash_ids": [3 * block + i for i in range(3)]})  # fmt: skip
        blocks = [*range(20), *range(20, 120), *range(20)]
        trace = self.scratch / "again.jsonl"
        trace.write_text("".join(line(10 * i, block) + "\n" for i, block in enumerate(blocks)))
        with mock(*FAST, "--cache-capacity", 200) as server:
            cold = self.replay_well(trace, "--url", server.url)
            warm = self.replay_well(trace, "--url", server.url)
        self.assertNotIn("\nWarning", cold.said)
        self.assertIn("\nWarning         the prefix cache was warm", warm.said)
        cache = warm.json("summary.json")["cache"]
        self.assertLessEqual(cache["cached_tokens"], cache["expected_cached_tokens"])
        self.assertEqual(call("report", warm.folder, "--json").stdout,
                         (warm.folder / "summary.json").read_text())

    def test_the_cache_in_the_servers_blocks(self):
        """Blocks smaller than the trace's hold the template, too: more than the trace's blocks tell,
        and just what the server's do. A server that says 0 for every row is not said to have missed.
        """
        with mock(*FAST, "--cache-block", 16, "--overhead", "37,5") as server:
            small = self.replay_well(SAMPLE, "--url", server.url, "--server-block", 16, "--speed", 5)
        with mock(*FAST, "--cache-block", 100000) as server:
            none = self.replay_well(SAMPLE, "--url", server.url, *QUICK)
        self.assertRegex(" ".join(small.said.split()),
                         r" Cache ([0-9.]+ %) of prompt tokens hit; the trace allows \1 in the "
                         r"server's blocks of 16 (100\.00 % of the expected hits; [0-9]+ of 240 rows as "
                         r"expected )?Prompts ")  # fmt: skip
        self.assertIn("tokens expected; the server says 0 for every row: it may", none.said)
        self.assertEqual(none.json("summary.json")["cache"]["cached_tokens"], 0)
        self.assertEqual(none.json("summary.json")["cache"]["rows_reported"], 40)

    def test_from_with_another_salt_is_the_same_workload(self):
        """Same schedule and lengths, other words; another seed is another run all the same."""
        with mock(*FAST) as server:
            first = self.replay_well(SAMPLE, "--url", server.url, *QUICK)
            again = self.replay_well("--from", first.folder, "--cache-salt", "b")
            other = self.replay("--from", first.folder, "--cache-salt", "b", "--seed", 3)
        was, now = first.json("run.json")["plan"], again.json("run.json")["plan"]
        self.assertEqual(was["schedule_digest"], now["schedule_digest"])
        self.assertNotEqual(was["prompts_digest"], now["prompts_digest"])
        self.assertEqual(other.code, 3)
        self.assertIn("--seed", other.complained)

    def test_every_url_is_asked(self):
        """A dead second server stops the run before a row is lost; two good ones get a line each."""
        dead = f"http://127.0.0.1:{closed_port()}"
        with mock(*FAST) as one, mock(*FAST) as two:
            refused = self.replay(SAMPLE, "--url", one.url, "--url", dead, *QUICK)
            self.assertEqual(refused.code, 4, refused.said)
            self.assertIn(dead, refused.complained)
            self.assertFalse(refused.folder.exists())
            run = self.replay_well(SAMPLE, "--url", one.url, "--url", two.url, *QUICK)
        for server in (one, two):
            self.assertRegex(run.said, re.escape(server.url) + r"/v1/chat/completions: 20 rows,")
        told = run.json("summary.json")["urls"]
        self.assertEqual([one["rows"] for one in told], [20, 20])

    def test_servers_that_differ(self):
        """Another model is refused; another template is told with what it costs."""
        with mock(*FAST) as one, mock(*FAST, "--model", "other") as two:
            refused = self.replay(SAMPLE, "--url", one.url, "--url", two.url, *QUICK)
        self.assertEqual(refused.code, 4, refused.said)
        self.assertIn(two.url, refused.complained)
        with mock(*FAST) as one, mock(*FAST, "--overhead", "3,2") as two:
            run = self.replay_well(SAMPLE, "--url", one.url, "--url", two.url, *QUICK)
        self.assertIn("it adds 3+2 tokens to a prompt, the first server 0+0: prompts there will not have "
                      "the recorded lengths", run.complained)

    def test_servers_that_differ_in_front_only(self):
        """Lengths are the recorded ones; what a second server lacks is told, too, even if quiet."""
        with mock(*FAST, "--overhead", "1,4") as one, \
                mock(*FAST, "--overhead", "3,2", "--cached-tokens", "never") as two:
            urls = ("--url", one.url, "--url", two.url)
            run = self.replay_well(SAMPLE, *urls, *QUICK)
            quiet = self.replay_well(SAMPLE, *urls, *QUICK, "--quiet")
        for complained in (run.complained, quiet.complained):
            self.assertIn("cache blocks may be shifted by up to 2 tokens there", complained)
            self.assertNotIn("recorded lengths", complained)
        self.assertRegex(run.said, f"server: {re.escape(two.url)}\\S*: .*cached")
        notes = run.json("run.json")["preflight"]["notes"]
        self.assertTrue(any(two.url in note and "cached" in note for note in notes), notes)

    def test_an_interrupt_is_answered(self):
        with mock("--ttft", "200ms", "--itl", "10ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url)
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, 130)
        self.assertRegex(run.complained, r"interrupted: \d+ rows will not be sent")

    def test_words_that_help(self):
        """-V, version, help, help COMMAND; the nearest command and flag to a typo."""
        version = call("--version").stdout
        for spelling in ("-V", "version"):
            self.assertEqual(call(spelling).stdout, version)
        self.assertEqual(call("help").stdout, call("--help").stdout)
        self.assertEqual(call("help", "mock").stdout, call("mock", "--help").stdout)
        typo = call("relpay", SAMPLE)
        self.assertEqual(typo.returncode, 2)
        self.assertIn("unknown command 'relpay'; did you mean replay?", typo.stderr)
        self.assertIn("did you mean calibrate?", call("help", "calibrat").stderr)
        self.assertIn("needs a command before it", call("--url", "http://h").stderr)
        flag = call("replay", SAMPLE, "--sped", "2")
        self.assertIn("did you mean --speed?", flag.stderr)

    def test_the_mock_saturates(self):
        """Tokens slow down with the batch, and prompts take turns: as a GPU does."""
        rows = "".join(json.dumps({"timestamp": 0, "input_length": 1000, "output_length": 6}) + "\n"
                       for _ in range(8))
        trace = self.write("burst.jsonl", rows)
        with mock("--ttft", "0", "--itl", "10ms") as server:
            free = self.replay_well(trace, "--url", server.url).json("summary.json")
        with mock("--ttft", "0", "--itl", "10ms", "--batch-slowdown", "0.5", "--prefill-rate",
                  "20000") as server:
            busy = self.replay_well(trace, "--url", server.url).json("summary.json")
        self.assertLess(free["max_ttft_ms"], busy["max_ttft_ms"])
        self.assertGreater(busy["max_ttft_ms"], 0.9 * 8 * 1000 / 20000 * 1000)
        self.assertGreater(busy["median_tpot_ms"], 2 * free["median_tpot_ms"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
