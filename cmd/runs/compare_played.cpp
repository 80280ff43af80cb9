/// A run as it was played, as far as a comparison needs it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/base/values.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/runs/compare.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/hash.hpp"
#include "proto/figures/run_timeline.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

namespace {

struct ReadRow {
    ComparedRequest request;
    PlayedRow row;
    std::uint32_t attempt = 0;
    bool censored = false;
    bool waits_in_vain = false;  ///< not sent, for a row that it waited for failed
};

/// One side while its records are read.
struct SideRead {
    std::vector<ReadRow> rows;
    RunTimeline timeline;
};

}  // namespace

static double known(const OptionalNs& value) {
    return value ? static_cast<double>(*value) : unknown_value;
}

/// Whether the server is to blame: what the end of the client cut off says nothing of it.
static bool is_servers_failure(const Record& record) {
    return is_failure(record.outcome) && record.outcome != Outcome::not_sent &&
           record.outcome != Outcome::interrupted && record.outcome != Outcome::cancelled;
}

static void put_slo(const GoodputRules& slo, const Record& record, ComparedRequest& out) {
    const std::optional<std::size_t> rule = rule_of(slo, record);
    if (!rule || record.censored) {
        return;
    }
    const GoodputLimits& limits = slo[*rule].limits;
    if (record.outcome != Outcome::interrupted) {  // of such a row nobody knows
        out.meets_slo = is_good(limits, record);
    }
    out.surely_meets_slo = is_good(limits, record, TimesAt::longest).value_or(false);
    out.may_meet_slo = is_good(limits, record, TimesAt::shortest).value_or(false);
}

/// The same in each run; another one in each pass.
static std::uint64_t tree_of(const Record& record) {
    const std::optional<std::string>& name = record.tree ? record.tree : record.session;
    if (!name) {
        return 0;
    }
    Digest digest;
    digest.add(*name);
    digest.add_u64(record.pass);
    return std::max<std::uint64_t>(digest.value(), 1);
}

/// It left, or was read, later than a certificate allows, and that is known: by less than a
/// twentieth of what it lasted. The client's error holds how far that may have moved it.
static bool is_little_late(const Record& record) {
    constexpr double part_max = 0.05;
    const auto is_lateness = [](const std::string& why) {
        return why == taint_late || why == taint_wire_late || why == taint_sent_late ||
               why == taint_read_late;
    };
    if (!std::ranges::all_of(record.tainted, is_lateness) || !record.last_late_ns ||
        !record.e2e_ns || !record.drift_ns || !record.wire_delay_bound_ns) {
        return false;
    }
    const std::int64_t late_ns =
        *record.drift_ns + *record.wire_delay_bound_ns + record.request_delay_ns.value_or(0);
    return static_cast<double>(late_ns) <= part_max * static_cast<double>(*record.e2e_ns);
}

static ReadRow read_row(const Record& record, const GoodputRules& slo, bool lane_cap) {
    ReadRow out;
    ComparedRequest& request = out.request;
    request.key = number_in_pass(record.row, record.pass);
    request.due_ns = record.due_ns;
    request.tree = tree_of(record);
    request.ok = record.outcome == Outcome::ok;
    request.failed = is_servers_failure(record);
    request.tainted = !record.tainted.empty() && !stays_in(record) && !is_little_late(record);
    request.held = is_wish(record.late_cause) || (lane_cap && record.late_cause == LateCause::lane);
    request.fired_ns = record.fired_ns;
    put_slo(slo, record, request);
    request.ended_ns = record.ended_ns ? record.ended_ns : record.done_ns;
    const double length = static_cast<double>(record.input_length.value_or(0));
    PlayedRow& row = out.row;
    row.row = record.row;
    row.pass = record.pass;
    row.turn = record.turn.value_or(0);
    row.outcome = record.outcome;
    row.prompt_tokens = record.prompt_tokens ? static_cast<double>(*record.prompt_tokens) : length;
    row.cached_tokens = known(record.cached_tokens);
    row.expected_tokens = known(record.expected_cached_tokens);
    row.output_digest = record.output_digest;
    request.input_tokens = record.input_length ? length : row.prompt_tokens;
    request.output_tokens =
        counts_output(record) ? static_cast<double>(*record.output_tokens) : unknown_value;
    request.values = {known(record.ttft_ns), known(record.ttft_due_ns),  // [RowValue]
                      record.tpot_ns.value_or(unknown_value), known(record.e2e_ns)};
    constexpr double unbounded = std::numeric_limits<double>::infinity();
    const auto bar = [](const std::optional<ErrorBar>& error) {
        return error.value_or(ErrorBar{unbounded, unbounded});
    };
    const ErrorBar ttft = bar(error_from_fire(record, record.first_late_ns));
    // From the due instant, too: how late the row was sent is in it on purpose.
    request.errors = {ttft, ttft, bar(tpot_error(record)),
                      bar(error_from_fire(record, record.last_late_ns))};
    out.attempt = record.attempt;
    out.censored = record.censored;
    out.waits_in_vain = record.outcome == Outcome::not_sent && record.error.has_value();
    return out;
}

