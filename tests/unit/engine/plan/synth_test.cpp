// Made rows.

#include "cmd/reading/trace_figures.hpp"
#include "proto/core/numbers.hpp"
#include "tests/unit/engine/plan/goodness_of_fit.hpp"
#include "tests/unit/engine/plan/made.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

// Laws give what they say: Kolmogorov-Smirnov at 1 % against distributions that the C library
// computes.

namespace {

constexpr int draws = 10'000;
/// Critical value of the Kolmogorov-Smirnov statistic at 1 %. Whole numbers only make it smaller.
const double ks_critical = 1.628 / std::sqrt(double{draws});

/// The greatest distance of the drawn values from P(value <= x).
double distance(const ValueLaw& law, std::uint64_t seed,
                const std::function<double(double)>& below) {
    Random random(seed);
    std::vector<std::int64_t> values;
    for (int i = 0; i < draws; ++i) {
        values.push_back(draw(law, random));
    }
    std::sort(values.begin(), values.end());
    double greatest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i + 1 < values.size() && values[i + 1] == values[i]) {
            continue;  // of equal values the last one
        }
        const double share = static_cast<double>(i + 1) / draws;
        greatest = std::max(greatest, std::abs(share - below(static_cast<double>(values[i]))));
    }
    return greatest;
}

double normal_below(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

ValueLaw real_law(LawKind kind, double centre, double spread) {
    return {.kind = kind, .centre = centre, .spread = spread, .low = 1, .high = 1 << 27};
}

// What falls outside is drawn again.
TEST(ValueLaw, DrawsItsDistribution) {
    for (std::uint64_t seed = 2; seed <= 4; ++seed) {
        EXPECT_LT(distance(real_law(LawKind::normal, 512, 100), seed,
                           [](double x) { return normal_below((x + 0.5 - 512) / 100); }),
                  ks_critical);
    }
    ValueLaw cut = real_law(LawKind::normal, 100, 100);
    cut.high = 200;
    const auto cdf = [](double x) { return normal_below((x + 0.5 - 100) / 100); };
    EXPECT_LT(distance(cut, 7, [&](double x) { return (cdf(x) - cdf(0)) / (cdf(200) - cdf(0)); }),
              ks_critical);
    EXPECT_LT(distance(real_law(LawKind::lognormal, 5000, 1.2), 3,
                       [](double x) { return normal_below(std::log((x + 0.5) / 5000) / 1.2); }),
              ks_critical);
    ValueLaw exponential = real_law(LawKind::exponential, 1e8, 0);
    exponential.high = std::int64_t{1} << 62;
    EXPECT_LT(distance(exponential, 5, [](double x) { return 1 - std::exp(-(x + 0.5) / 1e8); }),
              ks_critical);
    ValueLaw uniform = fixed_law(0);
    uniform.kind = LawKind::uniform;
    uniform.low = 10;
    uniform.high = 1009;
    EXPECT_LT(distance(uniform, 2, [](double x) { return (x - 9) / 1000; }), ks_critical);
    std::uint64_t line = 0;
    const ValueLaw bins{
        .kind = LawKind::histogram,
        .bins =
            read_law_bins("length,weight\r\n# two parts\r\n5 1\n10..19,3\n7\t0\n", 1, 1, 100, line)
                .value()};
    EXPECT_EQ(bins.bins.size(), 2U);
    EXPECT_LT(
        distance(bins, 2, [](double x) { return x < 10 ? 0.25 : 0.25 + 0.75 * (x - 9) / 10; }),
        ks_critical);
}

TEST(ValueLaw, RefusesOtherHistogramsAndDrawsByItself) {
    const auto refusal = [](std::string_view text) {
        std::uint64_t line = 0;
        const auto bins = read_law_bins(text, 1, 1, 100, line);
        return bins ? "read" : std::to_string(line) + " " + bins.error().doing;
    };
    expect_each(refusal, gives("5,1\nabc\n", "2 is not a value and its weight, as in 512,40"),
                gives("0,1\n", "1 has a value out of range"),
                gives("101,1\n", "1 has a value out of range"),
                gives("9..5,1\n", "1 has a range that ends before it begins"),
                gives("5,-1\n", "1 has a weight that is not a whole number up to 10^12"),
                gives("5,0\n", "0 has no line with a value and a weight above 0"),
                gives("", "0 has no line with a value and a weight above 0"),
                gives("\xFF\xFE,1\n", "1 is not a value and its weight, as in 512,40"),
                gives("100000000000000000000,1\n", "1 has a value out of range"));
    EXPECT_NEAR(share_inside(real_law(LawKind::normal, 512, 100)), 1, 1e-6);
    EXPECT_LT(share_inside(real_law(LawKind::normal, 0, 1e12)), law_share_min);
    EXPECT_EQ(share_inside(real_law(LawKind::normal, 1e12, 0)), 0);
    EXPECT_EQ(share_inside(fixed_law(3)), 1);
    EXPECT_NE(stream_of(1, 2, 3).next(), stream_of(1, 3, 2).next());
    EXPECT_NE(stream_of(1, 2, 3).next(), stream_of(2, 2, 3).next());
    EXPECT_EQ(stream_of(1, 2, 3).next(), stream_of(1, 2, 3).next());
}

TEST(NormalQuantile, IsTheInverse) {
    Random random(1);
    for (int i = 0; i < draws; ++i) {
        const double p = random.uniform() * 0.998 + 0.001;
        EXPECT_NEAR(normal_below(normal_quantile(p)), p, 1e-14);
    }
    // Wichura (1988), table of test values.
    EXPECT_NEAR(normal_quantile(0.25), -0.6744897501960817, 1e-15);
    EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-14);
    EXPECT_NEAR(normal_quantile(1e-20), -9.262340089798408, 1e-13);
    // To the last bit: on a machine where one of these differs, a seed would make another trace.
    Random other(99);
    Digest digest;
    for (int i = 0; i < draws; ++i) {
        const double p = (static_cast<double>(other.next() >> 12) + 0.5) * 0x1.0p-52;
        const double x = normal_quantile(p);
        digest.add(std::string_view(reinterpret_cast<const char*>(&x), sizeof x));
    }
    EXPECT_EQ(digest.value(), 2383374510065801980U);
}

