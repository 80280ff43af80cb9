#include "cmd/report/fidelity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cmd/report/record_pass.hpp"
#include "cmd/screen/lines.hpp"
#include "engine/input/trace_file.hpp"
#include "engine/inspect/likeness.hpp"
#include "engine/plan/plan.hpp"
#include "engine/views/view_text.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

/// What was recorded, or replayed: what is compared of its requests, in the order in which they
/// came.
struct Half {
    struct Request {
        std::int64_t at_ns = 0;
        std::uint32_t row = 0;
        std::string session;  ///< empty: none
        double input = 0;     ///< 0: not known
        double output = 0;
    };
    std::vector<Request> requests;
    std::optional<double> ceiling;   ///< share of prompt tokens, by an endless cache
    std::optional<double> observed;  ///< by what servers reported

    void sort() {
        std::stable_sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
            return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.row < b.row;
        });
    }
    double span_s() const {
        return requests.empty() ? 0 : in_s(requests.back().at_ns - requests.front().at_ns);
    }
};

/// What one side's requests are like; s and tokens.
struct SideLists {
    std::vector<double> gaps;
    std::vector<double> turn_gaps;
    std::vector<double> input;
    std::vector<double> output;
};

SideLists lists_of(const Half& side, double speed) {
    SideLists lists;
    std::unordered_map<std::string, std::int64_t> before;
    for (std::size_t i = 0; i < side.requests.size(); ++i) {
        const Half::Request& one = side.requests[i];
        if (i > 0) {
            lists.gaps.push_back(in_s(one.at_ns - side.requests[i - 1].at_ns) / speed);
        }
        if (!one.session.empty()) {
            const auto [found, fresh] = before.try_emplace(one.session, one.at_ns);
            if (!fresh) {
                lists.turn_gaps.push_back(in_s(one.at_ns - found->second) / speed);
                found->second = one.at_ns;
            }
        }
        if (one.input > 0) {
            lists.input.push_back(one.input);
        }
        if (one.output > 0) {
            lists.output.push_back(one.output);
        }
    }
    return lists;
}

Distribution distribution_of(const std::vector<double>& values) {
    Sample sample;
    for (const double value : values) {
        sample.add(value);
    }
    return sample.distribution();
}

std::optional<double> known_in(const Distribution& of, double value) {
    return of.count == 0 ? std::nullopt : std::optional(value);
}

void add_distributions(std::vector<FidelityLine>& lines, const std::string& name, const char* unit,
                       const std::vector<double>& recorded, const std::vector<double>& replayed,
                       double scale, int decimals) {
    const Distribution a = distribution_of(recorded);
    const Distribution b = distribution_of(replayed);
    const auto add = [&](const char* what, double left, double right) {
        lines.push_back({name + " " + what, unit, known_in(a, left * scale),
                         known_in(b, right * scale), decimals});
    };
    add("mean", a.mean, b.mean);
    add("p50", a.median(), b.median());
    add("p99", a.at[p99_index], b.at[p99_index]);
}

std::optional<double> variation(const std::vector<double>& gaps) {
    const Distribution of = distribution_of(gaps);
    return of.count == 0 || of.mean == 0 ? std::nullopt : std::optional(of.std / of.mean);
}

std::string read_side(const ReportedRun& run, Half& side) {
    double prompts = 0;
    double expected = 0;
    double reported = 0;
    double cached = 0;
    std::string why = each_record(run, [&](const Record& record) {
        const bool first_try = record.pass == 0 && record.attempt == 0;
        const bool is_copy = record.side == Side::b;  // of what side a got
        if (record.phase != Phase::profile || !record.fired_ns || !first_try || is_copy) {
            return;
        }
        const double input =
            static_cast<double>(record.input_length ? std::int64_t{*record.input_length}
                                                    : record.prompt_tokens.value_or(0));
        side.requests.push_back({*record.fired_ns, record.row, record.session.value_or(""), input,
                                 is_whole(record.outcome) && counts_output(record)
                                     ? static_cast<double>(*record.output_tokens)
                                     : 0});
        if (record.expected_cached_tokens) {
            prompts += input;
            expected += static_cast<double>(*record.expected_cached_tokens);
        }
        if (record.cached_tokens && record.prompt_tokens) {
            reported += static_cast<double>(*record.prompt_tokens);
            cached += static_cast<double>(*record.cached_tokens);
        }
    });
    side.sort();
    side.ceiling = prompts > 0 ? std::optional(expected / prompts) : std::nullopt;
    side.observed = reported > 0 ? std::optional(cached / reported) : std::nullopt;
    return why;
}

