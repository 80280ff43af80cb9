// Why rows were slow, and when a run was steady.

#include "cmd/reading/why.hpp"

#include "proto/figures/steadiness.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Planted causes are named first, and where there is none, nothing is named: over made records with
// seeds. The tail of the hypergeometric law is SciPy's (tests/data/statistics/make.py).

namespace {

constexpr std::size_t rows = 2000;

TEST(Surprise, IsSciPysHypergeometricTail) {
    const JsonText golden(read_bytes(TEST_DATA "/statistics/golden.json"));
    const JsonValue cases = golden.root.find("hypergeometric");
    ASSERT_GE(cases.size(), 8U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const Overlap overlap{*one.find("of").as_u64(), *one.find("marked").as_u64(),
                              *one.find("drawn").as_u64(), *one.find("hits").as_u64()};
        EXPECT_NEAR(log10_tail(overlap), *one.find("log10").as_double(), 1e-6) << one.raw();
    }
    EXPECT_EQ(log10_tail({100, 50, 10, 0}), 0);
    EXPECT_EQ(log10_tail({100, 95, 10, 5}), 0);  // 5 of 10 are marked at least
    EXPECT_EQ(log10_tail({100, 100, 10, 10}), 0);
    EXPECT_LT(log10_tail({100, 10, 10, 10}), -13);
}

/// A run without any cause: sizes, servers, bursts and hits are drawn apart from the TTFT.
std::vector<Record> made_records(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> ttft(17.5, 0.6);  // about 40 ms
    std::vector<Record> records(rows);
    std::int64_t due = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        Record& record = records[i];
        record.row = static_cast<std::uint32_t>(i);
        due += random() % 5 == 0 ? static_cast<std::int64_t>(random() % 400'000'000) : 0;
        record.due_ns = due;
        record.drift_ns = static_cast<std::int64_t>(random() % 50'000);
        record.fired_ns = due + *record.drift_ns;
        record.ttft_ns = static_cast<std::int64_t>(ttft(random));
        record.input_length = static_cast<std::uint32_t>(random() % 8000 + 100);
        record.prompt_tokens = record.input_length;
        record.expected_cached_tokens = *record.input_length / 2;
        record.cached_tokens = record.expected_cached_tokens;
        record.output_tokens = static_cast<std::int64_t>(random() % 500 + 1);
        record.turn = static_cast<std::uint32_t>(random() % 4 + 1);
        record.connection = static_cast<std::uint32_t>(random() % 40);
        record.connection_state =
            random() % 10 == 0 ? ConnectionState::fresh : ConnectionState::reused;
        record.inflight = static_cast<std::uint32_t>(random() % 30);
        record.url = "http://one/";
        record.headers = {{"target-pod", "pod-" + std::to_string(random() % 8)}};
        if (random() % 200 == 0) {
            record.tainted = {"late"};
        }
        record.outcome = Outcome::ok;
    }
    return records;
}

WhyFinding finding_of(const std::vector<Record>& records) {
    WhyRecords why;
    for (const Record& record : records) {
        why.add(record);
    }
    return why.finding();
}

// At most 1 in 100 by design, which is 2 of 200; 7 or more would have a chance below 0.5 %.
TEST(Why, SaysNothingWhereNothingIs) {
    int alarms = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const WhyFinding finding = finding_of(made_records(seed));
        EXPECT_EQ(std::tuple(finding.rows, finding.slow), std::tuple(rows, 20U));
        EXPECT_GT(finding.questions, 50U);
        alarms += finding.statements.empty() ? 0 : 1;
    }
    RecordProperty("alarms", alarms);
    EXPECT_LE(alarms, 6);
}

/// The first statement, or empty.
std::string first_mark(const std::vector<Record>& records) {
    const WhyFinding finding = finding_of(records);
    return finding.statements.empty() ? "" : finding.statements.front().mark;
}

void add_ttft(Record& record, std::int64_t ns) {
    *record.ttft_ns += ns;
}

