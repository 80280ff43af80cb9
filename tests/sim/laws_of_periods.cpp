#include "tests/sim/laws_of_periods.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/record/periods.hpp"
#include "proto/json/document.hpp"
#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

using Unknown = std::optional<std::int64_t>;

Unknown number(JsonValue line, const char* key) {
    return line.find(key).as_i64();
}

std::uint64_t count(JsonValue line, const char* key) {
    return static_cast<std::uint64_t>(number(line, key).value_or(INT64_MAX));
}

std::optional<std::uint64_t> count_or_null(JsonValue line, const char* key) {
    const Unknown value = number(line, key);
    return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

PeriodPercentiles percentiles(JsonValue line, const std::string& name) {
    return {number(line, (name + "_p50_ns").c_str()), number(line, (name + "_p90_ns").c_str()),
            number(line, (name + "_p99_ns").c_str())};
}

Period period_of(JsonValue line) {
    Period period;
    period.period = count(line, "period");
    period.segment = static_cast<std::uint32_t>(count(line, "segment"));
    period.begin_ns = number(line, "begin_ns").value_or(-1);
    period.end_ns = number(line, "end_ns").value_or(-1);
    period.phase = phase_from_name(line.find("phase").as_string().value_or("")).value();
    period.released = count(line, "released");
    period.ended = count(line, "ended");
    period.unsent = count(line, "unsent");
    period.failed = count(line, "failed");
    period.abandoned = count(line, "abandoned");
    period.censored = count(line, "censored");
    period.in_flight = count(line, "in_flight");
    period.live_trees = count_or_null(line, "live_trees");
    period.users_added = count_or_null(line, "users_added");
    period.first_tokens = count(line, "first_tokens");
    period.input_tokens = number(line, "input_tokens").value_or(0);
    period.input_tokens_corrected = number(line, "input_tokens_corrected").value_or(0);
    period.output_tokens = number(line, "output_tokens").value_or(0);
    period.output_tokens_corrected = number(line, "output_tokens_corrected");
    period.ttft = percentiles(line, "ttft");
    period.ttft_due = percentiles(line, "ttft_due");
    period.tpot = percentiles(line, "tpot");
    period.good = count_or_null(line, "good");
    period.goodput = line.find("goodput").as_double();
    period.expected_cached_tokens = number(line, "expected_cached_tokens");
    period.expected_cached_tokens_reported = number(line, "expected_cached_tokens_reported");
    period.cached_tokens = number(line, "cached_tokens");
    return period;
}

/// Empty where the law does not bind the run; it cannot be read: a breach of its own.
std::vector<Period> periods_of(const SimResult& result) {
    return read_periods(result.periods_jsonl).value_or(std::vector<Period>());
}

bool binds(const SimResult& result) {
    return !result.disk_failed && result.ended;
}

std::string line_of(const Period& period) {
    return "period " + std::to_string(period.period) + ": ";
}

/// What all lines, or all records, come to.
using Sums = std::map<std::string, std::int64_t>;

std::int64_t signed_of(std::uint64_t number) {
    return static_cast<std::int64_t>(number);
}

Sums sums_of(const std::vector<Period>& periods) {
    Sums sums;
    for (const Period& one : periods) {
        sums["released"] += signed_of(one.released);
        sums["ended"] += signed_of(one.ended);
        sums["unsent"] += signed_of(one.unsent);
        sums["failed"] += signed_of(one.failed);
        sums["abandoned"] += signed_of(one.abandoned);
        sums["censored"] += signed_of(one.censored);
        sums["first tokens"] += signed_of(one.first_tokens);
        sums["input tokens"] += one.input_tokens;
        sums["output tokens"] += one.output_tokens;
        sums["expected hits"] += one.expected_cached_tokens.value_or(0);
        sums["expected hits of those that report"] +=
            one.expected_cached_tokens_reported.value_or(0);
        sums["hits"] += one.cached_tokens.value_or(0);
        sums["users"] += signed_of(one.users_added.value_or(0));
    }
    return sums;
}

Sums sums_of(const std::vector<Record>& records) {
    Sums sums;
    std::set<std::uint32_t> users;
    for (const Record& one : records) {
        const std::int64_t input =
            one.prompt_tokens.value_or(std::int64_t{one.input_length.value_or(0)});
        sums["released"] += one.fired_ns ? 1 : 0;
        sums["ended"] += 1;
        sums["unsent"] += one.fired_ns ? 0 : 1;
        sums["failed"] += is_failure(one.outcome) ? 1 : 0;
        sums["abandoned"] += one.outcome == Outcome::abandoned ? 1 : 0;
        sums["censored"] += one.censored ? 1 : 0;
        sums["first tokens"] += one.first_token_ns ? 1 : 0;
        sums["input tokens"] += one.last_token_ns ? input : 0;
        sums["output tokens"] += one.output_tokens.value_or(0);
        sums["expected hits"] += one.expected_cached_tokens.value_or(0);
        sums["expected hits of those that report"] +=
            one.cached_tokens ? one.expected_cached_tokens.value_or(0) : 0;
        sums["hits"] += one.cached_tokens.value_or(0);
        if (one.user && one.fired_ns) {
            users.insert(*one.user);
        }
    }
    sums["users"] = signed_of(users.size());
    return sums;
}

bool is_in(const Period& period, std::int64_t at_ns) {
    return period.begin_ns <= at_ns && at_ns < period.end_ns;
}

/// What the stamps of a record put into a period.
struct Came {
    std::int64_t released = 0;
    std::int64_t landed = 0;
    std::int64_t first_tokens = 0;
    std::int64_t output_tokens = 0;

    void add(const Period& period, const Record& record) {
        if (!record.fired_ns) {
            return;
        }
        released += is_in(period, *record.fired_ns) ? 1 : 0;
        first_tokens += record.first_token_ns && is_in(period, *record.first_token_ns) ? 1 : 0;
        output_tokens += std::count_if(
            record.chunk_ns.begin(), record.chunk_ns.end(),
            [&](std::int64_t at_ns) { return is_in(period, *record.fired_ns + at_ns); });
        if (record.ended_ns && is_in(period, *record.ended_ns)) {
            ++landed;
            output_tokens += record.output_tokens.value_or(0) - signed_of(record.chunk_ns.size());
        }
    }
};

/// Answers of the script may say on each chunk how many tokens it has, and then no more: what had
/// been counted by then is not in the record.
bool chunks_count_one(const SimResult& result) {
    const std::set<std::uint32_t> scripted(result.scripted_rows.begin(),
                                           result.scripted_rows.end());
    return std::none_of(result.records.begin(), result.records.end(), [&](const Record& record) {
        return !record.chunk_ns.empty() && scripted.contains(record.row);
    });
}

/// Bytes that waited so long for the client may be told of when their period is over: they count
/// in a later one (periods.hpp).
bool was_told_late(const SimResult& result) {
    return std::any_of(result.records.begin(), result.records.end(), [](const Record& record) {
        return record.receive_delay_ns.value_or(0) >= settle_ns_max;
    });
}

std::string off(const char* what, std::int64_t got, std::int64_t wanted) {
    return std::string(what) + " " + std::to_string(got) + " instead of " + std::to_string(wanted);
}

}  // namespace

