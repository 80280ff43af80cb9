"""The servers by name; each yields '' or what is wrong, run by run."""

from servers import engines, fakes, gateways, llama

SERVERS = {
    "llama.cpp": llama.llama_cpp,
    "xllamacpp": llama.xllamacpp,
    "litellm": gateways.litellm,
    "fakellm": fakes.fakellm,
    "aimock": fakes.aimock,
    "vllm": engines.vllm,
    "sglang": engines.sglang,
    "transformers": engines.transformers,
    "dynamo": gateways.dynamo,
    "sglang-router": gateways.sglang_router,
    "llm-d-sim": fakes.llm_d_sim,
}
