"""Saved prompts are the exact bodies of a run, and are sent again byte for byte."""

import json
import subprocess
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, Case, read_jsonl, receiver, row_of


def bodies(log):
    """Body digest and size by row, as the receiver got them."""
    return {
        row_of(entry["request_id"]): (entry["body_bytes"], entry["body_hash"])
        for entry in read_jsonl(log)
        if row_of(entry["request_id"]) is not None
    }


class SavePrompts(Case):
    def send(self, name, *flags):
        log = self.scratch / f"{name}-log.jsonl"
        with receiver("--log", log) as server:
            run = self.replay_well(*flags, "--url", server.url, "--speed", 20, "--no-preflight",
                                   "--model", "m")
        return run, bodies(log)

    def check(self, *flags):
        saved = self.scratch / "saved.jsonl.gz"
        first, sent = self.send("first", SAMPLE, "--save-prompts", saved, *flags)
        again, sent_again = self.send("again", saved, *[flag for flag in flags if flag in API])
        # Rows of the saved file stand in the order in which they were due, as those of the sample do.
        before, after = first.records(), again.records()
        for records, got in ((before, sent), (after, sent_again)):
            self.assertEqual({r["outcome"] for r in records.values()}, {"ok"})
            self.assertEqual(set(got), set(range(len(self.sample_rows()))))
        self.assertEqual({row: (got, sent_again[row]) for row, got in sent.items()
                          if got != sent_again[row]}, {})
        for row, record in before.items():
            for key in ("input_length", "output_length", "expected_cached_tokens"):
                self.assertEqual(record[key], after[row][key], key)
        return saved

    def test_chat_bodies_come_back(self):
        self.check("--overhead", "5,3")

    def test_id_bodies_come_back(self):
        self.check("--api", "openai-completions", "--prompt", "ids")

    def test_a_dry_run_saves_the_same(self):
        """The words, model and overhead given, the file is that of a real run."""
        live = self.scratch / "live.jsonl"
        dry = self.scratch / "dry.jsonl"
        self.send("live", SAMPLE, "--save-prompts", live)
        self.replay_well(SAMPLE, "--dry-run", "--model", "m", "--save-prompts", dry, "--speed", 20)
        self.assertEqual(live.read_text(), dry.read_text())

    def test_the_window_still_works(self):
        saved = self.scratch / "saved.jsonl"
        self.replay_well(SAMPLE, "--dry-run", "--model", "m", "--save-prompts", saved)
        run, sent = self.send("few", saved, "--limit", 7)
        self.assertEqual(len(run.records()), 7)
        lines = read_jsonl(saved)[1:]
        self.assertEqual(len(lines), len(self.sample_rows()))
        for row, (size, _) in sent.items():
            text = json.dumps(lines[row]["body"], separators=(",", ":"), ensure_ascii=False)
            self.assertEqual(size, len(text.encode()))

    def test_another_api_is_refused(self):
        saved = self.scratch / "saved.jsonl"
        self.replay_well(SAMPLE, "--dry-run", "--model", "m", "--save-prompts", saved)
        run = self.replay(saved, "--url", "http://127.0.0.1:1", "--api", "openai-completions")
        self.assertEqual(run.code, 2)
        self.assertIn("openai-chat", run.complained)
        again = self.replay(SAMPLE, "--dry-run", "--save-prompts", saved)
        self.assertEqual(again.code, 2)
        self.assertIn("already exists", again.complained)

    def test_another_template_is_refused(self):
        """Bodies of one described server are not sent to another, nor to one that has changed."""
        saved = self.scratch / "saved.jsonl"
        templates = SAMPLE.parent / "templates"
        words, other = templates / "words.json", templates / "llamacpp.json"
        api = ("--api", "template", "--template")
        self.replay_well(SAMPLE, "--dry-run", "--limit", 5, *api, words, "--save-prompts", saved)
        self.assertRegex(saved.read_text().split("\n")[0], '"body_api":"template:[0-9a-f]{16}"')
        self.replay_well(saved, "--dry-run", *api, words)
        for refused in (other, self.write("words.json", words.read_text() + "\n")):
            run = self.replay(saved, "--dry-run", *api, refused)
            self.assertEqual(run.code, 2)
            self.assertIn("give the --template that they were made with", run.complained)
        run = self.replay(saved, "--dry-run", "--api", "llamacpp")
        self.assertEqual(run.code, 2)
        self.assertIn("not llamacpp; use that API", run.complained)

    def test_what_bodies_cannot_do_is_said(self):
        """Copies would say the same; Mooncake rows hold no bodies."""
        saved = self.scratch / "saved.jsonl"
        self.replay_well(SAMPLE, "--dry-run", "--model", "m", "--save-prompts", saved)
        run = self.replay(saved, "--url", "http://127.0.0.1:1", "--replicate", 2)
        self.assertEqual(run.code, 2)
        self.assertIn("--replicate", run.complained)
        done = subprocess.run(
            [DRIFTLESS, "convert", str(saved), "-o", str(self.scratch / "out.jsonl"), "--to",
             "mooncake"], capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("240 request bodies", done.stdout)

    def test_a_body_that_is_none_is_refused(self):
        saved = self.scratch / "saved.jsonl"
        self.replay_well(SAMPLE, "--dry-run", "--model", "m", "--save-prompts", saved)
        header, first = saved.read_text().split("\n")[:2]
        row = json.loads(first)
        row["body"] = "text"
        for name, lines, words in (
            ("text", [header, json.dumps(row)], "is not a JSON object"),
            ("cut", [header, first[:-20]], "line 2"),
            ("bare", [header.replace(',"body_api":"openai-chat"', ""), first], "body_api"),
        ):
            path = self.write(name + ".jsonl", "\n".join(lines) + "\n")
            run = self.replay(path, "--url", "http://127.0.0.1:1")
            self.assertEqual(run.code, 3, name)
            self.assertIn(words if name != "cut" else ":2", run.complained)


API = ("--api", "openai-completions")

if __name__ == "__main__":
    unittest.main()
