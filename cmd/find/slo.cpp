#include "cmd/find/slo.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cmd/threshold_values.hpp"
#include "engine/knee/floors.hpp"

namespace driftless {

namespace {

Error remedy(const char* doing) {
    return {ErrorCode::invalid, 0, doing};
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == ',';
}

bool compares(char c) {
    return c == '<' || c == '>' || c == '=';
}

/// The conditions, without blanks: one begins where a word begins that neither compares nor is
/// compared with ("ttft:p99 < 2s" is one, and "errors < 1 %").
std::vector<std::string> conditions_of(std::string_view text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        if (is_blank(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && !is_blank(text[end])) {
            ++end;
        }
        const std::string_view word = text.substr(at, end - at);
        const bool goes_on =
            !out.empty() && (compares(word.front()) || word == "%" || compares(out.back().back()));
        goes_on ? out.back() += word : out.emplace_back(word);
        at = end;
    }
    return out;
}

/// What a figure does under more load decides which way it can be an SLO.
enum class UnderLoad : std::uint8_t { rises, falls };
constexpr std::array<std::pair<std::string_view, UnderLoad>, 9> figures{{
    {"ttft", UnderLoad::rises},
    {"ttft_due", UnderLoad::rises},
    {"tpot", UnderLoad::rises},
    {"itl", UnderLoad::rises},
    {"e2e", UnderLoad::rises},
    {"chunk_gap", UnderLoad::rises},
    {"errors", UnderLoad::rises},
    {"failed", UnderLoad::rises},
    {"good", UnderLoad::falls},
}};

std::string opposite(const std::string& condition) {
    const std::size_t at = condition.find_first_of("<>");
    const bool equal = at + 1 < condition.size() && condition[at + 1] == '=';
    const char* other = condition[at] == '<' ? (equal ? ">" : ">=") : (equal ? "<" : "<=");
    return condition.substr(0, at) + other + condition.substr(at + (equal ? 2 : 1));
}

Result<Slo> parse_slo(const std::string& condition) {
    if (condition.find_first_of("<>") == condition.npos) {
        return remedy("has no comparison; say what must hold, as in \"ttft:p99<2s tpot:p95<50ms\"");
    }
    // In its own words first: "<==1s" is none, and its opposite would be.
    if (const Result<Threshold> itself = parse_threshold(condition); !itself) {
        return itself.error();
    }
    Slo slo;
    slo.text = condition;
    slo.fail_if = opposite(condition);
    Result<Threshold> threshold = parse_threshold(slo.fail_if);
    if (!threshold) {
        return threshold.error();
    }
    slo.threshold = std::move(threshold).value();
    const std::string_view name = slo.threshold.figure->name;
    const auto* const found = std::find_if(figures.begin(), figures.end(),
                                           [&](const auto& one) { return one.first == name; });
    if (found == figures.end()) {
        return remedy(
            "cannot be in an SLO; use ttft, ttft_due, tpot, itl, e2e or chunk_gap (each with :p99 "
            "or the like), errors, failed or good");
    }
    const bool bounded_above = condition[condition.find_first_of("<>")] == '<';
    if (bounded_above != (found->second == UnderLoad::rises)) {
        return remedy(
            "is the wrong way round: an SLO says what must hold, as in \"ttft:p99<2s\", "
            "\"errors<1%\" or \"good>95%\"");
    }
    if (slo.threshold.figure->unit == FigureUnit::time &&
        slo.threshold.statistic == Statistic::percentile) {
        slo.floor = percentile_floor(percentiles[slo.threshold.percentile].per_mille);
    }
    return slo;
}

}  // namespace

Result<Slos> parse_slos(std::string_view text) {
    Slos out;
    bool bounds_errors = false;
    for (const std::string& condition : conditions_of(text)) {
        Result<Slo> slo = parse_slo(condition);
        if (!slo) {
            return slo.error();
        }
        const std::string_view name = slo.value().threshold.figure->name;
        bounds_errors = bounds_errors || name == "errors" || name == "failed";
        out.rows_min = std::max(out.rows_min, slo.value().floor);
        out.list.push_back(std::move(slo).value());
    }
    if (out.list.empty()) {
        return remedy("is empty; say what must hold, as in \"ttft:p99<2s\"");
    }
    if (!bounds_errors) {
        Result<Slo> errors = parse_slo(std::string(errors_slo));
        CHECK(errors);
        out.list.push_back(std::move(errors).value());
    }
    return out;
}

}  // namespace driftless
