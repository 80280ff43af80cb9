#include "engine/plan/plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "engine/plan/forecast.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"

namespace driftless {

static constexpr std::size_t speed_digits_max = 18;
static constexpr std::int64_t due_max = std::numeric_limits<std::int64_t>::max();

static std::string significant_digits(const Decimal& decimal) {
    std::string digits(decimal.whole);
    digits += decimal.fraction;
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    digits.erase(digits.find_last_not_of('0') + 1);
    return digits;
}

namespace {

/// A row and its instant.
struct Timed {
    std::int64_t at_ns = 0;
    std::uint32_t position = 0;  ///< in `Trace::rows`
};

}  // namespace

/// Offsets that spread rows of one instant over a gap: uniform draws in order, so that the order of
/// the rows stays. They depend on the seed and the instant only, not on what is selected.
static void spread_instant(std::span<Timed> rows, std::int64_t gap, std::uint64_t seed) {
    const std::int64_t instant = rows[0].at_ns;
    Random random(mix64(seed) ^ mix64(static_cast<std::uint64_t>(instant) + golden_gamma));
    std::vector<std::int64_t> offsets(rows.size());
    for (std::int64_t& offset : offsets) {
        offset = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(gap)));
    }
    std::sort(offsets.begin(), offsets.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].at_ns = instant + offsets[i];
    }
}

/// Rows that share a quantised instant go over the gap to the next one; those of the last instant
/// over the gap before it.
static void spread(std::span<Timed> rows, std::uint64_t seed) {
    std::int64_t gap = 0;
    for (std::size_t begin = 0; begin < rows.size();) {
        const std::int64_t instant = rows[begin].at_ns;
        std::size_t end = begin + 1;
        while (end < rows.size() && rows[end].at_ns == instant) {
            ++end;
        }
        gap = end < rows.size() ? rows[end].at_ns - instant : gap;
        if (end - begin > 1) {
            spread_instant(rows.subspan(begin, end - begin), gap, seed);
        }
        begin = end;
    }
}

/// Every copy by itself, on its own grid of instants; then together by time.
static void spread_copies(const Trace& trace, std::vector<Timed>& rows, std::uint64_t seed) {
    const auto copy_of = [&](const Timed& one) { return trace.copy_of(trace.rows[one.position]); };
    std::ranges::stable_sort(rows, {}, copy_of);
    for (auto begin = rows.begin(); begin != rows.end();) {
        const auto end = std::find_if(
            begin, rows.end(), [&](const Timed& one) { return copy_of(one) != copy_of(*begin); });
        spread({begin, end}, seed);
        begin = end;
    }
    std::ranges::sort(rows, {}, [&](const Timed& one) {
        return std::pair(one.at_ns, trace.rows[one.position].index);
    });
}

/// All rows by their instants, spread where asked.
static std::vector<Timed> timed_rows(const Trace& trace, const PlanOptions& options) {
    std::vector<Timed> rows;
    rows.reserve(trace.rows.size());
    for (const TraceRow& row : trace.rows) {
        CHECK(rows.empty() || rows.back().at_ns <= row.at_ns);
        rows.push_back({row.at_ns, static_cast<std::uint32_t>(rows.size())});
    }
    if (options.spread && trace.copy_rows == 0) {
        spread(rows, options.seed);
    } else if (options.spread) {
        spread_copies(trace, rows, options.seed);
    }
    return rows;
}

static bool inside(const TraceRow& row, const PlanOptions& options) {
    return row.at_ns >= options.start_ns.value_or(0) &&
           row.at_ns < options.end_ns.value_or(due_max);
}

Result<Speed> parse_speed(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal || decimal->zero() || decimal->negative) {
        return Error{ErrorCode::invalid, 0, "read the speed, a decimal above 0"};
    }
    const std::string digits = significant_digits(*decimal);
    if (digits.size() > speed_digits_max) {
        return Error{ErrorCode::out_of_range, 0, "read the speed, at most 18 digits"};
    }
    // One of the two powers keeps every digit: the speed as a whole number, or its fraction as one.
    const Result<Scaled> whole = scale(*decimal, 0);
    if (whole && whole.value().exact) {
        return Speed{whole.value().value, 1};
    }
    Speed speed;
    for (std::int32_t places = 1; places <= 19; ++places) {
        speed.denominator *= 10;
        const Result<Scaled> numerator = scale(*decimal, places);
        if (numerator && numerator.value().exact) {
            const std::uint64_t common = std::gcd(numerator.value().value, speed.denominator);
            return Speed{numerator.value().value / common, speed.denominator / common};
        }
    }
    return Error{ErrorCode::out_of_range, 0, "read the speed, a decimal within 1e-19 and 1e19"};
}

std::int64_t due_of(std::int64_t trace_ns, Speed speed) {
    CHECK(trace_ns >= 0 && speed.numerator > 0);
    const auto product = static_cast<unsigned __int128>(trace_ns) * speed.denominator;
    const unsigned __int128 due = product / speed.numerator;
    return due > static_cast<unsigned __int128>(due_max) ? due_max : static_cast<std::int64_t>(due);
}

