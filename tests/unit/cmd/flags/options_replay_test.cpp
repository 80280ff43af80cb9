// The flags of replay.

#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/settings.hpp"
#include "tests/unit/cmd/flags/parse_flags.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

ArrivalRules rules_with(const Words& flags) {
    const WorkloadFlags workload = options_with(flags).workload;
    EXPECT_TRUE(workload.arrivals);
    return workload.arrivals.value_or(ArrivalRules());
}

TEST(RateOptions, AreNoneReadOrRamps) {
    const WorkloadFlags workload = options_with({}).workload;
    EXPECT_FALSE(workload.arrivals);
    EXPECT_FALSE(workload.concurrency);
    EXPECT_FALSE(workload.files.times_free);
    for (const auto& [text, rate] : {std::pair{"10", 10.0}, std::pair{"2.5/s", 2.5},
                                     std::pair{"600/m", 10.0}, std::pair{"1e3/h", 1e3 / 3600}}) {
        EXPECT_EQ(rules_with({"--rate", text}).curve.last_rate(), rate) << text;
    }
    const ArrivalRules plain = rules_with({"--rate", "10", "--seed", "4", "--duration", "9s"});
    EXPECT_EQ(std::tuple(plain.law, plain.seed), std::tuple(ArrivalLaw::poisson, 4u));
    EXPECT_EQ(plain.duration_ns, 9'000'000'000);
    EXPECT_FALSE(plain.by_trees);
    EXPECT_FALSE(plain.scaled);
    EXPECT_TRUE(rules_with({"--rate", "inf"}).all_at_once);
    EXPECT_TRUE(rules_with({"--rate", "1", "--sessions", "closed"}).by_trees);
    const ArrivalRules gamma = rules_with({"--rate", "1", "--arrivals", "gamma:0.5:scaled"});
    EXPECT_EQ(std::tuple(gamma.law, gamma.shape), std::tuple(ArrivalLaw::gamma, 0.5));
    EXPECT_TRUE(gamma.scaled);
    EXPECT_TRUE(options_with({"--rate", "1"}).workload.files.times_free);
    EXPECT_FALSE(options_with({"--rate", "1", "--arrivals", "recorded"}).workload.files.times_free);
    EXPECT_EQ(rules_with({"--ramp", "0:10:20s"}).curve.arrivals_by(20), 100);
    EXPECT_EQ(rules_with({"--ramp", "60/m:10:1m:steps=2"}).curve.arrivals_by(60), 330);
    const ArrivalRules curved = rules_with({"--ramp", "1:4:10s:exponential"});
    EXPECT_NEAR(curved.curve.arrivals_by(5), 5 / std::log(2.0), 1e-9);
    const ArrivalRules rows = rules_with({"--ramp", "1:4:rows:exponential"});
    ASSERT_TRUE(rows.over_rows);
    EXPECT_EQ(rows.over_rows->form, RampForm::exponential);
}

TEST(RateOptions, AreRefused) {
    const std::vector<std::pair<Words, const char*>> cases = {
        {{"--rate", "0"}, "--rate \"0\" is not a rate above 0"},
        {{"--rate", "-3"}, "--rate \"-3\" is not a rate above 0"},
        {{"--rate", "nan"}, "--rate \"nan\" is not a rate above 0"},
        {{"--rate", "10/d"}, "use 10 (a second)"},
        {{"--rate", "1e10"}, "is more than 10^9 per second"},
        {{"--ramp", "1:1e300:1s"}, "has a rate above 10^9 per second; lower it"},
        {{"--ramp", "1:20"}, "--ramp \"1:20\" is not FROM:TO:OVER"},
        {{"--ramp", "1:20:0s"}, "has a time of 0; give a time above 0"},
        {{"--ramp", "0:0:9s"}, "has no rate above 0"},
        {{"--ramp", "0:5:9s:exponential"}, "exponential ramps"},
        {{"--ramp", "1:5:9s:steps=1"}, "N from 2 to 1000"},
        {{"--ramp", "1:5:9s:cubic"}, "is not FROM:TO:OVER"},
        {{"--rate", "1", "--arrivals", "gamma:0"}, "is not one of constant, poisson, gamma:K"},
        {{"--rate", "1", "--arrivals", "gamma:-1"}, "K from 0.01"},
        {{"--rate", "1", "--arrivals", "recorded:scaled"}, "is not one of"},
        {{"--arrivals", "poisson"}, "add --rate R"},
        {{"--rate", "inf", "--arrivals", "poisson"}, "has no gaps to draw"},
        {{"--rate", "1", "--ramp", "1:5:9s"}, "--rate and --ramp both set the rate"},
        {{"--rate", "1", "--speed", "2"}, "remove --speed"},
        {{"--rate", "1", "--spread"}, "--spread changes recorded instants"},
        {{"--rate", "1", "--users", "4"}, "with --users a session begins when another has ended"},
        {{"--shape", "/no/such"}, "--shape /no/such: cannot be read"},
        {{"--concurrency", "0"}, "--concurrency \"0\""},
        {{"--concurrency", "4", "--rate", "9"}, "--max-inflight N"},
        {{"--concurrency", "4", "--users", "9"}, "--users applies to sessions"},
        {{"--concurrency", "4", "--sessions", "closed"}, "--sessions applies to sessions"},
        {{"--concurrency", "4", "--warmup-requests", "1"}, "--warmup-requests applies to sessions"},
        {{"--concurrency", "4", "--duration", "9s"}, "use --for T instead"},
        {{"--concurrency", "4", "--speed", "2"}, "--speed changes recorded instants"},
        {{"--concurrency", "4", "--recycle"}, "add --for T to end the run"},
        {{"--concurrency", "4", "--header", "A: {user}"}, "any place can send it"},
    };
    for (const auto& [flags, part] : cases) {
        EXPECT_TRUE(refused(flags, part));
    }
}

std::string shape_of(const std::string& lines, RateCurve* curve = nullptr) {
    const ScratchFolder folder;
    const ReplayCommandLine line = parse_flags({"--shape", folder.write("shape.csv", lines)});
    if (curve != nullptr && line.options.workload.arrivals) {
        *curve = line.options.workload.arrivals->curve;
    }
    const std::size_t at = line.text.find("shape.csv");
    return at == line.text.npos ? line.text : line.text.substr(at);
}

TEST(RateOptions, AreShapesAndKeepRowsOpen) {
    RateCurve curve(0);
    EXPECT_EQ(shape_of("seconds,rate\n# a day\n0, 0\r\n\n10,60/m\n10,3\n20,3", &curve), "");
    EXPECT_NEAR(curve.arrivals_by(10), 5, 1e-12);
    EXPECT_NEAR(curve.arrivals_by(20), 35, 1e-12);
    EXPECT_EQ(curve.last_rate(), 3) << "it stays";
    for (const auto& [lines, why] :
         {std::pair{"", "shape.csv: has no line"}, std::pair{"0,5\n", "shape.csv: has one line"},
          std::pair{"0,5\n9\n", "shape.csv:2: \"9\" is not SECONDS,RATE"},
          std::pair{"0,5\n9,x\n", "shape.csv:2: \"9,x\" is not SECONDS,RATE"},
          std::pair{"0,5\n9,-1\n", "shape.csv:2: \"9,-1\" is not"},
          std::pair{"1,5\n9,1\n", "shape.csv:1: \"1,5\" does not begin at second 0"},
          std::pair{"0,5\n9,1\n8,1\n", "shape.csv:3: \"8,1\" is earlier than the line before"},
          std::pair{"0,0\n9,0\n", "shape.csv: its rate is always 0"}}) {
        EXPECT_TRUE(shape_of(lines).starts_with(why)) << shape_of(lines);
    }
    const WorkloadFlags workload =
        options_with(
            words_of("--concurrency 8 --recycle --for 1m --on-failure retry:2 --user-ramp 5s"))
            .workload;
    EXPECT_EQ(workload.users.users, 8u);
    EXPECT_TRUE(workload.users.single_rows);
    EXPECT_TRUE(workload.users.recycle);
    EXPECT_EQ(workload.users.failures.retries_max, 2u);
    EXPECT_EQ(workload.files.sessions, Sessions::recorded);
    EXPECT_TRUE(workload.files.times_free);
}

TEST(AbandonOption, IsReadOrRefused) {
    EXPECT_FALSE(options_with({}).sending.abandon);
    const auto rules = options_with({"--abandon", "10%:2s..10s"}).sending.abandon;
    ASSERT_TRUE(rules);
    EXPECT_EQ(std::tuple(rules->share, rules->from_ns), std::tuple(0.1, 2'000'000'000));
    EXPECT_EQ(rules->to_ns, 10'000'000'000);
    EXPECT_EQ(options_with({"--abandon", "1:0..500ms"}).sending.abandon->share, 1);
    for (const char* const wrong : {"10%", "10%:2s", "0:1s..2s", "101%:1s..2s", "10%:2s..1s",
                                    "10%:0..0", "10%:1..2x", "x:1s..2s", "..:", "-1:1s..2s"}) {
        EXPECT_TRUE(refused({"--abandon", wrong}, "use 10%:2s..10s")) << wrong;
    }
}

using Kind = ReplayCommandLine::Kind;

// --api template is what its file says; without it, or with one that says nothing, it is refused.
TEST(ReplayOptions, TakeAnApiFromATemplate) {
    const std::string file = std::string(TEST_DATA) + "/templates/ollama.json";
    const ReplayOptions options = options_with({"--api", "template", "--template", file});
    EXPECT_STREQ(options.request.dialect->name, "template");
    EXPECT_EQ(options.server.targets.front().api_path, "/api/generate");
    EXPECT_EQ(options.request.dialect->framing, Framing::lines);
    EXPECT_EQ(options_with({"--api", "template", "--template", file, "--endpoint", "/x"})
                  .server.targets.front()
                  .api_path,
              "/x");
    EXPECT_TRUE(refused({"--api", "template"}, "needs --template FILE"));
    EXPECT_TRUE(refused({"--template", file}, "--api template; give both"));
    EXPECT_TRUE(refused(words_of("--api template --template /nowhere.json"),
                        "--template /nowhere.json cannot be read: No such file or directory"));
    const std::string other = std::string(TEST_DATA) + "/sample.jsonl";
    EXPECT_TRUE(refused({"--api", "template", "--template", other},
                        other + ": line 2 is not a JSON object"));
    const std::string text_only = std::string(TEST_DATA) + "/templates/words.json";
    EXPECT_TRUE(refused({"--api", "template", "--template", text_only, "--prompt", "ids"},
                        "--prompt ids cannot be used with --api template"));
}

// Design, section 4.
TEST(ReplayOptions, HaveTheDefaultsOfTheContract) {
    const ReplayOptions options = options_with({});
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
    Words flags = words_of(
        "--format mooncake --time-unit s --block-size 512 --lenient --default-output 64 --keep a,b "
        "--start 1m --end 2m --limit 7 --duration 30 --endpoint /x/completions --api "
        "openai-completions --model m --extra-body {\"top_p\":0.9} --wait-ready 5s --overhead 5,3 "
        "--prompt ids --ids-from 0 --block-cache 0 --cache-salt monday --output cap "
        "--continuous-usage --seed 9 --speed 2.5 --spread --arm-ahead all --max-inflight 64 "
        "--connections 32 --timeout-idle 250ms --grace 0 --out d --output-path r.jsonl --chunks "
        "none --save-responses all --label run=7 --label a= --no-progress --cpu 1 --writer-cpu 0 "
        "--wait hybrid");
    flags.insert(flags.end(), {"--header", "X-Team: a", "--goodput", "ttft:200 e2e:3000.5"});
    const ReplayOptions options = options_with(flags);
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
TEST(ReplayOptions, TakeTheSpellingOfOtherToolsAndAnyUrl) {
    const ReplayOptions options =
        parse_replay_options(
            words_of("t --host h --port 9 --backend vllm --model-name m --scale-factor 3 "
                     "--num-prompts 5 --time-in-secs 60 -o d --goodput ttft:200 e2el:1"),
            "")
            .options;
    EXPECT_EQ(to_text(options.server.targets.at(0).url), "http://h:9");
    EXPECT_EQ(options.server.targets[0].api_path, "/v1/completions");
    EXPECT_EQ(std::tuple(options.request.model, options.workload.plan.limit), std::tuple("m", 5U));
    EXPECT_EQ(options.workload.plan.duration_ns, 60'000'000'000);
    EXPECT_EQ(options.results.out, "d");
    EXPECT_EQ(options.results.goodput.at(0).limits.e2e_ns, 1'000'000);
    // `--endpoint` is a path, or the whole URL of the API; both end at the same request target.
    const auto target = [](Words words) {
        words.insert(words.begin(), "t");
        const ReplayCommandLine line = parse_replay_options(words, "");
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

TEST(ReplayOptions, TakeServersKeysAndWhatTheApiAsksFor) {
    const ReplayOptions options =
        parse_replay_options({"a", "-", "--url", "h:1", "--url=h:2", "b"}, "").options;
    EXPECT_EQ(options.workload.files.paths, (Words{"a", "-", "b"}));
    ASSERT_EQ(options.server.targets.size(), 2U);
    EXPECT_EQ(options.server.targets[1].url.port, 2);
    // The flag goes before the environment, a header of the user's own before both.
    const auto authorization = [](const ReplayOptions& other_options) {
        return other_options.request.headers.empty() ? ""
                                                     : other_options.request.headers.back().value;
    };
    EXPECT_EQ(authorization(options_with({}, "sk-env")), "Bearer sk-env");
    EXPECT_EQ(authorization(options_with({"--api-key", "sk-flag"}, "sk-env")), "Bearer sk-flag");
    EXPECT_EQ(authorization(options_with({"--header", "authorization: Basic x"}, "sk-env")),
              "Basic x");
    EXPECT_TRUE(refused({"--api-key", "a", "--header", "Authorization: b"}, "cannot be combined"));
    // What an API wants in its head goes there, unless the user says otherwise; whole answers have
    // paths.
    const auto headers = [](const Words& flags) {
        std::string text;
        for (const Header& header : options_with(flags, "sk-env").request.headers) {
            text += header.name + "=" + header.value + " ";
        }
        return text;
    };
    EXPECT_EQ(headers({"--api", "anthropic"}), "x-api-key=sk-env anthropic-version=2023-06-01 ");
    EXPECT_EQ(headers({"--api", "anthropic", "--header", "Anthropic-Version: 1"}),
              "Anthropic-Version=1 x-api-key=sk-env ");
    EXPECT_EQ(headers(words_of("--api aibrix --routing-strategy random --user u")),
              "Authorization=Bearer sk-env routing-strategy=random user=u ");
    EXPECT_TRUE(refused({"--user", "u"}, "--api aibrix"));
    EXPECT_TRUE(refused({"--no-stream", "--continuous-usage"}, "remove one"));
    EXPECT_EQ(options_with({"--api", "tgi"}, "").server.targets[0].api_path, "/generate_stream");
    EXPECT_EQ(options_with(words_of("--api tgi --no-stream"), "").server.targets[0].api_path,
              "/generate");
    EXPECT_EQ(parse_replay_options({"t", "--dry-run"}, "").kind, Kind::run);
    EXPECT_TRUE(says(refusal_of({"t"}), "--url is missing"));
}

TEST(ReplayOptions, AreRefusedWithFlagValueAndRemedy) {
    EXPECT_TRUE(refused({"--speed", "fast"}, "--speed \"fast\""));
    EXPECT_TRUE(refused({"--speed", "0"}, "--speed \"0\""));
    EXPECT_TRUE(refused({"--end", "10 min"}, "--end \"10 min\" is not a duration"));
    EXPECT_TRUE(refused({"--limit", "0"}, "must be at least 1"));
    EXPECT_TRUE(refused({"--limit", "-1"}, "--limit \"-1\""));
    EXPECT_TRUE(refused({"--cpu", "4294967296"}, "--cpu \"4294967296\""));
    EXPECT_TRUE(refused({"--api", "grpc"}, "openai-chat, openai-completions"));
    EXPECT_TRUE(refused({"--goodput", "ttft"}, "ttft:200"));
    EXPECT_TRUE(refused({"--goodput", "itl:3"}, "ttft:200"));
    EXPECT_TRUE(refused({"--overhead", "5"}, "PRE,POST"));
    EXPECT_TRUE(refused({"--label", "x"}, "KEY=VALUE"));
    EXPECT_TRUE(refused({"--extra-body", "[1]"}, "not a JSON object"));
    EXPECT_TRUE(refused({"--extra-body", "{"}, "not a JSON object"));
    EXPECT_TRUE(refused({"--header", "X-Bad"}, "is not a header"));
    EXPECT_TRUE(refused({"--header", "Content-Length: 5"}, "overridden"));
    EXPECT_TRUE(refused({"--seed", "1", "--seed", "2"}, "--seed is given 2 times"));
    EXPECT_TRUE(refused({"--output"}, "--output"));
    EXPECT_TRUE(says(refusal_of({"t", "--url", "httpss://h"}), "unknown scheme"));
    EXPECT_TRUE(refused({"--key", "k.pem"}, "--key needs --cert"));
    EXPECT_TRUE(refused({"--insecure", "--ca", "c.pem"}, "remove one"));
    EXPECT_TRUE(says(refusal_of({"--url", "h"}), "no trace"));
    EXPECT_TRUE(says(refusal_of({"t", "--url", "h", "--host", "h"}), "given twice"));
}

TEST(ReplayOptions, AreRefusedOrSayHowServersAreUsed) {
    EXPECT_TRUE(refused({"--prompt", "ids"}, "openai-completions"));
    EXPECT_TRUE(refused({"--no-preflight"}, "--model"));
    EXPECT_TRUE(refused({"--start", "2", "--end", "2"}, "--end"));
    EXPECT_TRUE(refused({"--realtime", "--wait", "spin"}, "--wait hybrid"));
    EXPECT_TRUE(options_with({"--realtime", "--wait", "hybrid"}).host.realtime);
    EXPECT_TRUE(refused({"--realtime", "--scheduling", "kept"}, "remove one"));
    EXPECT_TRUE(refused({"--scheduling", "realtime"}, "--realtime"));
    EXPECT_TRUE(refused({"--writer-cpu", "near"}, "beside, apart, auto"));
    EXPECT_EQ(options_with({"--scheduling", "kept"}).host.scheduling, Scheduling::kept);
    EXPECT_FALSE(options_with({"--scheduling", "auto"}).host.scheduling.has_value());
    EXPECT_EQ(options_with({"--writer-cpu", "beside"}).host.writer_cpu.where,
              WriterCpu::Where::beside);
    EXPECT_EQ(options_with(words_of("--start 2 --end 2.000000001")).workload.plan.end_ns,
              2'000'000'001);
    EXPECT_TRUE(refused({"--length-field", "n"}, "auto, max_tokens"));
    EXPECT_TRUE(refused(words_of("--length-field max_tokens --api anthropic"),
                        "--length-field cannot be used with --api anthropic"));
    EXPECT_EQ(options_with({"--server-block", "16"}).server.server_block, 16U);
    EXPECT_EQ(options_with({}).sending.connection, ConnectionRule::reuse);
    EXPECT_EQ(options_with({"--connection", "fresh"}).sending.connection, ConnectionRule::fresh);
    EXPECT_EQ(options_with({"--connection", "sticky"}).sending.connection, ConnectionRule::sticky);
    EXPECT_TRUE(refused({"--connection", "5"}, "not one of reuse, fresh, sticky"));
    EXPECT_EQ(options_with({}).sending.balance, Balance::turn);
    EXPECT_EQ(options_with({"--balance", "session"}).sending.balance, Balance::session);
    EXPECT_TRUE(refused({"--balance", "random"}, "not one of turn, session"));
}

TEST(ReplayOptions, SwitchesTakeNoOtherWordThanTrueAndFalse) {
    EXPECT_TRUE(options_with({"--dry-run=true"}).dry_run);
    EXPECT_FALSE(options_with({"--dry-run=false"}).dry_run);
    EXPECT_TRUE(refused({"--dry-run=t.jsonl"}, "--dry-run: is on or off and takes no value"));
}

// A default that is typed changes nothing: it is taken beside whatever else is there or is not.
TEST(ReplayOptions, TakeEveryDefaultOfTheHelp) {
    for (const Flag& flag : replay_flags().flags) {
        const std::string typed = flag.names.back() + "=" + flag.unset;
        const ReplayCommandLine line = parse_flags({flag.unset.empty() ? "--quiet" : typed});
        EXPECT_EQ(line.kind, Kind::run) << line.text;
    }
    EXPECT_EQ(options_with({"--limit", "all"}).workload.plan.limit,
              options_with({}).workload.plan.limit);
    EXPECT_FALSE(options_with({"--wait-ready", "0s", "--no-preflight", "--model", "m"})
                     .server.wait_ready_ns);
}

// Figures need what answers have.
TEST(ReplayOptions, RefuseFiguresThatNothingMeasures) {
    const char* const first = "needs first tokens, but --no-stream has none; remove one";
    for (const Words& flags :
         {Words{"--goodput", "tpot:50 e2e:2s"}, Words{"--stop-when", "ttft:p99 > 1s"},
          Words{"--fail-if", "interactivity:p50 < 9"}}) {
        EXPECT_EQ(parse_flags(flags).kind, Kind::run) << flags[1];
        EXPECT_TRUE(refused({flags[0], flags[1], "--no-stream"}, first)) << flags[1];
    }
    // The live summary has what --chunks none keeps from the records.
    (void)options_with({"--chunks", "none", "--fail-if", "itl:p99 > 1s"});
    (void)options_with({"--no-stream", "--goodput", "e2e:2s", "--fail-if", "good < 50 %",
                        "--stop-when", "e2e:p99 > 1s"});
}

TEST(ReplayOptions, NameTheFlagThatWasMeantAndNoSecret) {
    EXPECT_TRUE(refused({"--sped", "2"}, "unknown flag --sped; did you mean --speed?"));
    EXPECT_TRUE(refused({"--quantum", "x"}, "unknown flag --quantum"));
    EXPECT_FALSE(refused({"--quantum", "x"}, "did you mean"));
    // Neither a key nor the user part of a URL is repeated in a refusal.
    EXPECT_FALSE(says(refusal_of({"t", "--url", "http://u:sk-1@h"}), "sk-1"));
    EXPECT_FALSE(says(refusal_of({"t", "--endpoint", "http://u:sk-1@h"}), "sk-1"));
    EXPECT_FALSE(refused({"--api-key", "sk\x01-1"}, "-1"));
    EXPECT_FALSE(refused({"--header", "Authorization: sk\x01-1"}, "-1"));
    EXPECT_FALSE(refused({"--apikey=sk-1"}, "sk-1"));
    // The help lists our names with unit and default, ends with examples, and hides the aliases.
    const ReplayCommandLine line = parse_replay_options({"--help", "all"}, "");
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

WorkloadFlags users_with(Words flags) {
    flags.insert(flags.end(), {"--users", "4"});
    return options_with(flags).workload;
}

std::string refusal_of_users(Words flags) {
    flags.insert(flags.end(), {"--users", "4"});
    return refusal_with(flags);
}

TEST(UserOptions, HaveTheirDefaultsAndAreRead) {
    EXPECT_EQ(options_with({}).workload.users.users, 0u);
    const WorkloadFlags workload = users_with({});
    const UserRules& users = workload.users;
    EXPECT_EQ(users.users, 4u);
    EXPECT_EQ(workload.files.sessions, Sessions::closed);
    EXPECT_EQ(std::tuple(users.ramp_ns, users.order), std::tuple(0, TreeRule::file));
    EXPECT_FALSE(users.recycle);
    EXPECT_FALSE(users.for_ns);
    EXPECT_EQ(users.drain(), 60'000'000'000);
    EXPECT_EQ(users.failures.rule, FailureRule::end_tree);
    EXPECT_FALSE(users.failures.waits_for_429);
    EXPECT_FALSE(users.idle.any());
    EXPECT_FALSE(users.start.warms_up());
    EXPECT_FALSE(users.start.gap_cap_ns);
    const UserRules other_users =
        users_with(
            words_of("--session-order shuffle --recycle --recycle-share system --barrier tree "
                     "--for 10m --drain 0s --on-failure retry:3 --on-429 wait --tree-idle-cap 5m "
                     "--system-idle-cap 10s --start-within 0.25:75% --start-by turns --prime "
                     "one-token --warmup-requests 10 --gap-cap 1m --seed 9"))
            .users;
    EXPECT_EQ(other_users.order, TreeRule::shuffle);
    EXPECT_TRUE(other_users.recycle);
    EXPECT_TRUE(other_users.shares_system);
    EXPECT_TRUE(other_users.tree_barrier);
    EXPECT_EQ(other_users.for_ns, 600'000'000'000);
    EXPECT_EQ(other_users.drain(), 0);
    EXPECT_EQ(other_users.failures.rule, FailureRule::retry);
    EXPECT_EQ(other_users.failures.retries_max, 3u);
    EXPECT_TRUE(other_users.failures.waits_for_429);
    EXPECT_EQ(other_users.idle.tree_ns, 300'000'000'000);
    EXPECT_EQ(other_users.idle.system_ns, 10'000'000'000);
    EXPECT_EQ(std::tuple(other_users.start.from, other_users.start.to), std::tuple(0.25, 0.75));
    EXPECT_TRUE(other_users.start.by_turns);
    EXPECT_TRUE(other_users.start.prime_one_token);
    EXPECT_EQ(other_users.start.warmup_requests, 10u);
    EXPECT_EQ(other_users.start.gap_cap_ns, 60'000'000'000);
    EXPECT_EQ(other_users.seed, 9u);
    EXPECT_EQ(users_with({"--user-ramp", "30s"}).users.ramp_ns, 30'000'000'000);
}

// --gap none leaves nothing between a place and what follows, either.
TEST(UserOptions, HoldBesideEachOtherOrAreNothing) {
    EXPECT_EQ(users_with({"--gap", "none"}).users.start.gap_cap_ns, 0);
    EXPECT_EQ(users_with({"--gap", "start-to-start"}).users.start.gap_cap_ns, std::nullopt);
    // `--on-failure` and `--on-429` hold beside each other, in any order.
    for (const Words& flags : {Words{"--on-429", "wait", "--on-failure", "continue"},
                               Words{"--on-failure", "continue", "--on-429", "wait"}}) {
        const FailureRules rules = users_with(flags).users.failures;
        EXPECT_EQ(rules.rule, FailureRule::go_on);
        EXPECT_TRUE(rules.waits_for_429);
    }
    // What shapes users is nothing without them.
    const std::vector<std::pair<Words, std::string>> flags = {
        {{"--user-ramp", "5s"}, "--user-ramp"},
        {{"--session-order", "shuffle"}, "--session-order"},
        {{"--recycle"}, "--recycle"},
        {{"--recycle-share", "system"}, "--recycle-share"},
        {{"--barrier", "tree"}, "--barrier"},
        {{"--for", "5s"}, "--for"},
        {{"--on-failure", "continue"}, "--on-failure"},
        {{"--on-429", "wait"}, "--on-429 wait"},
        {{"--tree-idle-cap", "0"}, "--tree-idle-cap"},
        {{"--system-idle-cap", "0"}, "--system-idle-cap"},
        {{"--start-by", "turns"}, "--start-by"},
        {{"--prime", "one-token"}, "--prime"},
        {{"--warmup-requests", "1"}, "--warmup-requests"},
    };
    for (const auto& [words, name] : flags) {
        EXPECT_TRUE(refused(words, name + " applies to users; add --users N")) << name;
        Words closed = words;
        closed.insert(closed.end(), {"--sessions", "closed"});
        EXPECT_TRUE(refused(closed, "add --users N")) << name;
    }
    EXPECT_TRUE(refused({"--drain", "5s"}, "add --for T"));
}

// As many as begin, and as many as there may be.
TEST(UserOptions, MayBecomeMore) {
    const WorkloadFlags workload =
        options_with({"--users", "2..9", "--grow", "ttft:p95:2s"}).workload;
    EXPECT_EQ(std::tuple(workload.users.users, workload.users.first()), std::tuple(9u, 2u));
    ASSERT_TRUE(workload.grow);
    EXPECT_EQ(std::tuple(workload.grow->users_first, workload.grow->users_max), std::tuple(2u, 9u));
    EXPECT_EQ(users_with({}).users.first(), 4u);
    EXPECT_TRUE(refused({"--users", "2..9"}, "needs --grow METRIC:LIMIT; add it"));
    EXPECT_TRUE(says(refusal_of_users({"--grow", "ttft:2s"}), "as in --users 2..64"));
    EXPECT_TRUE(refused({"--grow", "ttft:2s"}, "as in --users 2..64"));
    const Words grown{"--users", "2..9", "--grow", "ttft:2s"};
    Words blind = grown;
    blind.insert(blind.end(), {"--period", "none"});
    EXPECT_TRUE(refused(blind, "--period none disables them; remove one"));
    Words whole = grown;
    whole.emplace_back("--no-stream");
    EXPECT_TRUE(refused(whole, "--no-stream has none; remove one"));
}

// Each in one line.
TEST(UserOptions, RefuseContradictions) {
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"--sessions", "open"},
         "--users replays closed sessions, but --sessions open does not wait for answers; remove "
         "one"},
        {{"--recycle"}, "--recycle repeats the trace without end; add --for T to end the run"},
        {{"--recycle-share", "system"},
         "--recycle-share applies to passes, but the trace is replayed only once; add --recycle"},
        {{"--for", "5s", "--user-ramp", "5s"}, "--user-ramp is not shorter than --for; shorten it"},
        {{"--for", "5s", "--user-ramp", "6s"}, "--user-ramp is not shorter than --for; shorten it"},
        {{"--drain", "5s"}, "--drain is the time after the end of --for; add --for T"},
        {{"--start-by", "turns"},
         "--start-by applies to trees that begin inside their recordings; add --start-within A:B"},
        {{"--prime", "one-token"},
         "--prime applies to trees that begin inside their recordings; add --start-within A:B"},
        {{"--prime", "one-token", "--start-within", "0:0"}, "add --start-within A:B"},
        {{"--start-within", "0:1", "--user-ramp", "5s"},
         "--start-within starts the measurement for all users at once, but --user-ramp spreads the "
         "starts; remove one"},
        {{"--warmup-requests", "1", "--user-ramp", "5s"},
         "--warmup-requests starts the measurement for all users at once, but --user-ramp spreads "
         "the starts; remove one"},
        {{"--warmup-requests", "1", "--output", "free"},
         "--warmup-requests asks for one token, but --output free asks for no length; remove one"},
        {{"--prime", "one-token", "--start-within", "0:1", "--output", "free"},
         "--prime one-token asks for one token, but --output free asks for no length; remove one"},
        {{"--gap", "none", "--gap-cap", "5s"},
         "--gap none leaves no gaps for --gap-cap to shorten; remove one"},
    };
    for (const auto& [flags, remedy] : cases) {
        EXPECT_TRUE(says(refusal_of_users(flags), remedy));
    }
}

// What stands just beside a contradiction is taken.
TEST(UserOptions, TakeWhatDoesNotContradictAndRefuseValues) {
    EXPECT_EQ(users_with(words_of("--for 5s --user-ramp 4.999999999s")).users.ramp_ns,
              4'999'999'999);
    EXPECT_TRUE(users_with({"--start-within", "0:1", "--output", "free"}).users.start.is_inside());
    EXPECT_FALSE(users_with({"--start-within", "0:0", "--user-ramp", "5s"}).users.start.warms_up());
    EXPECT_EQ(users_with({"--sessions", "closed"}).files.sessions, Sessions::closed);
    EXPECT_EQ(users_with(words_of("--start-by timeline --prime exact --on-429 record")).users.users,
              4u);
    // A value that means nothing is refused with its flag and what may stand there.
    EXPECT_TRUE(says(refusal_of_users({"--session-order", "random"}),
                     "--session-order \"random\" is not one of file, shuffle"));
    EXPECT_TRUE(says(refusal_of_users({"--on-failure", "retry:31"}),
                     "--on-failure \"retry:31\" is not one of end-tree, continue, or retry:N"));
    EXPECT_TRUE(says(refusal_of_users({"--on-429", "drop"}),
                     "--on-429 \"drop\" is not one of record, wait"));
    EXPECT_TRUE(says(refusal_of_users({"--start-within", "0.9:0.1"}),
                     "--start-within \"0.9:0.1\" is not two shares of a recording"));
    EXPECT_TRUE(says(refusal_of_users({"--for", "0s"}), "--for \"0s\""));
    EXPECT_TRUE(refused({"--users", "0"}, "--users \"0\""));
    EXPECT_TRUE(refused({"--users", "-1"}, "--users \"-1\""));
}

WorkloadFlags closed_with(Words flags) {
    flags.insert(flags.end(), {"--sessions", "closed"});
    return options_with(flags).workload;
}

TEST(GapOptions, AreReadOfClosedSessionsInAnySpelling) {
    EXPECT_EQ(closed_with({}).gap, std::nullopt);
    EXPECT_EQ(closed_with({}).gap_cap_ns, std::nullopt);
    EXPECT_EQ(closed_with({"--gap", "end-to-start"}).gap, std::nullopt);  // the default
    EXPECT_EQ(closed_with({"--gap", "none"}).gap, GapRule::none);
    const WorkloadFlags both = closed_with({"--gap", "start-to-start", "--gap-cap", "1m"});
    EXPECT_EQ(both.gap, GapRule::start_to_start);
    EXPECT_EQ(both.gap_cap_ns, 60'000'000'000);
    const char* const remedy = "no row waits; add --sessions closed";
    EXPECT_TRUE(refused({"--gap", "none"}, remedy));
    EXPECT_TRUE(refused({"--gap-cap", "2", "--sessions", "open"}, remedy));
    EXPECT_TRUE(refused({"--gap", "late", "--sessions", "closed"},
                        "--gap \"late\" is not one of end-to-start, start-to-start, none"));
    EXPECT_TRUE(refused({"--gap", "none", "--gap-cap", "2", "--sessions", "closed"},
                        "leaves no gaps for --gap-cap to shorten; remove one"));
    // kv-cache-tester's and AIPerf's. What counts answers twice there is refused with what does
    // not.
    const WorkloadFlags tester =
        closed_with({"--timing-strategy", "think-only", "--max-delay", "60"});
    EXPECT_EQ(tester.gap_cap_ns, 60'000'000'000);
    EXPECT_EQ(closed_with({"--inter-turn-delay-cap-seconds", "2.5"}).gap_cap_ns, 2'500'000'000);
    EXPECT_EQ(closed_with({"--ignore-trace-delays"}).gap, GapRule::none);
    EXPECT_EQ(closed_with({"--use-end-to-start-delays"}).gap, std::nullopt);
    EXPECT_EQ(closed_with({"--use-think-time-only"}).gap, std::nullopt);
    EXPECT_TRUE(refused({"--timing-strategy", "original", "--sessions", "closed"},
                        "counting the answer's time twice; use start-to-start"));
    EXPECT_TRUE(
        refused({"--timing-strategy=api-scaled", "--sessions", "closed"}, "use end-to-start"));
}

// Limits with units, as people write them.
TEST(ReplayOptions, GoodputHasGroupsAndTablesAreChosen) {
    const ReplayOptions options = options_with({"--goodput", "ttft:2s", "tpot:50ms", "e2e:1m30s"});
    ASSERT_EQ(options.results.goodput.size(), 1U);
    EXPECT_EQ(options.results.goodput[0].limits.ttft_ns, 2'000'000'000);
    EXPECT_EQ(options.results.goodput[0].limits.tpot_ns, 50'000'000);
    EXPECT_EQ(options.results.goodput[0].limits.e2e_ns, 90'000'000'000);
    // Limits of some rows, quoted or not; of a kept column only where that is kept.
    const ReplayOptions other_options =
        options_with({"--keep", "tier", "--goodput", "ttft:200", "--goodput",
                      "tier=gold ttft:100 tpot:50", "--goodput", "url=http://a:1/v1", "e2e:3s"});
    const GoodputRules& rules = other_options.results.goodput;
    ASSERT_EQ(rules.size(), 3U);
    EXPECT_FALSE(rules[0].key);
    EXPECT_EQ(std::tuple(rules[1].key->text, rules[1].value), std::tuple("kept.tier", "gold"));
    EXPECT_EQ(rules[1].limits.tpot_ns, 50'000'000);
    EXPECT_EQ(rules[2].value, "http://a:1/v1");
    EXPECT_EQ(rules[2].limits.e2e_ns, 3'000'000'000);
    EXPECT_TRUE(refused({"--goodput", "tier=gold ttft:100"}, "add --keep tier"));
    EXPECT_TRUE(refused({"--goodput", "tier=gold"}, "KEY=VALUE and limits in ms"));
    EXPECT_TRUE(refused({"--goodput", "input:4=512 ttft:1"}, "has no single value"));
    EXPECT_TRUE(
        refused({"--goodput", "ttft:1", "--goodput", "tpot:1"}, "is given 2 times for all rows"));
    // What is on the screen, and how much of it.
    EXPECT_EQ(options_with({}).results.table, TableKind::compact);
    EXPECT_EQ(options_with({"--table", "full"}).results.table, TableKind::full);
    EXPECT_TRUE(refused({"--table", "long"}, "is not one of short, full"));
    EXPECT_TRUE(options_with({"--quiet"}).results.quiet);
    EXPECT_FALSE(options_with({}).results.quiet);
    EXPECT_TRUE(options_with({}).results.page);
    EXPECT_TRUE(options_with({"--report", "html"}).results.page);
    EXPECT_FALSE(options_with({"--report", "none"}).results.page);
    EXPECT_TRUE(refused({"--report", "pdf"}, "is not one of html, none"));
    // The folder of a run is named in what is printed: with one slash between it and its files.
    EXPECT_EQ(options_with({"--out", "runs/a//"}).results.out, "runs/a");
    EXPECT_EQ(options_with({"--out", "//"}).results.out, "/");
    EXPECT_TRUE(refused({"--out", ""}, "is empty; give it a value, or remove it"));
    // A name that promises compression, and plain text in the file.
    for (const char* name : {"r.jsonl.gz", "r.zst", "r.xz", "r.bz2"}) {
        EXPECT_TRUE(refused({"--output-path", name}, "written uncompressed")) << name;
    }
    EXPECT_EQ(options_with({"--output-path", "gz"}).results.records_path, "gz");
}

// Text needs the tokenizer that counts it, and goes as text.
TEST(ReplayOptions, TakesADataset) {
    const ReplayOptions options = options_with(
        {"--dataset", "d.json", "--dataset-column", "answer", "--tokenizer", "t.json"});
    EXPECT_EQ(options.prompts.dataset, "d.json");
    EXPECT_EQ(options.prompts.dataset_column, "answer");
    EXPECT_TRUE(refused({"--dataset", "d.json"}, "--dataset needs the model's --token"));
    EXPECT_TRUE(refused({"--dataset-column", "c"}, "needs --dataset; give both"));
    EXPECT_TRUE(says(
        refusal_with(
            words_of("--dataset d.json --tokenizer t.json --prompt ids --api openai-completions")),
        "--prompt ids sends no"));
}

TEST(CertificateOptions, SayWhatACertificateMayAllow) {
    EXPECT_EQ(options_with({}).calibration.source, "auto");
    EXPECT_EQ(options_with({}).calibration.certify_within.sent_ns, 5'000'000);
    EXPECT_EQ(options_with({}).calibration.certify_within.read_ns, 5'000'000);
    const CertifyWithin both = options_with({"--certify-within", "2ms"}).calibration.certify_within;
    EXPECT_EQ(std::tuple(both.sent_ns, both.read_ns), std::tuple(2'000'000, 2'000'000));
    EXPECT_EQ(both.error_ns, 400'000);
    const CertifyWithin each =
        options_with({"--certify-within", "sent:1ns, read:20ms"}).calibration.certify_within;
    EXPECT_EQ(std::tuple(each.sent_ns, each.read_ns), std::tuple(1, 20'000'000));
    EXPECT_EQ(each.error_ns, 1'000'000);
    EXPECT_EQ(options_with({"--certify-within", "error:3ms"}).calibration.certify_within.error_ns,
              3'000'000);
    EXPECT_EQ(options_with({"--certify-within", "read:1ms"}).calibration.certify_within.sent_ns,
              5'000'000);
    EXPECT_TRUE(refused({"--certify-within", "0"}, "above 0"));
    EXPECT_TRUE(refused({"--certify-within", "wire:1ms"}, "sent:5ms read:5ms error:1ms"));
    EXPECT_TRUE(refused({"--certify-within", ","}, "sent:5ms read:5ms"));
    EXPECT_TRUE(refused({"--require-certified", "--calibration", "none"}, "remove one"));
    EXPECT_TRUE(options_with({"--require-certified"}).calibration.require_certified);
}

}  // namespace
}  // namespace driftless
