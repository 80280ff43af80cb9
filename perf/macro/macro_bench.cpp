/// macro_bench [NAME..]: the macro benchmarks by name; all of them without one. Needs two quiet
/// cores; DRIFTLESS names the program whose mock is used (build-release/driftless).
#include <cstdio>
#include <string_view>

#include "perf/macro/benches.hpp"

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

bool wanted(std::string_view name, int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (name == argv[i]) {
            return true;
        }
    }
    return argc == 1;
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        bool known = false;
        for (const Bench& bench : benches) {
            known = known || bench.name == argv[i];
        }
        if (!known) {
            std::fprintf(stderr, "macro_bench: unknown benchmark '%s'; there are:", argv[i]);
            for (const Bench& bench : benches) {
                std::fprintf(stderr, " %s", bench.name.data());
            }
            std::fprintf(stderr, "\n");
            return 2;
        }
    }
    std::puts("| what | figure | floor | ratio | bar |\n|---|---|---|---|---|");
    for (const Bench& bench : benches) {
        if (wanted(bench.name, argc, argv)) {
            bench.run();
        }
    }
}
