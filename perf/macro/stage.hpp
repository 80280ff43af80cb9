/// Stage: what the macro benchmarks share: the bundled mock in a process of its own on one core,
/// and the product's replay loop in this thread on another, turned by the benchmark itself, so that
/// it can measure a floor between two turns. Records are kept in memory. Not part of the product.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/host/calibration.hpp"
#include "engine/io/driver.hpp"
#include "engine/replay/run.hpp"
#include "proto/run/record.hpp"

namespace driftless::perf {

/// The mock, serving from construction to destruction.
class MockProcess {
  public:
    /// `flags` beside address and core. CHECKs that it starts.
    MockProcess(std::uint32_t cpu, const std::vector<std::string>& flags);
    ~MockProcess();
    MockProcess(const MockProcess&) = delete;
    MockProcess& operator=(const MockProcess&) = delete;

    const Address& address() const { return address_; }

  private:
    int process_ = -1;
    Address address_;
};

/// The two cores of a benchmark: the engine's and the mock's, which the writer shares.
struct Cores {
    std::uint32_t engine = 0;
    std::uint32_t other = 0;
};
/// Whether `take_cores` lets this thread go before ordinary ones, as `replay --realtime` does.
inline bool realtime = false;
/// Pins this thread as the product would. With one allowed CPU both are the same.
Cores take_cores();

/// One request of a made-up trace, without blocks.
struct Line {
    std::int64_t at_ns = 0;  ///< rows in order of time
    std::uint32_t input_length = 16;
    std::uint32_t output_length = 1;
};

struct StageOptions {
    WaitPolicy wait = WaitPolicy::hybrid;  ///< what the product does on two CPUs
    bool guard = true;
    std::uint32_t receive_buffers = 4096;
    StampSupport stamps{true, true};  ///< kernel stamps that are asked for
    bool stamp_ring = true;           ///< false: transmit stamps by the error queues
};

/// Called after each turn of the loop: time from time 0, and time until the next row is due
/// (INT64_MAX: none).
using Between = std::function<void(Driver& driver, std::int64_t at_ns, std::int64_t until_ns)>;

struct StageResult {
    std::vector<Record> records;  ///< in order of their end
    std::int64_t zero_ns = 0;     ///< CLOCK_MONOTONIC at time 0
    std::int64_t chunks = 0;
    std::int64_t user_ns = 0;    ///< of this thread, from time 0 on
    std::int64_t system_ns = 0;  ///< the same
};

/// Replays the lines against the mock. CHECKs that nothing of the set-up fails.
StageResult play(const std::vector<Line>& lines, const MockProcess& mock, const Cores& cores,
                 const StageOptions& options, const Between& between);

/// A row of the table that every benchmark prints: the figure, the floor of the same run, their
/// ratio, and the bar.
void print_row(const std::string& what, const std::string& figure, const std::string& floor,
               const std::string& ratio, const std::string& bar);

/// The middle one, or the lower of the two.
double median(std::vector<double> values);

}  // namespace driftless::perf
