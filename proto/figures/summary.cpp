#include "proto/figures/summary.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

static constexpr const char* remedy =
    "is not a key to group by; use phase, turn, api, url, side, model, outcome, kept.NAME, "
    "header.NAME or input:PARTS";
static constexpr std::string_view nothing = "-";
static constexpr std::uint32_t parts_min = 2;
static constexpr std::uint32_t parts_max = 20;

static std::string kept_value(const std::string& kept, const std::string& member,
                              JsonDocument& document) {
    const Result<JsonValue> root = document.parse(kept.empty() ? "null" : kept);
    const JsonValue value = root ? root.value().find(member) : JsonValue();
    if (!value.present() || value.is(JsonType::null)) {
        return std::string(nothing);
    }
    return std::string(value.as_string().value_or(value.raw()));
}

static std::string header_value_of(const Record& record, const std::string& name) {
    for (const RecordedHeader& header : record.headers) {
        if (header.value && equal_ignoring_case(header.name, name)) {
            return *header.value;
        }
    }
    return std::string(nothing);
}

Result<GroupKey> parse_group_key(std::string_view text) {
    const std::size_t end = std::min(text.find_first_of(".:"), text.size());
    const std::string_view mark = text.substr(end, 1);
    const std::string_view rest = text.substr(end + mark.size());
    const std::optional<GroupKey::Kind> kind = from_name<GroupKey::Kind>(text.substr(0, end));
    GroupKey key;
    key.kind = kind.value_or(GroupKey::Kind::phase);
    key.text = text;
    bool is_key = kind && mark.empty();
    if (kind == GroupKey::Kind::kept || kind == GroupKey::Kind::header) {
        key.member = rest;
        is_key = mark == "." && !rest.empty();
    } else if (kind == GroupKey::Kind::input) {
        const char* const last = rest.data() + rest.size();
        const auto [stop, error] = std::from_chars(rest.data(), last, key.parts);
        is_key = mark == ":" && error == std::errc() && stop == last && key.parts >= parts_min &&
                 key.parts <= parts_max;
    }
    return is_key ? Result<GroupKey>(std::move(key)) : Error{ErrorCode::invalid, 0, remedy};
}

std::string group_value(const GroupKey& key, const Record& record, JsonDocument& document) {
    switch (key.kind) {
        case GroupKey::Kind::phase:
            return name_of(record.phase);
        case GroupKey::Kind::turn:
            return record.turn ? std::to_string(*record.turn) : std::string(nothing);
        case GroupKey::Kind::api:
            return record.api;
        case GroupKey::Kind::url:
            return record.url.empty() ? std::string(nothing) : record.url;
        case GroupKey::Kind::model:
            return record.model.value_or(std::string(nothing));
        case GroupKey::Kind::outcome:
            return name_of(record.outcome);
        case GroupKey::Kind::side:
            return record.side == Side::none ? std::string(nothing) : name_of(record.side);
        case GroupKey::Kind::kept:
            return kept_value(record.kept, key.member, document);
        case GroupKey::Kind::header:
            return header_value_of(record, key.member);
        case GroupKey::Kind::input:
            return std::to_string(record.input_length.value_or(0));
    }
    return std::string(nothing);
}

std::vector<std::uint32_t> length_bounds(std::vector<std::uint32_t>& lengths, std::uint32_t parts) {
    std::sort(lengths.begin(), lengths.end());
    std::vector<std::uint32_t> bounds;
    for (std::uint32_t part = 1; part <= parts && !lengths.empty(); ++part) {
        const std::size_t last = lengths.size() * part / parts;
        const std::uint32_t bound = lengths[std::max<std::size_t>(last, 1) - 1];
        if (bounds.empty() || bound > bounds.back()) {
            bounds.push_back(bound);
        }
    }
    return bounds;
}

/// A bound below 0 counts as 0: records can be anybody's.
static double bound_of(std::int64_t ns) {
    return static_cast<double>(std::max<std::int64_t>(ns, 0));
}

