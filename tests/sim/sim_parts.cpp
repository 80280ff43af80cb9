#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

std::optional<TraceWithBodies> served(const Trace& trace, const SimOptions& options) {
    if (!options.live) {
        return {};
    }
    InputErrors errors;
    BodySpec spec{.model = "mock-model", .stream = options.stream};
    std::optional<TraceWithBodies> made =
        make_recorded_bodies(plan_of(trace, options), dialect_of(Api::openai_chat), spec,
                             Assistant::live, trace, errors);
    CHECK(made && made->live);
    if (options.bug == Bug::unfilled_prompts) {
        made->live->pad_word.clear();
    }
    return made;
}

ReplaySettings settings_of(const SimOptions& options) {
    ReplaySettings settings{
        .inflight_max = options.bug == Bug::shared_place ? 2 : options.inflight_max,
        .capped_by_host = options.capped_by_host,
        .budgets = options.budgets};
    if (options.bug == Bug::wide_budgets) {
        settings.budgets.input.tokens *= 2;
        settings.budgets.output.tokens *= 2;
    }
    settings.abandon = options.abandon;
    settings.abandon.seed += options.bug == Bug::other_patience ? 1 : 0;
    settings.lanes_max =
        options.connections_fixed > 0 ? options.connections_fixed : options.inflight_max;
    settings.connections_fixed = options.connections_fixed;
    settings.connection =
        options.bug == Bug::other_lanes ? ConnectionRule::reuse : options.connection;
    settings.framing = options.stream ? Framing::sse : Framing::whole;
    settings.warm_sends = options.warm_sends;
    settings.timeouts = options.timeouts;
    settings.grace = milliseconds(50);
    if (options.users.for_ns) {
        settings.drained_ns = *options.users.for_ns + options.drain_ns;
    }
    return settings;
}

std::uint64_t dice_of(const SimOptions& options, const Segment& segment) {
    const std::uint32_t number = segment.resumed != nullptr ? segment.resumed->segment() : 0;
    return number == 0 ? options.seed : mix64(options.seed + number);
}

Trace waits_of(const Trace& trace, Bug bug) {
    Trace waits = trace;
    for (Dependency& one : waits.dependencies) {
        const bool is_early = bug == Bug::early_turns && one.trigger == Trigger::completion;
        one.trigger = is_early ? Trigger::dispatch : one.trigger;
    }
    if (bug == Bug::no_barriers) {
        std::erase_if(waits.dependencies,
                      [](const Dependency& one) { return one.trigger == Trigger::over; });
    }
    if (bug == Bug::split_trees) {
        std::erase_if(waits.dependencies, [](const Dependency& one) { return one.row % 2 == 0; });
        for (TraceRow& row : waits.rows) {
            row.session = no_session;
        }
    }
    if (bug == Bug::lost_release) {
        waits.dependencies.push_back({trace.rows.back().index, trace.rows.front().index});
    }
    return waits;
}

UserRules played_rules(const SimOptions& options) {
    UserRules rules = options.users;
    rules.users += options.bug == Bug::extra_user || options.bug == Bug::extra_row ? 1 : 0;
    if (options.bug == Bug::shuffled_rows) {
        rules.order = TreeRule::shuffle;
    }
    if (options.bug == Bug::lost_time) {
        rules.for_ns = *rules.for_ns + milliseconds(50).ns;
    }
    if (options.bug == Bug::early_start) {
        rules.start.gap_cap_ns = 0;
    }
    return rules;
}

bool rows_repeat(const UserRules& rules) {
    return rules.recycle || rules.failures.retries_max > 0 || rules.failures.waits_for_429;
}

// Of each row the smallest one that it hangs together with: until nothing changes any more.
std::map<std::uint32_t, std::uint32_t> single_rows_of(const Trace& trace) {
    std::map<std::uint32_t, std::uint32_t> trees;
    for (const TraceRow& row : trace.rows) {
        trees[row.index] = row.index;
    }
    return trees;
}

std::map<std::uint32_t, std::uint32_t> trees_of(const Trace& trace) {
    std::map<std::uint32_t, std::uint32_t> trees;
    std::map<std::uint32_t, std::uint32_t> sessions;
    for (const TraceRow& row : trace.rows) {
        trees[row.index] = row.index;
    }
    const auto join = [](std::uint32_t& one, std::uint32_t& other) {
        const bool changes = one != other;
        one = other = std::min(one, other);
        return changes;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const Dependency& one : trace.dependencies) {
            changed = join(trees[one.row], trees[one.on]) || changed;
        }
        for (const TraceRow& row : trace.rows) {
            if (row.session != no_session) {
                std::uint32_t& session =
                    sessions.try_emplace(row.session, trees[row.index]).first->second;
                changed = join(trees[row.index], session) || changed;
            }
        }
    }
    return trees;
}

