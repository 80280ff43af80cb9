"""The servers' own counters held against the records: another client beside the run, a gateway's page
beside its server's, a run that is alone."""

import http.server
import json
import threading
import unittest
import urllib.request

from harness import SAMPLE, SECONDS_MAX, Case, mock

FAST = ("--ttft", "2ms", "--itl", "1ms")
MADE = 40  # tokens of an answer to the other client


class Gateway(http.server.BaseHTTPRequestHandler):
    """The page of a gateway that counts what the server behind it counts."""

    def do_GET(self):
        with urllib.request.urlopen(self.server.behind + "/metrics", timeout=SECONDS_MAX) as answer:
            body = answer.read()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class OtherClient(threading.Thread):
    """Asks the server again and again, until it is told to stop."""

    def __init__(self, url):
        super().__init__()
        self.url = url + "/v1/chat/completions"
        self.ended = threading.Event()
        self.answers = 0

    def run(self):
        body = json.dumps({"model": "mock-model", "max_tokens": MADE, "stream": False,
                           "messages": [{"role": "user", "content": "word " * 400}]})  # fmt: skip
        while not self.ended.is_set():
            request = urllib.request.Request(self.url, body.encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
                json.load(answer)
            self.answers += 1


class ServerCounts(Case):
    def warnings(self, run):
        return run.json("summary.json")["verdict"]["warnings"]

    def test_another_client_is_told_with_both_figures(self):
        for kind in ("vllm", "sglang"):
            with mock(*FAST, "--metrics", kind) as server:
                other = OtherClient(server.url)
                other.start()
                try:
                    run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 3)
                finally:
                    other.ended.set()
                    other.join()
            self.assertGreater(other.answers, 30)
            server_figures = run.json("summary.json")["server"]
            explained = server_figures["explained"]
            records = list(run.records().values())
            for counter, key in (("prompt_tokens", "prompt_tokens"), ("generated_tokens", "output_tokens")):
                ours = sum(r[key] for r in records)
                self.assertEqual(explained[counter], {"least": ours, "most": ours})
                self.assertGreater(server_figures[counter], ours)
            (warning,) = self.warnings(run)
            self.assertIn(f"{server_figures['generated_tokens']} generated tokens", warning)
            self.assertIn(f"{explained['generated_tokens']['most']} generated tokens", warning)
            self.assertIn("others used them at the same time", warning)
            self.assertIn("own counters", run.said)

    def test_a_gateway_beside_its_server_counts_twice(self):
        with mock(*FAST, "--metrics", "vllm") as server:
            gateway = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
            gateway.behind = server.url
            threading.Thread(target=gateway.serve_forever, daemon=True).start()
            self.addCleanup(gateway.server_close)
            self.addCleanup(gateway.shutdown)
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 8, "--metrics", "auto",
                                   "--metrics", f"http://127.0.0.1:{gateway.server_port}")  # fmt: skip
        self.assertEqual(run.json("summary.json")["server"]["requests"], 2 * len(run.records()))
        self.assertIn("count the same requests twice, like a gateway's page", " ".join(self.warnings(run)))

    def test_a_run_that_is_alone_is_not_warned(self):
        for kind in ("vllm", "sglang", "none"):
            with mock(*FAST, "--metrics", kind, "--fault-row", "500:7", "--fault-row", "truncate:9") as server:
                run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 8)
            self.assertEqual(self.warnings(run), [], kind)
            self.assertNotIn("own counters", run.said)


if __name__ == "__main__":
    unittest.main()
