/// What flags of `vllm bench serve`, SGLang's bench_serving and GuideLLM mean together.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

/// Of vllm bench serve and of SGLang's, which was made of it: headers, names, lengths of answers.
void finish_serving(Line& line) {
    add_headers(line, line.get("--header"));
    finish_tokenizer(line);
    if (line.has("--served-model-name")) {
        set_argument(line, "--model", line.get("--served-model-name"));
    }
    const std::string length = line.get("--custom-output-len", line.get("--sharegpt-output-len"));
    if (line.makes_rows) {
        note_unused({"--custom-output-len", "--sharegpt-output-len"},
                    "synthetic answers have a length of their own", line);
    } else if (!length.empty()) {
        add_default(line, "--default-output", length);
    }
}

/// `--dataset-name timed_trace`: keys of the file, its unit, and the size of its blocks.
void finish_timed_trace(Line& line) {
    if (line.data_set != "timed_trace") {
        note_unused({"--timed-trace-chunk-hash-size", "--timed-trace-sec-multiplier",
                     "--timed-trace-label-timestamp", "--timed-trace-label-input-length",
                     "--timed-trace-label-output-length", "--timed-trace-label-hash-ids",
                     "--no-self-timed"},
                    "the data set is not timed_trace", line);
        return;
    }
    const std::string unit = line.get("--timed-trace-sec-multiplier", "1");
    if (unit != "1" && unit != "1.0" && unit != "0.001" && unit != "1e-3") {
        refuse_line(
            line, "--timed-trace-sec-multiplier " + unit +
                      ": is not 1 (seconds) or 0.001 (milliseconds); use --time-unit and --speed");
    }
    add_flag(line, "--map",
             "time=" + line.get("--timed-trace-label-timestamp", "timestamp") +
                 ",in=" + line.get("--timed-trace-label-input-length", "input_length") +
                 ",out=" + line.get("--timed-trace-label-output-length", "output_length") +
                 ",hashes=" + line.get("--timed-trace-label-hash-ids", "hash_ids"));
    add_flag(line, "--time-unit", unit == "1" || unit == "1.0" ? "s" : "ms");
    add_default(line, "--block-size", line.get("--timed-trace-chunk-hash-size", "16"));
    line.lacks_times = line.has("--no-self-timed");
}

void finish_labels(Line& line) {
    if (line.has("--label")) {
        add_flag(line, "--label", "label=" + line.get("--label"));
    }
    std::string pairs = line.get("--metadata");
    while (!pairs.empty()) {
        const std::string pair = pairs.substr(0, pairs.find(' '));
        pairs.erase(0, pair.size() + 1);
        add_flag(line, "--label", pair);
    }
}

}  // namespace

void finish_vllm(Line& line) {
    line.goes_round = !line.has("--no-oversample");
    if (!line.goes_round) {
        add_note(line, "--no-oversample: no row is sent twice");
    }
    add_members(line, members_of(line), line.get("--extra-body"));
    finish_timed_trace(line);
    finish_labels(line);
    finish_serving(line);
    add_default(line, "--api", "openai-completions");
    add_default_server(line, "8000");
}

