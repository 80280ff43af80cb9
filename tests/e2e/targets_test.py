"""Where requests go: other places than the URL's, IPv6, Unix sockets of both kinds, base paths."""

import os
import pathlib
import socket
import unittest

from harness import Case, DRIFTLESS, SAMPLE, Server, mock, read_jsonl
from keeper import keeper
from tls_test import OPENSSL, Papers

FAST = ("--ttft", "1ms", "--itl", "0", "--cache-block", "512")
FEW = ("--limit", 5, "--speed", 50)
BLIND = ("--no-preflight", "--model", "m")
NOWHERE = "http://llm.invalid:8080"  # RFC 6761: never resolves


def place_of(url):
    return url.split("//")[-1]


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class Targets(Case):
    def check_all_ok(self, run, url):
        records = run.records()
        self.assertEqual(len(records), 5)
        for record in records.values():
            self.assertEqual(record["outcome"], "ok", record)
            self.assertEqual(record["prompt_tokens"], record["input_length"])
            self.assertEqual(record["url"], url + "/v1/chat/completions")

    def test_other_places(self):
        """The address is another, all else is the URL's: probes and rows, over TCP and a socket."""
        with mock(*FAST) as server:
            place = place_of(server.url)
            run = self.replay_well(SAMPLE, "--url", NOWHERE, "--connect-to", place, *FEW)
            self.check_all_ok(run, NOWHERE)
            self.assertEqual(run.json("run.json")["request"]["connect_to"], place)
            again = self.replay_well("--from", run.folder)  # is connected there, too
            self.check_all_ok(again, NOWHERE)
            moved = self.replay_well("--from", run.folder, "--url", server.url)
            self.check_all_ok(moved, server.url)
            self.assertIsNone(moved.json("run.json")["request"]["connect_to"])
        path = self.scratch / "s"
        with Server(DRIFTLESS, "mock", "--listen", f"unix:{path}", *FAST):
            run = self.replay_well(SAMPLE, "--url", NOWHERE, "--connect-to", f"unix:{path}", *FEW)
            self.check_all_ok(run, NOWHERE)

    def test_other_length_fields(self):
        """The second server reads only the old name of the length: all rows go with one name, so it
        is refused, both URLs are named, and the flag that fixes it does."""
        def lengths(run):
            return {(r["output_tokens"], r["outcome"]) for r in run.records().values()
                    if r["output_tokens"] != r["output_length"]}  # fmt: skip

        with mock(*FAST) as first, mock(*FAST, "--old-length") as old:
            refused = self.replay(SAMPLE, "--url", first.url, "--url", old.url, *FEW)
            fixed = self.replay_well(SAMPLE, "--url", first.url, "--url", old.url, *FEW,
                                      "--length-field", "max_tokens")  # fmt: skip
            turned = self.replay_well(SAMPLE, "--url", old.url, "--url", first.url, *FEW)
        self.assertEqual(refused.code, 4, refused.said)
        self.assertFalse(refused.folder.exists())
        self.assertIn(f"--url {old.url}/v1/chat/completions obeys max_tokens and not "
                      "max_completion_tokens, which rows use for "
                      f"{first.url}/v1/chat/completions; if that one also obeys max_tokens, give "
                      f"--length-field max_tokens", refused.complained)
        for run in (fixed, turned):
            self.assertEqual(lengths(run), set())

    def test_a_length_that_the_second_server_does_not_obey(self):
        """Where the name was given, what another server makes of it is a warning that names it."""
        with mock(*FAST) as first, mock(*FAST, "--old-length") as old:
            run = self.replay_well(SAMPLE, "--url", first.url, "--url", old.url, *FEW,
                                   "--length-field", "max_completion_tokens")  # fmt: skip
        self.assertIn(f"warning: {old.url}/v1/chat/completions: asked for 8 tokens, it made",
                      run.complained)

    def test_the_host_stays(self):
        """Each URL's own, whichever place they all go to."""
        with keeper() as server:
            self.replay_well(SAMPLE, "--url", NOWHERE, "--url", "http://[fd00::1]:81/proxy/v1",
                             "--connect-to", place_of(server.url), *BLIND, *FEW)
        self.assertEqual(
            {(head["Host"], path) for path, head, _ in server.kept},
            {("llm.invalid:8080", "/v1/chat/completions"),
             ("[fd00::1]:81", "/proxy/v1/chat/completions")},
        )

    @unittest.skipIf(OPENSSL is None, "no openssl command")
    def test_the_name_of_a_certificate_stays(self):
        """SNI and verification go by the URL; the place's own name is nobody's."""
        papers = Papers(self.scratch)
        cert, key = papers.server("named", "DNS:llm.invalid")
        path = self.scratch / "tls"
        for listen in ("127.0.0.1:0", f"unix:{path}"):
            with Server(DRIFTLESS, "mock", "--listen", listen, "--tls-cert", cert, "--tls-key",
                        key, *FAST) as server:
                place = f"unix:{path}" if "unix" in listen else place_of(server.url)
                common = ("--connect-to", place, "--ca", papers.ca, *FEW, "--traceparent",
                          "--header", "X-Row: {row}")
                run = self.replay_well(SAMPLE, "--url", "https://llm.invalid", *common)
                self.check_all_ok(run, "https://llm.invalid")
                self.assertEqual(run.json("run.json")["end"]["tls"][0]["name"], "llm.invalid")
                run = self.replay(SAMPLE, "--url", "https://other.invalid", *common)
                self.assertEqual(run.code, 4, run.complained)

    def test_places_that_are_none(self):
        run = self.replay(SAMPLE, "--url", NOWHERE, "--connect-to", "llm.invalid:1", *FEW)
        self.assertEqual(run.code, 4)
        self.assertIn("--connect-to llm.invalid:1: the host name cannot", run.complained)
        run = self.replay(SAMPLE, "--url", NOWHERE, "--connect-to", "unix:/" + "x" * 107, *FEW)
        self.assertEqual(run.code, 2)
        self.assertIn("is longer than 107 bytes", run.complained)

    def test_abstract_sockets(self):
        name = f"unix:@driftless-e2e-{os.getpid()}"
        with Server(DRIFTLESS, "mock", "--listen", name, *FAST):
            self.check_all_ok(self.replay_well(SAMPLE, "--url", name, *FEW), name)
        self.assertFalse(pathlib.Path(name[5:]).exists())

    @unittest.skipUnless(has_ipv6(), "no IPv6 here")
    def test_ipv6(self):
        """The literal in brackets; and localhost where only the other family listens."""
        log = self.scratch / "truth.jsonl"
        with Server(DRIFTLESS, "mock", "--listen", "[::1]:0", *FAST, "--log", log) as server:
            self.assertTrue(server.url.startswith("http://[::1]:"), server.url)
            self.check_all_ok(self.replay_well(SAMPLE, "--url", server.url, *FEW), server.url)
            rows = 5
            if "::1" in {found[4][0] for found in socket.getaddrinfo("localhost", 80)}:
                named = "localhost:" + server.url.split(":")[-1]
                self.check_all_ok(self.replay_well(SAMPLE, "--url", named, *FEW),
                                  "http://" + named)
                rows += 5
        self.assertEqual(len([e for e in read_jsonl(log) if e["row"] is not None]), rows)
        with keeper() as server:  # what the Host header says of a literal
            port = place_of(server.url).split(":")[1]
            self.replay_well(SAMPLE, "--url", "[::1]", "--connect-to", f"127.0.0.1:{port}",
                             *BLIND, *FEW)
        self.assertEqual({head["Host"] for _, head, _ in server.kept}, {"[::1]"})

    def test_base_paths(self):
        """What URL and API share is written once; no slash is doubled; --endpoint goes below."""
        cases = {
            ("",): "/v1/chat/completions",
            ("/",): "/v1/chat/completions",
            ("/v1/",): "/v1/chat/completions",
            ("/team/a",): "/team/a/v1/chat/completions",
            ("/team/v1//",): "/team/v1/chat/completions",
            ("/v1/chat/completions",): "/v1/chat/completions",
            ("/x", "--endpoint", "own/path"): "/x/own/path",
            ("/x/v1", "--endpoint", "/v1/chat"): "/x/v1/chat",
        }
        with keeper() as server:
            for (base, *flags), path in cases.items():
                server.kept.clear()
                run = self.replay_well(SAMPLE, "--url", server.url + base, *flags, *BLIND, *FEW)
                self.assertEqual({heard for heard, _, _ in server.kept}, {path}, base)
                said = {record["url"] for record in run.records().values()}
                self.assertEqual(said, {server.url + path})


if __name__ == "__main__":
    unittest.main(verbosity=2)
