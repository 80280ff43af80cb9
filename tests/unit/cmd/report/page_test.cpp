// The page of a run.

#include "cmd/report/page.hpp"

#include <charconv>

#include "cmd/reading/trace_figures.hpp"
#include "cmd/report/report.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "proto/run/period.hpp"
#include "proto/run/server_log.hpp"
#include "tests/unit/cmd/reading/make_trace.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// ReadBack: the columns of the page, read by a decoder of the tests' own.

static std::vector<std::uint8_t> base64_bytes(std::string_view base64) {
    std::string bytes;
    EXPECT_TRUE(base64.empty() || append_base64(bytes, base64));
    return {bytes.begin(), bytes.end()};
}

/// The columns of a table as texts: digits, words, or "" for null.
class ReadBack {
  public:
    ReadBack(const std::vector<PageColumn>& columns, std::size_t rows) : rows_(rows) {
        JsonWriter json(text_);
        put_value(json, columns);
        const JsonValue root = document_.parse(text_).value();
        for (JsonValue one = root.first(); one.present(); one = one.next()) {
            read(one);
        }
    }
    const Texts& operator[](const std::string& name) { return texts_[name]; }
    std::size_t bytes() const { return text_.size(); }

  private:
    std::string text_;
    void read(JsonValue column) {
        const std::string name(*column.find("name").as_string());
        if (column.find("doubles").present()) {
            read_doubles(name, base64_bytes(*column.find("doubles").as_string()));
            return;
        }
        std::vector<std::uint64_t> codes = codes_of(column);
        std::uint64_t before = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            if (codes[row] == 0) {
                texts_[name].emplace_back();
                numbers_[name].push_back(0);
                continue;
            }
            const std::uint64_t zigzag = codes[row] - 1;
            std::uint64_t value = (zigzag >> 1) ^ (~(zigzag & 1) + 1);
            value += column.find("step").present() ? before : 0;
            value += column.find("plus").present() ? base(column, "plus", row) : 0;
            value -= column.find("minus").present() ? base(column, "minus", row) : 0;
            before = value;
            numbers_[name].push_back(value);
            const JsonValue texts = column.find("texts");
            texts_[name].push_back(texts.present()
                                       ? std::string(*texts.at(value - 1).as_string())
                                       : std::to_string(static_cast<std::int64_t>(value)));
        }
    }
    std::uint64_t base(JsonValue column, const char* key, std::size_t row) {
        return numbers_.at(std::string(*column.find(key).as_string()))[row];
    }
    std::vector<std::uint64_t> codes_of(JsonValue column) const {
        if (column.find("all").present()) {
            return std::vector<std::uint64_t>(rows_, *column.find("all").as_u64());
        }
        std::vector<std::uint64_t> codes;
        std::uint64_t code = 0;
        int shift = 0;
        for (const std::uint8_t byte : base64_bytes(*column.find("codes").as_string())) {
            code |= static_cast<std::uint64_t>(byte & 127) << shift;
            shift += 7;
            if (byte < 128) {
                codes.push_back(code);
                code = 0;
                shift = 0;
            }
        }
        EXPECT_EQ(codes.size(), rows_);
        return codes;
    }
    void read_doubles(const std::string& name, const std::vector<std::uint8_t>& bytes) {
        ASSERT_EQ(bytes.size(), rows_ * 8);
        for (std::size_t at = 0; at < bytes.size(); at += 8) {
            double value = 0;
            std::memcpy(&value, &bytes[at], 8);
            char digits[32];
            const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
            texts_[name].push_back(value == value ? std::string(digits, end) : "");
        }
    }

    std::size_t rows_;
    JsonDocument document_;
    std::map<std::string, Texts> texts_;
    std::map<std::string, std::vector<std::uint64_t>> numbers_;
};

namespace {

const Figure* named(const std::vector<Figure>& figures, std::string_view name) {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [name](const Figure& one) { return one.name == name; });
    return found == figures.end() ? nullptr : &*found;
}

std::string unit_of(RunTable table, std::string_view name) {
    const std::vector<Figure> figures = figures_of(table);
    const Figure* figure = named(figures, name);
    return figure == nullptr ? "there is no such figure" : figure->unit;
}

