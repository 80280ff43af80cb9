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
#include "cmd/runs/compare.hpp"
#include "cmd/runs/sweep.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/criteria.hpp"

namespace driftless {

namespace {

// What a summary says of the load, each as a name and a text: what people vary on purpose (server,
// model, pace, users); with the settings that they gave (settle_load) it makes a line of the table.

/// Where a key is in summary.json.
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

static std::vector<CellValue> load_of(JsonValue summary) {
    const JsonValue run = summary.find("run");
    std::vector<CellValue> values;
    for (const auto& [name, place, key] : load) {
        values.push_back(
            {std::string(name), key_text((place == Where::run ? run : summary).find(key))});
    }
    return values;
}

/// What a summary says of the work; run.json, where it is there, has said the rest.
static void read_work(JsonValue run, RunFacts& facts) {
    const auto text = [run](const char* key) { return kept_text(run.find(key)); };
    const auto ns = [run](const char* key) { return run.find(key).as_i64(); };
    const auto number = [run](const char* key) { return run.find(key).as_u64(); };
    facts.trace_digest = digest_from_text(text("trace_digest")).value_or(0);
    facts.schedule_digest = digest_from_text(text("schedule_digest")).value_or(0);
    facts.rows = number("rows").value_or(0);
    facts.arguments = texts_of(run.find("arguments"));
    RunDescription& told = facts.info.run;
    told.speed = text("speed");
    told.start_ns = ns("start_ns");
    told.end_ns = ns("end_ns");
    told.duration_ns = ns("duration_ns");
    told.limit = number("limit");
    told.sessions = text("sessions");
    told.users = number("users").value_or(0);
    told.for_ns = ns("for_ns");
    told.spread = run.find("spread").as_bool().value_or(false);
    told.seed = number("seed").value_or(0);
    told.cache_salt = text("cache_salt");
    told.prompt = text("prompt");
    told.output = text("output");
    if (const std::string rate = text("rate"); !rate.empty()) {
        told.arrival.emplace();
        told.arrival->rate = rate;
        told.arrival->law = text("arrivals");
        told.arrival->of = text("arriving");
    }
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
    const JsonValue root = run.summary->root();
    // Only run.json has the digest of all prompts that were sent, and whose run it is.
    run.facts = read_run_partly(run.folder).value_or(RunFacts());
    run.run_id = run.facts.segments.empty() ? "" : run.facts.segments.front().run_id;
    run.says_work = root.find("run").is(JsonType::object);  // sweep.json keeps figures alone
    read_work(root.find("run"), run.facts);
    run.load = load_of(root);
    if (!run.facts.segments.empty()) {
        run.watched.push_back({"driver", run.facts.drivers()});
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

static PlayedRun played(const TableRun& run) {
    PlayedRun out;
    out.folder = run.folder;
    out.facts = run.facts;
    return out;
}

static std::string rows_difference(const TableRun& first, const TableRun& run) {
    const auto copies = [](const TableRun& one) {
        return values_given(one.facts.arguments, "--replicate");
    };
    const std::uint64_t rows = run.facts.rows;
    if (rows == first.facts.rows || copies(first) != copies(run) || varied_anything(first, run)) {
        return "";
    }
    return fmt::format("it plays {} rows, not {}{}", rows, first.facts.rows,
                       !run.facts.info.run.duration_ns
                           ? ""
                           : " (--duration counts wall time, so it selects other rows at another "
                             "speed or rate; use --start and --end, or --limit)");
}

/// The work is that of compare (row_differences); what a sweep varied on purpose is excused.
static std::string work_difference(const TableRun& first, const TableRun& run) {
    for (const WorkDifference& one : row_differences(played(first), played(run))) {
        const bool by_digest = one.what == "due instants" || one.what == "prompt digests";
        const std::string rows = by_digest ? rows_difference(first, run) : "";
        const std::string key = one.what == "prompts"        ? "prompt"
                                : one.what == "output mode"  ? "output"
                                : one.what.starts_with("--") ? one.what.substr(2)
                                                             : one.what;
        const bool is_excused =
            by_digest ? varied_anything(first, run) : varied_on_purpose(first, run, key);
        if (!rows.empty() || !is_excused) {
            return rows.empty() ? fmt::format("{} is {}, not {}", one.what, one.b, one.a) : rows;
        }
    }
    return rows_difference(first, run);
}

/// The figures that sweep.json keeps do not say what was played, but its cells have one plan.
static bool cannot_say(const TableRun& first, const TableRun& run) {
    return (!first.says_work || !run.says_work) && !first.sweep.empty() && first.sweep == run.sweep;
}

static std::string difference(const TableRun& first, const TableRun& run) {
    if (cannot_say(first, run)) {
        return "";
    }
    if (!first.says_work || !run.says_work) {
        return "its summary.json does not say what it played";
    }
    const std::string why = work_difference(first, run);
    return why.empty() && run.facts.trace_digest == 0 ? "it does not say which trace it played"
                                                      : why;
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

void settle_load(std::vector<TableRun>& runs) {
    std::vector<const std::vector<std::string>*> arguments;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        RunFacts& facts = runs[i].facts;
        arguments.push_back(&facts.arguments);
        // The first of the same plan; a run that is the first itself keeps its load.
        const auto here = runs.begin() + static_cast<std::ptrdiff_t>(i);
        const auto same = std::find_if(runs.begin(), here, [&](const TableRun& one) {
            return one.facts.trace_digest == facts.trace_digest && facts.schedule_digest != 0 &&
                   one.facts.schedule_digest == facts.schedule_digest;
        });
        for (CellValue& one : runs[i].load) {
            one.value = is_place(one.name) ? one.value : value_in(same->load, one.name);
        }
    }
    const auto same_played = [&](std::size_t run, std::size_t other) {
        return played_same(runs[run].facts, runs[other].facts);
    };
    for (const FlagInRuns& one : settings_in_runs(arguments, same_played)) {
        const bool splits = !one.flag->traits.has(watching) || one.flag->traits.has(acts);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs[i].summary && find_value(runs[i].load, one.name()) == nullptr) {
                (splits ? runs[i].load : runs[i].watched).push_back({one.name(), one.texts[i]});
            }
        }
    }
}

}  // namespace driftless
