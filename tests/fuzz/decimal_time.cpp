// Any text as a time: what is accepted is inside its bounds, agrees with 128-bit arithmetic where
// the text is plain digits, and keeps its value behind leading zeros.

#include "engine/plan/plan.hpp"
#include "proto/core/numbers.hpp"
#include "proto/trace/times.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void check_plain_digits(std::string_view text) {
    unsigned __int128 value = 0;
    if (text.empty() || text.size() > 30) {
        return;
    }
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return;
        }
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    const auto time = parse_time(text, TimeUnit::ns);
    const bool fits = value <= static_cast<unsigned __int128>(time_max_ns);
    CHECK(static_cast<bool>(time) == fits);
    CHECK(!fits || static_cast<unsigned __int128>(time.value()) == value);
}

void fuzz_decimal_time(std::string_view text) {
    (void)guess_time_unit(text);
    for (const TimeUnit unit :
         {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns, TimeUnit::iso}) {
        const auto time = parse_time(text, unit);
        if (time) {
            CHECK(time.value() >= 0 && time.value() <= time_max_ns);
            // Zeros in front change nothing.
            if (unit != TimeUnit::iso && text.front() >= '0' && text.front() <= '9') {
                CHECK(parse_time("000" + std::string(text), unit).value() == time.value());
            }
        }
    }
    check_plain_digits(text);
    const auto whole = parse_whole(text);
    const auto decimal = scan_decimal(text);
    CHECK(!whole || decimal.has_value());
    const auto speed = parse_speed(text);
    if (speed) {
        CHECK(speed.value().numerator > 0 && speed.value().denominator > 0);
        CHECK(due_of(3'600'000'000'000, speed.value()) >= 0);
    }
}

const FuzzTargets decimal_time_target = {{"decimal_time", fuzz_decimal_time}};

}  // namespace
}  // namespace driftless