static void count(const ReadRow& one, PlayedCounts& counts) {
    const Outcome outcome = one.row.outcome;
    counts.ok += one.request.ok ? 1 : 0;
    counts.failed += one.request.failed ? 1 : 0;
    counts.other_length += is_whole(outcome) && !one.request.ok ? 1 : 0;
    counts.abandoned += outcome == Outcome::abandoned ? 1 : 0;
    counts.censored += one.censored ? 1 : 0;
    counts.dropped += one.waits_in_vain ? 1 : 0;
    counts.interrupted += outcome == Outcome::interrupted ? 1 : 0;
    const bool ended_by_user = outcome == Outcome::cancelled && !one.censored;
    counts.unplayed += ended_by_user || (outcome == Outcome::not_sent && !one.waits_in_vain);
    counts.again += one.attempt > 0 ? 1 : 0;
    counts.tainted += one.request.tainted ? 1 : 0;
}

/// The rows in the order of their keys, of each the last try.
static void settle(SideRead& read, PlayedRun& run) {
    std::ranges::stable_sort(read.rows, [](const ReadRow& a, const ReadRow& b) {
        return a.request.key != b.request.key ? a.request.key < b.request.key
                                              : a.attempt < b.attempt;
    });
    const bool has_bounds = run.facts.schema >= first_schema_with_bounds;
    run.compared.requests.reserve(read.rows.size());
    run.rows.reserve(read.rows.size());
    for (std::size_t i = 0; i < read.rows.size(); ++i) {
        const ReadRow& one = read.rows[i];
        if (i + 1 < read.rows.size() && read.rows[i + 1].request.key == one.request.key) {
            continue;
        }
        count(one, run.counts);
        run.compared.requests.push_back(one.request);
        if (!has_bounds) {
            ComparedRequest& exact = run.compared.requests.back();
            exact.errors = {};
            exact.surely_meets_slo = exact.may_meet_slo = exact.meets_slo.value_or(false);
        }
        run.rows.push_back(one.row);
    }
    const RunTimelineFigures times = read.timeline.figures();
    run.compared.duration_ns = times.duration_ns;
    run.compared.least_duration_ns = has_bounds ? times.duration_least_ns : 0;
}

/// As its summary.json has it; empty where there is none.
static void read_verdict(const std::string& folder, PlayedRun& run) {
    const std::string path = folder + "/summary.json";
    const Result<std::string> text = read_regular_file(path);
    if (!text && text.error().code == ErrorCode::not_found) {
        return;
    }
    run.why_no_verdict =
        "no verdict, " + path + " has none (driftless report " + folder + " rebuilds it)";
    const ParsedJson summary(text);
    const JsonValue verdict = summary.root.find("verdict");
    run.verdict = kept_text(verdict.find("name"));
    run.verdict_reasons = texts_of(verdict.find("reasons"));
    run.warnings = texts_of(verdict.find("warnings"));
}

namespace {

using Sides = std::array<SideRead, side_count>;

/// Rules by a column that no record has had so far: such a rule would fit no row, without a word.
class UnmetColumns {
  public:
    explicit UnmetColumns(const GoodputRules& slo) {
        for (const GoodputRule& rule : slo) {
            if (rule.key && rule.key->kind == GroupKey::Kind::kept) {
                keys_.push_back(*rule.key);
            }
        }
    }
    void meet(const Record& record) {
        std::erase_if(
            keys_, [&](const GroupKey& key) { return group_value(key, record, scratch_) != "-"; });
    }
    std::string refusal(const std::string& folder) const {
        return keys_.empty() ? ""
                             : folder + ": --goodput uses the column " + keys_.front().member +
                                   ", which no record of this run has; replay with --keep " +
                                   keys_.front().member;
    }

