#include "cmd/replay/run/run_events.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "cmd/values.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/document.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

/// "+90s run ./kill-pod.sh"
std::string text_of(const TimedEvent& event) {
    return "+" + duration_to_text(event.at_ns) + " " + name_of(event.kind) + " " +
           printable(event.what);
}

std::string why_failed(const TimedEvent& event, const std::string& timeout) {
    switch (event.status) {
        case EventStatus::timed_out:
            return "stopped after --event-timeout " + timeout;
        case EventStatus::cut_off:
            return "stopped because the run was over";
        case EventStatus::unknown:
            return "result unknown: the run was killed while the event ran or was due";
        default:
            break;
    }
    return event.signal ? "killed by signal " + std::to_string(*event.signal)
           : event.code ? (event.kind == TimedEventKind::run ? "exit code " : "answered ") +
                              std::to_string(*event.code)
                        : printable(event.error);
}

/// Numbers of the events that have a line in the file. What cannot be read tells of none.
std::vector<std::uint64_t> events_told(const std::string& path) {
    std::vector<std::uint64_t> told;
    const Result<std::string> text = read_whole_file(path);
    std::string_view rest = text ? std::string_view(text.value()) : std::string_view();
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
        JsonDocument line;
        const Result<JsonValue> event = line.parse(rest.substr(0, end));
        const std::optional<std::uint64_t> number =
            event ? event.value().find("event").as_u64() : std::nullopt;
        if (number) {
            told.push_back(*number);
        }
        rest.remove_prefix(end + 1);
    }
    return told;
}

}  // namespace

OrExit<std::vector<PlannedEvent>> RunEvents::prepare() {
    std::vector<PlannedEvent> events;
    for (const TypedEvent& typed : parts_.invocation().options.events.typed) {
        PlannedEvent event;
        event.number = events.size();
        event.at_ns = typed.at_ns;
        event.kind = typed.kind;
        event.what = typed.what;
        if (typed.kind == TimedEventKind::post) {
            OrExit<AskedUrl> asked = urls_.prepare("--event post", typed.url, "POST", {});
            if (!asked) {
                return asked.exit_code();
            }
            event.address = asked.value().address;
            event.tls = asked.value().tls;
            event.request = std::move(asked.value().request);
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
    rules.told = segment == 0 ? std::vector<std::uint64_t>() : events_told(path_);
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
            complain("driftless: warning: --event \"%s\" was not run: the run ended before it",
                     text_of(event).c_str());
        } else if (event.status != EventStatus::ok) {
            complain("driftless: warning: --event \"%s\": %s", text_of(event).c_str(),
                     why_failed(event, timeout).c_str());
        }
    }
    print_line("events: %zu of %s as expected; see events.jsonl", good,
               counted(thread_->ended().size(), "event ended", "events ended").c_str());
    if (thread_->left_out() > 0) {
        print_line("events: %s before the resumed part; not repeated",
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
