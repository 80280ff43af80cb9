"""driftless find: the knee of a server whose places are known, bad input, and Ctrl-C."""

import json
import pathlib
import re
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SECONDS_MAX, mock, send_signal
from page_file import Page

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "cmd/runs/find.schema.json"
PLACES = 8
USAGE, INPUT, PREFLIGHT, SPOILED, HOST, THRESHOLD, INTERRUPTED = 2, 3, 4, 6, 7, 8, 130


def check(test, value, schema, where="find.json"):
    """The parts of JSON Schema that find.schema.json uses."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
             "number": (int, float), "null": type(None)}  # fmt: skip
    if "enum" in schema:
        test.assertIn(value, schema["enum"], where)
    elif "type" in schema:
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        test.assertIsInstance(value, tuple(kinds[kind] for kind in wanted), where)
    if isinstance(value, dict):
        test.assertEqual(list(value), schema["required"], where)
        test.assertEqual(set(value), set(schema["properties"]), where)
        for key, one in value.items():
            check(test, one, schema["properties"][key], f"{where}.{key}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            check(test, one, schema["items"], f"{where}[{i}]")


class Find(Case):
    def trace(self, rows=72, output=20):
        """Rows that share nothing, 10 ms apart."""
        lines = [
            json.dumps({"timestamp": 10 * i, "input_length": 64, "output_length": output, "hash_ids": [i]})
            for i in range(rows)
        ]
        return self.write("trace.jsonl", "\n".join(lines) + "\n")

    def find_command(self, *flags):
        return [DRIFTLESS, "find", *(str(flag) for flag in flags)]

    def find(self, *flags):
        return subprocess.run(self.find_command(*flags), capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)  # fmt: skip

    def found(self, out):
        found = json.loads((out / "find.json").read_text())
        check(self, found, json.loads(SCHEMA.read_text()))
        return found

    def test_finds_the_places_of_a_server(self):
        """Eight places, a second each: of nine open requests one always waits, some for a second."""
        out = self.scratch / "found"
        with mock("--ttft", "1ms", "--itl", "50ms", "--slots", PLACES) as server:
            done = self.find(self.trace(30), "--url", server.url, "--slo", "ttft:max<500ms", "--over",
                             "concurrency", "--low", 4, "--high", 16, "--replicates", 1, "--out", out, "--",
                             "--calibration", "none")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = self.found(out)
        self.assertEqual((found["pass"], found["fail"]), (PLACES, PLACES + 1), done.stdout)
        self.assertLessEqual(found["low"], PLACES)
        self.assertGreater(found["high"], PLACES)
        self.assertEqual((found["binds"], found["state"]), ("ttft:max<500ms", "found"))
        self.assertIn("ttft:max<500ms", done.stdout)
        salts, digests = set(), {}
        for probe in found["probes"]:  # each is an ordinary run
            run = json.loads((out / probe["run"] / "run.json").read_text())
            summary = json.loads((out / probe["run"] / "summary.json").read_text())
            self.assertEqual(probe["verdict"], summary["verdict"]["name"])
            self.assertEqual(summary["cache"]["cached_tokens"], 0)  # no probe warms the next one
            self.assertEqual(probe["slos"][0]["value"], summary["max_ttft_ms"])
            salts.add(run["plan"]["cache_salt"])
            self.assertEqual(run["plan"]["seed"], probe["seed"])
        self.assertEqual(len(salts), len(found["probes"]))
        self.assertTrue(done.stdout.endswith(f"page: {out}/find.html\n"), done.stdout)
        page = Page(out / "find.html")
        self.assertEqual((page.policy["default-src"], [one for one in page.refers if one != "data:,"]), (["'none'"], []))
        self.assertEqual([(one["run"], one["link"], one["load"], one["outcome"], one["figures"][0]["value"])
                          for one in page.data["points"]],
                         [(one["run"], f"{one['run']}/report.html", one["value"], one["outcome"],
                           one["slos"][0]["value"]) for one in found["probes"]])  # fmt: skip
        self.assertEqual(page.data["knee"], {key: found[key] for key in ("low", "pass", "fail", "high")})
        self.assertEqual([one["bound"] for one in page.data["limits"]], [500, 0.01])
        for point in page.data["points"]:
            self.assertTrue((out / point["link"]).is_file())
        report = subprocess.run([DRIFTLESS, "report", out / found["probes"][0]["run"]],
                                capture_output=True, text=True)  # fmt: skip
        self.assertEqual(report.returncode, 0, report.stderr)
        again = self.find(self.trace(), "--url", server.url, "--slo", "ttft:p90<1s", "--over", "rate",
                          "--out", out)  # fmt: skip
        self.assertEqual(again.returncode, USAGE)
        self.assertIn("found", again.stderr)

    def test_begins_near_what_a_closed_loop_gets(self):
        """Eight places, 91 ms each: a closed loop gets 88 a second. A first probe that was typed needs
        none; a server that fails everything, or answers too slowly, says nothing."""
        def find(name, *flags, server=(), replay=()):
            out = self.scratch / name
            with mock("--ttft", "1ms", "--itl", "10ms", "--slots", PLACES, *server) as running:
                done = self.find(self.trace(400, output=10), "--url", running.url, "--slo", "ttft:p90<1s",
                                 "--over", "rate", "--replicates", 0, "--tolerance", "100%", "--out", out, *flags,
                                 "--", "--calibration=none", "--duration", "2s", *replay)  # fmt: skip
            return done, self.found(out)

        done, found = find("near", replay=("--arrivals", "constant"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(60 < found["saturated"] <= 89, found["saturated"])
        self.assertAlmostEqual(found["probes"][0]["value"], 0.8 * found["saturated"], delta=0.1)
        self.assertEqual(len([line for line in done.stderr.splitlines() if line.startswith("find: probe ")]),
                         len(found["probes"]))  # fmt: skip
        self.assertIn(f"; next {found['probes'][1]['value']:g} (", done.stderr)
        self.assertIn("(client at most ", done.stderr)
        figure = Page(self.scratch / "near" / "find.html").data["points"][0]["figures"][0]
        self.assertEqual([figure[key] for key in ("value", "below", "above")],
                         [found["probes"][0]["slos"][0][key] for key in ("value", "client_below", "client_above")])
        self.assertLess(figure["below"] + figure["above"], 1000)
        done, found = find("typed", "--start-at", 100, "--quiet")
        self.assertEqual((found["saturated"], found["probes"][0]["value"]), (None, 100))
        self.assertEqual(done.stderr, "")
        done, found = find("fails", "--high", 400, "--low", 40, server=("--fault", "500:1"),
                           replay=("--no-preflight", "--model", "mock-model"))  # fmt: skip
        self.assertEqual(done.returncode, THRESHOLD, done.stdout + done.stderr)
        self.assertEqual((found["saturated"], found["probes"][0]["value"]), (None, 126))
        self.assertIn("too few answers", done.stderr)

    def test_ends_at_its_bounds(self):
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            def find(slo, name):
                out = self.scratch / name
                done = self.find(self.trace(output=2), "--url", server.url, "--slo", slo, "--over", "rate",
                                 "--low", 200, "--high", 400, "--out", out, "--", "--calibration", "none")
                return done, self.found(out)  # fmt: skip

            done, found = find("ttft:p90<10ms", "none")
            self.assertEqual(done.returncode, THRESHOLD, done.stderr)
            self.assertEqual((found["pass"], found["fail"], found["state"]), (None, 200, "lowest-fails"))
            done, found = find("ttft:p90<5s", "all")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((found["pass"], found["fail"], found["binds"]), (400, None, None))

    def test_a_probe_is_long_enough(self):
        """A window grows until a percentile has its values; a trace that is too short is refused."""
        flags = ("--low", 200, "--high", 200, "--replicates", 0)
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            out = self.scratch / "grown"
            done = self.find(self.trace(400, 2), "--url", server.url, "--slo", "ttft:p90<5s", "--over", "rate",
                             *flags, "--out", out, "--", "--calibration", "none", "--duration", "0.1s")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertGreaterEqual(self.found(out)["probes"][-1]["rows"], 64)
            self.assertIn("too few", done.stderr)
            out = self.scratch / "short"
            done = self.find(self.trace(40, 2), "--url", server.url, "--slo", "ttft:p90<5s", "--over", "rate",
                             *flags, "--out", out)
            self.assertEqual(done.returncode, USAGE)
            found = self.found(out)
            self.assertEqual((found["probes"], found["state"]), ([], "stopped"))
            self.assertIn("needs 64 requests; the probe at 200 has 40", done.stderr)
            self.assertIn("add -- --replicate rows:64,", done.stderr)
        # Refused before anything is sent: nobody listens there.
        done = self.find(self.trace(40, 2), "--url", "http://127.0.0.1:9", "--slo", "ttft:p90<5s", "--over", "rate",
                         "--out", self.scratch / "early")  # fmt: skip
        self.assertEqual(done.returncode, USAGE, done.stderr)

    def test_throws_away_what_the_client_spoiled(self):
        """No row can leave within 1 us: each probe is spoiled, and is tried so often. A count of failed
        rows has no bar; a TTFT has, and so have good rows, and it does not reach 5 s."""
        calibration = self.lenient_calibration()[:2]
        flags = ("--over", "rate", "--low", 400, "--high", 400, "--tries", 2)
        replay = ("--", *calibration, "--certify-within", "1us", "--goodput", "ttft:5000")
        out = self.scratch / "spoiled"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done = self.find(self.trace(output=2), "--url", server.url, "--slo", "failed<5", *flags,
                             "--out", out, *replay)
            kept = self.find(self.trace(output=2), "--url", server.url, "--slo", "ttft:p90<5s good>90%",
                             *flags, "--out", self.scratch / "kept", *replay)
        self.assertEqual(kept.returncode, 0, kept.stdout + kept.stderr)
        self.assertIn("which cannot have changed that", kept.stderr)
        self.assertEqual(done.returncode, SPOILED, done.stdout + done.stderr)
        found = self.found(out)
        self.assertEqual([probe["meets"] for probe in found["probes"]], [None, None])
        self.assertEqual((found["state"], found["pass"], found["fail"]), ("spoiled", None, None))
        self.assertIn("-- --calibration none", done.stdout)

    def test_ctrl_c_ends_the_probe_and_says_the_state(self):
        out = self.scratch / "stopped"
        with mock("--ttft", "1ms", "--itl", "20ms") as server:
            command = self.find_command(
                self.trace(output=50), "--url", server.url, "--slo", "ttft:p90<5s", "--over", "concurrency",
                "--out", out, "--", "--calibration", "none", "--grace", "0s")  # fmt: skip
            process = self.launch(command, out / "01-concurrency-1")
            begun = time.monotonic()
            send_signal(process, signal.SIGINT)
            said, complained = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, INTERRUPTED, said + complained)
        self.assertLess(time.monotonic() - begun, 20)
        found = self.found(out)
        self.assertEqual((found["state"], found["pass"], found["fail"]), ("interrupted", None, None))
        self.assertIn("interrupted in the probe of 01-concurrency-1", said)
        run = json.loads((out / "01-concurrency-1" / "run.json").read_text())
        self.assertEqual(run["end"]["exit_code"], INTERRUPTED)

    def marks(self, out):
        """What the runs of a search hold in shared memory."""
        ids = {one for path in out.glob("*/run.json")
               for one in re.findall(r'"run_id":"([0-9a-f]{8})"', path.read_text())}  # fmt: skip
        return [one for one in ids if pathlib.Path(f"/dev/shm/driftless-{one}").exists()]

    def test_goes_on_after_a_kill(self):
        """Killed in its third probe: the first two count as they were, the third is played anew, and the
        search asks for what an unbroken one asks for. It goes to the folder in which it began."""
        self.trace(30, output=10)
        out = self.scratch / "killed"
        with mock("--ttft", "1ms", "--itl", "50ms", "--slots", PLACES) as server:
            command = self.find_command(
                "trace.jsonl", "--url", server.url, "--slo", "ttft:max<220ms", "--over", "concurrency",
                "--low", 4, "--high", 16, "--replicates", 1, "--out", "killed", "--",
                "--calibration", "none")  # fmt: skip
            process = self.launch(command, out / "03-concurrency-12", cwd=self.scratch)
            process.kill()
            process.wait()
            before = self.found(out)
            self.assertEqual(before["state"], "searching")
            self.assertEqual([probe["value"] for probe in before["probes"]], [8, 16])
            inodes = [(out / probe["run"] / "requests.jsonl").stat().st_ino for probe in before["probes"]]
            self.assertEqual(len(self.marks(out)), 1)
            busy = subprocess.run(self.find_command("--resume", out, "--seed", 1), capture_output=True, text=True)
            self.assertEqual(busy.returncode, USAGE)
            self.assertIn("remove everything else", busy.stderr)
            done = subprocess.run(self.find_command("--resume", "killed"), capture_output=True, text=True,
                                  timeout=SECONDS_MAX, cwd=self.scratch, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        after = self.found(out)
        self.assertEqual(after["probes"][:2], before["probes"])
        for probe, inode in zip(after["probes"], inodes):  # not played again
            self.assertEqual((out / probe["run"] / "requests.jsonl").stat().st_ino, inode)
        asked = [(probe["value"], probe["seed"], probe["meets"]) for probe in after["probes"]]
        self.assertEqual(asked, [(8, 0, True), (16, 0, False), (12, 0, False), (10, 0, False), (9, 0, False),
                                 (7, 0, True), (8, 1, True), (9, 1, False)])  # fmt: skip
        self.assertEqual((after["pass"], after["fail"], after["low"], after["high"]), (8, 9, 8, 9))
        self.assertEqual((after["state"], after["binds"], after["why"]), ("found", "ttft:max<220ms", None))
        self.assertGreater(after["seconds"], before["seconds"])
        cut = "03-concurrency-12.cut-1"
        self.assertEqual([probe["cut"] for probe in after["probes"]], [[], [], [cut]] + [[]] * 5)
        self.assertIsNone(json.loads((out / cut / "run.json").read_text())["end"])
        self.assertEqual(self.marks(out), [])
        salts = [json.loads((out / name / "run.json").read_text())["plan"]["cache_salt"]
                 for name in (cut, "03-concurrency-12")]  # fmt: skip
        self.assertNotEqual(*salts)  # the server has the prompts of the try that was cut off

        again = self.find("--resume", out)  # all is found: nothing is played, no server is needed
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.found(out)["probes"], after["probes"])
        text = (out / "find.json").read_text()
        (out / "find.json").write_text(text.replace('"value":12,', '"value":13,', 1))
        other = self.find("--resume", out)
        self.assertEqual(other.returncode, INPUT)
        self.assertIn("has probes that do not match its command; start a new search", other.stderr)
        (out / "find.json").write_text(text)
        self.trace(31, output=10)
        changed = self.find("--resume", out)
        self.assertEqual(changed.returncode, INPUT)
        self.assertIn("trace.jsonl has changed since the start", changed.stderr)
        self.assertEqual(self.found(out)["probes"], after["probes"])

    def test_resume_refuses(self):
        done = self.find("--resume", self.scratch)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("has no find.json; name one that has", done.stderr)
        for text, said in (("{", "is not JSON"), ('{"schema":1}', "was written by another version of "
            "driftless; use that one"),
                           ('{"schema":3,"command":["-h"],"probes":[]}', "has an invalid command: "),
                           ('{"schema":3,"probes":[{}]}', "an unreadable probe: number 1")):  # fmt: skip
            self.write("find.json", text)
            done = self.find("--resume", self.scratch)
            self.assertEqual(done.returncode, INPUT, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_disk_that_is_full(self):
        """What a probe said stands on standard error where find.json cannot have it."""
        out = self.scratch / "full"
        with mock("--ttft", "1ms", "--itl", "20ms") as server:
            command = self.find_command(
                self.trace(output=20), "--url", server.url, "--slo", "ttft:p90<5s", "--over", "concurrency",
                "--out", out, "--", "--calibration", "none")  # fmt: skip
            process = self.launch(command, out / "01-concurrency-1")
            (out / "find.json.new").mkdir()  # it cannot be written any more
            said, complained = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, HOST, said + complained)
        self.assertIn("find: probe 1   concurrency 1: meets (72 requests", complained)

    def test_bad_input(self):
        trace = self.trace()
        url = ("--url", "http://127.0.0.1:9")
        slo = ("--slo", "ttft:p90<1s")
        for flags, said in (
            ((trace, *url, *slo), "--over is missing"),
            ((trace, *url, "--over", "rate"), "--slo is missing"),
            ((trace, *slo, "--over", "rate"), "--url is missing"),
            ((*url, *slo, "--over", "rate"), "no trace is given"),
            ((trace, *url, *slo, "--over", "qps"), '--over "qps" is not a load'),
            ((trace, *url, "--slo", "fast", "--over", "rate"), '--slo "fast" has no comparison'),
            ((trace, *url, "--slo", "ttft:p99>2s", "--over", "rate"), "wrong way round"),
            ((trace, *url, "--slo", "ttft:p99<2", "--over", "rate"), "unit"),
            ((trace, *url, *slo, "--over", "rate", "--low", 0), '--low "0" is not a load'),
            ((trace, *url, *slo, "--over", "rate", "--low", 5, "--high", 4), "--low 5 is above --high 4"),
            ((trace, *url, *slo, "--over", "users", "--high", 4.5), "--high 4.5 is not a whole number"),
            ((trace, *url, *slo, "--over", "rate", "--", "--rate", 4), "--rate after --"),
            ((trace, "--url", "http://me:word@a", *slo, "--over", "rate"), "a key in a flag would be "
                "visible in find.json"),
        ):
            done = self.find(*flags)
            self.assertEqual(done.returncode, USAGE, flags)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_what_replay_refuses(self):
        """Its exit code and its reason are those of the search."""
        def find(name, *flags):
            return self.find("--url", "http://127.0.0.1:9", "--slo", "ttft:p90<1s", "--over", "rate",
                             "--out", self.scratch / name, *flags)  # fmt: skip

        done = find("server", self.trace())
        self.assertEqual(done.returncode, PREFLIGHT, done.stderr)
        self.assertIn("127.0.0.1:9", done.stderr)
        self.assertEqual(self.found(self.scratch / "server")["state"], "stopped")
        done = find("flag", self.trace(), "--", "--speeed", "2")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("--speeed", done.stderr)
        done = find("trace", self.scratch / "nowhere.jsonl")
        self.assertNotIn(done.returncode, (0, 1))
        self.assertIn("nowhere.jsonl", done.stderr)
        done = self.find("--url", "http://127.0.0.1:9", "--slo", "good>90%", "--over", "rate", self.trace(),
                         "--out", self.scratch / "good")  # fmt: skip
        self.assertIn("add --goodput", done.stderr)
        for name in ("flag", "trace", "good"):  # nothing is made for what cannot begin
            self.assertFalse((self.scratch / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
