#include "engine/plan/plan.hpp"
#include "tests/sim/killed_run.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {

namespace {

void sent_bytes_were_taken(const SimResult& result, Breaches& breaches) {
    std::uint64_t in_records = 0;
    for (const Record& record : result.records) {
        in_records += record.bytes_sent;
    }
    breaches.unless(in_records <= result.bytes_accepted, of(in_records, result.bytes_accepted));
}

// TLS: what leaves on a connection are the records that were made for it, whole and in their order.
void servers_can_read(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.misread == 0, std::to_string(result.misread) + " servers cannot");
}

// What a server has said of its connections is kept to, however long the process stood still: a
// request that leaves later than that may cross the close.
void limits_kept(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.overdue_sends == 0, std::to_string(result.overdue_sends) +
                                                   " requests on connections idle for too long");
}

// `--connection` is kept to, and each record says what its connection was: never used under fresh,
// its session's where it says sticky. (A row that was tried again leaves no trace of where.)
void connections_as_asked(const SimResult& result, Breaches& breaches) {
    std::vector<const Record*> fired;
    for (const Record& record : result.records) {
        if (record.fired_ns) {
            fired.push_back(&record);
        }
    }
    std::sort(fired.begin(), fired.end(),
              [](const Record* a, const Record* b) { return a->fired_ns < b->fired_ns; });
    std::map<std::pair<std::uint32_t, std::int64_t>, const Record*> latest;
    for (const Record* record : fired) {
        const ConnectionState state = record->connection_state.value();
        const bool sticks = state == ConnectionState::sticky || state == ConnectionState::moved;
        const auto [before, first] = latest.emplace(
            std::pair(record->connection.value(), record->connect_ns.value()), record);
        breaches.unless(first || record->reused, *record, "follows another row and says it is new");
        breaches.unless(!record->reused || result.connection != ConnectionRule::fresh, *record,
                        "has no connection of its own");
        breaches.unless(!sticks || (result.connection == ConnectionRule::sticky && record->session),
                        *record, "speaks of a session's connection");
        breaches.unless(sticks || record->reused == (state == ConnectionState::reused), *record,
                        "has a connection that is reused or not");
        breaches.unless(
            state != ConnectionState::sticky || first || before->second->session == record->session,
            *record, "is on another session's connection");
        before->second = record;
    }
}

// Under `--balance session` no session is spread over servers.
void sessions_stay(const SimResult& result, Breaches& breaches) {
    std::map<std::string, std::string> servers;
    for (const Record& record : result.records) {
        if (result.balance == Balance::session && record.session && record.fired_ns) {
            const auto [at, first] = servers.emplace(*record.session, record.url);
            breaches.unless(at->second == record.url, record, "is on another server than before");
        }
    }
}

/// The two records of a row: [a, b].
using Pair = std::array<const Record*, 2>;

std::map<std::uint32_t, Pair> pairs_of(const SimResult& result) {
    std::map<std::uint32_t, Pair> pairs;
    for (const Record& record : result.records) {
        if (record.side != Side::none) {
            pairs[record.row][record.side == Side::b ? 1 : 0] = &record;
        }
    }
    return pairs;
}

/// By the contract: of the rows 2k and 2k+1 one goes to a first, and the seed says which.
bool begins_with_a(std::uint64_t seed, std::uint32_t row) {
    const std::uint64_t drawn = mix64(mix64(seed + golden_gamma) ^ mix64(row / 2 + golden_gamma));
    return (drawn >> 32) % 2 == row % 2;
}

/// A few looks at the clock lie between two fires; more than that is somebody's doing.
constexpr std::int64_t fires_apart_ns = 1'000'000;

