#include "engine/watch/scrape_thread.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/io/io_ring.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

/// So often the thread looks whether the run is over, and what came.
static constexpr Duration look_pause = milliseconds(20);
static constexpr std::size_t words_bytes_max = 256;
static constexpr std::size_t timers_max = 64;

ScrapeThread::ScrapeThread(std::vector<ScrapeTarget> targets, ScrapeRules rules)
    : targets_(std::move(targets)),
      rules_(std::move(rules)),
      log_(rules_.segment, SeriesLog::series_max, rules_.secrets),
      outcomes_(targets_.size()),
      first_(targets_.size()) {
    for (const ScrapeTarget& target : targets_) {
        (void)log_.add_url(masked(target.url, rules_.secrets, target.url.size()));
    }
}

ScrapeThread::~ScrapeThread() {
    stop(true);
}

Result<void> ScrapeThread::start(const cpu_set_t* cpus) {
    return thread_.start<&ScrapeThread::work>("metrics", cpus, *this);
}

bool ScrapeThread::awaits_first(bool optional) const {
    for (std::size_t at = 0; at < targets_.size(); ++at) {
        if (targets_[at].optional == optional &&
            first_[at].load(std::memory_order_acquire) == FirstPage::awaited) {
            return true;
        }
    }
    return false;
}

std::size_t ScrapeThread::settle() {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < targets_.size(); ++at) {
        const bool good = first_[at].load(std::memory_order_acquire) == FirstPage::good;
        outcomes_[at].kept = good || !targets_[at].optional;
        kept += outcomes_[at].kept ? 1 : 0;
    }
    return kept;
}

/// What it needs is written before `stage_`, and not touched by this thread until `stop`.
void ScrapeThread::begin(Instant zero, LineSink file) {
    CHECK(stage_.load() == Stage::first);
    zero_ = zero;
    file_ = std::move(file);
    stage_.store(Stage::running, std::memory_order_release);
}

void ScrapeThread::stop(bool interrupted) {
    if (thread_.runs()) {
        stage_.store(interrupted ? Stage::interrupted : Stage::over, std::memory_order_release);
        thread_.join();
    }
}

/// The driver is the thread's own: no other may use its ring.
bool ScrapeThread::open() {
    Result<std::unique_ptr<Driver>> made = make_driver(DriverOptions::small());
    if (!made) {
        for (Outcome& outcome : outcomes_) {
            outcome.failures = 1;
            outcome.first_failure = failed_text(made.error());
        }
        return false;
    }
    driver_ = std::move(made).value();
    loop_ = std::make_unique<Loop>(*driver_, timers_max);
    for (const ScrapeTarget& target : targets_) {
        pages_.push_back(std::make_unique<ScrapedPage>(*loop_, target.question, rules_.limit));
    }
    return true;
}

void ScrapeThread::work() {
    if (!open()) {
        for (std::atomic<FirstPage>& one : first_) {
            one.store(FirstPage::bad, std::memory_order_release);
        }
        return;
    }
    read_first();
    drop_unkept();
    Instant next = HostClocks::now() + rules_.period;
    while (stage_.load(std::memory_order_acquire) == Stage::running) {  // ends: by `stop`
        (void)take_answers();
        const Instant now = HostClocks::now();
        if (now >= next) {
            begin_due();
            next = std::max(next + rules_.period, now);
        }
        (void)loop_->turn(std::min(next, now + look_pause), Wait::sleep);
    }
    take_last();
    file_.flush();
    pages_.clear();
    loop_.reset();
    driver_.reset();
}

/// Until the run begins, or is given up. The answers stay where they are. Which targets stay is
/// decided beside it, and not to be read before `stage_` says so.
void ScrapeThread::read_first() {
    for (const std::unique_ptr<ScrapedPage>& page : pages_) {
        begin(*page);
    }
    while (stage_.load(std::memory_order_acquire) == Stage::first) {  // ends: by `begin` or `stop`
        (void)loop_->turn(HostClocks::now() + look_pause, Wait::sleep);
        for (std::size_t at = 0; at < pages_.size(); ++at) {
            const std::optional<Result<Reply>>& answer = pages_[at]->asking.answer();
            if (answer && first_[at].load() == FirstPage::awaited) {
                first_[at].store(read_page(*answer).empty() ? FirstPage::good : FirstPage::bad,
                                 std::memory_order_release);
            }
        }
    }
}

