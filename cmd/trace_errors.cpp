#include "cmd/trace_errors.hpp"

#include <cstdio>

#include "cmd/screen/guard.hpp"

namespace driftless {

void print_errors(const InputErrors& errors) {
    for (const std::string& line : to_lines(errors)) {
        complain("driftless: %s", line.c_str());
    }
}

std::string nothing_selected(const Trace& trace) {
    char last[64] = "";
    if (!trace.rows.empty()) {
        (void)std::snprintf(last, sizeof last, ": its last row comes at %.3f s",
                            static_cast<double>(trace.rows.back().at_ns) / 1e9);
    }
    return std::string("no row of the trace is selected") + last + "; widen --start, --end";
}

}  // namespace driftless
