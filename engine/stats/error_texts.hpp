/// ErrorTexts: why rows failed, as the servers or the kernel worded it, with how many rows each.
///
/// Texts that differ in their numbers only count as one ("requested 40000 tokens", "requested 50000
/// tokens"); the first of them is kept. Owns its texts, bounded: what comes behind `texts_max`
/// different ones is counted without a text. It judges nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "proto/record/record.hpp"

namespace driftless {

/// One reason, and the rows that had it.
struct ErrorText {
    Outcome outcome = Outcome::ok;
    int status = 0;    ///< 0: none came
    std::string text;  ///< of the first row; empty: nobody said anything
    std::uint64_t rows = 0;
    std::uint32_t first_row = 0;
};

/// A text with a mark for each run of digits: ids and counts do not tell reasons apart.
std::string without_numbers(std::string_view text);

class ErrorTexts {
  public:
    static constexpr std::size_t texts_max = 64;

    /// A record of any outcome; those whose answer is whole, and rows never sent, have no error.
    void add(const Record& record);
    /// Most rows first, then by first row.
    std::vector<ErrorText> by_rows() const;
    /// Rows whose text was one too many.
    std::uint64_t others() const { return others_; }

  private:
    using Key = std::tuple<Outcome, int, std::string>;
    std::map<Key, ErrorText> texts_;
    std::uint64_t others_ = 0;
};

}  // namespace driftless
