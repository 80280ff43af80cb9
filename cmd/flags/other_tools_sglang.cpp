/// The flags of `python3 -m sglang.bench_serving` (0.5.23: benchmark/serving.py), but for those of
/// rates and of synthetic data sets, which several tools share.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

constexpr const char* one_thread = "one thread sends, and its lateness is in every record";

constexpr ToolFlag sglang_flags[] = {
    {"--speed-bench-category|--speed-bench-output-len|--agentic-max-turns|--image-count|"
     "--image-resolution|--image-format|--image-content",
     Values::one, Becomes::nothing, other_set},
    {"--random-image-count", Values::none, Becomes::nothing, other_set},
    {"--dataset-offset", Values::one, Becomes::refused,
     "every row counts from the first; --start T leaves out rows before a time", "0"},
    {"--served-model-name", Values::one, Becomes::together},
    {"--tokenizer", Values::one, Becomes::together},
    {"--sharegpt-output-len", Values::one, Becomes::together},
    {"--sharegpt-context-len", Values::one, Becomes::flag, "--max-context"},
    {"--output-file", Values::one, Becomes::nothing, in_the_folder},
    {"--output-details", Values::none, Becomes::nothing, in_the_folder},
    {"--print-requests", Values::none, Becomes::nothing,
     "--save-prompts FILE writes bodies, --save-responses N answers"},
    {"--disable-stream", Values::none, Becomes::flag, "--no-stream"},
    {"--return-logprob", Values::none, Becomes::together},
    {"--top-logprobs-num", Values::one, Becomes::together},
    {"--token-ids-logprob", Values::many, Becomes::together},
    {"--logprob-start-len", Values::one, Becomes::together},
    {"--return-routed-experts", Values::none, Becomes::together},
    {"--cache-report", Values::none, Becomes::nothing,
     "cached tokens are always read if the server reports them"},
    {"--disable-ignore-eos", Values::none, Becomes::together},
    {"--temperature", Values::one, Becomes::together},
    {"--top-p", Values::one, Becomes::together},
    {"--extra-request-body", Values::one, Becomes::together},
    {"--apply-chat-template", Values::none, Becomes::together},
    {"--profile|--profile-by-stage|--pd-separated", Values::none, Becomes::nothing, by_event},
    {"--profile-activities|--profile-stages|--profile-prefill-url|--profile-decode-url",
     Values::many, Becomes::nothing, by_event},
    {"--profile-start-step|--profile-steps|--profile-num-steps|--profile-output-dir|"
     "--profile-prefix",
     Values::one, Becomes::nothing, by_event},
    {"--plot-throughput", Values::none, Becomes::nothing,
     "periods.jsonl has the throughput over time"},
    {"--lora-name", Values::many, Becomes::refused, no_adapters},
    {"--lora-request-distribution", Values::one, Becomes::refused, no_adapters, "uniform"},
    {"--lora-zipf-alpha", Values::one, Becomes::nothing, "requests name no adapters"},
    {"--prompt-suffix", Values::one, Becomes::refused,
     "prompts have exactly the requested lengths; remove it"},
    {"--flush-cache", Values::none, Becomes::flag, "--reset-cache"},
    {"--flush-cache-timeout", Values::one, Becomes::nothing,
     "use --reset-cache, which also checks that the cache is empty"},
    {"--warmup-requests", Values::one, Becomes::nothing, no_warm_up},
    {"--tokenize-prompt", Values::none, Becomes::together},
    {"--gsp-send-routing-key", Values::none, Becomes::refused,
     "synthetic rows have no key; --session-headers agentx sends session ids to routers"},
    {"--fake-prefill", Values::none, Becomes::together},
    {"--tag", Values::one, Becomes::together},
    {"--header", Values::many, Becomes::together},
    {"--rust-client", Values::none, Becomes::nothing, one_thread},
    {"--rust-worker-threads", Values::one, Becomes::nothing, one_thread},
};

