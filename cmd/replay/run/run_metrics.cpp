#include "cmd/replay/run/run_metrics.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/scrape/mapping_file.hpp"
#include "cmd/scrape/read_totals.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "engine/io/host_clocks.hpp"
#include "proto/core/counted.hpp"
#include "proto/record/masked.hpp"

namespace driftless {

namespace {

/// An idle server answers within 40 ms. Who asked for a page by name waits longer for the baseline
/// than who did not ask.
constexpr Duration automatic_wait = milliseconds(400);
constexpr Duration named_wait = seconds(3);
constexpr long look_pause_ns = 1'000'000;

/// Two names of one server of this host, whose page would count twice. Elsewhere one address may
/// stand before many servers, which go by the name.
bool is_same_server(const ScrapeTarget& a, const ScrapeTarget& b) {
    const std::string address = a.address.to_text();
    const bool is_here = address.starts_with("127.") || address.starts_with("[::1]");
    const auto path_of = [](const ScrapeTarget& one) {
        return one.url.substr(std::min(one.url.find('/', one.url.find("://") + 3), one.url.size()));
    };
    return is_here && address == b.address.to_text() && path_of(a) == path_of(b);
}

}  // namespace

OrExit<ScrapeTarget> RunMetrics::prepare_target(const Url& url, bool optional) {
    OrExit<AskedUrl> asked =
        urls_.prepare("--metrics", url, "GET", {{"Accept", "text/plain;version=0.0.4"}});
    if (!asked) {
        return asked.exit_code();
    }
    ScrapeTarget target;
    target.url = url.unix_socket ? to_text(url) + ":" + url.path : to_text(url);
    target.address = asked.value().address;
    target.tls = asked.value().tls;
    target.request = std::move(asked.value().request);
    target.optional = optional;
    return target;
}

OrExit<std::vector<ScrapeTarget>> RunMetrics::prepare() {
    const ReplayOptions& options = parts_.invocation().options;
    std::vector<ScrapeTarget> targets;
    std::vector<std::string> taken;  // several --url may be one server, or be named here, too
    const auto add = [&](const Url& url, bool optional) {
        const std::string text = to_text(url) + url.path;
        const bool is_taken = std::find(taken.begin(), taken.end(), text) != taken.end();
        if (is_taken || targets.size() >= metrics_places_max) {
            return exit_done;
        }
        taken.push_back(text);
        OrExit<ScrapeTarget> made = prepare_target(url, optional);
        if (!made) {
            return made.exit_code();
        }
        const auto is_known = [&made](const ScrapeTarget& one) {
            return is_same_server(one, made.value());
        };
        const bool is_twice = optional && !parts_.invocation().options.server.connect_to &&
                              std::any_of(targets.begin(), targets.end(), is_known);
        if (!is_twice) {
            targets.push_back(std::move(made).value());
        }
        return exit_done;
    };
    for (const MetricsPlace& place : options.metrics.places) {
        const int code = place.kind == MetricsPlace::Kind::url ? add(place.url, false) : exit_done;
        if (code != exit_done) {
            return code;
        }
    }
    if (!options.metrics.automatic()) {
        return targets;
    }
    for (const ReplayTarget& server : options.server.targets) {
        Url url = server.url;
        url.path = server.root_path + "/metrics";
        if (const int code = add(url, true); code != exit_done) {
            return code;
        }
    }
    return targets;
}

int RunMetrics::start(std::uint32_t segment, const cpu_set_t& cpus) {
    const Invocation& invocation = parts_.invocation();
    OrExit<std::vector<ScrapeTarget>> targets = prepare();
    if (!targets) {
        return targets.exit_code();
    }
    targets_ = targets.value();
    if (targets_.empty()) {
        return exit_done;
    }
    ScrapeRules rules;
    rules.period = Duration{invocation.options.metrics.period_ns};
    rules.secrets = secrets_of(invocation.credentials.all);
    rules.segment = segment;
    thread_ = std::make_unique<ScrapeThread>(std::move(targets).value(), std::move(rules));
    if (const Result<void> started = thread_->start(&cpus); !started) {
        thread_.reset();
        const bool is_named = std::any_of(targets_.begin(), targets_.end(),
                                          [](const ScrapeTarget& one) { return !one.optional; });
        return is_named ? fail_host("metrics thread", started.error()) : exit_done;
    }
    return exit_done;
}

void RunMetrics::await_baseline() const {
    const Instant from = HostClocks::now();
    const auto waits = [this, from] {
        const Duration waited = HostClocks::now() - from;
        return (waited < automatic_wait && thread_->awaits_first(true)) ||
               (waited < named_wait && thread_->awaits_first(false));
    };
    while (waits() && stop_requests().load() == 0) {
        const timespec pause{0, look_pause_ns};
        (void)::nanosleep(&pause, nullptr);
    }
}

int RunMetrics::open(const std::string& folder, std::uint32_t segment) {
    if (thread_ == nullptr) {
        return exit_done;
    }
    await_baseline();
    if (thread_->settle() == 0) {
        thread_.reset();
        return exit_done;
    }
    const std::string path = folder + "/server.jsonl";
    is_new_ = segment == 0;
    Result<LineSink> file = is_new_ ? LineSink::create(path) : LineSink::append(path);
    if (!file) {
        return fail_host(path.c_str(), file.error());
    }
    path_ = path;
    file_ = std::move(file).value();
    return exit_done;
}

void RunMetrics::begin(Instant zero) {
    if (thread_ != nullptr) {
        thread_->begin(zero, std::move(file_));
    }
}

void RunMetrics::stop() {
    if (thread_ == nullptr) {
        return;
    }
    // After one interrupt the rows have ended on their own, and so the last pages are read, too.
    thread_->stop(stop_requests().load() > 1);
    for (std::size_t at = 0; at < targets_.size(); ++at) {
        const ScrapeThread::Outcome& outcome = thread_->outcomes()[at];
        if (outcome.kept && outcome.failures > 0) {
            complain("driftless: warning: --metrics %s: %llu of %s could not be read: %s",
                     targets_[at].url.c_str(), static_cast<unsigned long long>(outcome.failures),
                     counted(outcome.failures + outcome.pages, "page", "pages").c_str(),
                     outcome.first_failure.c_str());
        }
    }
    if (thread_->file_error()) {
        (void)fail_host(path_.c_str(), *thread_->file_error());
    }
}

std::optional<ServerTotals> RunMetrics::totals(const std::string& folder,
                                               std::vector<MeasuredSpan> spans) const {
    std::string why;
    const std::vector<EngineMapping>& own = parts_.invocation().options.metrics.tables;
    std::optional<ServerTotals> totals =
        read_totals(folder, known_mappings(own), std::move(spans), why);
    if (!why.empty()) {
        complain("driftless: warning: %s", why.c_str());
    }
    return totals;
}

void RunMetrics::discard() {
    thread_.reset();
    if (is_new_ && !path_.empty()) {
        (void)::unlink(path_.c_str());
    }
}

}  // namespace driftless
