#include "tests/sim/laws_of_connections.hpp"

#include <algorithm>
#include <map>

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

std::string sent_bytes_were_taken(const SimResult& result) {
    std::uint64_t in_records = 0;
    for (const Record& record : result.records) {
        in_records += record.bytes_sent;
    }
    return only(in_records <= result.bytes_accepted, of(in_records, result.bytes_accepted));
}

// TLS: what leaves on a connection are the records that were made for it, whole and in their order.
std::string servers_can_read(const SimResult& result) {
    return only(result.misread == 0, std::to_string(result.misread) + " servers cannot");
}

// What a server has said of its connections is kept to, however long the process stood still: a
// request that leaves later than that may cross the close.
std::string limits_kept(const SimResult& result) {
    return only(result.overdue_sends == 0, std::to_string(result.overdue_sends) +
                                               " requests on connections idle for too long");
}

// `--connection` is kept to, and each record says what its connection was: never used under fresh,
// its session's where it says sticky. (A row that was tried again leaves no trace of where.)
std::string connections_as_asked(const SimResult& result) {
    Breaches breaches;
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
    return breaches.text();
}

// Under `--balance session` no session is spread over servers.
std::string sessions_stay(const SimResult& result) {
    Breaches breaches;
    std::map<std::string, std::string> servers;
    for (const Record& record : result.records) {
        if (result.balance == Balance::session && record.session && record.fired_ns) {
            const auto [at, first] = servers.emplace(*record.session, record.url);
            breaches.unless(at->second == record.url, record, "is on another server than before");
        }
    }
    return breaches.text();
}

}  // namespace driftless::sim
