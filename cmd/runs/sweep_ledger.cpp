#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/sweep.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

// Members of summary.json that go into sweep.json as they are, with every number.
static constexpr std::array<std::string_view, 6> kept_keys{
    "unfinished", "outcomes", "cache", "warm_cache", "thresholds", "stopped_when"};

namespace {

/// The three of a plan, as an object of its own.
template <typename Plan>
struct HooksOf {
    Plan& plan;
};

}  // namespace

static void walk(auto& fields, IsOf<SweepAxis> auto& axis) {
    fields.value("name", 2, axis.name);
    fields.value("values", 2, axis.values);
    fields.value("of_server", 2, axis.of_server);
}

static void walk(auto& fields, IsOf<Hook> auto& hook) {
    fields.text("command", 2, hook.command);
    fields.value("limit_ns", 2, hook.limit_ns);
}

template <typename Plan>
static void walk(auto& fields, const HooksOf<Plan>& hooks) {
    for (auto* const hook : {&hooks.plan.before, &hooks.plan.ready, &hooks.plan.after}) {
        fields.value(hook->name, 2, *hook);
    }
}

template <IsOf<SweepPlan> Plan>
static void walk(auto& fields, Plan& plan) {
    HooksOf<Plan> hooks{plan};
    std::vector<std::vector<std::string>> labels;
    for (const auto& [name, value] : plan.labels) {
        labels.push_back({name, value});
    }
    fields.value("home", 2, plan.home);
    fields.value("traces", 2, plan.traces);
    fields.value("arguments", 2, plan.arguments);
    fields.value("over", 2, plan.axes);
    fields.value("repeat", 2, plan.repeat);
    fields.value("labels", 2, labels);
    fields.value("hooks", 2, hooks);
    fields.value("idle_limit_ns", 2, plan.idle_limit_ns);
    fields.value("salted", 2, plan.salted);
    if constexpr (!std::is_const_v<Plan>) {
        for (std::vector<std::string>& label : labels) {
            label.resize(2);
            plan.labels.emplace_back(std::move(label[0]), std::move(label[1]));
        }
    }
}

/// What became of a cell, behind its outcome.
static void walk_fate(auto& fields, auto& cell) {
    fields.text("why", 2, cell.why);
    fields.text("note", 2, cell.note);
    fields.text("hook_failed", 2, cell.hook_failed);
    fields.value("warm", 2, cell.warm);
    fields.value("exit_code", 2, cell.exit_code);
    fields.text("began", 2, cell.began);
    fields.text("verdict", 2, cell.verdict);
    fields.object("summary", 2, cell.summary);
    fields.value("cut", 2, cell.cut_folders);
}

static void put_cell(JsonWriter& json, const LedgerCell& cell) {
    MemberWriter fields(json);
    json.begin_object();
    put(json, {{"name", cell.planned.name},
               {"values", put_named(cell.planned.values)},
               {"repeat", cell.planned.repeat},
               {"run", cell.planned.folder},
               {"outcome",
                cell.state == CellState::ended ? name_of(cell.outcome) : name_of(cell.state)}});
    walk_fate(fields, cell);
    json.end_object();
}

/// False: an outcome of another version.
static bool read_cell(JsonValue json, LedgerCell& cell) {
    const std::string state = kept_text(json.find("outcome"));
    cell.state = from_name<CellState>(state).value_or(CellState::ended);
    const std::optional<CellOutcome> outcome = from_name<CellOutcome>(state);
    cell.outcome = outcome.value_or(cell.outcome);
    JsonMembers fields(json);
    walk_fate(fields, cell);
    const bool known = outcome.has_value() || cell.state != CellState::ended;
    return known && !fields.error() && kept_text(json.find("run")) == cell.planned.folder;
}

