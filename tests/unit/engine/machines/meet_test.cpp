// Machines that meet: their messages and their meeting.

#include "engine/machines/meet.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "engine/base/time.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

constexpr std::int64_t year_2026_ns = 1'795'000'000'000'000'000;

/// Our clock is ahead by `offset_ns`; the ways take `there_ns` and `back_ns`, the answer `work_ns`.
ClockExchange exchange(std::int64_t offset_ns, std::int64_t there_ns, std::int64_t back_ns,
                       std::int64_t work_ns = 700) {
    ClockExchange one{.t1_ns = year_2026_ns + offset_ns, .t2_ns = year_2026_ns + there_ns};
    one.t3_ns = one.t2_ns + work_ns;
    one.t4_ns = one.t3_ns + back_ns + offset_ns;
    return one;
}

// Exact where the ways are equal, within its error where they are not; the shortest round trip
// counts.
TEST(ClockDifference, HoldsTheTruthWithoutWhatCannotBe) {
    for (const std::int64_t offset_ns : {0L, 3'000'000L, -3'000'000L, 86'400'000'000'000L}) {
        const std::vector<ClockExchange> one{exchange(offset_ns, 40'000, 40'000)};
        const auto difference = difference_of(one).value();
        EXPECT_EQ(std::tuple(difference.offset_ns, difference.error_ns, difference.round_trip_ns),
                  std::tuple(offset_ns, 40'000, 80'000));
    }
    for (std::int64_t there_ns = 0; there_ns <= 100'001; there_ns += 9'091) {
        const std::vector<ClockExchange> one{exchange(3'000'000, there_ns, 100'001 - there_ns)};
        const auto difference = difference_of(one).value();
        EXPECT_LE(std::abs(difference.offset_ns - 3'000'000), difference.error_ns);
        EXPECT_EQ(difference.error_ns, 50'001) << "half of it, rounded up";
    }
    const std::vector<ClockExchange> all{exchange(5'000, 900'000, 20'000),
                                         exchange(5'000, 21'000, 20'000),
                                         exchange(5'000, 20'000, 700'000)};
    const auto difference = difference_of(all).value();
    EXPECT_EQ(difference.round_trip_ns, 41'000);
    EXPECT_EQ(difference.offset_ns, 4'500) << "half of the 1'000 ns that the ways differ";
    ClockExchange backwards = exchange(0, 1'000, 1'000);
    backwards.t4_ns = backwards.t1_ns - 1;
    ClockExchange longer_there = exchange(0, 1'000, 1'000);
    longer_there.t3_ns = longer_there.t2_ns + 10'000'000;
    ClockExchange made_up{INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX};
    ClockExchange below{1, -5, 5, 9};
    const std::vector<ClockExchange> bad{backwards, longer_there, made_up, below};
    EXPECT_FALSE(difference_of(bad) || difference_of({}));
    std::vector<ClockExchange> one_good = bad;
    one_good.push_back(exchange(7, 5'000, 5'000));
    ASSERT_TRUE(difference_of(one_good));
    EXPECT_EQ(difference_of(one_good)->offset_ns, 7);
}

// Meet messages: what is written reads back; what is not of this talk is refused whole.

using Kind = MeetMessage::Kind;

std::optional<MeetMessage> read(const std::string& line) {
    JsonDocument document;
    return read_meet_message(line, document);
}

TEST(MeetMessage, ReadsBackWhatItWritesAndCutsAReason) {
    MeetMessage hello{.hello = {MeetPhase::after, 2, 3, "1.0 \"x\"", "00ff", "abcd"}};
    const auto back = read(to_line(hello)).value();
    EXPECT_EQ(std::tuple(back.hello.phase, back.hello.index), std::tuple(MeetPhase::after, 2U));
    EXPECT_EQ(std::tuple(back.hello.count, back.hello.version), std::tuple(3U, "1.0 \"x\""));
    EXPECT_EQ(back.hello.plan_digest, "abcd");
    MeetMessage tell{.kind = Kind::tell, .stamps = {1, INT64_MAX, 3, 0}};
    ASSERT_TRUE(read(to_line(tell)));
    EXPECT_EQ(read(to_line(tell))->stamps.t2_ns, INT64_MAX);
    for (const Kind kind : {Kind::measure, Kind::measured, Kind::set, Kind::go, Kind::start,
                            Kind::ask, Kind::refused}) {
        MeetMessage message{.kind = kind, .at_ns = 5, .why = std::string(400, 'w')};
        ASSERT_TRUE(read(to_line(message)));
        EXPECT_EQ(read(to_line(message))->kind, kind);
        EXPECT_LE(to_line(message).size(), meet_line_bytes_max);
    }
    // A reason may hold what the other side called itself: whatever that is, the line can be read.
    MeetMessage message{.kind = Kind::refused};
    const auto read_back = [&message](const std::string& why) {
        message.why = why;
        EXPECT_LE(to_line(message).size() - 1, meet_line_bytes_max);
        const auto other_back = read(to_line(message));
        return other_back ? other_back->why : "not read";
    };
    EXPECT_EQ(read_back(std::string(256, '"')), std::string(256, '"'));
    EXPECT_EQ(read_back(std::string(256, '\n')), std::string(256, '\n'));
    EXPECT_EQ(read_back(std::string(300, '\1')), std::string(166, '\1'));  // 6 bytes each
    EXPECT_EQ(read_back(std::string(255, 'x') + "\xC3\xA4"), std::string(255, 'x'));
    EXPECT_EQ(read_back(std::string(254, 'x') + "\xC3\xA4y"), std::string(254, 'x') + "\xC3\xA4");
}

TEST(MeetMessage, RefusesAllElse) {
    const std::string hello =
        R"({"say":"hello","phase":"before","index":1,"count":3,"version":"v","trace":"t","plan":"p"})";
    ASSERT_TRUE(read(hello));
    for (const std::string& line :
         words_of(R"(x [] {} null {"say":"hello"} {"say":"shout"} {"say":5} {"say":"ask"} )"
                  R"({"say":"ask","t1":"5"} {"say":"ask","t1":-5} {"say":"ask","t1":1e30} )"
                  R"({"say":"start"} {"say":"tell","t1":1,"t2":2} {"say":"refused"})")) {
        EXPECT_FALSE(read(line)) << line;
    }
    EXPECT_FALSE(read("") || read("GET / HTTP/1.1\r"));
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"\"index\":1", "\"index\":3"},
             {"\"index\":1", "\"index\":-1"},
             {"before", "later"},
             {"\"count\":3", "\"count\":99999999999"},
             {"\"version\":\"v\"", "\"version\":7"}}) {
        EXPECT_FALSE(read(replaced(hello, from, to))) << to;
    }
    EXPECT_FALSE(read(R"({"say":"refused","why":")" + std::string(257, 'x') + "\"}"));
    EXPECT_TRUE(read(R"({"say":"refused","why":")" + std::string(256, 'x') + "\"}"));
    EXPECT_FALSE(read(R"({"say":"go","more":")" + std::string(1024, 'x') + "\"}"));
    for (std::size_t end = 0; end < hello.size(); ++end) {
        EXPECT_FALSE(read(hello.substr(0, end)));
    }
}

// Meeting: parts that come agree on one instant, and find how far their clocks are apart; whoever
// is missing, differs or talks nonsense is named, and nobody hangs.

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr const char* loopback = "127.0.0.1";

std::mutex said_mutex;
std::string said;  // NOLINT: the callback has no other place

void say(const std::string& note) {
    const std::lock_guard lock(said_mutex);
    said += note + "\n";
}

bool has_said(const std::string& note) {
    const std::lock_guard lock(said_mutex);
    return said.find(note) != std::string::npos;
}

/// A clock that is ahead of the real one by what `self` says.
std::int64_t read_shifted(const void* self) {
    return realtime_clock().now() + *static_cast<const std::int64_t*>(self);
}

class Meeting : public testing::Test {
  protected:
    void SetUp() override {
        said.clear();
        host.emplace(std::move(MeetHost::listen(0).value()));
    }
    MeetSetting setting(std::uint32_t index, std::uint32_t count,
                        MeetPhase phase = MeetPhase::before) {
        return MeetSetting{.own = {phase, index, count, "v1", "trace", "plan"},
                           .clock = {read_shifted, &shifts[index]},
                           .timeout_ns = 20 * second_ns,
                           .stop_requests = &stops,
                           .say = say};
    }
    /// Comes from a thread of its own.
    void send_guest(const MeetSetting& own) {
        outcomes.push_back(std::make_unique<MeetOutcome>());
        MeetOutcome* const outcome = outcomes.back().get();
        threads.emplace_back(
            [this, own, outcome] { *outcome = meet_as_guest(loopback, host->port(), own); });
    }
    void join() {
        for (std::thread& thread : threads) {
            thread.join();
        }
        threads.clear();
    }
    Fd connect_raw() const {
        Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(host->port());
        to.sin_addr.s_addr = ::inet_addr(loopback);
        EXPECT_EQ(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        return socket;
    }

    std::int64_t shifts[4] = {0, 3'000'000, -3'000'000, 86'400 * second_ns};
    std::atomic<int> stops{0};
    std::optional<MeetHost> host;
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<MeetOutcome>> outcomes;
};

TEST_F(Meeting, AgreesOnOneInstantAndFindsTheClocks) {
    for (std::uint32_t index = 1; index < 4; ++index) {
        send_guest(setting(index, 4));
    }
    const MeetOutcome own = host->gather(setting(0, 4));
    join();
    ASSERT_EQ(own.end, MeetOutcome::End::met) << own.why;
    for (std::uint32_t index = 1; index < 4; ++index) {
        const MeetOutcome& guest = *outcomes[index - 1];
        ASSERT_EQ(guest.end, MeetOutcome::End::met) << guest.why;
        EXPECT_EQ(guest.start_ns, own.start_ns);
        ASSERT_TRUE(guest.difference);
        EXPECT_LE(std::abs(guest.difference->offset_ns - shifts[index]),
                  guest.difference->error_ns);
    }
    EXPECT_GT(own.start_ns, realtime_clock().now());
    // After the run they come once more; one stays away.
    send_guest(setting(1, 3, MeetPhase::after));
    MeetSetting again = setting(0, 3, MeetPhase::after);
    again.timeout_ns = 2 * second_ns;
    const MeetOutcome after = host->gather(again);
    join();
    EXPECT_EQ(after.end, MeetOutcome::End::failed);
    EXPECT_EQ(after.absent, std::vector<std::uint32_t>{2});
    const MeetOutcome& came = *outcomes.back();
    ASSERT_EQ(came.end, MeetOutcome::End::met) << came.why;
    EXPECT_LE(std::abs(came.difference->offset_ns - shifts[1]), came.difference->error_ns);
}

TEST_F(Meeting, NamesWhoDoesNotCome) {
    send_guest(setting(2, 4));
    MeetSetting own = setting(0, 4);
    own.timeout_ns = second_ns / 2;
    const MeetOutcome outcome = host->gather(own);
    join();
    EXPECT_EQ(outcome.end, MeetOutcome::End::failed);
    EXPECT_EQ(outcome.why, "shards 1 and 3 did not come");
    EXPECT_EQ(outcomes[0]->why, "shards 1 and 3 did not come") << "the others hear of it";
}

TEST_F(Meeting, NamesWhatDiffers) {
    MeetSetting other = setting(1, 2);
    other.own.trace_digest = "another";
    send_guest(other);
    const MeetOutcome outcome = host->gather(setting(0, 2));
    join();
    EXPECT_EQ(outcome.end, MeetOutcome::End::failed);
    EXPECT_TRUE(says(outcome.why, "shard 1 has another trace: digest another, shard 0 has trace"));
    EXPECT_EQ(outcomes[0]->why, "shard 1 has another trace: digest another, shard 0 has trace");
}

TEST_F(Meeting, DropsStrangersAndSecondsOfAPart) {
    std::vector<Fd> strangers;
    for (const std::string& text :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(8'000, 'x'), std::string(3, '\0'),
          std::string("{\"say\":\"go\"}\n"), std::string("{\"say\":\"hello\",\"index\":1}\n")}) {
        strangers.push_back(connect_raw());
        (void)::send(strangers.back().number(), text.data(), text.size(), MSG_NOSIGNAL);
    }
    strangers.push_back(connect_raw());  // says nothing
    MeetMessage hello{.hello = setting(1, 3).own};
    MeetLine first(connect_raw());
    ASSERT_TRUE(first.send(to_line(hello)));  // takes part 1, and goes away once all are here
    std::thread later([this] {
        while (!has_said("shard 1 is here")) {
            std::this_thread::yield();
        }
        MeetLine second(connect_raw());
        EXPECT_TRUE(says(talk_to_host(second, setting(1, 3), monotonic_ns() + 5 * second_ns).why,
                         "shard 1 is here already"));
        stops = 1;
    });
    const MeetOutcome outcome = host->gather(setting(0, 3));
    later.join();
    EXPECT_EQ(outcome.end, MeetOutcome::End::stopped);
    EXPECT_TRUE(says(
        said, {"it does not speak the protocol of driftless", "it sent a message out of order"}));
    EXPECT_FALSE(says(said, "GET")) << "what strangers send is not repeated";
}

/// Connections that say nothing, and are opened again whenever they are closed.
void reopen_for_ever(const std::function<Fd()>& connect, const std::atomic<bool>& over,
                     std::atomic<int>& reopened) {
    constexpr std::size_t count = 150;
    std::vector<Fd> sockets;
    std::vector<pollfd> polled;
    while (sockets.size() < count) {
        sockets.push_back(connect());
        polled.push_back({sockets.back().number(), POLLIN, 0});
    }
    while (!over) {  // ends: with the test
        (void)::poll(polled.data(), polled.size(), 10);
        for (std::size_t i = 0; i < count; ++i) {
            if (polled[i].revents != 0) {
                sockets[i] = connect();
                polled[i] = {sockets[i].number(), POLLIN, 0};
                ++reopened;
            }
        }
    }
}

TEST_F(Meeting, IsNotStoppedBySilentConnectionsThatComeAgain) {
    std::atomic<bool> over{false};
    std::atomic<int> reopened{0};
    std::thread strangers(
        [&] { reopen_for_ever([this] { return connect_raw(); }, over, reopened); });
    MeetOutcome outcome;
    MeetSetting own = setting(0, 3);
    own.timeout_ns = 5 * second_ns;
    std::thread gathers([&] { outcome = host->gather(own); });
    while (reopened < 100) {  // the host is full
        std::this_thread::yield();
    }
    for (std::uint32_t index = 1; index < 3; ++index) {
        MeetSetting guest = setting(index, 3);
        guest.timeout_ns = own.timeout_ns;
        send_guest(guest);
    }
    gathers.join();
    join();
    over = true;
    strangers.join();
    EXPECT_EQ(outcome.end, MeetOutcome::End::met) << outcome.why;
    for (const std::unique_ptr<MeetOutcome>& guest : outcomes) {
        EXPECT_EQ(guest->end, MeetOutcome::End::met) << guest->why;
    }
    EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 40) << "a flood is not told line by line";
}

TEST_F(Meeting, ComesAgainWhereAConnectionIsLost) {
    {
        MeetMessage hello{.hello = setting(1, 2).own};
        MeetLine line(connect_raw());
        ASSERT_TRUE(line.send(to_line(hello)));
    }
    send_guest(setting(1, 2));
    const MeetOutcome outcome = host->gather(setting(0, 2));
    join();
    EXPECT_EQ(outcome.end, MeetOutcome::End::met) << outcome.why << said;
    EXPECT_EQ(outcomes[0]->end, MeetOutcome::End::met) << outcomes[0]->why;
}

/// Part 1 by hand: it does all but confirm time 0.
MeetLine guest_without_set(Fd socket, const MeetHello& own) {
    MeetLine line(std::move(socket));
    JsonDocument document;
    MeetMessage message{.hello = own};
    EXPECT_TRUE(line.send(to_line(message)));
    const auto awaits = [&line, &document](MeetMessage::Kind kind) {
        std::optional<std::string> text = line.take();
        while (!text) {
            ASSERT_TRUE(line.receive(realtime_clock()));
            text = line.take();
        }
        EXPECT_EQ(read_meet_message(*text, document)->kind, kind);
    };
    awaits(MeetMessage::Kind::measure);
    message.kind = MeetMessage::Kind::measured;
    EXPECT_TRUE(line.send(to_line(message)));
    awaits(MeetMessage::Kind::start);
    return line;
}

TEST_F(Meeting, NamesWhoDoesNotConfirmTimeZero) {
    std::optional<MeetLine> silent;
    std::thread guest([&] { silent.emplace(guest_without_set(connect_raw(), setting(1, 2).own)); });
    const MeetOutcome outcome = host->gather(setting(0, 2));
    guest.join();
    EXPECT_EQ(outcome.why, "shard 1 did not confirm time 0 in time");
}

/// Part 0 by hand: it does all but send `go`.
void host_without_go(Fd socket) {
    MeetLine line(std::move(socket));
    JsonDocument document;
    MeetMessage own;
    while (line.receive(realtime_clock())) {  // ends: the guest goes
        while (const std::optional<std::string> text = line.take()) {
            const MeetMessage heard = read_meet_message(*text, document).value();
            if (heard.kind == MeetMessage::Kind::ask) {
                MeetMessage told = heard;
                told.stamps.t2_ns = line.received_ns();
                EXPECT_TRUE(line.tell(told.stamps, realtime_clock()));
                continue;
            }
            own.kind = heard.kind == MeetMessage::Kind::hello ? MeetMessage::Kind::measure
                                                              : MeetMessage::Kind::start;
            own.at_ns = realtime_clock().now() + meet_lead_ns_min + second_ns / 2;
            if (heard.kind != MeetMessage::Kind::set) {
                EXPECT_TRUE(line.send(to_line(own)));
            }
        }
    }
}

TEST_F(Meeting, WhoDoesNotHearTheStartSignalSaysSo) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    std::thread part0([&] { host_without_go(Fd(ends[0])); });
    MeetOutcome outcome;
    {
        MeetLine line{Fd(ends[1])};
        MeetSetting own = setting(1, 2);
        own.clock = realtime_clock();
        outcome = talk_to_host(line, own, monotonic_ns() + 20 * second_ns);
    }
    part0.join();
    EXPECT_EQ(outcome.end, MeetOutcome::End::failed);
    EXPECT_EQ(outcome.why, "shard 0 did not send the start signal in time");
}

/// Takes each connection and closes it; `times`, and then the port is closed too.
void close_each(Fd listener, int times, const std::atomic<bool>& over) {
    while (times > 0 && !over) {  // ends: with the test
        pollfd one{listener.number(), POLLIN, 0};
        if (::poll(&one, 1, 10) > 0) {
            const Fd taken(::accept(listener.number(), nullptr, nullptr));
            --times;
        }
    }
}

TEST_F(Meeting, AGuestSaysWhatHappenedLast) {
    for (const auto& [times, last] :
         {std::pair(1'000'000, "; its output says why"),
          std::pair(1, ", and then no process answered there; its output says why")}) {
        Fd listener(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = ::inet_addr(loopback);
        socklen_t length = sizeof at;
        ASSERT_EQ(::bind(listener.number(), reinterpret_cast<sockaddr*>(&at), length), 0);
        ASSERT_EQ(::listen(listener.number(), 16), 0);
        ASSERT_EQ(::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&at), &length), 0);
        std::atomic<bool> over{false};
        std::thread closes(close_each, std::move(listener), times, std::cref(over));
        MeetSetting own = setting(1, 2);
        own.timeout_ns = second_ns / 2;
        const std::uint16_t port = ntohs(at.sin_port);
        const MeetOutcome outcome = meet_as_guest(loopback, port, own);
        over = true;
        closes.join();
        EXPECT_EQ(outcome.why,
                  "shard 0 at 127.0.0.1:" + std::to_string(port) + " closed the connection" + last);
    }
}

TEST_F(Meeting, ANameThatDoesNotResolveIsToldAsSuch) {
    MeetSetting own = setting(1, 2);
    own.timeout_ns = second_ns / 4;
    const MeetOutcome outcome = meet_as_guest("nosuch.invalid", 1, own);
    EXPECT_EQ(outcome.end, MeetOutcome::End::failed);
    EXPECT_EQ(outcome.why.find("the name nosuch.invalid does not resolve; "), 0u) << outcome.why;
}

TEST_F(Meeting, StopsAtOnce) {
    stops = 1;
    EXPECT_EQ(host->gather(setting(0, 2)).end, MeetOutcome::End::stopped);
    host.reset();
    EXPECT_EQ(meet_as_guest(loopback, 1, setting(1, 2)).end, MeetOutcome::End::stopped);
}

}  // namespace
}  // namespace driftless
