/// macro_bench [--realtime] [NAME..]: the macro benchmarks by name; all of them without one. Needs
/// two quiet cores; DRIFTLESS names the program whose mock is used (build-release/driftless).
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "perf/macro/benches.hpp"
#include "perf/macro/stage.hpp"

namespace {

struct Bench {
    std::string_view name;
    void (*run)();
};
constexpr Bench benches[] = {
    {"drift-idle", &driftless::perf::bench_drift_idle},
    {"drift-streams", &driftless::perf::bench_drift_streams},
    {"stamps", &driftless::perf::bench_stamps},
    {"receive", &driftless::perf::bench_receive},
    {"bodies", &driftless::perf::bench_bodies},
    {"kernel-stamps", &driftless::perf::bench_kernel_stamps},
};

bool wanted(std::string_view name, const std::vector<std::string_view>& names) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string_view> names(argv + 1, argv + argc);
    driftless::perf::realtime = std::erase(names, "--realtime") > 0;
    for (const std::string_view name : names) {
        bool known = false;
        for (const Bench& bench : benches) {
            known = known || bench.name == name;
        }
        if (!known) {
            std::fprintf(stderr, "macro_bench: unknown benchmark '%s'; there are:", name.data());
            for (const Bench& bench : benches) {
                std::fprintf(stderr, " %s", bench.name.data());
            }
            std::fprintf(stderr, "\n");
            return 2;
        }
    }
    std::puts("| what | figure | floor | ratio | bar |\n|---|---|---|---|---|");
    for (const Bench& bench : benches) {
        if (wanted(bench.name, names)) {
            bench.run();
        }
    }
}
