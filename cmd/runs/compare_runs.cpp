/// Whether all runs did the same work, their requests in pairs, and the comparison of them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "cmd/base/values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/runs/compare.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/distribution.hpp"

namespace driftless {

static std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

static std::string time_or(const OptionalNs& ns, const char* nothing) {
    return ns ? duration_to_text(*ns) : nothing;
}

static std::string window_of(const PlayedRun& run) {
    const RunDescription& how = run.facts.info.run;
    const OptionalNs start = how.start_ns == OptionalNs(0) ? OptionalNs() : how.start_ns;
    return fmt::format("{} to {}, due within {}, limit {}", time_or(start, "start"),
                       time_or(how.end_ns, "end"), time_or(how.duration_ns, "any time"),
                       how.limit ? std::to_string(*how.limit) : "none");
}

static std::string window_and_rows(const PlayedRun& run) {
    return window_of(run) + ": " + counted(run.facts.rows, "row", "rows");
}

/// A rate, or "ramp " and a ramp, as it is meant, however it was typed.
static std::string meant_rate(const std::string& typed) {
    constexpr std::string_view ramps = "ramp ";
    if (const Result<TypedRate> rate = parse_rate(typed); rate && !rate.value().infinite) {
        return fmt::format("{}", rate.value().per_second);
    }
    if (typed.starts_with(ramps)) {
        if (const auto ramp = parse_ramp(std::string_view(typed).substr(ramps.size())); ramp) {
            const TypedRamp& one = ramp.value();
            return fmt::format("ramp {} {} {} {} {} {}", one.from, one.to, one.over_rows,
                               one.length_ns, static_cast<int>(one.form), one.steps);
        }
    }
    return typed;
}

static std::string load_with(const PlayedRun& run, const std::string& rate) {
    const RunDescription& how = run.facts.info.run;
    std::string text = "sessions " + how.sessions;
    if (how.users > 0) {
        text += fmt::format(", {} users for {}", how.users, time_or(how.for_ns, "the whole trace"));
    }
    if (how.arrival) {
        text += fmt::format(", rate {} of {}, {}", rate, or_none(how.arrival->of),
                            or_none(how.arrival->law));
    }
    return text + (how.spread ? ", spread" : "");
}

static std::string rate_of(const PlayedRun& run) {
    const auto& arrival = run.facts.info.run.arrival;
    return arrival ? arrival->rate : "";
}

static std::string speed_of(const PlayedRun& run) {
    return run.facts.info.run.speed;
}

static std::string meant_speed_of(const PlayedRun& run) {
    const std::optional<double> speed = read_number<double>(speed_of(run));
    return speed ? fmt::format("{}", *speed) : speed_of(run);
}

static std::string words_of(const PlayedRun& run) {
    const RunFacts& facts = run.facts;
    return fmt::format("{}, dataset {}, template {}", hex_text(facts.words_digest),
                       facts.dataset_digest ? hex_text(*facts.dataset_digest) : "none",
                       facts.template_digest ? hex_text(*facts.template_digest) : "none");
}

/// Its prompts have no salt, and are not shortened by what stands around them.
static bool is_recorded_text(const PlayedRun& run) {
    return !run.facts.info.run.expected_cached_tokens;
}

static std::string overhead_of(const PlayedRun& run) {
    if (is_recorded_text(run)) {
        return "none to make room for";
    }
    const Overhead& overhead = run.facts.overhead;
    return fmt::format("{}+{} tokens", overhead.pre, overhead.post);
}

/// Of all runs of a group, each once: repeats may have salts of their own, so that none finds the
/// prompts of another in the cache, where A and B have the same ones.
static std::string salts_of(const std::vector<PlayedRun>& runs) {
    std::set<std::string> salts;
    for (const PlayedRun& run : runs) {
        salts.insert(is_recorded_text(run) ? "none" : or_none(run.facts.info.run.cache_salt));
    }
    return joined(salts, ", ");
}

namespace {

/// Which digests of two runs are equal.
struct SameDigests {
    bool dues = false;     ///< of the rows and their instants
    bool prompts = false;  ///< of all prompts that were sent: live answers are in none
};

/// Equal digests by which a part decides nothing, whatever flags said.
using Excuse = bool (*)(SameDigests same);

}  // namespace

static SameDigests same_digests(const RunFacts& a, const RunFacts& b) {
    return {.dues = a.schedule_digest == b.schedule_digest && a.schedule_digest != 0,
            .prompts = a.prompts_digest && a.prompts_digest == b.prompts_digest && !a.is_live &&
                       !b.is_live};
}

static constexpr Excuse by_dues = [](SameDigests same) { return same.dues; };
static constexpr Excuse by_prompts = [](SameDigests same) { return same.prompts; };
static constexpr Excuse by_either = [](SameDigests same) { return same.dues || same.prompts; };
static constexpr Excuse by_both = [](SameDigests same) { return same.dues && same.prompts; };
static constexpr Excuse by_nothing = [](SameDigests) { return false; };

namespace {

/// Something that run.json says, by which two runs can differ. `explains`: instants or prompts
/// differ because of it.
struct WorkPart {
    const char* what;
    Weight weight;
    std::string (*value)(const PlayedRun& run);
    const char* remedy;
    bool explains_dues = false;
    bool explains_prompts = false;
    std::string (*shown)(const PlayedRun& run) = nullptr;  ///< instead of `value`
    Excuse excuse = by_nothing;
    bool of_rows = true;  ///< else a table's runs may differ in it
};

}  // namespace

static constexpr const char* repeat =
    "run B with driftless replay --from A, which repeats A's work";
static constexpr std::array work_parts{
    WorkPart{
        "trace", Weight::no_pairs,
        [](const PlayedRun& run) { return hex_text(run.facts.trace_digest); },
        "give both the same TRACE; rows of different traces cannot be paired, even with --anyway",
        true, true,
        [](const PlayedRun& run) {
            return run.facts.info.trace + " (" + hex_text(run.facts.trace_digest) + ")";
        }},
    WorkPart{"load", Weight::refused,
             [](const PlayedRun& run) { return load_with(run, meant_rate(rate_of(run))); }, repeat,
             true, true, [](const PlayedRun& run) { return load_with(run, rate_of(run)); }, by_dues,
             false},
    WorkPart{"speed", Weight::refused, meant_speed_of, repeat, true, false, speed_of, by_dues,
             false},
    WorkPart{"window", Weight::refused, window_of, repeat, true, true, window_and_rows, by_either},
    WorkPart{"seed", Weight::refused,
             [](const PlayedRun& run) { return std::to_string(run.facts.info.run.seed); }, repeat,
             true, true, nullptr, by_both},
    WorkPart{"prompts", Weight::refused,
             [](const PlayedRun& run) {
                 return run.facts.info.run.prompt +
                        (run.facts.is_live ? ", with live answers" : "");
             },
             repeat, false, true, nullptr, by_prompts},
    WorkPart{"words", Weight::refused, words_of,
             "give both the same --tokenizer, --dataset and --template", false, true, nullptr,
             by_prompts, false},
    WorkPart{"tokens around prompts", Weight::refused, overhead_of,
             "the servers' templates differ, and prompts were shortened to fit; give both the same "
             "--overhead",
             false, true, nullptr, by_prompts, false},
    WorkPart{"output mode", Weight::refused,
             [](const PlayedRun& run) { return or_none(run.facts.info.run.output); }, repeat},
    WorkPart{"api", Weight::told, [](const PlayedRun& run) { return run.facts.info.backend; }, ""},
    WorkPart{"model", Weight::told, [](const PlayedRun& run) { return run.facts.info.model_id; },
             ""},
    WorkPart{"driver", Weight::told, [](const PlayedRun& run) { return run.facts.drivers(); }, ""},
};

/// What all shards of one replay have alike, beside their work.
static constexpr std::array shard_parts{
    WorkPart{"cache salt", Weight::refused,
             [](const PlayedRun& run) { return or_none(run.facts.info.run.cache_salt); }, ""},
    WorkPart{"due instants", Weight::refused,
             [](const PlayedRun& run) { return hex_text(run.facts.schedule_digest); }, ""},
    WorkPart{"number of shards", Weight::refused,
             [](const PlayedRun& run) {
                 return run.facts.shard ? std::to_string(run.facts.shard->count) : "none";
             },
             ""},
};

namespace {

class Differences {
  public:
    /// `of_rows`: the runs may differ in what sets their pace, and in their servers.
    explicit Differences(std::vector<const PlayedRun*> runs, bool of_rows = false)
        : runs_(std::move(runs)), of_rows_(of_rows) {}

