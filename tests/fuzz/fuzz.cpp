// The program of all fuzz targets. FUZZ_TARGET names the one that runs; without it their names are
// printed, one a line.
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

const FuzzTarget& chosen_target() {
    const char* const chosen = std::getenv("FUZZ_TARGET");
    for (const FuzzTarget& target : FuzzTargets::all()) {
        if (chosen == nullptr) {
            std::puts(target.name.c_str());
        } else if (target.name == chosen) {
            return target;
        }
    }
    if (chosen != nullptr) {
        std::fprintf(stderr, "FUZZ_TARGET: no target is called \"%s\"\n", chosen);
    }
    std::exit(chosen == nullptr ? 0 : 2);
}

}  // namespace
}  // namespace driftless

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const driftless::FuzzTarget& target = driftless::chosen_target();
    target.run({reinterpret_cast<const char*>(data), size});
    return 0;
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    (void)driftless::chosen_target();
    return 0;
}
