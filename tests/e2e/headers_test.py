"""Heads: what each row says of itself to the server, and what of an answer's head is recorded."""

import re
import unittest

from harness import Case, SAMPLE, mock, read_jsonl

FAST = ("--ttft", "1ms", "--itl", "0", "--cache-block", "512")
SOME = ("--limit", 40, "--speed", 50)


class Heads(Case):
    def test_fields_of_answers_are_recorded(self):
        """As the server sent them, under the name that was asked for; refusals have heads, too."""
        with mock(*FAST, "--pod", 'llama "7"', "--fault-row", "429:3", "--fault-row",
                  "refuse:4") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--record-header",
                                   "X-Request-ID", "--record-header", "Target-Pod",
                                   "--record-header", "X-None")
        run_id = run.json("run.json")["run_id"]
        for row, record in run.records().items():
            said = {"X-Request-ID": f"{run_id}-{row}", "Target-Pod": 'llama "7"', "X-None": None}
            if row == 4:  # closed before any byte
                said = dict.fromkeys(said)
            self.assertEqual(record["headers"], said, record)
        self.assertEqual(run.records()[3]["outcome"], "http_429")

    def test_aibrix_names_its_pods(self):
        with mock(*FAST, "--pod", "llama-7") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--api", "aibrix")
            plain = self.replay_well(SAMPLE, "--url", server.url, *SOME)
        for record in run.records().values():
            self.assertEqual(record["headers"], {
                "target-pod": "llama-7", "target-pod-ip": None, "request-id": None
            })
        for record in plain.records().values():
            self.assertEqual(record["headers"], {})

    def truth(self, server_flags, *flags):
        """A run, and the mock's log of it by row."""
        log = self.scratch / f"truth{self.runs}.jsonl"
        with mock(*FAST, *server_flags, "--log", log) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, *flags)
        return run, {entry["row"]: entry for entry in read_jsonl(log) if entry["row"] is not None}

    def test_every_row_has_a_trace(self):
        """The one that its record names; another in every row and run; none unless asked for."""
        run, truth = self.truth((), "--traceparent")
        seen = set()
        for row, record in run.records().items():
            said = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", truth[row]["traceparent"])
            self.assertEqual(said[1], record["trace_id"])
            seen.add(said[1])
        again, _ = self.truth((), "--traceparent")
        seen.update(record["trace_id"] for record in again.records().values())
        self.assertEqual(len(seen), 80)
        plain, truth = self.truth(())
        for row, record in plain.records().items():
            self.assertIsNone(record["trace_id"])
            self.assertIsNone(truth[row]["traceparent"])

    def test_ids_are_the_runs(self):
        """X-Request-Id is run and row; no probe has the id of a row."""
        run, truth = self.truth(())
        run_id = run.json("run.json")["run_id"]
        self.assertEqual({entry["request_id"] for entry in truth.values()},
                         {f"{run_id}-{row}" for row in range(40)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