std::vector<std::uint32_t> file_order(const Trace& trace, const Plan& plan) {
    const auto index_of = [&](std::uint32_t position) {
        return trace.rows[plan.rows[position].row].index;
    };
    std::vector<std::uint32_t> order(plan.rows.size());
    std::iota(order.begin(), order.end(), 0U);
    if (!std::ranges::is_sorted(order, {}, index_of)) {
        std::ranges::sort(order, {}, index_of);
    }
    return order;
}

Plan expect_cached(const Trace& trace, PostTokens post, Plan plan) {
    plan.foretold = {};
    plan.post = post;
    const std::vector<std::uint32_t> order = file_order(trace, plan);
    for (const bool to_second : {false, true}) {
        if (to_second && !plan.dual) {
            break;
        }
        CacheForecast forecast(trace, to_second ? post.against : post.first);
        for (const std::uint32_t i : order) {
            Planned& planned = plan.rows[i];
            if (planned.is_to_second() != to_second) {
                continue;
            }
            const TraceRow& row = trace.rows[planned.row];
            planned.expected_cached_tokens = forecast.next(row);
            const bool is_known = trace.foretells_hits(row);
            ++(is_known ? plan.foretold.rows : plan.foretold.rows_unknown);
            if (is_known) {
                plan.foretold.input_tokens += row.input_length;
                plan.foretold.cached_tokens += planned.expected_cached_tokens;
            }
        }
    }
    return plan;
}

Plan summed_up(const Trace& trace, Plan plan) {
    CHECK(!plan.dual);  // its digest tells of sides, too
    plan = expect_cached(trace, plan.post, std::move(plan));
    plan.burst_rows_max = 0;
    plan.input_tokens = plan.output_tokens = plan.inputs_unknown = plan.outputs_unknown = 0;
    Digest digest;
    std::uint32_t burst = 0;
    std::int64_t instant = -1;
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        digest.add_u64(row.index);
        digest.add_u64(static_cast<std::uint64_t>(planned.due_ns));
        burst = planned.due_ns == instant ? burst + 1 : 1;
        instant = planned.due_ns;
        plan.burst_rows_max = std::max(plan.burst_rows_max, burst);
        plan.input_tokens += row.input_length;
        plan.output_tokens += row.output_length;
        plan.inputs_unknown += row.input_length == 0 ? 1 : 0;
        plan.outputs_unknown += row.output_length == 0 ? 1 : 0;
    }
    plan.schedule_digest = digest.value();
    plan.last_due_ns = instant;
    return plan;
}

/// Window of trace time, then rows, then wall time.
std::vector<Planned> select_rows(const Trace& trace, const PlanOptions& options) {
    std::vector<Planned> rows;
    std::int64_t first = 0;
    for (const Timed& one : timed_rows(trace, options)) {
        if (!inside(trace.rows[one.position], options)) {
            continue;
        }
        if (options.limit && rows.size() >= *options.limit) {
            break;
        }
        first = rows.empty() ? one.at_ns : first;
        const std::int64_t due = due_of(one.at_ns - first, options.speed);
        if (options.duration_ns && due >= *options.duration_ns) {
            break;
        }
        rows.push_back({due, one.position, 0});
    }
    return rows;
}

Result<Plan> make_plan(const Trace& trace, const PlanOptions& options) {
    Plan plan;
    plan.rows = select_rows(trace, options);
    plan.rows_outside = trace.rows.size() - plan.rows.size();
    if (plan.rows.empty()) {
        return Error{ErrorCode::invalid, 0, "select rows of the trace: none is inside"};
    }
    // Far beyond any run, and arithmetic on later instants must not overflow.
    if (plan.rows.back().due_ns > due_max / 4) {
        return Error{ErrorCode::out_of_range, 0, "plan the rows: at this speed they take decades"};
    }
    return summed_up(trace, std::move(plan));
}

PlannedRows::PlannedRows(const Trace& trace, const Plan& plan) {
    std::uint32_t index_max = 0;
    for (const Planned& planned : plan.rows) {
        index_max = std::max(index_max, trace.rows[planned.row].index);
    }
    positions_.assign(std::size_t{index_max} + 1, unplanned);
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        positions_[trace.rows[plan.rows[position].row].index] = position;
    }
}

/// Requests and marks have numbers of 32 bits, and two of those are none.
static constexpr std::size_t rows_max = (std::size_t{1} << 31) - 2;

static std::uint64_t digest_of(const Trace& trace, const Plan& plan) {
    Digest digest;
    for (const Planned& planned : plan.rows) {
        digest.add_u64(trace.rows[planned.row].index);
        digest.add_u64(static_cast<std::uint64_t>(planned.due_ns));
        digest.add_u64(static_cast<std::uint64_t>(planned.side));
    }
    return digest.value();
}

Side first_side(std::uint64_t seed, std::uint32_t index) {
    const std::uint64_t drawn = mix64(mix64(seed + golden_gamma) ^ mix64(index / 2 + golden_gamma));
    return ((drawn >> 32 ^ index) & 1) == 0 ? Side::a : Side::b;
}

