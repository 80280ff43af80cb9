#include "cmd/trace_errors.hpp"

#include <cstdio>

namespace driftless {

void print_errors(const InputErrors& errors) {
    for (const std::string& line : to_lines(errors)) {
        std::fprintf(stderr, "driftless: %s\n", line.c_str());
    }
}

}  // namespace driftless
