#include "cmd/version.hpp"

namespace driftless {

const char* version() {
    return DRIFTLESS_VERSION;
}

}  // namespace driftless
