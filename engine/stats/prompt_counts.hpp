/// PromptCounts: how many tokens the server counted in each prompt, held against the trace, and
/// what most likely explains the differences.
///
/// Fed row by row, in any order; constant memory: counts, extremes and moments. It owns its
/// numbers and sends nothing: the cause is read from the shape of the differences alone
/// (token-exact.md, section 9), and is called likely, never certain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/prompt/overhead.hpp"
#include "proto/record/record.hpp"

namespace driftless {

enum class PromptCause : std::uint8_t {
    none,      ///< no row is off
    overhead,  ///< the same difference everywhere: template or BOS counted wrongly
    words,     ///< it grows with the length, or is below any template: words are not one token each
    short_rows,     ///< only rows that are recorded shorter than the template is
    mixed,          ///< neither
    recorded_text,  ///< only rows of recorded text, which is sent as it is
};
const char* name_of(PromptCause cause);

struct PromptFigures {
    std::uint64_t exact = 0;  ///< the server counted what was recorded
    std::uint64_t off = 0;
    std::uint64_t unknown = 0;     ///< they were sent, and no count of the server is known
    std::uint64_t lost = 0;        ///< of those: this client lost a part of the answer
    std::int64_t largest_off = 0;  ///< largest difference, server minus recorded, by size
    std::uint64_t short_off = 0;   ///< of those off: recorded no longer than the template
    std::uint64_t text_off = 0;    ///< of those off: recorded text
    PromptCause cause = PromptCause::none;
    std::string explanation;  ///< one line for people, with the remedy; empty for `none`
};

class PromptCounts {
  public:
    explicit PromptCounts(Overhead overhead = {}) : overhead_(overhead) {}

    /// A row that was sent, and whose length is recorded; else nothing.
    void add(const Record& record);
    /// One row: tokens as recorded and as the server counted them. No words can be added to
    /// recorded text, nor taken from it.
    void add(std::uint32_t input_length, std::optional<std::int64_t> counted,
             bool is_recorded_text = false);

    PromptFigures figures() const;

  private:
    void add_long(std::int64_t length, std::int64_t off);
    PromptCause cause() const;
    double slope() const;
    bool grows() const;
    std::string explain(PromptCause cause) const;

    Overhead overhead_;
    PromptFigures sums_;
    // Rows longer than the template, exact ones among them.
    std::uint64_t rows_ = 0;
    std::uint64_t rows_off_ = 0;
    std::int64_t off_min_ = 0;
    std::int64_t off_max_ = 0;
    std::int64_t text_off_min_ = 0;
    std::int64_t text_off_max_ = 0;
    // Moments about the running means (Welford), of length and difference.
    double mean_length_ = 0;
    double mean_off_ = 0;
    double length_length_ = 0;
    double off_off_ = 0;
    double length_off_ = 0;
};

}  // namespace driftless
