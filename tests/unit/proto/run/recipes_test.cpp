// The page beside the record names every key and every outcome, and its recipes for jq run on real
// lines. Those for DuckDB, pandas and Polars are run by tests/recipes.
#include <sys/wait.h>

#include "engine/record/writer.hpp"
#include "proto/run/server_log.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

// The fenced blocks of a language, in order.
std::vector<std::string> blocks_of(const std::string& page, const std::string& language) {
    std::vector<std::string> blocks;
    const std::string open = "```" + language + "\n";
    for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
        at += open.size();
        blocks.push_back(page.substr(at, page.find("```", at) - at));
    }
    return blocks;
}

// A folder with the files of a small run: four rows that are ok, one that failed, one that never
// ended. Gone afterwards.
struct RunFolder : ScratchFolder {
    RunFolder() {
        std::string requests;
        std::string fired;
        for (std::uint32_t row = 0; row < 6; ++row) {
            fired += "{\"row\":" + std::to_string(row) + ",\"fired_ns\":5}\n";
            if (row < 5) {
                append_jsonl(requests, record_of(row));
            }
        }
        write("requests.jsonl", requests);
        write("fired.jsonl", fired);
        // Of row 2, and of somebody else's request.
        write(
            "spans.jsonl",
            R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeee2",)"
            R"("name":"llm_request","startTimeUnixNano":"1795224229000000000",)"
            R"("endTimeUnixNano":"1795224229015000000"},{"traceId":"00","name":"other"}]}]}]})"
            "\n");
        ClientSample sample{.to_ns = 1'000'000'000,
                            .drift_max_ns = 7000,
                            .busy_fire_ns = 100'000'000,
                            .busy_receive_ns = 150'000'000,
                            .steal_ns = 125'000'000};
        std::string client;
        append_client_sample(client, sample, 0);
        write("client.jsonl", client);
        Period period{.end_ns = 2'000'000'000, .in_flight = 3, .output_tokens = 500};
        std::string periods;
        append_json_line(periods, period);
        write("periods.jsonl", periods);
        std::string server;
        ServerSeries series{.name = "vllm:num_requests_waiting"};
        append_server_series(server, series);
        series.series = 1;
        series.name = "vllm:num_requests_running";
        append_server_series(server, series);
        series.name = "vllm:generation_tokens_total";
        series.counter = true;
        for (series.series = 2; series.series < 5; ++series.series) {
            append_server_series(server, series);  // the recipe takes the last
        }
        ServerScrape scrape{.t_ns = -500'000'000,
                            .changed = {{0, 2}, {1, 0}, {2, 7}, {3, 8}, {4, 900}}};
        append_server_scrape(server, scrape);
        scrape.t_ns = 500'000'000;
        scrape.changed = {{0, 3}};
        scrape.grown = {{2, 1}, {3, 1}, {4, 0.5}};
        append_server_scrape(server, scrape);
        scrape.t_ns = 1'500'000'000;
        scrape.changed = {{1, 7}};
        scrape.grown.clear();
        append_server_scrape(server, scrape);
        write("server.jsonl", server);
    }
    static Record record_of(std::uint32_t row) {
        Record record{.row = row,
                      .api = "openai-chat",
                      .fired_ns = 1'000'000 * static_cast<std::int64_t>(row),
                      .drift_ns = 100 + row};
        record.ended_ns = *record.fired_ns + 20'000'000;
        if (row == 4) {
            record.outcome = Outcome::http_5xx;
            record.status = 500;
            record.error = "overloaded";
            return record;
        }
        record.session = "s";
        record.turn = row + 1;
        record.overtaken = row == 1;
        record.outcome = Outcome::ok;
        record.status = 200;
        record.trace_id = std::string(31, 'e') + std::to_string(row);
        record.headers = {{"target-pod", row == 3 ? "b" : "a"}};
        record.ttft_ns = 10'000'000 + row * 1'000'000;
        record.tpot_ns = 1e6 + 0.5;
        record.e2e_ns = *record.ttft_ns + 4'000'000;
        record.done_ns = *record.fired_ns + *record.e2e_ns;
        record.ended_ns = record.done_ns;
        record.prompt_tokens_off = row == 3 ? 2 : 0;
        record.chunk_ns = {*record.ttft_ns, *record.e2e_ns};
        record.chunk_tokens = {1, 4};
        record.chunk_tokens_known = true;
        record.expected_cached_tokens = 512;
        record.cached_tokens = row == 2 ? 0 : 512;
        record.output_digest = 0x123456789e0;  // digits that a careless reader takes for a number
        return record;
    }
};

struct Ran {
    int status = -1;
    std::string output;
};

Ran run_in(const RunFolder& folder, const std::string& command) {
    const std::string line = "cd '" + folder.path() + "' && { " + command + "\n} 2>&1";
    Ran ran;
    FILE* pipe = popen(line.c_str(), "r");
    if (pipe == nullptr) {
        return ran;
    }
    char buffer[4096];
    for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        ran.output.append(buffer, got);
    }
    const int status = pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
}

