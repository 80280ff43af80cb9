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

    def test_cache_size_changes_no_byte(self):
        whole = self.dry_run("--block-cache", "64M")
        self.assertEqual(whole, self.dry_run("--block-cache", "0"))
        self.assertEqual(whole, self.dry_run("--block-cache", "16k"))

    def test_arm_ahead_changes_no_byte(self):
        self.assertEqual(self.dry_run("--arm-ahead", "10ms"), self.dry_run("--arm-ahead", "all"))

    def test_what_is_part_of_a_digest(self):
        """Seed and prompt kind change the prompts; speed and limit change the schedule."""
        schedule, prompts = self.dry_run()
        other = self.dry_run("--seed", 1)
        self.assertEqual(other[0], schedule)
        self.assertNotEqual(other[1], prompts)
        ids = self.dry_run("--prompt", "ids", "--api", "openai-completions")
        self.assertEqual(ids[0], schedule)
        self.assertNotEqual(ids[1], prompts)
        faster = self.dry_run("--speed", 2)
        self.assertNotEqual(faster[0], schedule)
        self.assertEqual(faster[1], prompts)
        fewer = self.dry_run("--limit", 100)
        self.assertNotEqual(fewer[0], schedule)
        self.assertNotEqual(fewer[1], prompts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
