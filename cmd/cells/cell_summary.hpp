/// CellSummary: the figures of a cell, from the `summary.json` of its run, by the names that
/// thresholds have ("ttft:p99"). Pure; owns the text.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/stats/thresholds.hpp"
#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

class CellSummary {
  public:
    /// Errors: bad_json, where the text is no JSON object.
    static Result<CellSummary> read(const std::string& text);

    /// Valid as long as this is, also when it is moved. Keys: engine/stats/README.md.
    JsonValue root() const { return root_; }

    /// What `which` asks for: ns for a time, a share from 0 to 1, a number. Nothing where nobody
    /// measured it. The bound of `which` does not count.
    std::optional<double> figure(const Threshold& which) const;

    /// Whether the run says that the cache was warm before its first row; nothing: it says nothing.
    std::optional<bool> warm() const;
    /// Name of the verdict, and its reasons; empty where there are none.
    std::string verdict() const;
    std::string verdict_reasons() const;

  private:
    std::unique_ptr<JsonDocument> document_;  ///< never null
    JsonValue root_;
};

}  // namespace driftless
