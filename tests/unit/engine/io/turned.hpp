/// What tests of drivers share: operations as one line, turns until something has come, and what
/// holds for every driver, that of the simulator included.
#pragma once

#include "engine/io/driver.hpp"
#include "tests/test.hpp"

namespace driftless {

inline void submit(Driver& driver, Op& op, const OpSpec& spec, Op::Handler handler, void* owner) {
    op.spec = spec;
    op.handler = handler;
    op.owner = owner;
    driver.submit(op);
}

/// Sleeps from completion to completion, within a bound of turns, as long as that holds.
template <class Holds>
void turn_while(Driver& driver, Holds holds, int turns_max = 1000) {
    for (int turns = 0; turns < turns_max && holds(); ++turns) {
        (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
    }
}

/// A sleeping turn does not return before its instant where nothing completes, and at once where
/// that has passed.
inline void expect_sleeps_until(Driver& driver) {
    const Instant until = driver.now() + milliseconds(3);
    EXPECT_TRUE(driver.turn({until, 16, Wait::sleep, true}).slept);
    // A signal ends a sleep, and so do rings of tests before that are given back.
    for (int ends = 0; ends < 16 && driver.now() < until; ++ends) {
        (void)driver.turn({until, 16, Wait::sleep, true});
    }
    EXPECT_GE(driver.now().ns, until.ns);
    (void)driver.turn({until, 16, Wait::sleep, true});
    (void)driver.turn({until - milliseconds(1), 16, Wait::sleep, true});
}

/// A receive that is cancelled ends, once; its cancel ends with 0, one that comes later with
/// -ENOENT. Somebody listens at the address, and says nothing.
inline void expect_cancel_ends(Driver& driver, const Address& address) {
    const Socket socket = driver.open_socket(address).value();
    std::vector<Completion> connected;
    std::vector<Completion> received;
    std::vector<Completion> cancelled;
    const auto note = [](Op& op, const Completion& done) {
        static_cast<std::vector<Completion>*>(op.owner)->push_back(done);
    };
    Op connect;
    Op receive;
    Op cancel;
    submit(driver, connect, {.kind = OpKind::connect, .socket = socket, .address = &address}, note,
           &connected);
    turn_while(driver, [&] { return connect.in_flight(); });
    ASSERT_EQ(connected.size(), 1u);
    ASSERT_EQ(connected[0].result, 0);
    submit(driver, receive, {.kind = OpKind::receive, .socket = socket}, note, &received);
    turn_while(driver, [&] { return receive.in_flight(); }, 3);
    ASSERT_TRUE(receive.in_flight()) << "there is nothing to read";
    for (const int result : {0, -ENOENT}) {
        submit(driver, cancel, {.kind = OpKind::cancel, .target = &receive}, note, &cancelled);
        EXPECT_TRUE(driver.flush());
        EXPECT_TRUE(cancel.in_flight()) << "a flush calls no handler";
        turn_while(driver, [&] { return driver.in_flight() > 0; });
        EXPECT_EQ(cancelled.back().result, result);
    }
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].result, -ECANCELED);
    EXPECT_FALSE(received[0].more);
    driver.shutdown(socket);
    driver.close(socket);
}

/// More of them than a small queue holds: each ends, once.
inline void expect_nothing_to_cancel(Driver& driver) {
    Op nobody;
    constexpr int count = 40;
    Op cancels[count];
    int results[count] = {};
    const auto note = [](Op& op, const Completion& done) {
        *static_cast<int*>(op.owner) += done.result;
    };
    for (int i = 0; i < count; ++i) {
        submit(driver, cancels[i], {.kind = OpKind::cancel, .target = &nobody}, note, &results[i]);
    }
    turn_while(driver, [&] { return driver.in_flight() > 0; });
    EXPECT_EQ(driver.in_flight(), 0U);
    for (const int result : results) {
        EXPECT_EQ(result, -ENOENT) << "there was nothing to cancel";
    }
}

}  // namespace driftless