/// Its default API is its own, at its own port.
void finish_server(Spelled& out) {
    const std::string typed = argument_of(out, "--api");
    if (typed.empty() || typed == "sglang-native") {
        set_argument(out, "--api", "sglang");
    } else if (typed == "lmdeploy" || typed == "lmdeploy-chat") {
        set_argument(out, "--api", typed == "lmdeploy" ? "openai-completions" : "openai-chat");
    }
    add_default_server(out, typed == "vllm" ? "8000" : typed == "lmdeploy" ? "23333" : "30000");
}

/// Of its own API the parameters of sampling are in an object, which a member would replace.
void finish_sampling(const KeptFlags& kept, std::string& members, Spelled& out) {
    const std::string temperature = kept.get("--temperature", "0");
    const std::string top = kept.get("--top-p", "1");
    if (argument_of(out, "--api") != "sglang") {
        if (kept.has("--temperature")) {
            extend_members(members, "temperature", temperature);
        }
        if (kept.has("--top-p")) {
            extend_members(members, "top_p", top);
        }
    } else if (is_positive(temperature) || (top != "1" && top != "1.0")) {
        refuse_line(out,
                    "--temperature and --top-p: requests to the sglang API ask for greedy answers; "
                    "use --backend sglang-oai");
    } else {
        note_unused(kept, {"--temperature", "--top-p"},
                    "requests to the sglang API ask for greedy answers anyway", out);
    }
}

void finish_sglang_body(const KeptFlags& kept, Spelled& out) {
    std::string members;
    finish_sampling(kept, members, out);
    const bool own = argument_of(out, "--api") == "sglang";
    const std::string top = kept.get("--top-logprobs-num", "0");
    if (!own || !kept.has("--return-logprob")) {
        note_unused(kept, {"--logprob-start-len", "--token-ids-logprob"},
                    "it needs --return-logprob and the sglang API", out);
    }
    if (!kept.has("--return-logprob") || (!own && top == "0")) {
        note_unused(kept, {"--top-logprobs-num", "--return-logprob"}, "each implies the other",
                    out);
    }
    if (kept.has("--return-logprob") && own) {
        extend_members(members, "return_logprob", "true");
        extend_members(members, "top_logprobs_num", top);
        extend_members(members, "logprob_start_len", kept.get("--logprob-start-len", "-1"));
    } else if (kept.has("--return-logprob") && top != "0") {
        extend_members(members, "logprobs", top);
    }
    if (kept.has("--token-ids-logprob") && kept.has("--return-logprob") && own) {
        std::string ids = kept.get("--token-ids-logprob");
        for (char& c : ids) {
            c = c == ' ' ? ',' : c;
        }
        members +=
            (members.empty() ? "" : ",") + std::string("\"token_ids_logprob\":[") + ids + "]";
    }
    if (kept.has("--return-routed-experts")) {
        extend_members(members, "return_routed_experts", "true");
    }
    if (kept.has("--fake-prefill")) {
        extend_members(members, "bootstrap_host", "2.2.2.2");
        extend_members(members, "bootstrap_room", "0");
    }
    add_members_beside(out, members, kept.get("--extra-request-body"));
}

void finish_sglang(const KeptFlags& kept, Spelled& out) {
    finish_server(out);
    finish_sglang_body(kept, out);
    finish_serving(kept, out);
    if (kept.has("--apply-chat-template")) {
        add_note(out, argument_of(out, "--api").ends_with("chat")
                          ? "--apply-chat-template is ignored: the server applies its template"
                          : "--apply-chat-template is ignored: prompts are words without a "
                            "template; --backend sglang-oai-chat has the server apply its own");
    }
    if (kept.has("--disable-ignore-eos")) {
        add_default(out, "--output", "cap");
    }
    if (kept.has("--tokenize-prompt")) {
        add_default(out, "--prompt", "ids");
    }
    if (kept.has("--tag")) {
        add_flag(out, "--label", "tag=" + kept.get("--tag"));
    }
}

}  // namespace

const ToolTable& sglang_table() {
    static constexpr ToolTable table{sglang_flags, finish_sglang};
    return table;
}

}  // namespace driftless
