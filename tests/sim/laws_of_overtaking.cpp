#include "tests/sim/laws_of_overtaking.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tests/sim/breaches.hpp"
#include "tests/sim/killed_run.hpp"

namespace driftless::sim {

namespace {

/// The rows' lines of requests.jsonl: [row] which one it is.
using Places = std::map<std::uint32_t, std::size_t>;

Places places_of(const std::vector<Record>& records) {
    Places places;
    for (std::size_t i = 0; i < records.size(); ++i) {
        places[records[i].row] = i;
    }
    return places;
}

/// The turn, before the row was sent; where nobody knows its end, before the row ended. Segments
/// follow one another, though their instants overlap.
bool had_ended(const Record& turn, const Record& record, const Places& places) {
    if (!turn.ended_ns) {
        return places.at(turn.row) < places.at(record.row);
    }
    return turn.segment == record.segment ? *turn.ended_ns <= *record.fired_ns
                                          : turn.segment < record.segment;
}

/// What a record has to say of the turns before it, which all have a line.
std::optional<bool> overtaken(const std::vector<Record>& records, const Places& places,
                              const Record& record, const std::vector<std::uint32_t>& before) {
    if (!record.fired_ns || !record.ended_ns) {
        return std::nullopt;
    }
    bool all_known = true;
    for (const std::uint32_t row : before) {
        const Record& turn = records[places.at(row)];
        if (!had_ended(turn, record, places)) {
            return true;
        }
        all_known = all_known && turn.ended_ns;
    }
    return all_known ? std::optional(false) : std::nullopt;
}

const char* word_of(std::optional<bool> overtaken) {
    return !overtaken ? "null" : *overtaken ? "true" : "false";
}

std::string overtaken_is_true(const std::vector<Record>& records, const TurnsBefore& turns) {
    Breaches breaches;
    const Places places = places_of(records);
    std::set<std::uint32_t> tried_again;
    std::set<std::uint32_t> seen;
    for (const Record& record : records) {
        if (!seen.insert(record.row).second) {
            tried_again.insert(record.row);
        }
    }
    for (const Record& record : records) {
        const auto before = turns.find(record.row);
        if (before == turns.end()) {
            breaches.unless(!record.overtaken, record, "overtook, and has no turn before it");
            continue;
        }
        // Others are of another segment, or are lost, or have several ends.
        bool all_there = !tried_again.contains(record.row);
        for (const std::uint32_t row : before->second) {
            all_there = all_there && places.contains(row) && !tried_again.contains(row);
        }
        const auto wanted =
            all_there ? overtaken(records, places, record, before->second) : record.overtaken;
        breaches.unless(record.overtaken == wanted, record,
                        std::string("says of overtaking ") + word_of(record.overtaken) + ", not " +
                            word_of(wanted));
    }
    return breaches.text();
}

/// Where rows come in several passes: none is sent before the answers that it waits for, and those
/// that wait for none are not told of.
std::string overtaken_is_true_over_passes(const SimResult& result) {
    Breaches breaches;
    std::set<std::uint32_t> waiting;
    for (const Dependency& one : result.dependencies) {
        if (one.trigger == Trigger::completion) {
            waiting.insert(one.row);
        }
    }
    for (const Record& record : result.records) {
        const bool follows = waiting.contains(record.row) && record.parent_end_ns;
        const auto wanted =
            follows && record.fired_ns && record.ended_ns ? std::optional(false) : std::nullopt;
        breaches.unless(record.overtaken == wanted, record,
                        std::string("says of overtaking ") + word_of(record.overtaken) + ", not " +
                            word_of(wanted));
    }
    return breaches.text();
}

}  // namespace

TurnsBefore turns_before(const Trace& trace) {
    TurnsBefore turns;
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        const TraceRow& row = trace.rows[i];
        bool waits = false;
        for (const Dependency& one : trace.dependencies) {
            waits = waits || (one.row == row.index && one.trigger != Trigger::over);
            if (one.row == row.index && one.trigger == Trigger::completion) {
                turns[row.index].push_back(one.on);
            }
        }
        for (std::size_t back = i; back-- > 0 && !waits && row.session != no_session;) {
            if (trace.rows[back].session == row.session) {
                turns[row.index].push_back(trace.rows[back].index);
                break;
            }
        }
    }
    return turns;
}

std::string overtaken_is_true(const SimResult& result) {
    if (result.users.recycle) {
        return overtaken_is_true_over_passes(result);
    }
    if (result.disk_failed || !result.dual) {
        return result.disk_failed ? "" : overtaken_is_true(result.records, result.turns_before);
    }
    std::string breaches;
    for (const Side side : {Side::a, Side::b}) {  // a conversation with each
        std::vector<Record> own = result.records;
        std::erase_if(own, [side](const Record& record) { return record.side != side; });
        breaches += overtaken_is_true(own, result.turns_before);
    }
    return breaches;
}

std::string overtaken_is_true_over_segments(const KilledRun& run) {
    return overtaken_is_true(run.records, run.turns_before);
}

}  // namespace driftless::sim