TEST(RandomRows, HaveTheRangeOfVllmBenchAndTheirRate) {
    std::map<std::uint32_t, int> inputs;
    std::map<std::uint32_t, int> outputs;
    for (const SynthRow& row :
         made_rows("random --rows 5000 --in 10 --out-tokens 5 --range-ratio 0.25")) {
        ++inputs[row.input_length];
        ++outputs[row.output_length];
        EXPECT_TRUE(row.ids.empty());
    }
    // floor(7.5) .. ceil(12.5), and floor(3.75) .. ceil(6.25)
    EXPECT_EQ(std::tuple(inputs.begin()->first, inputs.rbegin()->first), std::tuple(7U, 13U));
    EXPECT_EQ(std::tuple(outputs.begin()->first, outputs.rbegin()->first), std::tuple(3U, 7U));
    for (const auto& [length, count] : inputs) {
        EXPECT_NEAR(count, 5000 / 7.0, 5 * std::sqrt(5000 / 7.0)) << length;
    }
    EXPECT_EQ(made_rows("random --rows 3 --in 10")[2].input_length, 10U);
    EXPECT_EQ(made_rows("random --rows 5 --rate 10 --arrivals constant")[4].at_ns, 400'000'000);
    EXPECT_EQ(made_rows("random --rows 5 --rate inf")[4].at_ns, 0);
    const auto poisson = made_rows("random --rows 10001 --rate 600/m");
    std::vector<double> gaps;
    for (std::size_t i = 1; i < poisson.size(); ++i) {
        gaps.push_back(static_cast<double>(poisson[i].at_ns - poisson[i - 1].at_ns));
    }
    EXPECT_LT(distance_from(gaps, [](double x) { return exponential_law(x / 1e8); }), 1.628);
}

/// Rows of each group, by the first id.
std::map<std::uint64_t, int> groups_of(const std::vector<SynthRow>& rows) {
    std::map<std::uint64_t, int> groups;
    for (const SynthRow& row : rows) {
        ++groups[row.ids[0]];
    }
    return groups;
}

