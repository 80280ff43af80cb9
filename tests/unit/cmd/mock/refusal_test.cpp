#include <gtest/gtest.h>

#include <string>

#include "proto/api/dialect.hpp"
#include "proto/json/document.hpp"
#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {
namespace {

CoreOptions logged() {
    CoreOptions options;
    options.keep_log = true;
    return options;
}

// What is no request, or asks for what is not there, is refused as vLLM and FastAPI refuse it.
TEST(MockPages, RefusesNonsense) {
    struct Case {
        std::string request;
        int status;
        const char* says;
    };
    const std::string chat_target = "/v1/chat/completions";
    for (const Case& c : {
             Case{post(chat_target, "{no json"), 400, "json_invalid"},
             Case{post(chat_target, ""), 400, "json_invalid"},
             Case{post(chat_target, "[1]"), 400, "valid dictionary"},
             Case{post(chat_target, "{}"), 400, "'messages'"},
             Case{post(chat_target, R"({"messages":[]})"), 400, "'messages'"},
             Case{post(chat_target, R"({"messages":"hi"})"), 400, "'messages'"},
             Case{post("/v1/completions", "{}"), 400, "'prompt'"},
             Case{post("/v1/completions", R"({"prompt":""})"), 400, "non-empty"},
             Case{post("/v1/completions", R"({"prompt":["a","b"]})"), 400, "one prompt"},
             Case{post("/v1/completions", R"({"prompt":"a","max_tokens":0})"), 400, "at least 1"},
             Case{post("/v1/completions", R"({"prompt":"a","max_tokens":"x"})"), 400,
                  "'max_tokens'"},
             Case{post("/v1/completions", R"({"prompt":"a","stream":1})"), 400, "'stream'"},
             Case{post("/v1/completions", R"({"prompt":"a","stream_options":{}})"), 400,
                  "Stream options can only be defined"},
             Case{post("/v1/completions", R"({"prompt":"a","model":"x"})"), 404,
                  "The model `x` does not exist."},
             Case{post("/v1/completions", std::string(100, '[')), 413, "too deep"},
             Case{get("/nowhere"), 404, R"({"detail":"Not Found"})"},
             Case{get("//health"), 404, "Not Found"},
             Case{get("/v1/completions"), 405, "allow: POST"},
             Case{post("/v1/models", "{}"), 405, "allow: GET"},
             Case{"nonsense\r\n\r\n", 400, "Invalid HTTP request received."},
         }) {
        Player player(logged());
        bool complete = false;
        const std::string response = player.ask(c.request);
        (void)body_of(response, &complete);
        EXPECT_TRUE(complete);
        EXPECT_EQ(status_of(response), c.status) << c.request;
        EXPECT_TRUE(says(response, c.says));
    }
}

// An unusual but right body is read all the same: escaped names, one prompt in a list.
TEST(MockPages, ReadsWhatTheBodyReaderLeftInTheFrame) {
    for (const char* body :
         {R"({"p\u0072ompt":"a b c"})", R"({"prompt":["a b c"]})", R"({"prompt":[[1,2,3]]})",
          R"({"prompt":[1,2,3]})", R"({ "prompt" : "a b c" })"}) {
        Player player(logged());
        EXPECT_EQ(status_of(player.ask(post("/v1/completions", body))), 200) << body;
        EXPECT_EQ(player.take_log().prompt_tokens, 3u) << body;
    }
    Player player(logged());
    (void)player.ask(post("/v1/chat/completions",
                          R"({"messages":[{"c\u006fntent":"a b"},{"content":[{"text":"c"}]}]})"));
    EXPECT_EQ(player.take_log().prompt_tokens, 3u);
}

// Prompts up to the context are taken, one token more is refused; answers are cut to what is left.
TEST(MockPages, KeepsToTheContext) {
    CoreOptions options = logged();
    options.model.context_tokens = 8;
    for (const std::size_t words : {7, 8, 9}) {
        Player player(options);
        EXPECT_EQ(status_of(player.ask(chat(words, 5))), words == 9 ? 400 : 200);
        EXPECT_EQ(player.take_log().output_tokens, words == 9 ? 0u : 1u);
    }
}

// The model list names the model and its length.
TEST(MockPages, ListsItsModel) {
    CoreOptions options;
    options.model = {"a/b \"c\"", 4096};
    Player player(options);
    JsonDocument json;
    const Result<JsonValue> models = json.parse(body_of(player.ask(get("/v1/models?x=1"))));
    ASSERT_TRUE(models);
    const JsonValue model = models.value().find("data").at(0);
    EXPECT_EQ(model.find("id").as_string(), "a/b \"c\"");
    EXPECT_EQ(model.find("max_model_len").as_u64(), 4096u);
    EXPECT_EQ(status_of(player.ask(get("/health"))), 200);
    EXPECT_EQ(status_of(player.ask(get("/version"))), 200);
}

// /tokenize shows the template: both prompts share its head, and differ in the one word.
TEST(MockPages, TokenizesForThePreflight) {
    CoreOptions options;
    options.overhead = {3, 5};
    const auto tokenize = [&](const char* word) {
        Player player(options);
        JsonDocument json;
        const std::string body = R"({"model":"mock-model","messages":[{"role":"user","content":")" +
                                 std::string(word) + R"("}],"add_generation_prompt":true})";
        const auto answer = json.parse(body_of(player.ask(post("/tokenize", body))));
        EXPECT_TRUE(answer);
        EXPECT_EQ(answer.value().find("count").as_u64(), 9u);
        std::vector<std::uint64_t> tokens;
        for (JsonValue v = answer.value().find("tokens").first(); v.present(); v = v.next()) {
            tokens.push_back(*v.as_u64());
        }
        return tokens;
    };
    const std::vector<std::uint64_t> the = tokenize("the");
    const std::vector<std::uint64_t> cat = tokenize("cat");
    ASSERT_EQ(the.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(the[i] == cat[i], i != 3) << i;
    }
    Player player(options);
    const std::string plain = player.ask(post("/tokenize", R"({"prompt":"one two"})"));
    EXPECT_TRUE(says(plain, "{\"count\":10,"));
}

