// The server's end of a simulated connection: it receives, produces at its deadlines, and what it
// says travels back in pieces.

#include <algorithm>

#include "proto/core/check.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

void SimDriver::server_receives(Connection& connection, int number, const Piece& piece) {
    if (connection.server != nullptr) {
        connection.server->receive(piece.bytes, now_);
        server_turn(connection, number);
    }
}

// Sends what is due, does what the server wants done, and notes when it wants to go on.
void SimDriver::server_turn(Connection& connection, int number) {
    std::string out;
    while (connection.server->next_deadline() <=
           now_) {  // ends: each produce moves the deadline on
        out.clear();
        connection.server->produce(now_, out);
        deliver_to_client(number, out, false, false);
    }
    const Instant next = connection.server->next_deadline();
    if (next == never) {
        const auto action = connection.server->next_action();
        if (action != mock::MockConnection::Action::keep) {
            deliver_to_client(number, {}, true, action == mock::MockConnection::Action::reset);
            drop_server(connection);
        }
    } else {
        at(next, {Happening::Kind::deadline, number, 0, 0, ++connection.deadline_version, {}});
    }
    wake_servers();
}

void SimDriver::wake_servers() {
    while (mock::MockConnection* woken = core_.next_woken()) {
        const auto found =
            std::find_if(connections_.begin(), connections_.end(), [&](const auto& connection) {
                return connection != nullptr && connection->server == woken;
            });
        CHECK(found != connections_.end());
        const int number = static_cast<int>(found - connections_.begin());
        at(std::max(woken->next_deadline(), now_),
           {Happening::Kind::deadline, number, 0, 0, ++(*found)->deadline_version, {}});
    }
}

void SimDriver::deliver_to_client(int number, std::string bytes, bool end, bool reset) {
    Connection& connection = *connections_[static_cast<std::size_t>(number)];
    std::string_view rest = bytes;
    do {
        const bool cut_here = rest.size() > 1 && chance(weather_.split);
        const std::size_t cut = cut_here ? 1 + random_.below(rest.size() - 1) : rest.size();
        connection.to_client = std::max(connection.to_client, now_) + latency();
        const bool struck = chance(weather_.reset);
        const bool last = cut == rest.size();
        at(connection.to_client,
           {Happening::Kind::to_client,
            number,
            0,
            0,
            0,
            {std::string(rest.substr(0, cut)), last && end, struck || (last && reset)}});
        rest.remove_prefix(cut);
    } while (!rest.empty());  // ends: each piece takes a byte at least
}

}  // namespace driftless::sim