TEST(PrefixRows, ShareTheirPrefixAsTheirGroupsAllow) {
    const auto rows = made_rows("prefix --rows 103 --groups 10 --prefix 64 --suffix 40");
    std::set<std::uint64_t> suffixes;
    for (const SynthRow& row : rows) {
        ASSERT_EQ(row.input_length, 104U);
        ASSERT_EQ(row.ids.size(), 6U);  // 104 / 16
        for (std::size_t i = 1; i < 4; ++i) {
            EXPECT_EQ(row.ids[i], row.ids[0] + i);
        }
        EXPECT_TRUE(suffixes.insert(row.ids[4]).second && suffixes.insert(row.ids[5]).second);
        EXPECT_GE(row.ids[4], 40U);
    }
    const auto groups = groups_of(rows);
    ASSERT_EQ(groups.size(), 10U);
    for (const auto& [first, count] : groups) {
        EXPECT_EQ(count, first / 4 < 3 ? 11 : 10);  // 103 rows: three groups have one more
    }
    // vllm's prefix repetition: all rows of a group but the first hit its prefix.
    const Trace trace = made_trace("prefix --rows 1000 --groups 10 --prefix 256 --suffix 256");
    EXPECT_EQ(make_plan(trace, {}).value().foretold.cached_tokens, 990U * 256);
    const auto third_rows =
        made_rows("prefix --rows 9 --groups 3 --prefix 16 --popularity ordered");
    for (std::size_t i = 0; i < third_rows.size(); ++i) {
        EXPECT_EQ(third_rows[i].ids[0], i / 3);
    }
    constexpr int count = 20'000;
    const auto other_rows =
        made_rows("prefix --rows 20000 --groups 50 --prefix 16 --suffix 1 --popularity zipf:1.1");
    auto other_groups = groups_of(other_rows);
    double sum = 0;
    for (int rank = 1; rank <= 50; ++rank) {
        sum += std::pow(rank, -1.1);
    }
    double drawn = 0;
    double wanted = 0;
    double greatest = 0;
    for (int rank = 1; rank <= 50; ++rank) {
        drawn += other_groups[static_cast<std::uint64_t>(rank - 1)];
        wanted += std::pow(rank, -1.1) / sum;
        greatest = std::max(greatest, std::abs(drawn / count - wanted));
    }
    EXPECT_LT(greatest, 1.628 / std::sqrt(double{count}));
}

// Patterns against a prefix cache hit what they say, by our own forecast and by the inspection.

