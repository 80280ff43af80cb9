#include "engine/record/periods.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/errors.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

static PeriodPercentiles percentiles_of(const Histogram& histogram) {
    const Distribution distribution = histogram.distribution();
    if (distribution.count == 0) {
        return {};
    }
    const auto at = [&](std::size_t index) { return std::llround(distribution.at[index]); };
    return {at(median_index), at(p90_index), at(p99_index)};
}

static void add_known(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& value) {
    if (value) {
        sum = sum.value_or(0) + *value;
    }
}

/// Tokens of a prompt that was answered: as the server counted them, else as recorded.
static std::int64_t input_of(const Record& record) {
    return record.last_token_ns
               ? record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)})
               : 0;
}

static bool has_trees(const AssemblerConfig& config) {
    return config.has_users() || !config.trace->sessions.empty() ||
           !config.trace->dependencies.empty();
}

Periods::Periods(const AssemblerConfig& config)
    : rules_(config.periods),
      segment_(config.segment),
      has_users_(config.has_users()),
      settle_ns_(std::min(settle_ns_max, rules_.length_ns)),
      older_(static_cast<std::uint64_t>(rules_.begin_ns / rules_.length_ns)) {
    CHECK(rules_.length_ns > 0 && rules_.begin_ns >= 0);
    if (has_trees(config)) {
        trees_.emplace(*config.trace, *config.plan);
    }
    if (rules_.grow.any()) {
        CHECK(has_users_ && rules_.users_wanted != nullptr);
        growth_.emplace(rules_.grow, *rules_.users_wanted);
    }
    if (!rules_.stop_when.empty()) {
        CHECK(rules_.stop_wanted != nullptr);
        stop_.emplace(rules_.stop_when, rules_.ended_before, *rules_.stop_wanted);
    }
}

void Periods::begin(std::int64_t time_zero_ns) {
    CHECK(older_end_ns_ == INT64_MAX);
    time_zero_ns_ = time_zero_ns;
    older_begin_ns_ = time_zero_ns + rules_.begin_ns;
    older_end_ns_ = time_zero_ns + static_cast<std::int64_t>(older_ + 1) * rules_.length_ns;
    latest_ns_ = older_begin_ns_;
    warm_ns_ = time_zero_ns;
}

Periods::Open& Periods::later(std::int64_t stamp_ns) {
    close_until(stamp_ns);
    return stamp_ns < older_end_ns_ ? older() : newer();
}

void Periods::close_until(std::int64_t now_ns) {
    // Ends: so many periods have passed. `settle_ns_` is no longer than one.
    while (older_end_ns_ != INT64_MAX && now_ns >= older_end_ns_ + settle_ns_) {
        close_older(older_end_ns_, false);
    }
}

bool Periods::begins(std::uint32_t user) {
    if (user >= users_.size()) {
        users_.resize(user + std::size_t{1});
    }
    const bool is_new = !users_[user];
    users_[user] = true;
    return is_new;
}

void Periods::fired(const Due& due, std::int64_t stamp_ns) {
    Open& open = at(stamp_ns);
    latest_ns_ = std::max(latest_ns_, stamp_ns);
    ++open.sums.released;
    open.measures = open.measures || due.phase != Phase::warmup;
    if (trees_) {
        const TreeChange change = trees_->fired(due);
        open.live += change.live;
        open.flying += change.flying;
    }
    if (has_users_ && due.user != Due::no_user && begins(due.user)) {
        open.sums.users_added = open.sums.users_added.value_or(0) + 1;
    }
}

void Periods::first_token(const Due& due, std::int64_t fired_ns, std::int64_t stamp_ns,
                          std::int64_t input_tokens) {
    Open& open = at(stamp_ns);
    ++open.sums.first_tokens;
    open.sums.input_tokens += input_tokens;
    if (fired_ns != no_stamp) {
        open.of(GrowMetric::ttft).add(stamp_ns - fired_ns);
    }
    open.of(GrowMetric::ttft_due).add(stamp_ns - time_zero_ns_ - due.due_ns);
}

void Periods::ended(const Due& due, std::int64_t stamp_ns, const Record& record,
                    CountedTokens counted) {
    const std::int64_t end_ns = stamp_ns == no_stamp ? latest_ns_ : stamp_ns;
    Open& open = at(end_ns);
    latest_ns_ = std::max(latest_ns_, end_ns);
    Period& sums = open.sums;
    const bool had_left = record.fired_ns.has_value();
    ++sums.ended;
    sums.unsent += had_left ? 0 : 1;
    sums.failed += is_failure(record.outcome) ? 1 : 0;
    sums.abandoned += record.outcome == Outcome::abandoned ? 1 : 0;
    sums.censored += record.censored ? 1 : 0;
    open.landed += had_left ? 1 : 0;
    if (due.phase == Phase::warmup) {
        warm_ns_ = std::max(warm_ns_, end_ns);
    }
    if (trees_) {
        const TreeChange change = trees_->ended(due, had_left);
        open.live += change.live;
        open.flying += change.flying;
    }
    const std::int64_t input = input_of(record) - counted.input;
    const std::int64_t output = record.output_tokens.value_or(0) - counted.output;
    sums.input_tokens += input;
    sums.input_tokens_corrected += input;
    sums.output_tokens += output;
    if (sums.output_tokens_corrected && (counts_output(record) || !record.first_token_ns)) {
        *sums.output_tokens_corrected += output;
    } else {
        sums.output_tokens_corrected.reset();
    }
    const bool is_ok = record.outcome == Outcome::ok;
    if (is_ok && record.tpot_ns) {
        open.of(GrowMetric::tpot).add(std::llround(*record.tpot_ns));
    }
    if (is_ok && record.e2e_ns) {
        open.of(GrowMetric::e2e).add(*record.e2e_ns);
    }
    if (const std::optional<std::size_t> rule = rule_of(rules_.goodput, record)) {
        (void)open.goodput.add(rules_.goodput[*rule].limits, record);
    }
    add_cached(open, record);
    if (stop_) {
        stop_->ended(record);
    }
}

