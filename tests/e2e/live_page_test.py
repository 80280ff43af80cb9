"""A run's own metrics while it goes on (--listen): what the page says, and who is refused."""

import socket
import unittest
import urllib.error
import urllib.request

from harness import SAMPLE, Case, mock, read_jsonl

FAST = ("--ttft", "2ms", "--itl", "1ms")


class LivePage(Case):
    def live(self, port, path="/metrics"):
        """The run's own page as (status, values by series)."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as page:
                text = page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, {}
        values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return 200, values

    def free_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]

    def test_the_runs_own_page(self):
        port = self.free_port()
        with mock(*FAST, "--metrics", "none") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 2,
                                         "--listen", f"127.0.0.1:{port}",
                                         until="requests.jsonl")  # fmt: skip
            # Who says nothing, and who is slow, keep nobody from the page for long.
            silent = socket.create_connection(("127.0.0.1", port))
            silent.sendall(b"GET /metr")
            seen = []
            while not seen or seen[-1]["driftless_requests_sent_total"] < 100:
                self.assertIsNone(process.poll())
                status, values = self.live(port)
                self.assertEqual(status, 200)
                seen.append(values)
            self.assertEqual(self.live(port, "/")[0], 404)
            silent.close()
            taken = self.replay(SAMPLE, "--url", server.url, "--listen", f"127.0.0.1:{port}")
            run = self.finish(process, folder)
        self.assertEqual(run.code, 0, run.said + run.complained)
        self.assertEqual(taken.code, 2)
        self.assertIn("another process listens there; use another port", taken.complained)
        self.assertFalse(taken.folder.exists())
        last = seen[-1]
        self.assertEqual(last["driftless_requests_planned"], 240)
        ended = sum(value for name, value in last.items() if "ended_total" in name)
        self.assertLessEqual(ended, last["driftless_requests_sent_total"])
        self.assertGreater(last['driftless_requests_ended_total{outcome="ok"}'], 0)
        self.assertGreater(last["driftless_output_tokens_total"], 0)
        for before, after in zip(seen, seen[1:]):
            for name in before:
                if name.split("{")[0].endswith("_total"):
                    self.assertLessEqual(before[name], after[name])

    def test_one_run_reads_the_page_of_another(self):
        """What we serve, we can read."""
        port = self.free_port()
        with mock(*FAST, "--metrics", "none") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 1, "--listen",
                                         f"127.0.0.1:{port}")  # fmt: skip
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 10, "--metrics",
                                   f"http://127.0.0.1:{port}")  # fmt: skip
            process.kill()
            self.finish(process, folder)
        url = run.json("summary.json")["server"]["urls"][0]
        self.assertEqual((url["failures"], url["engine"]), (0, None))
        lines = read_jsonl(run.folder / "server.jsonl")
        names = {line["name"]: line["type"] for line in lines if "name" in line}
        self.assertEqual(names["driftless_requests_sent_total"], "counter")

    def test_bad_input(self):
        for place, said in (
            ("9123", "is not ADDRESS:PORT"),
            ("unix:/a", "is a Unix socket"),
            ("127.0.0.1:0", "has no port between 1 and 65535; correct it"),
        ):
            run = self.replay(SAMPLE, "--url", "h", "--listen", place)
            self.assertEqual(run.code, 2)
            self.assertIn(said, run.complained)
            self.assertFalse(run.folder.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
