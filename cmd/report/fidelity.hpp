/// `report --against TRACE`: how faithful a run is to a trace: arrivals, lengths, sharing and gaps
/// as recorded beside those that were replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/report/reported_run.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// One figure on both sides; nothing: not known.
struct FidelityLine {
    std::string name;
    const char* unit = "";
    std::optional<double> recorded;
    std::optional<double> replayed;
    int decimals = 0;
};

struct FidelityReading {
    double speed = 1;         ///< recorded time over replayed time, by which the former is divided
    bool rows_match = false;  ///< the run's rows are rows of this trace, one by one
    std::uint64_t rows_sent = 0;
    std::vector<FidelityLine> lines;
    // Where rows match; ms.
    std::vector<FidelityLine> by_row;
    /// Largest distance of the two cumulative curves (Kolmogorov and Smirnov), 0 to 1.
    std::vector<FidelityLine> distances;
};

/// Reads the trace and the records. Returns why one of them cannot be read, or the empty text.
std::string read_fidelity(const ReportedRun& run, const std::string& path, FidelityReading& out);
std::string fidelity_screen(const std::string& path, const FidelityReading& reading);
void write_fidelity(JsonWriter& json, const FidelityReading& reading);

}  // namespace driftless