// All keys of a line in their order, but for arrays of numbers.
TEST(Figures, AreTheKeysOfARecord) {
    Record record;
    record.shard = 0;  // of a merged run, which has every key
    const JsonText json(jsonl_of(record));
    JsonValue member = json.root.first();
    for (const Figure& figure : figures_of(RunTable::requests)) {
        while (member.key().starts_with("chunk_") && member.key() != "chunk_kinds") {
            member = member.next();
        }
        EXPECT_EQ(figure.name, member.key());
        EXPECT_FALSE(figure.definition.empty()) << figure.name;
        member = member.next();
    }
    EXPECT_FALSE(member.present()) << member.key();
}

TEST(Figures, OfPeriodsAndOfTheSummaryAreThere) {
    std::string line;
    append_json_line(line, Period());
    const JsonText period(line);
    EXPECT_EQ(figures_of(RunTable::periods).size(), period.root.size());
    for (const Figure& figure : figures_of(RunTable::periods)) {
        EXPECT_TRUE(value_of(period.root, figure).present()) << figure.name;
        EXPECT_FALSE(figure.definition.empty()) << figure.name;
    }
    SummaryInfo info{.stopped_when = StoppedWhen{"errors > 1", 2, 3, FigureUnit::share},
                     .unfinished = Unfinished{3, 2, true}};
    const ClientTotals client;
    info.client = &client;
    info.server.emplace().gauges.fill(GaugeTotals{});
    SummaryFigures sums;
    sums.sides.emplace();
    for (const FigureName& figure : figure_names()) {
        if (figure.bounds != nullptr) {  // bars stand where there are values
            (sums.*figure.bounds).upper.count = 1;
        }
    }
    sums.has_bounds = true;
    sums.goodput_rules = {GoodputRule{}};
    sums.goodput_counts = {{{1, 1}, {1, 1}, {1, 1}}};
    sums.request_goodput = sums.output_throughput = sums.total_token_throughput = 1e9;
    sums.duration_ns = sums.timeline.duration_least_ns = 1;
    for (Distribution* const one :
         {&sums.ttft, &sums.tpot, &sums.itl, &sums.e2e, &sums.chunk_gap}) {
        one->count = 1;
    }
    const JsonText summary(summary_json(sums, info));
    std::set<std::string> names;
    for (const Figure& figure : figures_of(RunTable::summary)) {
        EXPECT_TRUE(value_of(summary.root, figure).present()) << figure.name;
        EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    }
}

TEST(Figures, HaveDefinitionsUnitsAndDigits) {
    std::string line;
    append_client_sample(line, ClientSample(), 0);
    const JsonText json(line);
    JsonValue member = json.root.first();
    for (const Figure& figure : figures_of(RunTable::client)) {
        if (figure.name == "shard") {  // of merged runs
            continue;
        }
        EXPECT_EQ(figure.name, member.key());
        EXPECT_FALSE(figure.definition.empty()) << figure.name;
        member = member.next();
    }
    EXPECT_FALSE(member.present()) << member.key();
    expect_each([&](auto in) { return unit_of(RunTable::requests, in); }, gives("ttft_ns", "ns"),
                gives("input_length", "tokens"), gives("bytes_sent", "bytes"), gives("row", ""));
    EXPECT_EQ(unit_of(RunTable::periods, "ttft_p99_ns"), "ns");
    expect_each([&](auto in) { return unit_of(RunTable::summary, in); },
                gives("p99.9_ttft_ms", "ms"), gives("duration", "s"),
                gives("max_output_tokens_per_s", "tokens/s"), gives("drift_ns.p50", "ns"),
                gives("drift_ns.count", ""), gives("held.inflight.held_ns.p99", "ns"),
                gives("cache.cached_tokens", "tokens"), gives("stopped_when.at_s", "s"),
                gives("outcomes.no_tokens", ""));
    // A figure says what its object says where it says nothing itself, and one sentence at most.
    const std::vector<Figure> figures = figures_of(RunTable::requests);
    EXPECT_EQ(named(figures, "drift_ns")->definition, "fired_ns - due_ns; never negative.");
    EXPECT_EQ(named(figures, "live_turns")->definition,
              "Answers of this run in its prompt (--assistant live); 0 after turns that had none.");
    EXPECT_EQ(definition_rows().front()[0].text, "summary");
    const JsonText other_json(
        R"({"a":9007199254740993,"b":1.50,"c":null,"d":true,"e":"x\ny","f":["late"]})");
    const auto cell = [&other_json](const char* key) { return cell_of(other_json.root.find(key)); };
    EXPECT_EQ(std::tuple(cell("a").text, cell("a").kind, cell("b").text, cell("c").kind),
              std::tuple("9007199254740993", CellKind::number, "1.50", CellKind::empty));
    EXPECT_EQ(std::tuple(cell("missing").kind, cell("d").kind, cell("e").text, cell("f").text),
              std::tuple(CellKind::empty, CellKind::boolean, "x\\u000ay", "[\"late\"]"));
}