TEST(StressReuse, HitsTheShareThatWasAskedAndSpreadsTheRest) {
    for (const int percent : {0, 1, 33, 50, 80, 95, 99}) {
        const Trace trace =
            made_trace("stress reuse --rows 500 --in 3200 --working-set 64000 --hit " +
                       std::to_string(percent));
        const Plan plan = make_plan(trace, {}).value();
        std::uint64_t behind = 0;
        for (std::size_t i = 0; i < plan.rows.size(); ++i) {
            const std::uint64_t cached = plan.rows[i].expected_cached_tokens;
            EXPECT_TRUE(i >= 20 || cached == 0);
            behind += cached;
        }
        EXPECT_EQ(behind, 500U * 3200 * static_cast<unsigned>(percent) / 100) << percent;
    }
    const Trace trace =
        made_trace("stress reuse --rows 1000 --in 100 --working-set 1000 --hit 33.3");
    const Plan plan = make_plan(trace, {}).value();
    EXPECT_NEAR(static_cast<double>(plan.foretold.cached_tokens), 33'300, 16);
    const Trace full = made_trace("stress reuse --rows 10 --in 160 --working-set 160 --hit 100");
    EXPECT_EQ(make_plan(full, {}).value().foretold.cached_tokens, 10U * 144);
    const Trace whole = made_trace("stress reuse --rows 10 --in 161 --working-set 161 --hit 100");
    EXPECT_EQ(make_plan(whole, {}).value().foretold.cached_tokens, 10U * 160);
}

/// Hits of an LRU cache of so many blocks.
std::uint64_t hits_at(const Trace& trace, std::uint64_t blocks) {
    InspectOptions options{.block_sizes = {trace.block_size}};
    const Result<InspectFigures> figures = inspect_trace(trace, options);
    EXPECT_TRUE(figures);
    std::uint64_t hits = 0;
    for (const CapacityPoint& point : figures.value().capacity[0].curve) {
        hits = point.blocks <= blocks ? point.hit_blocks : hits;
    }
    return hits;
}

TEST(StressWorkingSet, MissesAllOnceItIsLargerThanTheCache) {
    // Prompts of 4 blocks: sets of 8, 16, 24 and 32 of them, 3 passes each.
    const std::string line =
        "stress working-set --in 64 --working-set 512..2048 --steps 4 --rounds 3";
    const auto rows = made_rows(line);
    EXPECT_EQ(rows.size(), 3U * (8 + 16 + 24 + 32));
    const Trace trace = made_trace(line);
    // A cache of 64 blocks holds 16 prompts: the sets of 8 and 16 hit but for their first uses.
    EXPECT_EQ(hits_at(trace, 64), 4U * (2 * 8 + 8 + 2 * 16 + 16));
    EXPECT_EQ(hits_at(trace, 128), 4U * (rows.size() - 32));
}

TEST(StressOffload, FallsOffTheCliffAndComesBack) {
    // A cache of 64 blocks, prompts of 4: 12 of them fit (80 %), 21 do not.
    const std::string line = "stress offload --in 64 --capacity 1024 --rounds 5";
    EXPECT_EQ(made_rows(line).size(), 5U * (12 + 20 + 1 + 12));
    // Passes over the small set hit but for the first, before and behind the cliff; the first
    // pass over the great set still finds the small one.
    EXPECT_EQ(hits_at(made_trace(line), 64), 4U * (4 * 12 + 12 + 4 * 12));
}

// The bytes of each kind, which are the same on every machine, and what formats cannot hold.

struct Golden {
    const char* file;
    const char* line;
};
constexpr Golden golden[] = {
    {"random", "random --rows 6 --in normal:512:100 --out-tokens lognormal:128:0.8 --seed 1"},
    {"prefix",
     "prefix --rows 6 --groups 3 --prefix 70 --suffix uniform:10..40 --popularity zipf:1"},
    {"chat", "chat --sessions 3 --turns 2 --system 40 --in exponential:50 --growth 16 --seed 2"},
    {"agents",
     "agents --trees 1 --turns 3 --sub-turns 2 --system 64 --sub-system 32 --in 20 --growth 16 "
     "--out-tokens 30 --spawn 0.7 --compact-at 200 --summary 40 --seed 3"},
    {"reuse", "stress reuse --rows 4 --in 64 --working-set 128 --hit 50"},
    {"working_set", "stress working-set --in 32 --working-set 32..64 --steps 2 --rounds 2"},
    {"offload", "stress offload --in 32 --capacity 100 --rounds 2"},
    {"compaction",
     "stress compaction --sessions 1 --turns 5 --system 16 --in 64 --growth 16 --out-tokens 16 "
     "--compact-at 128 --summary 16"},
    {"reactivation", "stress reactivation --sessions 2 --in 64 --after uniform:1m..2m"},
    {"fan_out", "stress fan-out --groups 1 --in 64 --suffix 16 --fan-out 3 --rate 600/m"},
    {"mooncake",
     "agents --trees 1 --turns 2 --sub-turns 1 --system 600 --in 20 --growth 16 "
     "--spawn 1 --fan-out 1 --to mooncake"},
};

/// `driftless synth LINE > tests/data/synth/FILE.jsonl` wrote them.
TEST(SynthText, IsThatOfItsSeedAndReadAsItWasMade) {
    for (const Golden& one : golden) {
        const std::string path = std::string(TEST_DATA "/synth/") + one.file + ".jsonl";
        EXPECT_EQ(made_text(one.line), read_bytes(path)) << one.file;
    }
    for (const char* kind : {"random", "prefix", "chat --sessions 3", "agents --trees 2",
                             "stress reuse --rows 9", "stress working-set"}) {
        EXPECT_NE(made_text(std::string(kind) + " --seed 8"),
                  made_text(std::string(kind) + " --seed 9"))
            << kind;
    }
    const std::string line = "agents --trees 5 --turns 8 --spawn 0.3 --gap exponential:2s";
    const auto rows = made_rows(line);
    const Trace trace = made_trace(line);
    EXPECT_EQ(std::tuple(trace.format, trace.block_size), std::tuple("canonical", 16U));
    EXPECT_EQ(std::tuple(trace.tail_rule, trace.rows_unsorted), std::tuple(TailRule::floor, 0U));
    ASSERT_EQ(trace.rows.size(), rows.size());
    std::size_t waits = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(trace.rows[i].at_ns, rows[i].at_ns);
        EXPECT_EQ(trace.rows[i].input_length, rows[i].input_length);
        EXPECT_EQ(trace.rows[i].output_length, rows[i].output_length);
        EXPECT_EQ(trace.sessions[trace.rows[i].session], rows[i].session);
        const BlockIdSpan ids = trace.ids_of(trace.rows[i]);
        EXPECT_TRUE(std::equal(ids.begin(), ids.end(), rows[i].ids.begin(), rows[i].ids.end()));
        waits += rows[i].waits.size();
    }
    EXPECT_EQ(trace.dependencies.size(), waits);
}