const char* const page_path = "proto/run/README.md";

// Every key of the schema has its line in the table, every outcome its name.
TEST(RecordPage, NamesEveryKeyAndItsRecipesRun) {
    const std::string page = source_file(page_path);
    const JsonText schema(source_file("proto/run/record.schema.json"));
    const JsonValue properties = schema.root.find("properties");
    std::size_t before = 0;
    for (JsonValue key = properties.first(); key.present(); key = key.next()) {
        const std::size_t at = page.find("\n| `" + std::string(key.key()) + "` |");
        EXPECT_NE(at, std::string::npos) << key.key();
        EXPECT_GT(at, before) << key.key() << " is out of order";
        before = at;
    }
    for (unsigned i = 0; i < outcome_count; ++i) {
        const std::string name = name_of(static_cast<Outcome>(i));
        EXPECT_TRUE(says(page, "`" + name + "`")) << name;
    }
    // Each jq recipe gives what it should over the small run.
    RunFolder folder;
    if (run_in(folder, "jq --version").status != 0) {
        GTEST_SKIP() << "no jq here";
    }
    const std::vector<std::string> blocks = blocks_of(source_file(page_path), "sh");
    ASSERT_EQ(blocks.size(), 14u);
    EXPECT_EQ(run_in(folder, blocks[0]).output, "      4 ok\n      1 http_5xx\n");
    EXPECT_EQ(run_in(folder, blocks[1]).output,
              "{\"row\":4,\"outcome\":\"http_5xx\",\"status\":500,\"error\":\"overloaded\"}\n");
    EXPECT_EQ(run_in(folder, blocks[2]).output, "13\n");
    EXPECT_EQ(run_in(folder, blocks[3]).output, "      3 0\n      1 2\n");
    EXPECT_EQ(run_in(folder, blocks[4]).output.substr(0, 46),
              "{\"row\":4,\"drift_ns\":104,\"late_cause\":\"none\"}\n{");
    EXPECT_EQ(run_in(folder, blocks[5]).output, "[5]\n");
    EXPECT_EQ(run_in(folder, blocks[6]).output, "{\"session\":\"s\",\"turns\":[2]}\n");
    EXPECT_EQ(run_in(folder, blocks[7]).output, "      1 0\thttp_5xx\n      4 0\tok\n");
    EXPECT_EQ(
        run_in(folder, blocks[8]).output,
        "{\"pod\":\"a\",\"rows\":3,\"ttft_ms\":11}\n{\"pod\":\"b\",\"rows\":1,\"ttft_ms\":13}\n");
    EXPECT_EQ(run_in(folder, blocks[9]).output,
              "{\"row\":2,\"span\":\"llm_request\",\"e2e_ms\":16,\"span_ms\":15}\n");
    EXPECT_EQ(run_in(folder, blocks[10]).output, "[-0.5,0]\n[1.5,7]\n");
    EXPECT_EQ(run_in(folder, blocks[11]).output, "[-0.5,900]\n[0.5,900.5]\n[1.5,900.5]\n");
    EXPECT_EQ(run_in(folder, blocks[12]).output, "0\t250\t3\n");
    EXPECT_EQ(run_in(folder, blocks[13]).output,
              "{\"s\":0,\"busy\":0.25,\"taken\":0.125,\"drift_us\":7}\n");
}

}  // namespace
}  // namespace driftless