/// Its request waited in this client, and it was cut off: in time, it might have been answered.
static bool may_have_been_answered(const Record& record) {
    if (!is_cut_off(record.outcome) || !record.fired_ns || !record.ended_ns) {
        return false;
    }
    constexpr double waited_min_ns = 1e6;
    constexpr double share_min = 0.01;  // of what it lasted
    const double lasted_ns = bound_of(*record.ended_ns - *record.fired_ns);
    const double waited_ns = (record.wire_delay_bound_ns ? bound_of(*record.wire_delay_bound_ns)
                                                         : lasted_ns) +  // nothing left
                             bound_of(record.request_delay_ns.value_or(0));
    return waited_ns > std::max(waited_min_ns, share_min * lasted_ns) ||
           has_taint(record, taint_end_unsure);
}

/// It is not known what would have become of it.
static bool is_lost_whole(const Record& record) {
    return record.outcome == Outcome::client_failed || record.outcome == Outcome::interrupted ||
           may_have_been_answered(record);
}

/// Its times say nothing for sure: a part of it was lost, or it may not be there at all.
static bool is_unsure(const Record& record) {
    return lost_in_client(record) || has_taint(record, taint_end_unsure);
}

namespace {

/// What its limits ask of a row, by its own times or by those at one end of their bars.
class LimitedRow {
  public:
    LimitedRow(const Record& record, TimesAt times) : record_(record), times_(times) {}

    /// Of a request that was abandoned.
    bool has_broken_one(const GoodputLimits& limits) const {
        const OptionalNs& left = record_.fired_ns;
        const OptionalNs& ended = record_.ended_ns;
        const std::int64_t waited_ns = left && ended ? *ended - *left : 0;
        const std::int64_t since_due_ns = ended ? *ended - record_.due_ns : 0;
        const auto ended_bar = error_from_fire(record_, abandoned_late_max_ns);
        const auto first_bar =
            record_.ttft_ns ? error_from_fire(record_, record_.first_late_ns) : ended_bar;
        return !within(limits.ttft_ns, record_.ttft_ns.value_or(waited_ns), first_bar) ||
               !within(limits.ttft_due_ns, record_.ttft_due_ns.value_or(since_due_ns), first_bar) ||
               !within(limits.e2e_ns, waited_ns, ended_bar);
    }
    /// All but TPOT, of one that is ok. From due it may be read as late as from the fire.
    bool is_in_time(const GoodputLimits& limits) const {
        const auto first = error_from_fire(record_, record_.first_late_ns);
        return within(limits.ttft_ns, record_.ttft_ns, first) &&
               within(limits.ttft_due_ns, record_.ttft_due_ns, first) &&
               within(limits.e2e_ns, record_.e2e_ns,
                      error_from_fire(record_, record_.last_late_ns));
    }
    /// Tokens that were read together came at one instant for all that was measured.
    bool meets_tpot(const OptionalNs& limit) const {
        const bool has_gaps = record_.tpot_ns || record_.output_tokens.value_or(0) > 1;
        return !has_gaps || within(limit, record_.tpot_ns.value_or(0), tpot_error(record_));
    }

  private:
    bool within(const OptionalNs& limit, const std::optional<double>& ns,
                const std::optional<ErrorBar>& error) const {
        constexpr double endless = std::numeric_limits<double>::infinity();
        const ErrorBar bar = error.value_or(ErrorBar{endless, endless});
        const double off = times_ == TimesAt::longest    ? bar.above
                           : times_ == TimesAt::shortest ? -bar.below
                                                         : 0;
        return !limit || (ns && *ns + off <= static_cast<double>(*limit));
    }

    const Record& record_;
    TimesAt times_;
};

}  // namespace

std::optional<bool> is_good(const GoodputLimits& limits, const Record& record, TimesAt times) {
    const LimitedRow row(record, times);
    if (times != TimesAt::measured && (is_unsure(record) || is_lost_whole(record))) {
        return times == TimesAt::shortest;
    }
    if (record.outcome == Outcome::abandoned) {
        return row.has_broken_one(limits) ? std::optional(false) : std::nullopt;
    }
    const bool is_ok = record.outcome == Outcome::ok;
    const bool is_lost = lost_in_client(record);
    if (times == TimesAt::measured && is_ok && is_lost) {
        return std::nullopt;  // its first or last token may be among what was lost
    }
    const bool is_unstreamed = is_ok && !record.ttft_ns;
    if (is_unstreamed && (limits.ttft_ns || limits.ttft_due_ns) &&
        row.is_in_time({{}, {}, limits.e2e_ns})) {
        return std::nullopt;
    }
    if (!is_ok || !row.is_in_time(limits)) {
        return false;
    }
    if (limits.tpot_ns && !record.tpot_ns &&
        (!counts_output(record) || (is_unstreamed && record.output_tokens > 1))) {
        return std::nullopt;
    }
    return row.meets_tpot(limits.tpot_ns);
}

