/// TableFigure: a figure of a run that a table is sorted by or an axis shows, by the names of
/// thresholds ("ttft:p99") and some more. Pure.
///
/// - interactivity:p90: tokens per second of one stream, the slow tail: 1000 / TPOT p90 in ms.
/// - e2e_interactivity:p90: the same over the whole request: 1000 / (E2E p90 per output token, ms).
/// - input_throughput: prompt tokens of complete answers per second, cached or not.
/// - hits: tokens that servers found in their caches, of those that the trace allows.
/// - joules_per_token: energy per input and output token, if a page of metrics has watts.
///
/// A rate with "/gpu" behind it is divided by the label `gpus` of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/compare/table/table_run.hpp"
#include "engine/comparison/pareto.hpp"
#include "engine/stats/thresholds.hpp"
#include "proto/core/result.hpp"

namespace driftless {

enum class TableUnit : std::uint8_t { ms, share, per_second, tokens_per_second, joules, count };
/// "ms", "share", "1/s", "tokens/s", "J"; of a count "".
const char* name_of(TableUnit unit);

struct TableFigure {
    enum class Source : std::uint8_t {
        threshold,
        interactivity,
        e2e_interactivity,
        input_rate,
        hits,
        joules,
    };

    std::string name;   ///< as typed: "ttft:p99", "output_throughput/gpu"
    std::string title;  ///< for people: "TTFT p99", "output per GPU"
    TableUnit unit = TableUnit::count;
    Better better = Better::low;
    Source source = Source::threshold;
    Threshold which;  ///< what to read; of interactivity the TPOT, of e2e_interactivity the E2E
    bool per_gpu = false;

    /// ms, a share from 0 to 1, a rate, a number; nothing where it was not measured, or no label
    /// says how many GPUs there were.
    std::optional<double> of(const TableRun& run) const;
    /// It is made of records: call read_e2e_per_token (run_views.hpp) first.
    bool needs_records() const { return source == Source::e2e_interactivity; }
    /// Fewer values than the percentile needs (engine/knee/floors.hpp).
    bool below_floor(const TableRun& run) const;
    /// Of a percentile: the least number of values; 0: any will do.
    std::uint64_t floor() const;
};

/// Errors: invalid; the `doing` is a clause with the remedy.
Result<TableFigure> parse_table_figure(std::string_view text);

/// The label `gpus`, where it is a number above 0.
std::optional<double> gpus_of(const TableRun& run);

}  // namespace driftless
