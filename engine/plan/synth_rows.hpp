/// SynthRows, SynthText: rows that are made one by one, by their instants, and the lines of a trace
/// that they become.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/synth_spec.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

// SynthRow: one row that is made, before it is a line of a trace.

/// The row waits for the answer to an earlier one, then so long.
struct SynthWait {
    std::uint32_t row = 0;  ///< rows count from 0, as they are made
    std::int64_t delay_ns = 0;
};

struct SynthRow {
    std::int64_t at_ns = 0;  ///< not before that of the row before
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::vector<std::uint64_t> ids;  ///< of the prompt's full blocks; empty without a block size
    std::string session;             ///< empty: none
    std::uint32_t turn = 0;          ///< from 1; 0 without a session
    std::uint32_t turn_before = no_row;  ///< row of its session's turn before
    std::vector<SynthWait> waits;

    /// As new; keeps its memory.
    void clear() {
        at_ns = 0;
        input_length = 0;
        output_length = 0;
        ids.clear();
        session.clear();
        turn = 0;
        turn_before = no_row;
        waits.clear();
    }
};

/// Rows of a whole pattern of stress.
std::uint64_t stress_rows(const StressSpec& spec);

/// SynthRows: the rows of a SynthSpec, one by one, by their recorded instants. The same spec gives
/// the same rows on every machine.
class SynthRows {
  public:
    explicit SynthRows(const SynthSpec& spec);
    SynthRows(SynthRows&&) noexcept;
    ~SynthRows();
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    struct Maker;
    std::unique_ptr<Maker> maker_;
};

/// SynthText: a SynthSpec as the text of a trace, line by line. What `driftless synth` writes and
/// what a replay reads without a file are these bytes.
///
/// Memory is that of the rows' maker and of one line.
class SynthText {
  public:
    /// `name`: of the kind, for the header. `target`: canonical or mooncake.
    SynthText(const SynthSpec& spec, std::string_view name, const TraceTarget& target);

    /// Appends the next line with its end. False after the last one, or where `too_many`.
    bool next(std::string& out);

    struct Sums {
        std::uint64_t rows = 0;
        std::uint64_t input_tokens = 0;
        std::uint64_t output_tokens = 0;
        std::int64_t last_ns = 0;
    };
    const Sums& sums() const { return sums_; }
    /// More rows came than a reader can number.
    bool too_many() const { return too_many_; }
    /// What the format could not hold, a line each.
    std::vector<std::string> losses() const;

  private:
    void write_header(std::string& out);
    void write_canonical(std::string& out);
    void write_mooncake(std::string& out);
    void write_mooncake_ids(JsonWriter& json);

    SynthRows rows_;
    std::string name_;
    std::uint32_t block_size_;  ///< 0: rows have no ids
    bool mooncake_;
    bool begun_ = false;
    bool too_many_ = false;
    SynthRow row_;
    Sums sums_;
    std::uint64_t private_ids_ = 0;  ///< mooncake: of blocks without ids
    std::uint64_t waits_lost_ = 0;
    std::uint64_t times_rounded_ = 0;
};

/// The largest number of rows of a trace: their indices are 32 bits, with marks.
inline constexpr std::uint64_t synth_rows_max = 4'294'967'000;

}  // namespace driftless
