"""Heads: which fields of an answer stand in the records."""

import unittest

from harness import Case, SAMPLE, mock

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
