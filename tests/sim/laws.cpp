#include "tests/sim/laws.hpp"

#include "engine/replay/run_steps.hpp"

namespace driftless::sim {

namespace {

void ends(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.ended, "not within " + std::to_string(result.turns) + " turns");
}

// However long run.json took; a few looks at the clock come in between.
void time_zero_leaves_time(const SimResult& result, Breaches& breaches) {
    const std::int64_t least_ns = (time_zero_lead_min - milliseconds(1)).ns;
    const std::int64_t lead_ns = result.lead_ns.value_or(0);
    breaches.unless(lead_ns >= least_ns, "the first row is due " + std::to_string(lead_ns) +
                                             " ns after the writer was started");
}

// A disk that is full takes a part of the records; the writer counts all of them none the less.
void one_record_per_row(const SimResult& result, Breaches& breaches) {
    std::set<std::tuple<std::uint64_t, std::uint32_t>> seen;
    for (const Record& record : result.records) {
        const bool is_new =
            seen.emplace(sending_number(record.row, record.pass, record.side), record.attempt)
                .second;
        breaches.unless(is_new, record, "has two records");
    }
    breaches.unless(result.counts.ended == result.rows,
                    "records made: " + of(result.counts.ended, result.rows));
    breaches.unless(result.disk_failed || result.records.size() == result.rows,
                    "records written: " + of(result.records.size(), result.rows));
}

void outcomes_sum_up(const SimResult& result, Breaches& breaches) {
    const std::uint64_t sum =
        std::accumulate(result.outcomes.begin(), result.outcomes.end(), std::uint64_t{0});
    breaches.unless(sum + result.warmup_rows == result.rows,
                    "outcomes: " + of(sum + result.warmup_rows, result.rows));
    std::array<std::uint64_t, outcome_count> written{};
    for (const Record& record : result.records) {
        written[static_cast<std::size_t>(record.outcome)] += record.phase == Phase::profile ? 1 : 0;
    }
    for (unsigned i = 0; i < outcome_count && !result.disk_failed; ++i) {
        breaches.unless(written[i] == result.outcomes[i],
                        std::string(name_of(static_cast<Outcome>(i))) + ": written " +
                            of(written[i], result.outcomes[i]));
    }
}

void lines_read_back(const SimResult& result, Breaches& breaches) {
    for (const std::string& line : result.unreadable) {
        breaches.unless(false, "a line that does not read back as itself: " + line.substr(0, 60));
    }
}

void stamps_in_order(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        for (const StampOrder& order : stamp_orders()) {
            const OptionalNs& cause = record.*order.cause;
            const OptionalNs& effect = record.*order.effect;
            breaches.unless(!cause || !effect || *cause <= *effect, record,
                            std::string(order.effect_name) + " before " + order.cause_name);
        }
    }
}

std::int64_t planned_ns(const SimResult& result, const Record& record) {
    const auto planned = result.due_ns.find(record.row);
    return planned == result.due_ns.end() ? record.due_ns : planned->second;
}

void nothing_early(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const std::int64_t due_ns = std::max(record.due_ns, planned_ns(result, record));
        breaches.unless(record.fired_ns.value_or(due_ns) >= due_ns, record,
                        "fired before it was due");
    }
}

// What the engine tells of a row's instant, whether it left or not.
void dues_are_the_plans(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        breaches.unless(record.due_ns == planned_ns(result, record), record,
                        "has another due than was planned");
    }
}

// Chunks lie between the fire and the end, one after the other, the first and the last of them
// where the record says.
void chunks_in_order(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const std::vector<std::int64_t>& chunks = record.chunk_ns;
        breaches.unless(std::is_sorted(chunks.begin(), chunks.end()), record,
                        "has chunks out of order");
        breaches.unless(
            chunks.empty() || (chunks.front() == record.ttft_ns && chunks.back() == record.e2e_ns),
            record, "has other first and last chunks than tokens");
        breaches.unless(!record.chunk_tokens_known || record.chunk_tokens.size() == chunks.size(),
                        record, "has counts for other chunks than it has");
    }
}

