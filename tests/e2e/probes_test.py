"""The program carries its USDT probes, where <sys/sdt.h> was there when it was built."""

import os
import re
import subprocess
import unittest

from harness import DRIFTLESS

PROBES = {"fire": 3, "receive": 3, "chunk": 3, "record": 2}


@unittest.skipUnless(os.environ["PROBES"] == "1", "built without <sys/sdt.h> (systemtap-sdt-dev)")
class Probes(unittest.TestCase):
    def test_each_has_its_note_and_its_arguments(self):
        said = subprocess.run(
            ["readelf", "--notes", "--wide", DRIFTLESS], capture_output=True, text=True, check=True
        ).stdout
        found = re.findall(
            r"Provider: driftless\s+Name: (\w+)\s+Location: .*\s+Arguments: (.*)", said
        )
        self.assertEqual({name for name, _ in found}, set(PROBES))
        for name, arguments in found:
            self.assertEqual(len(re.findall(r"-?\d@", arguments)), PROBES[name], name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
