"""The pictures that the README files show are there and small, each is shown once at least, and no other lies about.
`tests/browser/pictures` makes them."""

import pathlib
import re
import struct
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
BYTES_MAX, WIDTH = 150_000, 1200
PICTURES = ("cmd/report/pictures/run.png", "cmd/report/pictures/latency.png", "cmd/report/pictures/compare.png",
            "cmd/report/pictures/table.png")
SHOWN = re.compile(r"!\[[^\]]+\]\(([^)]+\.png)\)")


class Pictures(unittest.TestCase):
    def test_each_is_small(self):
        for name in PICTURES:
            data = (TREE / name).read_bytes()
            self.assertTrue(data.startswith(b"\x89PNG\r\n\x1a\n"), name)
            width, height = struct.unpack(">II", data[16:24])
            self.assertEqual(width, WIDTH, name)
            self.assertTrue(400 <= height <= 1600, name)
            self.assertTrue(5_000 <= len(data) <= BYTES_MAX, f"{name}: {len(data)} bytes")

    def test_each_is_shown(self):
        shown = set()
        for page in [TREE / "README.md", *TREE.glob("cmd/**/*.md")]:
            for picture in SHOWN.findall(page.read_text()):
                self.assertTrue((page.parent / picture).is_file(), f"{page} shows {picture}")
                shown.add(str((page.parent / picture).resolve().relative_to(TREE)))
        self.assertEqual(shown, set(PICTURES))
        self.assertIn("cmd/report/pictures/", (TREE / "README.md").read_text())

    def test_there_is_no_other(self):
        found = {str(path.relative_to(TREE)) for path in TREE.glob("cmd/**/*.png")}
        self.assertEqual(found, set(PICTURES))


if __name__ == "__main__":
    unittest.main()
