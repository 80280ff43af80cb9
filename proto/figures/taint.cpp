#include "proto/figures/taint.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "proto/core/errors.hpp"
#include "proto/json/put.hpp"

namespace driftless {

// Shares of shorter stretches, at the very end of a run, say nothing.
static constexpr std::int64_t stretch_min_ns = 200'000'000;

namespace {

/// A number of summary.json.
struct Field {
    const char* name;
    std::int64_t ClientSample::* sum = nullptr;  ///< of `sums`; null: `own`
    bool is_max = false;                         ///< of the samples, not their sum
    std::int64_t ClientTotals::* own = nullptr;

    std::int64_t of(const ClientTotals& totals) const {
        return sum != nullptr ? totals.sums.*sum : totals.*own;
    }
};

#define SUM(name) {#name, &ClientSample::name}
#define MAX(name) {#name, &ClientSample::name, true}
#define OWN(name) {#name, nullptr, false, &ClientTotals::name}

}  // namespace

static constexpr Field totals_fields[] = {
    OWN(span_ns),
    SUM(rows_fired),
    SUM(receives),
    SUM(chunks),
    OWN(chunks_per_s_max),
    SUM(bytes_sent),
    SUM(bytes_received),
    SUM(busy_fire_ns),
    SUM(busy_receive_ns),
    SUM(busy_prepare_ns),
    SUM(busy_stamps_ns),
    SUM(slept_ns),
    SUM(loop_turns),
    MAX(turn_max_ns),
    SUM(wakes),
    MAX(wake_error_max_ns),
    SUM(wake_error_sum_ns),
    SUM(user_ns),
    SUM(system_ns),
    SUM(instructions),
    SUM(system_calls),
    SUM(operations),
    SUM(no_buffers),
    SUM(overflows),
    {"dropped_payloads", &ClientSample::ring_dropped_payloads},
    {"dropped_entries", &ClientSample::ring_dropped_entries},
    SUM(late_arms),
    SUM(missing_lanes),
    SUM(slow_connects),
    SUM(spin_gaps),
    MAX(spin_gap_max_ns),
    SUM(run_delay_ns),
    SUM(steal_ns),
    SUM(involuntary_switches),
    SUM(voluntary_switches),
    SUM(minor_faults),
    SUM(major_faults),
    SUM(writer_chunks),
    SUM(writer_cpu_ns),
    SUM(writer_run_delay_ns),
    OWN(writer_chunks_per_cpu_s),
};
static constexpr Field of_request[] = {
    SUM(busy_fire_ns), SUM(busy_prepare_ns), SUM(user_ns),    SUM(system_ns),
    SUM(instructions), SUM(system_calls),    SUM(bytes_sent),
};
static constexpr Field of_chunk[] = {
    SUM(busy_receive_ns), SUM(user_ns),      SUM(system_ns),
    SUM(instructions),    SUM(system_calls), SUM(bytes_received),
};
#undef SUM
#undef MAX
#undef OWN

static std::int64_t known(std::int64_t value) {
    return std::max<std::int64_t>(value, 0);  // -1: not measured
}

EngineTotals& ClientTotals::engine_of(const ClientSample& sample) {
    const auto number =
        static_cast<std::size_t>(std::clamp<std::int64_t>(sample.engine, 0, engines_max - 1));
    engines.resize(std::max(engines.size(), number + 1));
    return engines[number];
}

/// Where it slept for most of a second, its naps are most of its CPU time.
void ClientTotals::add_writer(const ClientSample& s, std::int64_t length_ns) {
    constexpr std::int64_t part_min = 10;
    if (s.writer_chunks < 0 || s.writer_cpu_ns <= 0) {
        return;
    }
    const std::int64_t left_ns =
        std::max(length_ns - known(s.writer_run_delay_ns), s.writer_cpu_ns);  // it may lag behind
    const double busy = static_cast<double>(s.writer_cpu_ns) / static_cast<double>(left_ns);
    writer_busy_max = std::max(writer_busy_max, busy);
    if (s.ring_dropped_payloads > worst_loss.dropped_payloads) {
        worst_loss = {s.ring_dropped_payloads, s.chunks, s.writer_chunks,
                      static_cast<double>(s.writer_cpu_ns) / static_cast<double>(length_ns)};
    }
    if (s.writer_cpu_ns >= length_ns / part_min) {
        const double cpu_s = static_cast<double>(s.writer_cpu_ns) / 1e9;
        writer_chunks_per_cpu_s = std::max<std::int64_t>(
            writer_chunks_per_cpu_s, std::llround(static_cast<double>(s.writer_chunks) / cpu_s));
    }
}

void ClientTotals::add(const ClientSample& s) {
    ++seconds;
    for (const Field& field : totals_fields) {
        if (field.sum != nullptr && s.*field.sum >= 0) {
            std::int64_t& total = sums.*field.sum;
            total = field.is_max ? std::max(total, s.*field.sum) : known(total) + s.*field.sum;
        }
    }
    sums.clock_steps = std::max(sums.clock_steps, s.clock_steps);
    const std::int64_t span = s.to_ns - s.from_ns;
    // A wait counts when it ends, also one that began before this second.
    const std::int64_t taken_ns = std::min(known(s.run_delay_ns) + known(s.steal_ns), span);
    const std::int64_t stopped_ns = s.turn_max_ns > stop_min_ns ? s.turn_max_ns : 0;
    each.push_back({s.from_ns, s.to_ns, taken_ns,
                    std::max({s.spin_gap_max_ns, s.wake_error_max_ns, stopped_ns}),
                    s.receive_delay_max_ns, s.slow_connects, s.engine});
    CHECK(each.size() == static_cast<std::size_t>(seconds));
    EngineTotals& engine = engine_of(s);
    engine.rows_fired += s.rows_fired;
    engine.drift_sum_ns += s.drift_sum_ns;
    engine.drift_max_ns = std::max(engine.drift_max_ns, s.drift_max_ns);
    span_ns += span;
    if (span < stretch_min_ns) {
        return;
    }
    const auto share = [span](std::int64_t part) {
        return static_cast<double>(part) / static_cast<double>(span);
    };
    add_writer(s, span);
    BusySecond second;
    second.from_ns = s.from_ns;
    second.engine = s.engine;
    second.busy = share(s.busy_fire_ns + s.busy_receive_ns + s.busy_prepare_ns + s.busy_stamps_ns);
    second.taken = std::min(share(taken_ns), 1.0);
    second.load = second.busy <= 0 ? 0 : second.taken >= 1 ? 1 : second.busy / (1 - second.taken);
    second.chunks = s.chunks * 1'000'000'000 / span;
    taken_max = std::max(taken_max, second.taken);
    chunks_per_s_max = std::max(chunks_per_s_max, second.chunks);
    busy_max = std::max(busy_max, second.busy);
    engine.busy_max = std::max(engine.busy_max, second.busy);
    engine.taken_max = std::max(engine.taken_max, second.taken);
    if (second.load >= busiest.load) {
        busiest = second;
    }
}

template <std::size_t count>
static auto each_of(const ClientTotals& totals, const Field (&fields)[count], std::int64_t number) {
    return [&totals, &fields, number](JsonWriter& json) {
        json.begin_object();
        for (const Field& field : fields) {
            const std::int64_t value = field.of(totals);
            put(json,
                {{field.name, known_if(value >= 0 && number > 0,
                                       static_cast<double>(value) / static_cast<double>(number))}});
        }
        json.end_object();
    };
}

static void put_value(JsonWriter& json, const EngineTotals& engine) {
    put_object(json, {{"rows_fired", engine.rows_fired},
                      {"drift_mean_ns",
                       known_if(engine.rows_fired > 0, static_cast<double>(engine.drift_sum_ns) /
                                                           static_cast<double>(engine.rows_fired))},
                      {"drift_max_ns", engine.drift_max_ns},
                      {"busy_share_max", engine.busy_max},
                      {"taken_share_max", engine.taken_max}});
}

void write_client(JsonWriter& json, const ClientTotals* totals) {
    json.key("client");
    if (totals == nullptr) {
        json.null();
        return;
    }
    json.begin_object();
    put(json, {{"engines", totals->engines},
               {"seconds", totals->seconds},
               {"busy_share_max", totals->busy_max},
               {"taken_share_max", totals->taken_max},
               {"writer_busy_share_max",
                known_if(totals->writer_busy_max >= 0, totals->writer_busy_max)}});
    for (const Field& field : totals_fields) {
        const std::int64_t value = field.of(*totals);
        put(json, {{field.name, known_if(value >= 0, value)}});
    }
    put(json, {{"per_request", each_of(*totals, of_request, totals->sums.rows_fired)},
               {"per_chunk", each_of(*totals, of_chunk, totals->sums.chunks)}});
    json.end_object();
}

std::int64_t drift_limit_ns(const TaintLimits& limits, std::uint32_t rank) {
    if (limits.drift_ns <= 0) {
        return 0;
    }
    const std::int64_t allowed = limits.drift_ns + limits.rank_ns * rank;
    return limits.drift_most_ns > 0 ? std::min(allowed, limits.drift_most_ns) : allowed;
}

// Without a kernel stamp: until we saw that the kernel had taken bytes; if that was never seen,
// until the row ended. The row has left.
static std::int64_t wire_delay_of(const Record& record, const RowLosses& losses) {
    CHECK(record.fired_ns.has_value());
    if (record.wire_ns) {
        return *record.wire_ns - *record.fired_ns;
    }
    const std::int64_t seen_ns =
        losses.accept_ns >= 0 ? losses.accept_ns
                              : record.ended_ns.value_or(*record.fired_ns) - *record.fired_ns;
    return std::max(seen_ns, record.submit_ns.value_or(0));
}

static void note_delays(Record& record, const RowLosses& losses) {
    if (record.fired_ns) {
        record.wire_delay_bound_ns = wire_delay_of(record, losses);
        record.request_delay_ns = losses.request_waited_ns;
    }
}

TaintLimits taint_limits(const CertifyWithin& within) {
    TaintLimits limits;
    limits.drift_ns = within.sent_ns;
    limits.drift_most_ns = within.sent_ns;
    limits.receive_delay_ns = within.read_ns;
    limits.wire_ns = within.sent_ns;
    limits.error_ns = within.error_ns;
    return limits;
}

void add_taints(Record& record, const RowLosses& losses, const TaintLimits& limits,
                std::uint32_t rank) {
    CHECK(record.tainted.empty());
    note_delays(record, losses);
    const auto add = [&record](bool is, std::string_view taint) {
        if (is) {
            record.tainted.emplace_back(taint);
        }
    };
    add(losses.payload_dropped, taint_payload_dropped);
    add(losses.entries_dropped, taint_entries_dropped);
    const std::int64_t drift_max = drift_limit_ns(limits, rank);
    const std::int64_t wanted_ns = is_wish(record.late_cause) ? record.held_ns : 0;
    const bool is_limit = record.late_cause == LateCause::limit;
    const bool is_late = drift_max > 0 && record.drift_ns.value_or(0) - wanted_ns > drift_max;
    add(is_limit, taint_limit);
    add(is_late && !is_limit, taint_late);
    add(record.outcome == Outcome::client_failed, taint_client_failed);
    add(losses.request_lost, taint_retransmitted);
    add(losses.answered_early && record.status == 200, taint_answered_early);
    add(losses.end_unsure, taint_end_unsure);
    const auto is_over = [](std::int64_t delay_ns, std::int64_t limit_ns) {
        return limit_ns > 0 && delay_ns > limit_ns;
    };
    add(is_over(record.receive_delay_ns.value_or(0), limits.receive_delay_ns), taint_read_late);
    add(is_over(losses.request_waited_ns, limits.receive_delay_ns), taint_sent_late);
    // A stale connection may have taken nothing: the wire then saw the retry first.
    add(record.stale_retries == 0 &&
            is_over(record.wire_delay_bound_ns.value_or(0), limits.wire_ns),
        taint_wire_late);
    add(record.stale_retries > 0, taint_retried);
}

static Suspect suspect_of(LateCause cause) {
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
static std::int64_t wire_delay_ns(const Record& record) {
    if (record.wire_delay_bound_ns) {
        return *record.wire_delay_bound_ns;
    }
    return record.wire_ns.has_value() && record.fired_ns.has_value()
               ? *record.wire_ns - *record.fired_ns
               : record.submit_ns.value_or(0);
}

/// The user wanted it to wait for so long.
static std::int64_t wanted_delay_ns(const Record& record) {
    return is_wish(record.late_cause) ? record.held_ns : 0;
}

/// The latest that is known of a row.
static std::int64_t end_of(const Record& record) {
    return record.ended_ns.value_or(record.done_ns.value_or(
        record.last_token_ns.value_or(record.fired_ns.value_or(record.due_ns))));
}

TaintedRow tainted_row_of(const Record& record) {
    CHECK(!record.tainted.empty());
    const std::int64_t fired_ns = record.fired_ns.value_or(record.due_ns);
    for (const std::string_view ours :
         {taint_payload_dropped, taint_entries_dropped, taint_limit, taint_client_failed}) {
        if (has_taint(record, ours)) {
            return {record.due_ns, end_of(record), 0, Suspect::ours};
        }
    }
    if (has_taint(record, taint_late)) {
        const std::int64_t wanted_ns = wanted_delay_ns(record);
        return {record.due_ns + wanted_ns, fired_ns, record.drift_ns.value_or(0) - wanted_ns,
                suspect_of(record.late_cause)};
    }
    const bool is_end_unsure = has_taint(record, taint_end_unsure);
    if (has_taint(record, taint_read_late) || is_end_unsure) {
        const std::int64_t late_ns = std::max(record.receive_delay_ns.value_or(0),
                                              is_end_unsure ? abandoned_late_max_ns : 0);
        return {fired_ns, end_of(record), late_ns, Suspect::reading};
    }
    if (has_taint(record, taint_retransmitted) || has_taint(record, taint_retried) ||
        has_taint(record, taint_answered_early)) {
        return {fired_ns, end_of(record), 0, Suspect::network};
    }
    if (has_taint(record, taint_wire_late)) {
        const std::int64_t delay_ns = wire_delay_ns(record);
        return {fired_ns, record.wire_ns.value_or(fired_ns + delay_ns), delay_ns, Suspect::wire};
    }
    return {fired_ns, record.sent_ns.value_or(end_of(record)), record.request_delay_ns.value_or(0),
            Suspect::work};
}

bool stays_in(const Record& record) {
    const bool has_tpot = record.tpot_ns || record.output_tokens.value_or(1) <= 1;
    return record.tainted.size() == 1 && record.tainted.front() == taint_read_late &&
           record.last_late_ns && has_tpot;
}

void TaintFigures::add(const Record& record) {
    const bool left = record.fired_ns.has_value();
    sent += left ? 1 : 0;
    const bool excluded = !record.tainted.empty() || record.outcome == Outcome::interrupted;
    unsent += excluded && !left ? 1 : 0;
    if (!record.tainted.empty()) {
        rows.push_back(tainted_row_of(record));
        read_late_only += stays_in(record) ? 1 : 0;
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

double TaintFigures::share(std::uint64_t interrupted, std::uint64_t unrecorded,
                           std::uint64_t kept) const {
    CHECK(kept <= rows.size());
    const std::uint64_t measured = sent + unsent + unrecorded;
    const std::uint64_t excluded = rows.size() - kept + interrupted + unrecorded;
    return measured == 0 ? 0 : static_cast<double>(excluded) / static_cast<double>(measured);
}

static double taken_share(const ClientSecond& second) {
    const std::int64_t span = second.to_ns - second.from_ns;
    return span <= 0
               ? 0
               : std::min(static_cast<double>(second.taken_ns) / static_cast<double>(span), 1.0);
}

static bool coincides(const ClientSecond& second, const TaintedRow& row) {
    return second.from_ns <= row.to_ns && row.from_ns <= second.to_ns;
}

namespace {

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
        return ends_.empty() || std::ranges::any_of(ends_, [&](const Stretch& wait) {
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

}  // namespace

/// Others had the CPU for a large part of the second, or for about as long as the row was late. A
/// row is late on the wire behind one call: many short absences of the engine do not add up there.
static bool host_took(const ClientSecond& second, const TaintedRow& row) {
    const std::int64_t taken_ns =
        row.suspect == Suspect::wire ? second.gap_max_ns : second.taken_ns;
    return taken_share(second) > taken_max ||
           (row.late_ns > 0 && (second.gap_max_ns >= row.late_ns / 2 || taken_ns >= row.late_ns));
}

namespace {

/// The seconds of a run in their order, for those of one row.
class Seconds {
  public:
    explicit Seconds(std::vector<ClientSecond> each) : each_(std::move(each)) {
        std::ranges::sort(each_, {}, &ClientSecond::from_ns);
        for (const ClientSecond& second : each_) {
            longest_ns_ = std::max(longest_ns_, second.to_ns - second.from_ns);
        }
    }

    /// Calls `use` for each second that coincides with the row.
    template <typename Use>
    void coinciding(const TaintedRow& row, Use use) const {
        const std::int64_t first_ns = row.from_ns - longest_ns_;
        auto second = std::ranges::lower_bound(each_, first_ns, {}, &ClientSecond::from_ns);
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

}  // namespace

static Evidence evidence_of(const TaintedRow& row, const Seconds& seconds, Blame& blame) {
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