// Each form of /tokenize takes what its server takes, and nothing else.
TEST(MockPages, TokenizesAsOtherServersDo) {
    CoreOptions options;
    options.overhead = {2, 1};
    const auto ask = [&](const char* path, const char* body) {
        Player player(options);
        return player.ask(post(path, body));
    };
    const char* const chat =
        R"({"messages":[{"role":"user","content":"one two"}],"add_generation_prompt":true})";
    options.tokenize = TokenizeForm::sglang;
    EXPECT_EQ(status_of(ask("/tokenize", chat)), 400);
    EXPECT_TRUE(says(ask("/v1/tokenize", R"({"prompt":"one two"})"), "{\"count\":2,"));
    EXPECT_EQ(status_of(ask("/apply-template", chat)), 404);
    options.tokenize = TokenizeForm::llama_cpp;
    EXPECT_EQ(body_of(ask("/tokenize", chat)), R"({"tokens":[]})");
    EXPECT_EQ(body_of(ask("/apply-template", chat)),
              R"({"prompt":"<head0> <head1> one two <tail0> "})");
    const std::string bare = body_of(ask("/tokenize", R"({"content":"one two one"})"));
    EXPECT_EQ(std::count(bare.begin(), bare.end(), ','), 2) << bare;
    EXPECT_EQ(status_of(ask("/v1/tokenize", R"({"prompt":"one"})")), 404);
    options.tokenize = TokenizeForm::none;
    EXPECT_EQ(status_of(ask("/tokenize", chat)), 404);
    Player player(options);
    EXPECT_EQ(status_of(player.ask(get("/tokenize"))), 404);
}

// The counters of /metrics under vLLM's and SGLang's names, and under one server's alone.
TEST(MockPages, CountsForMetrics) {
    CoreOptions options;
    options.cache_block_tokens = 4;
    Player player(options);
    (void)player.ask(chat(5, 3));
    (void)player.ask(chat(5, 2));
    const std::string page = body_of(player.ask(get("/metrics")));
    for (const char* line :
         {"# TYPE vllm:prompt_tokens_total counter\n"
          "vllm:prompt_tokens_total{engine=\"0\",model_name=\"mock-model\"} 10.0\n",
          "vllm:generation_tokens_total{engine=\"0\",model_name=\"mock-model\"} 5.0\n",
          "vllm:num_requests_running{engine=\"0\",model_name=\"mock-model\"} 0.0\n",
          "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"mock-model\"} 10.0\n",
          "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"mock-model\"} 4.0\n",
          "# TYPE sglang:num_running_reqs "
          "gauge\nsglang:num_running_reqs{model_name=\"mock-model\"} 0.0\n",
          "sglang:num_queue_reqs{model_name=\"mock-model\"} 0.0\n",
          "sglang:prompt_tokens_total{model_name=\"mock-model\"} 10.0\n",
          "sglang:generation_tokens_total{model_name=\"mock-model\"} 5.0\n",
          "sglang:cache_hit_rate{model_name=\"mock-model\"} 0.400000\n",
          "sglang:num_requests_total{model_name=\"mock-model\"} 2.0\n"}) {
        EXPECT_TRUE(says(page, line));
    }
    for (const MetricNames names : {MetricNames{true, false}, MetricNames{false, true}}) {
        options.metric_names = names;
        Player one(options);
        const std::string of_one = body_of(one.ask(get("/metrics")));
        EXPECT_EQ(of_one.find("vllm:") != of_one.npos, names.vllm);
        EXPECT_EQ(of_one.find("sglang:") != of_one.npos, names.sglang);
    }
    options.model.name = "m\"1\n";
    const std::string quoted = body_of(Player(options).ask(get("/metrics")));
    EXPECT_TRUE(says(quoted, R"({model_name="m\"1\n"} 0.0)"));
    options.metric_names = {false, false};
    EXPECT_EQ(status_of(Player(options).ask(get("/metrics"))), 404);
}