Result<Plan> dual_plan(const Trace& trace, Plan plan, std::uint64_t seed) {
    CHECK(!plan.dual);
    if (trace.rows.size() > rows_max) {
        return Error{ErrorCode::out_of_range, 0, "send each row twice: the trace has too many"};
    }
    const std::vector<Planned> rows = std::exchange(plan.rows, {});
    plan.dual = true;
    plan.burst_rows_max *= 2;
    for (std::uint64_t* sum :
         {&plan.input_tokens, &plan.output_tokens, &plan.inputs_unknown, &plan.outputs_unknown,
          &plan.foretold.rows, &plan.foretold.input_tokens, &plan.foretold.cached_tokens,
          &plan.foretold.rows_unknown}) {
        *sum *= 2;
    }
    plan.rows.reserve(2 * rows.size());
    for (const Planned& row : rows) {
        const Side first = first_side(seed, trace.rows[row.row].index);
        plan.rows.push_back(row);
        plan.rows.back().side = first;
        plan.rows.push_back(row);
        plan.rows.back().side = first == Side::a ? Side::b : Side::a;
    }
    plan.schedule_digest = digest_of(trace, plan);
    return plan;
}

static std::vector<std::uint32_t> deal_rows(const Trace& trace, const Plan& plan,
                                            std::uint32_t shares) {
    constexpr std::uint32_t undealt = UINT32_MAX;
    std::vector<std::uint32_t> of_row(plan.dual ? trace.rows.size() : 0, undealt);
    std::vector<std::uint32_t> owners(plan.rows.size());
    std::uint32_t next = 0;
    for (std::size_t position = 0; position < plan.rows.size(); ++position) {
        if (plan.dual && of_row[plan.rows[position].row] != undealt) {  // its other request
            owners[position] = of_row[plan.rows[position].row];
            continue;
        }
        owners[position] = next;
        if (plan.dual) {
            of_row[plan.rows[position].row] = next;
        }
        next = next + 1 == shares ? 0 : next + 1;
    }
    return owners;
}

static std::vector<std::uint32_t> deal_trees(const Trace& trace, const Plan& plan,
                                             std::uint32_t shares) {
    const RowTrees trees(trace, plan);
    std::vector<std::uint32_t> owners(plan.rows.size());
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        owners[position] = trees.tree_of(position) % shares;
    }
    return owners;
}

std::vector<std::uint32_t> deal(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                DealRule rule) {
    CHECK(shares > 0);
    return rule == DealRule::rows ? deal_rows(trace, plan, shares)
                                  : deal_trees(trace, plan, shares);
}

PlanShare share_of(const Plan& plan, const std::vector<std::uint32_t>& owners,
                   std::uint32_t share) {
    CHECK(owners.size() == plan.rows.size());
    PlanShare part;
    part.plan = plan;
    part.plan.rows.clear();
    for (std::uint32_t position = 0; position < owners.size(); ++position) {
        if (owners[position] == share) {
            part.plan.rows.push_back(plan.rows[position]);
            part.positions.push_back(position);
        }
    }
    part.plan.rows.shrink_to_fit();  // it had room for the whole plan
    return part;
}

std::vector<PlanShare> shares_with_rows(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                        DealRule rule) {
    std::vector<PlanShare> dealt;
    if (shares < 2) {
        return dealt;
    }
    const std::vector<std::uint32_t> owners = deal(trace, plan, shares, rule);
    for (std::uint32_t share = 0; share < shares; ++share) {
        PlanShare part = share_of(plan, owners, share);
        if (!part.plan.rows.empty()) {
            dealt.push_back(std::move(part));
        }
    }
    return dealt.size() < 2 ? std::vector<PlanShare>() : dealt;
}

Due due_at(const Plan& plan, std::uint32_t position) {
    CHECK(position < plan.rows.size());
    const auto row = plan.rows.begin() + position;
    const auto first = std::lower_bound(
        plan.rows.begin(), row, row->due_ns,
        [](const Planned& planned, std::int64_t due_ns) { return planned.due_ns < due_ns; });
    Due due = planned_due(*row, position);
    due.rank = static_cast<std::uint32_t>(row - first);
    return due;
}

std::optional<std::int64_t> abandoned_after_ns(const AbandonRules& rules,
                                               const RequestIdentity& request) {
    if (!rules.any()) {
        return std::nullopt;
    }
    CHECK(rules.from_ns >= 0 && rules.from_ns <= rules.to_ns);
    constexpr std::uint64_t abandon_stream = 0xABA4D04;
    Digest identity;
    identity.add_u64(rules.seed ^ abandon_stream);
    identity.add_u64(number_in_pass(request.row, request.pass));
    identity.add_u64(request.attempt);
    Random random(identity.value());
    if (random.uniform() >= rules.share) {
        return std::nullopt;
    }
    const auto range = static_cast<std::uint64_t>(rules.to_ns - rules.from_ns) + 1;
    return rules.from_ns + static_cast<std::int64_t>(random.below(range));
}

}  // namespace driftless
