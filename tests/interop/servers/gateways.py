"""What stands before servers: LiteLLM, NVIDIA Dynamo, SGLang's router."""

import contextlib
import json

from bench import ALONE, IDS, free_port
from servers.llama import server_in_python


def litellm(bench):
    """A gateway before llama.cpp. It keeps connections that llama.cpp ends: requests may fail between
    the two. Its anthropic API asks for 16 tokens at least, without ignore_eos: not held here."""
    program = bench.python("litellm", "litellm[proxy]==1.106.2") / "litellm"
    key = "sk-interop-0123456789abcdef0123456789abcdef"
    with server_in_python(bench) as behind:
        config = bench.work / "litellm.yaml"
        model = {"model": "openai/tiny", "api_base": f"{behind}/v1", "api_key": "none"}
        config.write_text(json.dumps({  # JSON is YAML
            "model_list": [{"model_name": "tiny", "litellm_params": model}],
            "general_settings": {"master_key": key}}))
        port = free_port()
        command = (program, "--config", config, "--host", "127.0.0.1", "--port", port)
        with bench.server("litellm", port, *command, ready="/health/liveliness",
                          LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="ERROR") as url:
            for title, *flags in (
                ("openai-chat", "--api", "openai-chat"),
                ("openai-completions, text", "--api", "openai-completions"),
                ("openai-completions, ids", "--api", "openai-completions", *IDS),
            ):
                yield bench.replay(title, url, *flags, "--api-key", key, faults=("http_5xx",), speed=1,
                                   rows=60)


def dynamo(bench):
    """The frontend lists no model until the mocker is there: driftless waits for it."""
    python = bench.python("dynamo", "ai-dynamo==1.4.2") / "python"
    model = bench.model()
    shared = bench.work / "dynamo-kv"
    shared.mkdir(exist_ok=True)
    settings = {**ALONE, "DYN_FILE_KV": str(shared)}
    planes = ("--discovery-backend", "file", "--request-plane", "tcp", "--event-plane", "zmq")
    port, system = free_port(), free_port()
    frontend = (python, "-m", "dynamo.frontend", *planes, "--router-mode", "kv", "--http-port", port,
                "--enable-anthropic-api")
    mocker = (python, "-m", "dynamo.mocker", "--model-path", model, "--model-name", "tiny", *planes,
              "--num-gpu-blocks-override", 4096, "--block-size", 16)
    with bench.server("dynamo-frontend", port, *frontend, **settings) as url, \
            bench.server("dynamo-mocker", system, *mocker, ready="/metrics", DYN_SYSTEM_PORT=str(system),
                         **settings):
        template = ("--overhead", "4,9")  # no cached tokens are told, by which the split is found
        for title, *flags in (
            ("openai-chat", "--api", "openai-chat", *template),
            ("dynamo", "--api", "dynamo", *template),
            ("openai-responses", "--api", "openai-responses", *template),
            ("anthropic", "--api", "anthropic", *template),
            ("openai-completions", "--api", "openai-completions"),
            ("openai-completions, ids", "--api", "openai-completions", *IDS),
            ("dynamo, ids", "--api", "dynamo", *IDS),
        ):
            yield bench.replay(title, url, *flags, "--wait-ready", 120, "--cache-salt", title)


@contextlib.contextmanager
def mock(bench):
    """Our own, as the server behind a gateway."""
    port = free_port()
    with bench.server("mock", port, bench.flags.driftless, "mock", "--listen",
                      f"127.0.0.1:{port}", "--cache-block", 16, "--overhead", "3,5") as url:
        yield url


def sglang_router(bench):
    """Before our mock; it names its model "unknown"."""
    python = bench.python("sglang-router", "sglang-router==0.3.2") / "python"
    with mock(bench) as behind:
        port = free_port()
        command = (python, "-m", "sglang_router.launch_router", "--worker-urls", behind, "--host",
                   "127.0.0.1", "--port", port, "--prometheus-port", free_port())
        with bench.server("sglang-router", port, *command, ready="/health", **ALONE) as url:
            template = ("--server-block", 16, "--overhead", "3,5")  # the mock's, in every API
            for title, *flags in (
                ("openai-chat", "--api", "openai-chat"),
                ("openai-chat, blocks told", "--api", "openai-chat", "--server-block", 16),
                ("openai-completions", "--api", "openai-completions", *template),
                ("sglang", "--api", "sglang", *template),
            ):
                yield bench.replay(title, url, *flags, "--model", "mock-model", "--cache-salt", title,
                                   cached=True)
