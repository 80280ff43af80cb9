#include "cmd/cells/idle.hpp"

#include <time.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cmd/cells/busy_requests.hpp"
#include "cmd/cells/hook.hpp"
#include "cmd/replay/server/resolved_targets.hpp"
#include "cmd/stop.hpp"
#include "cmd/values.hpp"
#include "engine/io/uring.hpp"
#include "engine/preflight/page.hpp"

namespace driftless {

namespace {

constexpr std::int64_t poll_ns = 500'000'000;
// A server that has just ended a request may count it for a moment, or begin another one.
constexpr int idle_polls = 3;
constexpr std::int64_t quiet_ns = 2'000'000'000;
constexpr Duration page_timeout = seconds(10);

std::int64_t now_ns() {
    return HostClocks::now().ns;
}

/// Requests of all targets.
struct Polled {
    std::optional<double> busy;  ///< nothing: a target does not say
    std::string why;             ///< then
};

class Servers {
  public:
    Servers(Driver& driver, const ReplayOptions& options, const ResolvedTargets& resolved) {
        for (std::size_t i = 0; i < options.server.targets.size(); ++i) {
            const ReplayTarget& target = options.server.targets[i];
            AskedServer asked;
            asked.address = resolved.endpoints[i].address;
            asked.tls = resolved.endpoints[i].tls;
            asked.host = host_header(target.url);
            asked.root_path = target.root_path;
            asked.run_id = "sweep";
            asked.limits = AskLimits(page_timeout);
            asked.stop_requests = &stop_requests();
            servers_.push_back(std::make_unique<AskedServer>(std::move(asked)));
            pages_.push_back(std::make_unique<PageAsker>(driver, *servers_.back()));
        }
    }

    Polled poll() {
        Polled polled{0, ""};
        for (std::size_t i = 0; i < pages_.size() && polled.busy; ++i) {
            const std::string path = servers_[i]->root_path + "/metrics";
            const Reply* const page = pages_[i]->get(path);
            const std::optional<double> busy =
                page != nullptr && page->status == 200 ? busy_requests(page->body) : std::nullopt;
            if (!busy) {
                polled.why = page == nullptr ? path + ": " + pages_[i]->why()
                             : page->status != 200
                                 ? path + ": status " + std::to_string(page->status)
                                 : path + " reports no number of running requests";
            }
            polled.busy = busy ? std::optional(*polled.busy + *busy) : std::nullopt;
        }
        return polled;
    }

  private:
    std::vector<std::unique_ptr<AskedServer>> servers_;  ///< immovable: they are referred to
    std::vector<std::unique_ptr<PageAsker>> pages_;
};

IdleEnd quiet_time(const std::string& why, int stops) {
    return pause_ns(quiet_ns, stops)
               ? IdleEnd{IdleOutcome::unknown,
                         "whether the server is idle is not known (" + why + "); waited 2 s"}
               : IdleEnd{IdleOutcome::stopped, "stopped by the user"};
}

}  // namespace

IdleEnd wait_until_idle(const ReplayOptions& options, std::int64_t limit_ns, int stops) {
    const std::int64_t end = now_ns() + limit_ns;
    Result<std::unique_ptr<UringDriver>> driver = UringDriver::make(UringOptions::small());
    if (!driver) {
        return quiet_time("io_uring: " + reason_of(driver.error()), stops);
    }
    const OrExit<ResolvedTargets> resolved =
        resolve_targets(options.server, options.sending.timeouts.connect);
    if (!resolved) {
        return quiet_time("the server's name cannot be resolved", stops);
    }
    Servers servers(*driver.value(), options, resolved.value());
    for (int idle = 0; idle < idle_polls;) {
        const Polled polled = servers.poll();
        if (!polled.busy) {
            return quiet_time(polled.why, stops);
        }
        idle = *polled.busy > 0 ? 0 : idle + 1;
        if (idle < idle_polls && now_ns() >= end) {
            return {IdleOutcome::busy, "the server still has " +
                                           std::to_string(static_cast<long long>(*polled.busy)) +
                                           " requests after " + duration_to_text(limit_ns)};
        }
        if (idle < idle_polls && !pause_ns(poll_ns, stops)) {
            return {IdleOutcome::stopped, "stopped by the user"};
        }
    }
    return {};
}

}  // namespace driftless
