// What the kernel refuses of rings, sockets and stamps is an error with its errno, or a way
// without; nothing stays open behind it.
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/sockets.hpp"
#include "engine/io/uring.hpp"
#include "engine/machines/calibration_floor.hpp"
#include "proto/core/errors.hpp"
#include "tests/unit/refusing_kernel.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t populate_write = 23;  // MADV_POPULATE_WRITE
constexpr int place_of_option = 2;            // of setsockopt and getsockopt, and of an madvise

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class Refused : public RefusingKernel {
  protected:
    void SetUp() override {
        before_ = open_files();
        RefusingKernel::SetUp();
    }
    void TearDown() override { EXPECT_EQ(open_files(), before_) << "left open"; }

    static Error ring_error(std::initializer_list<RefusedCall> refusals) {
        Error error;
        EXPECT_TRUE(while_refusing(refusals, [&error] {
            const auto made = UringDriver::make(
                {.ops_max = 64, .submit_entries = 16, .buffers = 4, .buffer_bytes = 512});
            EXPECT_FALSE(made);
            error = made ? Error{} : made.error();
        }));
        return error;
    }

  private:
    std::ptrdiff_t before_ = 0;
};

// errno(3): what each is to a caller.
TEST(Errno, HasACode) {
    struct Case {
        ErrorCode code;
        std::vector<int> all;
    };
    for (const Case& one :
         {Case{ErrorCode::refused, {ECONNREFUSED}},
          Case{ErrorCode::reset, {ECONNRESET, EPIPE, ECONNABORTED}},
          Case{ErrorCode::unreachable, {ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL}},
          Case{ErrorCode::timed_out, {ETIMEDOUT, ETIME}}, Case{ErrorCode::cancelled, {ECANCELED}},
          Case{ErrorCode::not_found, {ENOENT}}, Case{ErrorCode::denied, {EACCES, EPERM}},
          Case{ErrorCode::exhausted, {EMFILE, ENFILE, ENOMEM, ENOBUFS}},
          Case{ErrorCode::exists, {EADDRINUSE, EEXIST}},
          Case{ErrorCode::unsupported, {ENOSYS, EOPNOTSUPP, EAFNOSUPPORT}},
          Case{ErrorCode::io_failed, {EIO, ENOTSOCK}}}) {
        for (const int sys_errno : one.all) {
            const Error error = error_from_errno(sys_errno, "try");
            EXPECT_EQ(error.code, one.code) << sys_errno;
            EXPECT_EQ(error.sys_errno, sys_errno);
        }
    }
}

TEST_F(Refused, Rings) {
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, EINVAL}}).code, ErrorCode::unsupported);
    EXPECT_STREQ(ring_error({{SYS_io_uring_setup, EINVAL}}).doing,
                 "set up io_uring (Linux 6.1 or newer)");
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, EPERM}}).code, ErrorCode::denied);
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, ENOSYS}}).code, ErrorCode::unsupported);
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, ENOMEM}}).code, ErrorCode::exhausted);
    const Error unregistered = ring_error({{SYS_io_uring_register, ENOMEM}});
    EXPECT_EQ(unregistered.code, ErrorCode::exhausted);
    EXPECT_STREQ(unregistered.doing, "register receive buffers with io_uring");
    const Error no_memory = ring_error({{SYS_madvise, ENOMEM, place_of_option, populate_write}});
    EXPECT_EQ(no_memory.code, ErrorCode::exhausted);
    EXPECT_STREQ(no_memory.doing, "take memory for receive buffers");
}