void each_row_once_to_each_side(const SimResult& result, Breaches& breaches) {
    std::map<std::uint32_t, std::array<int, side_count>> seen;
    for (const Record& record : result.records) {
        const Side side = record.side;
        breaches.unless(result.dual == (side != Side::none), record,
                        "has a side in a run without, or none in a run with sides");
        ++seen[record.row][static_cast<std::size_t>(side)];
        breaches.unless(
            side == Side::none ||
                record.url == (side == Side::a ? "http://simulated/0" : "http://simulated/1"),
            record, "went to the other side's server");
    }
    if (!result.dual || result.disk_failed) {
        return;
    }
    for (const auto& [row, times] : seen) {
        breaches.unless(times[1] == 1 && times[2] == 1,
                        "row " + std::to_string(row) + " did not go once to each side");
    }
    for (const auto& [row, pair] : pairs_of(result)) {
        breaches.unless(
            pair[0] == nullptr || pair[1] == nullptr || pair[0]->due_ns == pair[1]->due_ns,
            "row " + std::to_string(row) + " has two dues");
    }
}

void sides_have_the_plans_order(const SimResult& result, Breaches& breaches) {
    if (!result.dual || result.disk_failed) {
        return;
    }
    std::int64_t more_of_a = 0;
    for (const auto& [row, pair] : pairs_of(result)) {
        if (pair[0] == nullptr || pair[1] == nullptr) {
            continue;  // another law's
        }
        const bool a_first = pair[0]->request < pair[1]->request;
        breaches.unless(a_first == begins_with_a(result.seed, row), *pair[0],
                        "has its sides in another order than was drawn");
        more_of_a += a_first ? 1 : -1;
    }
    breaches.unless(more_of_a >= -1 && more_of_a <= 1,
                    "one side is first more often: by " + std::to_string(more_of_a));
}

void sides_have_lanes_of_their_own(const SimResult& result, Breaches& breaches) {
    std::map<std::pair<std::uint32_t, std::int64_t>, Side> lanes;
    for (const Record& record : result.records) {
        if (result.dual && record.connection && record.connect_ns) {
            // A number is given again when its connection is gone.
            const auto [lane, fresh] =
                lanes.emplace(std::pair(*record.connection, *record.connect_ns), record.side);
            breaches.unless(fresh || lane->second == record.side, record,
                            "left on a connection of the other side");
        }
    }
}

void no_side_disturbs_the_other(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        if (result.spared == Side::none || record.side != result.spared) {
            continue;
        }
        breaches.unless(record.outcome == Outcome::ok, record,
                        "was not answered, though its own server is well");
        breaches.unless(record.drift_ns.value_or(0) <= fires_apart_ns, record,
                        "left late, though its own server is well");
        breaches.unless(record.held_ns == 0, record, "was held back for the other side");
    }
}

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

void overtaken_is_true(const std::vector<Record>& records, const TurnsBefore& turns,
                       Breaches& breaches) {
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
}

/// Where rows come in several passes: none is sent before the answers that it waits for, and those
/// that wait for none are not told of.
void overtaken_is_true_over_passes(const SimResult& result, Breaches& breaches) {
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
}

void overtaken_is_true(const SimResult& result, Breaches& breaches) {
    if (result.users.recycle) {
        overtaken_is_true_over_passes(result, breaches);
    } else if (!result.disk_failed && !result.dual) {
        overtaken_is_true(result.records, result.turns_before, breaches);
    } else if (!result.disk_failed) {
        for (const Side side : {Side::a, Side::b}) {  // a conversation with each
            std::vector<Record> own = result.records;
            std::erase_if(own, [side](const Record& record) { return record.side != side; });
            overtaken_is_true(own, result.turns_before, breaches);
        }
    }
}

constexpr Law laws_of_connections_all[] = {
    {"sent bytes were taken", sent_bytes_were_taken},
    {"servers can read what is sent", servers_can_read},
    {"limits of connections are kept", limits_kept},
    {"connections are as asked", connections_as_asked},
    {"sessions stay on their server", sessions_stay},
    {"each row goes once to each side", each_row_once_to_each_side},
    {"sides have the plan's order", sides_have_the_plans_order},
    {"sides have lanes of their own", sides_have_lanes_of_their_own},
    {"no side disturbs the other", no_side_disturbs_the_other},
    {"overtaken is what the instants say", overtaken_is_true},
};

}  // namespace

std::span<const Law> laws_of_connections() {
    return laws_of_connections_all;
}

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

void overtaken_is_true_over_segments(const KilledRun& run, Breaches& breaches) {
    overtaken_is_true(run.records, run.turns_before, breaches);
}

}  // namespace driftless::sim
