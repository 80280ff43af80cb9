#include "tests/sim/planted_runs.hpp"

#include "tests/sim/swarm.hpp"

namespace driftless::sim {

SimResult run_of_users(Bug bug) {
    SimOptions options{.closed = true, .users = {.users = 2}, .drain_ns = seconds(1).ns};
    options.users.for_ns =
        bug == Bug::lost_time ? std::optional(milliseconds(30).ns) : std::nullopt;
    options.users.start.from = bug == Bug::early_start ? 0.2 : 0;
    options.users.users_first = bug == Bug::eager_users ? 1 : 0;
    options.grow.limit_ns = bug == Bug::eager_users ? 1 : 0;  // nobody is ever added
    options.users.order = bug == Bug::file_order ? TreeRule::shuffle : TreeRule::file;
    options.users.start.to = bug == Bug::early_start ? 0.8 : 0;
    options.bug = bug;
    Trace trace = trace_of_turns();
    for (TraceRow& row : trace.rows) {
        row.session = bug == Bug::early_start ? row.session : no_session;
    }
    return run(trace, options);
}

SimResult run_of_single_rows(Bug bug) {
    SimOptions options{.closed = true, .users = {.users = 3, .single_rows = true}, .bug = bug};
    return run(trace_with_a_gap(0), options);
}

SimResult run_of_sides(Bug bug) {
    SimOptions options{.seed = 3,
                       .weather = {.refuse_connect = 0.3, .hang_connect = 0.3, .cut = 0.3},
                       .own_fields = true,
                       .targets = 2,
                       .dual = true,
                       .spared = 1,
                       .bug = bug};
    return run(trace_with_a_gap(0), options);
}

Trace trace_with_a_gap(std::uint32_t seconds_apart) {
    Trace trace = make_trace(3, planted_rows);
    for (std::uint32_t i = planted_rows / 2; i < planted_rows; ++i) {
        trace.rows[i].at_ns += std::int64_t{seconds_apart} * 1'000'000'000;
    }
    for (TraceRow& row : trace.rows) {
        row.session = row.index % 3;
    }
    trace.sessions = {"a", "b", "c"};
    return trace;
}

Trace dense_trace() {
    constexpr std::uint32_t dense_rows = 2000;
    constexpr std::int64_t spacing_ns = 4'000;
    Trace trace = make_trace(3, dense_rows);
    for (std::uint32_t i = 0; i < dense_rows; ++i) {
        trace.rows[i].at_ns = trace.rows[0].at_ns + i * spacing_ns;
    }
    return trace;
}

Trace trace_of_turns() {
    Trace trace = trace_with_a_gap(0);
    constexpr auto end = Trigger::completion;
    trace.dependencies = {{1, 0, end, 0},   {2, 1, end, 0},   {11, 10, end, 100'000},
                          {12, 11, end, 0}, {13, 11, end, 0}, {13, 12, Trigger::over, 0},
                          {14, 12, end, 0}, {14, 13, end, 0}, {planted_rows - 1, 14, end, 0}};
    return trace;
}

SimResult run_of_engines(Bug bug) {
    return run(trace_with_a_gap(0), SimOptions{.seed = 3,
                                               .server = {.overhead = {5, 3}},
                                               .own_fields = true,
                                               .engines = 3,
                                               .bug = bug});
}

SimResult run_with(Bug bug) {
    SimOptions options{.seed = 3, .server = {.overhead = {5, 3}}, .own_fields = true, .bug = bug};
    if (bug == Bug::other_lanes) {
        options.connection = ConnectionRule::fresh;
    } else if (bug == Bug::other_servers) {
        options.balance = Balance::session;
        options.targets = 2;
    }
    if (bug == Bug::other_rate) {
        options.arrivals.emplace().law = ArrivalLaw::constant;
        options.arrivals->curve = RateCurve(500);
    }
    options.tls.on = bug == Bug::crossed_send;
    options.weather.lose_sent = bug == Bug::uncounted_loss ? 0.1 : 0;
    if (bug == Bug::blind_to_ends) {
        options.weather.lose_end = 1;
        options.timeouts.idle = seconds(5);
        options.server.faults = {{mock::Fault::truncate, 0.3, {}}};
    }
    if (bug == Bug::trusted_clock) {
        options.weather.step_clock = 0.1;
        options.weather.pause = 0.02;
    }
    options.weather.stuck_flag = bug == Bug::no_proof ? 0.3 : 0;
    options.budgets.output.tokens = bug == Bug::wide_budgets ? 20 : 0;
    options.budgets.output.period = milliseconds(20);
    if (bug == Bug::other_patience) {
        options.abandon = {0.5, 0, milliseconds(30).ns, options.seed};
    }
    if (bug == Bug::deaf_engine) {
        options.stop_when = {stop_rule("errors", 0.1, 0)};
        options.server.faults = {{mock::Fault::http_500, 0.5, {}}};
        options.period_ns = milliseconds(5).ns;
        return run(trace_with_a_gap(2), options);
    }
    options.run_json_written = bug == Bug::late_zero ? milliseconds(150) : Duration{0};
    if (bug == Bug::early_turns || bug == Bug::lost_release) {
        options.closed = true;
        options.server.faults = {{mock::Fault::http_500, 1, 0}};  // the first row
        return run(trace_of_turns(), options);
    }
    if (bug == Bug::extra_row || bug == Bug::shuffled_rows) {
        return run_of_single_rows(bug);
    }
    if (bug >= Bug::first_of_sides && bug <= Bug::last_of_sides) {
        return run_of_sides(bug);
    }
    if (bug == Bug::one_engines_marks) {
        return run_of_engines(bug);
    }
    if (bug >= Bug::first_of_users && bug <= Bug::last_of_users) {
        return run_of_users(bug);
    }
    if (bug == Bug::forgotten_words || bug == Bug::unfilled_prompts) {
        options.closed = options.live = true;
        options.server.check_history = 1000;
        return run(talks_trace(3, 60, 8), options);
    }
    if (bug == Bug::blind_look) {
        options.inflight_max = 2000;
        return run(dense_trace(), options);
    }
    return run(trace_with_a_gap(bug == Bug::unsaid_limit ? 2 : 0), options);
}

}  // namespace driftless::sim
