"""https: the same run as over http; certificates that are wrong; connections that are cut; servers
that are not ours (Python's ssl, openssl s_server). Papers are made here, by the openssl command."""

import json
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import threading
import unittest

from harness import Case, SAMPLE, SANITIZED, SECONDS_MAX, mock
from raw_server import RawServer

OPENSSL = shutil.which("openssl")
HOST = 7
NO_PREFLIGHT = ("--no-preflight", "--model", "m")
REMEDY_CA = "; name its authority with --ca FILE, or accept it with --insecure"


class Papers:
    """An authority and what it signs, in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = self.make("ca", None, "basicConstraints=critical,CA:TRUE")[0]

    def openssl(self, *command):
        subprocess.run([OPENSSL, *map(str, command)], cwd=self.folder, check=True,
                       capture_output=True)

    def make(self, name, signer, extension, days=30):
        """PEM files of a certificate and its key; `signer` None signs itself."""
        cert, key, request = (self.folder / f"{name}.{kind}" for kind in ("pem", "key", "csr"))
        (self.folder / f"{name}.ext").write_text(extension + "\n")
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        self.openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        by = ["-CA", f"{signer}.pem", "-CAkey", f"{signer}.key", "-CAcreateserial"]
        self.openssl("x509", "-req", "-in", request, *(by if signer else ["-signkey", key]),
                     "-days", days, "-extfile", f"{name}.ext", "-out", cert)
        return cert, key

    def server(self, name="server", names="DNS:localhost,IP:127.0.0.1", signer="ca", days=30):
        return self.make(name, signer, f"subjectAltName={names}", days)


def event(text):
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


LAST = (
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":512,"completion_tokens":2}}\n\ndata: [DONE]\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


class Scripted:
    """A TLS server of Python's: reads one request per connection, answers with given bytes, and
    ends as it is told: "notify" (close_notify), "cut" (without), "keep" (goes on)."""

    def __init__(self, papers, answer, end, ask=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*papers)
        if ask:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(ask)
        self.answer, self.end = answer, end
        self.peers = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as secure:
                self.shake_hands(secure)
                self.peers.append(secure.getpeercert())
                while self.read_request(secure):
                    secure.sendall(self.answer)
                    if self.end == "notify":
                        secure.unwrap().close()
                        return
                    if self.end == "cut":
                        secure.shutdown(socket.SHUT_RDWR)  # of the socket: TLS says nothing
                        return
        except OSError:
            return

    @staticmethod
    def shake_hands(secure):
        """Where it fails, all is read before the end: else the kernel resets, and its alert may be lost."""
        try:
            secure.do_handshake()
        except OSError:
            secure.settimeout(5)
            secure.shutdown(socket.SHUT_WR)
            while secure.recv(4096):
                pass
            raise

    @staticmethod
    def read_request(secure):
        got = b""
        while b"\r\n\r\n" not in got:
            more = secure.recv(65536)
            if not more:
                return False
            got += more
        head, body = got.split(b"\r\n\r\n", 1)
        found = re.search(rb"content-length: (\d+)", head, re.I)
        while found and len(body) < int(found.group(1)):
            body += secure.recv(65536)
        return True


@unittest.skipUnless(OPENSSL, "the openssl command makes the certificates, and is not here")
class Tls(Case):
    def setUp(self):
        super().setUp()
        self.papers = Papers(self.scratch)

    def secure_mock(self, papers, *flags):
        return mock("--tls-cert", papers[0], "--tls-key", papers[1], *flags)

    def one_row(self):
        return self.write(
            "row.jsonl",
            '{"timestamp": 0, "input_length": 512, "output_length": 2, "hash_ids": [1]}\n',
        )

    @unittest.skipIf(SANITIZED, "the sanitizers map more than any limit of memory")
    def test_without_memory(self):
        """Whoever asks for it, OpenSSL or we: exit code 7, told in one line, and never an abort."""
        rows = "".join(
            json.dumps({"timestamp": 0, "input_length": 64, "output_length": 4, "hash_ids": [i]}) + "\n"
            for i in range(1000)
        )
        trace = self.write("burst.jsonl", rows)
        told = 0
        with self.secure_mock(self.papers.server(), "--ttft", "300ms") as server:
            for mib in range(112, 140, 3):
                command, _ = self.command(trace, "--url", server.url, "--insecure", *NO_PREFLIGHT, "--calibration",
                                          "none", "--metrics", "none", folder=self.scratch / str(mib))  # fmt: skip
                limit = (mib << 20, mib << 20)
                done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
                                      preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, limit))  # fmt: skip
                self.assertIn(done.returncode, (0, HOST), f"{mib}: {done.stderr}")
                told += "out of memory" in done.stderr
        self.assertGreater(told, 0)

    def test_rehearsal(self):
        """Every row is ok and exact, as over http, and later connections take up the session."""
        with self.secure_mock(self.papers.server(), "--ttft", "2ms", "--itl", "1ms") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--ca", self.papers.ca, "--speed", 10
            )
        records = run.records().values()
        self.assertEqual(len(records), len(self.sample_rows()))
        for record in records:
            self.assertEqual(record["outcome"], "ok", record["error"])
            self.assertEqual(record["prompt_tokens"], record["input_length"])
            self.assertTrue(record["url"].startswith("https://"))
            self.assertLessEqual(record["armed_ns"], record["fired_ns"])
            self.assertGreaterEqual(record["fired_ns"], record["due_ns"])
        facts = run.json("run.json")["end"]["tls"]
        self.assertEqual(len(facts), 1)
        self.assertEqual((facts[0]["version"], facts[0]["trust"]), ("TLSv1.3", "file"))
        self.assertGreater(facts[0]["handshakes"], 1)
        self.assertGreaterEqual(facts[0]["resumed"], facts[0]["handshakes"] // 2)

    def test_fresh_connections_have_shaken_hands(self):
        """A connection for every row, and none of them waits for its handshake."""
        with self.secure_mock(self.papers.server(), "--ttft", "2ms", "--itl", "1ms") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--ca", self.papers.ca, "--speed", 4,
                "--connection", "fresh"
            )
        for record in run.records().values():
            self.assertEqual((record["outcome"], record["connection_state"]), ("ok", "fresh"))
            self.assertLess(record["connect_ns"], record["fired_ns"])
        self.expect_lanes_in_time(run)
        facts = run.json("run.json")["end"]["tls"]
        self.assertGreaterEqual(facts[0]["handshakes"], len(self.sample_rows()))

    def test_idle_limits_are_kept(self):
        """Bound ahead of their rows or not, no connection meets its server's close."""
        with self.secure_mock(self.papers.server(), "--keep-alive-timeout", "1",
                              "--ttft", "2ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--ca", self.papers.ca)
        for record in run.records().values():
            self.assertEqual(record["outcome"], "ok", record["error"])
        self.expect_lanes_in_time(run)
        end = run.json("run.json")["end"]
        if self.had_the_cpu(run):
            self.assertEqual(end["idle_limit_ns"], 1_000_000_000)
            self.assertEqual(end["stale_retries"], 0)
        self.assertGreater(end["retired_idle"], 0)

    def test_wrong_certificates(self):
        """Each is its own outcome, in OpenSSL's words, before and after time 0."""
        wrong = {
            "hostname mismatch": self.papers.server("host", names="DNS:other.example"),
            "certificate has expired": self.papers.server("expired", days=-1),
            "self-signed certificate": self.papers.server("alone", signer=None),
            "unable to get local issuer certificate": self.papers.server(
                "foreign", signer=self.papers.make("others", None,
                                                   "basicConstraints=critical,CA:TRUE")[0].stem
            ),
        }
        for words, papers in wrong.items():
            with self.subTest(words), self.secure_mock(papers) as server:
                url = server.url.replace("127.0.0.1", "localhost")
                trust = ("--ca", self.papers.ca)
                met = self.replay(SAMPLE, "--url", url, *trust)
                self.assertEqual(met.code, 4)
                self.assertIn("certificate verify failed: " + words, met.complained)
                run = self.replay(SAMPLE, "--url", url, *trust, *NO_PREFLIGHT, "--limit", 3)
                self.assertEqual(run.code, 5, run.complained)
                for record in run.records().values():
                    self.assertEqual(record["outcome"], "tls_failed")
                    self.assertTrue(
                        record["error"].startswith("certificate verify failed: " + words),
                        record["error"],
                    )
                    self.assertIn("--insecure", record["error"])
                    self.assertIsNone(record["fired_ns"])
                self.replay_well(SAMPLE, "--url", url, "--insecure", "--limit", 3)

    def test_no_tls_there(self):
        """A plain server behind https:// says what it is."""
        with mock() as server:
            met = self.replay(SAMPLE, "--url", server.url.replace("http://", "https://"))
        self.assertEqual(met.code, 4)
        self.assertIn("the answer is not TLS (wrong version number); check that the server speaks TLS", met.complained)

    def test_plain_http_to_a_tls_port(self):
        """OpenSSL closes without a word, rustls sends an alert, nginx, Go and Apache say it in words."""
        with self.secure_mock(self.papers.server()) as server:
            met = self.replay(SAMPLE, "--url", server.url.replace("https://", "http://"))
        self.assertEqual(met.code, 4)
        self.assertIn("if it speaks TLS, use https:// in --url", met.complained)
        words = b"Client sent an HTTP request to an HTTPS server.\n"
        said = b"HTTP/1.0 400 Bad Request\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(words), words)
        for answer in (b"\x15\x03\x03\x00\x02\x02\x32", said):
            with RawServer([answer]) as server:
                run = self.replay(self.one_row(), "--url", server.url, "--metrics", "none", *NO_PREFLIGHT)
            self.assertIn("; use https:// in --url", run.records()[0]["error"])

    def outcome_of(self, answer, end):
        with Scripted(self.papers.server(), answer, end) as server:
            run = self.replay(self.one_row(), "--url", server.url, "--ca", self.papers.ca,
                              *NO_PREFLIGHT)
        return run.records()[0]

    def test_ends_of_connections(self):
        """An answer that ends with its connection is whole only behind a close_notify; one that
        says where it ends is whole either way."""
        body = event("a") + event("b") + LAST
        unmarked = HEAD + b"Connection: close\r\n\r\n" + body
        marked = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        short = HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body
        self.assertEqual(self.outcome_of(unmarked, "notify")["outcome"], "ok")
        self.assertEqual(self.outcome_of(unmarked, "cut")["outcome"], "truncated")
        self.assertEqual(self.outcome_of(marked, "notify")["outcome"], "ok")
        self.assertEqual(self.outcome_of(marked, "cut")["outcome"], "ok")
        self.assertEqual(self.outcome_of(short, "notify")["outcome"], "truncated")
        self.assertEqual(self.outcome_of(short, "cut")["outcome"], "truncated")

    def test_large_requests(self):
        """A request of many records arrives whole; the next one goes by the same connection."""
        body = event("a") + event("b") + LAST
        answer = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        rows = [
            {"timestamp": at * 200, "input_length": 125_000, "output_length": 2,
             "hash_ids": list(range(at * 1000, at * 1000 + 245))}
            for at in range(4)
        ]
        trace = self.write("large.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        with Scripted(self.papers.server(), answer, "keep") as server:
            run = self.replay_well(trace, "--url", server.url, "--ca", self.papers.ca,
                                   *NO_PREFLIGHT, "--connections", 1)
        for record in run.records().values():
            self.assertEqual(record["outcome"], "ok", record["error"])
            self.assertGreater(record["bytes_sent"], 500_000)
            self.assertEqual(record["connection"], 0)

    def test_client_certificates(self):
        """Shown where it is asked for; a server that misses it is quoted."""
        body = event("a") + event("b") + LAST
        answer = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        own = self.papers.make("me", "ca", "subjectAltName=DNS:me")
        asked = ("--ca", self.papers.ca, *NO_PREFLIGHT)
        with Scripted(self.papers.server(), answer, "keep", ask=self.papers.ca) as server:
            run = self.replay_well(self.one_row(), "--url", server.url, *asked, "--cert", own[0],
                                   "--key", own[1])
            self.assertEqual(run.records()[0]["outcome"], "ok")
            self.assertIn(("DNS", "me"), server.peers[-1]["subjectAltName"])
            run = self.replay(self.one_row(), "--url", server.url, *asked)
        self.assertEqual(run.code, 5)
        self.assertEqual(run.records()[0]["outcome"], "tls_failed")
        self.assertIn("certificate required", run.records()[0]["error"])
        self.assertIn("--cert", run.records()[0]["error"])

    def test_openssl_server(self):
        """Against openssl s_server, in both versions; in 1.3 it asks for new keys mid-stream."""
        for version, command in (("-tls1_2", None), ("-tls1_3", b"K\n")):
            with self.subTest(version):
                record = self.by_s_server(version, command)
                self.assertEqual(record["outcome"], "ok", record["error"])
                self.assertEqual(record["output_tokens"], 2)
                self.assertEqual(len(record["chunk_ns"]), 2)

    def by_s_server(self, version, command):
        cert, key = self.papers.server()
        server = subprocess.Popen(
            [OPENSSL, "s_server", "-accept", "127.0.0.1:0", "-cert", cert, "-key", key, version,
             "-naccept", "1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        )
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        said = b""
        while b"\nACCEPT" not in b"\n" + said or not said.endswith(b"\n"):
            said += os.read(server.stdout.fileno(), 4096)
        port = int(re.search(rb":(\d+)\s*$", said.split(b"ACCEPT")[-1]).group(1))

        def answer():
            got = b""
            while b"max_completion_tokens" not in got:
                got += os.read(server.stdout.fileno(), 65536)
            body = event("a") + event("b") + LAST
            server.stdin.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + event("a"))
            for part in filter(None, (command, event("b") + LAST)):
                threading.Event().wait(0.3)  # one read of its terminal, one command
                server.stdin.write(part)

        talking = threading.Thread(target=answer, daemon=True)
        talking.start()
        run = self.replay(self.one_row(), "--url", f"https://localhost:{port}", "--ca",
                          self.papers.ca, *NO_PREFLIGHT, "--connections", 1, "--metrics",
                          "none")  # it takes one connection
        talking.join(timeout=10)
        return run.records()[0]


if __name__ == "__main__":
    unittest.main()