  private:
    std::vector<GroupKey> keys_;
    JsonDocument scratch_;
};

}  // namespace

static std::string read_sides(const std::string& path, const RunFacts& facts,
                              const GoodputRules& slo, Sides& sides, UnmetColumns& unmet) {
    const bool lane_cap = has_lane_cap(facts.arguments);
    return each_record_in(path, [&](const Record& record) {
        unmet.meet(record);
        SideRead& side = sides[static_cast<std::size_t>(record.side)];
        if (record.phase == Phase::warmup) {
            side.timeline.add_warm_up(record);
        } else if (record.phase == Phase::profile) {
            side.timeline.add(record);
            side.rows.push_back(read_row(record, slo, lane_cap));
        }
    });
}

std::vector<const PlayedRun*> all_runs(const std::vector<PlayedRun>& a,
                                       const std::vector<PlayedRun>& b) {
    std::vector<const PlayedRun*> runs;
    for (const std::vector<PlayedRun>* group : {&a, &b}) {
        for (const PlayedRun& run : *group) {
            runs.push_back(&run);
        }
    }
    return runs;
}

int read_played(const std::string& folder, const GoodputRules& slo, std::vector<PlayedRun>& out,
                std::string& why) {
    PlayedRun run;
    run.folder = without_slashes(folder);
    if (why = read_run(run.folder, run.facts); !why.empty()) {
        return exit_usage;
    }
    run.killed = !run.facts.ended;
    run.goes_on = is_being_written(run.folder);
    read_verdict(run.folder, run);
    const std::string path = run.facts.records_in(run.folder);
    Sides sides;
    UnmetColumns unmet(slo);
    if (why = read_sides(path, run.facts, slo.empty() ? run.facts.goodput : slo, sides, unmet);
        !why.empty()) {
        return exit_input;
    }
    if (why = unmet.refusal(run.folder); !why.empty()) {
        return exit_usage;
    }
    const auto rows_of = [&sides](Side side) -> SideRead& {
        return sides[static_cast<std::size_t>(side)];
    };
    const bool is_dual = !rows_of(Side::a).rows.empty() || !rows_of(Side::b).rows.empty();
    const std::uint64_t planned = is_dual ? run.facts.rows / 2 : run.facts.rows;  // of each side
    for (const Side side : is_dual ? std::vector{Side::a, Side::b} : std::vector{Side::none}) {
        PlayedRun& one = out.emplace_back(run);
        one.side = side == Side::none ? "" : name_of(side);
        one.facts.rows = planned;
        settle(rows_of(side), one);
        if (!run.facts.has_users &&
            one.rows.size() < planned) {  // how many users send nobody knows
            one.counts.unplayed += planned - one.rows.size();
        }
    }
    return exit_done;
}

static constexpr std::uint32_t size_groups = 5;
static constexpr int time_groups = 6;

namespace {

/// One request in several runs: its place in each of them.
struct Sent {
    const std::vector<const PlayedRun*>& runs;
    std::vector<std::size_t> at;  ///< [runs]

    const ComparedRequest& request(std::size_t run) const {
        return runs[run]->compared.requests[at[run]];
    }
    const PlayedRow& row(std::size_t run) const { return runs[run]->rows[at[run]]; }
    /// The mean over runs `from` to `to`; NaN where one does not know it.
    double mean(std::size_t from, std::size_t to, std::size_t value) const {
        double sum = 0;
        for (std::size_t run = from; run < to; ++run) {
            const double one = request(run).values[value];
            sum += request(run).ok && one > 0 ? one : unknown_value;
        }
        return sum / static_cast<double>(to - from);
    }
};

}  // namespace

