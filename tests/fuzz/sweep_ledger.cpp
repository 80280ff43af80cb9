// Any bytes as a sweep.json: refused in words, or a ledger that, written anew, is read as the same.

#include "cmd/runs/sweep.hpp"
#include "proto/core/errors.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void fuzz_sweep_ledger(std::string_view bytes) {
    Ledger ledger;
    if (!read_ledger(std::string(bytes), ledger).empty()) {
        return;
    }
    CHECK(!ledger.cells.empty() && ledger.cells.size() <= cells_max);
    const std::string written = sweep_json(ledger);
    Ledger again;
    CHECK(read_ledger(written, again).empty());
    CHECK(sweep_json(again) == written);
}

const FuzzTargets sweep_ledger_target = {{"sweep_ledger", fuzz_sweep_ledger}};

}  // namespace
}  // namespace driftless
