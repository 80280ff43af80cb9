"""Runs SGLang's clients out of its wheel: `native` (Rust), or `python` (sglang.benchmark.serving).

The package itself asks for torch and a GPU's libraries when it is imported, of which the clients use
nothing. So empty packages stand in for those above them, and for the one constant that they take.
"""

import importlib.util
import pathlib
import sys
import sysconfig
import types

ROOT = pathlib.Path(sysconfig.get_path("purelib")) / "sglang"


def stand_in(name, folder, **members):
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    module.__dict__.update(members)
    sys.modules[name] = module


def native(arguments):
    path = next((ROOT / "srt/rust_extensions").glob("_bench*.so"))
    spec = importlib.util.spec_from_file_location("_bench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.run_argv(["sglang-bench", *arguments])


def python(arguments):
    for name, folder in (("sglang", ""), ("sglang.srt", "srt"), ("sglang.srt.utils", "srt/utils")):
        stand_in(name, ROOT / folder)
    stand_in("sglang.srt.disaggregation", ROOT / "nowhere")
    stand_in("sglang.srt.disaggregation.utils", ROOT / "nowhere", FAKE_BOOTSTRAP_HOST="2.2.2.2")
    sys.argv = ["serving.py", *arguments]
    from sglang.benchmark.serving import cli_main
    cli_main()


if __name__ == "__main__":
    {"native": native, "python": python}[sys.argv[1]](sys.argv[2:])
