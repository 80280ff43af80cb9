// What a server is asked, and what is found.

#include "engine/prompt/builder.hpp"
#include "engine/server/checks.hpp"
#include "engine/server/findings.hpp"
#include "proto/api/api_template.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

// Until another word is set, the first of the table opens.
TEST(ProbePrompts, BeginWithTheOpenerAndLeaveOutDroppedWords) {
    const WordTable& words = WordTable::built_in();
    const auto word = [&words](std::uint32_t index) { return std::string(words.word(index)); };
    const std::string blank(1, words.separator());
    const std::vector<std::uint32_t> two{5, 3};
    ProbePrompts prompts(words);
    EXPECT_EQ(prompts.one_word(), word(0));
    EXPECT_EQ(prompts.prompt_of({}), word(0));
    prompts.open_with(7);
    EXPECT_EQ(prompts.opener(), 7U);
    EXPECT_EQ(prompts.prompt_of(two), word(7) + blank + word(5) + blank + word(3));
    const ProbePrompts other_prompts(words);
    EXPECT_EQ(other_prompts.words_without({}).size(), words.size());
    const std::vector<std::uint32_t> dropped{0, 2, words.size() - 1};
    const std::vector<std::uint32_t> kept = other_prompts.words_without(dropped);
    ASSERT_EQ(kept.size(), words.size() - 3);
    EXPECT_EQ(std::tuple(kept[0], kept[1], kept.back()), std::tuple(1U, 3U, words.size() - 2));
}

// What one answer to a probe says is read whole, and no impossible number is believed.

Reply reply_of(std::string body, const std::string& fields = "") {
    return {
        .status = 200, .head = "HTTP/1.1 200 OK\r\n" + fields + "\r\n", .body = std::move(body)};
}

std::int64_t prompt_tokens_of(const std::string& reported) {
    const std::string event =
        R"(data: {"id":"r","choices":[],"usage":{"prompt_tokens":)" + reported + "}}\n\n";
    return read_probe(dialect_of(Api::openai_chat), true, reply_of(event)).prompt_tokens;
}

TEST(Probe, BelievesNoImpossibleCountAndStopsLongStreams) {
    EXPECT_EQ(prompt_tokens_of("17"), 17);
    EXPECT_EQ(prompt_tokens_of("134217728"), tokens_reported_max);
    for (const char* reported : {"134217729", "4294967300", "9223372036854775807", "-5", "\"5\""}) {
        EXPECT_EQ(prompt_tokens_of(reported), -1) << reported;
    }
    const auto by_head = [](const char* field) {
        const Reply reply = reply_of(R"({"generated_text":"a"})", field);
        return read_probe(dialect_of(Api::tgi), false, reply).prompt_tokens;
    };
    expect_each(by_head, gives("x-prompt-tokens: 12\r\n", 12), gives("x-prompt-tokens: -5\r\n", -1),
                gives("x-prompt-tokens: 4294967300\r\n", -1), gives("", -1));
    // A stream is enough once it is clearly longer than asked, however it is split; comments and
    // empty events are no tokens, and without a number any length is right.
    const std::string token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    const std::string role =
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n: ping\n\n";
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
        LengthWatch watch;
        const BodyWatch body = watch.begin(dialect_of(Api::openai_chat), 3);
        std::string whole = role;
        for (std::uint32_t i = 0; i < 3 + LengthWatch::chunks_past; ++i) {
            whole += token + role;
        }
        for (const int asked : {1, 2}) {  // the first time it broke off
            std::size_t shown = 0;
            for (std::size_t end = step; end < whole.size(); shown = end, end += step) {
                EXPECT_FALSE(body.is_enough(body.owner, whole.substr(0, end), shown)) << asked;
            }
            EXPECT_FALSE(body.is_enough(body.owner, whole, shown)) << asked;
        }
        const std::size_t shown = whole.size();
        whole += token;
        EXPECT_TRUE(body.is_enough(body.owner, whole, shown)) << step;
        EXPECT_EQ(watch.begin(dialect_of(Api::openai_chat), 0).owner, nullptr);
    }
}

