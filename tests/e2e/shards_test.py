"""One plan, sent by several processes: each row by one of them, and none of them knows another."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, Case, Run, mock, read_jsonl, receiver, row_of

USAGE, INPUT, HOST = 2, 3, 7
LAUNCHERS = ("JOB_COMPLETION_INDEX", "DRIFTLESS_SHARDS", "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK", "PMI_SIZE", "SLURM_PROCID",
             "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID")  # fmt: skip
DIGEST_END = 2**64


def environment(**variables):
    """That of this test, without what may have started it, and with these."""
    kept = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
    return {**kept, **{name: str(value) for name, value in variables.items()}}


def bodies(log):
    """Body digest and size by row, as the receiver got them."""
    return {
        row_of(entry["request_id"]): (entry["body_bytes"], entry["body_hash"])
        for entry in read_jsonl(log)
        if row_of(entry["request_id"]) is not None
    }


class ShardCase(Case):
    def shards(self, count, *flags, folder=None, env=None):
        """All parts, side by side, by the same line but for the part."""
        folder = folder or self.scratch / f"parts{count}"
        started = []
        for index in range(count):
            command, _ = self.command(*flags, "--shard", f"{index}/{count}", folder=folder)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env=env or environment())
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            started.append(process)
        return [self.finish(process, self.part(folder, index, count))
                for index, process in enumerate(started)]

    def part(self, folder, index, count):
        return pathlib.Path(folder) / f"shard-{index}" if count > 1 else pathlib.Path(folder)

    def shards_well(self, count, *flags, **how):
        runs = self.shards(count, *flags, **how)
        for run in runs:
            self.assertEqual(run.code, 0, run.said + run.complained)
        return runs

    def dry(self, *flags, **variables):
        return self.replay(*flags, "--dry-run", "--limit", 12, env=environment(**variables))


class Parts(ShardCase):
    def test_every_row_once_with_the_same_bytes(self):
        """One process, or three: the same rows, bodies, instants and digests."""
        flags = (SAMPLE, "--speed", 20, "--no-preflight", "--model", "m")
        got = {}
        plans = {}
        rows = {}
        for count in (1, 3):
            log = self.scratch / f"log{count}.jsonl"
            with receiver("--log", log) as server:
                runs = self.shards_well(count, *flags, "--url", server.url)
            got[count] = bodies(log)
            plans[count] = [run.json("run.json") for run in runs]
            rows[count] = [record for run in runs for record in run.records().values()]
            self.assertEqual(len(got[count]), 240)
            self.assertEqual(sum(len(run.records()) for run in runs), 240)
        self.assertEqual(got[1], got[3])
        by_row = [{record["row"]: record for record in rows[count]} for count in (1, 3)]
        self.assertEqual(len(by_row[1]), 240, "a row was sent by two of them")
        for key in ("request", "due_ns", "expected_cached_tokens", "input_length"):
            self.assertEqual({row: record[key] for row, record in by_row[0].items()},
                             {row: record[key] for row, record in by_row[1].items()}, key)
        whole = plans[1][0]["plan"]
        self.assertEqual(plans[1][0]["shard"],
                         {"index": 0, "count": 1, "from": "--shard", "plan_rows": 240})
        for index, facts in enumerate(plans[3]):
            self.assertEqual(facts["shard"], {"index": index, "count": 3, "from": "--shard",
                                              "plan_rows": 240})
            self.assertEqual(facts["plan"]["rows"], 80)
            for key in ("schedule_digest", "expected_cached_tokens", "input_tokens",
                        "output_tokens"):
                self.assertEqual(facts["plan"][key], whole[key], key)
        sums = [int(facts["plan"]["prompts_digest"], 16) for facts in plans[3]]
        self.assertEqual(sum(sums) % DIGEST_END, int(whole["prompts_digest"], 16))

    def test_whole_trees_by_users(self):
        """Each tree is one part's, users have numbers of their own, and begin as in one process."""
        rows = [{"timestamp": 10 * i, "input_length": 40, "output_length": 4, "hash_ids": [i // 2],
                 "session_id": f"s{i // 2}", "turn": i % 2} for i in range(24)]
        trace = self.write("turns.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        flags = (trace, "--block-size", 512, "--map",
                 "time=timestamp,in=input_length,out=output_length,hashes=hash_ids,"
                 "session=session_id,turn=turn", "--time-unit", "ms", "--users", 5, "--user-ramp",
                 "400ms", "--no-preflight", "--model", "mock-model", "--header",
                 "X-User: {user}")  # fmt: skip
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = (*flags, "--url", server.url)
            whole = self.shards_well(1, *flags)
            parts = self.shards_well(2, *flags)
        trees = [{record["session"] for record in run.records().values()} for run in parts]
        self.assertEqual(trees[0] & trees[1], set())
        self.assertEqual(len(trees[0] | trees[1]), 12)
        users = [{record["user"] for record in run.records().values()} for run in parts]
        self.assertEqual(users, [{0, 2, 4}, {1, 3}])

        def begins(runs):
            first = {}
            for run in runs:
                for record in run.records().values():
                    known = first.get(record["user"], record["due_ns"])
                    first[record["user"]] = min(known, record["due_ns"])
            return first

        self.assertEqual(begins(whole), begins(parts))
        digests = {run.json("run.json")["plan"]["schedule_digest"] for run in whole + parts}
        self.assertEqual(len(digests), 1)

    def test_both_sides_of_a_row_stay_together(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as one, mock("--ttft", "1ms") as other:
            runs = self.shards_well(2, SAMPLE, "--speed", 20, "--limit", 40, "--no-preflight",
                                    "--model", "mock-model", "--url", one.url, "--against",
                                    other.url)
        rows = [[(r["row"], r["side"]) for r in read_jsonl(run.folder / "requests.jsonl")]
                for run in runs]
        self.assertEqual([len(part) for part in rows], [40, 40])
        self.assertEqual({row for row, _ in rows[0]} & {row for row, _ in rows[1]}, set())

    def test_caps_are_shared_out(self):
        flags = (SAMPLE, "--speed", 20, "--limit", 30, "--no-preflight", "--model", "mock-model")
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            runs = self.shards_well(3, *flags, "--url", server.url, "--max-inflight", 8,
                                    "--budget-output", "100001/s")
            for flag, low in (("--max-inflight", "2"), ("--connections", "2"),
                              ("--budget-input", "2/m"), ("--concurrency", "2"), ("--users", "2")):
                run = self.replay(SAMPLE, "--url", server.url, flag, low, "--shard", "0/3")
                self.assertEqual(run.code, USAGE, run.said)
                self.assertIn(f"{flag} is 2, and each of 3 shards needs 1 at least",
                              run.complained)
                self.assertFalse(run.folder.exists())
        asked = [run.json("run.json")["request"] for run in runs]
        self.assertEqual([one["max_concurrency"] for one in asked], [3, 3, 2])
        self.assertEqual([one["budget_output"] for one in asked], ["33334/s", "33334/s", "33333/s"])

    def test_what_cannot_be_is_refused(self):
        flags = (SAMPLE, "--url", "http://127.0.0.1:1", "--shard", "0/2")
        for more, words in (
            (("--users", "2..9", "--grow", "ttft:2s", "--recycle", "--for", "9s"), "--grow adds"),
            (("--users", 2, "--start-within", "0.2:0.8"), "--start-within warms up"),
            (("--users", 2, "--warmup-requests", 2), "--warmup-requests warms up"),
            (("--users", 2, "--system-idle-cap", "1s"), "--system-idle-cap shortens"),
            (("--reset-cache",), "--reset-cache would empty"),
        ):
            run = self.replay(*flags, *more)
            self.assertEqual(run.code, USAGE, run.said + run.complained)
            self.assertIn(words, run.complained)
        few = self.replay(SAMPLE, "--url", "http://127.0.0.1:1", "--limit", 2, "--shard", "2/3")
        self.assertEqual(few.code, INPUT)
        self.assertIn("--shard 2/3: this shard has no row, because the plan has 2 rows; start 2 processes "
                      "at most", few.complained)
        self.assertFalse(few.folder.exists())

    def test_names_of_their_own(self):
        """The same line everywhere: no two parts write one file."""
        records = self.scratch / "rows.jsonl"
        saved = self.scratch / "bodies.jsonl.gz"
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = (SAMPLE, "--speed", 20, "--limit", 20, "--url", server.url, "--no-preflight",
                     "--model", "mock-model")  # fmt: skip
            self.shards_well(2, *flags, "--output-path", records, "--save-prompts", saved)
            found = sorted(path.name for path in self.scratch.glob("*-shard-*"))
            self.assertEqual(found, ["bodies-shard-0.jsonl.gz", "bodies-shard-1.jsonl.gz",
                                     "rows-shard-0.jsonl", "rows-shard-1.jsonl"])
            again = self.shards(2, *flags)
            self.assertEqual([run.code for run in again], [USAGE, USAGE])
            self.assertIn("shard-0: already exists", again[0].complained)
            done = subprocess.run(
                [DRIFTLESS, "replay", *[str(flag) for flag in flags], "--calibration", "none",
                 "--shard", "1/2"], cwd=self.scratch, capture_output=True, text=True,
                timeout=SECONDS_MAX, check=False, env=environment())  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(self.scratch.glob("runs/*-sample-shard-1"))), 1)

    def test_only_the_first_does_what_is_done_once(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            runs = self.shards_well(2, SAMPLE, "--speed", 20, "--limit", 20, "--url", server.url,
                                    "--model", "mock-model", "--event", "+0.1s label x")
        self.assertEqual([(run.folder / "events.jsonl").exists() for run in runs], [True, False])
        self.assertEqual([(run.folder / "server.jsonl").exists() for run in runs], [True, False])


class Environment(ShardCase):
    def part_of(self, *flags, **variables):
        run = self.dry(SAMPLE, *flags, **variables)
        self.assertEqual(run.code, 0, f"{variables}: {run.complained}")
        folder = next(iter(sorted(run.folder.glob("shard-*"))), run.folder)
        shard = json.loads((folder / "run.json").read_text())["shard"]
        return shard and (shard["index"], shard["count"], shard["from"]), run

    def test_a_dry_run_tells_its_own_rows_from_those_of_all(self):
        """The most rows of one instant of the sample are nine. Tokens of shards add up to those of all."""
        def tokens(*flags):
            run = self.replay(SAMPLE, "--dry-run", *flags)
            found = re.search(r"dry run: (\d+) prompt tokens in (\d+) request bytes, (\d+) output tokens", run.said)
            return run.said, [int(one) for one in found.groups()]

        said, whole = tokens()
        self.assertIn("at most 9 at one instant", said)
        shards = [tokens("--shard", f"{index}/4") for index in range(4)]
        for said, _ in shards:
            self.assertRegex(said, r"dry run: 60 rows over 11\.\d+ s, at most [23] at one instant")
            self.assertIn("dry run: all shards together: an infinite prefix cache would hit 257536", said)
        self.assertEqual([sum(own[i] for _, own in shards) for i in (0, 2)], [whole[0], whole[2]])

    def test_who_starts_many_processes(self):
        slurm = {"SLURM_PROCID": 1, "SLURM_NTASKS": 4}
        mpi = {"OMPI_COMM_WORLD_RANK": 2, "OMPI_COMM_WORLD_SIZE": 3}
        for variables, part in (
            ({}, None),
            ({"JOB_COMPLETION_INDEX": 1, "DRIFTLESS_SHARDS": 2}, (1, 2, "JOB_COMPLETION_INDEX")),
            (slurm, (1, 4, "SLURM_PROCID")),
            ({"SLURM_PROCID": 0, "SLURM_NTASKS": 1}, None),
            ({"SLURM_NTASKS": 4}, None),  # a shell of salloc
            ({**slurm, "SLURM_JOB_ID": 7, "SLURM_STEP_ID": 0}, (1, 4, "SLURM_PROCID")),
            (mpi, (2, 3, "OMPI_COMM_WORLD_RANK")),
            ({**slurm, **mpi}, (2, 3, "OMPI_COMM_WORLD_RANK")),  # mpirun inside a job
            ({"PMI_RANK": 0, "PMI_SIZE": 2}, (0, 2, "PMI_RANK")),
            ({"PMIX_RANK": 1, "PMI_SIZE": 2}, (1, 2, "PMIX_RANK")),
            ({"PMIX_RANK": 1, "DRIFTLESS_SHARDS": 2}, (1, 2, "PMIX_RANK")),
            ({"SLURM_PROCID": "", "SLURM_NTASKS": 4}, None),
        ):
            found, run = self.part_of(**variables)
            self.assertEqual(found, part, variables)
            if part:
                self.assertIn(f"shard: {part[0]}/{part[1]} ({part[2]}; counted from 0)",
                              run.said)

    def test_the_flag_goes_before(self):
        slurm = {"SLURM_PROCID": 1, "SLURM_NTASKS": 4}
        self.assertEqual(self.part_of("--shard", "0/2", **slurm)[0], (0, 2, "--shard"))
        self.assertIsNone(self.part_of("--shard", "none", **slurm)[0])
        self.assertIsNone(self.part_of("--shard", "none", SLURM_PROCID="x", SLURM_NTASKS=4)[0])

    def test_broken_and_contradicting_values(self):
        for variables, words in (
            ({"JOB_COMPLETION_INDEX": 1}, "set DRIFTLESS_SHARDS to the number of processes"),
            ({"DRIFTLESS_SHARDS": 3}, "DRIFTLESS_SHARDS is 3, but no variable says which shard"),
            ({"JOB_COMPLETION_INDEX": 3, "DRIFTLESS_SHARDS": 3},
             "JOB_COMPLETION_INDEX is 3 and DRIFTLESS_SHARDS is 3, but shards are counted from 0"),
            ({"SLURM_PROCID": "two", "SLURM_NTASKS": 4}, 'SLURM_PROCID is "two", which is not'),
            ({"SLURM_PROCID": 0, "SLURM_NTASKS": -4}, 'SLURM_NTASKS is "-4", which is not'),
            ({"PMI_RANK": 0, "PMI_SIZE": 0}, 'PMI_SIZE is "0", which is not a number from 1'),
            ({"SLURM_PROCID": 0, "SLURM_NTASKS": 4, "DRIFTLESS_SHARDS": 3},
             "DRIFTLESS_SHARDS is 3, but SLURM_PROCID is one of 4"),
            ({"OMPI_COMM_WORLD_RANK": 0, "OMPI_COMM_WORLD_SIZE": 2, "PMI_RANK": 1, "PMI_SIZE": 2},
             "OMPI_COMM_WORLD_RANK says shard 0/2 and PMI_RANK says 1/2"),
            ({"SLURM_PROCID": 0, "SLURM_NTASKS": 4, "SLURM_JOB_ID": 7}, "start it with srun"),
        ):
            run = self.dry(SAMPLE, **variables)
            self.assertEqual(run.code, USAGE, f"{variables}: {run.said}")
            self.assertEqual(run.complained.count("\n"), 1, run.complained)
            self.assertIn(words, run.complained)
            self.assertIn("--shard none", run.complained)
        for typed, words in (("3/3", "is beyond the last shard"), ("x", "is not a shard"),
                             ("0/5000", "4096 at most"), ("1", "is not a shard")):
            run = self.dry(SAMPLE, "--shard", typed)
            self.assertEqual(run.code, USAGE)
            self.assertIn(words, run.complained)


class Again(ShardCase):
    def again(self, *flags, **variables):
        return subprocess.run([DRIFTLESS, "replay", *[str(flag) for flag in flags]],
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
                              env=environment(**variables))  # fmt: skip

    def test_a_part_that_was_killed_keeps_its_rows(self):
        """Whatever the environment says by then; the part came from there."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 4)
            part = folder / "shard-1"
            process = self.launch(command, part,
                                  env=environment(SLURM_PROCID=1, SLURM_NTASKS=3))
            process.kill()
            process.communicate()
            kept = json.loads((part / "run.json").read_text())
            self.assertIn("--shard=1/3", kept["arguments"])
            refused = self.again("--resume", part, "--shard", "0/3")
            self.assertEqual(refused.returncode, USAGE)
            self.assertIn("remove this flag", refused.stderr)
            done = self.again("--resume", part, SLURM_PROCID=2, SLURM_NTASKS=3)
            self.assertEqual(done.returncode, 0, done.stderr)
            again = self.again("--from", part, "-o", self.scratch / "again",
                               "--calibration", "none")
            self.assertEqual(again.returncode, 0, again.stderr)
            other = self.again("--from", part, "--shard", "0/3", "--calibration", "none",
                               "-o", self.scratch / "other")
            self.assertEqual(other.returncode, 0, other.stderr)
        records = read_jsonl(part / "requests.jsonl")
        rows = sorted(record["row"] for record in records)
        self.assertEqual(len(rows), 80)
        self.assertEqual(len(set(rows)), 80)
        self.assertEqual(sorted(r["request"] for r in records), list(range(1, 240, 3)))
        twice = read_jsonl(self.scratch / "again" / "shard-1" / "requests.jsonl")
        self.assertEqual(sorted(record["row"] for record in twice), rows)
        others = read_jsonl(self.scratch / "other" / "shard-0" / "requests.jsonl")
        self.assertEqual({record["row"] for record in others} & set(rows), set())

    def test_a_whole_run_stays_whole(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4,
                                         env=environment())
            process.kill()
            process.communicate()
            done = self.again("--resume", folder, SLURM_PROCID=1, SLURM_NTASKS=3)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(read_jsonl(folder / "requests.jsonl")), 240)


if __name__ == "__main__":
    unittest.main()
