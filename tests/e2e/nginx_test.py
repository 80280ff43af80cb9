"""Behind nginx, with TLS: what its buffering, its compression, its limits and its errors do to a run,
by the names of outcomes and flags. Skipped where no nginx is installed."""

import collections
import contextlib
import shutil
import socket
import statistics
import subprocess
import time
import unittest

from harness import Case, SAMPLE, mock
from tls_test import OPENSSL, Papers

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
PREFLIGHT = 4
NO_PREFLIGHT = ("--no-preflight", "--model", "mock-model")
ROWS = 60
SOME = ("--limit", ROWS, "--speed", 20)
TTFT_NS = 200_000_000
ITL_NS = 3_000_000

CONFIG = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  limit_req_zone $server_name zone=all:1m rate=2r/s;
  upstream model {{ server {upstream}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port} ssl; server_name localhost;
    ssl_certificate {cert}; ssl_certificate_key {key}; client_max_body_size 64m;
    {server}
    location / {{ proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
      {location} }}
  }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipUnless(NGINX and OPENSSL, "nginx is not installed")
class Nginx(Case):
    def setUp(self):
        super().setUp()
        self.papers = Papers(self.scratch)
        self.cert, self.key = self.papers.server()

    @contextlib.contextmanager
    def nginx(self, upstream, location="", server=""):
        port = free_port()
        config = CONFIG.format(folder=self.scratch, upstream=upstream, port=port, cert=self.cert,
                               key=self.key, location=location, server=server)
        self.write("nginx.conf", config)
        log = open(self.scratch / "nginx.log", "wb")
        process = subprocess.Popen([NGINX, "-e", self.scratch / "error.log", "-p", self.scratch,
                                    "-c", self.scratch / "nginx.conf"], stdout=log, stderr=log)
        try:
            self.wait(process, port)
            yield f"https://localhost:{port}"
        finally:
            process.terminate()
            process.wait()
            log.close()

    def wait(self, process, port):
        for _ in range(1000):
            if process.poll() is not None:
                self.fail((self.scratch / "nginx.log").read_text())
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.01)  # polls a server that says nothing when it is ready
        self.fail("nginx does not listen")

    def through(self, location="", server="", served=(), flags=()):
        """A replay through nginx to a mock, and what the mock knows of it."""
        with mock("--ttft", f"{TTFT_NS}ns", "--itl", f"{ITL_NS}ns", *served) as behind:
            with self.nginx(behind.url.removeprefix("http://"), location, server) as url:
                return self.replay(SAMPLE, "--url", url, "--ca", self.papers.ca, *SOME, *flags)

    def check_ok(self, run):
        self.assertEqual(run.code, 0, run.complained)
        records = run.records()
        self.assertEqual(len(records), ROWS)
        for record in records.values():
            self.assertEqual(record["outcome"], "ok", record)
            self.assertEqual(record["prompt_tokens"], record["input_length"])
            self.assertEqual(record["output_tokens"], record["output_length"])
        return records.values()

    def check_stream(self, run, live):
        """live: the head before the first token, which comes long before the last one. Else: the
        answer comes in one piece behind its last token, and the preflight says so. What a busy
        machine reads in one go is no matter: a token is worth 3 ms, an answer some hundreds."""
        records = self.check_ok(run)
        found = run.json("run.json")["preflight"]
        self.assertEqual(found["headers_before_token"], live)
        said = any("came in one read" in note for note in found["notes"])
        self.assertEqual(said, not live, found)
        chunks = sum(len(record["chunk_ns"]) for record in records)
        shared = sum(record["coalesced_chunks"] for record in records)
        self.assertEqual(run.json("summary.json")["coalesced_chunks"], shared)
        if not live:
            self.assertGreater(shared, 0.8 * chunks)
        shown = statistics.median(
            (record["last_token_ns"] - record["first_token_ns"]) / record["output_length"]
            for record in records if record["output_length"] > 20)
        self.assertEqual(shown > ITL_NS / 2, live, shown)
        return records

    def test_no_buffering(self):
        records = self.check_stream(self.through("proxy_buffering off;"), live=True)
        first = statistics.median(r["first_token_ns"] - r["headers_ns"] for r in records)
        self.assertGreater(first, TTFT_NS / 2)

    def test_buffering(self):
        """With TLS, an answer below its buffers waits for its end."""
        for record in self.check_stream(self.through(), live=False):
            self.assertEqual(record["first_token_ns"], record["first_byte_ns"])
            if 1 < record["output_length"] <= 40:  # some 200 bytes each, of 16 KiB
                self.assertGreaterEqual(record["ttft_ns"],
                                        TTFT_NS + ITL_NS * (record["output_length"] - 2))

    def test_gzip(self):
        """Nothing is encoded for a client that did not ask."""
        gzip = "gzip on; gzip_types text/event-stream; gzip_min_length 0; gzip_proxied any;"
        self.check_stream(self.through(gzip), live=False)
        self.check_stream(self.through(gzip + "proxy_buffering off;"), live=True)

    def test_encoded_unasked(self):
        run = self.through("add_header Content-Encoding gzip;", flags=NO_PREFLIGHT)
        self.assertEqual({(r["outcome"], r["error"]) for r in run.records().values()},
                         {("bad_content", "content-encoding: gzip")})

    def test_limit(self):
        """Rows beyond the limit are http_429 in nginx's words, none is sent again."""
        run = self.through("limit_req zone=all burst=3 nodelay; limit_req_status 429;",
                           flags=NO_PREFLIGHT)
        self.assertEqual(run.code, 0, run.complained)
        counts = collections.Counter(r["outcome"] for r in run.records().values())
        self.assertEqual(set(counts), {"ok", "http_429"})
        self.assertEqual(sum(counts.values()), ROWS)
        self.assertGreaterEqual(counts["ok"], 4)
        refused = {r["error"] for r in run.records().values() if r["outcome"] == "http_429"}
        self.assertEqual(refused, {"429 Too Many Requests"})

    def test_limit_meets_the_preflight(self):
        run = self.through("limit_req zone=all burst=3 nodelay; limit_req_status 429;")
        self.assertEqual(run.code, PREFLIGHT)
        self.assertRegex(run.complained, r"was answered 429: 429 Too Many Requests; the server or")
        self.assertEqual(run.complained.count("\n"), 1, run.complained)

    def test_bodies_that_are_too_large(self):
        run = self.through("client_max_body_size 4k;")
        self.assertEqual(run.code, 0, run.complained)  # the probes are smaller
        outcomes = {r["outcome"] for r in run.records().values() if r["input_length"] > 1100}
        self.assertEqual(outcomes, {"http_4xx"})
        run = self.through("client_max_body_size 1k;")
        self.assertEqual(run.code, PREFLIGHT)
        self.assertIn("nginx: client_max_body_size", run.complained)

    def test_nobody_behind(self):
        with self.nginx(f"127.0.0.1:{free_port()}") as url:
            flags = (SAMPLE, "--url", url, "--ca", self.papers.ca, *SOME)
            run = self.replay(*flags, *NO_PREFLIGHT)
            self.assertEqual(run.code, 5)
            self.assertEqual({(r["outcome"], r["status"]) for r in run.records().values()},
                             {("http_5xx", 502)})
            run = self.replay(*flags)
            self.assertEqual(run.code, PREFLIGHT)
            self.assertIn("no server answers behind the gateway; --wait-ready", run.complained)

    def test_elsewhere(self):
        """A redirect is told with where it leads, and not followed."""
        moved = "location /old { return 308 https://other.example:1/v1; }"
        with self.nginx("127.0.0.1:1", server=moved) as url:
            run = self.replay(SAMPLE, "--url", f"{url}/old", "--ca", self.papers.ca)
        self.assertEqual(run.code, PREFLIGHT)
        self.assertIn("answered 308 (308 Permanent Redirect) and named no model; ", run.complained)
        self.assertIn("it redirects to https://other.example:1/v1; if the server is there, use that",
                      run.complained)

    def test_connections_that_nginx_ends(self):
        """keepalive_requests ends connections under way: rows go on with new ones."""
        self.check_ok(self.through("proxy_buffering off;", server="keepalive_requests 5;"))


if __name__ == "__main__":
    unittest.main()
