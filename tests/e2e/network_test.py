"""A slow interface is the network's fault, and the verdict says so: in a network of its own."""

import json
import subprocess
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, Case, mock
from own_network import leave_for_own_network, why_failed

# A row's first 12 KiB are some ten packets: 10 ms at 10 Mbit/s, where the limit is below 1 ms.
SLOW = "tc qdisc add dev lo root tbf rate 10mbit burst 4kb latency 10s"


class Network(Case):
    def test_a_slow_interface_is_not_the_clients_fault(self):
        lenient = self.lenient_calibration(fire_large=50_000)  # only the wire is on trial
        reason = leave_for_own_network() or why_failed(SLOW.split())
        if reason:
            self.skipTest(reason)
        with mock() as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--limit", 60, *lenient
            )
        summary = run.json("summary.json")
        if summary["client"]["taken_share_max"] > 0.1:
            self.skipTest("others took the CPU: the verdict is theirs, and rightly so")
        self.assertEqual(summary["verdict"]["name"], "network-limited", run.said)
        self.assertIn("queue on the way delayed them", " ".join(summary["verdict"]["reasons"]))
        tainted = [r for r in run.records().values() if r["tainted"]]
        # TCP may send again what is acknowledged late.
        self.assertLessEqual({why for r in tainted for why in r["tainted"]},
                             {"wire_late", "retransmitted"})
        late = [r for r in tainted if "wire_late" in r["tainted"]]
        self.assertGreater(len(late), 10)
        for record in late:
            self.assertGreater(record["wire_ns"] - record["fired_ns"] - record["submit_ns"], 500_000)
        told = subprocess.run(
            [DRIFTLESS, "report", str(run.folder), "--json"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
        )
        self.assertEqual(told.stdout, (run.folder / "summary.json").read_text())  # same limits


if __name__ == "__main__":
    unittest.main(verbosity=2)
