"""What a server can and cannot do is on the screen and in run.json before a night is spent on it."""

import unittest

from harness import Case, SAMPLE, mock

# Slow enough that a busy machine still tells a head from a token, and one token from the next.
CALM = ("--ttft", "200ms", "--itl", "10ms")
USAGE, PREFLIGHT = 2, 4


class Support(Case):
    def meet(self, *served, flags=()):
        with mock(*CALM, *served) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 5, "--speed", 50, *flags)
        return run, run.json("run.json")["preflight"]

    def test_what_is_there(self):
        run, found = self.meet()
        self.assertNotIn("rows will lack them", run.said)
        self.assertTrue(all(found[name] for name in (
            "has_usage", "has_cached_tokens", "ignore_eos", "headers_before_token")), found)
        self.assertEqual(found["notes"], [])
        self.assertEqual(found["stream_chunks"], 8)
        self.assertGreater(found["stream_receives"], 2)
        longest = max(r["input_length"] + r["output_length"] for r in run.records().values())
        self.assertIn(f"server: the longest row needs {longest} tokens of the model's context\n",
                      run.said)
        self.assertEqual(run.json("run.json")["plan"]["longest_row_tokens"], longest)

    def test_what_is_not_there(self):
        run, found = self.meet("--owned-by", "vllm", "--cached-tokens", "never", "--headers",
                               "late", "--refuse-ignore-eos")
        self.assertIn("server: does not report cached tokens; rows will lack them\n", run.said)
        self.assertEqual((found["owned_by"], found["has_cached_tokens"], found["has_token_ids"],
                          found["ignore_eos"], found["headers_before_token"]),
                         ("vllm", False, False, False, False))
        for said in ("start vLLM with --enable-prompt-tokens-details",
                     "refuses ignore_eos (Unrecognized request argument supplied: ignore_eos)"):
            self.assertTrue(any(said in note for note in found["notes"]), found["notes"])
            self.assertIn(said, run.said)
        self.assertEqual({r["cached_tokens"] for r in run.records().values()}, {None})

    def test_cached_tokens_only_where_there_are_some(self):
        """vLLM leaves them out at 0: a prompt that goes out again shows them."""
        _, found = self.meet("--owned-by", "vllm", "--cached-tokens", "hits")
        self.assertTrue(found["has_cached_tokens"])
        self.assertEqual(found["notes"], [])

    def test_several_tokens_a_chunk(self):
        """What then stays unknown is said, with --continuous-usage where the API has a place for it;
        llama.cpp's own API counts each chunk. One token is no plural."""
        several = "8 tokens came in 3 chunks: ITL stays unknown for such rows"
        asks = "; --continuous-usage may count each chunk"
        for api, note in (("openai-chat", several + asks), ("anthropic", several),
                          ("llamacpp", None)):  # fmt: skip
            run, found = self.meet("--tokens-per-chunk", "3", "--cache-block", "1",
                                   flags=("--api", api))
            self.assertEqual(found["notes"], [note] if note else [], api)
            self.assertIn("server: cache blocks of 1 token (by cached tokens)\n", run.said)
            left_out = run.json("summary.json")["itl_rows_left_out"]
            self.assertEqual(left_out > 0, note is not None, api)

    def test_no_usage(self):
        run, found = self.meet("--owned-by", "vllm", "--no-usage")
        self.assertIn("server: does not report usage, cached tokens; rows will lack them\n", run.said)
        self.assertTrue(any("--enable-force-include-usage" in note for note in found["notes"]))

    def test_refusals_have_a_remedy(self):
        """The server's own words, then what may fix it."""
        with mock(*CALM, "--max-model-len", "100", "--overhead", "90,20") as server:
            run = self.replay(SAMPLE, "--url", server.url)
            self.assertEqual(run.code, PREFLIGHT)
            self.assertIn("exceeds model's maximum context length (100).", run.complained)
            self.assertIn("serve a longer context", run.complained)
            run = self.replay(SAMPLE, "--url", server.url, "--extra-body", '{"messages": []}')
            self.assertEqual(run.code, USAGE)
            self.assertIn("--extra-body: \"messages\" contains the prompt", run.complained)
            run = self.replay(SAMPLE, "--url", server.url, "--model", "other")
            self.assertEqual(run.code, PREFLIGHT)
            self.assertIn("use --model with one that it lists: mock-model", run.complained)
            run = self.replay(SAMPLE, "--url", server.url, "--endpoint", "/health")
            self.assertEqual(run.code, PREFLIGHT)
            self.assertIn("check --endpoint and --api", run.complained)


if __name__ == "__main__":
    unittest.main()