void ScrapeThread::drop_unkept() {
    for (std::size_t at = 0; at < pages_.size(); ++at) {
        if (!outcomes_[at].kept && !pages_[at]->asking.answer()) {
            pages_[at]->asking.cancel();
        }
    }
}

void ScrapeThread::begin(ScrapedPage& page) {
    page.underway = true;
    page.begun = HostClocks::now();
    page.asking.begin();
}

/// One that is still on its way is not asked for twice.
void ScrapeThread::begin_due() {
    for (std::size_t at = 0; at < pages_.size(); ++at) {
        ScrapedPage& page = *pages_[at];
        if (page.underway || !outcomes_[at].kept) {
            continue;
        }
        if (page.periods_to_wait > 0) {
            --page.periods_to_wait;
        } else {
            begin(page);
        }
    }
}

/// True where one is still on its way.
bool ScrapeThread::take_answers() {
    bool underway = false;
    for (std::size_t at = 0; at < pages_.size(); ++at) {
        ScrapedPage& page = *pages_[at];
        if (page.underway && page.asking.answer()) {
            page.underway = false;
            if (outcomes_[at].kept) {
                take(at);
            }
            page.asking.answer().reset();
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
    file_.flush();
}

std::string ScrapeThread::read_page(const Result<Reply>& answer) {
    if (!answer) {
        return failed_text(answer.error());
    }
    const Reply& reply = answer.value();
    if (reply.status != 200) {
        return "answered " + std::to_string(reply.status);
    }
    const std::string_view type = header_value(reply.head, "content-type");
    const auto is_page = reader_.read(reply.body, type);
    if (is_page || rules_.secrets.empty()) {
        return is_page ? "" : reader_.problem();
    }
    // What a problem quotes may begin inside a key: it is told of the page without keys.
    const std::string clean = masked(reply.body, rules_.secrets, reply.body.size());
    return reader_.read(clean, type) ? is_page.error().doing : reader_.problem();
}

/// Lines are on the disk before the next page: what a killed run has read is not lost.
void ScrapeThread::take(std::size_t at) {
    ScrapedPage& page = *pages_[at];
    const Result<Reply>& answer = *page.asking.answer();
    const Instant came =
        answer ? std::max(answer.value().headers, answer.value().last_body) : HostClocks::now();
    const Duration took = std::max(came - page.begun, Duration{0});
    if (std::string why = read_page(answer); !why.empty()) {
        fail(at, took, std::move(why));
        return;
    }
    page.failed_in_a_row = 0;
    ++outcomes_[at].pages;
    log_.add(at, (page.begun - zero_).ns, took.ns, reader_.page(), file_.buffer());
    file_.flush();
}

/// What is on its way is finished first: the last pages are of after the end of the run. Then all
/// is given up that has not come.
void ScrapeThread::take_last() {
    const bool interrupted = stage_.load() == Stage::interrupted;
    if (!interrupted) {
        const Instant until = HostClocks::now() + rules_.last_wait;
        wait_for_all(until);
        for (std::size_t at = 0; at < pages_.size(); ++at) {
            if (!pages_[at]->underway && outcomes_[at].kept) {
                begin(*pages_[at]);
            }
        }
        wait_for_all(until);
    }
    for (const std::unique_ptr<ScrapedPage>& page : pages_) {
        if (page->underway) {
            page->asking.cancel();
        }
    }
    while (take_answers()) {  // ends: what is cancelled does (Inquiry::close)
        (void)loop_->turn(HostClocks::now() + look_pause, Wait::sleep);
    }
}

void ScrapeThread::wait_for_all(Instant until) {
    while (take_answers() && HostClocks::now() < until) {
        (void)loop_->turn(std::min(until, HostClocks::now() + look_pause), Wait::sleep);
    }
}

}  // namespace driftless
