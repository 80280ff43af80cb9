// The ring serves all: what ends at once and is submitted again does not keep from us what others
// have brought.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "engine/io/uring.hpp"

namespace driftless {
namespace {

void on_bytes(Op& op, const Completion& done) {
    static_cast<std::string*>(op.owner)->append(done.bytes);
}

void cancel_again(Op& op, const Completion&) {
    (*static_cast<Driver**>(op.owner))->submit(op);
}

// Operations that end at once and are submitted again do not keep bytes in the kernel.
TEST(UringFairness, ReadsBesideOperationsThatEndAtOnce) {
    auto made = UringDriver::make(UringOptions());
    if (!made) {
        GTEST_SKIP() << "io_uring is not available: errno " << made.error().sys_errno;
    }
    const std::unique_ptr<UringDriver> driver = std::move(made).value();
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    std::string got;
    Op receive;
    receive.spec.kind = OpKind::receive;
    receive.spec.socket = Socket{pair[0]};
    receive.handler = on_bytes;
    receive.owner = &got;
    driver->submit(receive);
    Driver* again = driver.get();
    Op nobody;
    Op cancels[64];  // more than a turn takes
    for (Op& cancel : cancels) {
        cancel.spec.kind = OpKind::cancel;
        cancel.spec.target = &nobody;
        cancel.handler = cancel_again;
        cancel.owner = &again;
        driver->submit(cancel);
    }
    const auto turn = [&] { (void)driver->turn({Instant{}, 16, Wait::none, true}); };
    for (int turns = 0; turns < 100; ++turns) {
        turn();
    }
    ASSERT_EQ(::send(pair[1], "bytes", 5, 0), 5);
    for (int turns = 0; turns < 100 && got.empty(); ++turns) {
        turn();
    }
    EXPECT_EQ(got, "bytes");
    for (Op& cancel : cancels) {
        cancel.handler = [](Op&, const Completion&) {};
    }
    ::close(pair[1]);
    for (int turns = 0; turns < 1000 && driver->in_flight() > 0; ++turns) {
        turn();
    }
    EXPECT_EQ(driver->in_flight(), 0u);
    driver->close(Socket{pair[0]});
}

}  // namespace
}  // namespace driftless
