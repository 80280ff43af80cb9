// Any bytes as a sweep.json: refused in words, or a ledger that, written anew, is read as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cmd/runs/sweep.hpp"
#include "proto/core/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace driftless;
    Ledger ledger;
    if (!read_ledger(std::string(reinterpret_cast<const char*>(data), size), ledger).empty()) {
        return 0;
    }
    CHECK(!ledger.cells.empty() && ledger.cells.size() <= cells_max);
    const std::string written = sweep_json(ledger);
    Ledger again;
    CHECK(read_ledger(written, again).empty());
    CHECK(sweep_json(again) == written);
    return 0;
}
