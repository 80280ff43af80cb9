#include "proto/http/retry_after.hpp"

#include <algorithm>

#include "proto/core/decimal.hpp"
#include "proto/core/text.hpp"

namespace driftless {

void RetryAfterScanner::feed(std::string_view head) {
    field_.feed(head, [this](std::string_view value, bool cut) {
        const auto decimal = scan_decimal(trim_blanks(value));
        if (cut || !decimal || decimal->negative) {
            return;
        }
        constexpr unsigned digits_of_ns = 9;
        const Result<Scaled> scaled = scale(*decimal, digits_of_ns);
        const std::uint64_t most = longest_ns;
        wait_ns_ = static_cast<std::int64_t>(scaled ? std::min(scaled.value().value, most) : most);
    });
}

}  // namespace driftless
