"""What a preflight says of servers that answer oddly: one line that names the server, what came and
what may mend it, and exit code 4; or a note, where it can go on."""

import contextlib
import json
import socket
import ssl
import threading
import unittest
import zlib

from harness import Case, SAMPLE
from raw_server import DONE, Peer, field, stream, token, usage
from tls_test import OPENSSL, Papers

MODELS, TOKENIZE, CHAT = "/v1/models", "/tokenize", "/v1/chat/completions"
AROUND = 4  # tokens that the template of these servers adds


def whole(body, status="200 OK", length=None):
    """An answer that says its length, or another one."""
    body = body.encode()
    length = len(body) if length is None else length
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), length, body)


LISTED = '{"data":[{"id":"m"}]}'
BROKEN = whole(LISTED, length=100)


def counted(ask):
    """An answer of one token; usage counts the prompt."""
    return stream(b": hello\n\n", token(), usage(len(ask.words) + AROUND, 1), DONE)


class Ask:
    """A question: what a function that answers it looks at."""

    def __init__(self, peer, times):
        self.peer = peer
        self.times = times  # so often its path was asked, this one included
        self.body, self.words = {}, []
        if "content-length" in peer.head.lower():
            length = int(field(peer.head, "content-length"))
            while len(peer.stored) < length:
                peer.stored += peer.connection.recv(65536)
            self.body = body = json.loads(peer.stored)
            text = body["messages"][0]["content"] if "messages" in body else ""
            self.words = (text or body.get("prompt", "") or body.get("inputs", "")).split()


class Secure:
    """The server's end of TLS, which can lose the last bytes of what it says, or tear them."""

    def __init__(self, odd, connection):
        self.odd, self.connection = odd, connection
        self.read_from, self.written = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = odd.context.wrap_bio(self.read_from, self.written, server_side=True)
        self.until_done(self.tls.do_handshake)
        connection.sendall(self.written.read())

    def until_done(self, step, *what):
        while True:
            try:
                return step(*what)
            except ssl.SSLWantReadError:
                self.connection.sendall(self.written.read())
                received = self.connection.recv(65536)
                if not received:
                    raise OSError("the client has left") from None
                self.read_from.write(received)

    def recv(self, most):
        return self.until_done(self.tls.read, most)

    def sendall(self, answer):
        self.tls.write(answer)
        if self.odd.notify:
            with contextlib.suppress(ssl.SSLWantReadError):
                self.tls.unwrap()
        records = bytearray(self.written.read())
        if self.odd.torn:
            records[-1] ^= 1
        self.connection.sendall(records[: len(records) - self.odd.lost])


class Odd:
    """Answers each path by bytes, or by a function of an Ask that gives them; then the connection
    ends. What is not in `answers`: one model, no /tokenize, counted prompts."""

    def __init__(self, answers, papers=None, lost=0, torn=False, notify=False):
        gone = whole("", "404 Not Found")
        self.answers = {MODELS: whole(LISTED), TOKENIZE: gone, CHAT: counted, **answers}
        self.asked = dict.fromkeys(self.answers, 0)
        self.lost, self.torn, self.notify = lost, torn, notify
        if papers:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*papers)
        self.serves = self.talk_tls if papers else self.talk
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.name = "127.0.0.1:%d" % self.listening.getsockname()[1]
        self.url = ("https://" if papers else "http://") + self.name
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()

    def accept(self):
        with contextlib.suppress(OSError):  # the listening socket was shut down
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection:  # the client may leave at any time
            self.serves(connection)

    def talk_tls(self, connection):
        self.talk(Secure(self, connection))

    def talk(self, connection):
        peer = Peer(connection)
        path = peer.read_head().split(" ")[1]
        self.asked[path] = self.asked.get(path, 0) + 1
        ask = Ask(peer, self.asked[path])
        answer = self.answers.get(path, self.answers[TOKENIZE])
        answer = answer(ask) if callable(answer) else answer
        peer.say(answer)