// What prompts share, and what was hit of it: counted by hand on a small trace, and by the rules of
// an infinite cache on random ones.

std::vector<SentPrompt> all_of(const Trace& trace, OptionalNs cached) {
    std::vector<SentPrompt> sent;
    for (const TraceRow& row : trace.rows) {
        sent.push_back({row.index, std::int64_t{row.input_length}, cached});
    }
    return sent;
}

// Blocks of 4 tokens: three prompts begin with 1 2, two of them go on with 3; another one is alone.
TEST(PrefixForecast, JoinsWhatTheSamePromptsHave) {
    const Trace trace =
        make_trace(4, TailRule::ceil,
                   {{0, 12, {1, 2, 3}}, {1, 8, {9, 8}}, {2, 12, {1, 2, 3}}, {3, 12, {1, 2, 4}}});
    std::vector<SentPrompt> sent = all_of(trace, {});
    sent[2].cached_tokens = 12;
    sent[3].cached_tokens = 8;
    const PrefixForecast forecast = forecast_prefixes(trace, sent);
    EXPECT_EQ(std::tuple(forecast.why_not, forecast.cached_tokens), std::tuple("", 20U));
    EXPECT_EQ(forecast.reported_tokens, 24U) << "two prompts of 12: the others' server did not say";
    ASSERT_EQ(forecast.prefixes.size(), 2U);
    const SharedPrefix& two = forecast.prefixes[0];
    EXPECT_EQ(std::tuple(two.parent, two.begin, two.tokens), std::tuple(-1, 0U, 8U));
    EXPECT_EQ(std::tuple(two.prompts, two.reported, two.hits), std::tuple(3U, 2U, 2U));
    const SharedPrefix& three = forecast.prefixes[1];
    EXPECT_EQ(std::tuple(three.parent, three.begin, three.tokens), std::tuple(0, 8U, 4U));
    EXPECT_EQ(std::tuple(three.prompts, three.hits), std::tuple(2U, 1U));
    EXPECT_EQ(forecast.capacity.hit_tokens, 12U + 8U);
}

// Two prompts share all of theirs, a third one only the first of two blocks that hit alike.
TEST(PrefixForecast, KeepsApartWhatWasHitDifferentlyAndAddsUp) {
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 12, {1, 2, 3}}, {1, 12, {1, 2, 3}}});
    std::vector<SentPrompt> sent = all_of(trace, {});
    sent[1].cached_tokens = 8;
    const PrefixForecast forecast = forecast_prefixes(trace, sent);
    ASSERT_EQ(forecast.prefixes.size(), 2U);
    EXPECT_EQ(forecast.prefixes[0].tokens, 8U);
    EXPECT_EQ(forecast.prefixes[0].hits, 1U);
    EXPECT_EQ(forecast.prefixes[1].tokens, 4U);
    EXPECT_EQ(forecast.prefixes[1].hits, 0U);
    // Every prefix stands behind its parent, goes on where that ends, and is as wide at most; the
    // areas of all are the hits of an infinite cache, and one prompt each that could not hit.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Trace other_trace = random_trace(seed, TailRule::floor, 200);
        const PrefixForecast other_forecast =
            forecast_prefixes(other_trace, all_of(other_trace, 0));
        std::uint64_t hits = 0;
        for (std::size_t i = 0; i < other_forecast.prefixes.size(); ++i) {
            const SharedPrefix& one = other_forecast.prefixes[i];
            ASSERT_LT(one.parent, static_cast<std::int64_t>(i));
            if (one.parent >= 0) {
                const SharedPrefix& parent =
                    other_forecast.prefixes[static_cast<std::size_t>(one.parent)];
                EXPECT_EQ(one.begin, parent.begin + parent.tokens);
                EXPECT_LE(one.prompts, parent.prompts);
            }
            EXPECT_GE(one.prompts, 2U);
            hits += (one.prompts - 1) * one.tokens;
        }
        EXPECT_EQ(hits, other_forecast.capacity.hit_tokens) << seed;
    }
}

