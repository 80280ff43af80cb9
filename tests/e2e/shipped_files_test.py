"""No text that a user can see names a file that only the sources have.

A file that the program brings along is printed by `driftless help NAME`, byte by byte as it is in the
sources; pages without links into these. Every other name of a file in the program's texts is listed here, with whose file it is."""

import importlib.machinery
import importlib.util
import pathlib
import re
import unittest

from harness import Case
from help_test import call

TREE = pathlib.Path(__file__).resolve().parents[2]
LIST = TREE / "cmd" / "help" / "files.cmake"
PAGES = ("cmd/report/page",)
TOOLS = TREE / "cmd" / "flags" / "other_tools.txt"
FOLDER = re.compile(r"(?<![\w./-])(?:cmd|engine|perf|proto|tests)/[\w.-]+")
LINK = re.compile(r"\]\(([^)]*)\)")
FILE = re.compile(r"[\w./{}%-]*\.(?:md|json|ya?ml|sbatch|ipynb|toml|sh|py|txt|cmake)\b")
# What a run, a search, a sweep or calibrate writes, and examples of a user's own.
WRITTEN = {"summary.json", "run.json", "run.toml", "sweep.json", "find.json", "calibration.json",
           "calibration-realtime.json", "calibration-engines-N.json", "calibration-epoll.json", ".before.txt", ".after.txt", ".ready.txt",
           "mock.txt", "node7.json"}  # fmt: skip
GIVEN = {"FILE.toml", "plan.toml", "start.sh", "stop.sh"}
# Files of models.
OF_MODELS = {"TOKENIZER.json", "tokenizer.json", "tekken.json", "tokenizer_config.json"}
# Programs and data of others, which their own names say.
OF_OTHERS = {"benchmark_serving.py", "bench_serving.py", "benchmark_serving_multi_turn.py", "inputs.json",
             "bench_multiturn.py", "token_benchmark_ray.py",
             "trace_replay_tester.py", "simulate_hash_block_mode.py", "isb1_to_kvcache_tester.py",
             "ShareGPT_V3_unfiltered_cleaned_split.json"}  # fmt: skip
KNOWN = WRITTEN | GIVEN | OF_MODELS | OF_OTHERS


def literals_of(path):
    """The program's texts, as tests/tidy/strings finds them."""
    loader = importlib.machinery.SourceFileLoader("strings", str(TREE / "tests" / "tidy" / "strings"))
    spec = importlib.util.spec_from_loader("strings", loader)
    strings = importlib.util.module_from_spec(spec)
    loader.exec_module(strings)
    return strings.literals(path.read_text())


def texts():
    """(where, text) of everything that a user can see."""
    for folder in ("cmd", "engine", "proto"):
        for path in sorted((TREE / folder).rglob("*.[ch]pp")):
            for line, text in literals_of(path):
                yield f"{path.relative_to(TREE)}:{line}", text.replace("\\n", "\n")
    yield str(TOOLS.relative_to(TREE)), re.sub(r"^#.*$", "", TOOLS.read_text(), flags=re.MULTILINE)
    for folder in PAGES:
        for path in sorted((TREE / folder).iterdir()):
            text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
            yield str(path.relative_to(TREE)), text


def shipped():
    """Name and path of each, as the build has them."""
    return dict(re.findall(r'^ +"([^|"]+)\|[^|"]+\|([^|"]+)"', LIST.read_text(), re.MULTILINE))


def without_links(page):
    """The words of a page alone."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page)


class ShippedFiles(Case):
    def test_they_are_printed_as_they_are(self):
        listed = call("help").stdout.split("prints:\n")[1].split("\n\n")[0]
        self.assertEqual(re.findall(r"^  (\S+)", listed, re.MULTILINE), list(shipped()))
        page = call("help", "--man").stdout.replace("\\-", "-")
        for name, path in shipped().items():
            printed = call("help", name).stdout
            if name.endswith(".md"):
                self.assertEqual(without_links(printed), without_links((TREE / path).read_text()), name)
            else:
                self.assertEqual(printed.encode(), (TREE / path).read_bytes(), name)
            self.assertIn(f"\\fB{name}\\fR", page)

    def test_each_schema_and_manifest_is_there(self):
        """So that a new one is not forgotten."""
        paths = {path for folder in ("cmd", "engine", "proto") for path in (TREE / folder).rglob("*.schema.json")}
        paths |= {*(TREE / "cmd" / "flags" / "rules").glob("*.toml"), *(TREE / "proto" / "metrics").glob("*.toml")}
        paths |= {path for path in (TREE / "cmd" / "cluster").iterdir()} | {TREE / "cmd/containers/seccomp.json"}
        self.assertLessEqual({str(path.relative_to(TREE)) for path in paths}, set(shipped().values()))

    def test_no_text_names_a_file_that_only_the_sources_have(self):
        named = set()
        for where, text in texts():
            for line in text.splitlines():
                if "#include" in line or "github.com/" in line:
                    continue
                self.assertEqual(FOLDER.findall(line), [], f"{where}: name it as `driftless help NAME` prints it")
                for found in FILE.findall(line):
                    name = found.rsplit("/", 1)[-1]
                    if name.startswith(".") and name.count(".") == 1:
                        continue  # an ending alone
                    named.add(name)
                    self.assertTrue(name in KNOWN or name in shipped(),
                                    f"{where} names {name}: list it in cmd/help/files.cmake, or here")  # fmt: skip
        self.assertLessEqual({"seccomp.json", "containers.md", "rules.md", "metrics.md", "templates.md"}, named)
        self.assertEqual(KNOWN - named, set(), "no text names these")

    def test_no_shipped_file_needs_the_sources(self):
        """Other projects have a README, too."""
        for name in shipped():
            text = re.sub(r".*github\.com/.*", "", call("help", name).stdout)
            self.assertEqual(FOLDER.findall(text) + re.findall("README", text), [], name)

    def test_links_of_pages_lead_to_what_is_shipped(self):
        """A link into the page itself, to a file that `help` prints, or to the web."""
        found = set()
        for name in (one for one in shipped() if one.endswith(".md")):
            page = call("help", name).stdout
            heads = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")
                     for head in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}  # fmt: skip
            for target in LINK.findall(page):
                path, _, anchor = target.partition("#")
                if path:
                    self.assertTrue(path in shipped() or path.startswith("https://"), f"{name}: {target}")
                    found.add(path)
                else:
                    self.assertIn(anchor, heads, name)
        self.assertLessEqual({"records.md", "run.ipynb", "seccomp.json"}, found)

    def test_pages_say_how_to_get_what_they_name(self):
        """A page in a terminal has no links: the files that it leads to are printed, too."""
        for name, what in (("containers.md", "help seccomp.json"), ("cluster.md", "help job.yaml"),
                           ("rules.md", "help agentx.toml"), ("metrics.md", "help vllm.toml")):  # fmt: skip
            self.assertIn(f"driftless {what}", call("help", name).stdout)


if __name__ == "__main__":
    unittest.main()