    void add_part(const WorkPart& part) {
        const std::string first = part.value(*runs_.front());
        for (const PlayedRun* run : runs_) {
            const std::string value = part.value(*run);
            if (value != first && !part.excuse(same_digests(runs_.front()->facts, run->facts))) {
                const auto shown = part.shown != nullptr ? part.shown : part.value;
                const Weight weight = of_rows_ && !part.of_rows ? Weight::told : part.weight;
                found_.push_back({weight, part.what, shown(*runs_.front()), shown(*run),
                                  run->name(), part.remedy});
                dues_explained_ = dues_explained_ || part.explains_dues;
                prompts_explained_ = prompts_explained_ || part.explains_prompts;
                return;
            }
        }
    }
    void add_parts(std::span<const WorkPart> parts) {
        for (const WorkPart& part : parts) {
            add_part(part);
        }
    }
    /// Flags that make the rows.
    void add_corpus() {
        for (const PlayedRun* run : runs_) {
            const PlayedRun& first = *runs_.front();
            const bool same = played_same(first.facts, run->facts);
            for (const FlagInRuns& one :
                 settings_in_runs({&first.facts.arguments, &run->facts.arguments},
                                  [same](std::size_t, std::size_t) { return same; })) {
                if (one.flag->traits.has(of_corpus) && one.texts[0] != one.texts[1]) {
                    found_.push_back({Weight::refused, "--" + one.name(), or_none(one.texts[0]),
                                      or_none(one.texts[1]), run->name(), repeat});
                    dues_explained_ = prompts_explained_ = true;
                }
            }
        }
    }
    /// What a table's runs may differ in: then their digests do.
    void explain_digests() {
        const RunFacts& first = runs_.front()->facts;
        for (const PlayedRun* run : runs_) {
            const auto [a, b] =
                differing_settings(first.arguments, run->facts.arguments, beside_sending);
            dues_explained_ = dues_explained_ || a != b;
            prompts_explained_ = prompts_explained_ || a != b ||
                                 first.info.run.cache_salt != run->facts.info.run.cache_salt;
        }
    }
    void add_salts(const std::vector<PlayedRun>& a, const std::vector<PlayedRun>& b) {
        const std::string of_a = salts_of(a);
        const std::string of_b = salts_of(b);
        if (of_a != of_b) {
            found_.push_back(
                {Weight::refused, "cache salt", of_a, of_b, b.front().name(),
                 "lengths and sharing are equal, only the words differ; give both the same "
                 "--cache-salt, or use --anyway if both runs used one warm server"});
        }
        // Then their digests differ, and must.
        prompts_explained_ = prompts_explained_ || of_a != of_b || of_a.find(", ") != of_a.npos;
    }
    /// What digests tell, where nothing that is known explains it.
    void add_digests() {
        if (!dues_explained_) {
            add_part({"due instants", Weight::refused,
                      [](const PlayedRun& run) { return hex_text(run.facts.schedule_digest); },
                      repeat});
        }
        const bool all_known = std::ranges::all_of(runs_, [](const PlayedRun* run) {
            return run->facts.prompts_digest.has_value() && !run->facts.is_live;
        });
        if (!prompts_explained_ && all_known) {
            add_part({"prompt digests", Weight::refused,
                      [](const PlayedRun& run) { return hex_text(*run.facts.prompts_digest); },
                      repeat});
        }
    }
    void add_unplayed() {
        for (const PlayedRun* run : runs_) {
            const std::string name = run->name();
            const std::string rows = counted(run->facts.rows, "row", "rows");
            const std::string anew = "driftless replay --from " + run->folder + " runs it again";
            const std::string resume =
                run->facts.is_live || run->facts.has_users
                    ? anew
                    : "driftless replay --resume " + run->folder + " continues it";
            if (const auto& merged = run->facts.info.merged; merged && merged->not_reported() > 0) {
                add_state(name,
                          fmt::format("{} of {} not reported by its shards", merged->not_reported(),
                                      rows),
                          "resume the shards that were killed, and merge all of them again");
            } else if (run->goes_on) {
                add_state(name, "is still running", "wait for its end");
            } else if (run->counts.unplayed > 0) {
                add_state(name, fmt::format("{} of {} not completed", run->counts.unplayed, rows),
                          resume);
            } else if (run->facts.has_users && run->killed) {
                add_state(name, "was killed while its users were active", resume);
            } else if (run->counts.interrupted > 0) {
                add_state(name,
                          fmt::format("{} of {} lost when it was killed, before it was resumed",
                                      run->counts.interrupted, rows),
                          anew);
            }
        }
    }
    /// Without those that digests show to decide nothing.
    void add_settings(FlagTraits beside, Weight weight) {
        for (const PlayedRun* run : runs_) {
            const RunFacts& facts = runs_.front()->facts;
            const bool same = played_same(facts, run->facts);
            const auto [first, value] = differing_settings(facts.arguments, run->facts.arguments,
                                                           same ? beside | of_load : beside);
            if (first != value) {
                found_.push_back(
                    {weight, "settings", or_none(first), or_none(value), run->name(), ""});
                return;
            }
        }
    }
    std::vector<WorkDifference> take() {
        std::ranges::stable_sort(found_, std::greater(), &WorkDifference::weight);
        return std::move(found_);
    }

