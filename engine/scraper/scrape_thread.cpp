#include "engine/scraper/scrape_thread.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/host/side_thread.hpp"
#include "engine/io/host_clocks.hpp"
#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/printable.hpp"
#include "proto/record/masked.hpp"

namespace driftless {

namespace {

/// So often the thread looks whether the run is over, and what came.
constexpr Duration look_pause = milliseconds(20);
constexpr std::size_t words_bytes_max = 256;
constexpr std::size_t timers_max = 64;

UringOptions small_ring() {
    UringOptions options;
    options.ops_max = 256;
    options.submit_entries = 64;
    options.buffers = 64;
    return options;
}

}  // namespace

Task<void> ScrapeThread::ScrapedPage::ask() {
    Result<Reply> got = co_await inquiry.ask(target.address, target.tls, target.request, limit);
    answer.emplace(std::move(got));
}

ScrapeThread::ScrapeThread(std::vector<ScrapeTarget> targets,
                           std::span<const EngineMapping> mappings, ScrapeRules rules,
                           LineSink file)
    : targets_(std::move(targets)),
      rules_(std::move(rules)),
      file_(std::move(file)),
      log_(rules_.segment),
      figures_(targets_.size(), EndpointFigures(mappings)),
      outcomes_(targets_.size()) {
    for (const ScrapeTarget& target : targets_) {
        (void)log_.add_url(masked(target.url, rules_.secrets, target.url.size()));
    }
}

ScrapeThread::~ScrapeThread() {
    stop(true);
}

Result<void> ScrapeThread::start(Instant zero, const cpu_set_t* cpus) {
    CHECK(!has_thread_);
    zero_ = zero;
    const Result<pthread_t> started = start_side_thread("metrics", cpus, thread_main, this);
    if (!started) {
        return started.error();
    }
    thread_ = started.value();
    has_thread_ = true;
    return {};
}

void ScrapeThread::stop(bool interrupted) {
    if (!has_thread_) {
        return;
    }
    ending_.store(interrupted ? Ending::interrupted : Ending::over, std::memory_order_release);
    pthread_join(thread_, nullptr);
    has_thread_ = false;
}

void* ScrapeThread::thread_main(void* self) {
    static_cast<ScrapeThread*>(self)->work();
    return nullptr;
}

/// The driver is the thread's own: no other may use its ring.
bool ScrapeThread::open() {
    Result<std::unique_ptr<UringDriver>> made = UringDriver::make(small_ring());
    if (!made) {
        for (Outcome& outcome : outcomes_) {
            outcome.failures = 1;
            outcome.first_failure =
                "cannot " + std::string(made.error().doing) + ": " + reason_of(made.error());
        }
        return false;
    }
    driver_ = std::move(made).value();
    loop_ = std::make_unique<Loop>(*driver_, timers_max);
    for (const ScrapeTarget& target : targets_) {
        pages_.push_back(std::make_unique<ScrapedPage>(*loop_, target, rules_.limit));
    }
    return true;
}

void ScrapeThread::work() {
    if (!open()) {
        return;
    }
    Instant next = HostClocks::now();
    while (ending_.load(std::memory_order_acquire) == Ending::no) {  // ends: by `stop`
        const Instant now = HostClocks::now();
        if (now >= next) {
            begin_due();
            next = std::max(next + rules_.period, now);
        }
        (void)loop_->turn(std::min(next, now + look_pause), Wait::sleep);
        (void)take_answers();
    }
    take_last();
    file_.flush();
    pages_.clear();
    loop_.reset();
    driver_.reset();
}

void ScrapeThread::begin(ScrapedPage& page) {
    page.underway = true;
    page.begun = HostClocks::now();
    loop_->jobs().spawn(page.ask());
}

/// One that is still on its way is not asked for twice.
void ScrapeThread::begin_due() {
    for (const std::unique_ptr<ScrapedPage>& page : pages_) {
        if (page->underway) {
            continue;
        }
        if (page->periods_to_wait > 0) {
            --page->periods_to_wait;
        } else {
            begin(*page);
        }
    }
}

/// True where one is still on its way.
bool ScrapeThread::take_answers() {
    bool underway = false;
    for (std::size_t at = 0; at < pages_.size(); ++at) {
        ScrapedPage& page = *pages_[at];
        if (page.underway && page.answer) {
            page.underway = false;
            take(at);
            page.answer.reset();
        }
        underway = underway || page.underway;
    }
    return underway;
}

void ScrapeThread::fail(std::size_t at, Duration took, std::string why) {
    ScrapedPage& page = *pages_[at];
    why = printable(masked(why, rules_.secrets, words_bytes_max));
    page.periods_to_wait = std::min(1U << std::min(page.failed_in_a_row, 16U), pause_periods_max);
    --page.periods_to_wait;
    ++page.failed_in_a_row;
    ++outcomes_[at].failures;
    if (outcomes_[at].first_failure.empty()) {
        outcomes_[at].first_failure = why;
    }
    log_.add_failure(at, (page.begun - zero_).ns, took.ns, std::move(why), file_.buffer());
    file_.commit();
}

void ScrapeThread::take(std::size_t at) {
    ScrapedPage& page = *pages_[at];
    const Result<Reply>& answer = *page.answer;
    if (!answer) {
        const Error& error = answer.error();
        fail(at, HostClocks::now() - page.begun,
             "cannot " + std::string(error.doing) + ": " + reason_of(error));
        return;
    }
    const Reply& reply = answer.value();
    const Duration took = std::max(reply.headers, reply.last_body) - page.begun;
    if (reply.status != 200) {
        fail(at, took, "answered " + std::to_string(reply.status));
        return;
    }
    if (!reader_.read(reply.body, header_value(reply.head, "content-type"))) {
        fail(at, took, reader_.problem());
        return;
    }
    page.failed_in_a_row = 0;
    ++outcomes_[at].pages;
    figures_[at].add(reader_.page());
    log_.add(at, (page.begun - zero_).ns, took.ns, reader_.page(), file_.buffer());
    file_.commit();
}

/// What is on its way is finished first: the last pages are of after the end of the run. Then all
/// is given up that has not come.
void ScrapeThread::take_last() {
    const bool interrupted = ending_.load() == Ending::interrupted;
    if (!interrupted) {
        const Instant until = HostClocks::now() + rules_.last_wait;
        wait_for_all(until);
        for (const std::unique_ptr<ScrapedPage>& page : pages_) {
            if (!page->underway) {
                begin(*page);
            }
        }
        wait_for_all(until);
    }
    for (const std::unique_ptr<ScrapedPage>& page : pages_) {
        if (page->underway) {
            page->inquiry.cancel();
        }
    }
    while (take_answers()) {  // ends: what is cancelled ends at once
        (void)loop_->turn(HostClocks::now() + look_pause, Wait::sleep);
    }
}

void ScrapeThread::wait_for_all(Instant until) {
    while (take_answers() && HostClocks::now() < until) {
        (void)loop_->turn(std::min(until, HostClocks::now() + look_pause), Wait::sleep);
    }
}

}  // namespace driftless
