/// ByUrl: the rows of a run by the server that they were sent to.
///
/// Fed record by record, in any order. It owns its numbers: 8 bytes a row that is ok. Rows that
/// left for no server, in a run with several, have no URL and are not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/prompt/overhead.hpp"
#include "engine/stats/distribution.hpp"
#include "engine/stats/prompt_counts.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct UrlFigures {
    std::string url;
    std::uint64_t rows = 0;  ///< records that name it
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  ///< sent, and neither ok nor of another length
    Distribution ttft;         ///< ns, of rows that are ok
    std::uint64_t cached_tokens = 0;
    PromptFigures prompts;  ///< the server's counts against the trace
};

/// Where the prompts that are off went, if servers differ in it: their URLs, with the remedy. Empty
/// where they do not differ.
std::string explain_by_url(const std::vector<UrlFigures>& urls);

class ByUrl {
  public:
    explicit ByUrl(Overhead overhead = {}) : overhead_(overhead) {}

    void add(const Record& record);
    /// Sorted by URL: the order of the records must not show.
    std::vector<UrlFigures> figures() const;

  private:
    struct One {
        UrlFigures figures;
        Sample ttft;
        PromptCounts prompts;
    };
    One& of(const std::string& url);

    Overhead overhead_;
    std::vector<One> urls_;
    std::size_t last_ = 0;  ///< rows in sequence often go to the same one
};

}  // namespace driftless
