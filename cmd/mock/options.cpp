#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "cmd/base/values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/mock/mock.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"

namespace driftless::mock {

static constexpr const char* description =
    "A mock inference server to rehearse against. It speaks every API that replay does, streamed\n"
    "or not. It has a prefix cache, batch slots, deliberate faults and a log of what happened.\n";

static constexpr const char* footer =
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

/// A whole number that fits T. Errors: those of parse_count, out_of_range.
template <typename T>
Result<T> parse_integer(std::string_view text) {
    const Result<std::uint64_t> value = parse_count(text);
    if (!value) {
        return value.error();
    }
    if (value.value() > std::numeric_limits<T>::max()) {
        return Error{ErrorCode::out_of_range, 0,
                     sizeof(T) == 2 ? "is too large; use at most 65535"
                                    : "is too large; use a smaller number"};
    }
    return static_cast<T>(value.value());
}

static constexpr auto& parse_port = parse_integer<std::uint16_t>;
static constexpr auto& parse_number = parse_integer<std::uint32_t>;

static Result<std::uint32_t> parse_positive_number(std::string_view text) {
    const Result<std::uint64_t> value = parse_positive_count(text);
    return value ? parse_number(text) : Result<std::uint32_t>(value.error());
}

/// The parts of "WORD,WORD,..", none of which may be empty.
static Result<std::vector<std::string>> split_at_commas(std::string_view text, const char* remedy) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = take_until(text, ",");
        if (word.empty()) {
            return invalid(remedy);
        }
        words.emplace_back(word);
    }
    return words;
}

namespace {

/// "KIND:VALUE" in two.
struct FaultText {
    Fault fault;
    std::string_view value;
};

}  // namespace

static Result<FaultText> split_fault(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::optional<Fault> fault = from_name<Fault>(text.substr(0, colon));
    if (colon == std::string_view::npos || !fault) {
        return invalid(
            "is not KIND:VALUE; kinds are refuse, reset, stall, truncate, malformed, error, 429, "
            "500, slow");
    }
    return FaultText{*fault, text.substr(colon + 1)};
}

/// "127.0.0.1:8000", "[::1]:0", "unix:/path".
static Result<ListenAt> parse_listen(std::string_view text) {
    constexpr std::string_view unix_scheme = "unix:";
    if (text.starts_with(unix_scheme) && text.size() > unix_scheme.size()) {
        return ListenAt{{}, 0, std::string(text.substr(unix_scheme.size()))};
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return invalid("is not ADDRESS:PORT, [IPv6]:PORT or unix:PATH");
    }
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    const Result<std::uint16_t> port = parse_port(text.substr(colon + 1));
    if (!port) {
        return port.error();
    }
    return ListenAt{std::string(host), port.value(), {}};
}

static Result<Duration> parse_delay(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    return ns ? Result<Duration>(Duration{ns.value()}) : ns.error();
}

/// A share of one, 0 to 1: "0.25".
static Result<double> parse_share(std::string_view text) {
    const auto value = read_number<double>(text);
    return value && *value >= 0 && *value <= 1 ? Result<double>(*value)
                                               : invalid("is not a share between 0 and 1");
}

/// "reset:0.05"
static Result<FaultRule> parse_fault(std::string_view text) {
    const Result<FaultText> parts = split_fault(text);
    const Result<double> probability =
        parts ? parse_share(parts.value().value) : Result<double>(parts.error());
    return probability ? Result<FaultRule>({parts.value().fault, probability.value(), std::nullopt})
                       : probability.error();
}

/// "reset:17"
static Result<FaultRule> parse_fault_row(std::string_view text) {
    const Result<FaultText> parts = split_fault(text);
    const Result<std::uint64_t> row =
        parts ? parse_count(parts.value().value) : Result<std::uint64_t>(parts.error());
    return row ? Result<FaultRule>({parts.value().fault, 0, row.value()}) : row.error();
}

/// "3,5": tokens before and behind every text.
static Result<TemplateTokens> parse_template(std::string_view text) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const Result<std::uint32_t> pre = parse_number(text.substr(0, comma));
    const Result<std::uint32_t> post =
        parse_number(text.substr(std::min(comma + 1, text.size())));  // empty is no number
    if (!pre || !post) {
        return invalid("is not PRE,POST: two numbers of tokens");
    }
    return TemplateTokens{pre.value(), post.value()};
}