Trace without_turns(Trace trace) {
    trace.dependencies.clear();
    trace.sessions.clear();
    for (TraceRow& row : trace.rows) {
        row.session = no_session;
    }
    return trace;
}

SimPrompts prompts_in(const Trace& trace, const SimOptions& options, const Segment& segment) {
    SimPrompts prompts{.block_size = trace.block_size,
                       .pre = options.server.overhead.pre,
                       .post = options.server.overhead.post};
    for (const TraceRow& row : trace.rows) {
        SimPrompt& prompt = prompts.of_row[row.index];
        prompt.name_space = row.name_space;
        prompt.input_length = row.input_length;
        const BlockIdSpan ids = trace.ids_of(row);
        prompt.ids.assign(ids.begin(), ids.end());
        if (segment.resumed != nullptr) {
            const RowEnds& ends = segment.resumed->whole.past.ends();
            const auto end = ends.find(row.index);
            if (end != ends.end() && end->second) {
                prompts.sent_before.insert(row.index);
            }
        }
    }
    return prompts;
}

std::vector<Dependency> waits_within(const Trace& trace, const Plan& plan) {
    const PlannedRows planned(trace, plan);
    std::vector<Dependency> within;
    for (const TraceRow& row : trace.rows) {
        const auto all = trace.dependencies_of(row);
        if (std::all_of(all.begin(), all.end(), [&](const Dependency& one) {
                return planned.contains(one.row) && planned.contains(one.on);
            })) {
            within.insert(within.end(), all.begin(), all.end());
        }
    }
    return within;
}

BodyFrame frame_of(const Dialect& dialect, bool stream) {
    BodySpec spec{.model = "mock-model", .stream = stream};
    Result<BodyFrame> frame = dialect.frame(spec);
    CHECK(static_cast<bool>(frame));
    return std::move(frame).value();
}

std::vector<RequestHead> heads_of(const Dialect& dialect, std::uint32_t targets) {
    return std::vector<RequestHead>(
        targets, RequestHead(RequestHeadSpec{.target = dialect.default_path, .host = "simulated"}));
}

PromptOptions prompts_of(const SimOptions& options) {
    return PromptOptions{.seed = options.seed,
                         .overhead = {options.server.overhead.pre, options.server.overhead.post}};
}