namespace {

/// Its default API is its own, at its own port.
void finish_server(Line& line) {
    const std::string typed = argument_of(line, "--api");
    if (typed.empty() || typed == "sglang-native") {
        set_argument(line, "--api", "sglang");
    } else if (typed == "lmdeploy" || typed == "lmdeploy-chat") {
        set_argument(line, "--api", typed == "lmdeploy" ? "openai-completions" : "openai-chat");
    }
    add_default_server(line, typed == "vllm" ? "8000" : typed == "lmdeploy" ? "23333" : "30000");
}

/// Of its own API the parameters of sampling are in an object, which a member would replace.
void finish_sampling(std::string& members, Line& line) {
    const std::string temperature = line.get("--temperature", "0");
    const std::string top = line.get("--top-p", "1");
    if (argument_of(line, "--api") != "sglang") {
        if (line.has("--temperature")) {
            extend_members(members, "temperature", temperature);
        }
        if (line.has("--top-p")) {
            extend_members(members, "top_p", top);
        }
    } else if (is_positive(temperature) || (top != "1" && top != "1.0")) {
        refuse_line(line,
                    "--temperature and --top-p: requests to the sglang API ask for greedy answers; "
                    "use --backend sglang-oai");
    } else {
        note_unused({"--temperature", "--top-p"},
                    "requests to the sglang API ask for greedy answers anyway", line);
    }
}

void finish_sglang_body(Line& line) {
    std::string members;
    finish_sampling(members, line);
    const bool own = argument_of(line, "--api") == "sglang";
    const std::string top = line.get("--top-logprobs-num", "0");
    if (!own || !line.has("--return-logprob")) {
        note_unused({"--logprob-start-len", "--token-ids-logprob"},
                    "it needs --return-logprob and the sglang API", line);
    }
    if (!line.has("--return-logprob") || (!own && top == "0")) {
        note_unused({"--top-logprobs-num", "--return-logprob"}, "each implies the other", line);
    }
    if (line.has("--return-logprob") && own) {
        extend_members(members, "return_logprob", "true");
        extend_members(members, "top_logprobs_num", top);
        extend_members(members, "logprob_start_len", line.get("--logprob-start-len", "-1"));
    } else if (line.has("--return-logprob") && top != "0") {
        extend_members(members, "logprobs", top);
    }
    if (line.has("--token-ids-logprob") && line.has("--return-logprob") && own) {
        std::string ids = line.get("--token-ids-logprob");
        for (char& c : ids) {
            c = c == ' ' ? ',' : c;
        }
        members +=
            (members.empty() ? "" : ",") + std::string("\"token_ids_logprob\":[") + ids + "]";
    }
    if (line.has("--return-routed-experts")) {
        extend_members(members, "return_routed_experts", "true");
    }
    if (line.has("--fake-prefill")) {
        extend_members(members, "bootstrap_host", "2.2.2.2");
        extend_members(members, "bootstrap_room", "0");
    }
    add_members(line, members, line.get("--extra-request-body"));
}

}  // namespace

void finish_sglang(Line& line) {
    finish_server(line);
    finish_sglang_body(line);
    finish_serving(line);
    if (line.has("--apply-chat-template")) {
        add_note(line, argument_of(line, "--api").ends_with("chat")
                           ? "--apply-chat-template is ignored: the server applies its template"
                           : "--apply-chat-template is ignored: prompts are words without a "
                             "template; --backend sglang-oai-chat has the server apply its own");
    }
    if (line.has("--disable-ignore-eos")) {
        add_default(line, "--output", "cap");
    }
    if (line.has("--tokenize-prompt")) {
        add_default(line, "--prompt", "ids");
    }
    if (line.has("--tag")) {
        add_flag(line, "--label", "tag=" + line.get("--tag"));
    }
}

namespace {

/// "kind=static,value=42", JSON, or the seed alone.
std::string seed_of(const std::string& text) {
    const std::string value = config_value(text, "value");
    return value.empty() && text.find('=') == text.npos ? text : value;
}

/// "kind=pytorch,samples=1000": rows are the first so many.
void finish_loader(Line& line) {
    const std::string loader = line.get("--data-loader");
    const std::string samples = config_value(loader, "samples");
    if (config_value(loader, "shuffle") == "true") {
        refuse_line(line, "--data-loader \"" + loader +
                              "\": rows keep the order of the file; remove shuffle");
    } else if (!samples.empty() && samples != "-1") {
        add_default(line, "--limit", samples);
    } else if (!loader.empty()) {
        add_note(line, "--data-loader " + loader + " is ignored: " + reason_of("by_the_engine"));
    }
}

}  // namespace

void finish_guidellm(Line& line) {
    if (const std::string api = argument_of(line, "--api");
        api == "openai_http" || api == "openai") {
        set_argument(line, "--api", "openai-chat");
    }
    finish_loader(line);
    if (const std::string seed = seed_of(line.get("--seed")); !seed.empty()) {
        add_flag(line, "--seed", seed);
    }
    if (const std::string samples = line.get("--data-samples"); samples == "-1") {
        add_note(line, "--data-samples -1 is ignored: all samples are the default");
    } else if (!samples.empty()) {
        add_flag(line, "--limit", samples);
    }
    if (line.get("--tokenizer").starts_with("kind=")) {
        add_note(line, "--tokenizer " + line.get("--tokenizer") +
                           " is ignored: words of one token each need none; --tokenizer FILE takes "
                           "the model's own");
    } else {
        finish_tokenizer(line);
    }
    if (line.has("--max-errors")) {
        add_flag(line, "--stop-when", "failed >= " + line.get("--max-errors"));
    }
    if (line.has("--max-error-rate")) {
        add_flag(line, "--stop-when", "errors >= " + percent_of(line.get("--max-error-rate")));
    }
}

}  // namespace driftless