/// "the,cat": words that cost two tokens; "*": all.
static Result<WordRules> parse_split_words(std::string_view text) {
    WordRules rules;
    if (text == "*") {
        rules.split_all();
        return rules;
    }
    const Result<std::vector<std::string>> words =
        split_at_commas(text, "is not WORD,WORD,..; * is all words");
    if (!words) {
        return words.error();
    }
    for (const std::string& word : words.value()) {
        rules.split(word);
    }
    return rules;
}

/// "the,cat": words that cost two tokens at the beginning of a prompt.
static Result<std::vector<std::string>> parse_split_first(std::string_view text) {
    return split_at_commas(text, "is not WORD,WORD,..");
}

namespace {

using JoinedWords = std::vector<std::pair<std::string, std::string>>;

}  // namespace

/// "the+cat,new+one": pairs that are one token side by side.
static Result<JoinedWords> parse_join_words(std::string_view text) {
    JoinedWords pairs;
    while (!text.empty()) {
        const std::string_view pair = take_until(text, ",");
        const std::size_t plus = pair.find('+');
        if (plus == 0 || plus == std::string_view::npos || plus + 1 == pair.size()) {
            return invalid("is not WORD+WORD,..");
        }
        pairs.emplace_back(pair.substr(0, plus), pair.substr(plus + 1));
    }
    return pairs;
}

/// "X-Session-ID,X-Tree": names of header fields.
static Result<std::vector<std::string>> parse_header_names(std::string_view text) {
    constexpr const char* remedy = "is not NAME,NAME,.. of header fields";
    Result<std::vector<std::string>> names = split_at_commas(text, remedy);
    return names && std::ranges::all_of(names.value(), is_header_name) ? names : invalid(remedy);
}

static Result<std::string> parse_name(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; give a name");
    }
    return std::string(text);
}

/// Text that can be the value of a header field.
static Result<std::string> parse_header_text(std::string_view text) {
    if (!is_header_value(text)) {
        return invalid("has a control byte; remove it");
    }
    return parse_name(text);
}

static constexpr Choices<MetricNames> metric_choices({{"vllm", {true, false}},
                                                      {"sglang", {false, true}},
                                                      {"both", {true, true}},
                                                      {"none", {false, false}}},
                                                     "is not ", " or ");
static constexpr Choices<TokenizeForm> tokenize_choices({{"vllm", TokenizeForm::vllm},
                                                         {"sglang", TokenizeForm::sglang},
                                                         {"llama.cpp", TokenizeForm::llama_cpp},
                                                         {"tgi", TokenizeForm::tgi},
                                                         {"none", TokenizeForm::none}},
                                                        "is not known; use ", " or ");
static constexpr Choices<WaitMode> wait_choices({{"spin", WaitMode::spin},
                                                 {"hybrid", WaitMode::hybrid},
                                                 {"sleep", WaitMode::sleep}},
                                                "is not known; use ", " or ");
static constexpr Choices<CachedReported> cached_choices({{"always", CachedReported::always},
                                                         {"hits", CachedReported::hits},
                                                         {"never", CachedReported::never}},
                                                        "is not known; use ", " or ");
static constexpr Choices<CacheReset> cache_reset_choices({{"both", CacheReset::both},
                                                          {"vllm", CacheReset::vllm},
                                                          {"sglang", CacheReset::sglang},
                                                          {"none", CacheReset::none},
                                                          {"pretended", CacheReset::pretended}},
                                                         "is not known; use ", " or ");
/// Whether headers are early.
static constexpr Choices<bool> header_choices({{"early", true}, {"late", false}},
                                              "is not known; use ", " or ");

namespace {

/// Flags that fill no field of the options by themselves.
struct Raw {
    std::optional<std::uint16_t> port;
    std::vector<FaultRule> by_row;
    JoinedWords joined;
    std::vector<std::string> split_first;
};

}  // namespace