std::optional<bool> GoodputCounts::add(const GoodputLimits& limits, const Record& record) {
    const std::optional<bool> measured = is_good(limits, record);
    GoodputCount::add(measured);
    worst.add(is_good(limits, record, TimesAt::longest));
    best.add(is_good(limits, record, TimesAt::shortest));
    undecided += !measured && record.outcome == Outcome::ok ? 1 : 0;
    return measured;
}

void GoodputCounts::add(const GoodputCounts& other) {
    GoodputCount::add(other);
    worst.add(other.worst);
    best.add(other.best);
    undecided += other.undecided;
}

std::optional<ErrorBar> GoodputCounts::error() const {
    const auto value = share();
    const auto least = worst.share();
    const auto most = best.share();
    return value && least && most && undecided == 0 ? error_bar(*value, *least, *most)
                                                    : std::nullopt;
}

std::optional<std::size_t> rule_of(const GoodputRules& rules, const Record& record) {
    std::optional<JsonDocument> document;  // only groups need one
    std::optional<std::size_t> common;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].key) {
            common = i;
            continue;
        }
        if (!document) {
            document.emplace();
        }
        if (group_value(*rules[i].key, record, *document) == rules[i].value) {
            return i;
        }
    }
    return common;
}

GoodputLimits common_limits(const GoodputRules& rules) {
    const auto found = std::ranges::find_if(rules, [](const GoodputRule& one) { return !one.key; });
    return found == rules.end() ? GoodputLimits() : found->limits;
}

std::string group_text(const GoodputRule& rule) {
    return rule.key ? rule.key->text + "=" + rule.value : "others";
}

std::string without_numbers(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i])) {
            plain += text[i];
        } else if (i == 0 || !is_digit(text[i - 1])) {
            plain += '#';
        }
    }
    return plain;
}

void ErrorTexts::add(const Record& record) {
    if (!is_failure(record.outcome) || record.outcome == Outcome::not_sent || record.censored) {
        return;
    }
    // As the record's line has it: the sums of a run that is resumed are read from there.
    std::string storage;
    const std::string text(to_valid_utf8(record.error.value_or(""), storage));
    Key key{record.outcome, record.status.value_or(0), without_numbers(text)};
    auto found = texts_.find(key);
    if (found == texts_.end()) {
        if (texts_.size() == texts_max) {
            ++others_;
            return;
        }
        const ErrorText fresh{record.outcome, record.status.value_or(0), text, 0, record.row};
        found = texts_.emplace(std::move(key), fresh).first;
    }
    CHECK(texts_.size() <= texts_max);
    ++found->second.rows;
}

std::vector<ErrorText> ErrorTexts::by_rows() const {
    std::vector<ErrorText> all;
    for (const auto& [key, text] : texts_) {
        all.push_back(text);
    }
    std::sort(all.begin(), all.end(), [](const ErrorText& a, const ErrorText& b) {
        return a.rows != b.rows ? a.rows > b.rows : a.first_row < b.first_row;
    });
    return all;
}

/// Tainted rows that are to be left out.
static bool is_excluded(const Record& record) {
    return !record.tainted.empty() && !stays_in(record);
}

static void add_moved_time(BoundedSample& sample, const Record& record,
                           std::optional<double> time_ns, const std::optional<ErrorBar>& error) {
    if (time_ns && error) {
        sample.add(*time_ns, error->below, error->above, is_excluded(record));
    } else if (time_ns) {
        sample.add_unbounded(*time_ns);
    }
}

/// `part`: of the time by which TTFT may be moved at least.
static void add_moved(const char* name, const BoundedSample& sample, double part,
                      std::vector<MovedFigure>& moved) {
    const Distribution values = sample.kept();
    const Bounds bounds = sample.kept_bounds();
    for (const Statistic& one : shown_statistics) {
        const std::optional<ErrorBar> bar =
            error_bar(one.of(values), one.of(bounds.lower), one.of(bounds.upper));
        if (bar && values.count > 0 && one.name != std::string_view("max")) {
            moved.push_back({name + (" " + std::string(one.name)), one.of(values),
                             std::max(bar->below, bar->above), part});
        }
    }
}