TEST(Why, NamesASlowPodOrMissesFirst) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<Record> records = made_records(seed);
        for (Record& record : records) {
            if (record.headers[0].value == "pod-3") {
                add_ttft(record, 150'000'000);
            }
        }
        EXPECT_EQ(first_mark(records), "were answered with target-pod pod-3") << seed;
    }
    // After row 1,200 the cache lost what it had: some rows miss, and compute all of their prompt.
    // That is one cause by three names.
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<Record> records = made_records(seed);
        std::mt19937_64 random(seed + 1000);
        for (std::size_t i = 1200; i < rows; ++i) {
            if (random() % 12 == 0) {
                records[i].cached_tokens = 0;
                add_ttft(records[i], 30'000 * std::int64_t{*records[i].input_length});
            }
        }
        const WhyFinding finding = finding_of(records);
        std::vector<std::string> marks = members_of(finding.statements, &WhyStatement::mark);
        ASSERT_GE(marks.size(), 3U) << seed;
        EXPECT_TRUE(marks[0].find("cached") != marks[0].npos || marks[0].starts_with("missed "));
        EXPECT_TRUE(std::any_of(marks.begin(), marks.end(), [](const std::string& mark) {
            return mark.starts_with("missed ");
        }));
    }
}

// 120 rows are due at one instant, and the server takes them one by one.
TEST(Why, NamesALateBurstFirst) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<Record> records = made_records(seed);
        std::int64_t shift = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            if (i == 1000 || i == 1120) {
                shift += 1'000'000'000;
            }
            Record& record = records[i];
            const bool in_burst = i >= 1000 && i < 1120;
            record.due_ns = (in_burst ? records[1000].due_ns : record.due_ns + shift);
            if (i == 1000) {
                record.due_ns = records[999].due_ns + 1'000'000'000;
            }
            record.fired_ns = record.due_ns + *record.drift_ns;
            if (in_burst) {
                add_ttft(record, static_cast<std::int64_t>(i - 1000) * 3'000'000);
            }
        }
        const std::string mark = first_mark(records);
        EXPECT_TRUE(mark.starts_with("came after ")) << seed << ": " << mark;
    }
}

