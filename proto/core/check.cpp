#include "proto/core/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace driftless {

void check_failed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "driftless: check failed: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

}  // namespace driftless
