#include "cmd/trace_errors.hpp"

#include <cstdio>

namespace driftless {

void print_errors(const InputErrors& errors) {
    for (const InputError& error : errors.list) {
        std::fprintf(stderr, "driftless: %s\n", to_text(error).c_str());
    }
    if (errors.count > errors.list.size()) {
        std::fprintf(stderr, "driftless: and %llu more errors\n",
                     static_cast<unsigned long long>(errors.count - errors.list.size()));
    }
}

}  // namespace driftless