TEST_F(Refused, Sockets) {
    const Address any = resolve("127.0.0.1", 0).value().front();
    EXPECT_TRUE(while_refusing({{SYS_socket, EMFILE}}, [any] {
        EXPECT_EQ(make_stream_socket(any).error().code, ErrorCode::exhausted);
        EXPECT_EQ(make_listening_socket(any, 1).error().code, ErrorCode::exhausted);
        EXPECT_EQ(WarmPair().open().error().code, ErrorCode::exhausted);
        EXPECT_EQ(Sink().start(nullptr).error().code, ErrorCode::exhausted);
        EXPECT_FALSE(StampKeeper().open());
    }));
    EXPECT_TRUE(while_refusing({{SYS_listen, EADDRINUSE}}, [any] {
        EXPECT_EQ(make_listening_socket(any, 1).error().code, ErrorCode::exists);
    }));
    EXPECT_TRUE(while_refusing({{SYS_getsockname, ENOBUFS}}, [] {
        EXPECT_EQ(WarmPair().open().error().code, ErrorCode::exhausted);
        EXPECT_EQ(Sink().start(nullptr).error().code, ErrorCode::exhausted);
    }));
    EXPECT_TRUE(while_refusing({{SYS_accept4, EMFILE}}, [] {
        EXPECT_EQ(WarmPair().open().error().code, ErrorCode::exhausted);
        Sink sink;
        EXPECT_TRUE(sink.start(nullptr));
    }));
    EXPECT_TRUE(while_refusing({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}}, [] {
        EXPECT_STREQ(Sink().start(nullptr).error().doing, "start a thread");
    }));
}

// A host without descriptors reaches nobody, and says so at once; a local socket stands at once.
TEST_F(Refused, Connects) {
    const Address any = resolve("127.0.0.1", 0).value().front();
    EXPECT_TRUE(while_refusing({{SYS_socket, EMFILE}},
                               [any] { EXPECT_FALSE(first_reachable({any, any}, seconds(60))); }));
    const std::string path =
        (std::filesystem::temp_directory_path() / ("driftless-" + std::to_string(::getpid())))
            .string();
    const Address local = unix_address(path).value();
    const Socket listening = make_listening_socket(local, 1).value();
    const std::optional<Address> reached = first_reachable({local}, seconds(60));
    ASSERT_TRUE(reached);
    EXPECT_EQ(reached->to_text(), "unix:" + path);
    ::close(listening.number);
    std::filesystem::remove(path);
}

// Without stamps a run goes on, and says that it has none.
TEST_F(Refused, Stamps) {
    const Socket socket = make_stream_socket(resolve("127.0.0.1", 0).value().front()).value();
    EXPECT_TRUE(
        while_refusing({{SYS_setsockopt, ENOPROTOOPT, place_of_option, SO_TIMESTAMPING}}, [socket] {
            const StampSupport got = switch_on_stamps(socket, {true, true});
            EXPECT_FALSE(got.transmit || got.receive);
            EXPECT_FALSE(StampKeeper().open());
        }));
    EXPECT_TRUE(while_refusing({{SYS_getsockopt, EBADF}}, [socket] {
        const StampSupport got = switch_on_stamps(socket, {true, true});
        EXPECT_FALSE(got.transmit || got.receive);
    }));
    ::close(socket.number);
    for (const RefusedCall refusal :
         {RefusedCall{SYS_io_uring_setup, EPERM}, RefusedCall{SYS_socket, EMFILE}}) {
        EXPECT_TRUE(while_refusing({refusal}, [] {
            TransmitStamps stamps;
            EXPECT_STREQ(name_of(stamps.way()), "no");
            stamps.open(4, true);
            EXPECT_STREQ(name_of(stamps.way()), "error queue");
        }));
    }
}

TEST_F(Refused, Calibration) {
    EXPECT_TRUE(while_refusing({{SYS_listen, EADDRINUSE}}, [] {
        const auto driver = UringDriver::make(
            {.ops_max = 64, .submit_entries = 16, .buffers = 4, .buffer_bytes = 512});
        if (driver) {
            EXPECT_EQ(measure_fires(*driver.value(), 1, seconds(1), nullptr, 0).error().code,
                      ErrorCode::exists);
        }
    }));
}

}  // namespace
}  // namespace driftless
