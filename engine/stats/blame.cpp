#include "engine/stats/blame.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

double taken_share(const ClientSecond& second) {
    const std::int64_t span = second.to_ns - second.from_ns;
    return span <= 0
               ? 0
               : std::min(static_cast<double>(second.taken_ns) / static_cast<double>(span), 1.0);
}

bool coincides(const ClientSecond& second, const TaintedRow& row) {
    return second.from_ns <= row.to_ns && row.from_ns <= second.to_ns;
}

/// A long stream coincides with many seconds: those are meant in which its bytes can have waited.
/// That is a wait as long as the row's which ended in a second that saw one so long; it may have
/// begun in a second before.
class WaitOfRow {
  public:
    explicit WaitOfRow(const TaintedRow& row) : row_(row) {}

    void look_at(const ClientSecond& second) {
        if (row_.suspect == Suspect::reading && second.receive_delay_max_ns >= row_.late_ns) {
            ends_.push_back({second.from_ns - row_.late_ns, second.to_ns});
        }
    }
    /// Where no second saw a wait so long, any is.
    bool may_be_in(const ClientSecond& second) const {
        return ends_.empty() || std::any_of(ends_.begin(), ends_.end(), [&](const Stretch& wait) {
                   return second.from_ns <= wait.to_ns && wait.from_ns <= second.to_ns;
               });
    }

  private:
    struct Stretch {
        std::int64_t from_ns;
        std::int64_t to_ns;
    };
    const TaintedRow& row_;
    std::vector<Stretch> ends_;
};

/// Others had the CPU for a large part of the second, or for about as long as the row was late. A
/// row is late on the wire behind one call: many short absences of the engine do not add up there.
bool host_took(const ClientSecond& second, const TaintedRow& row) {
    const std::int64_t taken_ns =
        row.suspect == Suspect::wire ? second.gap_max_ns : second.taken_ns;
    return taken_share(second) > taken_max ||
           (row.late_ns > 0 && (second.gap_max_ns >= row.late_ns / 2 || taken_ns >= row.late_ns));
}

/// The seconds of a run in their order, for those of one row.
class Seconds {
  public:
    explicit Seconds(std::vector<ClientSecond> each) : each_(std::move(each)) {
        std::sort(each_.begin(), each_.end(), [](const ClientSecond& a, const ClientSecond& b) {
            return a.from_ns < b.from_ns;
        });
        for (const ClientSecond& second : each_) {
            longest_ns_ = std::max(longest_ns_, second.to_ns - second.from_ns);
        }
    }

    /// Calls `use` for each second that coincides with the row.
    template <typename Use>
    void coinciding(const TaintedRow& row, Use use) const {
        const std::int64_t first_ns = row.from_ns - longest_ns_;
        auto second = std::lower_bound(
            each_.begin(), each_.end(), first_ns,
            [](const ClientSecond& one, std::int64_t from_ns) { return one.from_ns < from_ns; });
        for (; second != each_.end() && second->from_ns <= row.to_ns; ++second) {
            if (coincides(*second, row)) {
                use(*second);
            }
        }
    }

  private:
    std::vector<ClientSecond> each_;
    std::int64_t longest_ns_ = 0;
};

/// What the seconds of one row say.
struct Evidence {
    bool host = false;
    bool slow_connect = false;
};

Evidence evidence_of(const TaintedRow& row, const Seconds& seconds, Blame& blame) {
    WaitOfRow wait(row);
    seconds.coinciding(row, [&](const ClientSecond& second) { wait.look_at(second); });
    Evidence evidence;
    seconds.coinciding(row, [&](const ClientSecond& second) {
        evidence.slow_connect = evidence.slow_connect || second.slow_connects > 0;
        if (!wait.may_be_in(second) || !host_took(second, row)) {
            return;
        }
        evidence.host = true;
        if (taken_share(second) >= blame.taken_share) {
            blame.taken_share = taken_share(second);
            blame.taken_ns = second.taken_ns;
            blame.taken_engine = second.engine;
        }
        if (second.gap_max_ns > blame.gap_max_ns) {
            blame.gap_max_ns = second.gap_max_ns;
            blame.gap_engine = second.engine;
        }
    });
    return evidence;
}

}  // namespace

Blame blame_of(std::span<const TaintedRow> rows, const ClientTotals& client) {
    const Seconds seconds(client.each);
    Blame blame;
    for (const TaintedRow& row : rows) {
        const bool needs_none = row.suspect == Suspect::ours || row.suspect == Suspect::network;
        const Evidence evidence = needs_none ? Evidence() : evidence_of(row, seconds, blame);
        switch (row.suspect) {
            case Suspect::ours:
                ++blame.client;
                break;
            case Suspect::host:
                ++blame.host;
                break;
            case Suspect::work:
            case Suspect::reading:
                ++(evidence.host ? blame.host : blame.client);
                break;
            case Suspect::lane:
                ++(evidence.slow_connect ? blame.network : blame.client);
                break;
            case Suspect::wire:
                ++(evidence.host ? blame.host : blame.network);
                break;
            case Suspect::network:
                ++blame.network;
                break;
        }
    }
    CHECK(blame.client + blame.host + blame.network == rows.size());
    return blame;
}

}  // namespace driftless
