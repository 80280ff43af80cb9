/// SynthText: a SynthSpec as the text of a trace, line by line. What `driftless synth` writes and
/// what a replay reads without a file are these bytes.
///
/// Memory is that of the rows' maker and of one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/synth/synth_rows.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

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
