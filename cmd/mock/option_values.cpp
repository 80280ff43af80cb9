#include "cmd/mock/option_values.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "cmd/values.hpp"
#include "proto/http/fields.hpp"

namespace driftless::mock {

namespace {

Error invalid(const char* why) {
    return {ErrorCode::invalid, 0, why};
}

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

/// The parts of "WORD,WORD,.."; none where one is empty.
std::optional<std::vector<std::string>> split_at_commas(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(','));
        if (word.empty()) {
            return std::nullopt;
        }
        words.emplace_back(word);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return words;
}

/// "KIND:VALUE" in two.
struct FaultText {
    Fault fault;
    std::string_view value;
};
Result<FaultText> split_fault(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::optional<Fault> fault = find_fault(text.substr(0, colon));
    if (colon == std::string_view::npos || !fault) {
        return invalid(
            "is not KIND:VALUE; kinds are refuse, reset, stall, truncate, malformed, error, 429, "
            "500, slow");
    }
    return FaultText{*fault, text.substr(colon + 1)};
}

}  // namespace

Result<ListenAt> parse_listen(std::string_view text) {
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

Result<Duration> parse_delay(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    if (!ns) {
        return ns.error();
    }
    return Duration{ns.value()};
}

Result<double> parse_share(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || stop != end || !(value >= 0 && value <= 1)) {
        return invalid("is not a share between 0 and 1");
    }
    return value;
}

Result<FaultRule> parse_fault(std::string_view text) {
    const Result<FaultText> parts = split_fault(text);
    if (!parts) {
        return parts.error();
    }
    const Result<double> probability = parse_share(parts.value().value);
    if (!probability) {
        return probability.error();
    }
    return FaultRule{parts.value().fault, probability.value(), std::nullopt};
}

Result<FaultRule> parse_fault_row(std::string_view text) {
    const Result<FaultText> parts = split_fault(text);
    if (!parts) {
        return parts.error();
    }
    const Result<std::uint64_t> row = parse_count(parts.value().value);
    if (!row) {
        return row.error();
    }
    return FaultRule{parts.value().fault, 0, row.value()};
}

Result<TemplateTokens> parse_template(std::string_view text) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
        return invalid("is not PRE,POST: two numbers of tokens");
    }
    const Result<std::uint32_t> pre = parse_number(text.substr(0, comma));
    const Result<std::uint32_t> post = parse_number(text.substr(comma + 1));
    if (!pre || !post) {
        return invalid("is not PRE,POST: two numbers of tokens");
    }
    return TemplateTokens{pre.value(), post.value()};
}

Result<WordRules> parse_split_words(std::string_view text) {
    WordRules rules;
    if (text == "*") {
        rules.split_all();
        return rules;
    }
    const std::optional<std::vector<std::string>> words = split_at_commas(text);
    if (!words) {
        return invalid("is not WORD,WORD,..; * is all words");
    }
    for (const std::string& word : *words) {
        rules.split(word);
    }
    return rules;
}

Result<std::vector<std::string>> parse_split_first(std::string_view text) {
    std::optional<std::vector<std::string>> words = split_at_commas(text);
    if (!words) {
        return invalid("is not WORD,WORD,..");
    }
    return std::move(*words);
}

Result<JoinedWords> parse_join_words(std::string_view text) {
    JoinedWords pairs;
    while (!text.empty()) {
        const std::string_view pair = text.substr(0, text.find(','));
        const std::size_t plus = pair.find('+');
        if (plus == 0 || plus == std::string_view::npos || plus + 1 == pair.size()) {
            return invalid("is not WORD+WORD,..");
        }
        pairs.emplace_back(pair.substr(0, plus), pair.substr(plus + 1));
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
    }
    return pairs;
}

Result<MetricNames> parse_metric_names(std::string_view text) {
    const bool both = text == "both";
    const MetricNames names{both || text == "vllm", both || text == "sglang"};
    if (!names.vllm && !names.sglang && text != "none") {
        return invalid("is not vllm, sglang, both or none");
    }
    return names;
}

Result<TokenizeForm> parse_tokenize_form(std::string_view text) {
    if (text == "vllm") {
        return TokenizeForm::vllm;
    }
    if (text == "sglang") {
        return TokenizeForm::sglang;
    }
    if (text == "llama.cpp") {
        return TokenizeForm::llama_cpp;
    }
    if (text == "tgi") {
        return TokenizeForm::tgi;
    }
    if (text == "none") {
        return TokenizeForm::none;
    }
    return invalid("is not known; use vllm, sglang, llama.cpp, tgi or none");
}

Result<WaitMode> parse_wait(std::string_view text) {
    if (text == "spin") {
        return WaitMode::spin;
    }
    if (text == "hybrid") {
        return WaitMode::hybrid;
    }
    if (text == "sleep") {
        return WaitMode::sleep;
    }
    return invalid("is not known; use spin, hybrid or sleep");
}

Result<bool> parse_headers(std::string_view text) {
    if (text != "early" && text != "late") {
        return invalid("is not known; use early or late");
    }
    return text == "early";
}

Result<CachedReported> parse_cached_reported(std::string_view text) {
    if (text == "always" || text == "hits") {
        return text == "hits" ? CachedReported::hits : CachedReported::always;
    }
    return text == "never" ? Result<CachedReported>(CachedReported::never)
                           : invalid("is not known; use always, hits or never");
}

Result<CacheReset> parse_cache_reset(std::string_view text) {
    constexpr std::pair<std::string_view, CacheReset> known[] = {
        {"both", CacheReset::both},
        {"vllm", CacheReset::vllm},
        {"sglang", CacheReset::sglang},
        {"none", CacheReset::none},
        {"pretended", CacheReset::pretended}};
    for (const auto& [name, whose] : known) {
        if (text == name) {
            return whose;
        }
    }
    return invalid("is not known; use both, vllm, sglang, none or pretended");
}

Result<std::vector<std::string>> parse_header_names(std::string_view text) {
    std::optional<std::vector<std::string>> names = split_at_commas(text);
    if (!names || !std::all_of(names->begin(), names->end(), is_header_name)) {
        return invalid("is not NAME,NAME,.. of header fields");
    }
    return std::move(*names);
}

Result<std::string> parse_name(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; give a name");
    }
    return std::string(text);
}

Result<std::string> parse_header_text(std::string_view text) {
    if (!is_header_value(text)) {
        return invalid("has a control byte; remove it");
    }
    return parse_name(text);
}

Result<std::uint16_t> parse_port(std::string_view text) {
    return parse_integer<std::uint16_t>(text);
}

Result<std::uint32_t> parse_number(std::string_view text) {
    return parse_integer<std::uint32_t>(text);
}

Result<std::uint32_t> parse_positive_number(std::string_view text) {
    const Result<std::uint64_t> value = parse_positive_count(text);
    return value ? parse_number(text) : Result<std::uint32_t>(value.error());
}

}  // namespace driftless::mock
