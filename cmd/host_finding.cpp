#include "cmd/host_finding.hpp"

namespace driftless {

const char* name_of(Grade grade) {
    switch (grade) {
        case Grade::ok:
            return "ok";
        case Grade::warning:
            return "warning";
        case Grade::fault:
            return "fault";
    }
    return "";
}

}  // namespace driftless
