#include "cmd/compare/table/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/compare/table/run_keys.hpp"

namespace driftless {

namespace {

/// Keys of the load that say where requests go, not when.
constexpr std::array<std::string_view, 5> places{"url", "model", "api", "tokenizer",
                                                 "max-inflight"};

bool is_place(std::string_view key) {
    return std::find(places.begin(), places.end(), key) != places.end();
}

/// Both are cells of one sweep, which varied this on purpose.
bool varied_on_purpose(const TableRun& a, const TableRun& b, std::string_view key) {
    return !a.sweep.empty() && a.sweep == b.sweep &&
           value_in(a.values, key) != value_in(b.values, key);
}

bool varied_anything(const TableRun& a, const TableRun& b) {
    return std::any_of(a.values.begin(), a.values.end(), [&](const CellValue& one) {
        return !is_place(one.name) && varied_on_purpose(a, b, one.name);
    });
}

std::string shown(std::string_view key, std::string_view value) {
    const bool is_time = key == "start" || key == "end" || key == "duration";
    if (value.empty()) {
        return "none";
    }
    return is_time ? fmt::format("{} ns", value) : fmt::format("\"{}\"", value);
}

JsonValue run_of(const TableRun& run) {
    return run.summary->root().find("run");
}

bool same_keys(const std::vector<CellValue>& a, const std::vector<CellValue>& b, bool of_places) {
    return std::all_of(a.begin(), a.end(), [&](const CellValue& one) {
        return is_place(one.name) != of_places || one.value == value_in(b, one.name);
    });
}

std::string key_difference(const TableRun& first, const TableRun& run) {
    for (const CellValue& expected : first.corpus) {
        const std::string_view found = value_in(run.corpus, expected.name);
        const bool excused =
            !is_of_window(expected.name) && varied_on_purpose(first, run, expected.name);
        if (found != expected.value && !excused) {
            return fmt::format("{} is {}, not {}", words_of_key(expected.name),
                               shown(expected.name, found), shown(expected.name, expected.value));
        }
    }
    return value_in(run.corpus, "trace").empty() ? "it does not say which trace it played" : "";
}

std::string rows_difference(const TableRun& first, const TableRun& run) {
    const auto rows = run_of(run).find("rows").as_u64();
    const auto expected = run_of(first).find("rows").as_u64();
    const bool copies = value_in(first.load, "replicate") != value_in(run.load, "replicate");
    if (rows == expected || copies || varied_anything(first, run)) {
        return "";
    }
    return fmt::format("it plays {} rows, not {}{}", rows.value_or(0), expected.value_or(0),
                       value_in(run.corpus, "duration").empty()
                           ? ""
                           : " (--duration counts wall time, so it selects other rows at another "
                             "speed or rate; use --start and --end, or --limit)");
}

/// Of runs that agree in all flags that this file knows.
std::string digest_difference(const TableRun& first, const TableRun& run) {
    if (!same_keys(first.load, run.load, false) || varied_anything(first, run)) {
        return "";
    }
    const auto text = [](const TableRun& one, std::string_view key) {
        return run_of(one).find(key).as_string().value_or("");
    };
    const std::string_view schedule = text(run, "schedule_digest");
    const std::string_view expected = text(first, "schedule_digest");
    if (!schedule.empty() && !expected.empty() && schedule != expected) {
        return fmt::format("its schedule (digest {}) is not {}, though it has the same pace",
                           schedule, expected);
    }
    const auto live = [](const TableRun& one) {
        return one.summary->root().find("live").find("turns").as_u64().value_or(0) > 0;
    };
    const bool known = !run.prompts_digest.empty() && !first.prompts_digest.empty();
    const bool comparable = text(run, "cache_salt") == text(first, "cache_salt") && known &&
                            same_keys(first.load, run.load, true) && !live(first) && !live(run);
    if (comparable && run.prompts_digest != first.prompts_digest) {
        return fmt::format("its prompts (digest {}) are not {}, though seed and salt are the same",
                           run.prompts_digest, first.prompts_digest);
    }
    return "";
}

/// The figures that sweep.json keeps do not say what was played, but its cells have one plan.
bool cannot_say(const TableRun& first, const TableRun& run) {
    return (first.corpus.empty() || run.corpus.empty()) && !first.sweep.empty() &&
           first.sweep == run.sweep;
}

std::string difference(const TableRun& first, const TableRun& run) {
    if (cannot_say(first, run)) {
        return "";
    }
    if (first.corpus.empty() || run.corpus.empty()) {
        return "its summary.json does not say what it played";
    }
    std::string why = key_difference(first, run);
    why = why.empty() ? rows_difference(first, run) : why;
    return why.empty() ? digest_difference(first, run) : why;
}

}  // namespace

// A dual run is in no mean, and counts each row twice.
std::vector<std::string> corpus_differences(const std::vector<TableRun>& runs) {
    std::vector<std::string> all;
    const auto counts = [](const TableRun& run) { return run.summary && run.outcome != "dual"; };
    const auto first = std::find_if(runs.begin(), runs.end(), counts);
    for (auto run = first; run != runs.end(); ++run) {
        if (counts(*run)) {
            if (const std::string why = difference(*first, *run); !why.empty()) {
                all.push_back(run->folder + ": " + why);
            }
        }
    }
    return all;
}

}  // namespace driftless
