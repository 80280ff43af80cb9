#include "tests/sim/laws_of_talks.hpp"

#include <algorithm>
#include <map>

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

/// The last record of each row.
std::map<std::uint32_t, const Record*> last_records(const SimResult& result) {
    std::map<std::uint32_t, const Record*> last;
    for (const Record& record : result.records) {
        const Record*& one = last[record.row];
        one = one == nullptr || record.attempt > one->attempt ? &record : one;
    }
    return last;
}

}  // namespace

// As many answers as its record says, each as the server has sent it in this conversation.
std::string prompts_hold_what_was_said(const SimResult& result) {
    Breaches breaches;
    const bool live = !result.goes_on_behind.empty() && !result.disk_failed;
    const std::map<std::uint32_t, const Record*> records =
        live ? last_records(result) : std::map<std::uint32_t, const Record*>();
    for (const auto& [row, record] : records) {
        const auto behind = result.goes_on_behind.find(row);
        const auto seen = result.truth.find(row);
        if (!record->fired_ns) {
            continue;
        }
        breaches.unless((behind == result.goes_on_behind.end()) == !record->live_turns, *record,
                        "does not say whether it holds answers of the run");
        const std::uint32_t told = record->live_turns.value_or(0);
        if (behind != result.goes_on_behind.end() && records.contains(behind->second)) {
            const Record& before = *records.at(behind->second);
            const std::uint32_t answered = is_whole(before.outcome) ? 1 : 0;
            const bool is_known = before.fired_ns.has_value();
            breaches.unless(!is_known || told == before.live_turns.value_or(0) + answered, *record,
                            "holds another number of answers than were given");
        }
        if (seen != result.truth.end() && seen->second.history) {
            const mock::HistoryCount& history = *seen->second.history;
            breaches.unless(history.known == told, *record,
                            "holds " + std::to_string(history.known) + " answers of the server");
            breaches.unless(history.elsewhere + history.unknown == 0, *record,
                            "holds words that the server has not said there");
        }
    }
    return breaches.text();
}

std::string prompts_are_filled_up(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        if (!record.padded_tokens || !record.prompt_tokens_off) {
            continue;
        }
        const std::int64_t over = std::max<std::int64_t>(0, -*record.padded_tokens);
        breaches.unless(
            *record.prompt_tokens_off == over, record,
            "is off its recorded length by " + std::to_string(*record.prompt_tokens_off));
    }
    return breaches.text();
}

}  // namespace driftless::sim
