/// PhaseMarks: what rules ask of a run beside its latencies: how far the measurement reached, how
/// many users took part, which requests did not fit the server's context, and what the first
/// request of each tree hit. Takes records of the warm-up too, in any order, but that a user's are
/// in the order of the trees that it plays, as they end. Pure.
///
/// 48 bytes a user: what a tree has shown is added up when its user plays the next one. Where there
/// are no users, 64 bytes a tree: none is played twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/record/record.hpp"

namespace driftless {

/// Of the first request of each tree, in the warm-up or not: nothing before it was of its tree.
struct FirstTurnFigures {
    std::uint64_t trees = 0;
    std::uint64_t reported = 0;         ///< of those: the server says how many tokens were cached
    std::uint64_t input_tokens = 0;     ///< of those that were reported, as all that follows
    std::uint64_t cached_tokens = 0;    ///< as reported
    std::uint64_t expected_tokens = 0;  ///< hits that an empty cache allows, but for ..
    std::uint64_t unforetold = 0;       ///< .. those of which nobody knows (recorded text)
};

struct PhaseFigures {
    OptionalNs last_first_token_ns;  ///< of the profile phase; from time 0 of the run
    OptionalNs last_token_ns;        ///< the same
    std::uint64_t context_overflows = 0;
    std::uint64_t users = 0;  ///< that sent a request in the profile phase
    FirstTurnFigures first_turns;
};

/// The server's words for a prompt that is too long, in any case: those that AIPerf's AgentX knows.
bool is_context_overflow(std::string_view error);

class PhaseMarks {
  public:
    void add(const Record& record);
    PhaseFigures figures() const;

  private:
    struct First {
        std::uint64_t tree = 0;  ///< a digest of its name and pass
        std::uint32_t request = 0;
        std::uint32_t input = 0;
        bool is_known = false;
        std::optional<std::int64_t> cached;
        std::optional<std::int64_t> expected;
    };

    void add_first(const Record& record);
    static void add_tree(const First& first, FirstTurnFigures& turns);

    PhaseFigures figures_;         ///< `first_turns` of the trees that users have done with
    std::vector<bool> users_;      ///< [user] it sent something
    std::vector<First> of_users_;  ///< [user] of the tree that it plays
    std::unordered_map<std::uint64_t, First> first_;  ///< by `tree`, where there are no users
};

}  // namespace driftless
