"""Connections over real sockets: limits of idle ones are kept, learned, and told."""

import collections
import contextlib
import json
import socket
import subprocess
import threading
import types
import unittest

from harness import DRIFTLESS, SECONDS_MAX, Case, Server, mock, read_jsonl, receiver, row_of
from raw_server import DONE, HEAD, Peer, RawServer, token


class ClosingServer(RawServer):
    """Accepts connections and ends them at once."""

    def __init__(self):
        super().__init__({})
        self.accepted = 0

    def serve(self, connection):
        self.accepted += 1
        connection.close()


class RestartingServer(RawServer):
    """Answers every request and keeps connections, but ends all of them at one instant."""

    ANSWER = HEAD + b"Content-Length: %d\r\n\r\n" % len(token() * 2 + DONE) + token() * 2 + DONE

    def __init__(self, after_s):
        super().__init__({})
        self.after_s = after_s
        self.ended = 0
        self.timer = None

    def serve(self, connection):
        peer = Peer(connection)
        with contextlib.suppress(OSError), connection:
            while peer.read_head():
                if self.timer is None:
                    self.timer = threading.Timer(self.after_s, self.restart)
                    self.timer.start()
                peer.read_body()
                peer.say(self.ANSWER)

    def restart(self):
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
                self.ended += 1

    def __exit__(self, *error):
        self.timer.join()
        super().__exit__(*error)


class Connections(Case):
    def bursts(self, count, rows, apart_ms):
        """A trace of bursts: some rows at one instant, then nothing for a while."""
        lines = [
            json.dumps({"timestamp": burst * apart_ms, "input_length": 40, "output_length": 2,
                        "hash_ids": [burst * rows + row]})
            for burst in range(count) for row in range(rows)
        ]
        return self.write("bursts.jsonl", "\n".join(lines) + "\n")

    def replay_rows(self, server, trace, *flags):
        run = self.replay_well(trace, "--url", server.url, *flags)
        outcomes = collections.Counter(record["outcome"] for record in run.records().values())
        self.assertEqual(set(outcomes), {"ok"}, outcomes)
        return run

    def test_announced_limits_are_kept(self):
        trace = self.bursts(4, 4, 1700)
        with mock("--keep-alive-timeout", "1", "--itl", "1ms") as server:
            run = self.replay_rows(server, trace)
        end = run.json("run.json")["end"]
        self.assertEqual(run.json("run.json")["preflight"]["keep_alive_timeout_s"], 1)
        self.assertEqual(end["idle_limit_ns"], 1_000_000_000)
        if self.had_the_cpu(run):
            self.assertEqual((end["stale_retries"], end["closed_idle"]), (0, 0))
        self.assertGreaterEqual(end["retired_idle"] + end["closed_idle"], 8)
        self.expect_lanes_in_time(run)

    def test_silent_limits_are_learned(self):
        trace = self.bursts(5, 4, 2500)
        with receiver("--idle-ms", 1000, "--first-ms", 2, "--between-ms", 1) as server:
            run = self.replay_rows(server, trace)
        end = run.json("run.json")["end"]
        self.assertGreater(end["idle_limit_ns"] / 1e9, 0.8)
        if self.had_the_cpu(run):
            self.assertLess(end["idle_limit_ns"] / 1e9, 1.2)
        self.assertGreater(end["closed_idle"], 0)
        self.assertGreaterEqual(end["retired_idle"], 8)

    def test_a_restart_teaches_no_limit(self):
        """All connections end at once, and never again: those to come are kept as before."""
        trace = self.bursts(3, 6, 1500)
        with RestartingServer(after_s=0.9) as server:
            run = self.replay_rows(server, trace, "--no-preflight", "--model", "m")
        end = run.json("run.json")["end"]
        self.assertGreaterEqual(server.ended, 6)
        self.assertIsNone(end["idle_limit_ns"])
        self.assertEqual(end["retired_idle"], 0)

    def test_connections_that_are_never_kept_are_not_opened_in_a_storm(self):
        with ClosingServer() as server:
            run = self.replay(self.bursts(3, 1, 1000), "--url", server.url, "--no-preflight",
                              "--model", "m")
        self.assertEqual(len(run.records()), 3)
        self.assertLess(server.accepted, 200)

    def test_more_connections_than_rows(self):
        trace = self.bursts(1, 3, 1)
        with mock("--itl", "1ms") as server:
            for flags in (["--connections", "64"], ["--connections", "12", "--max-inflight", "2"]):
                run = self.replay_rows(server, trace, *flags)
                self.assertEqual(len(run.records()), 3)

    def sessions(self, count, turns, apart_ms):
        """A trace of conversations whose turns come one after the other."""
        lines = [
            json.dumps({"timestamp": (turn * count + session) * apart_ms, "input_length": 40,
                        "output_length": 2, "hash_ids": [turn * count + session],
                        "session_id": f"s{session}"})
            for turn in range(turns) for session in range(count)
        ]
        return self.write("sessions.jsonl", "\n".join(lines) + "\n")

    def connections_seen(self, trace, *flags):
        """Of each row: its record, and the connection that the server saw it on."""
        log = self.scratch / "receiver.jsonl"
        with receiver("--log", log, "--first-ms", 2, "--between-ms", 1) as server:
            run = self.replay_rows(server, trace, *flags)
        seen = {row_of(line["request_id"]): line["connection"] for line in read_jsonl(log)}
        return [(record, seen[row]) for row, record in sorted(run.records().items())]

    def test_fresh_gives_each_row_a_connection_of_its_own(self):
        rows = self.connections_seen(self.bursts(6, 5, 30), "--connection", "fresh")
        self.assertEqual(len({seen for _, seen in rows}), len(rows))
        for record, _ in rows:
            self.assertEqual(record["connection_state"], "fresh")
            self.assertFalse(record["reused"])
            age_ns = record["fired_ns"] - record["connect_ns"]
            self.assertEqual(record["connection_age_ns"], age_ns)
            self.assertGreater(age_ns, 0)

    def test_sticky_keeps_a_session_on_its_connection(self):
        flags = ("--format", "mooncake", "--connection", "sticky")
        rows = self.connections_seen(self.sessions(4, 5, 40), *flags)
        of_session = collections.defaultdict(set)
        for record, seen in rows:
            of_session[record["session"]].add(seen)
        self.assertEqual({len(seen) for seen in of_session.values()}, {1})
        self.assertEqual(len(set.union(*of_session.values())), 4)
        states = collections.Counter(record["connection_state"] for record, _ in rows)
        self.assertEqual(states["sticky"], 16)

    def test_a_session_stays_on_its_server(self):
        trace = self.sessions(5, 4, 10)
        logs = [self.scratch / "one.jsonl", self.scratch / "two.jsonl"]
        with receiver("--log", logs[0], "--first-ms", 2) as one, \
                receiver("--log", logs[1], "--first-ms", 2) as two:
            run = self.replay_rows(one, trace, "--format", "mooncake", "--url", two.url,
                                  "--balance", "session")  # fmt: skip
        records = run.records()
        sessions = []
        for url, log in ((one.url, logs[0]), (two.url, logs[1])):
            rows = [row for row in (row_of(line["request_id"]) for line in read_jsonl(log))
                    if row is not None]
            self.assertTrue(all(records[row]["url"].startswith(url) for row in rows))
            sessions.append({records[row]["session"] for row in rows})
        self.assertEqual(sorted(map(len, sessions)), [2, 3])
        self.assertFalse(sessions[0] & sessions[1])
        self.assertEqual(run.json("run.json")["request"]["balance"], "session")

    def test_either_family_of_a_name_will_do(self):
        for address in ("127.0.0.1", "[::1]"):
            try:
                server = Server(DRIFTLESS, "mock", "--listen", f"{address}:0", "--itl", "1ms")
            except AssertionError:
                continue  # this host has one family only
            with server:
                port = server.url.rsplit(":", 1)[1]
                names = socket.getaddrinfo("localhost", int(port), type=socket.SOCK_STREAM)
                if address.strip("[]") not in {name[4][0] for name in names}:
                    continue
                named = types.SimpleNamespace(url=f"http://localhost:{port}")
                self.replay_rows(named, self.bursts(1, 3, 1))

    def test_no_limit_is_made_up(self):
        with mock("--itl", "1ms") as server:
            run = self.replay_rows(server, self.bursts(2, 3, 800))
        end = run.json("run.json")["end"]
        self.assertIsNone(end["idle_limit_ns"])
        self.assertEqual(end["retired_idle"], 0)

    def test_a_number_of_answers_is_kept(self):
        with mock("--keep-alive-requests", "3", "--itl", "1ms") as server:
            run = self.replay_rows(server, self.bursts(10, 2, 50), "--no-preflight", "--model", "mock-model")
        self.assertEqual(run.json("run.json")["end"]["stale_retries"], 0)