Half side_of(const Trace& trace) {
    Half side;
    for (const TraceRow& row : trace.rows) {
        side.requests.push_back(
            {row.at_ns, row.index, row.session == no_session ? "" : trace.sessions[row.session],
             static_cast<double>(row.input_length), static_cast<double>(row.output_length)});
    }
    side.sort();
    const Result<Plan> plan = make_plan(trace, {});
    if (plan && trace.block_size > 0 && plan.value().foretold.input_tokens > 0) {
        const ForetoldHits& hits = plan.value().foretold;
        side.ceiling =
            static_cast<double>(hits.cached_tokens) / static_cast<double>(hits.input_tokens);
    }
    return side;
}

/// The requests of `recorded` that were sent, by row, where every one that was sent is there with
/// the length of its prompt. Else nothing.
std::vector<Half::Request> matched(const Half& recorded, const Half& replayed) {
    std::unordered_map<std::uint32_t, const Half::Request*> by_row;
    for (const Half::Request& one : recorded.requests) {
        by_row.emplace(one.row, &one);
    }
    std::vector<Half::Request> rows;
    for (const Half::Request& one : replayed.requests) {
        const auto found = by_row.find(one.row);
        if (found == by_row.end() || found->second->input != one.input) {
            return {};
        }
        rows.push_back(*found->second);
    }
    return rows;
}

void compare_rows(const std::vector<Half::Request>& recorded, const Half& replayed, double speed,
                  std::vector<FidelityLine>& out) {
    Sample off;
    std::uint64_t exact = 0;
    std::uint64_t outputs = 0;
    std::int64_t first = INT64_MAX;
    for (const Half::Request& one : recorded) {
        first = std::min(first, one.at_ns);
    }
    for (std::size_t i = 0; i < recorded.size(); ++i) {
        const Half::Request& sent = replayed.requests[i];
        const double wanted = in_ms(recorded[i].at_ns - first) / speed;
        off.add(std::fabs(in_ms(sent.at_ns - replayed.requests.front().at_ns) - wanted));
        outputs += sent.output > 0 && recorded[i].output > 0 ? 1 : 0;
        exact += sent.output > 0 && sent.output == recorded[i].output ? 1 : 0;
    }
    const Distribution of = off.distribution();
    out.push_back({"arrival off, p50", "ms", {}, of.median(), 3});
    out.push_back({"arrival off, p99", "ms", {}, of.at[p99_index], 3});
    out.push_back({"arrival off, max", "ms", {}, of.max, 3});
    out.push_back({"outputs of the recorded length", "", static_cast<double>(outputs),
                   static_cast<double>(exact), 0});
}

/// Rounded: rows of one instant leave some 10 us apart, which is no other distribution.
std::vector<double> to_ms(std::vector<double> seconds) {
    for (double& value : seconds) {
        value = std::round(value * 1000);
    }
    return seconds;
}

/// The run's own where its rows left at recorded instants; else as the spans of time tell.
double speed_of(const ReportedRun& run, bool rows_match, const Half& recorded,
                const Half& replayed) {
    const RunDescription& how = run.info.run;
    const double typed = std::strtod(how.speed.c_str(), nullptr);
    if (rows_match && how.rate.empty() && how.sessions == "recorded" && typed > 0) {
        return typed;
    }
    const double spans = ratio(recorded.span_s(), replayed.span_s());
    constexpr double near_enough = 0.002;
    return spans <= 0 || std::fabs(spans - 1) < near_enough ? 1 : spans;
}

/// Nothing where one is empty.
std::optional<double> distance_of(std::vector<double> a, std::vector<double> b) {
    return a.empty() || b.empty()
               ? std::nullopt
               : std::optional<double>(greatest_distance(std::move(a), std::move(b)));
}

}  // namespace

