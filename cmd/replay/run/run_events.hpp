/// The timed events of one run: from what was typed to what is printed of them.
#pragma once

#include <sched.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/asked_urls.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/events/event_thread.hpp"

namespace driftless {

class RunEvents {
  public:
    explicit RunEvents(const ReplayParts& parts) : parts_(parts), urls_(parts) {}

    /// Resolves the hosts of POSTs, and opens events.jsonl of the folder, a new one or that of the
    /// run that is resumed. Nothing where no event was asked for. Prints what fails; exit code.
    int open(const std::string& folder, std::uint32_t segment);
    /// Those before `from_ns` are left out. Prints what fails; exit code.
    int start(Instant zero, std::int64_t from_ns, const cpu_set_t& cpus);
    /// The run is over. Prints which failed, and which did not begin.
    void stop();
    /// The run is given up before its first row.
    void discard();
    /// events.jsonl could not be written.
    bool failed() const { return thread_ != nullptr && thread_->file_error().has_value(); }

  private:
    OrExit<std::vector<PlannedEvent>> prepare();

    const ReplayParts& parts_;
    AskedUrls urls_;
    std::string path_;
    std::unique_ptr<EventThread> thread_;
};

}  // namespace driftless