/// The kernel's stamps are off by the error of two samples of its clock.
static constexpr double stamp_error_ns = 2e3;

/// From the fire until the server can have had the request at the latest, ns; nothing: not known.
static std::optional<double> request_late_ns(const Record& record) {
    const auto has = [&record](std::string_view reason) { return has_taint(record, reason); };
    if (!record.wire_delay_bound_ns || !record.request_delay_ns || has(taint_retried) ||
        has(taint_retransmitted) || has(taint_answered_early)) {
        return std::nullopt;
    }
    return bound_of(*record.wire_delay_bound_ns) + bound_of(*record.request_delay_ns) +
           stamp_error_ns;
}

std::optional<ErrorBar> error_from_fire(const Record& record, const OptionalNs& token_late_ns) {
    const std::optional<double> request_ns = request_late_ns(record);
    return request_ns && token_late_ns && !is_unsure(record)
               ? std::optional(ErrorBar{*request_ns + bound_of(*token_late_ns), 0})
               : std::nullopt;
}

std::optional<ErrorBar> tpot_error(const Record& record) {
    const double gaps = static_cast<double>(record.output_tokens.value_or(0)) - 1;
    return record.first_late_ns && record.last_late_ns && gaps >= 1 && !is_unsure(record)
               ? std::optional(ErrorBar{bound_of(*record.last_late_ns) / gaps,
                                        bound_of(*record.first_late_ns) / gaps})
               : std::nullopt;
}

void AbandonedSums::add(const Record& record) {
    ++requests;
    output_tokens += token_count(record.output_tokens);
    if (record.first_token_ns) {
        input_tokens += token_count(prompt_tokens_of(record));
    } else {
        ++no_first_token;
    }
}

void Summary::add(const Record& record) {
    SummaryFigures& f = figures_;
    CHECK(static_cast<std::size_t>(record.outcome) < f.outcomes.size());
    phase_.add(record);
    f.sent.add(record);
    if (record.phase == Phase::warmup) {
        ++f.warmup_rows;
        f.warmup_fired += record.fired_ns ? 1 : 0;
        f.warmup_failed +=
            is_failure(record.outcome) && record.outcome != Outcome::not_sent ? 1 : 0;
        timeline_.add_warm_up(record);
        return;
    }
    ++f.rows;
    f.retries += record.attempt > 0 && record.fired_ns ? 1 : 0;
    ++f.outcomes[static_cast<std::size_t>(record.outcome)];
    timeline_.add(record);
    f.output_tokens_all += token_count(record.output_tokens);
    add_taints(record);
    const bool unsent = record.outcome == Outcome::not_sent;
    f.dropped += unsent && record.error ? 1 : 0;
    f.held_to_the_end += unsent && is_wish(record.late_cause) ? 1 : 0;
    const bool interrupted = record.outcome == Outcome::interrupted;
    f.interrupted_untainted += interrupted && record.tainted.empty() ? 1 : 0;
    f.stale_retries += record.stale_retries;
    f.coalesced_chunks += record.coalesced_chunks;
    if (record.receive_delay_ns.has_value()) {
        f.receive_delay_max_ns = std::max(f.receive_delay_max_ns.value_or(*record.receive_delay_ns),
                                          *record.receive_delay_ns);
    }
    if (record.tokens_source.has_value()) {
        ++f.tokens_sources[static_cast<std::size_t>(*record.tokens_source)];
    }
    f.has_bounds = f.has_bounds || record.last_late_ns;
    f.awaits_answers = f.awaits_answers || record.user || record.parent_end_ns;
    add_sending(record);
    add_prompt(record);
    add_output(record);
    errors_.add(record);
    by_url_.add(record);
    by_side_.add(record);
    by_shard_.add(record);
    add_goodput(record);
    if (counts_ttft(record.outcome)) {
        add_moved_time(ttft_, record, record.ttft_ns,
                       error_from_fire(record, record.first_late_ns));
        ttft_due_.add_known(record.ttft_due_ns);
    }
    add_missing(record);
    if (record.outcome == Outcome::ok) {
        add_ok(record);
    } else if (record.outcome == Outcome::short_output) {
        ++f.short_output;
    } else if (record.outcome == Outcome::long_output) {
        ++f.long_output;
    } else if (record.outcome == Outcome::abandoned) {
        f.abandoned.add(record);
    } else if (record.censored) {
        ++f.censored;
    } else {
        ++f.failed;
    }
    CHECK(f.answered() + f.abandoned.requests + f.censored + f.failed == f.rows);
}

