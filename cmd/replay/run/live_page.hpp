/// LivePage: the run's own metrics while it goes on, for Prometheus (`--listen`): what was sent,
/// what is in flight, what has come, how late rows left, how they ended.
///
/// A thread of its own serves it, on the CPUs of the writer. The writer reports progress to it five
/// times a second; the engine is not involved. One connection at a time, each for a second at most:
/// a slow reader delays other readers, and never the run.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>
#include <string>

#include "engine/host/side_thread.hpp"
#include "engine/io/address.hpp"
#include "engine/record/progress.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// The page, as Prometheus text 0.0.4.
std::string live_page_text(const Progress& progress);

class LivePage {
  public:
    LivePage() = default;
    ~LivePage();
    LivePage(const LivePage&) = delete;
    LivePage& operator=(const LivePage&) = delete;

    /// Takes the address. Errors: in_use, denied, not_found (no such address here), io_failed.
    Result<void> listen(const Address& address);
    /// Where it listens, with the port that was taken for port 0.
    const Address& address() const { return address_; }
    /// Serves until `stop`. Errors: exhausted, denied.
    Result<void> start(const cpu_set_t* cpus);
    void stop();
    bool listens() const { return listener_ >= 0; }

    /// From the writer's thread.
    void show(const Progress& progress);

  private:
    void work();
    void serve(int connection);

    int listener_ = -1;
    Address address_;
    std::mutex mutex_;
    Progress latest_;  ///< under the mutex
    std::atomic<bool> stopping_{false};
    SideThread thread_;
};

}  // namespace driftless
