// CPUs, seats, command lines and shards of a run.

#include "cmd/replay/host_choice.hpp"

#include "cmd/base/secrets.hpp"
#include "cmd/replay/engine_crew.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/shard.hpp"
#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {

// What bounds the connections of a run is told with the number that is needed, at the limit and
// beside it.

namespace {

TEST(ConnectionRoom, FilesAndPortsBoundButNeverNone) {
    const ConnectionRoom room{1064, 0};  // 64 are kept for files, rings and streams
    EXPECT_EQ(connections_most(room), 1000u);
    EXPECT_EQ(why_too_many(999, "x", room), "");
    EXPECT_EQ(why_too_many(1000, "x", room), "");
    const std::string why = why_too_many(1001, "1001 rows are due", room);
    EXPECT_TRUE(why.starts_with("1001 rows are due at once")) << why;
    EXPECT_TRUE(says(why, {"limit of 1064 open files", "ulimit -n 1065", "--max-inflight 1000"}));
    const ConnectionRoom other_room{1 << 20, 28'232};
    EXPECT_EQ(connections_most(other_room), 28'232u);
    EXPECT_EQ(why_too_many(28'232, "x", other_room), "");
    const std::string other_why = why_too_many(28'233, "x", other_room);
    EXPECT_TRUE(says(other_why, {"28232 ports", "ip_local_port_range"}));
    EXPECT_EQ(connections_most({10, 0}), 1u);
    EXPECT_EQ(connections_most({1 << 20, 0}), 65'536u);
    EXPECT_TRUE(says(why_too_many(65'537, "x", {1 << 20, 0}), "65536"));
    EXPECT_TRUE(why_too_many(9, "x", {files_reserved + 1, 0, 2})
                    .ends_with("or use --engines 1 and hold rows back with --max-inflight 1"));
}

Plan due_at(const std::vector<std::int64_t>& instants) {
    Plan plan;
    for (const std::int64_t due_ns : instants) {
        plan.rows.push_back({due_ns});
    }
    return plan;
}

TEST(OpenRequests, AreThePlansRowsOrThoseOfAllUsers) {
    UserRules users;
    EXPECT_EQ(requests_most(due_at({0, 1, 2}), users), 3u);
    users.users = 7;
    EXPECT_EQ(requests_most(due_at({0, 1, 2}), users), 3u);
    users.recycle = true;
    EXPECT_EQ(requests_most(due_at({0, 1, 2}), users), 21u);
}

TEST(ReceiveBuffers, AreEightAConnection) {
    EXPECT_EQ(std::tuple(receive_buffers_for(1), receive_buffers_for(32), receive_buffers_for(33)),
              std::tuple(receive_buffers_min, 256u, 512u));
    EXPECT_EQ(receive_buffers_for(511), receive_buffers_max);
    EXPECT_EQ(receive_buffers_for(65'536), receive_buffers_max);
    HostFlags flags;
    EXPECT_EQ(driver_options(flags, DriverKind::automatic, 33).buffers, 512u);
    flags.receive_buffers = 4;
    EXPECT_EQ(driver_options(flags, DriverKind::automatic, 33).buffers, 4u);
}

TEST(FreshPorts, CountsOverTheTimeThatTheyAreKept) {
    EXPECT_EQ(rows_within(due_at({}), 10), 0u);
    EXPECT_EQ(rows_within(due_at({0, 0, 0}), 10), 3u);
    EXPECT_EQ(rows_within(due_at({0, 9}), 10), 2u);
    EXPECT_EQ(rows_within(due_at({0, 10}), 10), 1u);
    EXPECT_EQ(rows_within(due_at({0, 5, 9, 14, 14, 30}), 10), 4u);  // from 5 to 14
    EXPECT_EQ(ports_run_out(28'232, port_kept_ns, 28'232), "");
    const std::string text = ports_run_out(28'233, port_kept_ns, 28'232);
    EXPECT_TRUE(says(
        text, {"28233 rows are due within 60 s", "the kernel has 28232", "tcp_tw_reuse to 1"}));
    EXPECT_FALSE(says(ports_run_out(9, port_reused_ns, 8), "tcp_tw_reuse"));
}

// What a plan needs of its host is told before the run, at the limit and beside it.

struct Row {
    std::int64_t due_ns;
    std::uint32_t tokens;
};

struct Planning {
    Trace trace;
    Plan plan;
    explicit Planning(const std::vector<Row>& rows) {
        for (const Row& row : rows) {
            trace.rows.push_back({.output_length = row.tokens});
            plan.rows.push_back({row.due_ns, static_cast<std::uint32_t>(trace.rows.size() - 1)});
        }
    }
    OpenEstimate open(std::int64_t token_ns) const { return open_estimate(plan, trace, token_ns); }
};

TEST(OpenEstimate, CountsWhatHasNotEnded) {
    EXPECT_EQ(Planning({}).open(10).most, 0u);
    // Open from 0 to 40, from 10 to 30, from 35 to 45.
    const Planning three({{0, 4}, {10, 2}, {35, 1}});
    EXPECT_EQ(three.open(10).most, 2u);
    EXPECT_EQ(three.open(10).at_ns, 10);
    EXPECT_EQ(three.open(20).most, 3u);  // to 80, 50, 55
    EXPECT_EQ(three.open(20).at_ns, 35);
    EXPECT_EQ(Planning({{0, 1}, {9, 1}}).open(10).most, 2u);
    EXPECT_EQ(Planning({{0, 1}, {10, 1}}).open(10).most, 2u);
    EXPECT_EQ(Planning({{0, 1}, {11, 1}}).open(10).most, 1u);
    EXPECT_EQ(Planning({{7, 0}, {7, 0}, {7, 0}}).open(10).most, 3u);  // lengths are unknown
    EXPECT_EQ(open_warning({36, 0}, {100, 0}), "");
    const std::string files = open_warning({37, 1'500'000'000}, {100, 0});
    EXPECT_TRUE(
        files.starts_with("at 5 ms per output token, 37 requests are open 1.500 s after the "
                          "start, all at once, each on its own connection"))
        << files;
    EXPECT_TRUE(says(files, {"limit of 100 open files", "ulimit -n 101", "--max-inflight 36",
                             "tainted (late_cause limit)"}));
    EXPECT_TRUE(says(open_warning({12, 0}, {1 << 20, 11}), "ip_local_port_range"));
    EXPECT_EQ(open_warning({11, 0}, {1 << 20, 11}), "");
}

std::size_t ring_bytes(const Planning& of, bool lengths_known = true, bool dues_known = true) {
    return event_ring_bytes(of.plan, of.trace, lengths_known, dues_known);
}

TEST(EventRingBytes, HoldTheBusiestSecondFourTimes) {
    EXPECT_EQ(ring_bytes(Planning({})), event_ring_bytes_min);
    EXPECT_EQ(ring_bytes(Planning({{0, 3}})), event_ring_bytes_min) << "events may be large";
    const std::size_t one = row_event_bytes + 3000 * token_event_bytes;
    EXPECT_EQ(ring_bytes(Planning({{0, 3000}})), 4 * one);
    EXPECT_EQ(ring_bytes(Planning({{0, 3000}, {5'000'000'000, 3000}})), 4 * one);
    EXPECT_EQ(ring_bytes(Planning({{0, 3000}, {5'000'000'000, 3000}}), true, false), 4 * 2 * one);
    constexpr std::int64_t second = 1'000'000'000;
    std::vector<Row> rows;
    for (std::int64_t at = 0; at < 100; ++at) {  // 3 MB each
        rows.push_back({at * second, 3000});
    }
    EXPECT_EQ(ring_bytes(Planning(rows)), 4 * one);
    rows[50].due_ns = rows[49].due_ns + second - 1;
    EXPECT_EQ(ring_bytes(Planning(rows)), 4 * 2 * one);
    EXPECT_EQ(ring_bytes(Planning(rows), true, false), event_ring_bytes_max);
    for (Row& row : rows) {
        row.tokens = 100;  // a second is less than the least that is kept
    }
    EXPECT_EQ(ring_bytes(Planning(rows)), event_ring_bytes_min);
    EXPECT_EQ(ring_bytes(Planning({{0, 3}}), false), event_ring_bytes_max);
    EXPECT_EQ(ring_bytes(Planning({{0, 3}, {1, 0}})), event_ring_bytes_max);
    EXPECT_EQ(ring_bytes(Planning({{0, 8190}})), event_ring_bytes_max);
    EXPECT_EQ(ring_bytes(Planning({{0, 8189}})), event_ring_bytes_max - 4 * token_event_bytes);
}

TEST(Bodies, AreSummedOverAStretchAndHeldAgainstMemory) {
    const Planning rows({{0, 0}, {5, 0}, {9, 0}, {15, 0}});
    const std::vector<std::size_t> bytes{100, 20, 3, 400};
    expect_each([&](auto in) { return most_within(rows.plan, bytes, in); }, gives(5, 400u),
                gives(9, 403u), gives(10, 403u), gives(11, 423u));
    EXPECT_EQ(most_within(Planning({}).plan, {}, 10), 0u);
    EXPECT_EQ(bodies_warning(64 << 20, 64 << 20), "");
    const std::string text = bodies_warning((64 << 20) + 1, 64 << 20);
    EXPECT_TRUE(says(text, "64 MiB are kept ready; --arm-ahead all"));
}

using Cpus = std::vector<std::uint32_t>;
using Where = WriterCpu::Where;

Placement placed(const Cpus& allowed, bool server_is_here, const HostFlags& flags = {},
                 bool has_limit = false) {
    return choose_placement(flags,
                            {allowed, {allowed.back()}, server_is_here, true, has_limit, true});
}

HostFlags waiting(WaitPolicy wait) {
    return HostFlags{.wait = wait};
}

HostFlags writing(Where where, std::uint32_t cpu = 0) {
    return HostFlags{.writer_cpu = {where, cpu}};
}

TEST(Placement, ShareTheCpusThatThereAre) {
    const Placement two = placed({0, 1}, true);
    EXPECT_EQ(two.writer_cpus, (Cpus{1}));
    EXPECT_TRUE(two.gives_way && two.may_leave);
    EXPECT_EQ(two.wait, WaitPolicy::hybrid);
    EXPECT_EQ(two.scheduling, Scheduling::kept);
    EXPECT_EQ(placed({0, 1, 2}, true).writer_cpus, (Cpus{2}));
    EXPECT_EQ(placed({0, 1, 2}, true).wait, WaitPolicy::hybrid);
    const Placement other_two = placed({0, 1}, false);
    EXPECT_EQ(other_two.writer_cpus, (Cpus{0}));
    EXPECT_FALSE(other_two.gives_way);
    EXPECT_EQ(other_two.scheduling, Scheduling::slice);
    const Placement three = placed({0, 1, 2}, false);
    EXPECT_EQ(three.wait, WaitPolicy::spin);
    EXPECT_EQ(three.scheduling, Scheduling::slice);
    const Placement four = placed({0, 1, 2, 3}, true);
    EXPECT_EQ(four.writer_cpus, (Cpus{0, 1, 2}));
    EXPECT_EQ(four.wait, WaitPolicy::spin);
    const Placement one = placed({3}, true);
    EXPECT_EQ(one.writer_cpus, (Cpus{3}));
    EXPECT_TRUE(one.gives_way);
    EXPECT_FALSE(one.may_leave);
    EXPECT_EQ(one.wait, WaitPolicy::hybrid);
    EXPECT_EQ(one.scheduling, Scheduling::slice) << "everybody else is there, too";
}

TEST(Placement, KeepsCpusAwakeAndFlagsGoFirst) {
    HostFlags asked{.scheduling = Scheduling::kept};
    const PlacementFacts free{{0, 1}, {1}, true, true, false, true};
    PlacementFacts elsewhere = free;
    elsewhere.server_is_here = false;
    PlacementFacts part = free;
    part.has_all_cpus = false;
    PlacementFacts dear = free;
    dear.yielding_is_free = false;
    PlacementFacts all_taken = free;
    all_taken.engine_cpus = {1, 0};
    const auto chosen = [](const PlacementFacts& facts, const HostFlags& flags) {
        return choose_placement(flags, facts).scheduling;
    };
    EXPECT_EQ(chosen(free, {}), Scheduling::kept);
    EXPECT_EQ(chosen(free, waiting(WaitPolicy::sleep)), Scheduling::slice);
    EXPECT_EQ(chosen(elsewhere, {}), Scheduling::slice) << "nobody comes to the engine's CPU";
    EXPECT_EQ(chosen(part, {}), Scheduling::slice) << "who waits there is not seen";
    EXPECT_EQ(chosen(part, asked), Scheduling::kept);
    for (const HostFlags& flags : {HostFlags(), asked}) {
        EXPECT_EQ(chosen(dear, flags), Scheduling::slice);
        EXPECT_EQ(chosen(all_taken, flags), Scheduling::slice) << "everybody else is there, too";
    }
    EXPECT_EQ(placed({0, 1, 2, 3}, false, {}, true).wait, WaitPolicy::hybrid);
    EXPECT_EQ(placed({0, 1}, true, {}, true).scheduling, Scheduling::slice);
    const Placement spin = placed({0, 1}, true, waiting(WaitPolicy::spin));
    EXPECT_EQ(spin.writer_cpus, (Cpus{0})) << "an engine that never sleeps lets no writer in";
    EXPECT_FALSE(spin.gives_way);
    EXPECT_EQ(placed({0, 1}, true, waiting(WaitPolicy::sleep)).scheduling, Scheduling::slice);
    EXPECT_EQ(placed({0, 1}, true, writing(Where::apart)).writer_cpus, (Cpus{0}));
    EXPECT_EQ(placed({0, 1}, false, writing(Where::beside)).writer_cpus, (Cpus{1}));
    EXPECT_FALSE(placed({0, 1}, true, writing(Where::on, 0)).gives_way);
    const Placement own = placed({0, 1}, true, writing(Where::on, 1));
    EXPECT_TRUE(own.gives_way);
    EXPECT_FALSE(own.may_leave) << "the user said where";
    HostFlags ordinary{.scheduling = Scheduling::ordinary};
    EXPECT_EQ(placed({0, 1}, true, ordinary).scheduling, Scheduling::ordinary);
    const Placement placement = placed({0, 1, 2, 3}, false, {.realtime = true});
    EXPECT_EQ(placement.scheduling, Scheduling::realtime);
    EXPECT_EQ(placement.wait, WaitPolicy::hybrid);
    EXPECT_NE(placed({0, 1, 2, 3}, false).scheduling, Scheduling::realtime);
}

TEST(Placement, EnginesOnAllCpusShareThemWithTheWriter) {
    const Placement both = choose_placement({}, {{0, 1}, {1, 0}, true, true, false});
    EXPECT_EQ(both.writer_cpus, (Cpus{0, 1}));
    EXPECT_TRUE(both.gives_way);
    EXPECT_FALSE(both.may_leave);
}

// What an engine gets of the caps of a run: parts that add up to them, and never "no bound" of one.

ReplaySettings caps_of(std::uint32_t number) {
    ReplaySettings settings{
        .inflight_max = number, .lanes_max = number, .connections_fixed = number};
    settings.budgets.input.tokens = number;
    settings.budgets.output.tokens = number;
    return settings;
}

TEST(EngineSeat, PartsOfCapsAddUpAndStayCaps) {
    for (const std::uint32_t engines : {1U, 2U, 3U, 8U}) {
        ReplaySettings sum = caps_of(0);
        for (std::uint32_t number = 0; number < engines; ++number) {
            const ReplaySettings part = settings_at(caps_of(1003), {number, engines});
            sum.inflight_max += part.inflight_max;
            sum.lanes_max += part.lanes_max;
            sum.connections_fixed += part.connections_fixed;
            sum.budgets.input.tokens += part.budgets.input.tokens;
            sum.budgets.output.tokens += part.budgets.output.tokens;
        }
        EXPECT_EQ(std::tuple(sum.inflight_max, sum.lanes_max), std::tuple(1003u, 1003u));
        EXPECT_EQ(sum.connections_fixed, 1003u);
        EXPECT_EQ(sum.budgets.input.tokens, 1003u);
        EXPECT_EQ(sum.budgets.output.tokens, 1003u);
    }
    // 0 would mean that there is no cap at all; no cap stays none.
    const ReplaySettings part = settings_at(caps_of(1), {7, 8});
    EXPECT_EQ(std::tuple(part.connections_fixed, part.budgets.output.tokens), std::tuple(1u, 1u));
    const ReplaySettings none = settings_at(caps_of(0), {7, 8});
    EXPECT_EQ(none.connections_fixed, 0u);
    EXPECT_FALSE(none.budgets.any());
}

// Whatever of a command line is a credential is known as one, and nothing else is.

Words secrets(const Words& flags) {
    const ReplayOptions options = options_with(flags);
    return secrets_of(take_credentials(options.request, options.server.targets).value().all);
}

TEST(Credentials, AreKnownAndSavedNowhere) {
    EXPECT_EQ(secrets({"--api-key=sk-1"}), (Words{"Bearer sk-1", "sk-1"}));
    EXPECT_EQ(secrets({"--header=X-Api-Key: prod-{row}-of-{turn}"}), (Words{"prod-", "-of-"}));
    EXPECT_EQ(secrets({R"(--extra-body={"api_key":"sk\\/1"})"}), (Words{R"(sk\\/1)", R"(sk\/1)"}));
    EXPECT_EQ(secrets({R"(--extra-body={"user":"me"})", "--header=X-Team: blue-{row}"}), Words{});
    // The key is in what is sent and nowhere else: not in the flags, not in the environment.
    ASSERT_EQ(::setenv("DRIFTLESS_TEST_KEY", "sk-9", 1), 0);
    const ReplayOptions options = options_with({"--header=X-Team: env:DRIFTLESS_TEST_KEY"});
    const Credentials credentials =
        take_credentials(options.request, options.server.targets).value();
    EXPECT_EQ(credentials.headers.front().value, "sk-9");
    EXPECT_EQ(secrets_of(credentials.all), Words{"sk-9"});
    EXPECT_EQ(options.request.headers.front().value, "env:DRIFTLESS_TEST_KEY");
    EXPECT_EQ(std::getenv("DRIFTLESS_TEST_KEY"), nullptr);
    // Saved bodies would hold the key, and no file may.
    const std::string why =
        refusal_with({"--save-prompts=p", R"(--extra-body={"api_key":"sk-1"})"});
    EXPECT_TRUE(says(why, "api_key"));
    EXPECT_FALSE(says(why, "sk-1"));
}

// Found shard: who starts many processes says which part each is; what contradicts is refused in
// one line with variable, value and remedy.

/// Of "NAME=VALUE NAME=VALUE".
Variables variables_of(const std::string& text) {
    Variables variables;
    for (const std::string& word : words_of(text)) {
        const std::size_t equals = word.find('=');
        variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    return variables;
}

struct Case {
    const char* variables;
    const char* from;
    ShardPlace place;
};

TEST(FoundShard, ByWhoStartsTheProcesses) {
    const Case cases[] = {
        {"", "", {}},
        {"JOB_COMPLETION_INDEX=2 DRIFTLESS_SHARDS=3", "JOB_COMPLETION_INDEX", {2, 3}},
        {"SLURM_PROCID=1 SLURM_NTASKS=4", "SLURM_PROCID", {1, 4}},
        {"SLURM_PROCID=0 SLURM_NTASKS=1", "", {}},
        {"SLURM_NTASKS=4", "", {}},
        {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_JOB_ID=9 SLURM_STEP_ID=0", "SLURM_PROCID", {1, 4}},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK", {0, 1}},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3 SLURM_PROCID=0 SLURM_NTASKS=2",
         "OMPI_COMM_WORLD_RANK",
         {2, 3}},
        {"PMI_RANK=1 PMIX_RANK=1 PMI_SIZE=2", "PMI_RANK", {1, 2}},
        {"PMIX_RANK=1 DRIFTLESS_SHARDS=2", "PMIX_RANK", {1, 2}},
        // As Open MPI 4.1 and `srun --mpi=pmix` set them.
        {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=3",
         "OMPI_COMM_WORLD_RANK",
         {3, 4}},
        {"SLURM_PROCID=1 SLURM_NTASKS=2 PMIX_RANK=1", "SLURM_PROCID", {1, 2}},
    };
    for (const Case& one : cases) {
        const FoundShard found = find_shard(variables_of(one.variables));
        EXPECT_EQ(std::tuple(found.refused, found.from), std::tuple("", one.from));
        EXPECT_EQ(found.place, one.place) << one.from;
    }
}

TEST(FoundShard, RefusesWhatIsBrokenOrContradicts) {
    const std::pair<const char*, const char*> cases[] = {
        {"JOB_COMPLETION_INDEX=2",
         "JOB_COMPLETION_INDEX is 2, but the number of shards is not known"},
        {"DRIFTLESS_SHARDS=3", "DRIFTLESS_SHARDS is 3, but no variable says which shard"},
        {"DRIFTLESS_SHARDS=3 PMI_RANK=3 PMI_SIZE=4",
         "DRIFTLESS_SHARDS is 3, but PMI_RANK is one of 4"},
        {"SLURM_PROCID=4 SLURM_NTASKS=4", "SLURM_PROCID is 4 and SLURM_NTASKS is 4"},
        {"SLURM_PROCID=1.5 SLURM_NTASKS=4", "SLURM_PROCID is \"1.5\""},
        {"SLURM_PROCID=1 SLURM_NTASKS=4097", "not a number from 1 to 4096"},
        {"SLURM_PROCID=1", "the number of tasks is not known; set SLURM_NTASKS"},
        {"SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=9", "srun"},
        {"SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=9 SLURM_STEP_ID=4294967291", "srun"},
        {"SLURM_PROCID=1 SLURM_NTASKS=2 PMIX_RANK=0",
         "SLURM_PROCID says shard 1/2 and PMIX_RANK is 0"},
        {"PMI_RANK=1 PMIX_RANK=0 PMI_SIZE=2", "PMI_RANK says shard 1/2 and PMIX_RANK says 0/2"},
    };
    for (const auto& [variables, words] : cases) {
        const FoundShard found = find_shard(variables_of(variables));
        EXPECT_TRUE(says(found.refused, words)) << words << "\n" << found.refused;
        EXPECT_TRUE(says(found.refused, "--shard none"));
        EXPECT_EQ(found.from, "");
    }
}

// Shard: caps are shared out to the last one, and files have names of their own.

ReplayCommandLine line_of(const Words& flags) {
    ReplayCommandLine line = parse_flags(flags);
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return line;
}

TEST(Shard, SharesCapsOutAndKeepsTheEnvironment) {
    std::uint64_t inflight = 0;
    std::uint64_t tokens = 0;
    for (const char* part : {"0/3", "1/3", "2/3"}) {
        ReplayCommandLine line =
            line_of({"--shard", part, "--max-inflight", "8", "--budget-input", "1001/s"});
        EXPECT_EQ(settle_shard({}, false, line), "");
        inflight += *line.options.sending.inflight_max;
        tokens += line.options.sending.budget_input->rate.tokens;
    }
    EXPECT_EQ(std::tuple(inflight, tokens), std::tuple(8U, 1001U));
    for (const char* cap : {"3", "4"}) {
        ReplayCommandLine line = line_of({"--shard", "2/3", "--max-inflight", cap});
        EXPECT_EQ(settle_shard({}, false, line), "");
        EXPECT_EQ(line.options.sending.inflight_max, 1U);
    }
    ReplayCommandLine low = line_of({"--shard", "2/3", "--max-inflight", "2"});
    EXPECT_TRUE(says(settle_shard({}, false, low), "--max-inflight is 2"));
    const Variables variables = variables_of("SLURM_PROCID=1 SLURM_NTASKS=4");
    const auto keeps = [](const ReplayCommandLine& line) {
        return std::count(line.arguments.begin(), line.arguments.end(), "--shard=1/4") == 1;
    };
    ReplayCommandLine found = line_of({"-o", "out"});
    EXPECT_EQ(settle_shard(variables, false, found), "");
    EXPECT_TRUE(keeps(found));
    EXPECT_EQ(found.options.shard.from, "SLURM_PROCID");
    EXPECT_EQ(found.options.results.out, "out/shard-1");
    ReplayCommandLine taken_up = line_of({});
    EXPECT_EQ(settle_shard(variables, true, taken_up), "");
    EXPECT_FALSE(taken_up.options.shard.any());
    ReplayCommandLine none = line_of({"--shard", "none"});
    EXPECT_EQ(settle_shard(variables, false, none), "");
    EXPECT_FALSE(none.options.shard.any());
    EXPECT_EQ(file_of_shard("", 1), "");
    EXPECT_EQ(file_of_shard("rows", 1), "rows-shard-1");
    EXPECT_EQ(file_of_shard("a.b/bodies.jsonl.gz", 12), "a.b/bodies-shard-12.jsonl.gz");
    EXPECT_EQ(file_of_shard("/x/.hidden", 0), "/x/.hidden-shard-0");
}

}  // namespace
}  // namespace driftless
