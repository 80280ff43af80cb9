"""The runs of the shards of one replay become one run: its figures are those of all their records, and what
does not belong together is refused by name. The shards are a real run, dealt to folders of its own."""

import json
import os
import re
import shutil
import subprocess
import unittest

import recompute
from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, read_jsonl
from page_file import Page

ROWS = 240
SHARDS = 4
MS = 1_000_000


def clock(offset_ns=0, error_ns=50_000):
    exchange = {"offset_ns": offset_ns, "error_ns": error_ns, "round_trip_ns": 2 * error_ns}
    return {"before": exchange, "after": exchange, "kernel_error_ns": 1_000_000}


class Merge(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("run_once")
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        with mock("--ttft", "2ms") as server:
            run = case.replay_well(SAMPLE, "--url", server.url, "--speed", "20")
        cls.whole = run.folder
        # Shards say that they are certified: so do their records and engines, however busy this machine is.
        for name, busy, quiet in (("requests.jsonl", r'"tainted":\[[^\]]*\]', '"tainted":null'),
                                  ("requests.jsonl", r'"((first|last)_late_ns|wire_delay_bound_ns|request_delay_ns)":\d+', r'"\1":0'),
                                  ("client.jsonl", r'"(busy_\w+|run_delay_ns|steal_ns)":\d+', r'"\1":0')):  # fmt: skip
            file = cls.whole / name
            file.write_text(re.sub(busy, quiet, file.read_text()))

    def run_once(self):
        """Of the class: plays the run that the tests deal out."""

    def shards(self, count=SHARDS, change=None):
        """Deals the run round robin; `change(index, run.json)` may alter what a shard says of itself."""
        folders = []
        records = read_jsonl(self.whole / "requests.jsonl")
        for index in range(count):
            folder = self.scratch / f"shard-{index}"
            folder.mkdir()
            mine = [one for one in records if one["row"] % count == index]
            lines = (self.whole / "requests.jsonl").read_text().splitlines(keepends=True)
            (folder / "requests.jsonl").write_text(
                "".join(line for line in lines if json.loads(line)["row"] % count == index)
            )
            (folder / "fired.jsonl").write_text("".join(
                line for line in (self.whole / "fired.jsonl").read_text().splitlines(keepends=True)
                if json.loads(line)["row"] % count == index))  # fmt: skip
            shutil.copy(self.whole / "client.jsonl", folder)
            run = json.loads((self.whole / "run.json").read_text())
            run["shard"] = {"index": index, "count": count, "from": "--shard", "plan_rows": ROWS}
            run["meeting"] = {"at": "127.0.0.1:7777", "role": "guest" if index else "host",
                              "zero_utc_ns": run["clock"]["zero_utc_ns"],
                              "clock": clock() if index else {**clock(), "before": None, "after": None}}  # fmt: skip
            run["arguments"].append(f"--shard={index}/{count}")
            run["plan"]["rows"] = len(mine)
            run["plan"]["prompts_digest"] = f"{2**64 - 7 + index & 2**64 - 1:016x}"
            run["segments"][0]["rows"] = run["end"]["rows_fired"] = run["end"]["records"] = len(mine)
            run["end"]["verdict"], run["end"]["verdict_reasons"] = "certified", []
            run["calibration"].update(date="20261129-120000", why_not=None)
            if change:
                change(index, run)
            (folder / "run.json").write_text(json.dumps(run))
            folders.append(folder)
        return folders

    def merge(self, *arguments):
        self.out = self.scratch / "whole"
        command = [DRIFTLESS, "merge", *[str(one) for one in arguments], "--out", str(self.out)]
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)

    def merged(self, *arguments):
        done = self.merge(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done, json.loads((self.out / "summary.json").read_text())

    def refused(self, code, *arguments):
        done = self.merge(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertFalse(self.out.exists(), "what could not be merged has left a folder")
        return done.stderr

    def report(self, *flags):
        return subprocess.run([DRIFTLESS, "report", str(self.out), *flags], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=True)

    def test_the_figures_are_those_of_all_records(self):
        folders = self.shards()
        done, summary = self.merged(*reversed(folders))
        records = [one for folder in folders for one in read_jsonl(folder / "requests.jsonl")]
        self.assertEqual(len(records), ROWS)
        self.assertEqual(recompute.differences(summary, recompute.summary_of(records)), [])
        self.assertEqual(summary["verdict"]["name"], "certified", summary["verdict"])
        self.assertEqual((summary["not_reported"], summary["unfinished"]), (0, None))
        self.assertEqual([one["index"] for one in summary["shards"]], list(range(SHARDS)))
        for one in summary["shards"]:
            mine = [r for r in records if r["row"] % SHARDS == one["index"]]
            drift = recompute.distribution([r["fired_ns"] - r["due_ns"] for r in mine])
            self.assertEqual((one["rows"], one["p50_drift_ns"], one["p99_drift_ns"]),
                             (len(mine), drift["p50"], drift["p99"]))
            self.assertEqual((one["verdict"], one["clock_offset_ns"], one["clock_error_ns"]),
                             ("certified", 0, 50_000 if one["index"] else 0))
        self.assertIn("Shards", done.stdout)

    def test_the_lines_are_in_the_order_of_their_dues(self):
        folders = self.shards()
        self.merged(*folders)
        lines = (self.out / "requests.jsonl").read_text().splitlines()
        merged = [json.loads(line) for line in lines]
        keys = [(one["due_ns"], one["row"], one["pass"], one["side"] or "", one["attempt"]) for one in merged]
        self.assertEqual(keys, sorted(keys))
        originals = {json.loads(line)["row"]: line for folder in folders
                     for line in (folder / "requests.jsonl").read_text().splitlines()}  # fmt: skip
        for line, one in zip(lines, merged):
            self.assertEqual(one["shard"], one["row"] % SHARDS)
            self.assertEqual(line, originals[one["row"]][:-1] + f',"shard":{one["shard"]}}}')
        seconds = read_jsonl(self.out / "client.jsonl")
        self.assertEqual(len(seconds), SHARDS * len(read_jsonl(self.whole / "client.jsonl")))
        self.assertEqual([one["from_ns"] for one in seconds], sorted(one["from_ns"] for one in seconds))

    def test_its_page_names_the_shard_of_each_row(self):
        self.merged(*self.shards())
        rows = Page(self.out / "report.html").rows("requests")
        self.assertEqual({row["row"]: row["shard"] for row in rows}, {row: row % SHARDS for row in range(ROWS)})

    def test_report_and_compare_read_it(self):
        self.merged(*self.shards())
        self.assertEqual(self.report("--json").stdout, (self.out / "summary.json").read_text())
        self.report("--perfetto", str(self.scratch / "trace"), "--html", str(self.scratch / "page.html"),
                    "--csv", str(self.scratch / "csv"))  # fmt: skip
        self.assertTrue((self.out / "report.html").stat().st_size > 10_000)
        with mock("--ttft", "2ms") as server:
            other = self.replay_well(SAMPLE, "--url", server.url, "--speed", "20")
        compared = subprocess.run(
            [DRIFTLESS, "compare", str(self.out), str(other.folder), "--anyway", "--json", "-"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        told = {one["what"] for one in json.loads(compared.stdout)["differences"]}
        # Made up here, so that its sum shows; all else is the same work.
        self.assertLessEqual(told, {"prompt digests"})

    def test_run_json_is_that_of_the_whole(self):
        self.merged(*self.shards())
        run = json.loads((self.out / "run.json").read_text())
        original = json.loads((self.whole / "run.json").read_text())
        self.assertEqual(run["plan"]["rows"], ROWS)
        self.assertEqual(run["plan"]["input_tokens"], original["plan"]["input_tokens"])
        digest = sum(2**64 - 7 + index for index in range(SHARDS)) & 2**64 - 1
        self.assertEqual(run["plan"]["prompts_digest"], f"{digest:016x}")
        self.assertEqual(run["arguments"], original["arguments"])
        self.assertEqual((run["shard"], run["meeting"]), (None, None))
        self.assertEqual(run["end"]["records"], ROWS)
        self.assertEqual(len(run["merged"]["shards"]), SHARDS)

    def test_a_shard_that_is_missing(self):
        folders = self.shards()
        for folder in folders:  # all that any shard had sent before was hit
            records = folder / "requests.jsonl"
            records.write_text(re.sub(r'("prompt_tokens":(\d+).*?"cached_tokens":)\d+', r"\g<1>\2", records.read_text()))
        done, summary = self.merged(*folders[:2], folders[3])
        self.assertEqual(summary["not_reported"], 60)
        self.assertEqual(summary["shards"][2]["rows"], None)
        self.assertNotIn("certified", summary["verdict"]["name"])
        warning = "shard 2 of 4 is missing: 60 rows are not reported"
        warnings = "\n".join(summary["verdict"]["warnings"])
        self.assertIn(warning, warnings)
        self.assertNotIn("cache was warm", warnings)  # it had what the missing one sent
        self.assertIn("missing", done.stdout)
        self.assertIn("60", done.stdout[done.stdout.index("Not reported") :])
        self.assertEqual(self.report("--json").stdout, (self.out / "summary.json").read_text())

    def test_a_shard_that_was_killed(self):
        folders = self.shards(change=lambda index, run: run.update(end=None if index == 1 else run["end"]))
        path = folders[1] / "requests.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:-10]) + lines[-10][:30])
        done, summary = self.merged(*folders)
        self.assertEqual(summary["not_reported"], 10)
        self.assertEqual(summary["unfinished"], {"rows": 10, "rows_left": 10})
        self.assertEqual(summary["shards"][1]["not_reported"], 10)
        self.assertNotEqual(summary["verdict"]["name"], "certified")
        self.assertIn(f"driftless replay --resume {folders[1]}", "\n".join(summary["verdict"]["warnings"]))
        self.assertIn("30 bytes of an unfinished last line were left out", done.stderr)
        # What left and has no record.
        lost = {json.loads(line)["row"] for line in lines[-10:]}
        self.assertEqual({one["row"] for one in read_jsonl(self.out / "fired.jsonl")}, lost)
        self.assertEqual(self.report("--json").stdout, (self.out / "summary.json").read_text())
        resumed = subprocess.run([DRIFTLESS, "replay", "--resume", str(self.out)], capture_output=True,
                                 text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(resumed.returncode, 2, resumed.stderr)
        self.assertIn("is merged of shards", resumed.stderr)

    def test_a_row_that_is_there_twice(self):
        folders = self.shards()
        line = (folders[2] / "requests.jsonl").read_text().splitlines(keepends=True)[0]
        with (folders[0] / "requests.jsonl").open("a") as out:
            out.write(line)
        said = self.refused(3, *folders)
        row = json.loads(line)["row"]
        self.assertIn(f"row {row} has a record in {folders[0]} and in {folders[2]}", said)
        again = self.scratch / "again"
        shutil.copytree(folders[1], again)
        said = self.refused(3, folders[1], again)
        self.assertIn(str(again), said)
        self.assertIn("row 1 has a record in", said)

    def test_shards_of_different_replays(self):
        def change(index, run):
            if index == 3:
                run["plan"]["schedule_digest"] = "0123456789abcdef"
                run["plan"]["seed"] = 7
                run["request"]["model"] = "another"
                run["arguments"].append("--max-inflight=3")

        folders = self.shards(change=change)
        said = self.refused(3, *folders)
        for what in ("due instants", "seed", "model", "--max-inflight=3", str(folders[3])):
            self.assertIn(what, said)

    def test_what_one_shard_alone_watches_does_not_matter(self):
        folders = self.shards(
            change=lambda index, run: run["arguments"].append("--metrics-period=5") if index == 0 else None)
        self.merged(*folders)

    def test_what_is_no_shard(self):
        self.assertIn("is not a shard", self.refused(2, self.whole))
        self.assertIn("has no run.json", self.refused(2, self.scratch))
        folders = self.shards()
        # A name that was typed wrong is not taken for a shard that is missing.
        self.assertIn("shard-9: does not exist; correct the name, or leave it out",
                      self.refused(2, *folders[:2], self.scratch / "shard-9"))
        self.merged(*folders)
        merged = self.scratch / "merged"
        self.out.rename(merged)
        self.assertIn("is already a merged run", self.refused(2, merged))

    def test_a_folder_that_is_there(self):
        folders = self.shards()
        (self.scratch / "whole").mkdir()
        (self.scratch / "whole" / "mine").write_text("precious")
        done = self.merge(*folders)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("whole: already exists", done.stderr)
        self.assertEqual((self.scratch / "whole" / "mine").read_text(), "precious")

    def test_a_place_that_cannot_be_written(self):
        folders = self.shards()
        out = self.scratch / "file" / "whole"
        (self.scratch / "file").write_text("")
        done = subprocess.run([DRIFTLESS, "merge", *map(str, folders), "--out", str(out)],
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("cannot make the folder", done.stderr)
        limited = subprocess.run(
            ["bash", "-c", 'ulimit -f 64; trap "" XFSZ; exec "$@"', "-", DRIFTLESS, "merge",
             *map(str, folders), "--out", str(self.scratch / "full")],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertEqual(limited.returncode, 7, limited.stdout + limited.stderr)
        self.assertIn("requests.jsonl", limited.stderr)
        self.assertFalse((self.scratch / "full").exists())

    def test_a_line_that_cannot_be_read(self):
        folders = self.shards()
        path = folders[1] / "requests.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        orders = json.loads(lines[3])
        changed = [re.sub(f'"{key}":-?[0-9]+', f'"{key}":{value}', lines[3]) for key, value in (
            ("row", 9999), ("due_ns", 77), ("drift_ns", -5), ("ttft_ns", 1), ("e2e_ns", 2**63 - 1))]  # fmt: skip
        changed.append(json.dumps({**orders, "drift_ns": 1}) + "\n")
        for broken in (*changed, "no record\n", '{"row":1,"due_ns":"late"}\n', "[1]\n", '{"row":5}\n',
                       '{"row":777,"due_ns":5}\n', json.dumps({**orders, "row": 777, "held_ns": "x"}) + "\n"):  # fmt: skip
            path.write_text("".join(lines[:3]) + broken + "".join(lines[3 + (broken in changed):]))
            said = self.refused(3, *folders)
            self.assertIn(f"{path}:4: ", said)
            self.assertRegex(said, "restore (it|the line)")

    def test_all_rows_give_the_verdict(self):
        """Not what a shard was judged by its own rows, which is told."""
        def change(index, run):
            if index == 2:
                run["end"].update(verdict="host-noisy", verdict_reasons=["others had the CPU"])
            if index == 3:
                run["end"].update(verdict="certified-with-exclusions", verdict_reasons=["3 rows"])

        folders = self.shards(change=change)
        _, summary = self.merged(*folders)
        self.assertEqual(summary["verdict"]["name"], "certified")
        reasons = "\n".join(summary["verdict"]["reasons"])
        self.assertIn("shard 2 of 4 is host-noisy: others had the CPU", reasons)
        self.assertIn("shard 3 of 4 is certified-with-exclusions: 3 rows", reasons)
        shutil.rmtree(self.out)
        records = folders[0] / "requests.jsonl"  # whose own verdict is still certified
        late = re.sub(r'"(first|last)_late_ns":\d+', r'"\1_late_ns":2000000000', records.read_text())
        records.write_text(late)
        _, summary = self.merged(*folders)
        self.assertNotIn("certified", summary["verdict"]["name"])
        self.assertIn("this client may have moved T", summary["verdict"]["reasons"][0])
        shutil.rmtree(self.out)
        records.write_text(re.sub(r'"(first|last)_late_ns":2000000000', r'"\1_late_ns":null', late, count=20))
        _, summary = self.merged(*folders)
        self.assertIsNone(summary["client_error"]["ttft_ms"]["p99"])

    def test_clocks(self):
        """At its limit a clock will do; above it, it will not; times 0 that lie apart are told."""
        def with_clock(ours):
            def change(index, run):
                run["meeting"].update(clock=ours if index == 1 else run["meeting"]["clock"])

            return change

        for error_ns, flags, verdict in (
            (MS, [], "certified"),
            (MS + 1, [], "client-limited"),
            (MS + 1, ["--clock-error-max", "2ms"], "certified"),
        ):
            folders = self.shards(change=with_clock(clock(error_ns=error_ns)))
            _, summary = self.merged(*folders, *flags)
            self.assertEqual(summary["verdict"]["name"], verdict, error_ns)
            for folder in [*folders, self.out]:
                shutil.rmtree(folder)
        # Apart beyond the clocks' error of 0.05 ms: a warning up to 1 ms more, else the verdict says it.
        for apart_ns, verdict, told in ((MS // 2, "certified", "warnings"), (5 * MS, "client-limited", "reasons")):
            folders = self.shards(change=with_clock(clock(offset_ns=apart_ns)))
            _, summary = self.merged(*folders)
            self.assertEqual(summary["shards"][1]["zero_apart_ns"], -apart_ns)
            self.assertEqual(summary["verdict"]["name"], verdict)
            text = "time 0 of shard 1 was %.3f ms before that of the first shard" % (apart_ns / MS)
            for where in ("warnings", "reasons"):
                self.assertEqual(text in "\n".join(summary["verdict"][where]), where == told, where)
            for folder in [*folders, self.out]:
                shutil.rmtree(folder)

    def test_clocks_that_met_nobody(self):
        _, summary = self.merged(*self.shards(change=lambda index, run: run.update(meeting=None)))
        self.assertEqual(summary["verdict"]["name"], "uncalibrated")
        self.assertIn("was not compared with another", summary["verdict"]["reasons"][0])
        self.assertIsNone(summary["shards"][1]["clock_error_ns"])

    def test_records_that_no_certificate_goes_with(self):
        folders = self.shards()
        records = folders[1] / "requests.jsonl"
        records.write_text(records.read_text().replace('"tainted":null', '"tainted":["late"]', 3))
        _, summary = self.merged(*folders)
        self.assertIn(summary["verdict"]["name"], ("client-limited", "host-noisy"))
        self.assertIn("1.2 % of the rows that were sent are tainted", summary["verdict"]["reasons"][0])
        end = json.loads((self.out / "run.json").read_text())["end"]
        self.assertEqual(end["verdict"], summary["verdict"]["name"])

    def test_load_that_was_not_together(self):
        """A shard that its user stopped, or one whose rows came when it was resumed."""
        def stopped(index, run):
            run["end"]["interrupted"] = index == 1

        def later(index, run):
            if index == 1:
                run["segments"].append({**run["segments"][0], "rows": 4})

        def met(index, run):
            if index == 1:
                run["end"]["stopped_when"] = {"cond": "errors > 1 %", "at_s": 1, "value": 0.5, "unit": "share"}

        for change, text in ((stopped, "shard 1 of %d was interrupted"), (later, "4 rows of shard 1 of %d came later"),
                             (met, "shard 1 of %d was stopped by its --stop-when (errors > 1 %%)")):  # fmt: skip
            folders = self.shards(change=change)
            _, summary = self.merged(*folders)
            self.assertEqual(summary["verdict"]["name"], "client-limited")
            self.assertIn(text % SHARDS, summary["verdict"]["reasons"][0])
            for folder in [*folders, self.out]:
                shutil.rmtree(folder)

    def test_what_the_client_did_is_not_there(self):
        folders = self.shards()
        for folder in folders:
            (folder / "client.jsonl").unlink()
        _, summary = self.merged(*folders)
        self.assertEqual(summary["verdict"]["name"], "uncalibrated")
        self.assertIn("client.jsonl tells of 0 of the 240 rows", summary["verdict"]["reasons"][0])

    def test_a_client_that_no_certificate_goes_with(self):
        for old, new, text in (
            (r'"busy_fire_ns":\d+', '"busy_fire_ns":9000000000', "the engine was busy for"),
            (r'"ring_dropped_payloads":0', '"ring_dropped_payloads":7', "events were lost in the client's own ring"),
        ):
            folders = self.shards()
            client = folders[1] / "client.jsonl"
            client.write_text(re.sub(old, new, client.read_text(), count=3))
            _, summary = self.merged(*folders)
            self.assertEqual(summary["verdict"]["name"], "client-limited")
            self.assertIn(text, summary["verdict"]["reasons"][0])
            for folder in [*folders, self.out]:
                shutil.rmtree(folder)

    def test_metrics_that_cannot_be_read_again(self):
        folders = self.shards()
        os.mkfifo(folders[0] / "server.jsonl")
        self.assertIn(f"{folders[0]}/server.jsonl: is not a regular file", self.refused(3, *folders))

    def test_a_run_of_a_later_version(self):
        folders = self.shards(change=lambda index, run: run.update(schema=99))
        self.assertIn("run.json: it was written by a newer driftless", self.refused(2, *folders))

    def test_one_shard_of_one(self):
        _, summary = self.merged(*self.shards(count=1, change=lambda index, run: run.update(meeting=None)))
        self.assertEqual(summary["verdict"]["name"], "certified")

    def test_a_hostile_run_json(self):
        for number, shard in enumerate((
            {"index": 4, "count": 4, "plan_rows": ROWS}, {"index": -1, "count": 4, "plan_rows": ROWS},
            {"index": 0, "count": 2**40, "plan_rows": ROWS}, {"index": 0, "count": 0, "plan_rows": ROWS},
            {"index": 0, "count": 4}, {"index": "0", "count": 4, "plan_rows": ROWS}, [], 7, True,
            {"index": 0, "count": 4, "plan_rows": 10**30},
        )):  # fmt: skip
            folder = self.scratch / f"hostile-{number}"
            folder.mkdir()
            run = json.loads((self.whole / "run.json").read_text())
            (folder / "run.json").write_text(json.dumps({**run, "shard": shard}))
            self.assertIn("run.json: ", self.refused(2, folder), shard)
        # A clock of the end of time is none.
        folders = self.shards(change=lambda index, run: run["meeting"].update(clock=clock(offset_ns=2**63 - 1)))
        self.assertIn("offset_ns", self.refused(2, *folders))
        for folder in folders:
            shutil.rmtree(folder)
        folders = self.shards(change=lambda index, run: run["segments"][0].update(zero_utc_ns=(-1) ** index * (2**63 - 1)))
        self.assertIn("zero_utc_ns", self.refused(3, *folders))

    def test_more_rows_than_the_plan(self):
        def change(index, run):
            run["shard"]["plan_rows"] = 200

        self.assertIn("were to send 240 rows, but their plan has 200", self.refused(3, *self.shards(change=change)))

    def test_a_shard_that_goes_on(self):
        folders = self.shards()
        lock = os.open(folders[0], os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, lock)
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        self.assertIn("the run has not ended", self.refused(3, *folders))

    def test_shards_of_two_meetings_are_not_certified(self):
        """Times 0 that are known to lie seconds apart: the load was another one."""
        def change(index, run):
            run["segments"][0]["zero_utc_ns"] += index * 4 * 10**9

        _, summary = self.merged(*self.shards(change=change))
        self.assertEqual(summary["verdict"]["name"], "client-limited")
        self.assertIn("time 0 of shard 1 was 4000.000 ms after", "\n".join(summary["verdict"]["reasons"]))

    def test_hosts_may_be_used_in_other_ways(self):
        def change(index, run):
            run["arguments"] += [f"--engines={index + 1}", f"--cpu={index}", "--warm-send"][: 2 + index % 2]

        _, summary = self.merged(*self.shards(change=change))
        self.assertEqual(summary["not_reported"], 0)

    def test_server_figures_need_all_shards_to_have_met(self):
        """Who reads the servers has to know that all others have ended."""
        for met, there, why in ((True, True, ""), (False, False, "with --meet it waits for them"),
                                (False, False, "missing or were killed did not tell")):  # fmt: skip
            def change(index, run, met=met, why=why):
                if "--meet" in why:
                    run["meeting"] = None
                elif index == 2 and not met:
                    run["meeting"]["clock"]["after"] = None

            folders = self.shards(change=change)
            shutil.copy(self.whole / "server.jsonl", folders[0])
            done, _ = self.merged(*folders)
            self.assertEqual((self.out / "server.jsonl").exists(), there)
            self.assertEqual("server.jsonl is left out" in done.stderr, not there)
            self.assertIn(why, done.stderr)
            for folder in [*folders, self.out]:
                shutil.rmtree(folder)

    def test_a_folder_twice_or_inside(self):
        folders = self.shards()
        os.symlink(folders[1], self.scratch / "again")
        self.assertIn("is the same folder as", self.refused(2, *folders, self.scratch / "again"))
        self.out = folders[2] / "deep" / "whole"
        done = subprocess.run([DRIFTLESS, "merge", *map(str, folders), "--out", str(self.out)],
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("lies inside of shard folder", done.stderr)
        self.assertFalse((folders[2] / "deep").exists())

    def test_usage(self):
        for flags, said in (
            (["merge"], "no run is given"), (["merge", "a"], "--out is missing"),
            (["merge", "a", "--out", ""], "does not name a folder"), (["merge", "--repot", "x"], "--repot"),
        ):  # fmt: skip
            done = subprocess.run([DRIFTLESS, *flags], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
