/// `report --certificate`: what was admitted and really sent. Two runs with the same certificate
/// played the same work. What the servers made of it is shown beside it, and is not part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/report/reported_run.hpp"
#include "engine/stats/hit_loss.hpp"
#include "proto/json/write.hpp"

namespace driftless {

struct WorkCertificate {
    std::uint64_t digest = 0;  ///< of all that follows, down to `clamped`
    std::uint64_t trace_digest = 0;
    std::uint64_t schedule_digest = 0;
    std::optional<std::uint64_t> prompts_digest;
    std::uint64_t selected = 0;  ///< rows of the plan
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  ///< not sent: a row that they waited for failed
    std::uint64_t clamped = 0;  ///< not longer than the template: sent with one word

    std::uint64_t unsent = 0;             ///< for any reason
    std::optional<double> ceiling;        ///< share of prompt tokens that an endless cache holds
    std::optional<double> observed;       ///< share that the servers reported
    std::uint64_t first_turns = 0;        ///< first of their session, or without one
    std::uint64_t first_turn_prompt = 0;  ///< tokens of those that reported their hits
    std::uint64_t first_turn_cached = 0;
    std::uint64_t first_turn_expected = 0;
    std::uint64_t first_turns_unforetold = 0;  ///< that reported: recorded text
    HitLossTokens loss;
};

/// Returns why the records cannot be read, or the empty text.
std::string read_certificate(const ReportedRun& run, WorkCertificate& out);
std::string certificate_screen(const ReportedRun& run, const WorkCertificate& certificate);
void write_certificate(JsonWriter& json, const ReportedRun& run,
                       const WorkCertificate& certificate);

}  // namespace driftless