class Ports(Case):
    """In a network of its own, with 200 ports and nobody who listens."""

    SETUP = (
        "ip link set lo up && echo 40000 40199 > /proc/sys/net/ipv4/ip_local_port_range"
        ' && echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse && exec "$@"'
    )

    def said_of_ports(self, rows, *flags):
        trace = self.write(
            "trace.jsonl",
            "".join(
                json.dumps({"timestamp": i * 10, "input_length": 9, "output_length": 1}) + "\n"
                for i in range(rows)
            ),
        )
        command, _ = self.command(trace, "--url", "http://127.0.0.1:9", *flags)
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", self.SETUP, "sh", *command],
            capture_output=True, text=True, check=False, timeout=SECONDS_MAX,
        )  # fmt: skip
        self.assertEqual(done.returncode, 4, done.stderr)  # nobody listens
        return [line for line in done.stderr.splitlines() if "--connection fresh: " in line]

    def test_ports_that_run_out_are_told_before(self):
        """A row of its own connection every 10 ms takes 201 ports in 2 s, and each for a minute."""
        with contextlib.suppress(FileNotFoundError):
            probe = subprocess.run(
                ["unshare", "-n", "sh", "-c", self.SETUP, "sh", "true"], capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            if probe.returncode == 0:
                self.assertEqual(self.said_of_ports(200, "--connection", "fresh"), [])
                self.assertEqual(self.said_of_ports(201), [])
                (line,) = self.said_of_ports(201, "--connection", "fresh")
                self.assertIn("201 rows are due within 60 s", line)
                return
        self.skipTest("no network of its own")


if __name__ == "__main__":
    unittest.main(verbosity=2)