TEST(SynthText, FitsMooncakeOrNamesWhatItLoses) {
    const std::string line = "chat --sessions 4 --gap 2s --to mooncake --arrivals constant";
    const Trace trace = made_trace(line);
    EXPECT_EQ(trace.format, "mooncake");
    const auto rows = made_rows(line);
    ASSERT_EQ(trace.rows.size(), rows.size());
    std::size_t waits = 0;
    for (const SynthRow& row : rows) {
        waits += row.waits.size();
    }
    EXPECT_EQ(trace.dependencies.size(), waits);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 2'000'000'000);
    const SynthOptions options =
        synth_options("agents --trees 1 --turns 2 --spawn 1 --to mooncake --block-size 64");
    SynthText text(options.spec, options.name, *options.target);
    std::string all;
    while (text.next(all)) {
    }
    const std::vector<std::string> losses = text.losses();
    ASSERT_EQ(losses.size(), 3U);
    EXPECT_TRUE(says(losses[0], "--block-size 64"));
    EXPECT_TRUE(says(losses[1], "for something other than"));
    EXPECT_TRUE(says(losses[2], "fraction"));
}

// Conversations and trees of agents keep their laws: prompts grow, waits come before, no more
// sub-agents than may run at a time.

/// Session of the parent: "agent-3/2/1" has "agent-3/2".
std::string parent_of(const std::string& session) {
    return session.substr(0, session.rfind('/'));
}

bool begins_with(const std::vector<std::uint64_t>& ids, const std::vector<std::uint64_t>& head) {
    return ids.size() >= head.size() && std::equal(head.begin(), head.end(), ids.begin());
}

/// What holds for all rows of every kind of tree.
void check_rows(const std::vector<SynthRow>& rows, std::uint32_t block_size) {
    std::map<std::string, std::size_t> last;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const SynthRow& row = rows[i];
        ASSERT_TRUE(i == 0 || rows[i - 1].at_ns <= row.at_ns);
        ASSERT_EQ(row.ids.size(), row.input_length / block_size);
        for (const SynthWait& wait : row.waits) {
            ASSERT_LT(wait.row, i);
        }
        const auto before = last.find(row.session);
        if (before == last.end()) {
            ASSERT_EQ(row.turn, 1U);
            ASSERT_EQ(row.turn_before, no_row);
        } else {
            ASSERT_EQ(row.turn, rows[before->second].turn + 1);
            ASSERT_EQ(row.turn_before, before->second);
            ASSERT_EQ(row.waits[0].row, before->second);
        }
        last[row.session] = i;
    }
}