/// Gives `take` each request that all runs have, in the order of their keys.
template <typename Take>
static void each_of_all(const std::vector<const PlayedRun*>& runs, Take take) {
    Sent sent{runs, std::vector<std::size_t>(runs.size(), 0)};
    for (const ComparedRequest& first : runs.front()->compared.requests) {
        bool all_have = true;
        for (std::size_t run = 0; run < runs.size(); ++run) {
            const std::vector<ComparedRequest>& requests = runs[run]->compared.requests;
            std::size_t& at = sent.at[run];
            while (at < requests.size() && requests[at].key < first.key) {
                ++at;
            }
            all_have = all_have && at < requests.size() && requests[at].key == first.key;
        }
        if (all_have) {
            take(sent);
        }
    }
}

static std::vector<PairedRequest> known_of(const std::vector<PairedRequest>& requests,
                                           RowValue value) {
    std::vector<PairedRequest> known;
    for (const PairedRequest& one : requests) {
        if (!std::isnan(one.ratio(value))) {
            known.push_back(one);
        }
    }
    return known;
}

namespace {

/// A group's name and rows; sorted by `order`.
struct Group {
    std::string name;
    std::vector<const PairedRequest*> rows;
};
using Groups = std::map<std::int64_t, Group>;

}  // namespace

/// `place_of(row)`: the order of its group and the group's name, or nothing.
template <typename PlaceOf>
static Groups groups_by(const std::vector<PairedRequest>& rows, PlaceOf place_of) {
    Groups groups;
    for (const PairedRequest& row : rows) {
        if (std::optional<std::pair<std::int64_t, std::string>> place = place_of(row)) {
            Group& group = groups[place->first];
            group.name = std::move(place->second);
            group.rows.push_back(&row);
        }
    }
    return groups;
}

static Groups by_size(const std::vector<PairedRequest>& rows) {
    std::vector<std::uint32_t> lengths;
    for (const PairedRequest& row : rows) {
        lengths.push_back(static_cast<std::uint32_t>(row.input_tokens));
    }
    const std::vector<std::uint32_t> bounds = length_bounds(lengths, size_groups);
    return groups_by(rows, [&bounds](const PairedRequest& row) {
        const auto found = std::ranges::lower_bound(bounds, row.input_tokens);
        return std::pair(found - bounds.begin(), "to " + with_commas(*found, 0));
    });
}

static Groups by_turn(const std::vector<PairedRequest>& rows) {
    struct Turns {
        std::uint32_t last;
        const char* name;
    };
    constexpr std::array turns{Turns{0, "none"},
                               Turns{1, "1"},
                               Turns{2, "2"},
                               Turns{4, "3 to 4"},
                               Turns{8, "5 to 8"},
                               Turns{16, "9 to 16"},
                               Turns{UINT32_MAX, "from 17"}};
    return groups_by(rows, [&turns](const PairedRequest& row) {
        const auto* const found =
            std::ranges::find_if(turns, [&row](const Turns& one) { return row.turn <= one.last; });
        return std::pair(found - turns.begin(), found->name);
    });
}

static Groups by_hit(const std::vector<PairedRequest>& rows) {
    constexpr std::array names{"none", "to 25 %", "to 50 %", "to 75 %", "to 100 %"};
    return groups_by(rows, [&names](const PairedRequest& row) {
        const bool known = !std::isnan(row.expected_hit);
        const double part = known ? std::clamp(row.expected_hit, 0.0, 1.0) : 0;
        const auto quarters = static_cast<std::size_t>(std::ceil(part * 4));
        return known ? std::optional(std::pair(quarters, names[quarters])) : std::nullopt;
    });
}

static Groups by_time(const std::vector<PairedRequest>& rows) {
    const auto order = [](const PairedRequest& x, const PairedRequest& y) {
        return x.due_ns < y.due_ns;
    };
    const auto [first, last] = std::ranges::minmax_element(rows, order);
    const std::int64_t from = first->due_ns;
    const std::int64_t part = std::max<std::int64_t>((last->due_ns - from) / time_groups + 1, 1);
    return groups_by(rows, [from, part](const PairedRequest& row) {
        const std::int64_t number = (row.due_ns - from) / part;
        return std::pair(number, fmt::format("{:.1f} to {:.1f} s", in_s(from + number * part),
                                             in_s(from + (number + 1) * part)));
    });
}

