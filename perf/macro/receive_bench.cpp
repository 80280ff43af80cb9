// What a chunk costs under backlog: many answers have arrived whole before the first byte is read.
#include <sys/resource.h>
#include <time.h>

#include <cstdio>

#include "perf/macro/benches.hpp"
#include "perf/macro/echo.hpp"
#include "perf/macro/stage.hpp"

namespace driftless::perf {

namespace {

constexpr int passes = 5;
constexpr std::uint32_t streams = 1000;
constexpr std::uint32_t chunks = 200;  // 40 KB an answer: it fits a socket's receive buffer
constexpr std::int64_t pause_ms = 2500;
constexpr std::int64_t ms = 1'000'000;

std::string request_text() {
    const std::string body =
        R"({"model":"mock-model","messages":[{"role":"user","content":"the"}],"stream":true,)"
        R"("max_tokens":)" +
        std::to_string(chunks) + "}";
    return "POST /v1/chat/completions HTTP/1.1\r\nHost: stage\r\nConnection: close\r\n"
           "Content-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// CPU time of this thread.
struct CpuTime {
    std::int64_t user_ns = 0;
    std::int64_t all_ns = 0;
};

CpuTime cpu_time() {
    rusage usage{};
    CHECK(::getrusage(RUSAGE_THREAD, &usage) == 0);
    const auto ns = [](const timeval& time) {
        return (time.tv_sec * 1'000'000 + time.tv_usec) * 1000;
    };
    return {ns(usage.ru_utime), ns(usage.ru_utime) + ns(usage.ru_stime)};
}

/// Looks away once all rows have left, until the mock has sent everything; then notes the time.
class LookAway {
  public:
    void operator()(Driver& driver, std::int64_t, std::int64_t until_ns) {
        if (until_ns != INT64_MAX || looked_away_) {
            return;
        }
        looked_away_ = true;
        const timespec pause{pause_ms / 1000, pause_ms % 1000 * ms};
        (void)::nanosleep(&pause, nullptr);
        begun_ = driver.now();
        cpu_ = cpu_time();
    }
    std::int64_t begun_ns() const { return begun_.ns; }
    const CpuTime& cpu() const { return cpu_; }

  private:
    bool looked_away_ = false;
    Instant begun_;
    CpuTime cpu_;
};

std::string text(const char* format, double value) {
    char out[48];
    (void)std::snprintf(out, sizeof out, format, value);
    return out;
}

}  // namespace

void bench_receive() {
    const Cores cores = take_cores();
    const MockProcess mock(cores.other, {"--ttft", "500ms", "--itl", "0ns"});
    const std::vector<Line> lines(streams, Line{0, 16, chunks});
    std::vector<double> rate, user, floor_rate, all_ns, floor_ns;
    for (int pass = 0; pass < passes; ++pass) {
        LookAway look;
        const StageResult result = play(lines, mock, cores, {}, std::ref(look));
        const CpuTime after = cpu_time();
        std::int64_t last = 0;
        double received = 0;
        for (const Record& record : result.records) {
            CHECK(record.outcome == Outcome::ok);
            last = std::max(last, *record.last_token_ns + result.zero_ns);
            received += static_cast<double>(record.chunk_ns.size());
        }
        rate.push_back(received * 1e9 / static_cast<double>(last - look.begun_ns()));
        user.push_back(static_cast<double>(after.user_ns - look.cpu().user_ns) / received);
        all_ns.push_back(static_cast<double>(after.all_ns - look.cpu().all_ns) / received);
        const Drained plain = drain_plainly(mock.address(), request_text(), streams, pause_ms);
        const double events = static_cast<double>(plain.events);
        floor_rate.push_back(events * 1e9 / static_cast<double>(plain.wall_ns));
        floor_ns.push_back(static_cast<double>(plain.cpu_ns) / events);
    }
    print_row("receiving under backlog (floor: recv and memchr)",
              text("%.0f k chunks/s", median(rate) / 1e3),
              text("%.0f k chunks/s", median(floor_rate) / 1e3),
              text("%.2f", median(rate) / median(floor_rate)), ">= 500 k chunks/s");
    print_row("user time a chunk (floor: all CPU time of recv and memchr)",
              text("%.2f us", median(user) / 1e3), text("%.2f us", median(floor_ns) / 1e3),
              text("%.2f", median(user) / median(floor_ns)), "<= 2 us");
    print_row("all CPU time a chunk", text("%.2f us", median(all_ns) / 1e3),
              text("%.2f us", median(floor_ns) / 1e3),
              text("%.2f", median(all_ns) / median(floor_ns)), "");
}

}  // namespace driftless::perf