/// What should be in the sums of times, and is not: what it would have been is not known.
void Summary::add_missing(const Record& record) {
    const bool gone = is_lost_whole(record);
    figures_.lost_whole += gone ? 1 : 0;
    const bool lost = lost_in_client(record);
    if (gone || (lost && !record.ttft_ns)) {
        ttft_.add_missing();
    }
    if (gone || (lost && !record.tpot_ns)) {
        tpot_.add_missing();
    }
    if (gone || (lost && !record.e2e_ns)) {
        e2e_.add_missing();
    }
    if (gone) {
        constexpr std::uint64_t endless = std::uint64_t{1} << 40;  // no percentile lies before them
        const std::uint64_t tokens = record.output_length.value_or(0);
        const std::uint64_t gaps =
            record.output_length ? std::max<std::uint64_t>(tokens, 1) - 1 : endless;
        itl_.add_missing(gaps);
        chunk_gap_.add_missing(gaps);
    }
}

void Summary::add_taints(const Record& record) {
    figures_.taints.add(record);
    if (record.tainted.empty()) {
        return;
    }
    SummaryFigures& f = figures_;
    ++f.tainted_rows;
    if (f.tainted_first.size() < tainted_listed) {
        f.tainted_first.push_back(record.row);
    }
    CHECK(f.tainted_rows == f.taints.rows.size() && f.tainted_first.size() <= tainted_listed);
    const auto has = [&record](std::string_view reason) { return has_taint(record, reason); };
    if (has(taint_late)) {
        ++f.tainted_late[static_cast<std::size_t>(record.late_cause)];
    }
    f.tainted_read_late += has(taint_read_late) ? 1 : 0;
    f.tainted_wire_late += has(taint_wire_late) ? 1 : 0;
    f.tainted_sent_late += has(taint_sent_late) ? 1 : 0;
    f.tainted_retried += has(taint_retried) ? 1 : 0;
    f.tainted_answered_early += has(taint_answered_early) ? 1 : 0;
    f.tainted_end_unsure += has(taint_end_unsure) ? 1 : 0;
    f.tainted_limit += has(taint_limit) ? 1 : 0;
    f.tainted_client_failed += has(taint_client_failed) ? 1 : 0;
    const bool resent = record.retransmits.value_or(0) > 0;
    f.tainted_retransmitted += has(taint_retransmitted) && resent ? 1 : 0;
    f.tainted_unacknowledged += has(taint_retransmitted) && !resent ? 1 : 0;
    f.tainted_lost += lost_in_client(record) ? 1 : 0;
}

/// A row that no rule is for is neither good nor bad.
void Summary::add_goodput(const Record& record) {
    SummaryFigures& f = figures_;
    const bool is_ok = record.outcome == Outcome::ok;
    const bool is_abandoned = record.outcome == Outcome::abandoned;
    const std::optional<std::size_t> rule = rule_of(f.goodput_rules, record);
    if (!rule) {
        f.good += !f.judges_goodput() && is_ok ? 1 : 0;
        f.abandoned.undecided += is_abandoned ? 1 : 0;
        return;
    }
    const std::optional<bool> good =
        f.goodput_counts[*rule].add(f.goodput_rules[*rule].limits, record);
    if (!good) {
        ++(is_abandoned ? f.abandoned.undecided : f.uncounted.goodput);
    }
    f.good += good.value_or(false) ? 1 : 0;
}

GoodputCounts SummaryFigures::goodput() const {
    GoodputCounts sum;
    for (const GoodputCounts& one : goodput_counts) {
        sum.add(one);
    }
    return sum;
}

