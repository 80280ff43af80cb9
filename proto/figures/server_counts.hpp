/// What servers counted, held against what was sent to them: the tokens of each prompt, the
/// requests and tokens of the whole run, and the block `server` of summary.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/core/names.hpp"
#include "proto/json/write.hpp"
#include "proto/metrics/server_figure.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// PromptCounts: how many tokens the server counted in each prompt, held against the trace, and
// what most likely explains the differences.
//
// Fed row by row, in any order; constant memory: counts, extremes and moments. It owns its
// numbers and sends nothing: the cause is read from the shape of the differences alone
// (token-exact.md, section 9), and is called likely, never certain.

enum class PromptCause : std::uint8_t {
    none,      ///< no row is off
    overhead,  ///< the same difference everywhere: template or BOS counted wrongly
    words,     ///< it grows with the length, or is below any template: words are not one token each
    short_rows,     ///< only rows that are recorded shorter than the template is
    mixed,          ///< neither
    recorded_text,  ///< only rows of recorded text, which is sent as it is
};
template <>
inline constexpr auto closed_list<PromptCause> =
    name_list("none", "overhead", "words", "short_rows", "mixed", "recorded_text");

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

// SentTokens: how many requests and tokens the servers of a run can have counted for it. Sums of
// plain numbers.

/// A server that counts, and serves this run alone, has counted a number within.
struct CountBounds {
    double least = 0;  ///< of answers that came whole
    double most = 0;   ///< of all that was sent: nobody knows what a server counts of the others
};

class SentTokens {
  public:
    /// A record of any phase.
    void add(const Record& record);

    /// Probes that the servers may have counted: what their prompts and answers cost is not known.
    void add_probes(std::uint64_t probes) {
        requests_.most += static_cast<double>(probes);
        prompts_unknown_ += probes;
        outputs_unknown_ += probes;
    }

    CountBounds requests() const { return requests_; }
    /// Nothing where the client does not know the tokens of a request to the last one.
    std::optional<CountBounds> prompt() const {
        return prompts_unknown_ > 0 ? std::nullopt : std::optional(prompt_);
    }
    std::optional<CountBounds> generated() const {
        return outputs_unknown_ > 0 ? std::nullopt : std::optional(generated_);
    }

  private:
    CountBounds requests_;
    CountBounds prompt_;
    CountBounds generated_;
    std::uint64_t prompts_unknown_ = 0;  ///< whole answers whose server did not say
    std::uint64_t outputs_unknown_ = 0;
};

// Whether the servers counted the requests and tokens of this run, and those alone. Pure.

struct SummaryFigures;
struct SummaryInfo;

/// A sentence for people with both figures and the likely cause; empty: nothing can be said, or all
/// is well. It speaks only of what the servers count, where each page was read each time and the
/// run is whole; of too few only where every page is of a server of the run.
std::string server_counts_warning(const SummaryFigures& figures, const SummaryInfo& info);

/// What energy is divided by: requests that are ok, and their tokens; 0 of what is not known.
struct EnergyDivisors {
    std::uint64_t requests = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t output_tokens = 0;
    std::uint64_t finished_trees = 0;
};

/// Writes the member `server` of summary.json, what the servers measured of themselves; null where
/// no page was read.
void write_server(JsonWriter& json, const std::optional<ServerTotals>& totals,
                  const EnergyDivisors& divisors, const SentTokens& sent);

}  // namespace driftless