// Dynamo's /v1/messages: what stands in message_start is an estimate, in message_delta the count.
TEST(Probe, TakesTheLastCountAndSeesUnreadableRows) {
    const std::string body =
        "event: message_start\ndata: "
        R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":51,)"
        R"("output_tokens":0}}})"
        "\n\nevent: content_block_delta\ndata: "
        R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}})"
        "\n\nevent: message_delta\ndata: "
        R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"},)"
        R"("usage":{"input_tokens":20,"output_tokens":1}})"
        "\n\n";
    const Probe probe = read_probe(dialect_of(Api::anthropic), true, reply_of(body));
    EXPECT_EQ(std::tuple(probe.prompt_tokens, probe.completion_tokens), std::tuple(20, 1));
    EXPECT_EQ(probe.made(), 1);
    // What keeps every row from being read is seen in one answer (wire-formats.md, section 1).
    const Dialect& chat = dialect_of(Api::openai_chat);
    const std::string answer = R"({"choices":[{"message":{"content":"a"}}]})";
    const std::string events = R"(data: {"choices":[{"delta":{"content":"a"}}]})"
                               "\n\n";
    const auto seen = [&](bool stream, const std::string& other_body, const std::string& fields) {
        const Probe other_probe = read_probe(chat, stream, reply_of(other_body, fields));
        EXPECT_EQ(other_probe.ok, other_probe.unreadable == Unreadable::no) << other_body;
        return other_probe.unreadable;
    };
    const std::string streamed = "Content-Type: Text/Event-Stream; charset=utf-8\r\n";
    const std::string json = "Content-Type: application/json\r\n";
    EXPECT_EQ(seen(true, events, ""), Unreadable::no);
    EXPECT_EQ(seen(true, events, streamed), Unreadable::no);
    EXPECT_EQ(seen(true, events, "Content-Encoding: identity\r\n"), Unreadable::no);
    EXPECT_EQ(seen(true, events, "Content-Encoding: zstd\r\n"), Unreadable::encoded);
    EXPECT_EQ(seen(false, answer, "Content-Encoding: gzip\r\n"), Unreadable::encoded);
    EXPECT_EQ(seen(true, events, json), Unreadable::no);  // its first bytes decide
    EXPECT_EQ(seen(true, "<html>", ""), Unreadable::foreign);
    EXPECT_EQ(seen(true, R"({"oops":1})", json), Unreadable::foreign);
    EXPECT_EQ(seen(false, events, json), Unreadable::not_whole);
    EXPECT_EQ(seen(true, answer, json), Unreadable::not_a_stream);
    EXPECT_EQ(seen(true, answer, streamed), Unreadable::not_a_stream);
    EXPECT_EQ(seen(false, answer, json), Unreadable::no);
    EXPECT_EQ(seen(false, events, streamed), Unreadable::not_whole);
    const Reply lines = reply_of(R"({"response":"a","done":false})", json);
    EXPECT_EQ(read_probe(dialect_of(Api::ollama), true, lines).unreadable, Unreadable::no);
}

// Lines of the pages of vLLM, of Dynamo's frontend, of SGLang and of llm-d-inference-sim.
TEST(Probe, ReadsTheCacheBlockAndTheLongestPrompt) {
    expect_each(read_cache_block,
                gives("# TYPE vllm:cache_config_info gauge\n"
                      "vllm:cache_config_info{_block_size_resolved=\"True\",block_size=\"128\","
                      "hash_block_size=\"None\"} 1.0\n",
                      128),
                gives("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"4096\"} 1", 16),
                gives("a 1\ndynamo_frontend_model_kv_cache_block_size{model=\"tiny\"} 16\n", 16),
                gives("# HELP sglang:page_size KV cache page size in tokens.\n"
                      "sglang:page_size{engine_type=\"unified\",pp_rank=\"0\"} 64.0\n",
                      64));
    for (const char* page : {"", "x", "vllm:cache_config_info{block_size=\"None\"} 1",
                             "sglang:page_size 0", "# vllm:cache_config_info{block_size=\"16\"}"}) {
        EXPECT_EQ(read_cache_block(page), -1) << page;
    }
    // The prompt leaves room for the shortest answer, and has a limit of its own at some servers.
    PreflightFindings found;
    EXPECT_EQ(found.prompt_tokens_max(), INT64_MAX);
    found.max_model_len = 100;
    found.least_answer = 16;
    EXPECT_EQ(found.prompt_tokens_max(), 84);
    found.max_input_tokens = 84;
    EXPECT_EQ(found.prompt_tokens_max(), 84);
    found.max_input_tokens = 83;
    EXPECT_EQ(found.prompt_tokens_max(), 83);
    EXPECT_EQ(read_context(R"({"max_total_tokens":4096})"), 4096);
    EXPECT_EQ(read_context(R"({"default_generation_settings":{"n_ctx":2048}})"), 2048);
    for (const char* reported :
         {"134217729", "9223372036854775807", "-9223372036854775808", "null"}) {
        EXPECT_EQ(read_context(R"({"max_total_tokens":)" + std::string(reported) + "}"), -1)
            << reported;
    }
}

