#include "engine/plan/dual_fire.hpp"

#include <algorithm>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

/// Requests and marks have numbers of 32 bits, and two of those are none.
constexpr std::size_t rows_max = (std::size_t{1} << 31) - 2;

std::uint64_t digest_of(const Trace& trace, const Plan& plan) {
    Digest digest;
    for (const Planned& planned : plan.rows) {
        digest.add_u64(trace.rows[planned.row].index);
        digest.add_u64(static_cast<std::uint64_t>(planned.due_ns));
        digest.add_u64(static_cast<std::uint64_t>(planned.side));
    }
    return digest.value();
}

}  // namespace

Side first_side(std::uint64_t seed, std::uint32_t index) {
    const std::uint64_t drawn = mix64(mix64(seed + golden_gamma) ^ mix64(index / 2 + golden_gamma));
    return ((drawn >> 32 ^ index) & 1) == 0 ? Side::a : Side::b;
}

Result<Plan> dual_plan(const Trace& trace, const Plan& a, const Plan& b, std::uint64_t seed) {
    CHECK(a.rows.size() == b.rows.size() && !a.dual && !b.dual);
    if (trace.rows.size() > rows_max) {
        return Error{ErrorCode::out_of_range, 0, "send each row twice: the trace has too many"};
    }
    Plan dual = a;
    dual.dual = true;
    dual.against_cached = b.server_cached;
    dual.burst_rows_max = 2 * a.burst_rows_max;
    dual.input_tokens = a.input_tokens + b.input_tokens;
    dual.output_tokens = a.output_tokens + b.output_tokens;
    dual.inputs_unknown = a.inputs_unknown + b.inputs_unknown;
    dual.outputs_unknown = a.outputs_unknown + b.outputs_unknown;
    dual.foretold = {a.foretold.rows + b.foretold.rows,
                     a.foretold.input_tokens + b.foretold.input_tokens,
                     a.foretold.cached_tokens + b.foretold.cached_tokens,
                     a.foretold.rows_unknown + b.foretold.rows_unknown};
    dual.rows.clear();
    dual.rows.reserve(2 * a.rows.size());
    for (std::size_t i = 0; i < a.rows.size(); ++i) {
        CHECK(a.rows[i].row == b.rows[i].row && a.rows[i].due_ns == b.rows[i].due_ns);
        Planned first = a.rows[i];
        Planned second = b.rows[i];
        first.side = Side::a;
        second.side = Side::b;
        if (first_side(seed, trace.rows[first.row].index) == Side::b) {
            std::swap(first, second);
        }
        dual.rows.push_back(first);
        dual.rows.push_back(second);
    }
    dual.schedule_digest = digest_of(trace, dual);
    return dual;
}

Plan plan_of_side(const Trace& trace, const Plan& dual, Side side) {
    CHECK(dual.dual && side != Side::none);
    Plan one;
    one.rows_outside = dual.rows_outside;
    one.post_tokens = dual.post_tokens;
    one.server_cached = side == Side::a ? dual.server_cached : dual.against_cached;
    one.rows.reserve(dual.rows.size() / 2);
    for (const Planned& planned : dual.rows) {
        if (planned.side == side) {
            one.rows.push_back(planned);
            one.rows.back().side = Side::none;
        }
    }
    return summed_up(trace, std::move(one));
}

}  // namespace driftless