// A queue at the server between two of its pages; nothing in the records names it.
TEST(Why, NamesTheServersQueueOrOurTaintFirst) {
    std::vector<Record> records = made_records(5);
    WhyRecords why;
    std::vector<ServerInstant> servers;
    const std::int64_t last = records.back().due_ns;
    for (std::int64_t t = -1'000'000'000; t < last + 1'000'000'000; t += 1'000'000'000) {
        const bool full = (t / 1'000'000'000) % 23 == 7;
        auto& figures = servers.emplace_back(ServerInstant{t, 0, {}}).figures;
        figures[static_cast<std::size_t>(ServerFigure::waiting)] = full ? 40.0 : 0.0;
        figures[static_cast<std::size_t>(ServerFigure::running)] = 8.0;
        figures[static_cast<std::size_t>(ServerFigure::kv_usage)] = 0.5;
    }
    for (Record& record : records) {
        // The last page before the fire is that of its whole second.
        add_ttft(record, (*record.fired_ns / 1'000'000'000) % 23 == 7 ? 300'000'000 : 0);
        why.add(record);
    }
    why.set_servers(servers);
    const WhyFinding finding = why.finding();
    ASSERT_FALSE(finding.statements.empty());
    EXPECT_EQ(finding.statements.front().mark,
              "were sent while 40 or more requests waited at the servers");
    records = made_records(7);
    for (Record& record : records) {
        add_ttft(record, record.tainted.empty() ? 0 : 400'000'000);
    }
    EXPECT_EQ(first_mark(records), "are tainted: the client was late or lost something");
}

// All that the slow pod gets is large, too: size is named behind it and as its echo.
TEST(Why, TellsAnEcho) {
    std::vector<Record> records = made_records(11);
    for (Record& record : records) {
        if (record.headers[0].value == "pod-3") {
            add_ttft(record, 150'000'000);
            record.input_length = *record.input_length + 4000;
            record.prompt_tokens = record.input_length;
        }
    }
    const WhyFinding finding = finding_of(records);
    ASSERT_GE(finding.statements.size(), 2U);
    EXPECT_EQ(finding.statements[0].mark, "were answered with target-pod pod-3");
    EXPECT_FALSE(finding.statements[0].is_echo);
    for (std::size_t i = 1; i < finding.statements.size(); ++i) {
        EXPECT_TRUE(finding.statements[i].is_echo) << finding.statements[i].mark;
    }
    // Two causes side by side are none of the other.
    for (Record& record : records) {
        if (!record.tainted.empty() && record.headers[0].value != "pod-3") {
            add_ttft(record, 400'000'000);
        }
    }
    const WhyFinding both = finding_of(records);
    ASSERT_GE(both.statements.size(), 2U);
    int own = 0;
    for (const WhyStatement& statement : both.statements) {
        own += statement.is_echo ? 0 : 1;
    }
    EXPECT_GE(own, 2);
}

// Wikipedia's example of hours before a television and IQ: -29/165. Tails of the normal law by
// tables.
TEST(Surprise, IsSpearmansCorrelation) {
    const std::vector<double> iq{106, 100, 86, 101, 99, 103, 97, 113, 112, 110};
    const std::vector<double> hours{7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
    EXPECT_NEAR(rank_correlation(iq, hours), -29.0 / 165, 1e-12);
    EXPECT_NEAR(rank_correlation(iq, iq), 1, 1e-12);
    const std::vector<double> ties{1, 1, 2, 2};
    const std::vector<double> steps{1, 2, 3, 4};
    EXPECT_NEAR(rank_correlation(ties, steps), 4 / std::sqrt(20.0), 1e-12);
    EXPECT_EQ(rank_correlation(std::vector<double>(10, 3), iq), 0);
    EXPECT_NEAR(log10_two_sided(1.959964), std::log10(0.05), 1e-6);
    EXPECT_NEAR(log10_two_sided(29.9999), log10_two_sided(30.0001), 0.004);
    EXPECT_LT(log10_two_sided(100), -2000);
}

/// Of 80 rows, each of which computes what no cache had; half of them had all of it.
std::vector<Record> eighty(bool is_caused) {
    std::vector<Record> records = made_records(9);
    records.resize(80);
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].cached_tokens = i % 2 == 0 ? 0 : records[i].prompt_tokens;
        const std::int64_t computed = *records[i].prompt_tokens - *records[i].cached_tokens;
        add_ttft(records[i], is_caused ? 10'000 * computed : 0);
    }
    return records;
}

// The slowest 1 % of 80 rows is one row, and half of all rows had nothing in the cache: the ranks
// of all 80 say it.
TEST(Why, AnswersForEightyRowsAndNoFewer) {
    const WhyFinding finding = finding_of(eighty(true));
    EXPECT_EQ(finding.slow, 8U);
    ASSERT_FALSE(finding.correlations.empty());
    EXPECT_EQ(finding.correlations[0].name, "prompt tokens that were not cached");
    EXPECT_GT(finding.correlations[0].rank_correlation, 0.5);
    EXPECT_LT(finding.correlations[0].log10_chance, why_log10_max);
    // Too few rows are not "nothing goes with them".
    const WhyFinding few = finding_of(eighty(false));
    EXPECT_TRUE(few.statements.empty() && few.correlations.empty());
    EXPECT_EQ(few.slow_needed, 13U);  // 0.5^13 times 70 questions is below 1 in 100
    EXPECT_EQ(few.rows_needed, 130U);
    EXPECT_EQ(finding_of(made_records(9)).rows_needed, 0U);
    WhyRecords tenth({find_why_figure("e2e"), 0.1});
    WhyRecords unknown({find_why_figure("tpot"), 0.1});
    for (Record record : made_records(9)) {
        record.e2e_ns = record.ttft_ns;
        tenth.add(record);
        unknown.add(record);
    }
    EXPECT_EQ(tenth.finding().slow, 200U);
    EXPECT_EQ(unknown.finding().slow, 0U);
    EXPECT_EQ(unknown.finding().rows_needed, why_rows_min);
    std::vector<Record> records = made_records(3);
    records.resize(why_rows_min - 1);
    EXPECT_EQ(finding_of(records).slow, 0U);
    EXPECT_EQ(finding_of({}).rows, 0U);
    records = made_records(3);
    records.resize(why_rows_min);
    EXPECT_EQ(finding_of(records).slow, 5U);
}

// A row that was not measured is in nothing.
// The rows behind each count, by their place in the file: also behind records that are not asked
// about.
TEST(Why, SaysWhichRowsItCounts) {
    std::vector<Record> records = made_records(7);
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (records[i].headers.front().value == "pod-3") {
            records[i].ttft_ns = *records[i].ttft_ns * 20;
        }
    }
    std::vector<Record> warm(5, records.front());
    for (Record& record : warm) {
        record.phase = Phase::warmup;
    }
    records.insert(records.begin() + 100, warm.begin(), warm.end());
    const WhyFinding finding = finding_of(records);
    ASSERT_FALSE(finding.statements.empty());
    const WhyStatement& first = finding.statements.front();
    EXPECT_TRUE(says(first.mark, "pod-3"));
    EXPECT_EQ(first.rows.size(), first.overlap.marked);
    EXPECT_GT(first.rows.back(), 100U);
    for (const std::uint32_t row : first.rows) {
        EXPECT_EQ(records[row].phase, Phase::profile);
        EXPECT_EQ(records[row].headers.front().value, "pod-3");
    }
    ASSERT_EQ(finding.slow_rows.size(), finding.slow);
    for (const std::uint32_t row : finding.slow_rows) {
        EXPECT_GE(static_cast<double>(*records[row].ttft_ns), finding.slow_from);
    }
    records = made_records(3);
    records[0].phase = Phase::warmup;
    records[1].ttft_ns.reset();
    EXPECT_EQ(finding_of(records).rows, rows - 2);
}

// Ramp, drain and trends of made runs are found; the statistics are those of SciPy and NumPy
// (tests/data/statistics/make.py), and of processes whose truth is known.

constexpr std::int64_t second = 1'000'000'000;

class GoldenStatistics : public testing::Test {
  protected:
    JsonText golden_{read_bytes(TEST_DATA "/statistics/golden.json")};
    JsonValue root_ = golden_.root;
};

TEST_F(GoldenStatistics, OfSeries) {
    const JsonValue cases = root_.find("kendall");
    ASSERT_EQ(cases.size(), 4U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const TrendFinding found = mann_kendall(numbers_of(one.find("values")));
        EXPECT_NEAR(found.z, *one.find("z").as_double(), 1e-6);
        EXPECT_NEAR(found.p, *one.find("p").as_double(), 1e-6);
    }
    const JsonValue series = root_.find("mser5");
    ASSERT_EQ(series.size(), 3U);
    for (JsonValue one = series.first(); one.present(); one = one.next()) {
        EXPECT_EQ(mser5(numbers_of(one.find("values"))), *one.find("cut").as_u64());
    }
    const JsonValue sizes = root_.find("effective");
    ASSERT_EQ(sizes.size(), 2U);
    for (JsonValue one = sizes.first(); one.present(); one = one.next()) {
        EXPECT_NEAR(effective_sample_size(numbers_of(one.find("values"))),
                    *one.find("effective").as_double(), 1e-6);
    }
}

// Of x(i) = a x(i-1) + noise, n (1 - a) / (1 + a) values are independent.
TEST(EffectiveSampleSize, IsThatOfAnAutoregression) {
    for (const double a : {0.0, 0.5, 0.9}) {
        double sum = 0;
        constexpr int seeds = 20;
        constexpr std::size_t count = 20'000;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            std::mt19937_64 random(seed);
            std::normal_distribution<double> noise;
            std::vector<double> values{noise(random)};
            while (values.size() < count) {
                values.push_back(a * values.back() + noise(random));
            }
            sum += effective_sample_size(values);
        }
        const double truth = count * (1 - a) / (1 + a);
        EXPECT_NEAR(sum / seeds, truth, 0.1 * truth) << a;
    }
    EXPECT_EQ(effective_sample_size(std::vector<double>(50, 7.0)), 50);
}

struct Made {
    std::int64_t ramp = 0;  ///< in which the rate rises to the full one
    std::int64_t full = 600 * second;
    double per_second = 20;
    double slower = 1;  ///< answers at the end take so many times as long as at the begin
};

/// Poisson arrivals, which rise over the ramp; answers of 5 s on average.
std::vector<SteadyRow> made_run(const Made& made, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> gap(made.per_second);
    std::uniform_real_distribution<double> share;
    std::exponential_distribution<double> answer(1.0 / 5);
    std::vector<SteadyRow> all;
    const std::int64_t end = made.ramp + made.full;
    for (double at = gap(random); at * second < static_cast<double>(end); at += gap(random)) {
        const auto at_ns = static_cast<std::int64_t>(at * second);
        if (at_ns < made.ramp && share(random) * static_cast<double>(made.ramp) > at * second) {
            continue;
        }
        const double grown = 1 + (made.slower - 1) * at * second / static_cast<double>(end);
        const auto took = static_cast<std::int64_t>(answer(random) * grown * second) + 1;
        all.push_back({at_ns, at_ns + took, took / 10});
    }
    return all;
}

TEST(SteadyState, IsASteadyRunWithoutRampAndDrain) {
    int steady = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const SteadyState state = find_steady_state(made_run({}, seed));
        ASSERT_TRUE(state.found);
        // It fills within some answers of 5 s, and drains behind the last fire.
        EXPECT_GT(state.begin_ns, second) << seed;
        EXPECT_LE(state.end_ns, 600 * second) << seed;
        EXPECT_TRUE(state.little_holds()) << seed << ": " << state.little_difference();
        EXPECT_NEAR(state.rate, 20, 2.5) << seed;
        EXPECT_NEAR(state.in_flight, 100, 15) << seed;
        steady += state.is_steady() ? 1 : 0;
    }
    // A trend of 1 % in two series each: 49 of 50 on average, 44 or fewer has a chance below 0.1 %.
    EXPECT_GE(steady, 44);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const SteadyState state = find_steady_state(made_run({200 * second}, seed));
        EXPECT_GE(state.begin_ns, 100 * second) << seed;
        EXPECT_LE(state.begin_ns, 420 * second) << seed;
        EXPECT_LE(state.end_ns, 800 * second) << seed;
        EXPECT_GT(state.last_ns, state.end_ns) << seed;
    }
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const SteadyState state = find_steady_state(made_run({.slower = 4}, seed));
        EXPECT_LT(state.ttft_trend.p, 0.01) << seed;
        EXPECT_GT(state.ttft_trend.z, 0) << seed;
        EXPECT_FALSE(state.is_steady()) << seed;
    }
    EXPECT_FALSE(find_steady_state({}).found);
    std::vector<SteadyRow> all = made_run({}, 1);
    all.resize(99);
    EXPECT_FALSE(find_steady_state(all).found);
    all = made_run({}, 1);
    all.resize(100);
    EXPECT_TRUE(find_steady_state(all).found);
    // All at one instant.
    EXPECT_FALSE(find_steady_state(std::vector<SteadyRow>(200, {5, 5, 0})).found);
}

}  // namespace
}  // namespace driftless
