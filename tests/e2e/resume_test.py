"""A run that was killed is summed up, and goes on; a run that ended is repeated. No row is lost, none
is recorded twice, none is sent again unasked."""

import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, TOKENIZERS, mock, read_jsonl, row_of

USAGE, INPUT, HOST = 2, 3, 7


class Resume(Case):
    def kill(self, process):
        process.kill()
        process.communicate()

    def again(self, *flags):
        return subprocess.run(
            [DRIFTLESS, "replay", *[str(flag) for flag in flags]],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
        )  # fmt: skip

    def report(self, folder, *flags):
        done = subprocess.run(
            [DRIFTLESS, "report", str(folder), *flags], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def check_prefix(self, folder, live=False):
        """Every complete line is JSON, no row has two records; returns the rows with a record.
        A live run may write further ones before the report looks."""
        rows = [record["row"] for record in read_jsonl(folder / "requests.jsonl", whole=False)]
        self.assertEqual(len(rows), len(set(rows)), "a row has two records")
        for name in ("fired.jsonl", "client.jsonl", "periods.jsonl"):
            read_jsonl(folder / name, whole=False)
        report = json.loads(self.report(folder, "--json").stdout)
        self.assertGreaterEqual(report["num_prompts"], len(rows))
        if not live:
            self.assertEqual(report["num_prompts"], len(rows))
        return set(rows)

    def check_whole(self, folder, rows):
        """All rows, once each; the summary is that of the files."""
        records = read_jsonl(folder / "requests.jsonl")
        self.assertEqual(sorted(record["row"] for record in records), list(range(rows)))
        summary = (folder / "summary.json").read_text()
        self.assertEqual(self.report(folder, "--json").stdout, summary)
        self.assertIsNone(json.loads(summary)["unfinished"])
        end = json.loads((folder / "run.json").read_text())["end"]
        self.assertEqual(end["records"], rows)
        return records

    def test_report_of_a_run_that_ended(self):
        """Table and JSON are those of the run, to the byte."""
        with mock("--ttft", "5ms", "--itl", "1ms", "--fault", "500:0.1") as server:
            run = self.replay(
                SAMPLE, "--url", server.url, "--speed", 20, "--goodput", "ttft:100", "--label",
                "a=b", "--max-inflight", 50, "--no-preflight", "--model", "mock-model",
            )  # fmt: skip
        table = run.said[run.said.index("====") : run.said.index("files:")]
        done = self.report(run.folder)
        self.assertEqual(done.stdout, table)
        self.assertEqual(done.stderr, "")
        summary = (run.folder / "summary.json").read_text()
        self.assertEqual(self.report(run.folder, "--json").stdout, summary)

    def test_report_of_a_run_that_was_killed(self):
        """A torn last line is left out and left alone; what is missing is counted."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 2)
            time.sleep(1.2)  # two flushes
            live = self.report(folder)
            self.kill(process)
        self.assertIn("is still running", live.stderr)
        rows = self.check_prefix(folder)
        records = folder / "requests.jsonl"
        torn = records.read_text() + '{"row":239,"sess'
        records.write_text(torn)
        done = self.report(folder)
        self.assertEqual(records.read_text(), torn)
        self.assertIn("was killed", done.stderr)
        self.assertIn(f"{240 - len(rows)} of 240 rows have no record", done.stderr)
        self.assertIn("16 bytes of unfinished last lines", done.stderr)
        self.assertIn("rows without a record", done.stdout)
        self.assertFalse((folder / "summary.json").exists())

    def test_report_knows_what_no_file_tells_of(self):
        """Up to half a second of rows is in no file when a run is killed. They are lost, and
        counted: by the run's marks. Without those nobody knows how many, and it is no certificate."""
        log = self.scratch / "asked.jsonl"
        with mock("--ttft", "1ms", "--itl", "0ms", "--log", log) as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 2)
            while not (folder / "fired.jsonl").exists() or not read_jsonl(
                folder / "fired.jsonl", whole=False
            ):
                time.sleep(0.01)
            time.sleep(0.4)
            self.kill(process)
        arrived = len(self.asked_for(log))
        rows = self.check_prefix(folder)
        told = len({one["row"] for one in read_jsonl(folder / "fired.jsonl", whole=False)} | rows)
        self.assertLess(told, arrived, "the files tell of all: killed too early or too late")
        report = json.loads(self.report(folder, "--json").stdout)
        self.assertGreaterEqual(len(rows) + report["unfinished"]["rows_left"], arrived)
        self.assertLessEqual(len(rows) + report["unfinished"]["rows_left"], arrived + 2)
        run_id = json.loads((folder / "run.json").read_text())["segments"][-1]["run_id"]
        pathlib.Path("/dev/shm", f"driftless-{run_id}").unlink()
        blind = self.report(folder)
        self.assertIn("at least", blind.stdout)
        # A busy machine's reasons may crowd it off the screen.
        reasons = json.loads(self.report(folder, "--json").stdout)["verdict"]["reasons"]
        self.assertIn("its marks in shared memory are gone", " ".join(reasons))

    def test_what_cannot_be_certified_is_refused_before_it_goes_on(self):
        """A run keeps the calibration that it began with: without one, or with one of another host,
        --require-certified is refused at once, and the run is as it was."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4)
            self.kill(process)
            facts = folder / "run.json"
            without = facts.read_text()
            records = (folder / "requests.jsonl").read_bytes()
            said = [self.again("--resume", folder, "--require-certified")]
            moved = json.loads(without)
            moved["calibration"].update(date="2026-11-21T03:45:12Z", why_not=None)
            moved["host"]["kernel"] = "Linux 2.2.1"
            facts.write_text(json.dumps(moved))
            said.append(self.again("--resume", folder, "--require-certified"))
            facts.write_text(without)
            self.assertEqual((folder / "requests.jsonl").read_bytes(), records)
            self.assertEqual(self.again("--resume", folder).returncode, 0)
        self.assertEqual([one.returncode for one in said], [USAGE, USAGE], said)
        self.assertIn(f"--resume {folder} --require-certified: the run has no calibration "
                      "(--calibration none), so it cannot be certified", said[0].stderr)
        self.assertIn("its calibration was made under Linux 2.2.1, this is Linux", said[1].stderr)
        self.check_whole(folder, 240)

    def test_a_template_that_has_changed(self):
        """The rest of a run is not sent in another shape than its beginning."""
        form = self.scratch / "form.json"
        text = (SAMPLE.parent / "templates" / "llamacpp.json").read_text()
        form.write_text(text)
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 5, "--api", "template", "--template", form
            )
            self.kill(process)
            form.write_text(text.replace('"cache_prompt": true', '"cache_prompt": false'))
            done = self.again("--resume", folder)
            self.assertEqual(done.returncode, INPUT, done.stderr)
            self.assertIn(f"{form} has changed", done.stderr)
            form.write_text(text)
            self.assertEqual(self.again("--resume", folder, "--limit", 1).returncode, USAGE)
            self.assertEqual(self.again("--resume", folder).returncode, 0)
        self.check_whole(folder, 240)

    def test_a_dataset_that_has_changed(self):
        """The digest of the prompts is not known of a killed run: the text that they were cut from
        must be the same."""
        trace = self.write(
            "plain.csv",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n"
            + "".join(f"2024-05-10 00:00:{s:02}.0000000,40,3\n" for s in range(20)),
        )
        texts = [json.dumps({"text": f"chapter {i} of a book on rain and hills"}) for i in range(300)]
        dataset = self.write("texts.jsonl", "\n".join(texts))
        flags = ("--speed", 4, "--dataset", dataset, "--tokenizer", TOKENIZERS / "llama3.json")
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(
                trace, "--url", server.url, "--no-preflight", "--model", "mock-model", *flags
            )
            self.kill(process)
            before = (folder / "run.json").read_bytes()
            dataset.write_text("\n".join(reversed(texts)))
            done = self.again("--resume", folder)
            self.assertEqual(done.returncode, INPUT, done.stderr)
            self.assertIn("--resume: the texts in --dataset differ", done.stderr)
            self.assertEqual((folder / "run.json").read_bytes(), before)
            dataset.write_text("\n".join(texts))
            self.assertEqual(self.again("--resume", folder).returncode, 0)
        self.check_whole(folder, 20)

    def test_from_a_run_that_was_killed(self):
        """It knows no digest of its prompts; another seed is refused all the same, and --resume
        with another salt. --from may have one: the same workload on a cache that knows none."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            flags = ("--url", server.url, "--speed", 20, "--seed", 5, "--cache-salt", "a")
            process, folder = self.start(SAMPLE, *flags)
            self.kill(process)
            run = self.replay("--from", folder, "--seed", 6)
            self.assertEqual(run.code, INPUT)
            self.assertIn("the run had --seed 5, not 6", run.complained)
            self.assertFalse(run.folder.exists())
            resumed = self.again("--resume", folder, "--cache-salt", "b")
            self.assertEqual(resumed.returncode, 2)
            self.assertIn("--cache-salt", resumed.stderr)
            self.replay_well("--from", folder, "--cache-salt", "b")
            self.replay_well("--from", folder)

    def test_report_names_the_line(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 50)
        records = run.folder / "requests.jsonl"
        lines = records.read_text().split("\n")
        for broken, problem in (("{}", "row is missing"), (lines[0], "already has a record")):
            records.write_text("\n".join([*lines[:6], broken, *lines[7:]]))
            done = subprocess.run(
                [DRIFTLESS, "report", str(run.folder)], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, INPUT)
            self.assertIn("requests.jsonl:7: ", done.stderr)
            self.assertIn(problem, done.stderr)

    def test_report_reads_files_and_prints_all(self):
        """A FIFO would make it wait for ever; a screen that is full has not been printed to."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 50, "--limit", 20)
        command = [DRIFTLESS, "report", str(run.folder)]
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)  # fmt: skip
        self.assertEqual(done.returncode, HOST)
        self.assertIn("standard output could not be written", done.stderr)
        for name, code in (("requests.jsonl", INPUT), ("fired.jsonl", INPUT), ("run.json", USAGE)):
            whole = run.folder / name
            whole.rename(run.folder / "aside")
            os.mkfifo(whole)
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(f"{name}: is not a regular file", done.stderr)
            (run.folder / "aside").rename(whole)
        self.report(run.folder)

    def test_killed_again_and_again(self):
        """Every prefix can be read, and in the end each row has one record, in its segment."""
        moments = random.Random(20261121)
        kills = 0
        with mock("--ttft", "20ms", "--itl", "2ms") as server:
            whole = self.replay_well(SAMPLE, "--url", server.url, "--dry-run")
            process, folder = self.start(SAMPLE, "--url", server.url)
            while True:  # at most 12 s of trace, of which each turn takes a part
                time.sleep(moments.uniform(0, 0.8))
                if len(read_jsonl(folder / "requests.jsonl", whole=False)) < 240:
                    self.kill(process)
                process.wait(60)  # with all records it is about to end: nothing is left to resume
                if process.returncode == 0:
                    break
                kills += 1
                before = self.check_prefix(folder)
                torn = folder / "requests.jsonl"
                torn.write_text(torn.read_text() + '{"row":2')
                command = [DRIFTLESS, "replay", "--resume", str(folder)]
                fired = (folder / "fired.jsonl").stat().st_size
                process = self.launch(command, folder, until=None)
                # Until another row leaves, or all had left before and it ends.
                while process.poll() is None and (folder / "fired.jsonl").stat().st_size == fired:
                    time.sleep(0.005)
                self.assertLessEqual(before, self.check_prefix(folder, live=True), "a record is gone")
        self.assertGreater(kills, 3)
        records = self.check_whole(folder, 240)
        plan = self.read_plan(folder)
        self.assertEqual(plan["prompts_digest"], self.read_plan(whole.folder)["prompts_digest"])
        first = self.sample_rows()[0]["timestamp"]
        segments = set()
        for record in records:
            due_ns = (self.sample_rows()[record["row"]]["timestamp"] - first) * 1_000_000
            self.assertEqual(record["due_ns"], due_ns)
            if record["outcome"] == "ok":
                self.assertGreaterEqual(record["drift_ns"], 0)
                segments.add(record["segment"])
            else:
                self.assertEqual(record["outcome"], "interrupted")
        self.assertGreater(len(segments), 2)
        self.assertLessEqual(max(segments), kills)

    def read_plan(self, folder):
        return json.loads((folder / "run.json").read_text())["plan"]

    def test_sends_nothing_twice_unasked(self):
        """By the server's own log: a row is asked for once; with --resend, again under a new name."""
        for resend in ((), ("--resend",)):
            log = self.scratch / f"asked{len(resend)}.jsonl"
            with mock("--ttft", "300ms", "--itl", "1ms", "--log", log) as server:
                process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4)
                time.sleep(0.7)
                self.kill(process)
                done = self.again("--resume", folder, *resend)
            self.assertEqual(done.returncode, 0, done.stderr)
            outcomes = collections.Counter(r["outcome"] for r in self.check_whole(folder, 240))
            asked = [line["request_id"] for line in read_jsonl(log) if "row" in self.kind_of(line)]
            names = collections.Counter(asked)
            self.assertEqual(max(names.values()), 1, "two requests had one name")
            rows = collections.Counter(row_of(name) for name in asked)
            if resend:
                self.assertEqual(outcomes, {"ok": 240})
                self.assertGreater(max(rows.values()), 1)
            else:
                self.assertGreater(outcomes["interrupted"], 0)
                self.assertEqual(max(rows.values()), 1, "a row was sent twice")

    def test_resend_holds_for_one_resumption(self):
        """Rows that it had not sent again when it was killed are not sent by the next one."""
        log = self.scratch / "asked.jsonl"
        with mock("--ttft", "300ms", "--itl", "1ms", "--log", log) as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4)
            time.sleep(0.7)
            self.kill(process)
            resume = [DRIFTLESS, "replay", "--resume", str(folder)]
            self.kill(self.launch([*resume, "--resend"], folder))
            done = self.again("--resume", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole(folder, 240)
        segments = json.loads((folder / "run.json").read_text())["segments"]
        names = {line["request_id"] or "" for line in read_jsonl(log)}
        asked = [{row_of(n) for n in names if n.startswith(s["run_id"])} - {None} for s in segments]
        self.assertGreater(len(asked[0] & asked[1]), 0, "nothing was sent again")
        self.assertEqual((asked[0] | asked[1]) & asked[2], set(), "rows were sent again unasked")

    def asked_for(self, log):
        """How often the server was asked for each row."""
        names = [line["request_id"] or "" for line in read_jsonl(log)]
        return collections.Counter(row_of(name) for name in names if row_of(name) is not None)

    def kill_on_a_hung_disk(self, server, *flags):
        """A run that is killed when its disk has taken nothing for two seconds; its folder."""
        disk = self.scratch / "disk-works"
        disk.touch()
        hung = {
            **os.environ,
            "LD_PRELOAD": os.environ["HUNG_DISK_LIBRARY"],
            "HUNG_DISK": str(disk),
            "ASAN_OPTIONS": "verify_asan_link_order=0",
        }
        command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 2, *flags)
        process = self.launch(command, folder, env=hung)
        disk.unlink()
        time.sleep(2.5)  # rows go on leaving
        self.kill(process)
        return folder

    def test_killed_while_its_disk_hung(self):
        """What had left is known though nothing could be written of it: no row reaches the server
        twice, and rows that had not left are not given up."""
        log = self.scratch / "asked.jsonl"
        with mock("--ttft", "5ms", "--itl", "1ms", "--log", log) as server:
            folder = self.kill_on_a_hung_disk(server)
            before = self.asked_for(log)
            unseen = before.keys() - {line["row"] for line in read_jsonl(folder / "fired.jsonl")}
            self.assertGreater(len(unseen), 20, "the disk hung for too short: the test shows nothing")
            done = self.again("--resume", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("or may have", done.stdout)
        records = self.check_whole(folder, 240)
        lost = {r["row"] for r in records if r["outcome"] == "interrupted"}
        self.assertLessEqual(unseen, lost)
        asked = self.asked_for(log)
        self.assertLessEqual(lost, asked.keys(), "a row that had not left was given up")
        self.assertEqual(max(asked.values()), 1, "a row was sent twice")
        self.assertEqual(self.marks_of(folder), [])
        # Rows whose instants are lost are not among the fired ones: the screen says how many.
        unknown = sum(r["fired_ns"] is None for r in records)
        summary = json.loads((folder / "summary.json").read_text())
        self.assertEqual(summary["fired"] + unknown, 240)
        text = "may have been sent; its instant is lost"
        self.assertEqual([one["rows"] for one in summary["errors"] if one["error"] == text], [unknown])
        self.assertIn(f"{unknown} rows, interrupted: {text}", " ".join(done.stdout.split()))

    def marks_of(self, folder):
        """The names of what the run has left in shared memory."""
        segments = json.loads((folder / "run.json").read_text())["segments"]
        paths = [pathlib.Path("/dev/shm") / f"driftless-{s['run_id']}" for s in segments]
        return [path for path in paths if path.exists()]

    def test_marks_are_gone(self):
        """As after the end of the host: what may have left is guessed at, and told so."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 5)
            self.kill(process)
            marks = self.marks_of(folder)
            self.assertEqual(len(marks), 1)
            marks[0].unlink()
            done = self.again("--resume", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("marks in shared memory are gone", done.stdout)
        self.assertIn("were sent, or may have been, without a record, and are interrupted", done.stdout)
        self.check_whole(folder, 240)
        self.assertEqual(self.marks_of(folder), [])

    def test_marks_of_all_segments_are_removed(self):
        """A kill right after run.json has the new segment leaves the marks of the one before."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4)
            self.kill(process)
            first = self.marks_of(folder)[0]
            process = self.launch([DRIFTLESS, "replay", "--resume", str(folder)], folder)
            self.kill(process)
            self.assertNotIn(first, self.marks_of(folder))
            first.touch()
            self.addCleanup(first.unlink, missing_ok=True)
            self.assertEqual(len(self.marks_of(folder)), 2)
            done = self.again("--resume", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.marks_of(folder), [])

    @staticmethod
    def kind_of(line):
        name = line.get("request_id") or ""
        return "row" if row_of(name) is not None else "probe"

    def test_killed_when_all_had_left(self):
        with mock("--ttft", "60s", "--itl", "1ms") as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 50, "--no-preflight", "--model", "mock-model"
            )
            time.sleep(1.5)
            self.kill(process)
            server.process.kill()
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done = self.again("--resume", folder, "--url", server.url)
        self.assertEqual(done.returncode, 5, done.stderr)  # no request succeeded
        outcomes = {record["outcome"] for record in self.check_whole(folder, 240)}
        self.assertEqual(outcomes, {"interrupted"})

    def test_killed_before_its_summary(self):
        """Every row has its record, and nobody had summed up."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 50)
            file = run.folder / "run.json"
            facts = json.loads(file.read_text())
            file.write_text(json.dumps({**facts, "end": None}))
            (run.folder / "summary.json").unlink()
            self.assertIn("ended before it wrote its summary", self.report(run.folder).stderr)
            done = self.again("--resume", run.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("240 of 240 rows have a record", done.stdout)
        records = self.check_whole(run.folder, 240)
        self.assertEqual({record["segment"] for record in records}, {0})

    def test_resume_refuses(self):
        """A run that ended, goes on, or would be another; nothing is changed."""
        trace = self.write("trace.jsonl", SAMPLE.read_text())
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            ended = self.replay_well(trace, "--url", server.url, "--speed", 50)
            process, folder = self.start(trace, "--url", server.url, "--header", "X-Priority: high")
            before = (folder / "run.json").read_bytes()
            for refused, words, code in (
                (("--resume", ended.folder), "each of its 240 rows has a record", USAGE),
                (("--resume", folder), "still writing the run", USAGE),
                (("--resume", folder, "--speed", 2), "--speed: --resume continues with", USAGE),
                (("--resume", folder, "--header", "X-Priority: low"), "--header X-Priority: --resume continues with", USAGE),
                (("--resume", folder, "--header", "X-New: c"), "--header X-New: --resume continues with", USAGE),
                (("--resume", self.scratch), "it has no run.json", USAGE),
                (("--resume", folder, "--from", folder), "use only one", USAGE),
                (("--resend", SAMPLE, "--url", server.url), "requires --resume", USAGE),
            ):
                done = self.again(*refused)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.returncode, code, done.stderr)
            self.kill(process)
            records = (folder / "requests.jsonl").read_bytes()
            trace.write_text(SAMPLE.read_text().replace('"output_length": ', '"output_length": 1'))
            done = self.again("--resume", folder)
            self.assertEqual(done.returncode, INPUT)
            self.assertIn("give the one that the run read", done.stderr)
            self.assertEqual((folder / "requests.jsonl").read_bytes(), records)
            self.assertEqual((folder / "run.json").read_bytes(), before)
            strange = records.replace(b'"row":0,', b'"row":240,', 1)  # of another run
            (folder / "requests.jsonl").write_bytes(strange)
            done = self.again(SAMPLE, "--resume", folder)
            self.assertEqual(done.returncode, INPUT, done.stderr)
            self.assertIn("requests.jsonl:2: row is out of range; restore the line or remove it", done.stderr)
            self.assertEqual((folder / "requests.jsonl").read_bytes(), strange)
            (folder / "requests.jsonl").write_bytes(records)
            done = self.again(SAMPLE, "--resume", folder)  # the trace has moved
            self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole(folder, 240)

    def test_from_repeats(self):
        """The same schedule and prompts under a new folder; a difference is refused by name."""
        trace = self.write("trace.jsonl", SAMPLE.read_text())
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            flags = ("--url", server.url, "--speed", 50, "--seed", 5, "--cache-salt", "random")
            first = self.replay_well(trace, *flags)
            again = self.replay_well("--from", first.folder)
            self.assertEqual(self.read_plan(again.folder), self.read_plan(first.folder))
            for other, words in (
                (("--seed", 6), "the prompts differ"),
                (("--speed", 49), "the due instants differ"),
                (("--limit", 5), "the due instants differ"),
                (("--overhead", "1,0"), "--overhead 0,0 makes the same prompts"),
            ):
                run = self.replay("--from", first.folder, *other)
                self.assertEqual(run.code, INPUT)
                self.assertIn(words, run.complained)
                self.assertFalse(run.folder.exists())
            trace.write_text(SAMPLE.read_text() + "\n")
            run = self.replay("--from", first.folder)
            self.assertIn("the rows in the trace differ", run.complained)
            shutil.rmtree(first.folder)
            self.assertEqual(self.replay("--from", first.folder).code, USAGE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
