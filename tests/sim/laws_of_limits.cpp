#include "tests/sim/laws_of_limits.hpp"

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

// A request that a lost segment has held up is tainted, and no row claims more than was sent again.
std::string losses_are_reported(const SimResult& result) {
    Breaches breaches;
    std::uint64_t reported = 0;
    for (const Record& record : result.records) {
        reported += record.retransmits.value_or(0);
        const bool tainted = has_taint(record, taint_retransmitted);
        const bool gave_up = !record.first_byte_ns && record.outcome != Outcome::ok;
        breaches.unless(!tainted || gave_up || record.retransmits.value_or(0) > 0, record,
                        "is tainted by a loss that is not counted");
        const auto found = result.truth.find(record.row);
        // A part of it that waited for us was late, too.
        if (found == result.truth.end() || !record.fired_ns || record.stale_retries > 0 ||
            result.sends_block || has_taint(record, taint_sent_late)) {
            continue;
        }
        const std::int64_t way_ns = found->second.start_ns - result.zero_ns - *record.fired_ns;
        breaches.unless(tainted || way_ns < Weather::lost_for.ns, record,
                        "came to the server late by a loss, and is not tainted");
    }
    breaches.unless(reported <= result.segments_resent, of(reported, result.segments_resent));
    return breaches.text();
}

// What held a row back and what failed for a lack of ours is never presented as certain.
std::string our_limits_taint(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const bool limited = record.late_cause == LateCause::limit;
        const bool failed = record.outcome == Outcome::client_failed;
        breaches.unless(limited == has_taint(record, taint_limit), record,
                        "was held back by our limit or is tainted by it, but not both");
        breaches.unless(failed == has_taint(record, taint_client_failed), record,
                        "failed for our lack or is tainted by it, but not both");
    }
    return breaches.text();
}

// Of an answer that lost a part in our ring no count is known, nor what follows from one.
std::string lost_answers_count_nothing(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const bool counts = record.prompt_tokens || record.prompt_tokens_off ||
                            record.cached_tokens || record.output_tokens || record.tokens_source ||
                            record.tpot_ns || record.finish_reason || record.output_digest ||
                            record.chunk_tokens_known;
        breaches.unless(!counts || !lost_in_client(record), record,
                        "lost a part of its answer and tells a count");
    }
    return breaches.text();
}

}  // namespace driftless::sim