/// Of a rate per second by `duration_ns`, from `least` to `most`: the latter by the shortest
/// duration that the run can have had. Nothing where late reads lower the load itself, or rows
/// failed here, which might have gone on for longer.
static std::optional<ErrorBar> rate_error(const SummaryFigures& f, double rate, double least,
                                          double most) {
    // As of a cap on connections, more than one row in a hundred waited for one.
    constexpr double waited_max = 0.01;
    const auto waited =
        static_cast<double>(f.late_causes[static_cast<std::size_t>(LateCause::lane)]);
    const bool has_bar = f.has_bars() && !f.awaits_answers && !f.has_held() &&
                         waited <= waited_max * static_cast<double>(f.fired) && f.lost_whole == 0 &&
                         f.tainted_end_unsure == 0 && f.timeline.duration_least_ns > 0;
    const double longer =
        static_cast<double>(f.duration_ns) / static_cast<double>(f.timeline.duration_least_ns);
    return has_bar ? error_bar(rate, least, most * longer) : std::nullopt;
}

std::optional<ErrorBar> SummaryFigures::request_goodput_error() const {
    const GoodputCounts counts = goodput();
    return request_goodput ? rate_error(*this, *request_goodput, per_second(counts.worst.good),
                                        per_second(counts.best.good))
                           : std::nullopt;
}

std::optional<ErrorBar> SummaryFigures::throughput_error(std::optional<double> rate) const {
    return rate ? rate_error(*this, *rate, *rate, *rate) : std::nullopt;
}

void LiveSums::add(const Record& record) {
    const std::int64_t padded = record.padded_tokens.value_or(0);
    turns += record.live_turns.has_value() ? 1 : 0;
    filled += padded > 0 ? 1 : 0;
    filled_tokens += padded > 0 ? static_cast<std::uint64_t>(padded) : 0;
    over += padded < 0 ? 1 : 0;
    over_tokens += padded < 0 ? static_cast<std::uint64_t>(-padded) : 0;
}

void Summary::add_sending(const Record& record) {
    if (!record.fired_ns.has_value()) {
        return;
    }
    SummaryFigures& f = figures_;
    ++f.fired;
    ++f.late_causes[static_cast<std::size_t>(record.late_cause)];
    if (is_wish(record.late_cause)) {
        ++f.drift_left_out;
    }
    f.follow_up_turns += record.overtaken.has_value() ? 1 : 0;
    f.overtaken_turns += record.overtaken.value_or(false) ? 1 : 0;
    f.live.add(record);
    f.retransmits += record.retransmits.value_or(0);
    f.retransmitted_rows += record.retransmits.value_or(0) > 0 ? 1 : 0;
    f.retransmits_unknown += record.retransmits.has_value() ? 0 : 1;
    CHECK(f.fired <= f.rows && f.drift_left_out <= f.fired);
    CHECK(f.overtaken_turns <= f.follow_up_turns && f.follow_up_turns <= f.fired);
    sending_.add(record);
}

/// Cache hits and prompt lengths, of all rows whose server said something.
void Summary::add_prompt(const Record& record) {
    SummaryFigures& f = figures_;
    const bool is_foretold = record.expected_cached_tokens.has_value();
    const std::uint64_t expected = token_count(record.expected_cached_tokens);
    f.expected_cached_tokens += expected;
    f.rows_unforetold += is_foretold ? 0 : 1;
    f.rows_in_words += record.fired_ns && !is_foretold ? 1 : 0;
    (record.side == Side::b ? against_excess_ : cache_excess_).add(record, f.template_pre);
    if (record.cached_tokens.has_value()) {
        ++f.cache_rows_reported;
        f.cached_tokens += token_count(record.cached_tokens);
        f.expected_cached_tokens_reported += expected;
        f.cache_rows_unforetold += is_foretold ? 0 : 1;
        f.cached_tokens_unforetold += is_foretold ? 0 : token_count(record.cached_tokens);
        if (is_foretold && f.cache_prompt_tokens) {
            const bool is_known = record.prompt_tokens || record.input_length;
            f.cache_prompt_tokens =
                is_known
                    ? std::optional(*f.cache_prompt_tokens + token_count(prompt_tokens_of(record)))
                    : std::nullopt;
        }
        f.cache_rows_equal += record.cached_tokens == record.expected_cached_tokens ? 1 : 0;
        if (record.expected_cached_server.has_value()) {
            ++f.server_cache_rows;
            f.server_cache_expected += token_count(record.expected_cached_server);
            f.server_cache_rows_equal +=
                record.cached_tokens == record.expected_cached_server ? 1 : 0;
        }
        CHECK(f.cache_rows_equal <= f.cache_rows_reported);
        const bool is_above = token_count(record.cached_tokens) > expected + f.template_pre;
        f.cache_rows_above += is_foretold && is_above ? 1 : 0;
    }
    prompts_.add(record);
}

