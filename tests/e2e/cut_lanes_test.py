"""A server that ends connections at random instants, or over a request, whatever they carry: no row
is lost, sent more often than its record says, or waited for without end. Over TLS requests are made
into records on their connection ahead of time, so that many are lost before they are due."""

import collections
import contextlib
import json
import random
import socket
import ssl
import threading
import unittest

from harness import Case, row_of
from raw_server import DONE, HEAD, Peer, RawServer, field, token
from tls_test import OPENSSL, Papers

ROWS = 120
SECONDS = 1.5
ANSWER = HEAD + b"Content-Length: %d\r\n\r\n" % len(token() + DONE) + token() + DONE
LARGE = 200_000  # tokens: 50 records and more


class CuttingServer(RawServer):
    """Answers each request after 0 to 4 ms; meanwhile a second thread cuts connections, no more of
    them than there were answers: on a busy machine, too, some rows get through."""

    def __init__(self, seed, papers=None):
        super().__init__({})
        self.dice = random.Random(seed)
        self.asked = collections.Counter()
        self.live = set()
        self.cut = 0
        self.answered = 0
        self.over = threading.Event()
        self.context = None
        if papers:
            self.url = self.url.replace("http:", "https:")
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*papers)
        self.threads.append(threading.Thread(target=self.cut_some))

    def __enter__(self):
        self.threads[-1].start()
        return super().__enter__()

    def __exit__(self, *error):
        self.over.set()
        super().__exit__(*error)

    def cut_some(self):
        while not self.over.wait(self.dice.uniform(0.001, 0.02)):
            live = list(self.live)
            if live and self.cut <= self.answered:
                with contextlib.suppress(OSError):
                    self.dice.choice(live).shutdown(socket.SHUT_RDWR)
                    self.cut += 1

    def serve(self, connection):
        below = connection.dup()  # TLS takes the socket itself
        self.live.add(below)
        with below, contextlib.suppress(OSError):
            self.answer_all(connection)
        self.live.discard(below)

    def answer_all(self, connection):
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        with connection:
            peer = Peer(connection)
            while peer.read_head():
                self.asked[row_of(field(peer.head, "x-request-id"))] += 1
                if self.dice.random() < 0.2:
                    return
                peer.read_body()
                self.over.wait(self.dice.uniform(0, 0.004))
                peer.say(ANSWER)
                self.answered += 1


class CutLanes(Case):
    def trace(self, seed):
        dice = random.Random(seed)
        times = sorted(dice.uniform(0, 1000 * SECONDS) for _ in range(ROWS))
        rows = [
            {"timestamp": round(at), "input_length": LARGE if dice.random() < 0.2 else 20,
             "output_length": 1, "session_id": f"s{dice.randrange(6)}"}
            for at in times
        ]
        return self.write("cut.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def check(self, papers, *flags):
        seed = " ".join(flags)
        trust = ["--insecure"] if papers else []
        with self.subTest(seed), CuttingServer(seed, papers) as server:
            run = self.replay_well(self.trace(seed), "--format", "mooncake", "--url",
                                   server.url, "--no-preflight",
                                   "--model", "m", *trust, *flags)
            records = run.records()
            self.assertEqual(set(records), set(range(ROWS)))
            outcomes = collections.Counter(record["outcome"] for record in records.values())
            self.assertLessEqual(set(outcomes), {"ok", "truncated", "send_failed", "tls_failed",
                                                 "connect_failed"}, outcomes)
            self.assertGreater(outcomes["ok"], ROWS // 5, outcomes)
            self.assertGreater(sum(outcomes.values()), outcomes["ok"])
            self.assertGreater(server.cut, 10)
            for row, record in records.items():
                self.assertLessEqual(server.asked[row], 1 + record["stale_retries"], row)
                if record["outcome"] == "ok":
                    self.assertGreater(server.asked[row], 0, row)

    @unittest.skipUnless(OPENSSL, "the openssl command makes the certificates, and is not here")
    def test_over_tls(self):
        papers = Papers(self.scratch).server()
        self.check(papers)
        self.check(papers, "--max-inflight", "1", "--connections", "2")
        self.check(papers, "--max-inflight", "3")
        self.check(papers, "--connection", "sticky")
        self.check(papers, "--connection", "fresh")

    def test_in_plain(self):
        self.check(None)
        self.check(None, "--max-inflight", "3")


if __name__ == "__main__":
    unittest.main(verbosity=2)