TEST(TreeRows, MakeConversationsThatGrow) {
    const auto rows = made_rows(
        "chat --sessions 20 --turns uniform:2..6 --system 100 --in 50 --growth 30 --out-tokens 20 "
        "--gap 2s --token-time 10ms");
    check_rows(rows, 16);
    for (const SynthRow& row : rows) {
        EXPECT_EQ(row.input_length, 150U + 50 * (row.turn - 1));
        EXPECT_EQ(row.ids[5], 5U);  // the system prompt: 6 blocks
        if (row.turn > 1) {
            const SynthRow& before = rows[row.turn_before];
            EXPECT_TRUE(begins_with(row.ids, before.ids));
            EXPECT_EQ(row.waits[0].delay_ns, 2'000'000'000);
            EXPECT_EQ(row.at_ns, before.at_ns + 20 * 10'000'000 + 2'000'000'000);
        }
    }
    for (const SynthRow& row : made_rows("chat --sessions 5 --turns 50 --max-context 2000")) {
        EXPECT_LE(row.input_length, 2000U);
    }
}

TEST(TreeRows, MakeSubAgentsThatTheirParentJoins) {
    const auto rows = made_rows(
        "agents --trees 10 --turns 6 --sub-turns uniform:1..3 --depth 2 --spawn 0.4 --fan-out "
        "uniform:1..7 --parallel 3");
    check_rows(rows, 16);
    std::set<std::size_t> joined;
    std::map<std::string, std::size_t> last;
    int sub_agents = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const SynthRow& row = rows[i];
        const bool root = parent_of(row.session) == row.session;
        if (row.turn == 1 && !root) {
            ++sub_agents;
            EXPECT_EQ(rows[row.waits[0].row].session, parent_of(row.session));
        }
        for (const SynthWait& wait : row.waits) {
            if (parent_of(rows[wait.row].session) == row.session) {
                joined.insert(wait.row);
            }
        }
        last[row.session] = i;
    }
    EXPECT_GT(sub_agents, 50);
    for (const auto& [session, row] : last) {  // every sub-agent's last row is waited for
        if (parent_of(session) != session) {
            EXPECT_TRUE(joined.contains(row)) << session;
        }
    }
}

TEST(TreeRows, KeepToTheirNumberAndSumUpAFullContext) {
    const auto rows = made_rows(
        "agents --trees 1 --turns 2 --sub-turns 1 --spawn 1 --fan-out 10 --parallel 4 --out-tokens "
        "50 --token-time 10ms");
    std::map<std::int64_t, int> at_a_time;
    for (const SynthRow& row : rows) {
        at_a_time[row.at_ns] += row.turn == 1 && row.session != "agent-0" ? 1 : 0;
    }
    EXPECT_EQ(std::tuple(at_a_time[500'000'000], at_a_time[1'000'000'000]), std::tuple(4, 4));
    EXPECT_EQ(std::tuple(at_a_time[1'500'000'000], rows.back().session, rows.back().waits.size()),
              std::tuple(2, "agent-0", 11U));
    const auto other_rows = made_rows(
        "stress compaction --sessions 1 --turns 30 --system 160 --in 100 --growth 100 --out-tokens "
        "60 --compact-at 1000 --summary 200 --block-size 10");
    check_rows(other_rows, 10);
    int summaries = 0;
    for (std::size_t i = 1; i < other_rows.size(); ++i) {
        if (other_rows[i - 1].input_length > 1000) {
            ++summaries;
            EXPECT_EQ(other_rows[i - 1].output_length, 200U);
            EXPECT_EQ(other_rows[i].input_length, 160U + 200 + 100);
            EXPECT_EQ(other_rows[i].ids[15], 15U);
            EXPECT_NE(other_rows[i].ids[16], other_rows[i - 1].ids[16]);
        } else {
            EXPECT_TRUE(begins_with(other_rows[i].ids, other_rows[i - 1].ids));
        }
    }
    EXPECT_EQ(summaries, static_cast<int>(other_rows.size()) - 30);
    EXPECT_GE(summaries, 5);
}

TEST(TreeRows, FanOutFromOnePromptAndComeBackLater) {
    const auto rows = made_rows(
        "stress fan-out --groups 1 --in 160 --suffix 32 --fan-out 5 --out-tokens 16 --token-time "
        "10ms");
    ASSERT_EQ(rows.size(), 7U);
    for (std::size_t i = 1; i < 6; ++i) {
        EXPECT_TRUE(begins_with(rows[i].ids, rows[0].ids));
        EXPECT_EQ(std::tuple(rows[i].input_length, rows[i].at_ns, rows[i].waits.size()),
                  std::tuple(160U + 16 + 32, rows[1].at_ns, 1U));
    }
    EXPECT_NE(rows[1].ids[10], rows[2].ids[10]);
    const auto other_rows = made_rows(
        "stress reactivation --sessions 3 --after 10m --turns 2 --in 160 --out-tokens 10 --rate "
        "inf");
    ASSERT_EQ(other_rows.size(), 6U);
    for (std::size_t i = 3; i < 6; ++i) {
        EXPECT_EQ(other_rows[i].waits[0].delay_ns, 600'000'000'000);
        EXPECT_TRUE(begins_with(other_rows[i].ids, other_rows[i - 3].ids));
    }
}

}  // namespace
}  // namespace driftless
