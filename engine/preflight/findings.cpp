#include "engine/preflight/findings.hpp"

namespace driftless {

const char* name_of(WordVerdict verdict) {
    switch (verdict) {
        case WordVerdict::not_asked:
            return "not_asked";
        case WordVerdict::exact:
            return "exact";
        case WordVerdict::reduced:
            return "reduced";
        case WordVerdict::too_few:
            return "too_few";
        case WordVerdict::joins:
            return "joins";
        case WordVerdict::varies:
            return "varies";
        case WordVerdict::no_first:
            return "no_first";
    }
    return "unknown";
}

}  // namespace driftless