TEST(PrefixForecast, ShowsTheWidestOrWhyThereIsNone) {
    std::vector<RowSpec> rows;
    for (std::uint64_t i = 0; i < 3'000; ++i) {
        for (int times = 0; times < (i < 10 ? 6 : 2); ++times) {
            rows.push_back({0, 4, {i}});
        }
    }
    const Trace trace = make_trace(4, TailRule::ceil, rows);
    const PrefixForecast forecast = forecast_prefixes(trace, all_of(trace, {}));
    EXPECT_EQ(std::tuple(forecast.shown_from, forecast.prefixes.size()), std::tuple(4U, 10U));
    const Trace other_trace = make_trace(4, TailRule::ceil, {{0, 8, {1, 2}}});
    EXPECT_NE(forecast_prefixes(other_trace, {{0, 9, {}}}).why_not, "");  // another length
    EXPECT_NE(forecast_prefixes(other_trace, {{1, 8, {}}}).why_not, "");  // no such row
    EXPECT_NE(forecast_prefixes(make_trace(0, TailRule::ceil, {{0, 8, {}}}), {}).why_not, "");
    std::string text;
    JsonWriter json(text);
    put_value(json, forecast_prefixes(other_trace, {{1, 8, {}}}));
    EXPECT_TRUE(text.starts_with(R"({"why_not":"The trace)")) << text;
}

// From real servers' pages, by way of server.jsonl as it is written, to the size of their caches.
// What is expected are the sizes with which those servers were started, or that they print.

/// A server.jsonl of its own.
class ServerPages : public testing::Test {
  protected:
    void scrape(SeriesLog& log, std::size_t url, std::int64_t t_ns, const std::string& page) {
        ExpositionReader reader;
        ASSERT_TRUE(reader.read(page)) << reader.problem();
        log.add(url, t_ns, 7, reader.page(), lines_);
    }
    /// The path of the file that has these lines.
    std::string file() { return folder_.write("server.jsonl", lines_); }

    ScratchFolder folder_;
    std::string lines_;
    std::string why_;
};

class CacheSize : public ServerPages {
  protected:
    void scrape(SeriesLog& log, std::size_t url, const std::string& page) {
        ServerPages::scrape(log, url, ++t_ns_, page);
    }
    /// Of servers with one page each.
    ServerCacheSize size_of(const std::vector<std::string>& pages) {
        lines_.clear();
        SeriesLog log(0);
        for (const std::string& page : pages) {
            scrape(log, log.add_url("http://" + std::to_string(++urls_) + "/metrics"), page);
        }
        return read();
    }
    ServerCacheSize read() {
        const Result<ServerCacheSize> size = read_server_cache_size(file(), why_);
        EXPECT_TRUE(size) << why_;
        return size ? size.value() : ServerCacheSize{};
    }
    void expect(const ServerCacheSize& size, std::uint64_t tokens, std::uint64_t caches,
                const std::string& metric) {
        EXPECT_EQ(std::tuple(size.tokens, size.caches), std::tuple(tokens, caches));
        EXPECT_EQ(size.metric, metric);
    }

    std::int64_t t_ns_ = 0;
    int urls_ = 0;
};

TEST_F(CacheSize, IsBlocksTimesTheirSize) {
    const std::string page = read_bytes(TEST_DATA "/metrics/llmdsim-restart-1.txt");
    expect(size_of({page}), 4096 * 16, 1, "vllm:cache_config_info");
    expect(size_of({page, page}), 2 * 4096 * 16, 2, "vllm:cache_config_info");
}

TEST_F(CacheSize, IsUnknownWhereNoServerSaysIt) {
    for (const char* name : {"mock-vllm-after", "mock-sglang-during", "llamacpp-after"}) {
        expect(size_of({read_bytes(std::string(TEST_DATA "/metrics/") + name + ".txt")}), 0, 0, "");
    }
    expect(size_of({}), 0, 0, "");
    expect(size_of({"vllm:cache_config_info{block_size=\"None\",num_gpu_blocks=\"9\"} 1\n"}), 0, 0,
           "");
    expect(size_of({"sglang:max_total_num_tokens NaN\n"}), 0, 0, "");
    const Result<ServerCacheSize> none = read_server_cache_size(folder_ / "none", why_);
    ASSERT_TRUE(none);
    EXPECT_EQ(none.value().tokens, 0U);
}

// The real pages: vLLM with --num-gpu-blocks-override 90 says 180 blocks in both of its two
// engines, and 11,520 tokens in each.
TEST_F(CacheSize, IsThatOfRealServers) {
    const std::string folder = SHARED_DATA "/metrics/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << "no pages in " << folder;
    }
    const auto of = [&](const char* name) { return size_of({read_bytes(folder + name + ".txt")}); };
    expect(of("vllm-after"), 1'048'576, 1, "vllm:cache_config_info");
    expect(of("vllm-dp2-during"), 23'040, 2, "vllm:cache_config_info");
    expect(of("router-engine-after"), 1'048'576, 1, "vllm_cache_config_info");
    expect(of("sglang-after"), 60'000, 1, "sglang:max_total_num_tokens");
    expect(of("sglang-small-during"), 12'000, 1, "sglang:max_total_num_tokens");
    expect(of("sglang-after-openmetrics"), 60'000, 1, "sglang_max_total_num_tokens");
    expect(of("dynamo-after"), 65'536, 0, "dynamo_frontend_model_total_kv_blocks");
}

TEST_F(CacheSize, OfOlderEnginesIsToldOnceByEach) {
    const std::string config = "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"";
    expect(size_of({config + ",engine=\"0\"} 1\n" + config + ",engine=\"1\"} 1\n"}), 1'600, 2,
           "vllm:cache_config_info");
}

TEST_F(CacheSize, OfRanksIsThatOfOneReplica) {
    const std::string name = "sglang:max_total_num_tokens";
    expect(size_of({name + "{dp_rank=\"0\",tp_rank=\"0\"} 900\n" + name +
                    "{dp_rank=\"0\",tp_rank=\"1\"} 1000\n" + name +
                    "{dp_rank=\"1\",tp_rank=\"0\"} 1000\n"}),
           2'000, 2, name);
}

TEST_F(CacheSize, IsThatOfTheLastServerThatSaysIt) {
    const std::string name = "sglang:max_total_num_tokens";
    SeriesLog log(0);
    scrape(log, log.add_url("http://a/metrics"), name + " 1000\n");
    expect(read(), 1'000, 1, name);
    SeriesLog resumed(1);
    const std::size_t url = resumed.add_url("http://a/metrics");
    scrape(resumed, url, "sglang:num_running_reqs 3\n");
    expect(read(), 1'000, 1, name);  // the new one has not said it yet
    scrape(resumed, url, name + " 5000\n");
    scrape(resumed, url, name + " 4000\n");
    expect(read(), 4'000, 1, name);
}

TEST_F(CacheSize, SaysWhichLineIsWrong) {
    EXPECT_FALSE(read_server_cache_size(folder_.write("server.jsonl", "{}\n"), why_));
    EXPECT_TRUE(says(why_, "server.jsonl:1: "));
}

// From a server's pages, by way of server.jsonl as it is written, to what the page of a run draws.

class ServerTable : public ServerPages {
  protected:
    // A page of vLLM with so many requests running, tokens made so far, and a series that no table
    // has.
    static std::string page_of(int running, int made) {
        return "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running " +
               std::to_string(running) + "\n# TYPE vllm:generation_tokens_total counter\n" +
               "vllm:generation_tokens_total " + std::to_string(made) +
               "\n# TYPE vllm:unheard_of gauge\nvllm:unheard_of 5\n";
    }
    // The columns of the file that has these lines.
    std::vector<PageColumn> read() {
        Result<std::vector<PageColumn>> table = read_server_table(file(), why_);
        EXPECT_TRUE(table) << why_;
        return table ? std::move(table).value() : std::vector<PageColumn>();
    }
};

TEST_F(ServerTable, AddsUpServersAndCountsFromTheFirstPage) {
    SeriesLog log(0);
    const std::size_t a = log.add_url("http://a/metrics");
    const std::size_t b = log.add_url("http://b/metrics");
    scrape(log, a, -1'000, page_of(1, 100));
    scrape(log, b, -900, page_of(2, 50));
    log.add_failure(b, 500, 7, "refused", lines_);
    scrape(log, a, 1'000, page_of(3, 160));
    SeriesLog resumed(1);  // its counters begin anew
    scrape(resumed, resumed.add_url("http://a/metrics"), 5'000, page_of(4, 400));
    lines_ += "{\"segment\":1,\"t_ns\":60";  // cut off by a kill
    ReadBack table(read(), 4);
    EXPECT_EQ(table["t_ns"], (Texts{"-1000", "-900", "1000", "5000"}));
    EXPECT_EQ(table["segment"], (Texts{"0", "0", "0", "1"}));
    EXPECT_EQ(table["running"], (Texts{"1", "3", "5", "4"}));
    EXPECT_EQ(table["generated_tokens"], (Texts{"0", "0", "60", "0"}));
    EXPECT_EQ(table["watts"], (Texts{"", "", "", ""}));
}

TEST_F(ServerTable, KeepsAsManyInstantsAsAChartHas) {
    SeriesLog log(0);
    const std::size_t url = log.add_url("http://a/metrics");
    for (std::int64_t i = 0; i < 9'000; ++i) {
        scrape(log, url, i, page_of(static_cast<int>(i), 0));
    }
    const std::vector<PageColumn> columns = read();
    EXPECT_EQ(columns.front().rows(), 3'000U);
    EXPECT_EQ(ReadBack(columns, 3'000)["running"][2'999], "8997");
}

TEST_F(ServerTable, IsEmptyWithoutAFile) {
    const Result<std::vector<PageColumn>> none = read_server_table(folder_ / "none", why_);
    ASSERT_TRUE(none);
    EXPECT_EQ(none.value().size(), 2 + server_figures);
    EXPECT_EQ(none.value().front().rows(), 0U);
}

TEST_F(ServerTable, SaysWhichLineIsWrong) {
    EXPECT_FALSE(read_server_table(folder_.write("server.jsonl", "{}\n"), why_));
    EXPECT_TRUE(says(why_, "server.jsonl:1: "));
}

// A column of the page, read back by a decoder of this test's own: every value is exact, and near
// columns cost little.

PageColumn column_of(const char* name, bool holds_numbers, const Texts& values) {
    Figure figure{.name = name, .holds_numbers = holds_numbers};
    PageColumn column(figure);
    for (const std::string& value : values) {
        const CellKind kind = value.empty()   ? CellKind::empty
                              : holds_numbers ? CellKind::number
                                              : CellKind::text;
        column.add({kind, value});
    }
    return column;
}

Texts read_back(bool holds_numbers, const Texts& values) {
    return ReadBack({column_of("one", holds_numbers, values)}, values.size())["one"];
}

TEST(PageColumn, KeepsNumbersFractionsTextsAndStamps) {
    const Texts whole{"0", "-1",  "1",  "",  "9007199254740993", "-9223372036854775807",
                      "",  "127", "63", "64"};
    EXPECT_EQ(read_back(true, whole), whole);
    EXPECT_EQ(read_back(true, {}), Texts{});
    EXPECT_EQ(read_back(true, {"", ""}), (Texts{"", ""}));
    EXPECT_EQ(read_back(true, {"7", "7", "7"}), (Texts{"7", "7", "7"}));
    // One fraction makes it a column of doubles, the whole numbers before it, too.
    const Texts values{"3", "", "10003423.548387097", "0.1", "-2.5e-07", "12"};
    EXPECT_EQ(read_back(true, values), values);
    const Texts other_values{"ok", "", "ok", "</script>", "\xE2\x82\xAC \"quoted\"", "ok"};
    EXPECT_EQ(read_back(false, other_values), other_values);
    Random random(7);
    std::map<std::string, Texts> stamps;
    for (std::size_t row = 0; row < 1000; ++row) {
        const auto due = static_cast<std::int64_t>(row * 1'000'000 + random.below(900'000));
        const auto fired = due + static_cast<std::int64_t>(random.below(2000));
        const bool left = random.below(10) > 0;
        stamps["due_ns"].push_back(std::to_string(due));
        stamps["fired_ns"].push_back(left ? std::to_string(fired) : "");
        stamps["drift_ns"].push_back(left ? std::to_string(fired - due) : "");
    }
    std::vector<PageColumn> columns;
    for (const char* name : {"due_ns", "fired_ns", "drift_ns"}) {
        columns.push_back(column_of(name, true, stamps[name]));
    }
    ReadBack read(columns, 1000);
    for (const auto& [name, third_values] : stamps) {
        EXPECT_EQ(read[name], third_values) << name;
    }
    // 4 digits of base64 or less for a due, 3 for a drift; its second column is a byte.
    EXPECT_LT(read.bytes(), 1000U * (4 + 3 + 2) + 400);
}

// The distance of two samples is SciPy's (tests/data/statistics/make.py).

TEST(Fidelity, DistanceIsThatOfKolmogorovAndSmirnov) {
    const JsonText golden(read_bytes(TEST_DATA "/statistics/golden.json"));
    const JsonValue cases = golden.root.find("distance");
    ASSERT_EQ(cases.size(), 4U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const double found =
            greatest_distance(numbers_of(one.find("a")), numbers_of(one.find("b")));
        EXPECT_NEAR(found, *one.find("distance").as_double(), 1e-12) << one.raw();
    }
}

}  // namespace
}  // namespace driftless