/// Whole answers by their length.
void Summary::add_output(const Record& record) {
    if (!is_whole(record.outcome)) {
        return;
    }
    SummaryFigures& f = figures_;
    if (!counts_output(record) || !record.output_length) {
        ++f.outputs_unknown;
        f.outputs_unrecorded += record.output_length ? 0 : 1;
        return;
    }
    const std::int64_t asked = *record.output_length;
    const std::int64_t got = *record.output_tokens;
    CHECK(f.outputs_exact + f.outputs_short + f.outputs_long + f.outputs_unknown < f.rows);
    ++(got == asked ? f.outputs_exact : got < asked ? f.outputs_short : f.outputs_long);
}

void Summary::add_ok(const Record& record) {
    SummaryFigures& f = figures_;
    ++f.completed;
    f.input_tokens += token_count(prompt_tokens_of(record));
    f.output_tokens += token_count(record.output_tokens);
    add_moved_time(e2e_, record, record.e2e_ns, error_from_fire(record, record.last_late_ns));
    const bool is_counted = counts_output(record);
    f.uncounted.inputs += record.prompt_tokens || record.input_length ? 0 : 1;
    f.uncounted.outputs += is_counted ? 0 : 1;
    f.uncounted.lost += !is_counted && lost_in_client(record) ? 1 : 0;
    add_moved_time(tpot_, record, record.tpot_ns, tpot_error(record));
    add_hidden_tpot(record);
    tpot_gaps_ += record.tpot_ns ? static_cast<double>(record.output_tokens.value_or(1)) - 1 : 0;
    f.tpot_unknown += !record.tpot_ns && is_counted && *record.output_tokens > 1 ? 1 : 0;
    add_gaps(record);
}

/// Several tokens that were read at one instant may have come apart: all of it while they waited.
/// One chunk is as the server sent it.
void Summary::add_hidden_tpot(const Record& record) {
    if (record.tpot_ns || !counts_output(record) || *record.output_tokens <= 1 ||
        record.chunk_ns.size() == 1 || lost_in_client(record)) {
        return;
    }
    if (const std::optional<ErrorBar> error = tpot_error(record)) {
        tpot_.add_possible(error->above, is_excluded(record));
    } else {
        tpot_.add_missing();
    }
}

/// Gaps between chunks once each; per token, once per token. A chunk of no token lends its time to
/// the next one.
void Summary::add_gaps(const Record& record) {
    const std::vector<std::int64_t>& stamps = record.chunk_ns;
    const bool counted = stamps.empty() ||
                         (record.chunk_tokens_known && record.chunk_tokens.size() == stamps.size());
    figures_.itl_rows_left_out += counted ? 0 : 1;
    constexpr std::int64_t unbounded = BoundedHistogram::unbounded;
    const bool has_bounds = record.chunk_late_ns.size() == stamps.size() && !is_unsure(record);
    const auto late_ns = [&](std::size_t chunk) {
        return has_bounds ? std::clamp<std::int64_t>(record.chunk_late_ns[chunk], 0, unbounded)
                          : unbounded;
    };
    std::size_t from = 0;  // the latest chunk with tokens
    for (std::size_t i = 1; i < stamps.size(); ++i) {
        chunk_gap_.add(stamps[i] - stamps[i - 1], late_ns(i), late_ns(i - 1));
        if (!counted || record.chunk_tokens[i] <= 0) {
            continue;
        }
        const std::int64_t tokens = record.chunk_tokens[i];
        const auto a_token = [tokens](std::int64_t ns) {
            return ns == unbounded ? ns : (ns + tokens - 1) / tokens;
        };
        itl_.add((stamps[i] - stamps[from] + tokens / 2) / tokens, a_token(late_ns(i)),
                 a_token(late_ns(from)), static_cast<std::uint64_t>(tokens));
        from = i;
    }
}