// Refusals as servers word them (wire-formats.md, sections 1.2 and 1.7) get the remedy that fits;
// what a server lacks names the flag of its kind, and only of its kind.

TEST(Hints, NameTheFlagOfTheServersKind) {
    struct Case {
        const char* owned_by;
        const char* server;
        bool has_usage;
        const char* flag;  // nullptr: a hint without one
    };
    for (const Case& one :
         {Case{"vllm", "uvicorn", true, "--enable-prompt-tokens-details"},
          Case{"sglang", "uvicorn", true, "--enable-cache-report"},
          Case{"vllm", "", false, "--enable-force-include-usage"},
          Case{"me", "uvicorn", true, nullptr}, Case{"", "llama.cpp", false, nullptr},
          Case{"vllm", "fasthttp", true, nullptr}}) {  // llm-d-inference-sim
        PreflightFindings found{
            .has_usage = one.has_usage, .server = one.server, .owned_by = one.owned_by};
        const std::vector<std::string> hints = hints_for(found, dialect_of(Api::openai_chat));
        ASSERT_EQ(hints.size(), 1u);
        const bool has_flag = hints.front().find("; start ") != std::string::npos;
        EXPECT_EQ(has_flag, one.flag != nullptr) << hints.front();
        EXPECT_TRUE(one.flag == nullptr || hints.front().ends_with(one.flag)) << hints.front();
    }
    PreflightFindings whole{.has_usage = true, .has_cached_tokens = true};
    EXPECT_TRUE(hints_for(whole, dialect_of(Api::openai_chat)).empty());
    whole.stream_chunks = 8;
    whole.stream_receives = 2;
    EXPECT_TRUE(hints_for(whole, dialect_of(Api::openai_chat)).empty());
    whole.stream_receives = 1;
    ASSERT_EQ(hints_for(whole, dialect_of(Api::openai_chat)).size(), 1u);
    EXPECT_TRUE(says(hints_for(whole, dialect_of(Api::openai_chat)).front(),
                     "8 chunks of an answer came in one read"));
    whole.stream_chunks = 3;
    EXPECT_TRUE(hints_for(whole, dialect_of(Api::openai_chat)).empty());
}

// What an API or its template has no place for is said of it, and no flag of a server fixes it.
TEST(Hints, KnowTheApi) {
    PreflightFindings found{.owned_by = "vllm"};
    const auto hint = [&found](const Dialect& dialect) {
        const std::vector<std::string> hints = hints_for(found, dialect);
        EXPECT_EQ(hints.size(), 1u);
        return hints.empty() ? "" : hints.front();
    };
    const std::string unverified = "prompt counts cannot be verified";
    const std::string by_chunks = "tokens are counted by chunks, and " + unverified;
    ApiTemplate form;
    Dialect described = dialect_of(form);
    const Dialect& chat = dialect_of(Api::openai_chat);
    EXPECT_EQ(hint(dialect_of(Api::triton)),
              "this API does not report prompt tokens: " + by_chunks);
    EXPECT_EQ(hint(described), "the template has no event.prompt_tokens: " + by_chunks);
    EXPECT_EQ(hint(chat), "the answer has no usage: " + by_chunks +
                              "; start vLLM with --enable-force-include-usage");
    found.has_completion_tokens = true;
    EXPECT_EQ(hint(described), "the template has no event.prompt_tokens: " + unverified);
    EXPECT_EQ(hint(chat), "the server's usage has no prompt_tokens, or counts 0: " + unverified);
    form.prompt_tokens = JsonPointer::parse("/n").value();
    described = dialect_of(form);
    EXPECT_EQ(hint(described),
              "the template's event.prompt_tokens does not point to a count of prompt tokens: " +
                  unverified);
    found.has_usage = true;
    const std::string unknown = ": cache hits stay unknown";
    EXPECT_EQ(hint(dialect_of(Api::tgi)), "this API does not report cached tokens" + unknown);
    EXPECT_EQ(hint(described), "the template has no event.cached_tokens" + unknown);
    form.cached_tokens = JsonPointer::parse("/cached").value();
    described = dialect_of(form);
    EXPECT_TRUE(hint(described).starts_with(
        "the template's event.cached_tokens does not point to a count"));
    EXPECT_TRUE(hint(chat).ends_with("; start vLLM with --enable-prompt-tokens-details"));
    found.has_cached_tokens = true;
    found.stream_chunks = 0;
    EXPECT_TRUE(
        hint(chat).starts_with("warning: the probe's answer had no text that driftless knows: "));
}

