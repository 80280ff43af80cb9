#include "proto/figures/taint.hpp"

#include <algorithm>
#include <string_view>

#include "proto/core/check.hpp"

namespace driftless {

std::int64_t drift_limit_ns(const TaintLimits& limits, std::uint32_t rank) {
    if (limits.drift_ns <= 0) {
        return 0;
    }
    const std::int64_t allowed = limits.drift_ns + limits.rank_ns * rank;
    return limits.drift_most_ns > 0 ? std::min(allowed, limits.drift_most_ns) : allowed;
}

namespace {

// Without a kernel stamp: until we saw that the kernel had taken bytes; if that was never seen,
// until the row ended. The row has left.
std::int64_t wire_delay_of(const Record& record, const RowLosses& losses) {
    CHECK(record.fired_ns.has_value());
    if (record.wire_ns) {
        return *record.wire_ns - *record.fired_ns;
    }
    const std::int64_t seen_ns =
        losses.accept_ns >= 0 ? losses.accept_ns
                              : record.ended_ns.value_or(*record.fired_ns) - *record.fired_ns;
    return std::max(seen_ns, record.submit_ns.value_or(0));
}

void note_delays(Record& record, const RowLosses& losses) {
    if (record.fired_ns) {
        record.wire_delay_bound_ns = wire_delay_of(record, losses);
        record.request_delay_ns = losses.request_waited_ns;
    }
}

}  // namespace

TaintLimits taint_limits(const CertifyWithin& within) {
    TaintLimits limits;
    limits.drift_ns = within.sent_ns;
    limits.drift_most_ns = within.sent_ns;
    limits.receive_delay_ns = within.read_ns;
    limits.wire_ns = within.sent_ns;
    return limits;
}

void add_taints(Record& record, const RowLosses& losses, const TaintLimits& limits,
                std::uint32_t rank) {
    CHECK(record.tainted.empty());
    note_delays(record, losses);
    if (losses.payload_dropped) {
        record.tainted.emplace_back(taint_payload_dropped);
    }
    if (losses.entries_dropped) {
        record.tainted.emplace_back(taint_entries_dropped);
    }
    const std::int64_t drift_max = drift_limit_ns(limits, rank);
    const std::int64_t wanted_ns = is_wish(record.late_cause) ? record.held_ns : 0;
    if (record.late_cause == LateCause::limit) {
        record.tainted.emplace_back(taint_limit);
    } else if (drift_max > 0 && record.drift_ns.value_or(0) - wanted_ns > drift_max) {
        record.tainted.emplace_back(taint_late);
    }
    if (record.outcome == Outcome::client_failed) {
        record.tainted.emplace_back(taint_client_failed);
    }
    if (losses.request_lost) {
        record.tainted.emplace_back(taint_retransmitted);
    }
    if (losses.answered_early && record.status == 200) {
        record.tainted.emplace_back(taint_answered_early);
    }
    if (limits.receive_delay_ns > 0 &&
        record.receive_delay_ns.value_or(0) > limits.receive_delay_ns) {
        record.tainted.emplace_back(taint_read_late);
    }
    if (limits.receive_delay_ns > 0 && losses.request_waited_ns > limits.receive_delay_ns) {
        record.tainted.emplace_back(taint_sent_late);
    }
    // A stale connection may have taken nothing: the wire then saw the retry first.
    if (limits.wire_ns > 0 && record.stale_retries == 0 &&
        record.wire_delay_bound_ns.value_or(0) > limits.wire_ns) {
        record.tainted.emplace_back(taint_wire_late);
    }
    if (record.stale_retries > 0) {
        record.tainted.emplace_back(taint_retried);
    }
}

namespace {

bool has(const Record& record, std::string_view reason) {
    return std::find(record.tainted.begin(), record.tainted.end(), reason) != record.tainted.end();
}

Suspect suspect_of(LateCause cause) {
    switch (cause) {
        case LateCause::wake:
            return Suspect::host;
        case LateCause::prepare:
        case LateCause::writer:
            return Suspect::ours;
        case LateCause::lane:
            return Suspect::lane;
        default:
            return Suspect::work;
    }
}

/// From the fire to the wire. Records before schema 7 have no bound: without a stamp the call that
/// fired the row is all that they tell.
std::int64_t wire_delay_ns(const Record& record) {
    if (record.wire_delay_bound_ns) {
        return *record.wire_delay_bound_ns;
    }
    return record.wire_ns.has_value() && record.fired_ns.has_value()
               ? *record.wire_ns - *record.fired_ns
               : record.submit_ns.value_or(0);
}

/// The user wanted it to wait for so long.
std::int64_t wanted_delay_ns(const Record& record) {
    return is_wish(record.late_cause) ? record.held_ns : 0;
}

/// The latest that is known of a row.
std::int64_t end_of(const Record& record) {
    return record.ended_ns.value_or(record.done_ns.value_or(
        record.last_token_ns.value_or(record.fired_ns.value_or(record.due_ns))));
}

}  // namespace

TaintedRow tainted_row_of(const Record& record) {
    CHECK(!record.tainted.empty());
    const std::int64_t fired_ns = record.fired_ns.value_or(record.due_ns);
    for (const std::string_view ours :
         {taint_payload_dropped, taint_entries_dropped, taint_limit, taint_client_failed}) {
        if (has(record, ours)) {
            return {record.due_ns, end_of(record), 0, Suspect::ours};
        }
    }
    if (has(record, taint_late)) {
        const std::int64_t wanted_ns = wanted_delay_ns(record);
        return {record.due_ns + wanted_ns, fired_ns, record.drift_ns.value_or(0) - wanted_ns,
                suspect_of(record.late_cause)};
    }
    if (has(record, taint_read_late)) {
        return {fired_ns, end_of(record), record.receive_delay_ns.value_or(0), Suspect::reading};
    }
    if (has(record, taint_retransmitted) || has(record, taint_retried) ||
        has(record, taint_answered_early)) {
        return {fired_ns, end_of(record), 0, Suspect::network};
    }
    if (has(record, taint_wire_late)) {
        const std::int64_t delay_ns = wire_delay_ns(record);
        return {fired_ns, record.wire_ns.value_or(fired_ns + delay_ns), delay_ns, Suspect::wire};
    }
    return {fired_ns, record.sent_ns.value_or(end_of(record)), record.request_delay_ns.value_or(0),
            Suspect::work};
}

void TaintFigures::add(const Record& record) {
    const bool left = record.fired_ns.has_value();
    sent += left ? 1 : 0;
    const bool excluded = !record.tainted.empty() || record.outcome == Outcome::interrupted;
    unsent += excluded && !left ? 1 : 0;
    if (!record.tainted.empty()) {
        rows.push_back(tainted_row_of(record));
        CHECK(rows.size() <= sent + unsent);
        return;
    }
    if (!left) {
        return;
    }
    UntaintedFigures& u = untainted;
    u.drift_max_ns =
        std::max(u.drift_max_ns, record.drift_ns.value_or(0) - wanted_delay_ns(record));
    if (record.stale_retries == 0) {  // else the wire saw the retry
        u.wire_delay_max_ns = std::max(u.wire_delay_max_ns, wire_delay_ns(record));
    }
    u.receive_delay_max_ns = std::max(u.receive_delay_max_ns, record.receive_delay_ns.value_or(0));
}

double TaintFigures::share(std::uint64_t interrupted, std::uint64_t unrecorded) const {
    const std::uint64_t measured = sent + unsent + unrecorded;
    const std::uint64_t excluded = rows.size() + interrupted + unrecorded;
    return measured == 0 ? 0 : static_cast<double>(excluded) / static_cast<double>(measured);
}

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
