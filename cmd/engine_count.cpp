#include "cmd/engine_count.hpp"

#include "cmd/values.hpp"
#include "proto/record/client_sample.hpp"

namespace driftless {

Result<std::uint32_t> parse_engines(std::string_view text) {
    if (text == "auto") {
        return engines_auto;
    }
    const Result<std::uint64_t> engines = parse_count(text);
    if (!engines || engines.value() == 0 || engines.value() > engines_max) {
        return Error{ErrorCode::invalid, 0, "is neither auto nor a number from 1 to 256"};
    }
    return static_cast<std::uint32_t>(engines.value());
}

}  // namespace driftless