SummaryFigures Summary::figures() const {
    SummaryFigures f = figures_;
    f.prompts = prompts_.figures();
    f.errors = errors_.by_rows();
    f.errors_others = errors_.others();
    f.phase = phase_.figures();
    f.ttft = ttft_.distribution();
    f.has_bounds = f.has_bounds || f.ttft.count == 0;  // refusals alone lack none
    f.ttft_due = ttft_due_.distribution();
    f.tpot = tpot_.distribution();
    f.e2e = e2e_.distribution();
    f.sending = sending_.figures();
    f.itl = itl_.distribution();
    f.chunk_gap = chunk_gap_.distribution();
    if (f.has_bounds) {
        f.ttft_bounds = ttft_.bounds();
        f.tpot_bounds = tpot_.bounds();
        f.e2e_bounds = e2e_.bounds();
        f.itl_bounds = itl_.bounds();
        f.chunk_gap_bounds = chunk_gap_.bounds();
        add_moved("TTFT", ttft_, 1, f.moved);
        // Of few tokens, as much as moves E2E by the whole.
        const double a_gap = tpot_gaps_ > 0 ? static_cast<double>(f.tpot.count) / tpot_gaps_ : 0;
        add_moved("TPOT", tpot_, std::max(a_gap, 0.1), f.moved);
        add_moved("E2E", e2e_, 1, f.moved);
    }
    f.timeline = timeline_.figures();
    if (f.timeline.rows_without_chunks > 0) {  // of the others alone they would be a part
        f.itl = {};
        f.chunk_gap = {};
        f.itl_bounds = f.chunk_gap_bounds = {};
        f.itl_rows_left_out = f.completed;
    }
    f.duration_ns = f.timeline.duration_ns;
    CHECK(f.duration_ns >= 0);
    f.request_throughput = f.per_second(f.completed);
    if (f.uncounted.outputs == 0) {
        f.output_throughput = f.per_second(f.output_tokens);
    }
    if (f.uncounted.outputs == 0 && f.uncounted.inputs == 0) {
        f.total_token_throughput = f.per_second(f.input_tokens + f.output_tokens);
    }
    if (f.judges_goodput() && f.uncounted.goodput == 0) {
        f.request_goodput = f.per_second(f.good);
    }
    f.urls = by_url_.figures();
    f.sides = by_side_.figures();
    f.shards = by_shard_.figures();
    if (std::string where = explain_by_url(f.urls); !where.empty()) {
        f.prompts.explanation = std::move(where);
    }
    f.cache_excess =
        f.cache_rows_reported > 0 ? cache_excess_.tokens() + against_excess_.tokens() : 0;
    return f;
}

bool has_lane_cap(const std::vector<std::string>& arguments) {
    return std::ranges::any_of(
        arguments, [](const std::string& one) { return one.starts_with("--connections="); });
}

/// The load came as the trace has it: no answer and no cap kept rows back, and it was not to rise.
static bool is_open_load(const SummaryFigures& f, const SummaryInfo& info) {
    const std::string rate = info.run.arrival ? info.run.arrival->rate : "";
    const bool rises = rate.starts_with("ramp") || rate.starts_with("shape");
    return info.run.users == 0 && info.run.sessions != "closed" && !rises &&
           !has_lane_cap(info.run.arguments) && !f.has_held() && !f.sides && !info.unfinished;
}

/// Rows left late by less than a tenth of what they waited for, from their due instants.
static bool is_late_by_little(const SummaryFigures& f) {
    return f.load_late().max <= 0.1 * f.ttft_due.median();
}

bool may_tell_kept_up(const SummaryFigures& f, const SummaryInfo& info) {
    return is_open_load(f, info) && f.timeline.stability.stability != Stability::unknown;
}

std::optional<bool> kept_up(const SummaryFigures& f, const SummaryInfo& info) {
    const Stability stability = f.timeline.stability.stability;
    if (!may_tell_kept_up(f, info)) {
        return std::nullopt;
    }
    const auto all = static_cast<double>(f.fired);
    const bool on_time = static_cast<double>(f.sent_late()) <= 0.01 * all;
    if (stability == Stability::unstable) {
        // What failed or was given up would have waited on.
        return on_time || is_late_by_little(f) ? std::optional(false) : std::nullopt;
    }
    if (on_time && static_cast<double>(f.timed_out()) > 0.01 * all) {
        return false;  // a wait that ends at a limit rises no further
    }
    // Refusals come fast, and what was given up waits no longer: they tell nothing of a queue.
    const bool answers = static_cast<double>(f.answered()) >= 0.99 * all;
    return on_time && answers ? std::optional(true) : std::nullopt;
}

}  // namespace driftless
