"""Every API that replay speaks, against the mock that speaks it too: counts, lengths, errors."""

import json
import unittest

from harness import Case, SAMPLE, mock, read_jsonl

FAST = ("--ttft", "1ms", "--itl", "0", "--cache-block", "512")
TEMPLATES = SAMPLE.parent / "templates"
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

    def check_api(self, api, *flags, served=(), cached=True, counted=True, name=None):
        """One run against a mock with that tokeniser, and the mock's own word on each row."""
        log = self.scratch / f"truth{self.runs}.jsonl"
        with mock(*FAST, "--overhead", "1,0", *served, "--log", log) as server:
            run = self.run_exact(server, api, *flags, counted=counted)
        self.assertEqual({entry["api"] for entry in read_jsonl(log)}, {name or api})
        if cached:
            self.check_cache(run, log)
        return run

    def test_llamacpp(self):
        for flags in ((), ("--prompt", "ids")):
            run = self.check_api("llamacpp", *flags, served=("--tokenize", "llama.cpp"))
            self.assertEqual(run.json("run.json")["preflight"]["max_model_len"], 1 << 20)
            for record in run.records().values():
                self.assertEqual(record["tokens_source"], "usage")
                self.assertEqual(record["finish_reason"], "limit")
                self.assertEqual(sum(record["chunk_tokens"]), record["output_length"])

    def test_sglang(self):
        """Events that repeat the text, and events that go on, say the same."""
        digests = []
        common = ("--tokenize", "sglang", "--tokens-per-chunk", "3")
        for served in (common, (*common, "--incremental")):
            for flags in ((), ("--prompt", "ids")):
                run = self.check_api("sglang", *flags, served=served)
                for record in run.records().values():
                    self.assertEqual(sum(record["chunk_tokens"]), record["output_length"])
            request = run.json("run.json")["request"]
            self.assertEqual(request["prompt"], "ids")
            digests.append(sorted(len(r["chunk_ns"]) for r in run.records().values()))
        self.assertEqual(digests[0], digests[1])

    def test_tgi(self):
        run = self.check_api("tgi", served=("--tokenize", "tgi"), cached=False)
        self.assertEqual(run.json("run.json")["preflight"]["max_model_len"], 1 << 20)
        for record in run.records().values():
            self.assertIsNone(record["cached_tokens"])
            self.assertEqual(set(record["chunk_tokens"]), {1})

    def test_apis_with_messages(self):
        for api in ("anthropic", "openai-responses"):
            self.check_api(api, "--api-key", "sk-12345678")

    def test_ollama(self):
        self.check_api("ollama", cached=False)

    def test_triton(self):
        """It counts nothing: neither prompts nor tokens are known, and the records say so."""
        run = self.check_api("triton", cached=False, counted=False)
        for record in run.records().values():
            self.assertIsNone(record["prompt_tokens"])
            self.assertEqual(record["tokens_source"], "chunks")
            self.assertEqual(record["output_tokens"], record["output_length"])

    def test_chats_with_extensions(self):
        self.check_api("aibrix", "--routing-strategy", "prefix-cache", name="openai-chat")
        self.check_api("dynamo", name="openai-chat")

    def test_templates(self):
        """Files that describe an API of the mock's: the records are those of the dialect."""
        apis = {"llamacpp": ("llamacpp", ("--prompt", "ids"), ("--no-stream",)),
                "chat": ("openai-chat",), "ollama": ("ollama", ("--no-stream",)),
                "sglang": ("sglang",)}
        for name, (api, *some) in apis.items():
            file = TEMPLATES / f"{name}.json"
            told = []
            for flags in ((), *some):
                run = self.check_api("template", "--template", file, *flags, name=api,
                                     cached=name != "ollama" and flags != ("--no-stream",))
                told.append(run.json("run.json")["request"]["template"])
            plain = self.check_api(api, cached=name != "ollama")
            self.assertIsNone(plain.json("run.json")["request"]["template"])
            self.assertEqual({(one["file"], len(one["digest"])) for one in told}, {(str(file), 16)})

    def test_templates_are_held_to_their_server(self):
        """Errors are the server's, and a template for another server is none for this one."""
        file = TEMPLATES / "llamacpp.json"
        faults = ("--fault-row", "error:3", "--fault-row", "malformed:4", "--fault-row", "429:5")
        with mock(*FAST, *faults) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--api", "template",
                                   "--template", file)
            outcomes = {row: record["outcome"] for row, record in run.records().items()}
            self.assertEqual((outcomes[3], outcomes[4], outcomes[5], outcomes[6]),
                             ("stream_error", "bad_event", "http_429", "ok"))
            lost = self.replay(SAMPLE, "--url", server.url, *SOME, "--api", "template",
                               "--template", TEMPLATES / "words.json")
            self.assertEqual(lost.code, 4)
            self.assertIn("POST /say", lost.complained)

    def test_a_template_that_sees_no_text_is_refused(self):
        """Its rows would all be without a token; what a template cannot tell is said of it."""
        text = (TEMPLATES / "chat.json").read_text()
        pointer = '"content": "/choices/0/delta/content"'
        self.assertIn(pointer, text)
        wrong = self.write("wrong.json", text.replace(pointer, '"content": "/choices/0/txt"'))
        blind = json.loads(text)
        del blind["event"]["prompt_tokens"]
        blind = self.write("blind.json", json.dumps(blind))
        with mock(*FAST) as server:
            flags = (SAMPLE, "--url", server.url, *SOME, "--api", "template", "--template")
            run = self.replay(*flags, wrong)
            self.assertEqual(run.code, 4, run.said)
            self.assertIn("event.content of the template", run.complained)
            run = self.replay_well(*flags, blind)
            self.assertIn("server: the template has no event.prompt_tokens: prompt counts cannot "
                          "be verified\n", run.said)

    def test_whole_answers(self):
        """--no-stream: the counts are the same, the first token is unknown, the end is known."""
        served = {"tgi": ("--tokenize", "tgi")}
        for api in ("openai-chat", "openai-completions", "openai-responses", "anthropic",
                    "llamacpp", "sglang", "tgi", "ollama"):
            run = self.check_api(api, "--no-stream", served=served.get(api, ()), cached=False)
            self.assertFalse(run.json("run.json")["request"]["stream"])
            for record in run.records().values():
                self.assertIsNone(record["ttft_ns"])
                self.assertEqual(record["chunk_ns"], [])
                self.assertGreater(record["e2e_ns"], 0)
        run = self.check_api("triton", "--no-stream", cached=False, counted=False)
        self.assertIsNone(run.records()[0]["output_tokens"])

    def test_errors_are_the_servers(self):
        """An error inside a 200, broken JSON and a refusal, told apart and quoted."""
        faults = ("--fault-row", "error:3", "--fault-row", "malformed:4", "--fault-row", "429:5",
                  "--fault-row", "500:6", "--fault-row", "truncate:7")
        outcomes = {3: "stream_error", 4: "bad_event", 5: "http_429", 6: "http_5xx",
                    7: "truncated"}
        for api in ("llamacpp", "sglang", "tgi", "ollama", "anthropic", "openai-responses",
                    "triton"):
            tokenize = ("--tokenize", "tgi" if api == "tgi" else "none")
            with mock(*FAST, *faults, *tokenize) as server:
                run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--api", api)
            records = run.records()
            for row, outcome in outcomes.items():
                self.assertEqual(records[row]["outcome"], outcome, f"{api} {records[row]}")
            self.assertIn("Internal server error", records[3]["error"])
            self.assertIn("fault 429", records[5]["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
