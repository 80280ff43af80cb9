#include "engine/views/view.hpp"

#include <algorithm>
#include <array>

namespace driftless {

namespace {

constexpr std::array views{
    View{"vllm", "vllm 0.32.0, bench serve", "vLLM's bench serve", vllm_view},
    View{"sglang", "sglang 0.5.23, bench_serving", "SGLang's bench_serving", sglang_view},
    View{"aiperf", "aiperf 0.13.0", "AIPerf", aiperf_view},
    View{"guidellm", "guidellm 0.8.1", "GuideLLM", guidellm_view},
    View{"genai-perf", "genai-perf 0.0.16", "GenAI-Perf", genai_perf_view},
    View{"genai-bench", "genai-bench 0.0.5", "genai-bench", genai_bench_view},
    View{"inference-perf", "inference-perf 0.7.0", "inference-perf", inference_perf_view},
    View{"trace-replayer", "trace-replayer 84c9193a", "trace-replayer of blitz",
         trace_replayer_view},
    View{"loadgen", "loadgen 6.0.17, Server scenario", "MLPerf LoadGen", loadgen_view},
    View{"inferencex", "InferenceX 843c6254, agentic aggregate", "InferenceX, agentic",
         inferencex_view},
    View{"inferencex-fixed", "InferenceX 843c6254, fixed length", "InferenceX, fixed length",
         inferencex_fixed_view},
    View{"llm-d", "llm-d benchmark report 0.2.1", "llm-d's report, of vLLM's figures", llmd_view},
};

}  // namespace

std::span<const View> all_views() {
    return views;
}

const View* find_view(std::string_view name) {
    const auto* found = std::find_if(views.begin(), views.end(),
                                     [name](const View& view) { return view.name == name; });
    return found == views.end() ? nullptr : found;
}

}  // namespace driftless
