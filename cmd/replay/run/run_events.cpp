#include "cmd/replay/run/run_events.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "cmd/values.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

/// Keys go to the servers of the run, and to nobody else.
bool is_server(const Url& url, const std::vector<ReplayTarget>& targets) {
    return std::any_of(targets.begin(), targets.end(), [&url](const ReplayTarget& target) {
        return target.url.host == url.host && target.url.port == url.port &&
               target.url.tls == url.tls && target.url.unix_socket == url.unix_socket;
    });
}

std::string request_of(const Url& url, const std::vector<Header>& headers) {
    RequestHeadSpec spec;
    spec.target = url.path.empty() || url.unix_socket ? "/" : url.path;
    spec.host = host_header(url);
    spec.headers = headers;
    const RequestHead head(spec);
    std::string bytes(head.bytes_max(0), '\0');
    bytes.resize(head.write(bytes.data(), "", 0));
    return bytes;
}

/// "+90s run ./kill-pod.sh"
std::string text_of(const TimedEvent& event) {
    return "+" + duration_to_text(event.at_ns) + " " + name_of(event.kind) + " " +
           printable(event.what);
}

std::string why_failed(const TimedEvent& event, const std::string& timeout) {
    switch (event.status) {
        case EventStatus::timed_out:
            return "ended after --event-timeout " + timeout;
        case EventStatus::cut_off:
            return "ended, because the run was over";
        default:
            break;
    }
    return event.signal ? "ended by signal " + std::to_string(*event.signal)
           : event.code ? (event.kind == TimedEventKind::run ? "exit code " : "answered ") +
                              std::to_string(*event.code)
                        : printable(event.error);
}

}  // namespace

/// Where a POST goes, and its bytes. Exit code; what fails is printed.
int RunEvents::prepare_post(const Url& url, PlannedEvent& event) {
    const ReplayOptions& options = parts_.invocation().options;
    const Result<Address> path = unix_address(url.unix_socket ? url.host : "");
    const Result<std::vector<Address>> found =
        url.unix_socket ? std::vector<Address>(path ? 1 : 0, path ? path.value() : Address())
                        : resolve(url.host, url.port);
    if (!found || found.value().empty()) {
        std::fprintf(stderr, "driftless: --event post %s: the host cannot be resolved\n",
                     to_text(url).c_str());
        return exit_preflight;
    }
    if (url.tls && tls_ == nullptr) {
        std::string why;
        Result<TlsContext> made = TlsContext::client(options.server.tls, why);
        if (!made) {
            std::fprintf(stderr, "driftless: --event: %s\n", why.c_str());
            return exit_usage;
        }
        tls_ = std::make_unique<TlsContext>(std::move(made).value());
    }
    if (url.tls) {
        peers_.push_back(std::make_unique<TlsPeer>(*tls_, url.host));
        event.tls = peers_.back().get();
    }
    event.address = found.value().front();
    event.request = request_of(url, is_server(url, options.server.targets)
                                        ? parts_.invocation().credentials.headers
                                        : std::vector<Header>());
    return exit_done;
}

OrExit<std::vector<PlannedEvent>> RunEvents::prepare() {
    std::vector<PlannedEvent> events;
    for (const TypedEvent& typed : parts_.invocation().options.events.typed) {
        PlannedEvent event;
        event.number = events.size();
        event.at_ns = typed.at_ns;
        event.kind = typed.kind;
        event.what = typed.what;
        const int code =
            typed.kind == TimedEventKind::post ? prepare_post(typed.url, event) : exit_done;
        if (code != exit_done) {
            return code;
        }
        events.push_back(std::move(event));
    }
    return events;
}

int RunEvents::open(const std::string& folder, std::uint32_t segment) {
    const Invocation& invocation = parts_.invocation();
    if (invocation.options.events.typed.empty()) {
        return exit_done;
    }
    OrExit<std::vector<PlannedEvent>> events = prepare();
    if (!events) {
        return events.exit_code();
    }
    path_ = folder + "/events.jsonl";
    Result<LineSink> file = segment == 0 ? LineSink::create(path_) : LineSink::append(path_);
    if (!file) {
        return fail_host(path_.c_str(), file.error());
    }
    EventRules rules;
    rules.limit = Duration{invocation.options.events.timeout_ns};
    rules.secrets = secrets_of(invocation.credentials.all);
    rules.segment = segment;
    rules.stop_requests = &stop_requests();
    thread_ = std::make_unique<EventThread>(std::move(events).value(), std::move(rules),
                                            std::move(file).value());
    return exit_done;
}

int RunEvents::start(Instant zero, std::int64_t from_ns, const cpu_set_t& cpus) {
    if (thread_ == nullptr) {
        return exit_done;
    }
    const Result<void> started = thread_->start(zero, from_ns, &cpus);
    return started ? exit_done : fail_host("event thread", started.error());
}

void RunEvents::stop() {
    if (thread_ == nullptr) {
        return;
    }
    thread_->stop(stop_requests().load() > 0);
    const std::string timeout = duration_to_text(parts_.invocation().options.events.timeout_ns);
    std::size_t good = 0;
    for (const TimedEvent& event : thread_->ended()) {
        good += event.status == EventStatus::ok ? 1 : 0;
        if (event.status == EventStatus::not_run) {
            std::fprintf(
                stderr, "driftless: warning: --event \"%s\" was not run: the run was over before\n",
                text_of(event).c_str());
        } else if (event.status != EventStatus::ok) {
            std::fprintf(stderr, "driftless: warning: --event \"%s\": %s\n", text_of(event).c_str(),
                         why_failed(event, timeout).c_str());
        }
    }
    std::printf("events: %zu of %s as they should; events.jsonl has them\n", good,
                counted(thread_->ended().size(), "event ended", "events ended").c_str());
    if (thread_->left_out() > 0) {
        std::printf("events: %s before the part that was resumed, and not repeated\n",
                    counted(thread_->left_out(), "was", "were").c_str());
    }
    if (thread_->file_error()) {
        (void)fail_host(path_.c_str(), *thread_->file_error());
    }
}

void RunEvents::discard() {
    thread_.reset();
    if (!path_.empty()) {
        (void)::unlink(path_.c_str());
    }
}

}  // namespace driftless