static void add_server_flags(Flags& flags, MockOptions& options, Raw& raw) {
    ServerOptions& server = options.server;
    flags.group("Server");
    flags.value("--listen", "ADDR:PORT", "where to listen; port 0: a free one, printed",
                "127.0.0.1:8000", parse_listen, options.listen);
    flags.value("--port", "N", "port only, instead of the one in --listen", parse_port, raw.port);
    flags.value("--backlog", "N", "connections waiting to be accepted", "4096",
                parse_positive_number, server.backlog);
    flags.value("--keep-alive-requests", "N", "answers per connection; 0: no limit", "0",
                parse_number, options.core.keep_alive_requests);
    flags.value("--keep-alive-timeout", "T", "idle connections are closed after T; 0: never", "0",
                parse_delay, options.core.keep_alive_timeout);
    flags.off("--keep-alive-silent", "do not announce these two limits in answers",
              options.core.announce_keep_alive);
    flags.value("--tls-cert", "FILE", "speak https: PEM chain of the certificate", parse_name,
                options.tls.cert_file);
    flags.value("--tls-key", "FILE", "PEM of the certificate's key [in --tls-cert]", parse_name,
                options.tls.key_file);
    flags.value("--cpu", "N", "pin the serving thread to this CPU [not pinned]", parse_number,
                options.cpu);
    flags.value("--wait", "HOW", "spin, hybrid or sleep until the next token is due", "hybrid",
                wait_choices, server.wait);
    flags.value("--max-requests", "N", "exit after this many requests; 0: never", "0", parse_count,
                server.requests_max);
    flags.value("--log", "FILE", "JSONL file for what truly happened to every request", parse_name,
                options.log_path);
    flags.value("--log-headers", "A,B,..",
                "request header fields to log [X-Session-ID and the like]", parse_header_names,
                options.core.session_headers);
    flags.value("--check-history", "REPLIES",
                "count which of the last N replies return in histories; 0: none", "0", parse_number,
                options.core.check_history);
}

static void add_model_flags(Flags& flags, MockOptions& options) {
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
    flags.value("--tokenizer", "FILE", "tokenizer.json to count prompts with [words]", parse_name,
                options.tokenizer);
    flags.value("--tokenize", "FORM", "kind of /tokenize: {}", "vllm", tokenize_choices,
                core.tokenize);
    flags.value("--reasoning", "TOKENS", "first tokens of a chat answer, sent as reasoning", "0",
                parse_number, core.reasoning_tokens);
    flags.on_off("--incremental", "SGLang events carry only new text, not all so far",
                 core.incremental);
    flags.value("--metrics", "NAMES", "metric names of /metrics: {}", "both", metric_choices,
                core.metric_names);
    flags.value("--pod", "NAME", "value of the target-pod header of answers [none]",
                parse_header_text, core.pod);
    flags.value("--headers", "WHEN", "early: headers leave at once; late: with the first token",
                "early", header_choices, core.early_headers);
    flags.value("--seed", "N", "seed of words, jitter and faults", "0", parse_count, core.seed);
}

static void add_pace_flags(Flags& flags, CoreOptions& core) {
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

static void add_fault_flags(Flags& flags, CoreOptions& core, Raw& raw) {
    flags.group("Faults");
    flags.values("--fault", "KIND:P", "a fault with this probability", parse_fault, core.faults);
    flags.values("--fault-row", "KIND:ROW", "a fault for this row", parse_fault_row, raw.by_row);
    flags.value("--split-words", "A,B,..", "words that cost two tokens each; *: all",
                parse_split_words, core.words);
    flags.value("--split-first", "A,B,..", "words that cost two tokens at the start of a prompt",
                parse_split_first, raw.split_first);
    flags.value("--join-words", "A+B,..", "pairs of words that become one token when adjacent",
                parse_join_words, raw.joined);
    flags.value("--overhead-varies", "N", "up to N more template tokens, different per request",
                "0", parse_number, core.overhead_varies);
    flags.value("--tokenize-overhead", "PRE,POST", "template that /tokenize counts [--overhead]",
                parse_template, core.tokenize_overhead);
    flags.value("--cached-tokens", "WHEN", "report cached tokens: always, hits (if any), never",
                "always", cached_choices, core.cached_reported);
    flags.off("--refuse-ignore-eos", "fields to refuse with status 400",
              core.model.takes_ignore_eos);
    flags.off("--old-length", "ignore max_completion_tokens, read only max_tokens",
              core.model.knows_new_length);
    flags.off("--no-usage", "never send usage", core.usage);
}

/// All fault rules in one list, or a line that says what is wrong.
static std::string complete(MockOptions& options, const Raw& raw) {
    options.listen.port = raw.port.value_or(options.listen.port);
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
