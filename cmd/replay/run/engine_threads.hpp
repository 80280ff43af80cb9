/// EngineThreads: the engines of a run: the first plays on the caller's thread, each of the others
/// on a thread of its own, pinned to a CPU of its own, with rings of its own. They meet twice:
/// when all are warm, and at time 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cmd/replay/run/engine_seat.hpp"
#include "engine/host/side_thread.hpp"
#include "engine/io/uring.hpp"
#include "engine/session/engines.hpp"

namespace driftless {

/// What every engine is told. All of it outlives them.
struct EngineOrders {
    const HostFlags& host;
    Granted granted;                        ///< to the first engine
    const std::atomic<int>& stop_requests;  ///< of the user
    const std::atomic<bool>& stop_wanted;   ///< of `--stop-when`
};

/// The thread of an engine, which is the caller's, takes what it has beside it while it plays.
void take_standing(const Granted& granted, std::uint32_t cpu, EngineStanding& standing,
                   RunParts& parts);

/// One engine that is not the first.
class EngineThread {
  public:
    EngineThread(EngineSeat& seat, std::uint32_t cpu, const EngineOrders& orders)
        : seat_(seat), cpu_(cpu), orders_(orders) {}
    ~EngineThread();  ///< abandons what was not begun, and joins
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

    /// Errors: denied, exhausted.
    Result<void> start();

    enum class Stage : std::uint8_t { starting, warm, failed, playing, over };
    /// How far it has come.
    Stage stage() const { return stage_.load(std::memory_order_acquire); }
    void begin(Instant zero);
    void stop() { told_to_stop_.store(true, std::memory_order_relaxed); }
    void abandon();

    EngineSeat& seat() { return seat_; }
    /// Once it is warm.
    int thread_id() const { return thread_id_; }
    /// Once it has failed.
    const Error& error() const { return error_; }
    /// Once it is over.
    const RunEnd& end() const { return *end_; }
    std::uint64_t rows_taken() const { return rows_taken_; }
    /// The writer's side has stopped it before its end.
    bool stopped_early() const { return stopped_early_; }

  private:
    enum class Order : std::uint8_t { wait, begin, abandon };

    void thread_main();
    void play(UringDriver& driver);
    void fail(const Error& error);

    EngineSeat& seat_;
    std::uint32_t cpu_;
    EngineOrders orders_;
    SideThread thread_;
    std::atomic<Stage> stage_{Stage::starting};
    std::atomic<Order> order_{Order::wait};
    std::atomic<bool> told_to_stop_{false};
    Instant zero_;  ///< of Order::begin
    int thread_id_ = 0;
    Error error_;
    std::optional<RunEnd> end_;
    EngineStanding standing_;
    std::uint64_t rows_taken_ = 0;
    bool stopped_early_ = false;
};

class EngineThreads final : public Engines {
  public:
    /// `first` plays on the caller's thread. `others` are new. All of them outlive this.
    EngineThreads(Run& first, const std::vector<std::unique_ptr<EngineThread>>& others)
        : first_(first), others_(others) {}

    std::int64_t first_due_ns() const override;
    bool warm() override;
    bool failed() const override;
    void begin(Instant zero) override;
    bool turn() override;
    void stop() override;
    void abandon() override;
    std::uint64_t rows_taken() const override;

  private:
    bool all(EngineThread::Stage stage) const;

    Run& first_;
    const std::vector<std::unique_ptr<EngineThread>>& others_;
    bool first_is_over_ = false;
};

}  // namespace driftless
