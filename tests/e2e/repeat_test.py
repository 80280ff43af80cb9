"""The same seed gives the same schedule and the same prompts, whatever else is chosen."""

import unittest

from harness import Case, SAMPLE, mock


def digests(run):
    plan = run.json("run.json")["plan"]
    return plan["schedule_digest"], plan["prompts_digest"]


class Repeat(Case):
    def dry_run(self, *flags):
        return digests(self.replay_well(SAMPLE, "--dry-run", *flags))

    def test_same_seed_same_digests(self):
        """Sent twice, and not sent at all."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            flags = (SAMPLE, "--url", server.url, "--speed", 20, "--seed", 7)
            first = digests(self.replay_well(*flags))
            second = digests(self.replay_well(*flags))
        self.assertEqual(first, second)
        self.assertNotIn(None, first)
        self.assertEqual(first, self.dry_run("--speed", 20, "--seed", 7))

    def test_a_file_of_flags(self):
        """run.toml repeats its run, in what it sends and in what it keeps; flags go before its keys."""
        odd = ("--label", 'a="\\ x\' é=b', "--header", "X-A: 1", "--header", "X-B: {row}", "--goodput", "ttft:9s", "--end", "6s")
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            first = self.replay_well(SAMPLE, "--url", server.url, "--speed", 20, "--no-preflight", "--model", "mock-model", *odd)
            config = first.folder / "run.toml"
            again = self.replay_well("--config", config)
            other = self.replay_well(SAMPLE, "--config", config, "--seed", 8, "--header", "x-a: 2")
            host, port = server.url.removeprefix("http://").split(":")
            named = self.replay_well(SAMPLE, "--host", host, "--port", port, "--limit", 9)  # flags without a help
            self.replay_well("--config", named.folder / "run.toml")
            self.assertIn(f"cannot reach {host}:1", self.replay("--from", named.folder, "--port", 1).complained)
        self.assertEqual(digests(first), digests(again))
        self.assertEqual(config.read_text(), (again.folder / "run.toml").read_text())
        self.assertEqual(first.json("run.json")["arguments"], again.json("run.json")["arguments"][:1] + sorted(
            first.json("run.json")["arguments"][1:], key=again.json("run.json")["arguments"].index))
        self.assertNotEqual(digests(first), digests(other))
        self.assertIn("--header=x-a: 2", other.json("run.json")["arguments"])
        self.assertNotIn("--header=X-A: 1", other.json("run.json")["arguments"])

    def test_a_file_of_flags_by_hand(self):
        """Numbers, switches and lists; what is wrong is one line that names file, line and remedy."""
        good = self.write("good.toml", f'trace = "{SAMPLE}"\nspeed = 2\nend = "6s"\nlenient = true\nquiet = false\n'
                                       'label = ["a=1", "b=2"]\nlimit = 7\ndry-run = true\n')
        run = self.replay_well("--config", good, "--limit", 9)
        self.assertIn("selected: 9 of 240 rows", run.said)
        for text, why in (("speed = ", "line 1"), ("api-key = S-1", 'determine value type; put text in quotes, as in api-key = ".."\n'), ("speed = {a = 1}", "line 1: speed is not a text"),
                          (f'trace = "{SAMPLE}"\nsped = 2', "line 2: driftless replay: unknown flag --sped"),
                          ("out = true\nquiet = true", "line 1: out needs a value"), (f'trace = "{SAMPLE}"\nsave-prompts = true', "line 2: save-prompts needs a value"), ("seed = 1\nspread = 1", "line 2: driftless replay: --spread: is on or off"), (f'trace = "{SAMPLE}"\nspeed = -1', "--speed"), ("", "no trace"),
                          ('"--speed" = 2', "line 1: --speed is no flag"), ('trace = "-h"', "line 1: trace is a flag"),
                          (".".join("a" * 40_000) + " = 1", "more than 256 parts"),
                          ('config = "x"', "line 1: config is no key of a file; give --config itself"), ('from = "x"', "from is no key of a file")):
            path = self.write("bad.toml", text)
            run = self.replay("--config", path)
            self.assertEqual(run.code, 2, text)
            self.assertIn(f"driftless: --config {path}: ", run.complained)
            self.assertIn(why, run.complained)
            self.assertEqual(run.complained.count("\n"), 1, run.complained)
        key = self.write("key.toml", f'trace = "{SAMPLE}"\nurl = "http://127.0.0.1:1"\nlabel = "x=a-secret-0123456789"\n'
                                     'header = "Authorization: Bearer a-secret-0123456789"\n')
        run = self.replay("--config", key)
        self.assertEqual((run.code, run.folder.exists()), (2, False))
        self.assertIn("--label contains a key of this run", run.complained)
        beside = self.replay("--config", good, "--speed", "x")
        self.assertTrue(beside.complained.startswith("driftless replay: --speed"), beside.complained)
        rate = self.write("rate.toml", f'trace = "{SAMPLE}"\nrequest-rate = 4\ndry-run = true\n')
        self.replay_well("--config", rate, "--rate", 8)
        for flags in (("--from", "x"), ("--resume", "x")):
            self.assertIn("use only one of them", self.replay("--config", good, *flags).complained)
        self.assertIn("--config none.toml: cannot be read", self.replay("--config", "none.toml").complained)

    def test_cache_size_changes_no_byte(self):
        whole = self.dry_run("--block-cache", "64M")
        self.assertEqual(whole, self.dry_run("--block-cache", "0"))
        self.assertEqual(whole, self.dry_run("--block-cache", "16k"))

    def test_arm_ahead_changes_no_byte(self):
        self.assertEqual(self.dry_run("--arm-ahead", "10ms"), self.dry_run("--arm-ahead", "all"))

    def test_arm_ahead_of_the_start(self):
        """`all`: every prompt was built before time 0. A short window: most were not."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            flags = (SAMPLE, "--url", server.url, "--speed", 20, "--arm-ahead")
            early = self.replay_well(*flags, "all").records().values()
            late = self.replay_well(*flags, "10ms").records().values()
        self.assertLess(max(record["armed_ns"] for record in early), 0)
        self.assertGreater(sum(record["armed_ns"] > 0 for record in late), len(late) // 2)

    def test_what_is_part_of_a_digest(self):
        """Seed and prompt kind change the prompts; speed and limit change the schedule."""
        schedule, prompts = self.dry_run()
        other = self.dry_run("--seed", 1)
        self.assertEqual(other[0], schedule)
        self.assertNotEqual(other[1], prompts)
        ids = self.dry_run("--prompt", "ids", "--api", "openai-completions")
        self.assertEqual(ids[0], schedule)
        self.assertNotEqual(ids[1], prompts)
        salted = self.dry_run("--cache-salt", "monday")
        self.assertEqual(salted[0], schedule)
        self.assertNotEqual(salted[1], prompts)
        self.assertEqual(salted, self.dry_run("--cache-salt", "monday"))
        salted_ids = self.dry_run(
            "--prompt", "ids", "--api", "openai-completions", "--cache-salt", "monday"
        )
        self.assertEqual(salted_ids[0], schedule)
        self.assertNotIn(salted_ids[1], (ids[1], salted[1]))
        faster = self.dry_run("--speed", 2)
        self.assertNotEqual(faster[0], schedule)
        self.assertEqual(faster[1], prompts)
        fewer = self.dry_run("--limit", 100)
        self.assertNotEqual(fewer[0], schedule)
        self.assertNotEqual(fewer[1], prompts)

    def test_salts_keep_runs_apart_and_sharing_inside_a_run(self):
        """On a server that stays warm, only a salt makes the second run as cold as the first."""

        def hits(server, *flags):
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 50, *flags)
            summary = run.json("summary.json")
            self.assertEqual(summary["prompts"]["off"], 0)
            return summary["cache"]["cached_tokens"], run.json("run.json")["plan"]["cache_salt"]

        with mock("--ttft", "0ms", "--itl", "0ms") as server:
            cold, no_salt = hits(server)
            warm, _ = hits(server)
            salted, salt = hits(server, "--cache-salt", "random")
            again, same_salt = hits(server, "--cache-salt", salt)
        self.assertIsNone(no_salt)
        self.assertRegex(salt, "^[0-9a-f]{16}$")
        self.assertEqual(salt, same_salt)
        self.assertGreater(warm, cold)
        self.assertEqual(salted, cold)
        self.assertEqual(again, warm)

    def test_words_that_are_alike_by_accident_warm_no_cache(self):
        """Blocks of one token hit a word or two of rows that share nothing."""
        with mock("--ttft", "0ms", "--itl", "0ms", "--cache-block", 1) as server:
            for block in ("1", None):
                known = ("--server-block", block) if block else ()
                run = self.replay_well(
                    SAMPLE, "--url", server.url, "--speed", 50, "--cache-salt", str(block), *known
                )
                self.assertEqual(run.json("summary.json")["verdict"]["warnings"], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
