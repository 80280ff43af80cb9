"""llama.cpp: built from the sources that PyPI has, or inside Python (xllamacpp)."""

import contextlib
import os
import shutil
import sys

from bench import ALONE, HERE, IDS, Skipped, call, free_port


def build_llama_server(bench):
    """From the sources that llama-cpp-python carries; only what the server needs."""
    built = bench.work / "llama/bin/llama-server"
    if built.exists():
        return built
    if shutil.which("cmake") is None:
        raise Skipped("cmake is not here")
    sources = bench.work / "sources"
    log = bench.work / "llama-build.log"
    if not list(sources.glob("llama_cpp_python-*/vendor")):
        call(sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "-d",
             sources, "llama-cpp-python", log=log)
        call("tar", "xzf", next(sources.glob("llama_cpp_python-*.tar.gz")), "-C", sources, log=log)
    tree = next(sources.glob("llama_cpp_python-*/vendor/llama.cpp"))
    call("cmake", "-S", tree, "-B", bench.work / "llama", "-DCMAKE_BUILD_TYPE=Release",
         "-DBUILD_SHARED_LIBS=OFF", "-DGGML_OPENMP=OFF", "-DLLAMA_OPENSSL=OFF",
         "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_BUILD_TESTS=OFF",
         "-DLLAMA_BUILD_EXAMPLES=OFF", log=log)
    call("cmake", "--build", bench.work / "llama", "--target", "llama-server", "-j",
         os.cpu_count(), log=log)
    return built


def gguf_model(bench):
    python = bench.python("gguf", "gguf==0.19.0", "numpy") / "python"
    model = bench.work / "tiny.gguf"
    call(python, HERE / "model.py", model, bench.words(), log=bench.work / "model.log")
    return model


@contextlib.contextmanager
def llama_server(bench):
    """llama.cpp's server with the small model, and its URL."""
    server = bench.flags.llama_server or build_llama_server(bench)
    port = free_port()
    command = (server, "-m", gguf_model(bench), "--host", "127.0.0.1", "--port", port, "-np", "2",
               "-c", 16384, "-t", "1", "--metrics")
    with bench.server("llama.cpp", port, *command, ready="/health") as url:
        yield url


def every_api(bench, url):
    template = ("--api", "template", "--template", HERE.parent / "data/templates/llamacpp.json")
    for title, *flags in (
        ("llamacpp, text", "--api", "llamacpp"),
        ("llamacpp, ids", "--api", "llamacpp", *IDS),
        ("llamacpp, whole", "--api", "llamacpp", "--no-stream"),
        ("openai-completions, text", "--api", "openai-completions"),
        ("openai-completions, ids", "--api", "openai-completions", *IDS),
        ("openai-chat", "--api", "openai-chat"),
        ("openai-chat, whole", "--api", "openai-chat", "--no-stream"),
        ("openai-responses", "--api", "openai-responses"),
        ("anthropic", "--api", "anthropic"),
        ("template, text", *template),
        ("template, ids", *template, *IDS),
        ("template, whole", *template, "--no-stream"),
    ):
        # message_start, with the prompt's count, does not come before half a character
        yield bench.replay(title, url, *flags, counted=title != "anthropic")


def llama_cpp(bench):
    with llama_server(bench) as url:
        yield from every_api(bench, url)


@contextlib.contextmanager
def server_in_python(bench):
    """The same server of the same APIs, without a program of its own: a wheel, where the sources take
    half an hour to build."""
    python = bench.python("xllamacpp", "xllamacpp==2026.10.11549") / "python"
    port = free_port()
    with bench.server("xllamacpp", port, python, HERE / "servers/xllamacpp_server.py", gguf_model(bench),
                      port, ready="/health", **ALONE) as url:
        yield url


def xllamacpp(bench):
    with server_in_python(bench) as url:
        yield from every_api(bench, url)
