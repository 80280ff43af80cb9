/// HitLoss: where hits of the prefix cache were lost, as far as the records tell. A loss is what an
/// endless cache would have held of a prompt, in the trace's blocks or the server's own if those
/// are smaller, and the server did not find. Owns about 80 bytes a request.
///
/// - blocks: the server's own blocks, and tokens of its template, cut the shared prefix short
///   (`expected_cached_tokens` - `expected_cached_server`).
/// - in flight: the turn before it had no token yet when the row left, so that its prompt was not
///   in the cache.
/// - routing: the turn before it went to another server (url, pod or worker).
/// - capacity: the same server had had the turn before it, answered: it has thrown it away.
/// - unknown: the prefix is shared with other sessions, and the records do not say with which.
///   Where no request was without its first token when the row left, and there is one server alone,
///   it is capacity all the same.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/run/record.hpp"

namespace driftless {

struct HitLossCause;

struct HitLossTokens {
    std::uint64_t rows = 0;      ///< that reported their hits, with a forecast
    std::uint64_t expected = 0;  ///< tokens, of those
    std::uint64_t gained = 0;    ///< hit beyond what was expected: rows came in another order
    std::uint64_t lost = 0;      ///< the sum of those below
    std::uint64_t blocks = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t routing = 0;
    std::uint64_t capacity = 0;
    std::uint64_t unknown = 0;
    std::uint64_t servers = 0;  ///< that answered
    /// By place of the record, of all that were added: what cost it most hits; null: it lost none.
    std::vector<const HitLossCause*> rows_lost;
};

/// A cause, and how every output names it.
struct HitLossCause {
    const char* key;
    const char* words;
    std::uint64_t HitLossTokens::* tokens;
};
inline constexpr std::array hit_loss_causes{
    HitLossCause{"blocks", "to the server's blocks and template", &HitLossTokens::blocks},
    HitLossCause{"in_flight", "while the turn before was still in flight",
                 &HitLossTokens::in_flight},
    HitLossCause{"routing", "to routing: the turn before went elsewhere", &HitLossTokens::routing},
    HitLossCause{"capacity", "to capacity: evicted", &HitLossTokens::capacity},
    HitLossCause{"unknown", "unknown: shared with other sessions", &HitLossTokens::unknown},
};
/// The one explanation of lost hits, a line.
std::string hit_loss_text(const HitLossTokens& loss);

class HitLoss {
  public:
    void add(const Record& record);
    HitLossTokens tokens() const;

  private:
    struct Row {
        std::int64_t fired_ns = 0;
        OptionalNs first_token_ns;
        std::int64_t ended_ns = 0;
        std::uint32_t server = 0;
        std::uint32_t family = 0;  ///< tree or session; `no_family`
        std::uint32_t place = 0;   ///< of the record, of all that were added
        bool counts = false;       ///< it reported its hits
        std::int64_t expected = 0;
        std::int64_t blocks = 0;  ///< of `expected`, cut off by the server's blocks
        std::int64_t cached = 0;
    };
    static constexpr std::uint32_t no_family = UINT32_MAX;

    std::uint32_t added_ = 0;
    std::vector<Row> rows_;
    std::unordered_map<std::string, std::uint32_t> servers_;
    std::unordered_map<std::string, std::uint32_t> families_;
};

}  // namespace driftless
