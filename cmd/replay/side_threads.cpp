#include "cmd/replay/side_threads.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/base/server_metrics.hpp"
#include "cmd/base/values.hpp"
#include "cmd/replay/replay.hpp"
#include "engine/history/run_lines.hpp"
#include "engine/io/io_ring.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// For a name with several addresses: "localhost" is often ::1 first, where many do not listen.
static constexpr Duration connect_patience = milliseconds(500);

/// Keys go to the servers of the run only. The number of `targets` where the URL is of none.
static std::size_t server_of(const Url& url, const std::vector<ReplayTarget>& targets) {
    const auto found =
        std::find_if(targets.begin(), targets.end(), [&url](const ReplayTarget& target) {
            return target.url.host == url.host && target.url.port == url.port &&
                   target.url.tls == url.tls && target.url.unix_socket == url.unix_socket;
        });
    return static_cast<std::size_t>(found - targets.begin());
}

static bool has_header(const std::vector<Header>& headers, const std::string& name) {
    return std::any_of(headers.begin(), headers.end(),
                       [&name](const Header& one) { return equal_ignoring_case(one.name, name); });
}

static std::string request_of(const Url& url, const char* method, std::vector<Header> headers) {
    RequestHeadSpec spec;
    spec.method = method;
    spec.target = url.path.empty() ? "/" : url.path;
    spec.host = host_header(url);
    spec.headers = std::move(headers);
    const RequestHead head(spec);
    std::string bytes(head.bytes_max(0), '\0');
    bytes.resize(head.write(bytes.data(), "", 0));
    return bytes;
}

/// Where a URL of no server of the run leads to.
OrExit<Address> AskedUrls::find(const std::string& flag, const Url& url) const {
    const OrExit<std::vector<Address>> found = addresses_of(flag, url, to_text(url));
    if (!found) {
        return found.exit_code();
    }
    std::optional<Address> reachable;
    if (found.value().size() > 1) {
        reachable = first_reachable(by_turns(found.value()), connect_patience);
    }
    return reachable.value_or(found.value().front());
}

OrExit<Question> AskedUrls::prepare(const std::string& flag, const Url& url, const char* method,
                                    std::vector<Header> headers) {
    const Invocation& invocation = parts_.invocation();
    const ServerFlags& server = invocation.options.server;
    const std::size_t target = server_of(url, server.targets);
    const bool is_ours = target < server.targets.size();
    Question asked;
    if (is_ours) {
        asked.address = parts_.server().targets.endpoints[target].address;
        for (const Header& own : invocation.credentials.headers) {
            if (!has_header(headers, own.name)) {
                headers.push_back(own);
            }
        }
    } else {
        const OrExit<Address> address = find(flag, url);
        if (!address) {
            return address.exit_code();
        }
        asked.address = address.value();
    }
    if (url.tls && tls_ == nullptr) {
        if (const int code = keep(client_context(server.tls, flag + ": "), tls_);
            code != exit_done) {
            return code;
        }
    }
    if (url.tls) {
        peers_.push_back(std::make_unique<TlsPeer>(*tls_, url.host));
        asked.tls = peers_.back().get();
    }
    asked.request = request_of(url, method, std::move(headers));
    return asked;
}

/// "+90s run ./kill-pod.sh"
static std::string text_of(const TimedEvent& event) {
    return "+" + duration_to_text(event.at_ns) + " " + name_of(event.kind) + " " +
           printable(event.what);
}