// vLLM's and SGLang's endpoints empty the cache; a pretended one says so and does not.
TEST(MockPages, EmptiesItsCache) {
    const auto hits_after = [](CacheReset whose, const std::string& path, int* status) {
        CoreOptions options{.cache_block_tokens = 4, .cache_reset = whose};
        Player player(options);
        (void)player.ask(chat(5, 1));
        *status = status_of(player.ask("POST " + path + " HTTP/1.1\r\nHost: h\r\n\r\n"));
        (void)player.ask(chat(5, 1));
        return player.core.metrics().cache_hits;
    };
    int status = 0;
    for (const char* path : {"/reset_prefix_cache", "/flush_cache"}) {
        EXPECT_EQ(hits_after(CacheReset::both, path, &status), 0u);
        EXPECT_EQ(status, 200);
        EXPECT_EQ(hits_after(CacheReset::pretended, path, &status), 4u);
        EXPECT_EQ(status, 200);
        EXPECT_EQ(hits_after(CacheReset::none, path, &status), 4u);
        EXPECT_EQ(status, 404);
    }
    EXPECT_EQ(hits_after(CacheReset::vllm, "/flush_cache", &status), 4u);
    EXPECT_EQ(status, 404);
    EXPECT_EQ(hits_after(CacheReset::sglang, "/flush_cache", &status), 0u);
    Player player{CoreOptions()};
    EXPECT_EQ(status_of(player.ask(get("/flush_cache"))), 405);
}

// Under --pod every answer, whatever it is, says who gave it, and no answer else.
TEST(MockPages, NameAPod) {
    CoreOptions options;
    options.pod = "llama-7";
    for (const std::string& request :
         {chat(5, 3), post("/v1/chat/completions", "{"), get("/nowhere"), get("/health")}) {
        EXPECT_TRUE(says(Player(options).ask(request), "\r\ntarget-pod: llama-7\r\n")) << request;
        EXPECT_FALSE(says(Player(CoreOptions{}).ask(request), "target-pod"));
    }
}

// A log line is one JSON object with every key of a request.
TEST(MockLog, WritesOneObjectPerRequest) {
    Player player(logged());
    (void)player.ask(chat(5, 2));
    std::string line;
    append_log_line(line, player.take_log());
    EXPECT_EQ(line.back(), '\n');
    JsonDocument json;
    const Result<JsonValue> parsed = json.parse(line);
    ASSERT_TRUE(parsed);
    const JsonValue entry = parsed.value();
    EXPECT_EQ(entry.find("request_id").as_string(), "run-7");
    EXPECT_EQ(entry.find("row").as_u64(), 7u);
    EXPECT_TRUE(entry.find("traceparent").is(JsonType::null));
    EXPECT_EQ(entry.find("start_ns").as_i64(), 1'000'000);
    EXPECT_EQ(entry.find("prompt_tokens").as_u64(), 5u);
    EXPECT_EQ(entry.find("cached_tokens").as_u64(), 0u);
    EXPECT_EQ(entry.find("output_tokens").as_u64(), 2u);
    EXPECT_EQ(entry.find("status").as_u64(), 200u);
    EXPECT_EQ(entry.find("fault").as_string(), "none");
    EXPECT_EQ(entry.find("token_ns").raw(), "[6000000,16000000]");
}

}  // namespace
}  // namespace driftless::mock