void Periods::add_cached(Open& open, const Record& record) const {
    Period& sums = open.sums;
    add_known(sums.expected_cached_tokens, record.expected_cached_tokens);
    add_known(sums.cached_tokens, record.cached_tokens);
    if (record.cached_tokens) {
        add_known(sums.expected_cached_tokens_reported, record.expected_cached_tokens);
        open.has_unforetold = open.has_unforetold || !record.expected_cached_tokens;
    }
}

/// The time of the run is up: what has not left of a tree never will.
bool Periods::is_drain(std::int64_t end_ns) const {
    return rules_.for_ns && end_ns - warm_ns_ >= *rules_.for_ns;
}

void Periods::close_older(std::int64_t end_ns, bool is_last) {
    Open& open = older();
    Period& sums = open.sums;
    CHECK(in_flight_ + sums.released >= open.landed);
    in_flight_ += sums.released - open.landed;
    live_ += open.live;
    flying_ += open.flying;
    sums.period = older_;
    sums.segment = segment_;
    sums.begin_ns = older_begin_ns_ - time_zero_ns_;
    sums.end_ns = end_ns - time_zero_ns_;
    sums.in_flight = in_flight_;
    measures_ = measures_ || open.measures;
    const bool is_drained = sums.released == 0 && is_drain(end_ns);
    sums.phase = rules_.warms_up && !measures_ ? Phase::warmup
                 : is_drained                  ? Phase::drain
                                               : Phase::profile;
    if (trees_) {
        const std::int64_t live = is_last || is_drain(end_ns) ? flying_ : live_;
        sums.live_trees = static_cast<std::uint64_t>(std::max<std::int64_t>(0, live));
    }
    if (open.has_unforetold) {
        sums.expected_cached_tokens_reported.reset();  // cached_tokens is of more requests
    }
    if (has_users_) {
        sums.users_added = sums.users_added.value_or(0);
    }
    if (!rules_.goodput.empty()) {
        sums.good = open.goodput.good;
        sums.good_least = open.goodput.worst.good;
        sums.good_most = open.goodput.best.good;
        sums.goodput = open.goodput.share();
    }
    sums.ttft = percentiles_of(open.of(GrowMetric::ttft));
    sums.ttft_due = percentiles_of(open.of(GrowMetric::ttft_due));
    sums.tpot = percentiles_of(open.of(GrowMetric::tpot));
    append_json_line(lines_, sums);
    const bool is_judged = sums.phase == Phase::profile && !is_last;
    if (growth_ && is_judged) {
        growth_->look(open.of(growth_->rules().metric).distribution(), sums.failed, users_begun_);
    }
    if (stop_ && is_judged) {
        PeriodMeasured measured{sums.begin_ns, sums.end_ns};
        for (std::size_t metric = 0; metric < open.times.size(); ++metric) {
            measured.times[metric] = open.times[metric].distribution();
        }
        stop_->look(measured);
    }
    users_begun_ += sums.users_added.value_or(0);
    if (open.empty()) {  // idle: its histograms are as good as new
        sums = Period();
    } else {
        open = Open();
    }
    ++older_;
    older_begin_ns_ = older_end_ns_;
    older_end_ns_ += rules_.length_ns;
}

void Periods::finish() {
    if (older_end_ns_ == INT64_MAX) {
        return;  // the run never began
    }
    if (!newer().empty()) {
        close_older(older_end_ns_, false);
    }
    if (!older().empty()) {
        close_older(std::clamp(latest_ns_ + 1, older_begin_ns_ + 1, older_end_ns_), true);
    }
}

std::uint32_t LiveTrees::tree_of(const Due& due) const {
    CHECK(rows_ > 0);
    return trees_.tree_of(due.request % rows_);
}

LiveTrees::Played& LiveTrees::played(const Due& due) {
    const std::uint32_t place = due.user != Due::no_user ? due.user : tree_of(due);
    if (place >= played_.size()) {
        played_.resize(place + std::size_t{1});
    }
    return played_[place];
}

TreeChange LiveTrees::fired(const Due& due) {
    Played& now = played(due);
    const std::uint64_t tree = number_in_pass(tree_of(due), due.pass);
    if (tree != now.tree) {  // the one before it has ended
        now.tree = tree;
        now.ended = 0;
    }
    const TreeChange change = {now.live ? 0 : 1, now.flying == 0 ? 1 : 0};
    now.live = true;
    ++now.flying;
    // What is sent once more has not ended yet.
    now.ended -= due.attempt > 0 && now.ended > 0 ? 1 : 0;
    return change;
}

TreeChange LiveTrees::ended(const Due& due, bool had_left) {
    Played& now = played(due);
    TreeChange change;
    if (had_left) {
        CHECK(now.flying > 0);
        change.flying = --now.flying == 0 ? -1 : 0;
    }
    if (number_in_pass(tree_of(due), due.pass) != now.tree) {
        now.tree = number_in_pass(tree_of(due), due.pass);  // it begins unsent
        now.ended = 0;
    }
    now.ended += had_left || due.attempt == 0 ? 1 : 0;
    if (now.live && now.flying == 0 && now.ended >= trees_.rows_of(tree_of(due)).size()) {
        now.live = false;
        change.live = -1;
    }
    return change;
}

}  // namespace driftless