static std::string why_failed(const TimedEvent& event, const std::string& timeout) {
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

/// On the screen, with the last lines of what it said.
static void tell_failed(const TimedEvent& event, const EventRules& rules) {
    if (event.status == EventStatus::ok) {
        return;
    }
    if (can_redraw(STDERR_FILENO)) {
        (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);  // over the line of progress
    }
    const bool is_run = event.status != EventStatus::not_run;
    complain("driftless: warning: --event \"%s\"%s %s", text_of(event).c_str(), is_run ? ":" : "",
             is_run ? why_failed(event, duration_to_text(rules.limit.ns)).c_str()
                    : "was not run: the run ended before it");
    (void)std::fputs(last_lines(event.output).c_str(), stderr);
}

/// Numbers of the events that have a line in the file. What cannot be read tells of none.
static std::vector<std::uint64_t> events_told(const std::string& path) {
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

OrExit<std::vector<PlannedEvent>> RunEvents::prepare() {
    std::vector<PlannedEvent> events;
    for (const TypedEvent& typed : parts_.invocation().options.events.typed) {
        PlannedEvent event;
        event.number = events.size();
        event.at_ns = typed.at_ns;
        event.kind = typed.kind;
        event.what = typed.what;
        event.shown = mask_parts(typed.what, secrets_in_command(typed.what));
        if (typed.kind == TimedEventKind::post) {
            OrExit<Question> asked = urls_.prepare("--event post", typed.url, "POST", {});
            if (!asked) {
                return asked.exit_code();
            }
            event.question = std::move(asked).value();
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
    Result<LineSink> file = LineSink::open(path_, segment == 0);
    if (!file) {
        return fail_host(path_.c_str(), file.error());
    }
    EventRules rules;
    rules.limit = Duration{invocation.options.events.timeout_ns};
    rules.secrets = secrets_of(invocation.credentials.all);
    rules.segment = segment;
    rules.told = segment == 0 ? std::vector<std::uint64_t>() : events_told(path_);
    rules.stop_requests = &stop_requests();
    rules.tell = &tell_failed;
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
    const std::vector<TimedEvent>& ended = thread_->ended();
    const std::ptrdiff_t good = std::ranges::count(ended, EventStatus::ok, &TimedEvent::status);
    print_line("events: %td of %s as expected; see events.jsonl", good,
               counted(ended.size(), "event ended", "events ended").c_str());
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

/// An idle server answers within 40 ms. Who asked for a page by name waits longer for the baseline
/// than who did not ask.
static constexpr Duration automatic_wait = milliseconds(400);
static constexpr Duration named_wait = seconds(3);
static constexpr long look_pause_ns = 1'000'000;

/// Two names of one server of this host, whose page would count twice. Elsewhere one address may
/// are before many servers, which go by the name.
static bool is_same_server(const ScrapeTarget& a, const ScrapeTarget& b) {
    const std::string address = a.question.address.to_text();
    const bool is_here = address.starts_with("127.") || address.starts_with("[::1]");
    const auto path_of = [](const ScrapeTarget& one) {
        return one.url.substr(std::min(one.url.find('/', one.url.find("://") + 3), one.url.size()));
    };
    return is_here && address == b.question.address.to_text() && path_of(a) == path_of(b);
}

OrExit<ScrapeTarget> RunMetrics::prepare_target(const Url& url, bool optional) {
    OrExit<Question> asked =
        urls_.prepare("--metrics", url, "GET", {{"Accept", "text/plain;version=0.0.4"}});
    if (!asked) {
        return asked.exit_code();
    }
    return ScrapeTarget{url.unix_socket ? to_text(url) + ":" + url.path : to_text(url),
                        std::move(asked).value(), optional};
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
    Result<LineSink> file = LineSink::open(path, is_new_);
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

/// Before anything is sent: an address that another process has stops the run.
int RunSides::start_page() {
    const std::optional<Url>& place = parts_.invocation().options.metrics.listen;
    if (!place) {
        return exit_done;
    }
    const std::string text = place_text(*place);
    const Result<std::vector<Address>> found = resolve(place->host, place->port);
    if (!found || found.value().empty()) {
        return refuse(exit_usage,
                      "driftless: --listen %s: is not an address of this host; use 127.0.0.1 or "
                      "another local address",
                      text.c_str());
    }
    if (const Result<void> listens = page_.listen(found.value().front()); !listens) {
        const bool is_taken = listens.error().sys_errno == EADDRINUSE;
        return refuse(exit_usage, "driftless: --listen %s: %s", text.c_str(),
                      is_taken ? "another process listens there; use another port"
                               : reason_of(listens.error()).c_str());
    }
    if (const Result<void> started = page_.start(&cpus_); !started) {
        return fail_host("thread of --listen", started.error());
    }
    print_line("listening: http://%s/metrics has this run's own figures", text.c_str());
    return exit_done;
}

int RunSides::start(std::uint32_t segment) {
    const int code = start_page();
    return code == exit_done ? metrics_.start(segment, cpus_) : code;
}

int RunSides::open(const std::string& folder, std::uint32_t segment) {
    int code = events_.open(folder, segment);
    if (code == exit_done) {
        code = metrics_.open(folder, segment);
    }
    if (code != exit_done && segment == 0) {
        discard();
    }
    return code;
}

int RunSides::begin(Instant zero, std::int64_t from_ns) {
    metrics_.begin(zero);
    return events_.start(zero, from_ns, cpus_);
}

void RunSides::stop() {
    metrics_.stop();
    events_.stop();
    page_.stop();
}

void RunSides::discard() {
    events_.discard();
    metrics_.discard();
}

void RunSides::sum_up(const std::string& folder, const SummaryFigures& figures,
                      SummaryInfo& info) const {
    info.server = metrics_.totals(folder, figures.timeline.spans);
    if (info.server && info.server->joules) {
        const std::string& records = parts_.invocation().options.results.records_path;
        info.finished_trees =
            count_finished_trees(records.empty() ? folder + "/requests.jsonl" : records);
    }
}

}  // namespace driftless