  private:
    void add_state(const std::string& name, const std::string& what, const std::string& remedy) {
        found_.push_back(
            {Weight::refused, "completeness", "", what, name,
             remedy + ", or use --anyway to compare the requests that all runs share"});
    }

    std::vector<const PlayedRun*> runs_;
    bool of_rows_;
    std::vector<WorkDifference> found_;
    bool dues_explained_ = false;
    bool prompts_explained_ = false;
};

}  // namespace

std::string text_of(const WorkDifference& difference) {
    const auto& [weight, what, a, b, run, remedy] = difference;
    return a.empty() ? fmt::format("{}: {}: {}", what, run, b)
                     : fmt::format("{}: A {}, {} {}", what, a, run, b);
}

std::vector<WorkDifference> work_differences(const std::vector<PlayedRun>& a,
                                             const std::vector<PlayedRun>& b) {
    Differences differences(all_runs(a, b));
    differences.add_parts(work_parts);
    differences.add_corpus();
    differences.add_salts(a, b);
    differences.add_digests();
    differences.add_unplayed();
    differences.add_settings(beside_settings | of_corpus, Weight::told);
    return differences.take();
}

bool played_same(const RunFacts& a, const RunFacts& b) {
    return a.trace_digest == b.trace_digest && by_both(same_digests(a, b));
}

std::vector<WorkDifference> row_differences(const PlayedRun& first, const PlayedRun& run) {
    Differences differences({&first, &run}, true);
    differences.add_parts(work_parts);
    differences.add_corpus();
    differences.explain_digests();
    differences.add_digests();
    std::vector<WorkDifference> found = differences.take();
    std::erase_if(found, [](const auto& one) { return one.weight == Weight::told; });
    return found;
}

std::vector<WorkDifference> shard_differences(const std::vector<PlayedRun>& shards) {
    Differences differences(all_runs(shards, {}));
    differences.add_parts(work_parts);
    differences.add_parts(shard_parts);
    differences.add_settings(beside_sending, Weight::refused);
    return differences.take();
}

Weight heaviest(const std::vector<WorkDifference>& differences) {
    return differences.empty() ? Weight::told : differences.front().weight;
}

/// "5 %": 0.05; a plain decimal number from 0 on.
static std::optional<double> read_percent(std::string_view text) {
    if (!text.ends_with('%')) {
        return std::nullopt;
    }
    text.remove_suffix(1);
    const std::optional<double> value = read_decimal(text);
    return value ? std::optional(*value / 100) : std::nullopt;
}

static Result<double> read_own_bound(MetricUnit unit, std::string_view text) {
    if (unit == MetricUnit::per_second) {
        return invalid(
            "cannot have an absolute bound here; compare B with A, as in \"request_throughput < -5 "
            "%\"");
    }
    if (unit == MetricUnit::share) {
        const std::optional<double> share = read_percent(text);
        return share && *share <= 1
                   ? Result<double>(*share)
                   : invalid(
                         "needs a share from 0 to 100 % for B, as in \"errors > 0.1 %\", or a "
                         "change in percentage points, as in \"errors > +0.1 %\"");
    }
    const bool bare = text.find_first_not_of("0123456789.") == text.npos;
    const Result<std::int64_t> ns =
        bare ? Result<std::int64_t>(invalid("")) : parse_duration_ns(text);
    return ns && ns.value() > 0
               ? Result<double>(static_cast<double>(ns.value()))
               : invalid(
                     "needs a change, as in \"ttft:p99 > +5 %\", or a time with its unit for B, "
                     "as in \"ttft:p99 > 2s\"");
}

/// The same requests, all of them ok, with exact values; `is_good`: as good as can be, else none
/// is.
static std::vector<ComparedRun> all_ok(std::span<const ComparedRun> runs, bool is_good) {
    std::vector<ComparedRun> out(runs.begin(), runs.end());
    for (ComparedRun& run : out) {
        for (ComparedRequest& one : run.requests) {
            one.ok = true;
            one.failed = false;
            one.tainted = one.tainted && !is_good;
            one.meets_slo = one.meets_slo ? std::optional(is_good) : std::nullopt;
            one.surely_meets_slo = one.may_meet_slo = is_good;
            one.errors = {};
        }
    }
    return out;
}

/// B's own value with its interval: A is made of requests that have the bound everywhere, so that
/// B / A - 1 and B - A say how far B lies from it.
static std::vector<ComparedRun> at_the_bound(const ChangeThreshold& threshold,
                                             std::span<const ComparedRun> b) {
    std::vector<ComparedRun> out = all_ok(b, false);
    for (ComparedRun& run : out) {
        for (ComparedRequest& one : run.requests) {
            one.values[static_cast<std::size_t>(threshold.metric.value)] = threshold.bound;
        }
    }
    return out;
}

static Judged judge(const ChangeThreshold& threshold, const JudgedThreshold& found) {
    if (found.doubt == Doubt::no_values) {
        return Judged::fails;  // no figure: a server that was not measured is not a good one
    }
    if (found.doubt != Doubt::none) {
        return Judged::unsure;
    }
    const bool beyond =
        threshold.above ? found.low > threshold.bound : found.high < threshold.bound;
    const bool within =
        threshold.above ? found.high <= threshold.bound : found.low >= threshold.bound;
    return beyond ? Judged::fails : within ? Judged::passes : Judged::unsure;
}

static JudgedThreshold judge_one(const ChangeThreshold& threshold, const ComparedSides& sides,
                                 ComparisonOptions options, bool within_runs) {
    JudgedThreshold out{threshold,     Judged::unsure, unknown_value,
                        unknown_value, unknown_value,  Doubt::none};
    std::vector<ComparedRun> made;
    std::span<const ComparedRun> a = sides.a;
    if (!threshold.relative) {
        made = at_the_bound(threshold, sides.b);
        a = made;
        options.is_bound = true;
        options.is_dual = false;
    }
    const GroupComparison compared = compare_groups(a, sides.b, {&threshold.metric, 1}, options);
    const MetricComparison& found = compared.metrics.front();
    const bool is_ratio = threshold.metric.scale() == Scale::ratio;
    const auto put = [&](double change) {
        return !is_ratio ? change : threshold.relative ? change - 1 : change * threshold.bound;
    };
    out.value = put(found.change);
    out.low = put(found.low);
    out.high = put(found.high);
    if (!is_ratio && !threshold.relative) {  // a share of B alone
        out.low = std::max(out.low, 0.0);
        out.high = std::max(out.high, 0.0);
    }
    // What the clients may have moved is in the interval: it can be held against the bound.
    const bool is_widened = found.doubt == Doubt::client && compared.doubt != Doubt::client;
    const bool is_judged = found.doubt == Doubt::none || found.doubt == Doubt::too_wide ||
                           is_widened || (within_runs && is_of_evidence(found.doubt));
    out.doubt = is_judged ? Doubt::none : found.doubt;
    out.judged = judge(threshold, out);
    return out;
}

/// Requests that a share of runs without a failure needs; 0: it passes, or has no interval.
/// Nothing: no number shows that a share is exactly at its end.
static std::optional<std::uint64_t> share_needs(const ChangeThreshold& threshold,
                                                const ComparedSides& sides,
                                                const ComparisonOptions& options,
                                                std::uint64_t rows) {
    const std::vector<ComparedRun> a = all_ok(sides.a, true);
    const std::vector<ComparedRun> b = all_ok(sides.b, true);
    const JudgedThreshold best = judge_one(threshold, {a, b}, options, true);
    const double perfect = std::abs(best.value);
    const double allowed = std::abs(threshold.bound - perfect);
    if (best.judged != Judged::unsure || std::isnan(best.low)) {
        return 0;
    }
    if (!(allowed > 0)) {
        return std::nullopt;
    }
    // Without a failure the interval is as wide as 1 / (n + 2).
    const double reached = threshold.above ? best.high - perfect : perfect - best.low;
    return static_cast<std::uint64_t>(
        std::ceil((static_cast<double>(rows) + 2) * std::abs(reached) / allowed));
}

static std::string too_small(const ChangeThreshold& threshold, const ComparedSides& sides,
                             const ComparisonOptions& options, bool unsure_fails) {
    std::uint64_t rows = std::numeric_limits<std::uint64_t>::max();
    for (const std::span<const ComparedRun> side : {sides.a, sides.b}) {
        for (const ComparedRun& run : side) {
            rows = std::min<std::uint64_t>(rows, run.requests.size());
        }
    }
    const std::string head = "--fail-if \"" + threshold.text + "\" ";
    const ComparedMetric& metric = threshold.metric;
    const std::uint64_t floor =
        metric.figure == ComparedFigure::value_percentile ? percentile_floor(metric.per_mille) : 0;
    if (rows < floor) {
        return fmt::format(
            "{}needs {} requests in each run for its percentile, and one has {}; replay more rows, "
            "or use a lower percentile or the mean",
            head, floor, rows);
    }
    const bool needs_interval = unsure_fails && metric.unit() == MetricUnit::share;
    const std::optional<std::uint64_t> needed =
        needs_interval ? share_needs(threshold, sides, options, rows) : 0;
    if (!needed) {
        return head +
               "cannot pass with --unsure fail: no number of requests shows that a share is "
               "exactly "
               "that; leave room, as in \"errors > 0.1 %\", or remove --unsure fail";
    }
    return *needed <= rows
               ? ""
               : fmt::format(
                     "{}with --unsure fail needs about {} requests in each run: with {} even runs "
                     "without a failure cannot pass, because the interval reaches beyond the "
                     "bound; replay more rows, or remove --unsure fail",
                     head, *needed, rows);
}

Result<ChangeThreshold> parse_change_threshold(std::string_view text) {
    const std::string condition = without_blanks(text);
    const std::string_view all = condition;
    const std::size_t at = all.find_first_of("<>");
    if (at == all.npos) {
        return invalid(
            "has no comparison; say when it fails, as in \"ttft:p99 > +5 %\" or \"errors > 0.1 "
            "%\"");
    }
    ChangeThreshold out;
    out.text = std::string(text);
    const std::optional<ComparedMetric> metric = read_metric(all.substr(0, at));
    if (!metric) {
        return invalid(why_not_compared(all.substr(0, at)));
    }
    out.metric = *metric;
    out.above = all[at] == '>';
    std::string_view bound = all.substr(at + 1);
    bound.remove_prefix(bound.starts_with('=') ? 1 : 0);
    out.relative = bound.starts_with('+') || bound.starts_with('-');
    if (!out.relative) {
        const Result<double> own = read_own_bound(out.metric.unit(), bound);
        if (!own) {
            return own.error();
        }
        out.bound = own.value();
        const bool is_share = out.metric.unit() == MetricUnit::share;
        if (is_share && (out.above ? out.bound >= 1 : out.bound <= 0)) {
            return invalid("never holds: a share is from 0 to 100 %; use a bound between them");
        }
        return out;
    }
    const std::optional<double> change = read_percent(bound.substr(1));
    if (!change) {
        return invalid("needs a change in percent, as in \"ttft:p99 > +5 %\"");
    }
    out.bound = bound[0] == '-' ? -*change : *change;
    const bool is_share = out.metric.unit() == MetricUnit::share;
    if (out.bound <= -1 || (is_share && out.bound >= 1)) {
        return invalid(is_share
                           ? "is decided by no run: a share changes by 100 points at most; use "
                             "a bound between -100 and +100 %"
                           : "is decided by no run: a figure falls by 100 % at most; use a "
                             "bound above -100 %");
    }
    return out;
}

std::string why_too_small(std::span<const ChangeThreshold> thresholds, const ComparedSides& sides,
                          const ComparisonOptions& options, bool unsure_fails) {
    for (const ChangeThreshold& threshold : thresholds) {
        if (std::string why = too_small(threshold, sides, options, unsure_fails); !why.empty()) {
            return why;
        }
    }
    return "";
}

std::vector<JudgedThreshold> judge_changes(std::span<const ChangeThreshold> thresholds,
                                           const ComparedSides& sides,
                                           const ComparisonOptions& options, bool within_runs) {
    std::vector<JudgedThreshold> out;
    for (const ChangeThreshold& threshold : thresholds) {
        out.push_back(judge_one(threshold, sides, options, within_runs));
    }
    return out;
}

std::string found_text(const JudgedThreshold& one) {
    const ChangeThreshold& asked = one.threshold;
    if (std::isnan(one.low)) {
        return text_of(one.doubt);
    }
    const bool is_time = !asked.relative && asked.metric.unit() == MetricUnit::ns;
    const bool is_points = asked.relative && asked.metric.scale() == Scale::difference;
    const char* unit = is_time ? "ms" : is_points ? "points" : "%";
    const auto text = [&](double value) {
        return is_time          ? with_commas(value / ns_per_ms, 2)
               : asked.relative ? fmt::format("{:+.2f}", 100 * value)
                                : fmt::format("{:.2f}", 100 * value);
    };
    const std::string why = one.doubt == Doubt::none ? "" : std::string("; ") + text_of(one.doubt);
    return fmt::format("{} {} ({} to {}){}", text(one.value), unit, text(one.low), text(one.high),
                       why);
}

/// The ends of intervals by group move a little more with the seed; there are twenty of them.
static constexpr std::uint32_t group_resamples = 500;

static std::vector<ComparedRun> compared_of(std::vector<PlayedRun>& runs) {
    std::vector<ComparedRun> out;
    for (PlayedRun& run : runs) {
        out.push_back(run.compared);
    }
    return out;
}

static bool has_slo(const std::vector<PlayedRun>& runs) {
    return std::ranges::any_of(runs, [](const PlayedRun& run) {
        const auto& requests = run.compared.requests;
        return std::ranges::any_of(
            requests, [](const ComparedRequest& one) { return one.meets_slo.has_value(); });
    });
}

/// The first time that is asked for.
static RowValue looked_at(const std::vector<ComparedMetric>& metrics) {
    const auto found = std::ranges::find(metrics, MetricUnit::ns, &ComparedMetric::unit);
    return found == metrics.end() ? RowValue::ttft : found->value;
}

std::vector<ChangeView> where_of(const Comparison& comparison, RowValue value) {
    ComparisonOptions options = comparison.options;
    options.resamples = std::min(options.resamples, group_resamples);
    std::vector<ChangeView> views = where_it_changed(comparison.requests, value, options);
    for (ChangeView& view : views) {
        for (ChangeGroup& group : view.groups) {
            const bool is_spoiled = comparison.groups.doubt == Doubt::client;
            group.in_these_runs = is_spoiled ? Shown::unsure : group.in_these_runs;
        }
    }
    return views;
}

std::string compare_rows(Comparison& comparison, const ComparisonWish& wish) {
    const std::vector<ComparedRun> a = compared_of(comparison.a);
    const std::vector<ComparedRun> b = compared_of(comparison.b);
    if (std::string why = why_too_small(wish.thresholds, {a, b}, wish.options, wish.unsure_fails);
        !why.empty()) {
        return why;
    }
    const std::vector<ComparedMetric> metrics =
        wish.metrics.empty() ? usual_metrics(has_slo(comparison.a) && has_slo(comparison.b))
                             : wish.metrics;
    comparison.options = wish.options;
    comparison.options.is_dual = !comparison.a.front().side.empty();
    comparison.detect = wish.detect;
    comparison.groups = compare_groups(a, b, metrics, comparison.options);
    comparison.value = looked_at(metrics);
    comparison.requests = paired_requests(comparison.a, comparison.b);
    comparison.where = where_of(comparison, comparison.value);
    comparison.outputs = output_changes(comparison.a.front(), comparison.b.front());
    comparison.thresholds =
        judge_changes(wish.thresholds, {a, b}, comparison.options, wish.within_runs);
    return "";
}

}  // namespace driftless
