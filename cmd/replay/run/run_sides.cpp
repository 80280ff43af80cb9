#include "cmd/replay/run/run_sides.hpp"

#include "cmd/exit_codes.hpp"

namespace driftless {

int RunSides::open(const std::string& folder, std::uint32_t segment) {
    int code = events_.open(folder, segment);
    if (code == exit_done) {
        code = metrics_.open(folder, segment);
    }
    if (code != exit_done && segment == 0) {
        discard();
    }
    return code;
}

int RunSides::begin(Instant zero, std::int64_t from_ns) {
    metrics_.begin(zero);
    return events_.start(zero, from_ns, cpus_);
}

void RunSides::stop() {
    metrics_.stop();
    events_.stop();
}

void RunSides::discard() {
    events_.discard();
    metrics_.discard();
}

}  // namespace driftless
