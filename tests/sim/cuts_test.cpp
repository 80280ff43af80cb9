// A server's side of a connection ends at each byte of two answers, in each of three ways: every
// law holds, and a row is ok exactly where its answer had come whole. (At every fifth byte where
// DRIFTLESS_SIM_SEEDS asks for less than all.)
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "tests/sim/effort.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

// The second request leaves long after the first answer's end, on the same connection if it can.
Trace two_rows() {
    Trace trace = make_trace(4, 2);
    trace.rows[1].at_ns = 500'000'000;
    for (TraceRow& row : trace.rows) {
        row.output_length = 3;
    }
    return trace;
}

SimResult run_cut(std::optional<Cut> cut, std::uint64_t seed, const TlsWeather& tls = {},
                  double lose_end = 0) {
    SimOptions options{.seed = seed, .tls = tls};
    options.weather.cut_at = cut;
    options.weather.lose_end = lose_end;
    options.body_bytes = 256 << 10;  // what is mapped is cleared, thousands of times
    options.ring_bytes = 64 << 10;
    return run(two_rows(), options);
}

// [row]
std::array<Outcome, 2> outcomes_of(const SimResult& result) {
    std::array<Outcome, 2> outcomes{};
    for (const Record& record : result.records) {
        outcomes.at(record.row) = record.outcome;
    }
    return outcomes;
}

void cut_everywhere(Cut::Kind kind) {
    const SimResult whole = run_cut({}, 1);
    ASSERT_EQ(whole.records.size(), 2u);
    ASSERT_TRUE(whole.records[1].reused);
    const std::uint64_t first = whole.records[0].bytes_received;
    const std::uint64_t second = whole.records[1].bytes_received;
    const std::uint64_t step = byte_step();
    const std::uint64_t begin = static_cast<std::uint64_t>(kind) % step;
    for (std::uint64_t bytes = begin; bytes <= first + second; bytes += step) {
        const SimResult result = run_cut(Cut{bytes, kind}, bytes + 1);
        ASSERT_EQ(broken_laws(result), "") << "after " << bytes;
        const auto [one, two] = outcomes_of(result);
        ASSERT_EQ(one == Outcome::ok, bytes >= first) << name_of(one) << " after " << bytes;
        // What ends right behind the first answer leaves the second to another connection.
        const bool whole_elsewhere = bytes == first && bytes >= second;
        ASSERT_EQ(two == Outcome::ok, bytes == first + second || whole_elsewhere)
            << name_of(two) << " after " << bytes;
    }
}

TEST(Cuts, ResetAtEveryByte) {
    cut_everywhere(Cut::Kind::reset);
}

TEST(Cuts, CloseAtEveryByte) {
    cut_everywhere(Cut::Kind::close);
}

TEST(Cuts, HalfCloseAtEveryByte) {
    cut_everywhere(Cut::Kind::half_close);
}

// The kernel loses every end, those of our own shutdowns, too: each is found, so that no row waits
// for a time limit, and the run ends.
TEST(Cuts, ThatTheKernelLosesAreFound) {
    for (const bool secure : {false, true}) {
        TlsWeather tls;
        tls.on = secure;
        for (const Cut::Kind kind : {Cut::Kind::reset, Cut::Kind::close, Cut::Kind::half_close}) {
            for (std::uint64_t bytes = 0; bytes < 6000; bytes += 97 * byte_step()) {
                const SimResult result = run_cut(Cut{bytes, kind}, bytes + 1, tls, 1);
                ASSERT_EQ(broken_laws(result), "") << "after " << bytes;
                for (const Outcome outcome : outcomes_of(result)) {
                    ASSERT_NE(outcome, Outcome::timeout_idle) << "after " << bytes;
                    ASSERT_NE(outcome, Outcome::timeout_first_byte) << "after " << bytes;
                }
            }
        }
    }
}

/// Each handshake costs real time: some of the bytes, other ones in each way.
constexpr std::uint64_t tls_step = 31;

// Over TLS the cuts are those of ciphertext: inside the handshake, a ticket, a record, the header
// of one. No row is ok whose answer had not come whole; those before it are.
TEST(Cuts, OfCiphertextLoseNoRow) {
    for (const bool old : {false, true}) {
        TlsWeather tls{.on = true, .old = old};
        const SimResult whole = run_cut({}, 1, tls);
        ASSERT_EQ(whole.records.size(), 2u);
        ASSERT_TRUE(whole.records[1].reused);
        const std::uint64_t first = whole.records[0].bytes_received;
        for (const Cut::Kind kind : {Cut::Kind::reset, Cut::Kind::close, Cut::Kind::half_close}) {
            for (std::uint64_t bytes = 10 * static_cast<std::uint64_t>(kind) + (old ? 5 : 0);
                 bytes <= whole.bytes_delivered; bytes += tls_step * byte_step()) {
                const SimResult result = run_cut(Cut{bytes, kind}, bytes + 1, tls);
                ASSERT_EQ(broken_laws(result), "") << "after " << bytes;
                const auto [one, two] = outcomes_of(result);
                ASSERT_TRUE(one != Outcome::ok || bytes >= first) << "after " << bytes;
                ASSERT_TRUE(two != Outcome::ok || bytes >= first) << "after " << bytes;
            }
        }
    }
}

}  // namespace
}  // namespace driftless::sim
