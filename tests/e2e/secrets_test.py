"""A server may say the key in every place where it says anything: no file and no screen holds it."""

import base64
import html
import http.cookies
import http.server
import json
import os
import pathlib
import subprocess
import unittest
import urllib.parse

from harness import Case, DRIFTLESS, SAMPLE, mock, row_of
from keeper import served

DONE, USAGE, PREFLIGHT, NO_SUCCESS = 0, 2, 4, 5
KEY = "sk-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
PART = 8  # bytes of a key in a row that nobody may see

SPELLINGS = {
    "as it is": lambda key: key,
    "JSON": lambda key: json.dumps(key)[1:-1].replace("/", "\\/").replace("=", "\\u003d"),
    "JSON in JSON": lambda key: json.dumps(json.dumps(key)[1:-1])[1:-1].replace("/", "\\\\/"),
    "a URL": lambda key: urllib.parse.quote(key, safe=""),
    "HTML": lambda key: html.escape(key).replace("/", "&#x2F;"),
}


def message(text):
    return json.dumps({"error": {"message": text}})


class Echo(http.server.BaseHTTPRequestHandler):
    """Says the credential of the request, behind some bytes, wherever `server.places` says so."""

    protocol_version = "HTTP/1.1"

    def echo(self, place, otherwise=""):
        if place not in self.server.places:
            return otherwise
        names = ("Authorization", "X-Api-Key", "X-Foo")
        heard = next((self.headers[name] for name in names if self.headers[name]), "")
        key = heard.split(" ")[-1] or self.in_cookie() or self.in_query() or self.server.key
        if heard.startswith("Basic ") and key.startswith("dXNlc"):  # user:..
            key = base64.b64decode(key).decode().partition(":")[2]
        self.server.said.add(place)
        return "x" * self.server.before + SPELLINGS[self.server.spelling](key)

    def in_cookie(self):
        cookies = http.cookies.SimpleCookie(self.headers["Cookie"] or "")
        return cookies["sid"].value if "sid" in cookies else ""

    def in_query(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        return query.get("api_key", [""])[0]

    def answer(self, status, body, kind="application/json", **headers):
        text = body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def version_string(self):
        return self.echo("server", "echo")

    def do_GET(self):  # noqa: N802: the name that http.server calls
        if self.path == "/metrics":
            return self.answer(200, f'm{{a="x"}} 1\nm{{a="1",{self.echo("metrics")}="1"}} 2\n', "text/plain")
        if "models refused" in self.server.places:
            return self.answer(401, message(self.echo("models refused")))
        if "models moved" in self.server.places:
            return self.answer(308, "", Location="http://h/" + self.echo("models moved"))
        model = {"id": self.echo("model", "m"), "owned_by": self.echo("owner", "echo")}
        return self.answer(200, json.dumps({"data": [model]}))

    def do_POST(self):  # noqa: N802
        text = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/told":
            return self.answer(401, message("?").replace("?", "bad key " + self.echo("told")))
        body = json.loads(text)
        if not urllib.parse.urlsplit(self.path).path.endswith("/chat/completions"):
            said = {"tokens": [1, self.echo("tokenize")], "error": self.echo("tokenize")}
            return self.answer(200, json.dumps(said))
        if "ignore_eos" in self.server.places and "ignore_eos" in body:
            return self.answer(400, message(self.echo("ignore_eos")))
        probing = row_of(self.headers["X-Request-Id"]) is None
        if "probe" in self.server.places or ("row" in self.server.places and not probing):
            return self.answer(403, message(self.echo("probe") or self.echo("row")))
        return self.stream(body, probing)

    def stream(self, body, probing):
        asked = body["max_completion_tokens"]
        words = len(body["messages"][0]["content"].split())
        finish = self.echo("finish", "length")
        delta = {"content": self.echo("text", "a")}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        events = [{"id": self.echo("id", "r"), "choices": [choice]}] * (asked - 1)
        events.append({"id": "r", "choices": [{**choice, "finish_reason": finish}]})
        usage = {"prompt_tokens": words + 4, "completion_tokens": asked}
        events.append({"id": "r", "choices": [], "usage": usage})
        if "id" not in self.server.places:
            for event in events:
                event.pop("id", None)
        if not probing and "event" in self.server.places:
            events.insert(0, {"error": {"message": self.echo("event")}})
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        if not probing and "bad event" in self.server.places:
            text = "data: {" + self.echo("bad event") + "}\n\n" + text
        headers = {"X_Request_Id": self.echo("X-Request-Id", "r"), "X_Pod": self.echo("pod", "p")}
        if not probing and "encoding" in self.server.places:
            headers["Content_Encoding"] = self.echo("encoding")
        foreign = not probing and "type" in self.server.places
        kind = "a/" + self.echo("type") if foreign else "text/event-stream"
        self.answer(200, "" if foreign else text, kind, **headers)

    def log_message(self, *_):
        pass


class Secrets(Case):
    def serve(self, places, before, key=KEY, spelling="as it is"):
        return self.enterContext(served(Echo, places=places, before=before, key=key, said=set(),
                                        spelling=spelling))  # fmt: skip

    def replay_beside(self, places, *flags, before=0, key=KEY, spelling="as it is"):
        flags = flags or ("--api-key", key)
        server = self.serve(places, before, key, spelling)
        flags = [str(flag).replace("URL", server.url) for flag in flags]
        run = self.replay(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50, *flags)
        self.assertEqual(server.said, places, run.complained)
        return run

    def expect_no_part(self, run, why, key=KEY):
        texts = {"the screen": run.said + run.complained}
        if run.folder.exists():
            texts.update((path.name, path.read_text()) for path in run.folder.iterdir())
        for name, text in texts.items():
            for at in range(len(key) - PART + 1):
                self.assertNotIn(key[at : at + PART], text, f"{name}: {why}")

    def test_no_place_leaks(self):
        """Said whole, and said across the byte at which texts are cut."""
        for place, code in (
            ("server", DONE), ("model", DONE), ("owner", DONE), ("models refused", PREFLIGHT),
            ("models moved", PREFLIGHT), ("ignore_eos", DONE), ("probe", PREFLIGHT),
            ("tokenize", DONE), ("row", NO_SUCCESS), ("id", DONE), ("X-Request-Id", DONE),
            ("finish", DONE), ("pod", DONE), ("event", NO_SUCCESS), ("bad event", NO_SUCCESS),
            ("type", NO_SUCCESS), ("encoding", NO_SUCCESS), ("text", DONE),
        ):  # fmt: skip
            for before in (0, 236):
                run = self.replay_beside({place}, "--api-key", KEY, "--record-header", "X-Pod",
                                         "--save-responses", "all", before=before)  # fmt: skip
                why = f"{place} behind {before} bytes: {run.said}{run.complained}"
                self.assertEqual(run.code, code, why)
                self.expect_no_part(run, why)

    def test_no_spelling_leaks(self):
        """Escaped in the answer to an event, in a page of metrics, in an error, whole and cut."""
        key = '/Top"Secret=1/&ef\\gh%/"=/'
        for spelling, spell in SPELLINGS.items():
            for before in (0, 90, 240):
                run = self.replay_beside(
                    {"told", "metrics", "row"}, "--api-key", key, "--metrics", "URL/metrics",
                    "--event", "+0s post URL/told", before=before, key=key, spelling=spelling,
                )  # fmt: skip
                for part in (key, spell(key)):
                    self.expect_no_part(run, f"{spelling} behind {before} bytes", part)

    def test_no_credential_leaks(self):
        """Under another scheme, in the headers of rows, in a body: the server says it bare."""
        user = base64.b64encode(("user:" + KEY).encode()).decode()
        for flags in (
            ("--header", "Authorization: Basic " + user),
            ("--header", "Authorization: Basic " + KEY),
            ("--header", "X-Api-Key: Some Scheme " + KEY),
            ("--header", "X-Api-Key: " + KEY + "-{row}"),
            ("--extra-body", json.dumps({"litellm": {"api_key": KEY}, "user": "a:b@c"})),
            ("--header", f"Cookie: theme=dark; sid={KEY}; lang=en"),
            ("--header", f'Cookie: theme=dark; sid="{KEY}"'),
            ("--endpoint", f"/v1/chat/completions?api-version=1&api_key={KEY}"),
            ("--endpoint", f"/v1/chat/completions?api_key={KEY.replace('A', '%41')}&x=1"),
        ):
            run = self.replay_beside({"row"}, *flags)
            self.assertEqual(run.code, NO_SUCCESS, run.complained)
            self.expect_no_part(run, flags)

    def test_what_came_from_the_environment(self):
        """A value that was given as env:NAME is a secret, whatever its header is called."""
        os.environ["FOO_KEY"] = KEY
        self.addCleanup(os.environ.pop, "FOO_KEY")
        for place in ("row", "id", "finish", "pod", "event", "text"):
            run = self.replay_beside(
                {place}, "--header", "X-Foo: env:FOO_KEY", "--record-header", "X-Pod",
                "--save-responses", "all",
            )  # fmt: skip
            self.expect_no_part(run, place)
            self.assertIn('"--header=X-Foo: env:FOO_KEY"', (run.folder / "run.json").read_text())

    def test_the_environment_is_cleared(self):
        """Once the run goes, /proc/PID/environ holds none of the keys that it was given."""
        other = "other-" + KEY[::-1]
        env = {**os.environ, "OPENAI_API_KEY": KEY, "FOO_KEY": other, "KEPT": "kept-value"}
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, _ = self.start(
                SAMPLE, "--url", server.url, "--header", "X-Foo: env:FOO_KEY", "--header",
                "X-Bar: env:FOO_KEY", until="run.json", env=env, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                block = pathlib.Path(f"/proc/{process.pid}/environ").read_bytes().decode()
            except PermissionError:  # it may not be dumped, and we are not root
                self.skipTest("/proc/PID/environ cannot be read")
            line = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
        self.assertIn("KEPT=kept-value", block)
        for key in (KEY, other):
            for at in range(len(key) - PART + 1):
                self.assertNotIn(key[at : at + PART], block + line)

    def test_a_key_in_a_url(self):
        """It is masked where the URL stands, and must be given again to go on with the run."""
        endpoint = f"/v1/chat/completions?api-version=1&api_key={KEY}"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for flags in (
                ("--url", f"{server.url}?api_key={KEY}"),
                ("--host", f"me:{KEY}@localhost"),
                ("--url", server.url, "--header", f"Authorization {KEY}"),
            ):
                refused = self.replay(SAMPLE, *flags)
                self.assertEqual(refused.code, USAGE)
                self.expect_no_part(refused, flags)
        url = self.serve(set(), 0).url
        flags = ("--url", url, "--limit", 3, "--speed", 50)
        first = self.replay_well(SAMPLE, *flags, "--endpoint", endpoint)
        self.expect_no_part(first, "--endpoint")
        shown = f"{url}/v1/chat/completions?api-version=1&api_key=***"
        self.assertEqual({r["url"] for r in first.records().values()}, {shown})
        self.assertEqual(first.json("run.json")["request"]["urls"], [shown])
        run = self.replay("--from", first.folder)
        self.assertEqual(run.code, USAGE)
        self.assertIn("give all of --endpoint again", run.complained)
        self.replay_well("--from", first.folder, "--endpoint", endpoint)

    def test_a_key_in_a_body_must_be_given_again(self):
        """The rest of the body is kept as it was, and a repetition sends the same."""
        body = {"user": "me:you@example.org", "api_key": KEY}
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            flags = ("--url", server.url, "--limit", 3, "--speed", 50)
            first = self.replay_well(SAMPLE, *flags, "--extra-body", json.dumps(body))
            self.expect_no_part(first, "--extra-body")
            run = self.replay("--from", first.folder)
            self.assertEqual(run.code, USAGE)
            self.assertIn("give all of --extra-body again", run.complained)
            self.replay_well("--from", first.folder, "--extra-body", json.dumps(body))
            del body["api_key"]
            plain = self.replay_well(SAMPLE, *flags, "--extra-body", json.dumps(body))
            self.replay_well("--from", plain.folder)

    def test_a_key_where_nobody_looks_for_keys(self):
        """Typed a second time it would be recorded: the flag is named, the key is not."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            key = KEY[3:]  # it does not show by how it begins that it is one
            flags = ("--url", server.url, "--limit", 3, "--speed", 50, "--api-key", key)
            for again in (("--label", f"k={key}"), ("--header", f"X-Other: a {key}"),
                          ("--extra-body", json.dumps({"metadata": {"x": key}}))):
                run = self.replay(SAMPLE, *flags, *again)
                self.assertEqual(run.code, USAGE)
                self.assertIn(f"{again[0]} contains a key of this run", run.complained)
                self.expect_no_part(run, again, key)
            os.environ["SECOND_KEY"] = key
            try:
                run = self.replay_well(SAMPLE, *flags, "--header", "X-Other: env:SECOND_KEY")
            finally:
                del os.environ["SECOND_KEY"]
            self.expect_no_part(run, "env", key)

    def test_what_is_refused_is_not_shown(self):
        """Nor kept: wherever it was typed, the key is not on the screen, and no run begins."""
        for flags in (
            ("--url", "http://h/#" + KEY), ("--extra-body", f'["{KEY}"]'),
            ("--label", "token=" + KEY[3:]), ("--api-key", "env:" + KEY[3:]),
            ("--limit", "key=" + KEY[3:]),
        ):  # fmt: skip
            run = self.replay(SAMPLE, *(() if "--url" in flags else ("--url", "http://h")), *flags)
            self.assertEqual(run.code, USAGE, run.complained)
            self.expect_no_part(run, flags)

    def test_what_commands_are_given_and_print(self):
        """Of an event, and of a hook of a sweep: as typed in parts, and from the environment."""
        os.environ["KK"] = os.environ["HF_TOKEN"] = KEY
        self.addCleanup(os.environ.pop, "KK")
        self.addCleanup(os.environ.pop, "HF_TOKEN")
        half = len(KEY) // 2
        typed = f'PASS="{KEY[:half]}""{KEY[half:]}"; echo $PASS; echo $HF_TOKEN'
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            flags = ("--url", server.url, "--limit", 3, "--speed", 50)
            run = self.replay_well(SAMPLE, *flags, "--event", "+0s run " + typed)
            self.expect_no_part(run, "an event")
            self.assertIn("echo $PASS", (run.folder / "events.jsonl").read_text())
            # A path is no key, whatever its variable is called: PWD, SSH_AUTH_SOCK.
            os.environ["PASS"] = str(SAMPLE)
            self.addCleanup(os.environ.pop, "PASS")
            run = self.replay_well(SAMPLE, *flags, "--event", "+0s run echo $PASS")
            self.assertIn(str(SAMPLE), (run.folder / "events.jsonl").read_text())
        for flags in (("--label", "x=" + KEY[3:]), ("--event", "+0s run echo " + KEY[3:])):
            run = self.replay(SAMPLE, "--url", "http://h", *flags)  # $HF_TOKEN between double quotes
            self.assertIn(f"{flags[0]} contains a key of this run", run.complained)
            self.expect_no_part(run, flags)
        out = self.scratch / "sweep"
        command = [DRIFTLESS, "sweep", "--over", "speed=1", "--before", "echo $KK $HF_TOKEN; exit 3",
                   "--out", str(out), SAMPLE, "--url", "http://h", "--", "--api-key", "env:KK"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        texts = [done.stdout, done.stderr, *(path.read_text() for path in out.iterdir())]
        self.assertIn("*" * len(KEY), (out / "01-speed=1.before.txt").read_text(), texts)
        self.assertNotIn(KEY, "".join(texts))

    def test_a_short_key_leaves_answers_readable(self):
        """"model" and "data" are words of every answer: they are masked where they are told."""
        for key in ("data", "model", "token", "usage", "null"):
            run = self.replay_beside({"model"}, key=key)
            self.assertEqual(run.code, DONE, run.complained)
            self.assertEqual(run.json("run.json")["preflight"]["models"], ["***"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