/// A's side of a group is 1 everywhere, so that the ratio of the two medians is the median of the
/// ratios, with the interval of the room that all others come from.
static ChangeGroup change_of(const Group& group, RowValue value, const ComparisonOptions& options) {
    ComparedRun ones;
    ComparedRun ratios;
    for (const PairedRequest* row : group.rows) {
        ComparedRequest& one = ones.requests.emplace_back();
        one.key = std::uint64_t{row->pass} << 32 | row->row;
        one.due_ns = row->due_ns;
        one.tree = row->tree;
        one.ok = true;
        one.values[static_cast<std::size_t>(RowValue::ttft)] = 1;
        ratios.requests.push_back(one);
        ratios.requests.back().values[static_cast<std::size_t>(RowValue::ttft)] = row->ratio(value);
    }
    const ComparedMetric median{ComparedFigure::value_percentile, RowValue::ttft, 500};
    const GroupComparison compared =
        compare_groups({&ones, 1}, {&ratios, 1}, {&median, 1}, options);
    const MetricComparison& found = compared.metrics.front();
    ChangeGroup out{group.name, group.rows.size(), found.ratio,
                    found.low,  found.high,        found.in_these_runs};
    if (std::isnan(out.ratio)) {  // few rows have a median, and no interval
        std::vector<double> values;
        for (const PairedRequest* row : group.rows) {
            values.push_back(row->ratio(value));
        }
        std::nth_element(values.begin(), values.begin() + (values.size() - 1) / 2, values.end());
        out.ratio = values[(values.size() - 1) / 2];
    }
    return out;
}

std::vector<PairedRequest> paired_requests(const std::vector<PlayedRun>& a,
                                           const std::vector<PlayedRun>& b) {
    std::vector<PairedRequest> requests;
    each_of_all(all_runs(a, b), [&](const Sent& sent) {
        const PlayedRow& row = sent.row(0);
        const ComparedRequest& request = sent.request(0);
        PairedRequest& one = requests.emplace_back();
        one.row = row.row;
        one.pass = row.pass;
        one.turn = row.turn;
        one.due_ns = request.due_ns;
        one.tree = request.tree;
        one.input_tokens = request.input_tokens;
        one.expected_hit = row.expected_tokens / row.prompt_tokens;
        for (std::size_t i = 0; i < row_value_count; ++i) {
            one.a[i] = sent.mean(0, a.size(), i);
            one.b[i] = sent.mean(a.size(), a.size() + b.size(), i);
            if (std::isnan(one.ratio(static_cast<RowValue>(i)))) {
                one.a[i] = one.b[i] = unknown_value;
            }
        }
    });
    return requests;
}

std::vector<PairedRequest> most_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                        std::size_t most) {
    std::vector<PairedRequest> known = known_of(requests, value);
    const auto size = [value](const PairedRequest& one) {
        return std::fabs(std::log(one.ratio(value)));
    };
    const std::size_t listed = std::min(most, known.size());
    std::partial_sort(
        known.begin(), known.begin() + static_cast<std::ptrdiff_t>(listed), known.end(),
        [&](const PairedRequest& x, const PairedRequest& y) { return size(x) > size(y); });
    known.resize(listed);
    return known;
}

std::vector<ChangeView> where_it_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                         const ComparisonOptions& options) {
    std::vector<ChangeView> views;
    const std::vector<PairedRequest> rows = known_of(requests, value);
    if (rows.empty()) {
        return views;
    }
    const auto add = [&](const char* by, const Groups& groups) {
        if (groups.size() < 2) {
            return;
        }
        ChangeView& view = views.emplace_back();
        view.by = by;
        for (const auto& [order, group] : groups) {
            view.groups.push_back(change_of(group, value, options));
        }
    };
    add("input tokens", by_size(rows));
    add("turn", by_turn(rows));
    add("expected hit", by_hit(rows));
    add("due", by_time(rows));
    return views;
}

OutputChanges output_changes(const PlayedRun& a, const PlayedRun& b) {
    OutputChanges out;
    each_of_all({&a, &b}, [&out](const Sent& sent) {
        const bool both_ok = sent.request(0).ok && sent.request(1).ok;
        const auto of_a = sent.row(0).output_digest;
        const auto of_b = sent.row(1).output_digest;
        out.known += both_ok && of_a && of_b ? 1 : 0;
        out.changed += both_ok && of_a && of_b && of_a != of_b ? 1 : 0;
    });
    return out;
}

}  // namespace driftless
