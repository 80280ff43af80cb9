#include "cmd/compare/table/table_run.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "cmd/compare/table/run_keys.hpp"
#include "cmd/sweep/ledger.hpp"
#include "cmd/whole_file.hpp"
#include "engine/stats/verdict.hpp"

namespace driftless {

namespace {

bool is_there(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0;
}

std::string last_part(const std::string& path) {
    const std::size_t at = path.rfind('/');
    return at == path.npos || at + 1 == path.size() ? path : path.substr(at + 1);
}

std::string without_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') {
        path.pop_back();
    }
    return path;
}

/// The `summary.json` of a folder; where it cannot be read, the reason is in `why`.
std::optional<CellSummary> summary_in(const std::string& folder, std::string& why) {
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

/// What only run.json has: the digest of all prompts that were sent, and whose run it is.
void add_run_json(TableRun& run) {
    const Result<std::string> text = read_regular_file(run.folder + "/run.json");
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text ? text.value() : "null");
    if (root) {
        const JsonValue digest = root.value().find("plan").find("prompts_digest");
        run.prompts_digest = digest.as_string().value_or("");
        run.run_id = root.value().find("run_id").as_string().value_or("");
    }
}

bool is_spoiled(const std::string& verdict) {
    return verdict == name_of(Verdict::client_limited) || verdict == name_of(Verdict::host_noisy) ||
           verdict == name_of(Verdict::network_limited);
}

std::uint64_t count_of(JsonValue summary, std::string_view outcome) {
    return summary.find("outcomes").find(outcome).as_u64().value_or(0);
}

/// What the summary alone says against the figures.
void judge_by_summary(TableRun& run) {
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
        run.left_out =
            "stopped early: " + std::string(stopped.find("cond").as_string().value_or(""));
    } else if (cut > 0 || root.find("unfinished").is(JsonType::object)) {
        run.outcome = "interrupted";
        run.left_out = "interrupted: the run is incomplete";
    } else if (summary.warm().value_or(false)) {
        run.outcome = "warm";
        run.left_out = "its cache was warm from an earlier run: TTFT is too low";
    } else if (root.find("completed").as_u64().value_or(0) == 0) {
        run.outcome = "failed";
        run.left_out = "no request got a complete answer";
    } else {
        run.outcome = "completed";
    }
}

std::string read_run_folder(const std::string& folder, std::vector<TableRun>& out) {
    TableRun run;
    run.folder = folder;
    run.name = last_part(folder);
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
void judge_by_ledger(const LedgerCell& cell, TableRun& run) {
    if (cell.state != CellState::ended) {
        run.outcome = cell.state == CellState::pending ? "pending" : "cut off";
        run.left_out = cell.state == CellState::pending ? "not run yet"
                                                        : "still running, or its sweep was killed";
    } else if (cell.outcome != CellOutcome::completed && cell.outcome != CellOutcome::threshold) {
        run.outcome = name_of(cell.outcome);
        run.left_out = cell.why.empty() ? run.outcome : cell.why;
    } else if (!is_averaged(cell) && run.left_out.empty()) {
        run.outcome = cell.warm.value_or(false) ? "warm" : name_of(cell.outcome);
        run.left_out = "its sweep excluded it from the averages";
    } else if (run.left_out.empty() && cell.outcome == CellOutcome::threshold) {
        run.outcome = name_of(cell.outcome);
    }
}

TableRun run_of_cell(const std::string& sweep, const LedgerCell& cell,
                     const std::vector<std::pair<std::string, std::string>>& labels) {
    TableRun run;
    run.folder = sweep + "/" + cell.planned.folder;
    run.name = cell.planned.folder;
    run.sweep = sweep;
    run.cell = cell.planned.name;
    run.values = cell.planned.values;
    run.labels = labels;
    std::string why;
    run.summary = summary_in(run.folder, why);
    // The run may lie elsewhere by now; sweep.json keeps its most important figures.
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

std::string read_sweep_folder(const std::string& folder, std::vector<TableRun>& out) {
    const std::string path = folder + "/sweep.json";
    const Result<std::string> text = read_regular_file(path);
    if (!text) {
        return path + ": " + why_unreadable(text.error());
    }
    Ledger ledger;
    if (const std::string why = read_ledger(text.value(), ledger); !why.empty()) {
        return path + ": " + why;
    }
    for (const LedgerCell& cell : ledger.cells) {
        out.push_back(run_of_cell(folder, cell, ledger.plan.labels));
    }
    return "";
}

/// Runs of several folders may have one name: those get the folder above, too.
void tell_names_apart(std::vector<TableRun>& runs) {
    std::map<std::string, std::size_t> uses;
    for (const TableRun& run : runs) {
        ++uses[run.name];
    }
    for (TableRun& run : runs) {
        if (uses[run.name] > 1) {
            const std::size_t last = run.folder.rfind('/');
            const std::size_t above =
                last == run.folder.npos || last == 0 ? last : run.folder.rfind('/', last - 1);
            run.name = above == run.folder.npos ? run.folder : run.folder.substr(above + 1);
        }
    }
}

/// Under two paths, or in its sweep and by itself: it would count twice.
std::string why_same_run(const std::vector<TableRun>& runs) {
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

}  // namespace

std::optional<std::string> TableRun::label(std::string_view key) const {
    const auto found = std::find_if(labels.begin(), labels.end(),
                                    [key](const auto& one) { return one.first == key; });
    return found == labels.end() ? std::nullopt : std::optional(found->second);
}

void describe_run(TableRun& run) {
    if (!run.summary) {
        return;
    }
    add_run_json(run);
    const JsonValue root = run.summary->root();
    run.load = load_keys(root);
    if (root.find("run").is(JsonType::object)) {  // sweep.json keeps figures alone
        run.corpus = corpus_keys(root);
    }
    const JsonValue labels = root.find("labels");
    for (JsonValue one = labels.first(); one.present(); one = one.next()) {
        if (!run.label(one.key())) {
            run.labels.emplace_back(one.key(), one.as_string().value_or(""));
        }
    }
    judge_by_summary(run);
}

std::string read_table_runs(const std::vector<std::string>& folders, std::vector<TableRun>& out) {
    std::vector<std::string> seen;
    for (const std::string& typed : folders) {
        const std::string folder = without_slashes(typed);
        if (std::find(seen.begin(), seen.end(), folder) != seen.end()) {
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

}  // namespace driftless