class Preflight(Case):
    def ask(self, server, *flags):
        return self.replay(SAMPLE, "--url", server.url, "--limit", 1, *flags)

    def refused(self, server, *flags):
        """What is said of a server with which no run can begin."""
        run = self.ask(server, *flags)
        self.assertEqual(run.code, 4, run.said + run.complained)
        self.assertFalse(run.folder.exists())
        (line,) = [line for line in run.complained.splitlines() if "preflight: " in line]
        return line.split("preflight: ", 1)[1]

    def test_answers_that_break_off(self):
        """Of the models: by their end, by a reset, in the head, before the first byte."""
        def reset(ask):
            ask.peer.say(BROKEN)
            ask.peer.hang_up()
            raise OSError

        begins = "; the answer begins \"HTTP/1.1 200 OK\""
        hung_up = "; the log of the server, or of the proxy in front of it, says why it hung up"
        broken = "no whole answer to GET /v1/models came from %s: read the answer failed "
        for answer, said in (
            (BROKEN, broken + "(closed)" + begins + hung_up),
            (reset, broken + "(reset)" + begins + hung_up),
            (b"HTTP/1.1 200 OK\r\nContent-", broken + "(closed)" + begins + hung_up),
            (b"", "cannot reach %s: read the answer failed (closed)" + hung_up),
        ):
            with Odd({MODELS: answer}) as server:
                self.assertEqual(self.refused(server), said % server.name)

    def test_no_http(self):
        """What another protocol says is quoted, made harmless."""
        for answer, begins in (
            (b"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH-2.0-OpenSSH_9.2p1"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "\\u0015\\u0003\\u0001\\u0000\\u0002\\u0002F"),
        ):
            with Odd({MODELS: answer}) as server:
                said = self.refused(server)
            self.assertTrue(said.startswith("no whole answer to GET /v1/models came from " +
                                            server.name), said)  # fmt: skip
            self.assertIn("what it says is no HTTP (", said)
            self.assertIn("; the answer begins \"%s\"" % begins, said)
            self.assertTrue(said.endswith("One that speaks TLS wants https://"), said)

    def test_too_large(self):
        """16 MiB are taken, one byte more is not."""
        def models(length):
            return whole(LISTED + " " * (length - len(LISTED)))

        with Odd({MODELS: models(16 << 20)}) as server:
            self.assertEqual(self.ask(server).code, 0)
        with Odd({MODELS: b"HTTP/1.1 200 OK\r\n\r\n" + LISTED.encode()}) as server:
            self.assertEqual(self.ask(server).code, 0, "the end of the connection ends it")
        with Odd({MODELS: models((16 << 20) + 1)}) as server:
            said = self.refused(server)
        self.assertIn("read the answer (16 MiB at most) failed (too_large)", said)
        self.assertIn("Check --url and --endpoint", said)

    def test_models_that_name_none(self):
        """No JSON, or no list of names: --model is the remedy, and one that is not listed is noted."""
        for body in ("<html>", '{"data":[{"object":"model"},{"id":7}]}'):
            with Odd({MODELS: whole(body)}) as server:
                self.assertIn("named no model; name it with --model", self.refused(server))
                self.assertEqual(self.ask(server, "--model", "mine").code, 0)
        with Odd({}) as server:
            run = self.ask(server, "--model", "mine")
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("the server does not list the model mine", run.said + run.complained)

    def test_probes_that_break_off(self):
        """Of one word and of many: the question, the server, and what came are named."""
        for times, question in ((1, "one word"), (2, "many words")):
            with Odd({CHAT: lambda ask, n=times: counted(ask)[: -1 if ask.times == n else None]}
                     ) as server:
                said = self.refused(server)
            self.assertEqual(
                said,
                f"the probe of {question} (POST {CHAT}) failed: {server.name}: read the answer "
                "failed (closed); the answer begins \"HTTP/1.1 200 OK\"; the log of the server, or "
                "of the proxy in front of it, says why it hung up",
            )
        def doubled(ask):  # every word costs two tokens: eight are tried, then the first one again
            answer = stream(token(), usage(2 * len(ask.words) + AROUND, 1), DONE)
            return answer[:-1] if ask.times == 17 else answer

        with Odd({CHAT: doubled}) as server:
            self.assertIn("the probe of many words (POST", self.refused(server))
            self.assertEqual(server.asked[CHAT], 17)
        with Odd({CHAT: stream(b'data: {"error":{"message":"out of memory"}}\n\n')}) as server:
            said = self.refused(server)
        self.assertEqual(said, f"the probe of one word (POST {CHAT}) was answered 200: "
                               "out of memory")  # fmt: skip

    def test_servers_that_say_little(self):
        """Usage that counts nothing is no usage; a context without room for words asks none."""
        row = '{"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1]}\n'
        trace = self.write("short.jsonl", row)
        with Odd({CHAT: stream(token(), usage(0, 1), DONE)}) as server:
            run = self.replay(trace, "--url", server.url)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("usage counts no token for a prompt of one word: not used",
                      run.said + run.complained)  # fmt: skip
        found = run.json("run.json")["preflight"]
        self.assertEqual((found["words_verdict"], found["overhead_source"]), ("not_asked", "none"))
        models = whole('{"data":[{"id":"m","max_model_len":36}]}')
        with Odd({MODELS: models}) as server:
            run = self.replay(trace, "--url", server.url)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("the model's context is too short to probe the words",
                      run.said + run.complained)  # fmt: skip

    def test_stream_that_is_refused(self):
        """How chunks come stays unknown, which is no reason not to begin."""
        def chat(ask):
            some = ask.body["max_completion_tokens"] == 8
            return whole("", "500 No") if some else counted(ask)

        with Odd({CHAT: chat}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIsNone(run.json("run.json")["preflight"]["stream_chunks"])

    def test_info_tells_the_context(self):
        """TGI's /info, where it is read and where it is something else."""
        def generate(ask):
            event = {"token": {"id": 1, "text": "a", "special": False}, "generated_text": "a",
                     "details": {"finish_reason": "length", "generated_tokens": 1,
                                 "input_length": len(ask.words) + AROUND}}  # fmt: skip
            return stream(b"data:" + json.dumps(event).encode() + b"\n\n")

        for info, length in (
            (whole('{"model_id":"m","max_input_tokens":9000,"max_total_tokens":16384}'), 16384),
            (whole("<html>"), None),
            (whole("{}", "500 No"), None),
            (BROKEN, None),
        ):
            with Odd({"/info": info, "/generate_stream": generate}) as server:
                run = self.ask(server, "--api", "tgi")
            self.assertEqual(run.code, 0, run.complained)
            self.assertEqual(run.json("run.json")["preflight"]["max_model_len"], length)
            self.assertEqual(server.asked["/info"], 1)

    def tokens(self, words):
        """As vLLM's /tokenize gives them: the template's first, then a token for each word."""
        ids = [*range(AROUND), *(100 + zlib.crc32(word.encode()) for word in words)]
        return whole(json.dumps({"tokens": ids}))

    def test_tokenize_that_contradicts_usage(self):
        """Long texts are cut there, say: usage is believed, and the words are exact by it."""
        with Odd({TOKENIZE: lambda ask: self.tokens(ask.words[:100])}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("/tokenize counts 99 tokens for 512 words, usage 512: usage is believed",
                      run.said + run.complained)  # fmt: skip
        found = run.json("run.json")["preflight"]
        self.assertEqual((found["words_verdict"], found["overhead_source"]), ("exact", "tokenize"))

    def test_tokenize_that_stops(self):
        """Behind two words: usage counts on alone; without usage nothing does."""
        def stops(ask):
            return self.tokens(ask.words) if ask.times <= 2 else whole("", "503 Busy")

        with Odd({TOKENIZE: stops}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("/tokenize stopped telling tokens (status 503): usage alone counts",
                      run.said + run.complained)  # fmt: skip
        self.assertEqual(run.json("run.json")["preflight"]["words_verdict"], "exact")
        with Odd({TOKENIZE: stops, CHAT: stream(token(), DONE)}) as server:
            self.assertIn("(status 503): nothing else counts the words; --no-preflight goes without",
                          self.refused(server))  # fmt: skip

    def test_tokenize_that_stops_in_a_search(self):
        """One word costs two tokens; the endpoint agrees, then stops: usage finds the word alone."""
        def cost(ask):
            return [*ask.words, *("twice" for word in ask.words if word == "the")]

        def stops(ask):
            return self.tokens(cost(ask)) if ask.times <= 4 else b""

        def chat(ask):
            return stream(token(), usage(len(cost(ask)) + AROUND, 1), DONE)

        with Odd({TOKENIZE: stops, CHAT: chat}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("/tokenize stopped telling tokens (read the answer failed (closed); ",
                      run.said + run.complained)  # fmt: skip
        found = run.json("run.json")["preflight"]
        self.assertEqual((found["words_verdict"], found["words_dropped"]), ("reduced", ["the"]))

    @unittest.skipUnless(OPENSSL, "the openssl command makes the certificates, and is not here")
    def test_ends_of_tls(self):
        """In a record, with a record that was changed, without a close_notify, with one too early,
        in the handshake."""
        papers = Papers(self.scratch)
        papers.make("ca", None, "basicConstraints=critical,CA:TRUE")
        trust = ("--ca", self.scratch / "ca.pem")
        unmarked = b"HTTP/1.1 200 OK\r\n\r\n" + LISTED.encode()
        closed = "read the answer failed (closed); the answer begins \"HTTP/1.1 200 OK\""
        for models, ends, said in (
            (unmarked, {"notify": True}, None),
            (unmarked, {}, closed),
            (BROKEN, {"notify": True}, closed),
            (BROKEN, {}, closed),
            (whole(LISTED), {"lost": 5}, "read the answer failed (closed); the log of the server"),
            (whole(LISTED), {"torn": True}, "decryption failed or bad record mac"),
        ):
            with self.subTest(models=models, **ends):
                with Odd({MODELS: models}, papers.server(), **ends) as server:
                    if said is None:
                        self.assertEqual(self.ask(server, *trust).code, 0)
                    else:
                        self.assertIn(said, self.refused(server, *trust))
        with Odd({}, papers.server()) as server:  # whose alert is: protocol_version
            server.serves = lambda connection: (connection.recv(4096),
                                                connection.sendall(b"\x15\x03\x01\0\2\2\x46"))
            self.assertIn("; TLS 1.2 and 1.3 are spoken here", self.refused(server, *trust))
        with Odd({}, papers.server()) as server:
            server.serves = lambda connection: connection.recv(1)
            self.assertIn("unexpected eof while reading; the server hung up: its log says why",
                          self.refused(server, *trust))  # fmt: skip


if __name__ == "__main__":
    unittest.main(verbosity=2)
