#include "tests/sim/laws_of_rates.hpp"

#include <cmath>
#include <map>

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

// In the order of the file, from time 0 on; at one constant rate exactly there.
std::string rows_arrive_as_asked(const SimResult& result) {
    Breaches breaches;
    if (!result.arrivals || result.disk_failed) {
        return "";
    }
    const ArrivalRules& rules = *result.arrivals;
    std::map<std::uint32_t, const Record*> rows;
    for (const Record& record : result.records) {
        rows[record.row] = &record;
    }
    std::int64_t last_ns = 0;
    for (const auto& [row, record] : rows) {
        breaches.unless(record->due_ns >= last_ns, *record, "arrives before one in front of it");
        last_ns = record->due_ns;
        const double exact_ns = static_cast<double>(row) * 1e9 / rules.curve.last_rate();
        breaches.unless(rules.law != ArrivalLaw::constant ||
                            std::abs(static_cast<double>(last_ns) - exact_ns) <= 1,
                        *record, "does not arrive where its number says");
        breaches.unless(row > 0 || last_ns == 0, *record, "does not arrive at time 0");
    }
    return breaches.text();
}

}  // namespace driftless::sim