std::string read_fidelity(const ReportedRun& run, const std::string& path, FidelityReading& out) {
    TraceFiles files;
    files.paths = {path};
    files.times_free = true;
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    if (!read_trace(files, trace, errors, notes)) {
        const std::vector<std::string> lines = to_lines(errors);
        return "--against " + path + ": " + (lines.empty() ? "cannot be read" : lines.front());
    }
    Half recorded = side_of(trace);
    Half replayed;
    if (std::string why = read_side(run, replayed); !why.empty()) {
        return why;
    }
    const std::vector<Half::Request> rows = matched(recorded, replayed);
    out.rows_match = !rows.empty();
    out.rows_sent = replayed.requests.size();
    const std::size_t in_trace = recorded.requests.size();
    if (out.rows_match) {  // what was not selected is no part of it
        recorded.requests = rows;
        recorded.sort();
    }
    out.speed = speed_of(run, out.rows_match, recorded, replayed);
    const SideLists a = lists_of(recorded, out.speed);
    const SideLists b = lists_of(replayed, 1);
    out.lines.push_back({"requests", "", static_cast<double>(in_trace),
                         static_cast<double>(replayed.requests.size()), 0});
    out.lines.push_back({"span", "s", recorded.span_s() / out.speed, replayed.span_s(), 3});
    add_distributions(out.lines, "gap between requests", "ms", a.gaps, b.gaps, 1000, 3);
    out.lines.push_back(
        {"gap variation (std / mean)", "", variation(a.gaps), variation(b.gaps), 3});
    add_distributions(out.lines, "gap between turns", "s", a.turn_gaps, b.turn_gaps, 1, 3);
    add_distributions(out.lines, "input", "tokens", a.input, b.input, 1, 1);
    add_distributions(out.lines, "output", "tokens", a.output, b.output, 1, 1);
    const auto percent = [](const std::optional<double>& share) {
        return share ? std::optional(100 * *share) : std::nullopt;
    };
    out.lines.push_back(
        {"hit rate, endless cache", "%", percent(recorded.ceiling), percent(replayed.ceiling), 2});
    out.lines.push_back({"hit rate, observed", "%", {}, percent(replayed.observed), 2});
    if (out.rows_match) {
        compare_rows(rows, replayed, out.speed, out.by_row);
    }
    const auto distance = [&out](const char* name, const std::vector<double>& left,
                                 const std::vector<double>& right) {
        out.distances.push_back({name, "", {}, distance_of(left, right), 4});
    };
    distance("gaps between requests, to 1 ms", to_ms(a.gaps), to_ms(b.gaps));
    distance("gaps between turns, to 1 ms", to_ms(a.turn_gaps), to_ms(b.turn_gaps));
    distance("input", a.input, b.input);
    distance("output", a.output, b.output);
    return "";
}

std::string fidelity_screen(const std::string& path, const FidelityReading& reading) {
    Lines lines;
    lines.blank();
    lines.add("Fidelity",
              fmt::format(
                  "against {}: {}{}", printable(path),
                  reading.rows_match
                      ? "every request is a row of it"
                      : "the requests do not match its rows one by one; distributions are compared",
                  reading.speed == 1
                      ? ""
                      : fmt::format("; {:.4g} times as fast as recorded, which is corrected for",
                                    reading.speed)));
    ViewTable table({"", "recorded", "replayed", ""});
    const auto add = [&table](const FidelityLine& line, const std::string& note) {
        const auto text = [&line](const std::optional<double>& value) {
            return value ? fixed(*value, line.decimals) : std::string("-");
        };
        const std::string unit = line.unit[0] == '\0' ? "" : std::string(", ") + line.unit;
        table.add({line.name + unit, text(line.recorded), text(line.replayed), note});
    };
    for (const FidelityLine& line : reading.lines) {
        add(line, "");
    }
    for (const FidelityLine& line : reading.by_row) {
        add(line, "row by row");
    }
    for (const FidelityLine& line : reading.distances) {
        if (line.replayed) {
            add({"distance of " + line.name, "", {}, line.replayed, line.decimals}, "0 to 1");
        }
    }
    return lines.take() + table.text();
}

void write_fidelity(JsonWriter& json, const FidelityReading& reading) {
    json.begin_object();
    json.key("speed").number(reading.speed);
    json.key("rows_match").boolean(reading.rows_match);
    json.key("rows_sent").unsigned_integer(reading.rows_sent);
    const auto value = [&json](const char* key, const std::optional<double>& of) {
        json.key(key);
        of ? json.number(*of) : json.null();
    };
    for (const auto& [name, lines] :
         {std::pair{"figures", &reading.lines}, std::pair{"by_row", &reading.by_row},
          std::pair{"distances", &reading.distances}}) {
        json.key(name).begin_array();
        for (const FidelityLine& line : *lines) {
            json.begin_object();
            json.key("figure").string(line.name);
            json.key("unit").string(line.unit);
            value("recorded", line.recorded);
            value("replayed", line.replayed);
            json.end_object();
        }
        json.end_array();
    }
    json.end_object();
}

}  // namespace driftless
