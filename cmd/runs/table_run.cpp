#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/runs/sweep.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/criteria.hpp"

namespace driftless {

namespace {

// Keys of a run: what its summary.json says of the load and of the corpus, each as a name and a
// text. The corpus is what must be equal among the runs of a table: trace and window, which no
// sweep can excuse, and what is made of its rows (with the flags that are `of_corpus`). The load is
// what people vary on purpose: server, model, pace, users (and the flags that are `of_load`). The
// cache salt is neither: with another salt prompts have other words, and share the same.

/// Where a key stands in summary.json.
enum class Where : std::uint8_t { root, run };

struct Key {
    std::string_view name;  ///< as the flag, without dashes
    Where place;
    std::string_view key;  ///< in the JSON
};

}  // namespace

static constexpr std::array load{
    Key{"url", Where::run, "urls"},           Key{"model", Where::root, "model_id"},
    Key{"api", Where::root, "endpoint_type"}, Key{"tokenizer", Where::root, "tokenizer_id"},
    Key{"speed", Where::run, "speed"},        Key{"rate", Where::run, "rate"},
    Key{"arrivals", Where::run, "arrivals"},  Key{"users", Where::run, "users"},
    Key{"sessions", Where::run, "sessions"},  Key{"spread", Where::run, "spread"},
    Key{"for", Where::run, "for_ns"},         Key{"max-inflight", Where::root, "max_concurrency"},
};

static constexpr std::array window{
    Key{"trace", Where::run, "trace_digest"}, Key{"start", Where::run, "start_ns"},
    Key{"end", Where::run, "end_ns"},         Key{"duration", Where::run, "duration_ns"},
    Key{"limit", Where::run, "limit"},
};

static constexpr std::array contents{
    Key{"seed", Where::run, "seed"},
    Key{"prompt", Where::run, "prompt"},
    Key{"output", Where::run, "output"},
};

/// The text of a value, without the quotes of a string; null, false and what is absent are empty.
static std::string key_text(JsonValue value) {
    if (const auto text = value.as_string()) {
        return std::string(*text);
    }
    if (value.is(JsonType::array)) {
        std::string all;
        for (JsonValue one = value.first(); one.present(); one = one.next()) {
            all += (all.empty() ? "" : " ") + std::string(one.as_string().value_or(one.raw()));
        }
        return all;
    }
    const bool empty = !value.present() || value.is(JsonType::null) || value.as_bool() == false;
    return empty ? "" : std::string(value.raw());
}

/// All values of a flag of replay; of a switch "true".
static std::string flag_text(const std::vector<std::string>& arguments, const std::string& flag) {
    return joined(values_given(arguments, flag), " ",
                  [](const std::string& value) { return value.empty() ? "true" : value; });
}

/// What a summary says under these keys. Of a value that is not set the text is empty.
static std::vector<CellValue> values_of(JsonValue summary,
                                        std::initializer_list<std::span<const Key>> lists) {
    const JsonValue run = summary.find("run");
    std::vector<CellValue> values;
    for (const std::span<const Key> keys : lists) {
        for (const auto& [name, place, key] : keys) {
            values.push_back(
                {std::string(name), key_text((place == Where::run ? run : summary).find(key))});
        }
    }
    return values;
}

const CellValue* find_value(const std::vector<CellValue>& values, std::string_view name) {
    const auto found = std::ranges::find(values, name, &CellValue::name);
    return found == values.end() ? nullptr : &*found;
}

std::string_view value_in(const std::vector<CellValue>& values, std::string_view name) {
    const CellValue* const found = find_value(values, name);
    return found == nullptr ? std::string_view() : std::string_view(found->value);
}

/// The `summary.json` of a folder; where it cannot be read, the reason is in `why`.
static std::optional<CellSummary> summary_in(const std::string& folder, std::string& why) {
    const std::string path = folder + "/summary.json";
    const Result<std::string> text = read_regular_file(path);
    if (!text) {
        why =
            text.error().code == ErrorCode::not_found
                ? "no summary.json: the run was killed or is still running; see driftless report " +
                      folder
                : path + ": " + why_unreadable(text.error());
        return {};
    }
    Result<CellSummary> summary = CellSummary::read(text.value());
    if (!summary) {
        why = path + ": not a JSON object";
        return {};
    }
    return std::move(summary).value();
}

static std::uint64_t count_of(JsonValue summary, std::string_view outcome) {
    return summary.find("outcomes").find(outcome).as_u64().value_or(0);
}

/// What the summary alone says against the figures.
static void judge_by_summary(TableRun& run) {
    const CellSummary& summary = *run.summary;
    const JsonValue root = summary.root();
    const JsonValue stopped = root.find("stopped_when");
    const std::uint64_t cut = count_of(root, "cancelled") + count_of(root, "interrupted");
    if (root.find("sides").is(JsonType::object)) {
        run.outcome = "dual";
        run.left_out = "sent to two servers at once: driftless compare " + run.folder;
    } else if (is_spoiled(summary.verdict())) {
        run.outcome = "spoiled";
        run.left_out = "its verdict is " + summary.verdict() + ": " + summary.verdict_reasons();
    } else if (stopped.is(JsonType::object)) {
        run.outcome = "stopped";
        run.left_out = "stopped early: " + kept_text(stopped.find("cond"));
    } else if (cut > 0 || root.find("unfinished").is(JsonType::object)) {
        run.outcome = "interrupted";
        run.left_out = "interrupted: the run is incomplete";
    } else if (summary.warm().value_or(false)) {
        run.outcome = "warm";
        run.left_out =
            "its cache was warm from an earlier run, so its TTFT is too low: restart the server "
            "(sweep --before), or pass --reset-cache or --cache-salt random to replay";
    } else if (root.find("completed").as_u64().value_or(0) == 0) {
        run.outcome = "failed";
        run.left_out = "no request got a complete answer";
    } else {
        run.outcome = "completed";
    }
}

static std::string read_run_folder(const std::string& folder, std::vector<TableRun>& out) {
    TableRun run;
    run.folder = folder;
    run.name = folder.substr(folder.rfind('/') + 1);
    std::string why;
    run.summary = summary_in(folder, why);
    if (!run.summary && !is_there(folder + "/run.json")) {
        return folder + (is_there(folder)
                             ? ": not a run or sweep folder: it has no run.json and no sweep.json; "
                               "name one that has"
                             : ": no such folder; name the folder of a run or of a sweep");
    }
    describe_run(run);
    if (!run.summary) {
        run.outcome = is_there(folder + "/summary.json") ? "unreadable" : "killed";
        run.left_out = why;
    }
    out.push_back(std::move(run));
    return "";
}

/// What became of a cell goes before what its summary says: replay's exit code is in it.
static void judge_by_ledger(const LedgerCell& cell, TableRun& run) {
    if (cell.state != CellState::ended) {
        run.outcome = cell.state == CellState::pending ? "pending" : "cut off";
        run.left_out = cell.state == CellState::pending ? "not run yet"
                                                        : "still running, or its sweep was killed";
    } else if (cell.outcome != CellOutcome::completed && cell.outcome != CellOutcome::threshold) {
        run.outcome = name_of(cell.outcome);
        run.left_out = cell.why.empty() ? run.outcome : cell.why;
    } else if (run.left_out.empty() && cell.outcome == CellOutcome::threshold) {
        run.outcome = name_of(cell.outcome);
    }
}

static TableRun run_of_cell(const std::string& sweep, const LedgerCell& cell,
                            const std::vector<std::pair<std::string, std::string>>& labels) {
    TableRun run;
    run.folder = sweep + "/" + cell.planned.folder;
    run.name = cell.planned.folder;
    run.sweep = sweep;
    run.cell = cell.planned.name;
    run.values = cell.planned.values;
    for (const auto& [name, value] : labels) {
        run.labels.push_back({name, value});
    }
    std::string why;
    run.summary = summary_in(run.folder, why);
    // The run may lie elsewhere by now; sweep.json keeps its figures.
    if (!run.summary && !cell.summary.empty()) {
        if (Result<CellSummary> kept = CellSummary::read(cell.summary); kept) {
            run.summary = std::move(kept).value();
        }
    }
    describe_run(run);
    judge_by_ledger(cell, run);
    if (!run.summary && run.left_out.empty()) {
        run.outcome = name_of(cell.outcome);
        run.left_out = why;
    }
    return run;
}

std::vector<TableRun> sweep_runs(const Ledger& ledger, const std::string& folder) {
    std::vector<TableRun> runs;
    for (const LedgerCell& cell : ledger.cells) {
        runs.push_back(run_of_cell(folder, cell, ledger.plan.labels));
    }
    return runs;
}

static std::string read_sweep_folder(const std::string& folder, std::vector<TableRun>& out) {
    const std::string path = folder + "/sweep.json";
    const Result<std::string> text = read_regular_file(path);
    if (!text) {
        return path + ": " + why_unreadable(text.error());
    }
    Ledger ledger;
    if (const std::string why = read_ledger(text.value(), ledger); !why.empty()) {
        return path + ": " + why;
    }
    std::ranges::move(sweep_runs(ledger, folder), std::back_inserter(out));
    return "";
}

/// Runs of several folders may have one name: those get the folder above, too.
static void tell_names_apart(std::vector<TableRun>& runs) {
    std::map<std::string, std::size_t> uses;
    for (const TableRun& run : runs) {
        ++uses[run.name];
    }
    for (TableRun& run : runs) {
        if (uses[run.name] > 1) {
            const std::filesystem::path folder = run.folder;
            run.name = folder.parent_path().filename() / folder.filename();
        }
    }
}

/// Under two paths, or in its sweep and by itself: it would count twice.
static std::string why_same_run(const std::vector<TableRun>& runs) {
    std::map<std::string, std::string> folders;
    for (const TableRun& run : runs) {
        if (const auto [first, is_new] = folders.emplace(run.run_id, run.folder);
            !is_new && !run.run_id.empty()) {
            return run.folder + ": is the same run as " + first->second + " (run_id " + run.run_id +
                   "); name each run once";
        }
    }
    return "";
}

std::optional<std::string> TableRun::label(std::string_view key) const {
    const CellValue* const found = find_value(labels, key);
    return found == nullptr ? std::nullopt : std::optional(found->value);
}

void describe_run(TableRun& run) {
    if (!run.summary) {
        return;
    }
    // Only run.json has the digest of all prompts that were sent, and whose run it is.
    if (const std::optional<RunFacts> facts = read_run_partly(run.folder)) {
        run.prompts_digest = facts->prompts_digest ? hex_text(*facts->prompts_digest) : "";
        run.run_id = facts->segments.empty() ? "" : facts->segments.front().run_id;
    }
    const JsonValue root = run.summary->root();
    run.load = values_of(root, {load});
    const JsonValue of_run = root.find("run");
    const bool says_work = of_run.is(JsonType::object);  // sweep.json keeps figures alone
    if (says_work) {
        run.corpus = values_of(root, {window, contents});
    }
    const std::vector<std::string> arguments = texts_of(of_run.find("arguments"));
    for (const Flag& flag : replay_flags().flags) {
        const bool is_load = flag.traits.has(of_load);
        if (is_load || (says_work && flag.traits.has(of_corpus))) {
            const std::string& name = flag.names.back();
            (is_load ? run.load : run.corpus)
                .push_back({name.substr(2), flag_text(arguments, name)});
        }
    }
    const JsonValue labels = root.find("labels");
    for (JsonValue one = labels.first(); one.present(); one = one.next()) {
        if (!run.label(one.key())) {
            run.labels.push_back({std::string(one.key()), kept_text(one)});
        }
    }
    judge_by_summary(run);
}

std::string read_table_runs(const std::vector<std::string>& folders, std::vector<TableRun>& out) {
    std::vector<std::string> seen;
    for (const std::string& typed : folders) {
        const std::string folder = without_slashes(typed);
        if (std::ranges::find(seen, folder) != seen.end()) {
            return folder + ": given twice; name each run once";
        }
        seen.push_back(folder);
        const std::string why = is_there(folder + "/sweep.json") ? read_sweep_folder(folder, out)
                                                                 : read_run_folder(folder, out);
        if (!why.empty()) {
            return why;
        }
        if (out.size() > table_runs_max) {
            return "more than " + std::to_string(table_runs_max) + " runs; name fewer";
        }
    }
    tell_names_apart(out);
    return why_same_run(out);
}

/// Keys of the load that say where requests go, not when.
static constexpr std::array<std::string_view, 5> places{"url", "model", "api", "tokenizer",
                                                        "max-inflight"};

static bool is_place(std::string_view key) {
    return std::ranges::find(places, key) != places.end();
}

/// Both are cells of one sweep, which varied this on purpose.
static bool varied_on_purpose(const TableRun& a, const TableRun& b, std::string_view key) {
    return !a.sweep.empty() && a.sweep == b.sweep &&
           value_in(a.values, key) != value_in(b.values, key);
}

static bool varied_anything(const TableRun& a, const TableRun& b) {
    return std::ranges::any_of(a.values, [&](const CellValue& one) {
        return !is_place(one.name) && varied_on_purpose(a, b, one.name);
    });
}

static std::string shown(std::string_view key, std::string_view value) {
    const bool is_time = key == "start" || key == "end" || key == "duration";
    if (value.empty()) {
        return "none";
    }
    return is_time ? fmt::format("{} ns", value) : fmt::format("\"{}\"", value);
}

static JsonValue run_of(const TableRun& run) {
    return run.summary->root().find("run");
}

static bool same_keys(const std::vector<CellValue>& a, const std::vector<CellValue>& b,
                      bool of_places) {
    return std::ranges::all_of(a, [&](const CellValue& one) {
        return is_place(one.name) != of_places || one.value == value_in(b, one.name);
    });
}

static std::string key_difference(const TableRun& first, const TableRun& run) {
    for (const CellValue& expected : first.corpus) {
        const std::string_view found = value_in(run.corpus, expected.name);
        const bool of_window = std::ranges::count(window, expected.name, &Key::name) > 0;
        const bool excused = !of_window && varied_on_purpose(first, run, expected.name);
        if (found != expected.value && !excused) {
            return fmt::format("{} is {}, not {}",
                               expected.name == "trace" ? expected.name : "--" + expected.name,
                               shown(expected.name, found), shown(expected.name, expected.value));
        }
    }
    return value_in(run.corpus, "trace").empty() ? "it does not say which trace it played" : "";
}

static std::string rows_difference(const TableRun& first, const TableRun& run) {
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
static std::string digest_difference(const TableRun& first, const TableRun& run) {
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
static bool cannot_say(const TableRun& first, const TableRun& run) {
    return (first.corpus.empty() || run.corpus.empty()) && !first.sweep.empty() &&
           first.sweep == run.sweep;
}

static std::string difference(const TableRun& first, const TableRun& run) {
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

// A dual run is in no mean, and counts each row twice.
std::vector<std::string> corpus_differences(const std::vector<TableRun>& runs) {
    std::vector<std::string> all;
    const auto counts = [](const TableRun& run) { return run.summary && run.outcome != "dual"; };
    const auto first = std::ranges::find_if(runs, counts);
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