std::optional<std::vector<Period>> read_periods(std::string_view lines) {
    std::vector<Period> periods;
    JsonDocument document;
    while (!lines.empty()) {  // ends: each line takes a byte at least
        const std::string_view line = lines.substr(0, lines.find('\n') + 1);
        const Result<JsonValue> root = document.parse(line);
        if (line.empty() || !root) {
            return std::nullopt;
        }
        std::string again;
        append_period(again, periods.emplace_back(period_of(root.value())));
        if (again != line) {
            return std::nullopt;
        }
        lines.remove_prefix(line.size());
    }
    return periods;
}

std::string periods_follow(const SimResult& result) {
    Breaches breaches;
    breaches.unless(read_periods(result.periods_jsonl).has_value() || !binds(result),
                    "a line that does not read back as itself");
    const std::vector<Period> periods = periods_of(result);
    std::int64_t in_flight = 0;
    for (std::size_t i = 0; binds(result) && i < periods.size(); ++i) {
        const Period& one = periods[i];
        const bool is_first = i == 0;
        const bool is_last = i + 1 == periods.size();
        const std::int64_t grid_ns = signed_of(one.period) * result.period_ns;
        const std::int64_t begin_ns =
            is_first && one.segment > 0 ? std::max(grid_ns, result.first_due_ns) : grid_ns;
        breaches.unless(one.begin_ns == begin_ns,
                        line_of(one) + "begins at " + std::to_string(one.begin_ns));
        breaches.unless(
            is_first || one.period == periods[i - 1].period + 1,
            line_of(one) + "is behind " + std::to_string(periods[is_first ? i : i - 1].period));
        breaches.unless(
            one.begin_ns < one.end_ns && (is_last ? one.end_ns <= grid_ns + result.period_ns
                                                  : one.end_ns == grid_ns + result.period_ns),
            line_of(one) + "ends at " + std::to_string(one.end_ns));
        in_flight += signed_of(one.released) - signed_of(one.ended - one.unsent);
        breaches.unless(signed_of(one.in_flight) == in_flight,
                        line_of(one) + off("in flight", signed_of(one.in_flight), in_flight));
        breaches.unless(!is_last || (one.in_flight == 0 && one.live_trees.value_or(0) == 0),
                        line_of(one) + "is the last, and something is still open");
        breaches.unless(result.users.users == 0 || one.live_trees <= result.users.users,
                        line_of(one) + "has more live trees than users");
        breaches.unless(one.good.value_or(0) <= one.ended, line_of(one) + "more good than ended");
    }
    return breaches.text();
}

std::string periods_sum_up(const SimResult& result) {
    Breaches breaches;
    if (!binds(result)) {
        return "";
    }
    const Sums periods = sums_of(periods_of(result));
    for (const auto& [what, wanted] : sums_of(result.records)) {
        const auto got = periods.find(what);
        const std::int64_t sum = got == periods.end() ? 0 : got->second;
        breaches.unless(sum == wanted, off(what.c_str(), sum, wanted));
    }
    return breaches.text();
}

std::string periods_hold_what_came(const SimResult& result) {
    Breaches breaches;
    if (!binds(result) || was_told_late(result)) {
        return "";
    }
    const bool counts_one = chunks_count_one(result);
    for (const Period& one : periods_of(result)) {
        Came came;
        for (const Record& record : result.records) {
            came.add(one, record);
        }
        const std::int64_t landed = signed_of(one.ended) - signed_of(one.unsent);
        const auto expect = [&](const char* what, std::int64_t got, std::int64_t wanted) {
            breaches.unless(got == wanted, line_of(one) + off(what, got, wanted));
        };
        expect("released", signed_of(one.released), came.released);
        expect("ended", landed, came.landed);
        expect("first tokens", signed_of(one.first_tokens), came.first_tokens);
        if (counts_one) {
            expect("output tokens", one.output_tokens, came.output_tokens);
        }
    }
    return breaches.text();
}

}  // namespace driftless::sim