std::string kept_figures(const CellSummary& summary) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (JsonValue one = summary.root().first(); one.present(); one = one.next()) {
        if (one.is(JsonType::number) || std::ranges::count(kept_keys, one.key()) > 0) {
            json.key(one.key()).raw(one.raw());
        }
    }
    json.end_object();
    return text;
}

Ledger new_ledger(const SweepPlan& plan) {
    Ledger ledger{plan, {}};
    for (PlannedCell& cell : plan_cells(plan)) {
        ledger.cells.push_back({});
        ledger.cells.back().planned = std::move(cell);
    }
    return ledger;
}

std::string sweep_json(const Ledger& ledger) {
    return printable_json({{"schema", sweep_schema},
                           {"plan", ledger.plan},
                           {"cells", put_each(ledger.cells, put_cell)}}) +
           "\n";
}

std::string read_ledger(const std::string& text, Ledger& out) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    if (!root) {
        return "is not JSON; start a new sweep";
    }
    const std::int64_t schema = root.value().find("schema").as_i64().value_or(0);
    if (schema < 1 || schema > sweep_schema) {
        return "was written by another version of driftless; use that one";
    }
    const Result<SweepPlan> read = read_members<SweepPlan>(root.value().find("plan"), "plan");
    const SweepPlan plan = read ? read.value() : SweepPlan();
    if (const std::string why = read ? check_plan(plan) : read.error().doing; !why.empty()) {
        return "has an invalid plan: " + why;
    }
    out = new_ledger(plan);
    const JsonValue cells = root.value().find("cells");
    JsonValue one = cells.first();
    bool same = cells.size() == out.cells.size();
    for (std::size_t i = 0; same && i < out.cells.size(); ++i, one = one.next()) {
        same = read_cell(one, out.cells[i]);
    }
    return same ? "" : "has cells that do not match its plan; start a new sweep";
}

Result<void> write_ledger(const Ledger& ledger, const std::string& folder) {
    const bool plays = std::ranges::any_of(
        ledger.cells, [](const LedgerCell& cell) { return cell.state == CellState::running; });
    if (plays) {  // no figure is new, and the table reads every run
        return write_whole_file(folder + "/sweep.json", sweep_json(ledger));
    }
    const Result<void> csv = write_whole_file(
        folder + "/sweep.csv", table_csv(table_of(sweep_runs(ledger, folder), false)));
    const Result<void> json = write_whole_file(folder + "/sweep.json", sweep_json(ledger));
    return csv ? json : csv;
}

static std::string number(std::optional<double> value) {
    return value ? fmt::format("{:.2f}", *value) : "-";
}

static std::string key_figures(const LedgerCell& cell) {
    const ParsedJson summary(cell.summary);
    const auto of = [&summary](std::string_view key) { return summary.root.find(key).as_double(); };
    const std::optional<double> due = of("p99_ttft_due_ms");
    const bool is_longer = due && is_longer_from_due(*due, of("p99_ttft_ms").value_or(0));
    return cell.summary.empty()
               ? ""
               : fmt::format(", {} req/s, TTFT p99 {} ms{}", number(of("request_throughput")),
                             number(of("p99_ttft_ms")),
                             is_longer ? fmt::format(" ({} from due)", number(due)) : "");
}

std::string cell_begins(const Ledger& ledger, std::size_t index) {
    const PlannedCell& planned = ledger.cells[index].planned;
    const std::string repeat =
        ledger.plan.repeat > 1 ? fmt::format(" (repeat {})", planned.repeat) : "";
    return fmt::format("cell {} of {}  {}{}: ", index + 1, ledger.cells.size(), planned.name,
                       repeat);
}

std::string cell_ends(const LedgerCell& cell) {
    std::string line = name_of(cell.outcome) + key_figures(cell);
    if (cell.warm.value_or(false)) {
        line += ", began with a warm cache (not averaged)";
    }
    line += cell.why.empty() ? "" : ": " + cell.why;
    line += cell.note.empty() ? "" : "; " + cell.note;
    return line + "\n";
}

}  // namespace driftless