// What an outcome says is what the stamps say.
void outcomes_fit_stamps(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const bool ok = is_whole(record.outcome);
        breaches.unless(record.outcome != Outcome::not_sent || !record.fired_ns, record,
                        "is not_sent and was fired");
        const bool held = !record.fired_ns && record.held_ns > 0;
        breaches.unless(!held || (record.outcome == Outcome::not_sent && !record.error &&
                                  is_wish(record.late_cause)),
                        record, "never left, and was held back by what nobody asked for");
        breaches.unless(record.fired_ns || held || record.late_cause == LateCause::none, record,
                        "never left, is late, and was held back for no time");
        breaches.unless(!record.fired_ns || record.ended_ns, record, "was fired and has no end");
        breaches.unless(!ok || (record.done_ns && record.status == 200), record,
                        "is ok and not complete");
        breaches.unless(record.receive_delay_ns.value_or(0) >= 0, record,
                        "was read before it was received");
    }
}

// The mock's own stamps, on the same clock: nothing is read before it was sent, nothing arrives
// before it left.
void servers_agree(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const auto found = result.truth.find(record.row);
        if (found == result.truth.end() || !record.fired_ns) {
            continue;
        }
        const mock::RequestLog& truth = found->second;
        breaches.unless(truth.start_ns - result.zero_ns >= *record.fired_ns, record,
                        "reached the server before it was fired");
        breaches.unless(!record.first_token_ns || truth.token_ns.empty() ||
                            truth.token_ns.front() - result.zero_ns <= *record.first_token_ns,
                        record, "has a token before the server sent one");
    }
}

// Where nothing went wrong, both lengths are exact.
void ok_is_exact(const SimResult& result, Breaches& breaches) {
    const std::set<std::uint32_t> scripted(result.scripted_rows.begin(),
                                           result.scripted_rows.end());
    for (const Record& record : result.records) {
        if (record.outcome != Outcome::ok || !record.tainted.empty() ||
            scripted.contains(record.row)) {
            continue;
        }
        // What is recorded of conversations may be off.
        breaches.unless(result.live || record.prompt_tokens == record.input_length.value(), record,
                        "is ok, but the server counted another prompt");
        breaches.unless(record.output_tokens == record.output_length.value(), record,
                        "is ok, but has another number of tokens");
    }
}

// What a row said of itself reached the server, and what the server said came back to that row.
void rows_are_who_they_say(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const auto found = result.truth.find(record.row);
        const bool traced = found != result.truth.end() && !found->second.traceparent.empty();
        breaches.unless(!traced || record.trace_id == found->second.traceparent.substr(3, 32),
                        record, "has another trace than the server was told");
        const auto kind =
            record.side == Side::b ? RequestName::Kind::row_of_side_b : RequestName::Kind::row;
        const std::string name =
            request_id_of("sim", {kind, record.row, record.pass, record.attempt});
        for (const RecordedHeader& header : record.headers) {
            breaches.unless(!header.value || *header.value == name, record,
                            "has a header of another row's answer");
        }
    }
}

// The certificate: of a row that is not tainted nothing was late by more than the limits, whatever
// happened to the client, and no stamp is later than the truth by more.
void untainted_rows_are_true(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        if (!record.tainted.empty() || !record.fired_ns) {
            continue;
        }
        const auto left = result.parts_ns.find(record.row);
        const auto waited = result.waited.find(record.row);
        const bool held = is_wish(record.late_cause);  // as the user wanted it
        const std::int64_t late_ns = *record.fired_ns - record.due_ns - (held ? record.held_ns : 0);
        breaches.unless(late_ns <= result.limits.drift_ns, record,
                        "was fired late and is not tainted");
        breaches.unless(left == result.parts_ns.end() ||
                            left->second.front() - *record.fired_ns <= result.limits.wire_ns,
                        record, "left late and is not tainted");
        breaches.unless(
            waited == result.waited.end() || waited->second.ns <= result.limits.receive_delay_ns,
            record, "was read late and is not tainted");
    }
}