TEST(Hints, FindTheRemedyOfARefusal) {
    const std::vector<std::string> models = {"llama", "qwen"};
    const auto begins = [&](int status, std::string_view message) {
        return remedy_for({status, message, "", ""}, models).substr(0, 24);
    };
    expect_each([&](auto in) { return begins(400, in); },
                gives("Input length (9) exceeds model's maximum context length (8).",
                      "serve a longer context"),
                gives("the request exceeds the available context size, try increasing it",
                      "serve a longer context"),
                gives("default chat template is no longer allowed, so you must provide a "
                      "Chat Template",
                      "the model has no chat te"),
                gives("The plain HTTP request was sent to HTTPS port", "the server expects TLS; "));
    EXPECT_EQ(begins(401, "Unauthorized"), "check --api-key or OPENA");
    EXPECT_EQ(begins(413, "<html>"), "a proxy refuses bodies o");
    EXPECT_EQ(begins(503, "Loading model"), "the server is loading or");
    EXPECT_EQ(begins(400, "prompt must be a string"), "");
    EXPECT_EQ(begins(500, ""), "");
    EXPECT_EQ(remedy_for({404, "The model `x` does not exist.", "", ""}, models),
              "use --model with one that it lists: llama, qwen");
    EXPECT_EQ(remedy_for({400, "Invalid model name passed in model=x.", "", ""}, models),
              "use --model with one that it lists: llama, qwen");
    EXPECT_EQ(remedy_for({404, "The model `x` does not exist.", "", ""}, {}),
              remedy_for({404, "Not Found", "", ""}, models));
    EXPECT_EQ(remedy_for({404, "model", "", ""}, {"a", "b", "c", "d", "e"}),
              "use --model with one that it lists: a, b, c, d, and 1 more");
    EXPECT_EQ(remedy_for({308, "", "", ""}, models), "");
}

// Flags are those of the server's kind, names those that it lists and that were not tried.
TEST(Hints, FitTheServer) {
    const auto with = [](int status, std::string_view said, std::string_view kind,
                         std::vector<std::string> models = {}, Api api = Api::openai_chat,
                         bool ids = false) {
        Refusal refusal{status, said, "", ""};
        refusal.kind = kind;
        refusal.model = "unknown";
        refusal.dialect = &dialect_of(api);
        refusal.ids = ids;
        return remedy_for(refusal, models);
    };
    const char* too_long = "exceeds the maximum context length (8).";
    EXPECT_EQ(with(400, too_long, "vllm uvicorn"),
              "serve a longer context (vLLM: --max-model-len)");
    EXPECT_EQ(with(400, too_long, "sglang uvicorn"),
              "serve a longer context (SGLang: --context-length)");
    EXPECT_EQ(with(400, too_long, "openai "), "serve a longer context");
    EXPECT_EQ(
        with(404, "The model `unknown` does not exist.", "local ", {"unknown"}),
        "it lists only the model \"unknown\"; set --model to the name that its workers serve");
    EXPECT_EQ(with(404, "The model `unknown` does not exist.", "local ", {"unknown", "a"}),
              "use --model with one that it lists: a");
    EXPECT_EQ(with(404, "Not Found", "llamacpp llama.cpp", {}, Api::sglang),
              "its models are owned by \"llamacpp\", whose servers speak --api llamacpp, "
              "openai-chat, openai-completions, openai-responses or anthropic");
    EXPECT_EQ(with(404, "Not Found", "sglang uvicorn", {}, Api::sglang),
              "check --url, --endpoint, --api and --model");
    EXPECT_EQ(
        with(500, "Error code: 500", "openai ", {}, Api::openai_completions, true),
        "the server, or a gateway in front of it, may not accept token ids; try --prompt text");
    EXPECT_EQ(with(400, "No connected db.", "openai "),
              "LiteLLM does not know this key: check --api-key or OPENAI_API_KEY");
}

