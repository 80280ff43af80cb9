// The plan: which rows, when, and whose.

#include "engine/plan/plan.hpp"

#include "engine/plan/forecast.hpp"
#include "tests/unit/engine/plan/goodness_of_fit.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

namespace {

TraceRow row_of(std::uint32_t session) {
    return TraceRow{.session = session};
}

TEST(Balance, GoesRowByRowOrByTheSessionAlone) {
    for (std::uint32_t planned = 0; planned < 9; ++planned) {
        EXPECT_EQ(target_of(Balance::turn, row_of(7), planned, 3), planned % 3);
    }
    for (std::uint32_t planned = 0; planned < 9; ++planned) {
        EXPECT_EQ(target_of(Balance::session, row_of(7), planned, 3), 1u);
        EXPECT_EQ(target_of(Balance::session, row_of(8), planned, 3), 2u);
        EXPECT_EQ(target_of(Balance::session, row_of(no_session), planned, 3), planned % 3);
        EXPECT_EQ(target_of(Balance::session, row_of(planned), planned, 1), 0u);
    }
}

// Dual fire: each row stands twice in the plan, at one due, and who goes first is drawn and
// balanced.

/// Rows in threes at an instant, all of them with one prompt of two blocks.
Trace trace_of(std::uint32_t rows) {
    Trace trace{.block_size = 16, .name_spaces = 1};
    for (std::uint32_t i = 0; i < rows; ++i) {
        const std::int64_t at_ns = std::int64_t{i / 3} * 1'000'000;
        append_row(trace, {.at_ns = at_ns, .input_length = 40, .output_length = 5}, {1, 2});
    }
    return trace;
}

Plan plan_of(const Trace& trace, const PlanOptions& options = {}) {
    return make_plan(trace, options).value();
}

TEST(DualFire, SendsEachRowToBothSidesInABalancedOrder) {
    const Trace trace = trace_of(30);
    const Plan plan = plan_of(trace);
    const Plan dual = dual_plan(trace, plan, 7).value();
    EXPECT_TRUE(dual.dual);
    ASSERT_EQ(dual.rows.size(), 60u);
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        const Planned& first = dual.rows[2 * i];
        const Planned& second = dual.rows[2 * i + 1];
        EXPECT_EQ(std::tuple(first.row, second.row, first.due_ns),
                  std::tuple(plan.rows[i].row, plan.rows[i].row, plan.rows[i].due_ns));
        EXPECT_EQ(second.due_ns, plan.rows[i].due_ns);
        EXPECT_NE(first.side, second.side);
        EXPECT_NE(first.side, Side::none);
        EXPECT_NE(second.side, Side::none);
        EXPECT_EQ(first.side, first_side(7, trace.rows[first.row].index));
    }
    EXPECT_EQ(std::tuple(dual.burst_rows_max, dual.input_tokens), std::tuple(6u, 2 * 30 * 40u));
    EXPECT_EQ(std::tuple(dual.output_tokens, dual.foretold.cached_tokens, dual.last_due_ns),
              std::tuple(2 * 30 * 5u, 2 * plan.foretold.cached_tokens, plan.last_due_ns));
    // Of two neighbours in the file one begins with a and the other with b; which is a fair coin:
    // of 10,000 tosses 5,000, give or take 4 standard deviations of 50.
    int heads = 0;
    for (std::uint32_t pair = 0; pair < 10'000; ++pair) {
        EXPECT_NE(first_side(3, 2 * pair), first_side(3, 2 * pair + 1));
        heads += first_side(3, 2 * pair) == Side::a ? 1 : 0;
    }
    EXPECT_NEAR(heads, 5'000, 200);
    int same = 0;
    for (std::uint32_t pair = 0; pair < 10'000; ++pair) {
        same += first_side(3, 2 * pair) == first_side(4, 2 * pair) ? 1 : 0;
    }
    EXPECT_NEAR(same, 5'000, 200);
    // A row keeps its order, whatever is selected beside it.
    PlanOptions late{.start_ns = 3'000'000};
    const Plan all = dual_plan(trace, plan_of(trace), 7).value();
    const Plan some = dual_plan(trace, plan_of(trace, late), 7).value();
    ASSERT_EQ(some.rows.size(), 42u);
    for (std::size_t i = 0; i < some.rows.size(); ++i) {
        EXPECT_EQ(some.rows[i].row, all.rows[i + 18].row);
        EXPECT_EQ(some.rows[i].side, all.rows[i + 18].side);
    }
}

TEST(DualFire, DigestAndHitsAreOfSides) {
    const Trace trace = trace_of(30);
    const Plan plan = plan_of(trace);
    std::set<std::uint64_t> digests = {plan.schedule_digest};
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        digests.insert(dual_plan(trace, plan, seed).value().schedule_digest);
    }
    EXPECT_EQ(digests.size(), 5u);
    EXPECT_EQ(dual_plan(trace, plan, 2).value().schedule_digest,
              dual_plan(trace, plan, 2).value().schedule_digest);
    // Each server has a cache of its own: the second request of a row is no hit of the first's.
    Trace other_trace = trace_of(31);
    other_trace.rows[1].input_length = 36;
    const Plan a = plan_of(other_trace);
    const Plan b = expect_cached(other_trace, {8}, a);  // whose template displaces more
    const Plan dual = expect_cached(other_trace, {0, 8}, dual_plan(other_trace, a, 1).value());
    for (std::size_t i = 0; i < dual.rows.size(); ++i) {
        const Plan& own = dual.rows[i].side == Side::a ? a : b;
        EXPECT_EQ(dual.rows[i].expected_cached_tokens, own.rows[i / 2].expected_cached_tokens);
    }
    EXPECT_EQ(dual.foretold.rows, 62u);
    EXPECT_EQ(dual.foretold.input_tokens, 2 * a.foretold.input_tokens);
    EXPECT_GT(a.foretold.cached_tokens, b.foretold.cached_tokens);
    EXPECT_EQ(dual.foretold.cached_tokens, a.foretold.cached_tokens + b.foretold.cached_tokens);
    EXPECT_EQ(expect_server_cached(other_trace, {}, 16, dual),
              expect_server_cached(other_trace, {}, 16, a));
}

// The plan selects what was asked, to the nanosecond, and forecasts an infinite prefix cache.

constexpr std::int64_t ms = 1'000'000;

Trace trace_at(const std::vector<std::int64_t>& instants) {
    Trace trace{.block_size = 512};
    for (const std::int64_t at : instants) {
        append_row(trace, {.at_ns = at, .input_length = 100, .output_length = 10});
    }
    return trace;
}

void add_row(Trace& trace, std::uint32_t input_length, const std::vector<std::uint64_t>& ids,
             std::uint32_t name_space = 0) {
    append_row(trace, {.input_length = input_length, .output_length = 1, .name_space = name_space},
               ids);
}

std::vector<std::int64_t> dues(const Plan& plan) {
    return members_of(plan.rows, &Planned::due_ns);
}

using Dues = std::vector<std::int64_t>;

// Speeds are fractions in lowest terms, exactly as their decimals say.
TEST(Speed, IsTheFractionOfItsDecimalOrRefused) {
    const auto is = [](std::string_view text, std::uint64_t numerator, std::uint64_t denominator) {
        const Result<Speed> speed = parse_speed(text);
        ASSERT_TRUE(speed) << text;
        EXPECT_EQ(speed.value().numerator, numerator) << text;
        EXPECT_EQ(speed.value().denominator, denominator) << text;
    };
    is("1", 1, 1);
    is("2.5", 5, 2);
    is("0.1", 1, 10);
    is("1e2", 100, 1);
    is("100.000", 100, 1);
    is("3.33", 333, 100);
    is("123456789.987654321", 123456789987654321, 1000000000);
    is("1e-19", 1, 10'000'000'000'000'000'000ULL);
    is("000000000000000000000002", 2, 1);
    // Zero, negatives, what is no number, and more digits than are kept.
    for (const std::string_view text : {"0", "0.0", "-1", "", "fast", "NaN", "2x"}) {
        EXPECT_EQ(parse_speed(text).error().code, ErrorCode::invalid) << text;
    }
    EXPECT_TRUE(parse_speed("123456789012345678"));
    for (const std::string_view text : {"1.234567890123456789", "1e-20", "1e20"}) {
        EXPECT_EQ(parse_speed(text).error().code, ErrorCode::out_of_range) << text;
    }
    // Due instants are rounded down, and large ones neither wrap nor lose a digit.
    EXPECT_EQ(due_of(10, {3, 1}), 3);
    EXPECT_EQ(due_of(10, {1, 3}), 30);
    EXPECT_EQ(due_of(3'536'999 * ms, {100, 1}), 35'369'990'000);
    // 0.1 as a double would give ...807 or ...808 here; the fraction cannot.
    EXPECT_EQ(due_of(922'337'203'685'477'580, {1, 10}), 9'223'372'036'854'775'800);
    EXPECT_EQ(due_of(9'223'372'036'854'775'807, {1, 1}), 9'223'372'036'854'775'807);
    EXPECT_EQ(due_of(9'223'372'036'854'775'807, {1, 2}), 9'223'372'036'854'775'807) << "saturates";
}

// Without options every row is due at its instant from the first, equal instants in file order.
TEST(Plan, TakesEveryRowOfItsWindowAtItsInstant) {
    const Plan plan = plan_of(trace_at({0, 0, 3000 * ms, 3000 * ms, 3000 * ms, 5999 * ms}));
    EXPECT_EQ(dues(plan), (Dues{0, 0, 3000 * ms, 3000 * ms, 3000 * ms, 5999 * ms}));
    EXPECT_EQ(std::tuple(plan.burst_rows_max, plan.rows_outside), std::tuple(3U, 0U));
    EXPECT_EQ(std::tuple(plan.input_tokens, plan.output_tokens), std::tuple(600U, 60U));
    EXPECT_EQ(plan.last_due_ns, 5999 * ms);
    for (std::uint32_t i = 0; i < plan.rows.size(); ++i) {
        EXPECT_EQ(plan.rows[i].row, i);
    }
    // Start is inside, end is outside; time 0 is the first selected row.
    PlanOptions options{.start_ns = 10, .end_ns = 30};
    const Plan other_plan = plan_of(trace_at({0, 9, 10, 20, 29, 30, 31}), options);
    EXPECT_EQ(dues(other_plan), (Dues{0, 10, 19}));
    EXPECT_EQ(std::tuple(other_plan.rows[0].row, other_plan.rows_outside), std::tuple(2U, 4U));
    // Window, then limit, then duration, in this order.
    PlanOptions limited{.speed = {2, 1}, .start_ns = 10, .limit = 3};
    EXPECT_EQ(dues(plan_of(trace_at({0, 10, 20, 30, 40}), limited)), (Dues{0, 5, 10}));
    limited.duration_ns = 10;
    EXPECT_EQ(dues(plan_of(trace_at({0, 10, 20, 30, 40}), limited)), (Dues{0, 5}));
    limited.duration_ns = 11;
    EXPECT_EQ(dues(plan_of(trace_at({0, 10, 20, 30, 40}), limited)), (Dues{0, 5, 10}));
    // A plan of nothing, and one that would outlive its user, are refused.
    EXPECT_EQ(make_plan(trace_at({0, 10}), PlanOptions{.start_ns = 100}).error().code,
              ErrorCode::invalid);
    EXPECT_EQ(make_plan(trace_at({}), {}).error().code, ErrorCode::invalid);
    EXPECT_EQ(make_plan(trace_at({0, 10 * ms}), PlanOptions{.speed = parse_speed("1e-18").value()})
                  .error()
                  .code,
              ErrorCode::out_of_range);
}

// Spread keeps file order, stays inside each gap, and differs by seed but not by selection.
TEST(Plan, SpreadsInsideTheGapsWithADigest) {
    std::vector<std::int64_t> instants;
    for (int tick = 0; tick < 5; ++tick) {
        for (int i = 0; i < 20; ++i) {
            instants.push_back(tick * 3000 * ms);
        }
    }
    const Trace trace = trace_at(instants);
    PlanOptions options{.spread = true};
    const Plan plan = plan_of(trace, options);
    EXPECT_EQ(std::tuple(plan.rows[0].due_ns, plan.burst_rows_max), std::tuple(0, 1U));
    EXPECT_EQ(dues(plan), dues(plan_of(trace, options))) << "same seed, same plan";
    for (std::uint32_t i = 0; i < plan.rows.size(); ++i) {
        EXPECT_EQ(plan.rows[i].row, i) << "file order";
        EXPECT_LT(plan.rows[i].due_ns, (i / 20 + 1) * 3000 * ms) << "inside its gap";
        EXPECT_GE(plan.rows[i].due_ns + 3000 * ms, (i / 20) * 3000 * ms);
    }
    EXPECT_TRUE(std::is_sorted(plan.rows.begin(), plan.rows.end(),
                               [](auto& a, auto& b) { return a.due_ns < b.due_ns; }));
    options.seed = 1;
    EXPECT_NE(dues(plan), dues(plan_of(trace, options)));

    options.seed = 0;
    options.limit = 30;
    const Plan part = plan_of(trace, options);
    EXPECT_TRUE(std::equal(part.rows.begin(), part.rows.end(), plan.rows.begin(),
                           [](auto& a, auto& b) { return a.due_ns == b.due_ns; }));
    // Spread leaves alone what has no gap and what is not shared.
    PlanOptions spread{.spread = true};
    EXPECT_EQ(dues(plan_of(trace_at({0, 0, 0}), spread)), (Dues{0, 0, 0}));
    EXPECT_EQ(dues(plan_of(trace_at({0, 5, 9}), spread)), (Dues{0, 5, 9}));
    // The schedule's digest moves with every due instant and every row, and with nothing else.
    const Plan other_plan = plan_of(trace_at({0, 10, 20}));
    EXPECT_EQ(other_plan.schedule_digest, plan_of(trace_at({5, 15, 25})).schedule_digest);
    EXPECT_NE(other_plan.schedule_digest, plan_of(trace_at({0, 10, 21})).schedule_digest);
    EXPECT_NE(other_plan.schedule_digest, plan_of(trace_at({0, 10})).schedule_digest);
    EXPECT_NE(other_plan.schedule_digest,
              plan_of(trace_at({0, 10, 20}), PlanOptions{.speed = {2, 1}}).schedule_digest);
}

std::vector<std::uint32_t> cached(const Plan& plan) {
    return members_of(plan.rows, &Planned::expected_cached_tokens);
}

using Cached = std::vector<std::uint32_t>;

// A template's closing tokens displace the end of a row's last block: a longer row that holds that
// block whole does not find it, an equal row of more than a block's end does.
TEST(Plan, ForecastKnowsTheTemplateBehindThePrompt) {
    Trace trace{.block_size = 512};
    add_row(trace, 1024, {1, 2});  // block 2 ends with three tokens of the template
    add_row(trace, 1600, {1, 2, 3, 4});
    add_row(trace, 1025, {1, 2, 5});  // block 2 ends with two of them
    add_row(trace, 1025, {1, 2, 5});
    Plan plan = plan_of(trace);
    EXPECT_EQ(cached(plan), (Cached{0, 1024, 1024, 1024}));
    plan = expect_cached(trace, {3}, std::move(plan));
    EXPECT_EQ(cached(plan), (Cached{0, 512, 512, 1024}));
    EXPECT_EQ(plan.foretold.cached_tokens, 2048u);
}

struct Prompt {
    std::uint32_t length;
    std::vector<std::uint64_t> ids;
    std::uint32_t name_space = 0;
};

Cached cached_of(std::uint32_t block_size, const std::vector<Prompt>& prompts) {
    Trace trace{.block_size = block_size};
    for (const Prompt& one : prompts) {
        add_row(trace, one.length, one.ids, one.name_space);
    }
    return cached(plan_of(trace));
}

// Full blocks only, and never the last token: by the definition of section 5 of the design.
TEST(Plan, ForecastsFullBlocksInFileOrder) {
    EXPECT_EQ(cached_of(512, {{1100, {1, 2, 3}},  // cold
                              {1100, {1, 2, 3}},  // the partial block 3 does not count
                              {1024, {1, 2}},     // both are held, but the last token is computed
                              {1025, {1, 2, 9}},  // one token more: both count
                              {1600, {1, 4, 2}},  // the prefix breaks at the second block
                              {512, {1}}}),       // one block, its last token inside
              (Cached{0, 1024, 512, 1024, 512, 0}));
    // A partial block that another row has in full: only the full one is held.
    EXPECT_EQ(cached_of(512, {{700, {1, 2}}, {1500, {1, 2, 3}}, {1500, {1, 2, 3}}}),
              (Cached{0, 512, 1024}));
    // Ids that name contents only: an equal id behind another prefix is no hit.
    EXPECT_EQ(
        cached_of(16,
                  {{50, {1, 2, 3, 4}}, {50, {2, 3, 4, 1}}, {50, {1, 3, 2, 4}}, {50, {1, 3, 2, 9}}}),
        (Cached{0, 0, 16, 48}));
    // Equal ids in two namespaces share nothing.
    EXPECT_EQ(cached_of(16, {{40, {1, 2, 3}, 0}, {40, {1, 2, 3}, 1}, {40, {1, 2, 3}, 0}}),
              (Cached{0, 0, 32}));
    // "Earlier" is file order, and rows outside the selection warm nothing.
    Trace trace{.block_size = 16};
    add_row(trace, 40, {1, 2, 3});
    add_row(trace, 40, {1, 2, 3});
    trace.rows[0].index = 1;  // sorted by time: the second line of the file came first
    trace.rows[1].index = 0;
    EXPECT_EQ(cached(plan_of(trace)), (Cached{32, 0}));
    trace.rows[1].at_ns = 100;
    EXPECT_EQ(cached(plan_of(trace, PlanOptions{.start_ns = 50})), (Cached{0}));
    // Id a of namespace b is not id b of namespace a: both are small numbers, and both are mixed.
    Trace spaces{.block_size = 512};
    for (std::uint32_t name_space = 0; name_space < 8; ++name_space) {
        for (std::uint64_t id = 0; id < 8; ++id) {
            add_row(spaces, 1024, {id}, name_space);
        }
    }
    EXPECT_EQ(plan_of(spaces).foretold.cached_tokens, 0U);
}

// Which requests are abandoned, and when: the share and the times are those that were asked for,
// and a draw depends on the seed and the request alone.

constexpr std::int64_t second = 1'000'000'000;

TEST(Abandonment, HasItsShareAndDependsOnTheRequestAlone) {
    constexpr std::uint32_t requests = 20'000;
    for (const double share : {0.01, 0.1, 0.5, 0.99}) {
        const AbandonRules rules{share, 2 * second, 10 * second, 7};
        std::vector<double> times;
        for (std::uint32_t row = 0; row < requests; ++row) {
            if (const auto after_ns = abandoned_after_ns(rules, {row, 0, 0}); after_ns) {
                times.push_back(static_cast<double>(*after_ns));
            }
        }
        const double spread = std::sqrt(requests * share * (1 - share));
        EXPECT_NEAR(static_cast<double>(times.size()), requests * share, 4 * spread) << share;
        const auto even = [](double ns) { return (ns - 2e9) / 8e9; };
        EXPECT_LT(distance_from(times, even), fits_at_one_percent) << share;
    }
    EXPECT_FALSE(AbandonRules().any());
    EXPECT_EQ(abandoned_after_ns({}, {1, 0, 0}), std::nullopt);
    for (std::uint32_t row = 0; row < 100; ++row) {
        EXPECT_EQ(abandoned_after_ns({1, second, second, 3}, {row, 0, 0}), second);
    }
    // Passes, attempts and seeds are drawn apart; the order of the draws does not matter.
    const AbandonRules rules{0.5, 0, second, 1};
    const AbandonRules other{0.5, 0, second, 2};
    std::uint32_t same_pass = 0;
    std::uint32_t same_attempt = 0;
    std::uint32_t same_seed = 0;
    for (std::uint32_t row = 0; row < 100; ++row) {
        const auto drawn = abandoned_after_ns(rules, {row, 0, 0});
        EXPECT_EQ(abandoned_after_ns(rules, {row, 0, 0}), drawn);
        same_pass += abandoned_after_ns(rules, {row, 1, 0}) == drawn ? 1 : 0;
        same_attempt += abandoned_after_ns(rules, {row, 0, 1}) == drawn ? 1 : 0;
        same_seed += abandoned_after_ns(other, {row, 0, 0}) == drawn ? 1 : 0;
    }
    for (const std::uint32_t same : {same_pass, same_attempt, same_seed}) {
        EXPECT_GT(same, 10u);  // both wait
        EXPECT_LT(same, 40u);
    }
}

// Shares: every row is dealt once; bursts are spread evenly; what belongs together stays together.

/// `burst` rows at each instant; sessions of the rows' index modulo `sessions`, 0: none.
Trace trace_of(std::uint32_t rows, std::uint32_t burst, std::uint32_t sessions = 0) {
    Trace trace;
    for (std::uint32_t session = 0; session < sessions; ++session) {
        trace.sessions.push_back("s" + std::to_string(session));
    }
    for (std::uint32_t i = 0; i < rows; ++i) {
        append_row(trace, {.at_ns = std::int64_t{i / burst} * 1'000'000,
                           .input_length = 40,
                           .output_length = 5,
                           .session = sessions > 0 ? i % sessions : no_session});
    }
    return trace;
}

TEST(Shares, DealEachRowOnceAndSpreadInstants) {
    const Trace trace = trace_of(1001, 7);
    const Plan plan = plan_of(trace);
    for (const std::uint32_t shares : {1u, 2u, 3u, 8u, 2000u}) {
        const std::vector<std::uint32_t> owners = deal(trace, plan, shares, DealRule::rows);
        std::set<std::uint32_t> seen;
        for (std::uint32_t share = 0; share < shares; ++share) {
            const PlanShare part = share_of(plan, owners, share);
            ASSERT_EQ(part.plan.rows.size(), part.positions.size());
            EXPECT_TRUE(std::is_sorted(part.positions.begin(), part.positions.end()));
            EXPECT_EQ(part.plan.schedule_digest, plan.schedule_digest);
            EXPECT_EQ(part.plan.input_tokens, plan.input_tokens);
            for (std::size_t i = 0; i < part.positions.size(); ++i) {
                EXPECT_TRUE(seen.insert(part.positions[i]).second);
                EXPECT_EQ(part.plan.rows[i].row, plan.rows[part.positions[i]].row);
            }
        }
        EXPECT_EQ(seen.size(), plan.rows.size());
    }
    const Trace other_trace = trace_of(28 * 5, 28);
    const std::vector<std::uint32_t> owners =
        deal(other_trace, plan_of(other_trace), 4, DealRule::rows);
    for (std::size_t begin = 0; begin < owners.size(); begin += 28) {
        std::map<std::uint32_t, int> rows;
        for (std::size_t i = begin; i < begin + 28; ++i) {
            ++rows[owners[i]];
        }
        for (const auto& [share, count] : rows) {
            EXPECT_EQ(count, 7) << share;
        }
    }
    // Sparse rows have work for every share, too.
    const Trace behind = trace_of(9, 1);
    const std::vector<std::uint32_t> owners_behind =
        deal(behind, plan_of(behind), 3, DealRule::rows);
    EXPECT_EQ(owners_behind, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Shares, KeepTreesAndBothRequestsOfARow) {
    const Trace trace = trace_of(60, 3, 7);
    const Plan plan = plan_of(trace);
    const std::vector<std::uint32_t> owners = deal(trace, plan, 3, DealRule::trees);
    std::map<std::uint32_t, std::set<std::uint32_t>> of_session;
    std::set<std::uint32_t> used;
    for (std::size_t i = 0; i < owners.size(); ++i) {
        of_session[trace.rows[plan.rows[i].row].session].insert(owners[i]);
        used.insert(owners[i]);
    }
    for (const auto& [session, shares] : of_session) {
        EXPECT_EQ(shares.size(), 1u) << session;
    }
    EXPECT_EQ(used.size(), 3u);
    const Trace other_trace = trace_of(50, 5);
    const Plan dual = dual_plan(other_trace, plan_of(other_trace), 3).value();
    const std::vector<std::uint32_t> other_owners = deal(other_trace, dual, 3, DealRule::rows);
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_row;
    for (std::size_t i = 0; i < other_owners.size(); ++i) {
        of_row[dual.rows[i].row].push_back(other_owners[i]);
    }
    std::map<std::uint32_t, int> rows;
    for (const auto& [row, shares] : of_row) {
        ASSERT_EQ(shares.size(), 2u);
        EXPECT_EQ(shares[0], shares[1]) << row;
        ++rows[shares[0]];
    }
    EXPECT_EQ(std::tuple(rows[0], rows[2]), std::tuple(17, 16));
}

TEST(Shares, AreAtLeastTwoAndNumberAllPlaces) {
    const Trace trace = trace_of(3, 3);
    const Plan plan = plan_of(trace);
    EXPECT_TRUE(shares_with_rows(trace, plan, 1, DealRule::rows).empty());
    EXPECT_EQ(shares_with_rows(trace, plan, 2, DealRule::rows).size(), 2u);
    EXPECT_EQ(shares_with_rows(trace, plan, 8, DealRule::rows).size(), 3u);
    const Trace one = trace_of(3, 3, 1);
    EXPECT_TRUE(shares_with_rows(one, plan_of(one), 8, DealRule::trees).empty()) << "one tree";
    for (const std::uint32_t total : {0u, 1u, 5u, 64u, 1001u}) {
        for (const std::uint32_t shares : {1u, 2u, 3u, 8u}) {
            std::uint32_t sum = 0;
            for (std::uint32_t share = 0; share < shares; ++share) {
                sum += part_of(total, shares, share);
            }
            EXPECT_EQ(sum, total);
            EXPECT_LE(part_of(total, shares, 0) - part_of(total, shares, shares - 1), 1u);
        }
    }
    // Engines within shards: numbers that no two have, and all of them.
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
        for (std::uint32_t engine = 0; engine < 4; ++engine) {
            const ShardPlace place = ShardPlace{engine, 4}.within({shard, 3});
            EXPECT_EQ(place.count, 12u);
            for (std::uint32_t own = 0; own < 5; ++own) {
                numbers.push_back(place.number_of(own));
                // As the engine numbers it, then the shard.
                EXPECT_EQ(numbers.back(),
                          (ShardPlace{shard, 3}.number_of(ShardPlace{engine, 4}.number_of(own))));
            }
        }
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::uint32_t number = 0; number < 60; ++number) {
        EXPECT_EQ(numbers[number], number);
    }
}

}  // namespace
}  // namespace driftless
