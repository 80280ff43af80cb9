#include "cmd/base/values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/mock/mock.hpp"

namespace driftless::mock {

namespace {

constexpr const char* description =
    "A mock inference server to rehearse against. It speaks every API that replay does, streamed\n"
    "or not. It has a prefix cache, batch slots, deliberate faults and a log of what happened.\n";

constexpr const char* footer =
    R"(Durations are 90, 1.5s, 250ms, 5us or 250ns; a bare number is seconds.
Kinds of faults: refuse, reset, stall, truncate, malformed, error, 429, 500, slow. A row is the
number at the end of X-Request-Id.

Examples:
  driftless mock
  driftless mock --listen 127.0.0.1:0 --ttft 20ms --ttft-per-token 1us --itl 8ms --log truth.jsonl
  driftless mock --tokenizer tokenizer.json --overhead 3,5
  driftless mock --slots 64 --cache-block 16 --cache-capacity 40000 --overhead 3,5
  driftless mock --itl 12ms --batch-slowdown 0.02 --prefill-rate 20000 --step-tokens 2048   # a GPU
  driftless mock --fault reset:0.01 --fault 429:0.02 --fault-row stall:17 --seed 4

Exit codes: 0 done, 2 usage, 7 the host lacks something or fails.)";

/// Flags that fill no field of the options by themselves.
struct Raw {
    ListenAt listen;
    std::optional<std::uint16_t> port;
    std::vector<FaultRule> by_row;
    JoinedWords joined;
    std::vector<std::string> split_first;
};

void add_server_flags(Flags& flags, MockOptions& options, Raw& raw) {
    ServerOptions& server = options.server;
    flags.group("Server");
    flags.value("--listen", "ADDR:PORT", "where to listen; port 0: a free one, printed",
                "127.0.0.1:8000", parse_listen, raw.listen);
    flags.value("--port", "N", "port only, instead of the one in --listen", nullptr, parse_port,
                raw.port);
    flags.value("--backlog", "N", "connections waiting to be accepted", "4096",
                parse_positive_number, server.backlog);
    flags.value("--keep-alive-requests", "N", "answers per connection; 0: no limit", "0",
                parse_number, options.core.keep_alive_requests);
    flags.value("--keep-alive-timeout", "T", "idle connections are closed after T; 0: never", "0",
                parse_delay, options.core.keep_alive_timeout);
    flags.on_off("--keep-alive-silent", "do not announce these two limits in answers",
                 options.core.announce_keep_alive, false);
    flags.value("--tls-cert", "FILE", "speak https: PEM chain of the certificate", nullptr,
                parse_name, options.tls.cert_file);
    flags.value("--tls-key", "FILE", "PEM of the certificate's key [in --tls-cert]", nullptr,
                parse_name, options.tls.key_file);
    flags.value("--cpu", "N", "pin the serving thread to this CPU [not pinned]", nullptr,
                parse_number, options.cpu);
    flags.value("--wait", "HOW", "spin, hybrid or sleep until the next token is due", "hybrid",
                wait_choices, server.wait);
    flags.value("--max-requests", "N", "exit after this many requests; 0: never", "0", parse_count,
                server.requests_max);
    flags.value("--log", "FILE", "JSONL file for what truly happened to every request", nullptr,
                parse_name, options.log_path);
    flags.value("--log-headers", "A,B,..",
                "request header fields to log [X-Session-ID and the like]", nullptr,
                parse_header_names, options.core.session_headers);
    flags.value("--check-history", "REPLIES",
                "count which of the last N replies return in histories; 0: none", "0", parse_number,
                options.core.check_history);
}

void add_model_flags(Flags& flags, MockOptions& options) {
    CoreOptions& core = options.core;
    flags.group("Model");
    flags.value("--model", "NAME", "model name", "mock-model", parse_name, core.model.name);
    flags.value("--owned-by", "NAME", "owner of the model in /v1/models", "driftless-mock",
                parse_name, core.model.owned_by);
    flags.value("--max-model-len", "TOKENS", "most tokens of prompt and answer together", "1048576",
                parse_positive_number, core.model.context_tokens);
    flags.value("--overhead", "PRE,POST",
                "template tokens around every text prompt, none around ids", "0,0", parse_template,
                core.overhead);
    flags.value("--tokenizer", "FILE", "tokenizer.json to count prompts with [words]", nullptr,
                parse_name, options.tokenizer);
    flags.value("--tokenize", "FORM", "kind of /tokenize: {}", "vllm", tokenize_choices,
                core.tokenize);
    flags.value("--reasoning", "TOKENS", "first tokens of a chat answer, sent as reasoning", "0",
                parse_number, core.reasoning_tokens);
    flags.on_off("--incremental", "SGLang events carry only new text, not all so far",
                 core.incremental);
    flags.value("--metrics", "NAMES", "metric names of /metrics: {}", "both", metric_choices,
                core.metric_names);
    flags.value("--pod", "NAME", "value of the target-pod header of answers [none]", nullptr,
                parse_header_text, core.pod);
    flags.value("--headers", "WHEN", "early: headers leave at once; late: with the first token",
                "early", header_choices, core.early_headers);
    flags.value("--seed", "N", "seed of words, jitter and faults", "0", parse_count, core.seed);
}

void add_pace_flags(Flags& flags, CoreOptions& core) {
    Pace& pace = core.pace;
    flags.group("Pace");
    flags.value("--ttft", "T", "time to the first token", "5ms", parse_delay, pace.first);
    flags.value("--ttft-per-token", "T", "added for each prompt token that is not cached", "0ns",
                parse_delay, pace.per_uncached_token);
    flags.value("--itl", "T", "time from token to token", "10ms", parse_delay, pace.between);
    flags.value("--jitter", "SHARE", "vary each delay by a seeded factor of 1 +- this", "0",
                parse_share, pace.jitter);
    flags.value("--tokens-per-chunk", "N", "tokens sent together, N x --itl apart", "1",
                parse_positive_number, pace.tokens_per_chunk);
    flags.value("--batch-slowdown", "SHARE",
                "a step takes --itl plus this share for each other request", "0", parse_share,
                pace.batch_slowdown);
    flags.value("--prefill-rate", "TOKENS",
                "uncached prompt tokens per second, added to their step", "0", parse_count,
                pace.prefill_tokens_per_s);
    flags.value("--step-tokens", "N", "most tokens per step, splitting prompts; 0: no limit", "0",
                parse_number, pace.step_tokens);
    flags.value("--slots", "N", "answers at a time, more wait; 0: all", "0", parse_number,
                core.slots);
    flags.value("--cache-block", "TOKENS", "block of the prefix cache; 0: no cache", "512",
                parse_number, core.cache_block_tokens);
    flags.value("--cache-capacity", "BLOCKS", "blocks, least recently used evicted; 0: no limit",
                "0", parse_number, core.cache_blocks_max);
    flags.value("--cache-reset", "WHOSE", "empties the cache: {}", "both", cache_reset_choices,
                core.cache_reset);
}

void add_fault_flags(Flags& flags, CoreOptions& core, Raw& raw) {
    flags.group("Faults");
    flags.values("--fault", "KIND:P", "a fault with this probability", parse_fault, core.faults);
    flags.values("--fault-row", "KIND:ROW", "a fault for this row", parse_fault_row, raw.by_row);
    flags.value("--split-words", "A,B,..", "words that cost two tokens each; *: all", nullptr,
                parse_split_words, core.words);
    flags.value("--split-first", "A,B,..", "words that cost two tokens at the start of a prompt",
                nullptr, parse_split_first, raw.split_first);
    flags.value("--join-words", "A+B,..", "pairs of words that become one token when adjacent",
                nullptr, parse_join_words, raw.joined);
    flags.value("--overhead-varies", "N", "up to N more template tokens, different per request",
                "0", parse_number, core.overhead_varies);
    flags.value("--tokenize-overhead", "PRE,POST", "template that /tokenize counts [--overhead]",
                nullptr, parse_template, core.tokenize_overhead);
    flags.value("--cached-tokens", "WHEN", "report cached tokens: always, hits (if any), never",
                "always", cached_choices, core.cached_reported);
    flags.on_off("--refuse-ignore-eos", "fields to refuse with status 400",
                 core.model.takes_ignore_eos, false);
    flags.on_off("--old-length", "ignore max_completion_tokens, read only max_tokens",
                 core.model.knows_new_length, false);
    flags.on_off("--no-usage", "never send usage", core.usage, false);
}

/// All fault rules in one list, or a line that says what is wrong.
std::string complete(MockOptions& options, const Raw& raw) {
    options.host = raw.listen.host;
    options.port = raw.port.value_or(raw.listen.port);
    options.unix_path = raw.listen.unix_path;
    std::vector<FaultRule>& faults = options.core.faults;
    double sum = 0;
    for (const FaultRule& rule : faults) {
        sum += rule.fault == Fault::refuse ? 0 : rule.probability;
    }
    for (const std::string& word : raw.split_first) {
        options.core.words.split_first(word);
    }
    for (const auto& [first, second] : raw.joined) {
        options.core.words.join(first, second);
    }
    faults.insert(faults.end(), raw.by_row.begin(), raw.by_row.end());
    options.core.keep_log = !options.log_path.empty();
    if (!options.tls.key_file.empty() && options.tls.cert_file.empty()) {
        return "--tls-key needs --tls-cert; give the certificate as well";
    }
    return sum > 1 ? "--fault: the probabilities add up to more than 1; lower them" : "";
}

}  // namespace

MockCommandLine parse_mock_options(const std::vector<std::string>& arguments) {
    MockCommandLine line;
    MockOptions& options = line.options;
    CommandParser parser("mock", description, footer, 32);
    parser.most_used = {"--listen",         "--log",   "--model",          "--tokenizer",
                        "--overhead",       "--ttft",  "--ttft-per-token", "--itl",
                        "--batch-slowdown", "--slots", "--cache-block",    "--cache-capacity",
                        "--fault"};
    Raw raw;
    add_server_flags(parser.flags, options, raw);
    add_model_flags(parser.flags, options);
    add_pace_flags(parser.flags, options.core);
    add_fault_flags(parser.flags, options.core, raw);
    parser.read(arguments, line, [&] { return complete(options, raw); });
    return line;
}

}  // namespace driftless::mock