RowFields fields_of(const Trace& trace, const Plan& plan, const SimOptions& options) {
    const std::string longest(3'000, 'x');
    std::vector<FieldTemplate> templates;
    std::string unknown;
    for (const Header& header :
         {Header{"X-Session", "{session}"}, Header{"X-Row", "{row}"},
          Header{"X-Agent", "{tree}/{parent}-{pass}"}, Header{"X-Place", "{pass}/{user}"},
          Header{"X-Long", longest + "{row}"}}) {
        templates.push_back(parse_field_template(header, unknown));
    }
    InputErrors errors;
    RowFields fields(options.own_fields ? templates : std::vector<FieldTemplate>(), trace, plan,
                     errors);
    CHECK(errors.empty());
    return fields;
}

AssemblerConfig assembler_of(const Trace& trace, const Plan& plan, const Dialect& dialect,
                             const SimOptions& options) {
    AssemblerConfig config{
        .trace = &trace, .plan = &plan, .dialect = &dialect, .stream = options.stream};
    for (std::uint32_t i = 0; i < options.targets; ++i) {
        config.urls.push_back("http://simulated/" + std::to_string(i));
    }
    config.limits = taint_limits(CertifyWithin());
    config.closed = options.closed;
    config.forecast.in_run_order = options.closed && options.bug != Bug::file_order;
    config.forecast.users = options.users.users;
    config.forecast.around = {options.server.overhead.pre, options.server.overhead.post};
    config.periods.length_ns = options.period_ns;
    config.periods.warms_up = options.users.start.warms_up();
    config.periods.grow = options.grow;
    config.periods.grow.users_first = options.users.first();
    config.periods.grow.users_max = options.users.users;
    config.periods.stop_when = options.stop_when;
    config.periods.for_ns = options.users.for_ns;
    config.periods.goodput = {{{}, "", {milliseconds(20).ns, std::nullopt, std::nullopt}}};
    if (const std::uint32_t users = options.users.users; users > 0) {  // an upper bound
        config.requests_end =
            static_cast<std::uint32_t>(plan.rows.size()) * (options.users.recycle ? users + 3 : 1);
    }
    if (options.own_fields) {
        config.trace_run_id = run_id;
        config.record_headers = {"X-Request-Id"};
    }
    return config;
}

Schedule played_schedule(const Trace& trace, const Plan& plan, const SimOptions& options,
                         const EarlierRows& earlier, ShardPlace engine, const LiveTurns* live) {
    if (!options.closed) {
        return Schedule(plan);
    }
    const Trace waits = waits_of(trace, options.bug);
    return options.users.users > 0
               ? Schedule(waits, plan, Speed(), users_of(played_rules(options), engine), live)
               : Schedule(waits, plan, Speed(), earlier, live);
}

std::uint32_t requests_end_of(Schedule& schedule) {
    const Users* const users = schedule.users();
    return users == nullptr ? 0 : users->requests_end();
}

std::vector<Endpoint> endpoints_of(TlsWorld* tls, const SimOptions& options) {
    if (tls != nullptr) {
        return tls->endpoints();
    }
    std::vector<Endpoint> endpoints(options.targets);
    if (options.spared) {
        endpoints[*options.spared].address = SimDriver::spared_address();
    }
    return endpoints;
}

RecordSinks sinks_of(SimDisk& disk, bool first, Bug bug) {
    std::string failed;
    disk.begin({});
    const RecordFiles files = {disk.folder(), "", false, true};
    Result<RecordSinks> made = open_sinks(files, first, failed);
    CHECK(static_cast<bool>(made));
    if (bug == Bug::no_fired_file) {
        made.value().fired = LineSink();
    } else if (bug == Bug::shared_file) {
        Result<LineSink> shared = LineSink::append(made.value().requests.path());
        CHECK(static_cast<bool>(shared));
        made.value().fired = std::move(shared).value();
    }
    return std::move(made).value();
}

DriverBugs bugs_of(Bug bug) {
    return DriverBugs{.early_stamps = bug == Bug::early_stamps,
                      .lost_byte = bug == Bug::lost_byte,
                      .unsaid_limit = bug == Bug::unsaid_limit,
                      .greedy_send = bug == Bug::greedy_send,
                      .crossed_send = bug == Bug::crossed_send,
                      .uncounted_loss = bug == Bug::uncounted_loss,
                      .blind_look = bug == Bug::blind_look,
                      .blind_to_ends = bug == Bug::blind_to_ends,
                      .trusted_clock = bug == Bug::trusted_clock,
                      .no_proof = bug == Bug::no_proof};
}

int stops_asked(const SimOptions& options, std::int64_t at_ns) {
    const bool once = options.stop_at_ns >= 0 && at_ns >= options.stop_at_ns;
    const bool again = options.stop_again_ns >= 0 && at_ns >= options.stop_again_ns;
    return (once ? 1 : 0) + (again ? 1 : 0);
}

bool is_calm(const SimOptions& options) {
    const Weather& weather = options.weather;
    const Duration arithmetic = options.tls.step_max + options.tls.record_max;
    return weather.pause <= 0 && weather.late_wake <= 0 && weather.step_clock <= 0 &&
           weather.suspend <= 0 && weather.lose_end <= 0 && !options.overload &&
           (!options.tls.on || arithmetic.ns == 0);
}

mock::CoreOptions server_of(const SimOptions& options) {
    mock::CoreOptions server = options.server;
    server.keep_log = !options.unwatched;
    server.overhead.pre += options.bug == Bug::wrong_count ? 1 : 0;
    return server;
}

ReadBack read_back(std::string_view jsonl) {
    ReadBack read;
    JsonDocument document;
    while (!jsonl.empty()) {  // ends: each line takes a byte at least
        const std::string_view line = jsonl.substr(0, jsonl.find('\n') + 1);
        const std::string_view whole = line.empty() ? jsonl : line;
        Result<Record> record = read_record(document, whole);
        std::string again;
        if (record) {
            append_jsonl(again, record.value());
            read.records.push_back(std::move(record).value());
        }
        if (again != whole) {
            read.unreadable.emplace_back(whole);
        }
        jsonl.remove_prefix(whole.size());
    }
    return read;
}

std::unique_ptr<TlsWorld> tls_of(const SimOptions& options) {
    return options.tls.on ? std::make_unique<TlsWorld>(options.seed, options.tls, options.targets)
                          : nullptr;
}

std::string summary_of(const Summary& summary, const ClientTotals& client) {
    return summary_json(summary.figures(), SummaryInfo{.client = &client});
}

std::map<std::uint32_t, mock::RequestLog> truth_of(mock::MockCore& core) {
    std::map<std::uint32_t, mock::RequestLog> truth;
    for (mock::RequestLog entry; core.take_finished(entry);) {
        if (!entry.row) {
            continue;
        }
        const auto [known, fresh] =
            truth.try_emplace(static_cast<std::uint32_t>(*entry.row), entry);
        if (!fresh) {
            known->second.start_ns = std::min(known->second.start_ns, entry.start_ns);
            if (known->second.token_ns.empty()) {
                known->second.token_ns = std::move(entry.token_ns);
            }
        }
    }
    return truth;
}

}  // namespace driftless::sim
