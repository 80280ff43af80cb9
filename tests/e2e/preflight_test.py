"""What a preflight says of servers that answer oddly: one line that names the server, what came and
what may fix it, and exit code 4; or a note, where it can go on."""

import contextlib
import json
import socket
import ssl
import threading
import time
import unittest
import zlib

from harness import Case, SAMPLE, TOKENIZERS, mock, read_jsonl, row_of
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
            text = text or body.get("prompt", "") or body.get("inputs", "")
            self.words = text if isinstance(text, list) else text.split()


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
        hung_up = "; see the log of the server, or of the proxy in front of it, for the reason"
        broken = "no complete answer to GET /v1/models came from %s: read the answer failed "
        for answer, said in (
            (BROKEN, broken + "(closed)" + begins + hung_up),
            (reset, broken + "(reset)" + begins + hung_up),
            (b"HTTP/1.1 200 OK\r\nContent-", broken + "(closed)" + begins + hung_up),
            (b"", "no answer to GET /v1/models came from %s: read the answer failed (closed)" + hung_up +
             "; if it speaks TLS, use https:// in --url"),
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
            self.assertTrue(said.startswith("no complete answer to GET /v1/models came from " +
                                            server.name), said)  # fmt: skip
            self.assertIn("its answer is not HTTP (", said)
            self.assertIn("; the answer begins \"%s\"" % begins, said)
            self.assertRegex(said, "server (expects TLS;|speaks TLS,) use https://")

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
        self.assertIn("check --url and --endpoint", said)

    def test_models_that_name_none(self):
        """No JSON, or no list of names: --model is the remedy, and one that is not listed is noted."""
        for body in ("{}", '{"data":[{"object":"model"},{"id":7}]}'):
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
            with Odd({CHAT: lambda ask, n=times: counted(ask)[: -1 if ask.times >= n else None]}
                     ) as server:
                said = self.refused(server)
            self.assertEqual(
                said,
                f"the probe of {question} (POST {CHAT}) failed: {server.name}: read the answer "
                "failed (closed); the answer begins \"HTTP/1.1 200 OK\"; see the log of the server, or of "
                "the proxy in front of it, for the reason",
            )
            self.assertEqual(server.asked[CHAT], times + 2, "asked three times")
        def doubled(ask):  # every word costs two tokens: eight are tried, then the first one again
            answer = stream(token(), usage(2 * len(ask.words) + AROUND, 1), DONE)
            return answer[:-1] if ask.times >= 17 else answer

        with Odd({CHAT: doubled}) as server:
            self.assertIn("the probe of many words (POST", self.refused(server))
            self.assertEqual(server.asked[CHAT], 19)
        with Odd({CHAT: stream(b'data: {"error":{"message":"out of memory"}}\n\n')}) as server:
            said = self.refused(server)
        self.assertEqual(said, f"the probe of one word (POST {CHAT}) was answered 200: "
                               "out of memory")  # fmt: skip

    def test_probes_that_fail_once(self):
        """A question that breaks off or meets an error of the server is asked again, and noted."""
        oops = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
        for path, answer, said in (
            (CHAT, lambda ask: oops if ask.times in (1, 3) else counted(ask), "answered 500"),
            (CHAT, lambda ask: counted(ask)[: -1 if ask.times == 2 else None], "broke off"),
            (MODELS, lambda ask: BROKEN if ask.times < 3 else whole(LISTED), "broke off"),
        ):
            with Odd({path: answer}) as server:
                run = self.ask(server)
            self.assertEqual(run.code, 0, run.complained)
            self.assertEqual(run.complained.count(said), 1, run.complained)
            self.assertIn("was sent again; rows that meet this fail", run.complained)

    def test_servers_that_say_little(self):
        """Usage that counts nothing is no usage; a context without room for words asks none."""
        row = '{"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1]}\n'
        trace = self.write("short.jsonl", row)
        with Odd({CHAT: stream(token(), usage(0, 1), DONE)}) as server:
            run = self.replay(trace, "--url", server.url)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("usage has no prompt_tokens, or counts 0: prompt counts cannot be verified",
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
        self.assertIn("/tokenize counts 99 tokens for 512 words, usage 512: using that of usage",
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
        self.assertIn("/tokenize stopped reporting tokens (status 503): using only usage",
                      run.said + run.complained)  # fmt: skip
        self.assertEqual(run.json("run.json")["preflight"]["words_verdict"], "exact")
        with Odd({TOKENIZE: stops, CHAT: stream(token(), DONE)}) as server:
            self.assertIn("(status 503): nothing else can count the words; --no-preflight skips this check",
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
        self.assertIn("/tokenize stopped reporting tokens (read the answer failed (closed); ",
                      run.said + run.complained)  # fmt: skip
        found = run.json("run.json")["preflight"]
        self.assertEqual((found["words_verdict"], found["words_dropped"]), ("reduced", ["the"]))

    def answered(self, ask, made):
        """A stream of so many tokens, counted."""
        tokens = [token() for _ in range(made)]
        return stream(*tokens, usage(len(ask.words) + AROUND, made), DONE)

    def test_length_of_another_name(self):
        """AIBrix's mock reads `max_tokens` alone and makes 128 tokens else: found by the first probe,
        and every row is exact; `--length-field` that says otherwise ends as long_output."""
        def chat(ask):
            return self.answered(ask, ask.body.get("max_tokens", 128))

        trace = self.write("one.jsonl", '{"timestamp": 0, "input_length": 9, "output_length": 40, '
                           '"hash_ids": [1]}\n')  # fmt: skip
        with Odd({CHAT: chat}) as server:
            run = self.replay_well(trace, "--url", server.url)
            self.assertIn("obeys max_tokens: rows use it", run.said)
            self.assertEqual(run.records()[0]["outcome"], "ok")
            self.assertEqual(run.json("run.json")["request"]["length_member"], "max_tokens")
            self.assertEqual(run.json("summary.json")["outputs"],
                             {"exact": 1, "short": 0, "long": 0, "unknown": 0})
            run = self.replay(trace, "--url", server.url, "--length-field", "max_completion_tokens")
        self.assertIn("asked for 8 tokens, it made 128: rows that ask for fewer tokens end as "
                      "long_output; remove --length-field to try the other name", run.complained)
        self.assertEqual(run.records()[0]["outcome"], "long_output")
        self.assertEqual(run.code, 0)
        self.assertEqual(run.json("summary.json")["outputs"]["long"], 1)
        with Odd({}) as server:
            run = self.ask(server, "--length-field", "max_tokens", "--api", "anthropic")
        self.assertEqual(run.code, 2)
        self.assertIn("--length-field cannot be used with --api anthropic", run.complained)

    def test_answers_without_an_end_are_stopped(self):
        """FastChat and llama-cpp-python ignore `max_completion_tokens` and answer until their context
        is full: the probe stops reading, the server sees it, and rows use the name that it obeys.
        Where it is told another name, the error names the flag."""
        left = []

        def chat(ask):
            asked = ask.body.get("max_tokens")
            if asked is None:
                event = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
                ask.peer.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                try:
                    while True:
                        ask.peer.say(event)
                        time.sleep(0.001)
                except OSError:
                    left.append(ask.times)
                raise OSError
            if ask.body.get("stream"):
                return self.answered(ask, asked)
            return whole(json.dumps({"choices": [{"message": {"content": "a " * asked}}], "usage": {
                "prompt_tokens": len(ask.words) + AROUND, "completion_tokens": asked}}))  # fmt: skip

        trace = self.write("one.jsonl", '{"timestamp": 0, "input_length": 9, "output_length": 40, '
                           '"hash_ids": [1]}\n')  # fmt: skip
        for flags in ((), ("--no-stream",)):
            with Odd({CHAT: chat}) as server:
                run = self.replay_well(trace, "--url", server.url, *flags)
            self.assertIn("where max_completion_tokens asked for 1, and obeys max_tokens: rows use it",
                          run.said)  # fmt: skip
            self.assertEqual(run.records()[0]["outcome"], "ok")
            self.assertEqual(left, [1], flags)
            left.clear()
        with Odd({CHAT: chat}) as server:
            run = self.ask(server, "--length-field", "max_completion_tokens",
                           "--timeout-total", "300ms")  # fmt: skip
        self.assertEqual(run.code, 4)
        self.assertIn("it ignores max_completion_tokens: use --length-field max_tokens",
                      run.complained)  # fmt: skip

    def test_bodies_that_are_refused(self):
        """`transformers serve` answers 422 to fields that it does not know; SGLang's responses want
        more than one token."""
        def strict(ask):
            if "ignore_eos" in ask.body:
                return whole('{"detail":"Unexpected keys in the request: {\'ignore_eos\'}"}',
                             "422 Unprocessable Entity")  # fmt: skip
            return self.answered(ask, ask.body["max_completion_tokens"])

        def sparing(ask):
            made = ask.body["max_completion_tokens"]
            return self.answered(ask, made) if made >= 16 else whole(
                '{"error":{"message":"max_output_tokens must be at least 16"}}', "400 Bad Request")

        with Odd({CHAT: strict}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("the server refuses ignore_eos (Unexpected keys in the request", run.said)
        self.assertIn("--output cap counts no row as short", run.said)
        with Odd({CHAT: sparing}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("it refuses answers of 1 token (max_output_tokens must be at least 16) and "
                      "accepts those of 16", run.said)  # fmt: skip
        self.assertTrue(run.json("run.json")["preflight"]["ignore_eos"])

    def test_refusals_without_a_word(self):
        """The status stands where the server's words would."""
        def strict(ask):
            return whole("", "422 Unprocessable Entity") if "ignore_eos" in ask.body else (
                self.answered(ask, ask.body["max_completion_tokens"]))

        def sparing(ask):
            made = ask.body["max_completion_tokens"]
            return self.answered(ask, made) if made >= 16 else whole("", "500 Oops")

        with Odd({CHAT: strict}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("the server refuses ignore_eos (status 422): rows", run.said)
        with Odd({CHAT: sparing}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("it refuses answers of 1 token (status 500) and accepts those", run.said)

    def test_models_that_come_late(self):
        """A gateway lists no model until a worker is there."""
        def models(ask):
            return whole('{"object":"list","data":[]}' if ask.times <= 2 else LISTED)

        with Odd({MODELS: models}) as server:
            self.assertIn("lists no model: --wait-ready T waits for one", self.refused(server))
        for flags in ((), ("--model", "m")):
            with Odd({MODELS: models}) as server:
                run = self.ask(server, "--wait-ready", "30s", *flags)
                self.assertEqual(run.code, 0, run.complained)
                self.assertEqual(server.asked[MODELS], 3)

    def test_limits_of_the_model(self):
        """Dynamo tells `context_window` (prompt and answer), LiteLLM `max_input_tokens` (the
        prompt): one more than that is refused before it is sent."""
        row = '{"timestamp": 0, "input_length": 600, "output_length": 2, "hash_ids": [1, 2]}\n'
        trace = self.write("long.jsonl", row)
        for member, limit, code in (
            ("context_window", 602, 0), ("context_window", 601, 3), ("max_model_len", 601, 3),
            ("max_input_tokens", 600, 0), ("max_input_tokens", 599, 3),
        ):
            models = whole('{"data":[{"id":"m","%s":%d}]}' % (member, limit))
            with self.subTest(member=member, limit=limit), Odd({MODELS: models}) as server:
                run = self.replay(trace, "--url", server.url)
                self.assertEqual(run.code, code, run.complained)
                if code:
                    self.assertIn(f"of {limit} tokens", run.complained)
                    self.assertFalse(run.folder.exists())

    def test_requests_that_are_limited(self):
        """One 429 is waited out."""
        def chat(ask):
            busy = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
            return busy if ask.times == 2 else counted(ask)

        with Odd({CHAT: chat}) as server:
            run = self.ask(server)
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("it answers 429 to the preflight, which waits and retries", run.said)

    def test_models_of_the_rows(self):
        """`--model "{kept.COLUMN}"`: every request names its row's own, and so does its record; the
        probes name the first one."""
        models = ["base", "lora-a", "base", 'lora \\"b\\"']
        row = ('{"timestamp": %d, "input_length": 9, "output_length": 2, "hash_ids": [%d], '
               '"lora": "%s"}\n')
        trace = self.write("models.jsonl", "".join(row % (10 * i, i, name)
                                                   for i, name in enumerate(models)))  # fmt: skip
        asked = []

        def chat(ask):
            if row_of(field(ask.peer.head, "x-request-id")) is not None:
                asked.append(ask.body["model"])
            return self.answered(ask, ask.body["max_completion_tokens"])

        listed = '{"data":[{"id":"base"}]}'
        flags = ("--keep", "lora", "--model", "{kept.lora}")
        with Odd({MODELS: whole(listed), CHAT: chat}) as server:
            run = self.replay_well(trace, "--url", server.url, *flags)
            missing = self.write("no.jsonl", row % (0, 1, "a") +
                                 '{"timestamp": 9, "input_length": 9, "output_length": 2}\n')  # fmt: skip
            refused = self.replay(missing, "--url", server.url, *flags)
            unkept = self.replay(trace, "--url", server.url, "--model", "{kept.lora}")
            mapped = self.replay_well(trace, "--url", server.url, "--map", "model=lora")
            renamed = self.replay_well(trace, "--url", server.url, "--time-unit", "ms", "--map",
                                       "time=timestamp,in=input_length,out=output_length,model=lora")
            twice = self.replay(trace, "--url", server.url, "--map", "model=lora", "--model", "m")
            whose = self.replay(trace, "--url", server.url, "--model", "{session}")
        names = [name.replace("\\", "") for name in models]
        self.assertEqual(sorted(asked), sorted(3 * names))
        for one in (run, mapped, renamed):
            models = [record["model"] for _, record in sorted(one.records().items())]
            self.assertEqual(models, names)
        self.assertEqual(twice.code, 2)
        self.assertIn("--model m and --map model=lora both name the model; remove one",
                      twice.complained)
        self.assertEqual(refused.code, 3)
        self.assertEqual(unkept.code, 2)
        self.assertIn("add --keep lora", unkept.complained)
        self.assertIn("{session} is not {kept.COLUMN}", whose.complained)

    def test_split_that_nobody_tells(self):
        """No tokenize endpoint and no cached tokens: a warning names the loss; --overhead ends it."""
        with Odd({}) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 40, "--speed", 20)
            self.assertIn("driftless: warning: the server counts 4 template tokens", run.complained)
            self.assertRegex(run.complained, r"each of the \d+ rows \(of 40\) that share a prefix "
                             r"may miss one; --overhead PRE,POST with PRE\+POST = 4")
            self.assertTrue(run.json("summary.json")["cache"]["split_unknown"])
            self.assertTrue(run.json("run.json")["request"]["split_unknown"])
            told = self.ask(server, "--overhead", "1,3")
        self.assertNotIn("warning: the server counts", told.complained)
        self.assertFalse(told.json("summary.json")["cache"]["split_unknown"])

    def folder_of_chatml(self):
        """A model's folder: what its template adds is countable by hand, 3 tokens and 5."""
        folder = self.scratch / "model"
        folder.mkdir()
        tokenizer = json.loads((TOKENIZERS / "qwen.json").read_text())
        for text in ("user", "assistant", "\n"):
            tokenizer["added_tokens"].append({"id": 7000 + len(tokenizer["added_tokens"]),
                                              "content": text, "special": True})  # fmt: skip
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        chat = "{% for m in messages %}{{'<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>" \
               "\\n'}}{% endfor %}{{'<|im_start|>assistant\\n'}}"  # fmt: skip
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": chat}))
        return folder

    def test_split_by_chat_template(self):
        """A server that tells neither tokens nor hits: the template beside the tokenizer tells the
        split, and every row hits what the trace says; one that adds other tokens is not believed."""
        folder = self.folder_of_chatml()
        log = self.scratch / "truth.jsonl"
        flags = ("--tokenizer", folder / "tokenizer.json", "--tokenize", "none", "--cached-tokens",
                 "never", "--ttft", "1ms", "--itl", "1ms")  # fmt: skip
        ask = (SAMPLE, "--limit", 40, "--speed", 20, "--tokenizer", folder)
        with mock(*flags, "--overhead", "3,5", "--log", log) as server:
            run = self.replay_well(*ask, "--url", server.url)
        with mock(*flags, "--overhead", "4,5") as server:
            other = self.replay_well(*ask, "--url", server.url)
        self.assertIn("overhead 3+5 tokens (usage, split by the chat template)", run.said)
        self.assertEqual(run.json("run.json")["preflight"]["split_source"], "chat_template")
        self.assertNotIn("driftless: warning: the server counts", run.complained)
        truth = {row_of(line["request_id"]): line["cached_tokens"] for line in read_jsonl(log)}
        # In sum: rows that are due at almost the same time may come to the server in another order.
        self.assertEqual(sum(truth[row] for row in run.records()),
                         sum(record["expected_cached_tokens"] for record in run.records().values()))
        self.assertIn("the chat template next to --tokenizer (ChatML) puts 3+5 tokens around a "
                      "prompt and usage counts 9; its split is not used", other.said)
        self.assertIn("driftless: warning: the server counts 9 template tokens", other.complained)

    def test_split_by_cached_tokens(self):
        """A server without /tokenize that tells its cached tokens: every row hits what the trace
        says; with the whole overhead in front, as was taken before, rows miss blocks."""
        flags = ("--tokenize", "none", "--overhead", "5,14", "--cache-block", "16",
                 "--ttft", "1ms", "--itl", "1ms")  # fmt: skip
        with mock(*flags) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 40, "--speed", 20)
            wrong = self.replay_well(SAMPLE, "--url", server.url, "--limit", 40, "--speed", 20,
                                     "--overhead", "19,0", "--cache-salt", "other")  # fmt: skip
        self.assertIn("overhead 5+14 tokens (usage, split by cached tokens)", run.said)
        found = run.json("run.json")["preflight"]
        self.assertEqual((found["split_source"], found["server_block"]), ("cached_tokens", 16))
        hits = run.json("summary.json")["cache"]
        self.assertEqual(hits["cached_tokens"], hits["expected_cached_tokens"])
        lost = wrong.json("summary.json")["cache"]
        self.assertLess(lost["cached_tokens"], lost["expected_cached_tokens"])

    def test_blocks_where_tokenize_tells_the_split(self):
        """The size of the server's blocks is found all the same: its hits are no surprise."""
        for form in ("vllm", "llama.cpp"):
            flags = ("--tokenize", form, "--overhead", "35,14", "--cache-block", "16",
                     "--ttft", "1ms", "--itl", "1ms")  # fmt: skip
            ask = (SAMPLE, "--limit", 40, "--speed", 20)
            with mock(*flags) as server:
                run = self.replay_well(*ask, "--url", server.url)
            self.assertIn("overhead 35+14 tokens (tokenize)", run.said)
            self.assertIn("cache blocks of 16 tokens (by cached tokens)", run.said)
            hits = run.json("summary.json")["cache"]
            self.assertEqual(hits["cached_tokens"], hits["server_expected_cached_tokens"])

    def test_split_of_completions(self):
        """A tokenizer that puts a token behind each text, too: found by cached tokens, so that every
        row hits what the trace says; where none are told, several tokens are warned of."""
        flags = ("--tokenize", "none", "--ttft", "1ms", "--itl", "1ms")
        ask = (SAMPLE, "--limit", 40, "--speed", 20, "--api", "openai-completions")
        for overhead in ("0,1", "1,1"):
            with mock(*flags, "--overhead", overhead, "--cache-block", "16") as server:
                run = self.replay_well(*ask, "--url", server.url)
            self.assertIn(f"overhead {overhead.replace(',', '+')} tokens (usage, split by cached "
                          "tokens)", run.said)  # fmt: skip
            hits = run.json("summary.json")["cache"]
            self.assertEqual(hits["cached_tokens"], hits["server_expected_cached_tokens"])
        with mock(*flags, "--overhead", "1,1", "--cached-tokens", "never") as server:
            run = self.replay_well(*ask, "--url", server.url)
        self.assertIn("driftless: warning: the server counts 2 tokens around a prompt and does not "
                      "show", run.complained)
        self.assertNotIn("chat template", run.complained)
        with mock(*flags, "--overhead", "1,0", "--cached-tokens", "never") as server:
            run = self.replay_well(*ask, "--url", server.url)
        self.assertIn("overhead 1+0 tokens (usage, a BOS at the start)", run.said)
        self.assertNotIn("warning", run.complained)

    def test_split_where_tokenize_disagrees(self):
        """A /tokenize without the template: cached tokens tell the split, or a warning is given."""
        flags = ("--overhead", "35,14", "--tokenize-overhead", "0,0", "--cache-block", "16",
                 "--ttft", "1ms", "--itl", "1ms")  # fmt: skip
        ask = (SAMPLE, "--limit", 40, "--speed", 20)
        with mock(*flags) as server:
            run = self.replay_well(*ask, "--url", server.url)
        with mock(*flags, "--cached-tokens", "never") as server:
            untold = self.replay_well(*ask, "--url", server.url)
        self.assertIn("overhead 35+14 tokens (usage, split by cached tokens)", run.said)
        hits = run.json("summary.json")["cache"]
        self.assertEqual(hits["cached_tokens"], hits["server_expected_cached_tokens"])
        self.assertIn("driftless: warning: the server counts 49 template tokens", untold.complained)

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
            (whole(LISTED), {"lost": 5}, "read the answer failed (closed); see the log of the server"),
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
            self.assertIn("; driftless speaks TLS 1.2 and 1.3", self.refused(server, *trust))
        with Odd({}, papers.server()) as server:
            server.serves = lambda connection: connection.recv(1)
            self.assertIn("unexpected eof while reading; the server closed the connection: see its log, or use http://", self.refused(server, *trust))


if __name__ == "__main__":
    unittest.main(verbosity=2)
