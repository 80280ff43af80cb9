#include "cmd/runs/compare.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/runs/comparison.hpp"
#include "cmd/runs/comparison_exports.hpp"
#include "cmd/runs/table.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

Result<double> parse_margin(std::string_view text) {
    constexpr double percent_max = 50;
    constexpr double share_max = 0.05;
    const Error wrong{ErrorCode::invalid, 0,
                      "is not a margin from 0 to 50 %; use \"1 %\", or 0.01 (up to 0.05)"};
    const bool in_percent = text.ends_with('%');
    text.remove_suffix(in_percent ? 1 : 0);
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    double percent = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || percent < 0) {
        return wrong;
    }
    // A larger share without its sign may have been meant as one: 0.5 as 0.5 %.
    const double share = in_percent ? percent / 100 : percent;
    return share <= (in_percent ? percent_max / 100 : share_max) ? Result<double>(share) : wrong;
}

Result<ComparedMetric> parse_metric(std::string_view text) {
    if (const std::optional<ComparedMetric> metric = read_metric(text)) {
        return *metric;
    }
    return Error{ErrorCode::invalid, 0,
                 "is not a metric that can be compared; use ttft, ttft_due, tpot and e2e (each "
                 "with :mean, :p99 or the like), errors, good, goodput, request_throughput, "
                 "output_throughput and total_token_throughput"};
}

Result<bool> parse_unsure(std::string_view text) {
    if (text == "pass" || text == "fail") {
        return text == "fail";
    }
    return Error{ErrorCode::invalid, 0, "is not one of pass, fail"};
}

namespace {

int refuse(const std::string& why, int code) {
    complain("driftless compare: %s", why.c_str());
    return code;
}

int read_group(const std::vector<std::string>& folders, const CompareCommand& command,
               std::vector<PlayedRun>& out) {
    for (const std::string& folder : folders) {
        std::string why;
        if (const int code = read_played(folder, command.slo, out, why); code != exit_done) {
            return refuse(why, code);
        }
    }
    return exit_done;
}

/// Runs with sides are compared by themselves, runs without with others.
std::string why_not_sides(const CompareCommand& command, const Comparison& comparison) {
    const bool alone = command.b.empty();
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        if (alone && run->side.empty()) {
            return run->folder +
                   ": this run has one server; name a second run to compare it with, or replay "
                   "with --against";
        }
        if (!alone && !run->side.empty()) {
            return run->folder + ": this run already has two servers; compare it alone";
        }
    }
    return "";
}

/// A run that is given twice is no repeat: it would make chance look smaller than it is.
std::string why_not_twice(const Comparison& comparison) {
    std::map<std::string, std::string> folders;  // by id and side
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        const std::string& id = run->facts.segments.front().run_id;
        const auto [known, is_new] = folders.try_emplace(id + run->side, run->folder);
        if (!id.empty() && !is_new) {
            return run->folder + ": is the same run as " + known->second + " (run_id " + id +
                   "); name each run once";
        }
    }
    return "";
}

int read_runs(const CompareCommand& command, Comparison& out) {
    int code = read_group(command.a, command, out.a);
    if (code == exit_done) {
        code = read_group(command.b, command, out.b);
    }
    if (code != exit_done) {
        return code;
    }
    for (const std::string& why : {why_not_sides(command, out), why_not_twice(out)}) {
        if (!why.empty()) {
            return refuse(why, exit_usage);
        }
    }
    if (command.b.empty()) {
        out.b.push_back(std::move(out.a.back()));
        out.a.pop_back();
    }
    return exit_done;
}

bool fails(const Comparison& comparison, bool unsure_fails) {
    return std::any_of(comparison.thresholds.begin(), comparison.thresholds.end(),
                       [unsure_fails](const JudgedThreshold& one) {
                           return one.judged == Judged::fails ||
                                  (one.judged == Judged::unsure && unsure_fails);
                       });
}

int compare(const CompareCommand& command) {
    if (const int code = check_exports(command.exports); code != exit_done) {
        return code;
    }
    Comparison comparison;
    if (const int code = read_runs(command, comparison); code != exit_done) {
        return code;
    }
    comparison.differences = work_differences(comparison.a, comparison.b);
    const Weight weight = heaviest(comparison.differences);
    comparison.same_work = weight == Weight::told;
    const bool refused =
        weight == Weight::no_pairs || (weight == Weight::refused && !command.anyway);
    if (!refused) {
        if (const std::string why = compare_rows(comparison, command.wish); !why.empty()) {
            return refuse(why, exit_usage);
        }
        if (!command.exports.take_stdout()) {
            std::fputs(comparison_screen(comparison, command.parts).c_str(), stdout);
        }
    } else {
        std::fputs(printable_lines(refusal_text(comparison)).c_str(), stderr);
    }
    const int code = write_exports(command.exports, comparison, command.wish.unsure_fails);
    if (code != exit_done || refused) {
        return code != exit_done ? code : exit_input;
    }
    return fails(comparison, command.wish.unsure_fails) ? exit_threshold : exit_done;
}

}  // namespace

int run_compare(int argc, char** argv) {
    const CompareCommandLine line =
        parse_compare_options(std::vector<std::string>(argv + 1, argv + argc));
    switch (line.kind) {
        case CompareCommandLine::Kind::help:
            std::fputs(line.text.c_str(), stdout);
            return exit_done;
        case CompareCommandLine::Kind::refused:
            complain("%s", line.text.c_str());
            return exit_usage;
        case CompareCommandLine::Kind::table:
            return compare_table(line.table);
        case CompareCommandLine::Kind::run:
            break;
    }
    return compare(line.command);
}

}  // namespace driftless
