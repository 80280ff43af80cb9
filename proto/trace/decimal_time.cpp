#include "proto/trace/decimal_time.hpp"

#include "proto/core/decimal.hpp"

namespace driftless {
namespace {

struct UnitName {
    TimeUnit unit;
    const char* name;
    std::int32_t power;  ///< a unit is 10^power ns
};

constexpr UnitName units[] = {{TimeUnit::s, "s", 9},
                              {TimeUnit::ms, "ms", 6},
                              {TimeUnit::us, "us", 3},
                              {TimeUnit::ns, "ns", 0}};

const UnitName& row_of(TimeUnit unit) {
    return units[static_cast<std::size_t>(unit)];
}

}  // namespace

const char* name_of(TimeUnit unit) {
    return row_of(unit).name;
}

std::optional<TimeUnit> time_unit_from_name(std::string_view name) {
    for (const UnitName& one : units) {
        if (name == one.name) {
            return one.unit;
        }
    }
    return std::nullopt;
}

Result<std::int64_t> parse_time(std::string_view text, TimeUnit unit) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return Error{ErrorCode::invalid, 0, "read a time"};
    }
    if (decimal->negative && !decimal->zero()) {
        return Error{ErrorCode::out_of_range, 0, "read a time, not negative"};
    }
    const Result<Scaled> scaled = scale(*decimal, row_of(unit).power);
    if (!scaled || scaled.value().value > static_cast<std::uint64_t>(time_max_ns)) {
        return Error{ErrorCode::out_of_range, 0, "read a time below 2^62 ns"};
    }
    return static_cast<std::int64_t>(scaled.value().value);
}

}  // namespace driftless
