/// PlayedRun: one run, or one side of a dual run, as `compare` has read it: what it was to do, and
/// what became of each request. Owns about 200 bytes a request; the records themselves are read
/// once and not kept.
///
/// Holds only requests of the phase `profile`. Of a request that was sent again, the last try
/// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comparison/compare_groups.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/stats/goodput.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// What stands beside the ComparedRequest at the same place.
struct PlayedRow {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t turn = 0;  ///< from 1; 0: not known
    Outcome outcome = Outcome::not_sent;
    double prompt_tokens = unknown_value;  ///< as the server counted, else as recorded
    double cached_tokens = unknown_value;  ///< as the server reported
    double expected_tokens = unknown_value;
    std::optional<std::uint64_t> output_digest;
};

/// How many requests are of a kind that a reader must know of.
struct PlayedCounts {
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    std::uint64_t other_length = 0;  ///< whole answers, shorter or longer than asked
    std::uint64_t abandoned = 0;     ///< by plan
    std::uint64_t censored = 0;      ///< cut off when the time of the run was over, by plan
    std::uint64_t dropped = 0;       ///< not sent: a row that they waited for failed
    std::uint64_t unplayed = 0;      ///< no record, or the user ended the run before their end
    std::uint64_t interrupted = 0;   ///< in flight when an earlier segment died
    std::uint64_t again = 0;         ///< sent again: the last try counts
    std::uint64_t tries_left_out = 0;
    std::uint64_t tainted = 0;
};

struct PlayedRun {
    std::string folder;
    std::string side;  ///< "a" or "b" of a dual run; else empty
    RunFacts facts;
    bool goes_on = false;  ///< another process writes it now
    bool killed = false;   ///< it did not close its books
    std::string verdict;   ///< empty: it has none
    std::string why_no_verdict = "no verdict: the run did not end";
    std::vector<std::string> verdict_reasons;
    std::vector<std::string> warnings;  ///< what its figures do not show: a cache that was warm
    PlayedCounts counts;
    ComparedRun compared;         ///< requests by pass and row
    std::vector<PlayedRow> rows;  ///< [compared.requests]

    /// As the reader knows it: the folder, and the side where it has one.
    std::string name() const;
};

/// Those of A first.
std::vector<const PlayedRun*> all_runs(const std::vector<PlayedRun>& a,
                                       const std::vector<PlayedRun>& b);

/// Reads a run: one element, or two for a dual run. `slo` replaces the run's own --goodput unless
/// it is empty. Returns the exit code; if that is not `exit_done`, `why` says what cannot be read.
int read_played(const std::string& folder, const GoodputRules& slo, std::vector<PlayedRun>& out,
                std::string& why);

}  // namespace driftless
