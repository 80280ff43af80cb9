// What was typed arrives as values, with the defaults of the contract; what makes no sense is
// refused in one line that names flag, value and remedy.
#include "cmd/replay/flags/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace driftless {
namespace {

using Words = std::vector<std::string>;
using Kind = ReplayCommandLine::Kind;

ReplayCommandLine parse(Words words, const std::string& key = "") {
    return parse_replay_options(words, key);
}

/// The smallest command that runs, and further flags.
ReplayOptions options_of(Words words, const std::string& key = "") {
    words.insert(words.begin(), {"trace.jsonl", "--url", "http://h:8000"});
    ReplayCommandLine line = parse(words, key);
    EXPECT_EQ(line.kind, Kind::run) << line.text;
    return std::move(line.options);
}

std::string refusal_of(Words words) {
    const ReplayCommandLine line = parse(words);
    EXPECT_EQ(line.kind, Kind::refused) << testing::PrintToString(words);
    EXPECT_EQ(std::count(line.text.begin(), line.text.end(), '\n'), 0) << line.text;
    return line.text;
}

std::string refusal_with(Words words) {
    words.insert(words.begin(), {"trace.jsonl", "--url", "http://h:8000"});
    return refusal_of(words);
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

// --api template is what its file says; without it, or with one that says nothing, it is refused.
TEST(ReplayOptions, TakeAnApiFromATemplate) {
    const std::string file = std::string(TEST_DATA) + "/templates/ollama.json";
    const ReplayOptions options = options_of({"--api", "template", "--template", file});
    EXPECT_STREQ(options.request.dialect->name, "template");
    EXPECT_EQ(options.server.targets.front().api_path, "/api/generate");
    EXPECT_EQ(options.request.dialect->framing, Framing::lines);
    EXPECT_EQ(options_of({"--api", "template", "--template", file, "--endpoint", "/x"})
                  .server.targets.front()
                  .api_path,
              "/x");
    EXPECT_TRUE(says(refusal_with({"--api", "template"}), "needs --template FILE"));
    EXPECT_TRUE(says(refusal_with({"--template", file}), "--api template; give both"));
    EXPECT_TRUE(says(refusal_with({"--api", "template", "--template", "/nowhere.json"}),
                     "--template /nowhere.json cannot be read: No such file or directory"));
    const std::string other = std::string(TEST_DATA) + "/sample.jsonl";
    EXPECT_TRUE(says(refusal_with({"--api", "template", "--template", other}),
                     other + ": line 2 is not a JSON object"));
    const std::string text_only = std::string(TEST_DATA) + "/templates/words.json";
    EXPECT_TRUE(
        says(refusal_with({"--api", "template", "--template", text_only, "--prompt", "ids"}),
             "--prompt ids cannot be used with --api template"));
}

// Design, section 4.
TEST(ReplayOptions, HaveTheDefaultsOfTheContract) {
    const ReplayOptions options = options_of({});
    EXPECT_EQ(options.workload.files.paths, Words{"trace.jsonl"});
    EXPECT_STREQ(options.request.dialect->name, "openai-chat");
    EXPECT_EQ(options.request.prompt, PromptKind::text);
    EXPECT_EQ(options.prompts.ids_from, 1000U);
    EXPECT_EQ(options.prompts.tokenizer, "");
    EXPECT_EQ(options.prompts.block_cache_bytes, 1U << 20);
    EXPECT_EQ(options.prompts.cache_salt, "");
    EXPECT_EQ(options.request.output, OutputRule::exact);
    EXPECT_EQ(options.workload.plan.speed.numerator, options.workload.plan.speed.denominator);
    EXPECT_EQ(options.workload.plan.seed, 0U);
    EXPECT_FALSE(options.workload.plan.spread);
    EXPECT_FALSE(options.sending.arm_ahead.all);
    EXPECT_EQ(options.sending.arm_ahead.window_ns, 2'000'000'000);
    EXPECT_EQ(options.sending.timeouts.connect.ns, 5'000'000'000);
    EXPECT_EQ(options.sending.timeouts.first_byte.ns, 600'000'000'000);
    EXPECT_EQ(options.sending.timeouts.idle.ns, 120'000'000'000);
    EXPECT_EQ(options.sending.timeouts.total.ns, 3'600'000'000'000);
    EXPECT_EQ(options.sending.grace_ns, 5'000'000'000);
    EXPECT_TRUE(options.results.chunks);
    EXPECT_EQ(options.results.save_responses, 0U);
    EXPECT_FALSE(options.host.wait.has_value());
    EXPECT_TRUE(options.server.preflight);
    EXPECT_TRUE(options.results.progress);
    EXPECT_FALSE(options.sending.inflight_max || options.sending.connections || options.host.cpu ||
                 options.server.overhead);
    EXPECT_TRUE(options.request.headers.empty());
}

TEST(ReplayOptions, TakeEveryFlag) {
    const ReplayOptions options = options_of({"--format",
                                              "mooncake",
                                              "--time-unit",
                                              "s",
                                              "--block-size",
                                              "512",
                                              "--lenient",
                                              "--default-output",
                                              "64",
                                              "--keep",
                                              "a,b",
                                              "--start",
                                              "1m",
                                              "--end",
                                              "2m",
                                              "--limit",
                                              "7",
                                              "--duration",
                                              "30",
                                              "--endpoint",
                                              "/x/completions",
                                              "--api",
                                              "openai-completions",
                                              "--model",
                                              "m",
                                              "--header",
                                              "X-Team: a",
                                              "--extra-body",
                                              R"({"top_p":0.9})",
                                              "--wait-ready",
                                              "5s",
                                              "--overhead",
                                              "5,3",
                                              "--prompt",
                                              "ids",
                                              "--ids-from",
                                              "0",
                                              "--block-cache",
                                              "0",
                                              "--cache-salt",
                                              "monday",
                                              "--output",
                                              "cap",
                                              "--continuous-usage",
                                              "--seed",
                                              "9",
                                              "--speed",
                                              "2.5",
                                              "--spread",
                                              "--arm-ahead",
                                              "all",
                                              "--max-inflight",
                                              "64",
                                              "--connections",
                                              "32",
                                              "--timeout-idle",
                                              "250ms",
                                              "--grace",
                                              "0",
                                              "--out",
                                              "d",
                                              "--output-path",
                                              "r.jsonl",
                                              "--chunks",
                                              "none",
                                              "--save-responses",
                                              "all",
                                              "--goodput",
                                              "ttft:200 e2e:3000.5",
                                              "--label",
                                              "run=7",
                                              "--label",
                                              "a=",
                                              "--no-progress",
                                              "--cpu",
                                              "1",
                                              "--writer-cpu",
                                              "0",
                                              "--wait",
                                              "hybrid"});
    EXPECT_EQ(options.workload.files.format, "mooncake");
    EXPECT_EQ(options.workload.files.time_unit, "s");
    EXPECT_EQ(options.workload.files.block_size, 512U);
    EXPECT_TRUE(options.workload.files.lenient);
    EXPECT_EQ(options.workload.files.default_output, 64U);
    EXPECT_EQ(options.workload.files.keep, (Words{"a", "b"}));
    EXPECT_EQ(options.workload.plan.start_ns, 60'000'000'000);
    EXPECT_EQ(options.workload.plan.end_ns, 120'000'000'000);
    EXPECT_EQ(options.workload.plan.limit, 7U);
    EXPECT_EQ(options.workload.plan.duration_ns, 30'000'000'000);
    EXPECT_EQ(options.server.targets[0].api_path, "/x/completions");
    EXPECT_EQ(options.request.model, "m");
    EXPECT_EQ(options.request.headers[0].name, "X-Team");
    EXPECT_EQ(options.server.wait_ready_ns, 5'000'000'000);
    EXPECT_EQ(options.server.overhead->pre, 5U);
    EXPECT_EQ(options.server.overhead->post, 3U);
    EXPECT_EQ(options.request.prompt, PromptKind::ids);
    EXPECT_EQ(options.request.output, OutputRule::cap);
    EXPECT_TRUE(options.request.continuous_usage);
    EXPECT_EQ(options.workload.plan.seed, 9U);
    EXPECT_EQ(options.workload.plan.speed.numerator, 5U);
    EXPECT_EQ(options.workload.plan.speed.denominator, 2U);
    EXPECT_TRUE(options.workload.plan.spread);
    EXPECT_TRUE(options.sending.arm_ahead.all);
    EXPECT_EQ(options.sending.inflight_max, 64U);
    EXPECT_EQ(options.sending.connections, 32U);
    EXPECT_EQ(options.sending.timeouts.idle.ns, 250'000'000);
    EXPECT_EQ(options.sending.grace_ns, 0);
    EXPECT_FALSE(options.results.chunks);
    EXPECT_EQ(options.results.save_responses, save_all_responses);
    EXPECT_EQ(options.results.goodput.at(0).limits.ttft_ns, 200'000'000);
    EXPECT_FALSE(options.results.goodput.at(0).limits.tpot_ns);
    EXPECT_EQ(options.results.goodput.at(0).limits.e2e_ns, 3'000'500'000);
    EXPECT_EQ(options.results.labels.size(), 2U);
    EXPECT_FALSE(options.results.progress);
    EXPECT_EQ(options.host.cpu, 1U);
    EXPECT_EQ(options.host.writer_cpu.where, WriterCpu::Where::on);
    EXPECT_EQ(options.host.writer_cpu.cpu, 0U);
    EXPECT_EQ(options.host.wait, WaitPolicy::hybrid);
}

// The habits of four other tools.
TEST(ReplayOptions, TakeTheSpellingOfOtherTools) {
    const ReplayOptions options = parse({"t", "--host",         "h",        "--port",
                                         "9", "--backend",      "vllm",     "--model-name",
                                         "m", "--scale-factor", "3",        "--num-prompts",
                                         "5", "--time-in-secs", "60",       "-o",
                                         "d", "--goodput",      "ttft:200", "e2el:1"})
                                      .options;
    EXPECT_EQ(to_text(options.server.targets.at(0).url), "http://h:9");
    EXPECT_EQ(options.server.targets[0].api_path, "/v1/completions");
    EXPECT_EQ(options.request.model, "m");
    EXPECT_EQ(options.workload.plan.limit, 5U);
    EXPECT_EQ(options.workload.plan.duration_ns, 60'000'000'000);
    EXPECT_EQ(options.results.out, "d");
    EXPECT_EQ(options.results.goodput.at(0).limits.e2e_ns, 1'000'000);
}

// `--endpoint` is a path, or the whole URL of the API; both end at the same request target.
TEST(ReplayOptions, FindTheApiWhereverTheUrlEnds) {
    const auto target = [](Words words) {
        words.insert(words.begin(), "t");
        const ReplayCommandLine line = parse(words);
        EXPECT_EQ(line.kind, Kind::run) << line.text;
        return line.options.server.targets.at(0).root_path + " " +
               line.options.server.targets.at(0).api_path;
    };
    const std::string chat = "/v1/chat/completions";
    EXPECT_EQ(target({"--url", "h"}), " " + chat);
    EXPECT_EQ(target({"--url", "http://h/v1/"}), " " + chat);
    EXPECT_EQ(target({"--url", "http://h/p" + chat}), "/p /p" + chat);
    EXPECT_EQ(target({"--url", "http://h/p", "--endpoint", "generate"}), "/p /p/generate");
    EXPECT_EQ(target({"--endpoint", "http://h:1" + chat}), " " + chat);
    EXPECT_EQ(target({"--endpoint", "http://h/own/path"}), " /own/path");
    EXPECT_EQ(target({"--url", "unix:/run/s"}), " " + chat);
}

TEST(ReplayOptions, TakeSeveralServersAndTraces) {
    const ReplayOptions options = parse({"a", "-", "--url", "h:1", "--url=h:2", "b"}).options;
    EXPECT_EQ(options.workload.files.paths, (Words{"a", "-", "b"}));
    ASSERT_EQ(options.server.targets.size(), 2U);
    EXPECT_EQ(options.server.targets[1].url.port, 2);
}

// The flag goes before the environment, a header of the user's own before both.
TEST(ReplayOptions, SendTheKeyAsABearerToken) {
    const auto authorization = [](const ReplayOptions& options) {
        return options.request.headers.empty() ? "" : options.request.headers.back().value;
    };
    EXPECT_EQ(authorization(options_of({}, "sk-env")), "Bearer sk-env");
    EXPECT_EQ(authorization(options_of({"--api-key", "sk-flag"}, "sk-env")), "Bearer sk-flag");
    EXPECT_EQ(authorization(options_of({"--header", "authorization: Basic x"}, "sk-env")),
              "Basic x");
    EXPECT_TRUE(says(refusal_with({"--api-key", "a", "--header", "Authorization: b"}),
                     "cannot be combined"));
}

// What an API wants in its head goes there, unless the user says otherwise; whole answers have
// paths.
TEST(ReplayOptions, AddWhatTheApiAsksFor) {
    const auto headers = [](const Words& flags) {
        std::string text;
        for (const Header& header : options_of(flags, "sk-env").request.headers) {
            text += header.name + "=" + header.value + " ";
        }
        return text;
    };
    EXPECT_EQ(headers({"--api", "anthropic"}), "x-api-key=sk-env anthropic-version=2023-06-01 ");
    EXPECT_EQ(headers({"--api", "anthropic", "--header", "Anthropic-Version: 1"}),
              "Anthropic-Version=1 x-api-key=sk-env ");
    EXPECT_EQ(headers({"--api", "aibrix", "--routing-strategy", "random", "--user", "u"}),
              "Authorization=Bearer sk-env routing-strategy=random user=u ");
    EXPECT_TRUE(says(refusal_with({"--user", "u"}), "--api aibrix"));
    EXPECT_TRUE(says(refusal_with({"--no-stream", "--continuous-usage"}), "remove one"));
    EXPECT_EQ(options_of({"--api", "tgi"}, "").server.targets[0].api_path, "/generate_stream");
    EXPECT_EQ(options_of({"--api", "tgi", "--no-stream"}, "").server.targets[0].api_path,
              "/generate");
}

TEST(ReplayOptions, NeedNoServerForADryRun) {
    EXPECT_EQ(parse({"t", "--dry-run"}).kind, Kind::run);
    EXPECT_TRUE(says(refusal_of({"t"}), "--url is missing"));
}

TEST(ReplayOptions, AreRefusedWithFlagValueAndRemedy) {
    EXPECT_TRUE(says(refusal_with({"--speed", "fast"}), "--speed \"fast\""));
    EXPECT_TRUE(says(refusal_with({"--speed", "0"}), "--speed \"0\""));
    EXPECT_TRUE(says(refusal_with({"--end", "10 min"}), "--end \"10 min\" is not a duration"));
    EXPECT_TRUE(says(refusal_with({"--limit", "0"}), "must be at least 1"));
    EXPECT_TRUE(says(refusal_with({"--limit", "-1"}), "--limit \"-1\""));
    EXPECT_TRUE(says(refusal_with({"--cpu", "4294967296"}), "--cpu \"4294967296\""));
    EXPECT_TRUE(says(refusal_with({"--api", "grpc"}), "openai-chat, openai-completions"));
    EXPECT_TRUE(says(refusal_with({"--goodput", "ttft"}), "ttft:200"));
    EXPECT_TRUE(says(refusal_with({"--goodput", "itl:3"}), "ttft:200"));
    EXPECT_TRUE(says(refusal_with({"--overhead", "5"}), "PRE,POST"));
    EXPECT_TRUE(says(refusal_with({"--label", "x"}), "KEY=VALUE"));
    EXPECT_TRUE(says(refusal_with({"--extra-body", "[1]"}), "not a JSON object"));
    EXPECT_TRUE(says(refusal_with({"--extra-body", "{"}), "not a JSON object"));
    EXPECT_TRUE(says(refusal_with({"--header", "X-Bad"}), "is not a header"));
    EXPECT_TRUE(says(refusal_with({"--header", "Content-Length: 5"}), "overridden"));
    EXPECT_TRUE(says(refusal_with({"--seed", "1", "--seed", "2"}), "--seed is given 2 times"));
    EXPECT_TRUE(says(refusal_with({"--output"}), "--output"));
    EXPECT_TRUE(says(refusal_of({"t", "--url", "httpss://h"}), "unknown scheme"));
    EXPECT_TRUE(says(refusal_with({"--key", "k.pem"}), "--key needs --cert"));
    EXPECT_TRUE(says(refusal_with({"--insecure", "--ca", "c.pem"}), "remove one"));
    EXPECT_TRUE(says(refusal_of({"--url", "h"}), "no trace"));
    EXPECT_TRUE(says(refusal_of({"t", "--url", "h", "--host", "h"}), "given twice"));
}

TEST(ReplayOptions, AreRefusedWhereTheyContradictEachOther) {
    EXPECT_TRUE(says(refusal_with({"--prompt", "ids"}), "openai-completions"));
    EXPECT_TRUE(says(refusal_with({"--no-preflight"}), "--model"));
    EXPECT_TRUE(says(refusal_with({"--start", "2", "--end", "2"}), "--end"));
    EXPECT_TRUE(says(refusal_with({"--realtime", "--wait", "spin"}), "--wait hybrid"));
    EXPECT_TRUE(options_of({"--realtime", "--wait", "hybrid"}).host.realtime);
    EXPECT_TRUE(says(refusal_with({"--realtime", "--scheduling", "kept"}), "remove one"));
    EXPECT_TRUE(says(refusal_with({"--scheduling", "realtime"}), "--realtime"));
    EXPECT_TRUE(says(refusal_with({"--writer-cpu", "near"}), "beside, apart, auto"));
    EXPECT_EQ(options_of({"--scheduling", "kept"}).host.scheduling, Scheduling::kept);
    EXPECT_FALSE(options_of({"--scheduling", "auto"}).host.scheduling.has_value());
    EXPECT_EQ(options_of({"--writer-cpu", "beside"}).host.writer_cpu.where,
              WriterCpu::Where::beside);
    EXPECT_EQ(options_of({"--start", "2", "--end", "2.000000001"}).workload.plan.end_ns,
              2'000'000'001);
}

TEST(ReplayOptions, NameTheLengthAndTheServersBlocks) {
    EXPECT_TRUE(says(refusal_with({"--length-field", "n"}), "auto, max_tokens"));
    EXPECT_TRUE(says(refusal_with({"--length-field", "max_tokens", "--api", "anthropic"}),
                     "--length-field cannot be used with --api anthropic"));
    EXPECT_EQ(options_of({"--server-block", "16"}).server.server_block, 16U);
}

TEST(ReplayOptions, SayHowConnectionsAreUsed) {
    EXPECT_EQ(options_of({}).sending.connection, ConnectionRule::reuse);
    EXPECT_EQ(options_of({"--connection", "fresh"}).sending.connection, ConnectionRule::fresh);
    EXPECT_EQ(options_of({"--connection", "sticky"}).sending.connection, ConnectionRule::sticky);
    EXPECT_TRUE(says(refusal_with({"--connection", "5"}), "not one of reuse, fresh, sticky"));
}

TEST(ReplayOptions, SayHowServersShare) {
    EXPECT_EQ(options_of({}).sending.balance, Balance::turn);
    EXPECT_EQ(options_of({"--balance", "session"}).sending.balance, Balance::session);
    EXPECT_TRUE(says(refusal_with({"--balance", "random"}), "not one of turn, session"));
}

TEST(ReplayOptions, NameTheFlagThatWasMeant) {
    EXPECT_TRUE(says(refusal_with({"--sped", "2"}), "unknown flag --sped; did you mean --speed?"));
    EXPECT_TRUE(says(refusal_with({"--quantum", "x"}), "unknown flag --quantum"));
    EXPECT_FALSE(says(refusal_with({"--quantum", "x"}), "did you mean"));
}

// Neither a key nor the user part of a URL is repeated in a refusal.
TEST(ReplayOptions, AreRefusedWithoutRepeatingSecrets) {
    EXPECT_FALSE(says(refusal_of({"t", "--url", "http://u:sk-1@h"}), "sk-1"));
    EXPECT_FALSE(says(refusal_of({"t", "--endpoint", "http://u:sk-1@h"}), "sk-1"));
    EXPECT_FALSE(says(refusal_with({"--api-key", "sk\x01-1"}), "-1"));
    EXPECT_FALSE(says(refusal_with({"--header", "Authorization: sk\x01-1"}), "-1"));
    EXPECT_FALSE(says(refusal_with({"--apikey=sk-1"}), "sk-1"));
}

// The help lists our names with unit and default, ends with examples, and hides the aliases.
TEST(ReplayOptions, HaveAHelp) {
    const ReplayCommandLine line = parse({"--help"});
    ASSERT_EQ(line.kind, Kind::help);
    for (const char* part : {"--speed X", "[1M]", "[600s]", "[exact]", "Examples:", "--dry-run"}) {
        EXPECT_TRUE(says(line.text, part)) << part;
    }
    for (const char* part : {"--scale-factor", "--base-url", "--host", "--num-prompts"}) {
        EXPECT_FALSE(says(line.text, part)) << part;
    }
    std::size_t begin = 0;
    while (begin < line.text.size()) {
        const std::size_t end = std::min(line.text.find('\n', begin), line.text.size());
        EXPECT_LE(end - begin, 100U) << line.text.substr(begin, end - begin);
        begin = end + 1;
    }
}

}  // namespace
}  // namespace driftless
