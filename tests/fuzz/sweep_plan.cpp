// Any bytes as the plan of a sweep in TOML: refused with a line, or a plan whose cells have folders
// of their own below that of the sweep, and arguments that a process can be given. What sweep.json
// keeps of it is read back as it was.
#include "cmd/runs/sweep.hpp"
#include "proto/core/errors.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void check_cell(const SweepPlan& plan, const PlannedCell& cell) {
    CHECK(!cell.folder.empty() && cell.folder.find('/') == cell.folder.npos);
    CHECK(cell.values.size() == plan.axes.size());
    for (const std::string& argument : arguments_of(plan, cell)) {
        CHECK(argument.find('\0') == argument.npos);  // a process would be given the text before it
    }
}

void check_ledger(const SweepPlan& plan) {
    Ledger ledger = new_ledger(plan);
    std::set<std::string> folders;
    for (const LedgerCell& cell : ledger.cells) {
        check_cell(plan, cell.planned);
        CHECK(folders.insert(cell.planned.folder).second);
    }
    CHECK(folders.size() <= cells_max);
    const std::string written = sweep_json(ledger);
    Ledger back;
    CHECK(read_ledger(written, back).empty());
    CHECK(sweep_json(back) == written);
}

void fuzz_sweep_plan(std::string_view bytes) {
    SweepPlan plan;
    const std::string why = read_plan_file(bytes, plan);
    if (!why.empty()) {
        CHECK(why.starts_with("line "));
        return;
    }
    if (check_plan(plan).empty()) {
        check_ledger(plan);
    }
}

const FuzzTargets sweep_plan_target = {{"sweep_plan", fuzz_sweep_plan}};

}  // namespace
}  // namespace driftless