// What --url takes is what stands before the path that was asked: the whole Location leads to
// /v1/models/v1/models.
TEST(Hints, LeadWhereARedirectLeads) {
    const auto remedy = [](std::string_view location, std::string_view path) {
        return remedy_for({308, "", location, path}, {});
    };
    EXPECT_EQ(remedy("https://h/v1/models", "/v1/models"),
              "it redirects elsewhere; use --url https://h");
    EXPECT_EQ(remedy("https://h/base/v1/chat/completions", "/v1/chat/completions"),
              "it redirects elsewhere; use --url https://h/base");
    EXPECT_EQ(remedy("https://login/v1", "/v1/models"),
              "it redirects to https://login/v1; if the server is there, use that in --url");
    EXPECT_EQ(
        remedy("/v1/models/", "/v1/models"),
        "it redirects to /v1/models/ on the same server; check the paths in --url and --endpoint");
}

// The prompt by which runs are recognised in a cache: the same for runs of one seed, salt and
// trace, and no prompt of a row.

Trace trace_of(std::uint64_t digest) {
    return Trace{.digest = digest};
}

TellTale make(std::uint64_t digest, std::uint64_t seed, const std::string& salt,
              std::size_t server = 0, std::uint32_t tokens = 1024) {
    return make_tell_tale(trace_of(digest), WordTable::built_in(),
                          PromptOptions{.seed = seed, .cache_salt = salt}, server, tokens);
}

TEST(TellTale, FollowsFromItsRunAndSharesNothing) {
    EXPECT_EQ(make(1, 2, "a").prompt, make(1, 2, "a").prompt);
    const std::set<std::string> all{make(1, 2, "").prompt,     make(2, 2, "").prompt,
                                    make(1, 3, "").prompt,     make(1, 2, "a").prompt,
                                    make(1, 2, "", 1).prompt,  make(1, 2, "1 ").prompt,
                                    make(11, 2, "", 0).prompt, make(1, 2, "0 ").prompt};
    EXPECT_EQ(all.size(), 8u);
    // The server's own tokens are among those that are asked for.
    PromptOptions options{.overhead = {5, 3}};
    const TellTale made = make_tell_tale(trace_of(1), WordTable::built_in(), options, 0, 1024);
    EXPECT_EQ(made.words, 1016u);
    const auto blanks = std::count(made.prompt.begin(), made.prompt.end(), ' ');
    EXPECT_EQ(static_cast<std::uint64_t>(blanks) + 1, made.words);
    // A recorded body is the same under any seed and salt, and warms the cache for all of them.
    Trace trace = trace_of(1);
    trace.body_bytes = "{}";
    trace.body_ends = {2};
    PromptOptions salted{.seed = 7, .cache_salt = "monday"};
    const WordTable& words = WordTable::built_in();
    EXPECT_EQ(make_tell_tale(trace, words, salted, 0, 512).prompt,
              make_tell_tale(trace, words, {}, 0, 512).prompt);
    // No row's prompt begins as it does, but for a few words by accident: far below a cache block.
    trace = trace_of(42);
    trace.block_size = 16;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::uint64_t id = i * 4;
        const std::vector<std::uint64_t> ids = {id, id + 1, id + 2, id + 3};
        append_row(trace, {.input_length = 64}, i % 2 == 0 ? ids : std::vector<std::uint64_t>{});
    }
    PromptBuilder builder(trace, words, {});
    const std::string told = make_tell_tale(trace, words, {}, 0, 1024).prompt;
    for (const TraceRow& row : trace.rows) {
        std::string prompt(builder.room_of(row), '\0');
        PromptCursor cursor = builder.begin(row);
        while (!builder.fill(cursor, prompt.data(), 1 << 20)) {
        }
        const auto [end, unused] = std::mismatch(prompt.begin(), prompt.begin() + 64, told.begin());
        EXPECT_LT(std::count(prompt.begin(), end, ' '), head_words(words)) << row.index;
    }
}

}  // namespace
}  // namespace driftless
