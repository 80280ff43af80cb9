"""Every API that replay speaks, against the mock that speaks it too: counts, lengths, errors."""

import unittest

from harness import Case, SAMPLE, mock, read_jsonl

FAST = ("--ttft", "1ms", "--itl", "0", "--cache-block", "512")
SOME = ("--limit", 40, "--speed", 50)


class Dialects(Case):
    def run_exact(self, server, api, *flags, counted=True):
        """A run whose every row is ok, with the lengths of the trace where the API counts."""
        run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--api", api, *flags)
        records = run.records()
        self.assertEqual(len(records), 40)
        for record in records.values():
            self.assertEqual(record["outcome"], "ok", record)
            self.assertEqual(record["api"], api)
            if counted:
                self.assertEqual(record["prompt_tokens"], record["input_length"], run.said)
                self.assertEqual(record["output_tokens"], record["output_length"])
        return run

    def check_cache(self, run, log):
        """What each answer said of its cache is what the server knows that it had."""
        truth = {entry["row"]: entry for entry in read_jsonl(log) if entry["row"] is not None}
        hits = 0
        for row, record in run.records().items():
            self.assertEqual(record["cached_tokens"], truth[row]["cached_tokens"], record)
            hits += record["cached_tokens"]
        self.assertGreater(hits, 0)

    def test_llamacpp(self):
        for flags in ((), ("--prompt", "ids")):
            log = self.scratch / f"truth{len(flags)}.jsonl"
            with mock(*FAST, "--overhead", "1,0", "--tokenize", "llama.cpp", "--log",
                      log) as server:
                run = self.run_exact(server, "llamacpp", *flags)
            self.check_cache(run, log)
            facts = run.json("run.json")
            self.assertEqual(facts["preflight"]["max_model_len"], 1 << 20)
            self.assertEqual({entry["api"] for entry in read_jsonl(log)}, {"llamacpp"})
            for record in run.records().values():
                self.assertEqual(record["tokens_source"], "usage")
                self.assertEqual(record["finish_reason"], "limit")
                self.assertEqual(sum(record["chunk_tokens"]), record["output_length"])

    def test_errors_are_the_servers(self):
        """An error inside a 200, broken JSON and a refusal, told apart and quoted."""
        faults = ("--fault-row", "error:3", "--fault-row", "malformed:4", "--fault-row", "429:5",
                  "--fault-row", "500:6", "--fault-row", "truncate:7")
        outcomes = {3: "stream_error", 4: "bad_event", 5: "http_429", 6: "http_5xx",
                    7: "truncated"}
        for api in ("llamacpp",):
            with mock(*FAST, *faults) as server:
                run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--api", api)
            records = run.records()
            for row, outcome in outcomes.items():
                self.assertEqual(records[row]["outcome"], outcome, f"{api} {records[row]}")
            self.assertIn("Internal server error", records[3]["error"])
            self.assertIn("fault 429", records[5]["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
