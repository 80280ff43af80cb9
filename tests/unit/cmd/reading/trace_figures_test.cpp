// What is in a trace.

#include "cmd/reading/trace_figures.hpp"

#include "tests/unit/cmd/reading/make_trace.hpp"
#include "tests/unit/engine/plan/made.hpp"
#include "tests/unit/schema_check.hpp"

namespace driftless {

// Rates and bursts, worked out by hand.

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Rows of 10 tokens at these milliseconds.
struct Made {
    Trace trace;
    std::vector<Planned> rows;
    std::vector<Planned> spread;

    explicit Made(const std::vector<std::int64_t>& at_ms) {
        std::vector<RowSpec> specs;
        for (const std::int64_t at : at_ms) {
            specs.push_back({at, 10, {}});
        }
        trace = make_trace(0, TailRule::ceil, specs);
        rows = select_rows(trace, {});
        spread = select_rows(trace, {.spread = true});
    }
    ArrivalFigures figures() const { return arrivals_of(trace, rows, spread); }
};

// One row every 100 ms is a clock; ten at once every second are bursts of variance / mean
// 100 / 10 - 10 x (1 / 10) x .. : 10 of 100 windows hold 10 rows, so (10 - 1) / 1 = 9.
TEST(Arrivals, DispersionTellsBurstsFromClocks) {
    std::vector<std::int64_t> clock;
    std::vector<std::int64_t> bursts;
    for (int i = 0; i <= 100; ++i) {
        clock.push_back(i * 100);
        bursts.push_back(i / 10 * 1000);
    }
    const ArrivalFigures even = Made(clock).figures();
    EXPECT_EQ(even.span_ns, 10 * second);
    EXPECT_DOUBLE_EQ(even.rows_per_s, 10.1);
    EXPECT_EQ(std::tuple(even.instants, even.dispersion[0].windows), std::tuple(101U, 100U));
    EXPECT_DOUBLE_EQ(even.dispersion[0].recorded, 0);
    EXPECT_DOUBLE_EQ(even.dispersion[1].recorded, 0);
    EXPECT_TRUE(std::isnan(even.dispersion[2].recorded));  // one window says nothing
    EXPECT_DOUBLE_EQ(even.gap_variation, 0);

    const ArrivalFigures uneven = Made(bursts).figures();
    EXPECT_EQ(std::tuple(uneven.instants, uneven.most_rows.rows), std::tuple(11U, 10U));
    EXPECT_EQ(uneven.most_rows.input_tokens, 100U);
    EXPECT_EQ(uneven.most_rows.at_ns, 0);
    EXPECT_DOUBLE_EQ(uneven.dispersion[0].recorded, 9);
    EXPECT_DOUBLE_EQ(uneven.dispersion[1].recorded, 0);
    EXPECT_LT(uneven.dispersion[0].spread, 2);  // uniform inside each second: 0.9 or so
    EXPECT_DOUBLE_EQ(uneven.gap_variation, 3);  // gaps of 1 s and nine of 0: mean 0.1, std 0.3
}

// 40 rows around 1 s: no window of whole seconds holds them all, one anywhere does.
TEST(Arrivals, PeaksAreTakenAnywhereAndOneInstantHasNoRate) {
    std::vector<std::int64_t> at{0};
    for (int i = 0; i < 40; ++i) {
        at.push_back(900 + 5 * i);  // 900 .. 1095
    }
    at.push_back(5000);
    const ArrivalFigures figures = Made(at).figures();
    EXPECT_EQ(figures.peaks[0].rows, 20U);
    EXPECT_EQ(figures.peaks[0].rows_anywhere, 20U);
    EXPECT_EQ(figures.peaks[1].rows, 21U);  // with the one at 0
    EXPECT_EQ(figures.peaks[1].rows_anywhere, 40U);
    EXPECT_EQ(figures.peaks[1].input_tokens_anywhere, 400U);
    const ArrivalFigures other_figures = Made({3, 3, 3}).figures();
    EXPECT_EQ(other_figures.span_ns, 0);
    EXPECT_TRUE(std::isnan(other_figures.rows_per_s) && std::isnan(other_figures.gap_variation));
    EXPECT_TRUE(std::isnan(other_figures.dispersion[0].recorded));
    EXPECT_EQ(other_figures.most_rows.rows, 3U);
    EXPECT_EQ(other_figures.peaks[0].rows, 3U);
    const ArrivalFigures none = arrivals_of(Trace(), {}, {});
    EXPECT_EQ(std::tuple(none.span_ns, none.most_rows.rows), std::tuple(0, 0U));
}

TEST(Timeline, CutsTimeIntoRoundBuckets) {
    EXPECT_EQ(std::tuple(bucket_for(0), bucket_for(60 * second - 1), bucket_for(60 * second)),
              std::tuple(1'000'000, second, 2 * second));
    EXPECT_EQ(bucket_for(3'537 * second), 60 * second);
    const std::int64_t years = std::int64_t{10} * 365 * 86400 * second;
    EXPECT_LE(static_cast<std::uint64_t>(years / bucket_for(years)) + 1, timeline_buckets_max);

    const Made made({0, 999, 1000, 59'999});
    const Timeline line = timeline_of(made.trace, made.rows);
    EXPECT_EQ(line.bucket_ns, second);
    ASSERT_EQ(line.rows.size(), 60U);
    EXPECT_EQ(std::tuple(line.rows[0], line.rows[1], line.rows[59]), std::tuple(2U, 1U, 1U));
    EXPECT_EQ(std::tuple(line.input_tokens[0], line.output_tokens[0]), std::tuple(20U, 14U));
}

// The figures of real traces are those that others counted, and the JSON is what its schema says.

InspectFigures inspected(const Trace& trace, const InspectOptions& options = {}) {
    Result<InspectFigures> figures = inspect_trace(trace, options);
    CHECK(figures);
    return std::move(figures).value();
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Counted by a script of its own over the publisher's file, before this program was.
TEST(InspectFigures, OfTheMooncakeConversationTrace) {
    const std::string path = shared_trace("mooncake_conversation.jsonl");
    if (path.empty()) {
        GTEST_SKIP() << "no real traces in " << SHARED_DATA;
    }
    const Trace trace = read_or_die(path);
    const InspectFigures f = inspected(trace, {.max_model_len = 131'072});
    EXPECT_EQ(std::tuple(f.rows, f.arrivals.span_ns), std::tuple(12'031U, 3'536'999'000'000));
    EXPECT_NEAR(f.arrivals.rows_per_s, 3.40, 0.005);
    EXPECT_EQ(std::tuple(f.arrivals.instants, f.arrivals.most_rows.rows), std::tuple(1'180U, 28U));
    EXPECT_EQ(f.arrivals.most_rows.at_ns, 3'447'000'000'000);
    EXPECT_EQ(f.arrivals.most_tokens.input_tokens, 528'068U);
    EXPECT_EQ(std::tuple(f.arrivals.peaks[1].rows, f.arrivals.peaks[2].rows), std::tuple(28U, 67U));
    EXPECT_EQ(f.arrivals.peaks[3].rows, 247U);
    const Distribution& input = f.input.distribution;
    EXPECT_EQ(std::tuple(input.min, input.at[1], input.at[3]), std::tuple(891, 6'909, 27'367));
    EXPECT_EQ(std::tuple(input.at[5], input.max), std::tuple(85'401, 126'195));
    EXPECT_NEAR(input.mean, 12'035.06, 0.005);
    EXPECT_EQ(f.input.sum, 144'793'823U);
    const Distribution& output = f.output.distribution;
    EXPECT_EQ(std::tuple(output.min, output.at[1], output.at[3]), std::tuple(1, 350, 597));
    EXPECT_EQ(std::tuple(output.at[5], output.max), std::tuple(1'120, 2'000));
    EXPECT_NEAR(output.mean, 342.6, 0.05);
    EXPECT_EQ(std::tuple(f.blocks.ids, f.blocks.references), std::tuple(182'790U, 288'500U));
    EXPECT_EQ(f.blocks.ids_partial, 11'891U);
    EXPECT_EQ(f.blocks.ids_partial_shared, 88U);
    EXPECT_EQ(f.blocks.ids_of_two_lengths, 0U);
    EXPECT_TRUE(f.blocks.chained());
    EXPECT_EQ(std::tuple(f.blocks.rows_new, f.blocks.rows_complete), std::tuple(1U, 118U));
    const CapacityFigures& own = f.capacity.front();
    EXPECT_NEAR(percent(own.hit_blocks, own.references), 36.64, 0.005);
    EXPECT_NEAR(percent(own.hit_tokens, own.input_tokens), 37.36, 0.005);
    EXPECT_EQ(std::tuple(own.distinct, f.context->rows_over), std::tuple(182'790U, 0U));
    const std::vector<std::uint64_t>& blocks_new = f.timeline.blocks_new;
    EXPECT_EQ(std::accumulate(blocks_new.begin(), blocks_new.end(), 0UL), 182'790U);
}

TEST(InspectFigures, OfTheAzureCodeTrace) {
    const std::string path = shared_trace("azure_2023_code.csv");
    if (path.empty()) {
        GTEST_SKIP() << "no real traces in " << SHARED_DATA;
    }
    const InspectFigures f = inspected(read_or_die(path));
    EXPECT_EQ(f.rows, 8'819U);
    EXPECT_NEAR(static_cast<double>(f.arrivals.span_ns) / 1e9, 3'435.95, 0.005);
    EXPECT_NEAR(f.arrivals.rows_per_s, 2.57, 0.005);
    EXPECT_EQ(std::tuple(f.arrivals.instants, f.arrivals.peaks[0].rows), std::tuple(8'819U, 13U));
    EXPECT_EQ(std::tuple(f.arrivals.peaks[1].rows, f.input.distribution.min), std::tuple(67U, 3));
    EXPECT_EQ(f.input.distribution.at[1], 1'469);
    EXPECT_EQ(f.input.distribution.at[3], 5'194);
    EXPECT_EQ(f.input.distribution.at[5], 7'436);
    EXPECT_EQ(f.input.distribution.max, 7'437);
    EXPECT_NEAR(f.input.distribution.mean, 2'047.8, 0.05);
    EXPECT_EQ(f.output.distribution.at[1], 13);
    EXPECT_EQ(f.output.distribution.at[5], 252);
    EXPECT_EQ(f.output.distribution.max, 1'899);
    EXPECT_FALSE(f.has_blocks);
    EXPECT_TRUE(f.capacity.empty());
    // No two rows share an instant: there is nothing to spread.
    EXPECT_EQ(f.arrivals.dispersion[1].recorded, f.arrivals.dispersion[1].spread);
}

TEST(InspectFigures, OfFilesAreThoseOfEachAlone) {
    const std::string folder = shared_trace("weka");
    if (folder.empty()) {
        GTEST_SKIP() << "no real traces in " << SHARED_DATA;
    }
    const Trace all = read_or_die(folder);
    const InspectFigures together = inspected(all);
    ASSERT_EQ(together.files.size(), 12U);
    std::uint64_t rows = 0;
    for (const FileFigures& file : together.files) {
        const InspectFigures alone = inspected(read_or_die(file.name));
        EXPECT_EQ(file.rows, alone.rows) << file.name;
        EXPECT_EQ(file.input_tokens, alone.input.sum) << file.name;
        EXPECT_EQ(file.hit_blocks, alone.capacity.front().hit_blocks) << file.name;
        EXPECT_EQ(file.hit_tokens, alone.capacity.front().hit_tokens) << file.name;
        EXPECT_EQ(file.span_ns, alone.arrivals.span_ns) << file.name;
        rows += file.rows;
    }
    EXPECT_EQ(rows, together.rows);
    EXPECT_EQ(together.sessions.sessions, 28U);  // 12 conversations, 16 sub-agents
    EXPECT_EQ(together.sessions.rows, together.rows);
}

TEST(InspectFigures, CountSessionsWorkingSetAndRowsThatDoNotFit) {
    Trace trace =
        make_trace(4, TailRule::ceil,
                   {{0, 4, {1}, 0}, {1000, 4, {2}, 1}, {5000, 8, {1, 3}, 0}, {6000, 4, {4}}});
    trace.sessions = {"a", "b", "nobody"};
    trace.dependencies = {{2, 0, Trigger::completion, 3'000'000'000}, {3, 2, Trigger::dispatch, 1}};
    const SessionFigures f = inspected(trace).sessions;
    EXPECT_EQ(std::tuple(f.sessions, f.rows), std::tuple(2U, 3U));
    EXPECT_EQ(std::tuple(f.rows_each.max, f.length_ns.max), std::tuple(2, 5e9));
    EXPECT_EQ(std::tuple(f.dependencies, f.overlaps, f.delay_ns.max), std::tuple(2U, 1U, 3e9));
    const Trace other_trace = make_trace(
        0, TailRule::ceil, {{0, 92, {}}, {1, 93, {}}, {2, 94, {}}, {3, 99, {}}, {4, 100, {}}});
    // Each has 7 tokens of output.
    const ContextFigures other_f = *inspected(other_trace, {.max_model_len = 100}).context;
    EXPECT_EQ(std::tuple(other_f.rows_over, other_f.input_over), std::tuple(3U, 1U));
    // Working sets by buckets of 1 ms: the second names one block again and a new one.
    const Trace working = make_trace(4, TailRule::ceil,
                                     {{0, 8, {1, 2}}, {0, 8, {1, 2}}, {1, 8, {1, 3}}, {2, 4, {1}}});
    const Timeline line = inspected(working).timeline;
    EXPECT_EQ(line.blocks_used, (std::vector<std::uint64_t>{2, 2, 1}));
    EXPECT_EQ(line.blocks_new, (std::vector<std::uint64_t>{2, 1, 0}));
}

TEST(InspectFigures, ChooseBlockSizesInJsonOfTheSchema) {
    const Trace trace = make_trace(64, TailRule::ceil, {{0, 128, {1, 2}}});
    const auto sizes = [](const InspectFigures& f) {
        return members_of(f.capacity, &CapacityFigures::block_size);
    };
    EXPECT_EQ(sizes(inspected(trace)),
              (std::vector<std::uint32_t>{64, 128, 256, 512, 1024, 2048, 4096}));
    InspectOptions options{.block_sizes = {320, 128, 128}};
    EXPECT_EQ(sizes(inspected(trace, options)), (std::vector<std::uint32_t>{64, 128, 320}));
    options.block_sizes = {32};
    EXPECT_EQ(inspect_trace(trace, options).error().code, ErrorCode::invalid);
    options.block_sizes = {};
    options.plan.start_ns = 1;
    EXPECT_EQ(inspect_trace(trace, options).error().code, ErrorCode::invalid);  // nothing is left
    Trace with_ids = random_trace(1, TailRule::ceil, 40);
    with_ids.remarks = {{"row is odd", "rows are odd", 2}};
    Trace without = make_trace(0, TailRule::ceil, {{0, 1, {}}, {1, 0, {}}});  // one length unknown
    without.files.clear();
    std::vector<std::string> texts(3);
    append_json(texts[0], with_ids, inspected(with_ids, {.max_model_len = 10}));
    append_json(texts[1], without, inspected(without));
    InputErrors errors;
    errors.add({"f", 3, "field", "v", "is wrong", "fix it"});
    append_json(texts[2], Trace(), errors);
    EXPECT_TRUE(says(texts[0], R"("remarks":[{"text":"rows are odd","count":2}])"));
    EXPECT_EQ(inspected(without).input.sum, 1U);
    for (const std::string& json : texts) {
        EXPECT_EQ(schema_errors("cmd/reading/inspect.schema.json", json, true),
                  std::vector<std::string>());
    }
}

TEST(Likeness, ComparesDistancesAndHitRates) {
    EXPECT_EQ(greatest_distance({}, {}), 0);
    EXPECT_EQ(greatest_distance({1}, {}), 1);
    EXPECT_EQ(greatest_distance({1, 2, 3}, {3, 2, 1}), 0);
    EXPECT_EQ(greatest_distance({1, 2, 3, 4}, {5, 6}), 1);
    EXPECT_EQ(greatest_distance({1, 1, 2, 2}, {1, 2, 2, 2}), 0.25);
    EXPECT_EQ(greatest_distance({1, 2, 3, 4}, {1, 2, 3, 4, 4, 4, 4, 4}), 0.375);
    const Trace often =
        made_trace("stress working-set --in 16 --working-set 1024..1024 --steps 1 --rounds 4");
    const Trace seldom =
        made_trace("stress working-set --in 16 --working-set 1024..1024 --steps 1 --rounds 2");
    const std::vector<std::uint32_t> alone(often.rows.size() + seldom.rows.size(), 0);
    const Result<Likeness> made = likeness_of({often, alone}, {seldom, alone});
    ASSERT_TRUE(made);
    const Likeness& like = made.value();
    ASSERT_EQ(like.curve.size(), 4U);  // 64, 16, 4 and 1 blocks: there is no smaller one
    EXPECT_EQ(std::tuple(like.curve[3].blocks, like.curve[3].before), std::tuple(64U, 0.75));
    EXPECT_EQ(std::tuple(like.curve[3].after, like.curve[2].before), std::tuple(0.5, 0));
    EXPECT_EQ(std::tuple(like.curve_worst, like.input), std::tuple(0.25, 0));
    const Trace trace = made_trace("random --rows 10");
    const std::vector<std::uint32_t> trees{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const Result<Likeness> other_made = likeness_of({trace, trees}, {trace, trees});
    ASSERT_TRUE(other_made);
    EXPECT_TRUE(other_made.value().curve.empty());
    EXPECT_EQ(other_made.value().gaps_before, 0U);
}

// The report equals that of the published simulator on its own traces.

std::string report_of(const Trace& trace, const std::string& origin) {
    std::string text;
    append_hash_block_report(text, trace, origin);
    return text;
}

std::uint64_t number(const JsonValue& object, const char* key) {
    return object.find(key).as_u64().value();
}

struct Golden {
    const char* file;
    std::uint64_t requests;
    std::uint64_t partial;
    std::uint64_t hit_tokens;
    std::uint64_t in_tokens;
    const char* rate;
    std::uint64_t set_hits;
    std::uint64_t set_total;
    const char* set_rate;
};

// What simulate_hash_block_mode.py of InferenceX (pull request 993) counts. 0291 has sub-agents.
constexpr Golden golden[] = {
    {"trace_0001", 41, 40, 4'544'512, 4'873'373, "0.9325", 71'008, 76'127, "0.9328"},
    {"trace_0103", 3, 2, 30'912, 49'384, "0.626", 483, 771, "0.6265"},
    {"trace_0187", 3, 2, 21'632, 35'830, "0.6037", 338, 558, "0.6057"},
    {"trace_0291", 20, 19, 1'474'560, 1'576'322, "0.9354", 23'040, 24'623, "0.9357"},
};

TEST(HashBlockReport, EqualsThePublishedSimulator) {
    for (const Golden& expected : golden) {
        const std::string path = shared_trace(std::string("weka/") + expected.file + ".json");
        if (path.empty()) {
            GTEST_SKIP() << "no real traces in " << SHARED_DATA;
        }
        SCOPED_TRACE(expected.file);
        const JsonText report(report_of(read_or_die(path), path));
        EXPECT_EQ(report.root.find("trace").as_string(), path);
        EXPECT_EQ(report.root.find("mode").as_string(), "hash-block");
        EXPECT_EQ(number(report.root, "total_requests"), expected.requests);
        const JsonValue summary = report.root.find("summary");
        EXPECT_EQ(std::tuple(number(summary, "first"), number(summary, "hit")), std::tuple(1U, 0U));
        expect_each([&](auto in) { return number(summary, in); },
                    gives("partial_hit", expected.partial), gives("miss", 0U),
                    gives("no_hash_ids", 0U), gives("hash_block_hit_tokens", expected.hit_tokens),
                    gives("hash_block_input_tokens", expected.in_tokens));
        EXPECT_EQ(summary.find("hash_block_cache_hit_rate").raw(), expected.rate);
        EXPECT_EQ(number(summary, "set_cache_hit_blocks"), expected.set_hits);
        EXPECT_EQ(number(summary, "set_cache_total_blocks"), expected.set_total);
        EXPECT_EQ(summary.find("set_cache_hit_rate").raw(), expected.set_rate);
    }
}

struct Counted {
    std::map<std::string, std::uint64_t> actions;
    std::uint64_t hit_tokens = 0;
    std::uint64_t set_hits = 0;
};

// The published simulator, line by line: each request against all before it. Those of sub-agents
// are left out.
Counted simulated(const Trace& trace) {
    std::vector<std::vector<std::uint64_t>> prior;
    std::set<std::uint64_t> seen;
    Counted counted;
    for (const TraceRow& row : trace.rows) {
        if (trace.sessions[row.session].find('/') != std::string::npos) {
            continue;
        }
        std::vector<std::uint64_t> ids;
        for (std::uint64_t at = 0; at < row.ids_count; ++at) {
            ids.push_back(trace.ids[row.ids_begin + at]);
        }
        std::size_t most = 0;
        for (const std::vector<std::uint64_t>& one : prior) {
            std::size_t shared = 0;
            while (shared < std::min(one.size(), ids.size()) && one[shared] == ids[shared]) {
                ++shared;
            }
            most = std::max(most, shared);
        }
        ++counted.actions[prior.empty()        ? "first"
                          : ids.empty()        ? "no_hash_ids"
                          : most == 0          ? "miss"
                          : most == ids.size() ? "hit"
                                               : "partial_hit"];
        counted.hit_tokens += std::min<std::uint64_t>(most * 64, row.input_length);
        for (const std::uint64_t id : ids) {
            counted.set_hits += seen.contains(id) ? 1 : 0;
        }
        seen.insert(ids.begin(), ids.end());
        prior.push_back(std::move(ids));
    }
    return counted;
}

// On every conversation that is there, what it would count request by request.
TEST(HashBlockReport, EqualsTheSimulatorLineByLine) {
    for (const char* const file :
         {"trace_0001", "trace_0026", "trace_0091", "trace_0103", "trace_0174", "trace_0187",
          "trace_0242", "trace_0277", "trace_0279", "trace_0291", "trace_0295", "trace_0504"}) {
        const std::string path = shared_trace(std::string("weka/") + file + ".json");
        if (path.empty()) {
            GTEST_SKIP() << "no real traces in " << SHARED_DATA;
        }
        SCOPED_TRACE(file);
        const Trace trace = read_or_die(path);
        const Counted expected = simulated(trace);
        const JsonText report(report_of(trace, path));
        const JsonValue summary = report.root.find("summary");
        for (const char* const action : {"first", "hit", "partial_hit", "miss", "no_hash_ids"}) {
            const auto found = expected.actions.find(action);
            EXPECT_EQ(number(summary, action), found == expected.actions.end() ? 0 : found->second)
                << action;
        }
        EXPECT_EQ(number(summary, "hash_block_hit_tokens"), expected.hit_tokens);
        EXPECT_EQ(number(summary, "set_cache_hit_blocks"), expected.set_hits);
    }
}

// Every action, in one file; a sub-agent is left out and has a place, whatever chains were found in
// it. Chains of the conversation itself stay.
TEST(HashBlockReport, TellsWhatEachRequestShares) {
    Trace trace = make_trace(4, TailRule::floor,
                             {{0, 13, {1, 2, 3}, 0},
                              {1, 8, {7, 8}, 1},
                              {2, 8, {9, 9}, 2},
                              {3, 17, {1, 2, 4, 5}, 3},
                              {4, 8, {1, 2}, 0},
                              {5, 3, {}, 0},
                              {6, 5, {6}, 0}});
    trace.sessions = {"t", "t/agent", "t/agent::fa:000", "t::fa:000"};
    const JsonText report(report_of(trace, "t.json"));
    struct Expected {
        std::uint64_t req;
        const char* action;
        std::uint64_t before, kept, removed, fresh, shared, hit_tokens;
        bool full_reset;
    };
    const Expected expected[] = {
        {0, "FIRST", 0, 0, 0, 3, 0, 0, false}, {2, "PARTIAL_HIT", 3, 2, 1, 2, 2, 8, false},
        {3, "HIT", 4, 2, 2, 0, 2, 8, false},   {4, "NO_HASH_IDS", 2, 0, 2, 0, 0, 0, true},
        {5, "MISS", 0, 0, 0, 1, 0, 0, false},
    };
    JsonValue request = report.root.find("requests").first();
    for (const Expected& one : expected) {
        ASSERT_TRUE(request.present());
        SCOPED_TRACE(one.action);
        EXPECT_EQ(number(request, "req"), one.req);
        EXPECT_EQ(request.find("action").as_string(), one.action);
        expect_each([&](auto in) { return number(request, in); },
                    gives("prev_hash_id_count", one.before), gives("kept", one.kept),
                    gives("kept_tokens", 4 * one.kept), gives("removed", one.removed),
                    gives("new", one.fresh), gives("shared_prefix_with_any_prior", one.shared),
                    gives("hash_block_hit_tokens", one.hit_tokens));
        EXPECT_EQ(
            number(request, "hash_block_hit_tokens") + number(request, "hash_block_miss_tokens"),
            number(request, "in_tokens"));
        EXPECT_EQ(request.find("full_reset").as_bool(), one.full_reset);
        request = request.next();
    }
    EXPECT_FALSE(request.present());
}

// Files are caches of their own, whatever their ids.
TEST(HashBlockReport, SumsFiles) {
    Trace trace = make_trace(4, TailRule::floor, {{0, 8, {1, 2}}, {1, 8, {1, 2}}, {2, 8, {1, 2}}});
    trace.files = {{"folder/a.json", 0}, {"folder/b.json", 2}};
    const JsonText report(report_of(trace, "folder"));
    EXPECT_EQ(report.root.find("trace_dir").as_string(), "folder");
    EXPECT_EQ(number(report.root, "num_traces"), 2U);
    const JsonValue sums = report.root.find("aggregate");
    EXPECT_EQ(number(sums, "total_requests"), 3U);
    EXPECT_EQ(std::tuple(number(sums, "first"), number(sums, "hit")), std::tuple(2U, 1U));
    EXPECT_EQ(sums.find("hash_block_cache_hit_rate").raw(), "0.3333");
    const JsonValue other = report.root.find("per_trace").first().next();
    EXPECT_EQ(other.find("trace").as_string(), "b.json");
    EXPECT_EQ(number(other, "total_requests"), 1U);
    EXPECT_EQ(number(other.find("summary"), "first"), 1U);
}

}  // namespace
}  // namespace driftless