void received_bytes_accounted_for(const SimResult& result, Breaches& breaches) {
    std::uint64_t in_records = 0;
    for (const Record& record : result.records) {
        in_records += record.bytes_received;
    }
    const std::uint64_t accounted = in_records + result.bytes_stray;
    breaches.unless(result.disk_failed || accounted == result.bytes_delivered,
                    of(accounted, result.bytes_delivered));
}

constexpr Law all_laws[] = {
    {"the run ends", ends},
    {"time 0 leaves time", time_zero_leaves_time},
    {"one record per row", one_record_per_row},
    {"outcomes sum up", outcomes_sum_up},
    {"lines read back", lines_read_back},
    {"no stamp before its cause", stamps_in_order},
    {"nothing leaves early", nothing_early},
    {"dues are the plan's", dues_are_the_plans},
    {"chunks in order", chunks_in_order},
    {"outcomes fit stamps", outcomes_fit_stamps},
    {"servers agree", servers_agree},
    {"ok is exact", ok_is_exact},
    {"rows are who they say", rows_are_who_they_say},
    {"untainted rows are true", untainted_rows_are_true},
    {"received bytes are accounted for", received_bytes_accounted_for},
};

constexpr StampOrder all_orders[] = {
    {"armed", "fired", &Record::armed_ns, &Record::fired_ns},
    {"connected", "ended", &Record::connect_ns, &Record::ended_ns},
    {"fired", "wire", &Record::fired_ns, &Record::wire_ns},
    {"fired", "sent", &Record::fired_ns, &Record::sent_ns},
    {"fired", "headers", &Record::fired_ns, &Record::headers_ns},
    {"wire", "ended", &Record::wire_ns, &Record::ended_ns},
    {"headers", "first byte", &Record::headers_ns, &Record::first_byte_ns},
    {"first byte", "first token", &Record::first_byte_ns, &Record::first_token_ns},
    {"first byte", "first event", &Record::first_byte_ns, &Record::first_event_ns},
    {"first event", "first token", &Record::first_event_ns, &Record::first_token_ns},
    {"finish event", "ended", &Record::finish_event_ns, &Record::ended_ns},
    {"usage event", "ended", &Record::usage_event_ns, &Record::ended_ns},
    {"error event", "ended", &Record::error_event_ns, &Record::ended_ns},
    {"end marker", "ended", &Record::end_marker_ns, &Record::ended_ns},
    {"first token", "first content", &Record::first_token_ns, &Record::first_content_ns},
    {"first content", "last token", &Record::first_content_ns, &Record::last_token_ns},
    {"last token", "done", &Record::last_token_ns, &Record::done_ns},
    {"done", "ended", &Record::done_ns, &Record::ended_ns},
    {"last token", "ended", &Record::last_token_ns, &Record::ended_ns},
    {"headers", "ended", &Record::headers_ns, &Record::ended_ns},
    {"fired", "ended", &Record::fired_ns, &Record::ended_ns},
};

}  // namespace

std::string fired_line(const Record& record) {
    FiredRow fired{.row = record.row,
                   .due_ns = record.due_ns,
                   .fired_ns = record.fired_ns.value_or(0),
                   .held_ns = record.held_ns,
                   .late_cause = record.late_cause};
    fired.pass = record.user ? std::optional(record.pass) : std::nullopt;
    fired.side = record.side == Side::none ? std::nullopt : std::optional(record.side);
    std::string line;
    append_json_line(line, fired);
    line.pop_back();
    return line;
}

const std::vector<Law>& laws() {
    static const std::vector<Law> all = [] {
        std::vector<Law> joined(std::begin(all_laws), std::end(all_laws));
        for (const std::span<const Law> more :
             {laws_of_periods(), laws_of_users(), laws_of_limits(), laws_of_connections()}) {
            joined.insert(joined.end(), more.begin(), more.end());
        }
        return joined;
    }();
    return all;
}

std::span<const StampOrder> stamp_orders() {
    return all_orders;
}

std::string broken_laws(const SimResult& result) {
    return broken_of(laws(), result);
}

}  // namespace driftless::sim
