// Values of flags.

#include "cmd/flags/option_values.hpp"

#include "cmd/base/secrets.hpp"
#include "cmd/flags/synth_values.hpp"
#include "tests/unit/cmd/flags/parse_flags.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

// The model is the replay's to read; other commands say so.
TEST(TraceValues, ReadMapsUnitsAndSessions) {
    auto map = parse_map("in=a,model=lora,out=b");
    ASSERT_TRUE(map);
    EXPECT_EQ(model_column_refusal(map.value()),
              "--map model=lora names the models of requests, but nothing is sent here; remove "
              "model=lora from --map");
    EXPECT_EQ(take_model_column(map.value()), "lora");
    ASSERT_EQ(map.value().size(), 2U);
    EXPECT_EQ(map.value()[1].column, "b");
    EXPECT_EQ(take_model_column(map.value()), "");
    EXPECT_EQ(model_column_refusal(map.value()), "");
    const auto other_map = parse_map("time=timestamp,in=usage.prompt_tokens, out=o=p");
    ASSERT_TRUE(other_map);
    ASSERT_EQ(other_map.value().size(), 3U);
    EXPECT_EQ(other_map.value()[0].key, "time");
    EXPECT_EQ(other_map.value()[0].column, "timestamp");
    EXPECT_EQ(other_map.value()[1].column, "usage.prompt_tokens");
    EXPECT_EQ(other_map.value()[2].column, "o=p");
    for (const char* text :
         {"", "time", "time=", "=a", "tiem=a", "time=a,time=b", "time=a,,in=b"}) {
        EXPECT_FALSE(parse_map(text)) << text;
    }
    for (const char* unit : {"s", "ms", "us", "ns", "iso", "auto"}) {
        EXPECT_EQ(parse_time_unit(unit).value(), unit);
    }
    EXPECT_STREQ(parse_time_unit("minutes").error().doing,
                 "is not one of s, ms, us, ns, iso, auto");
    for (const Sessions sessions : {Sessions::recorded, Sessions::open, Sessions::closed}) {
        EXPECT_EQ(session_choices(session_choices.name_of(sessions)).value(), sessions);
    }
    EXPECT_FALSE(session_choices("shut"));
    EXPECT_EQ(hash_scope_choices("all").value(), IdScope::all);
    EXPECT_EQ(hash_scope_choices("session").value(), IdScope::session);
    EXPECT_FALSE(hash_scope_choices("global"));
}

TEST(LimitValues, TellTokensInATimeAndRefuseOthers) {
    const Result<TypedBudget> minute = parse_input_budget("500k/m");
    ASSERT_TRUE(minute);
    EXPECT_EQ(minute.value().rate.tokens, 500'000u);
    EXPECT_EQ(minute.value().rate.period, seconds(60));
    EXPECT_FALSE(minute.value().uncached);
    const Result<TypedBudget> uncached = parse_input_budget("30M/h:uncached");
    ASSERT_TRUE(uncached);
    EXPECT_EQ(uncached.value().rate.tokens, 30'000'000u);
    EXPECT_TRUE(uncached.value().uncached);
    EXPECT_EQ(text_of(uncached.value().rate, true), "30000000/h:uncached");
    const Result<TypedBudget> second = parse_output_budget("7/s");
    ASSERT_TRUE(second);
    EXPECT_EQ(text_of(second.value().rate, false), "7/s");
    EXPECT_EQ(text_of(TokenRate{}, false), "");
    for (const char* text : {"", "/m", "5", "5/d", "0/m", "-1/m", "1.5/m", "k/m", "5kk/m",
                             "5/m:all", "5/m:uncached:uncached", "18446744073709551615k/m"}) {
        EXPECT_FALSE(parse_input_budget(text)) << text;
        EXPECT_FALSE(parse_output_budget(text)) << text;
    }
    EXPECT_TRUE(parse_output_budget("1000000M/m"));
    EXPECT_FALSE(parse_output_budget("1000001M/m"));
    EXPECT_FALSE(parse_output_budget("5/m:uncached"));
}

// What parsing `text` refuses it with; the empty text where it is taken.
template <class Value>
std::string refusal(const Result<Value>& read) {
    return read ? "" : read.error().doing;
}

TEST(UserValues, ReadRulesOfTreesFailuresAndRetries) {
    for (const TreeRule rule : {TreeRule::file, TreeRule::shuffle}) {
        const Result<TreeRule> read = tree_choices(tree_choices.name_of(rule));
        ASSERT_TRUE(read);
        EXPECT_EQ(read.value(), rule);
    }
    for (const char* text : {"", "File", "random", "file ", "shuffled"}) {
        EXPECT_EQ(refusal(tree_choices(text)), "is not one of file, shuffle") << text;
    }
    for (const std::string text : {"end-tree", "continue", "retry:1", "retry:2", "retry:30"}) {
        const Result<FailureRules> read = parse_failure_rules(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(text_of(read.value()), text);
        EXPECT_FALSE(read.value().waits_for_429);
    }
    EXPECT_EQ(parse_failure_rules("end-tree").value().rule, FailureRule::end_tree);
    EXPECT_EQ(parse_failure_rules("continue").value().rule, FailureRule::go_on);
    EXPECT_EQ(parse_failure_rules("retry:7").value().rule, FailureRule::retry);
    EXPECT_EQ(parse_failure_rules("retry:7").value().retries_max, 7u);
    // An event has room for so many attempts: limit - 1, limit, limit + 1.
    static_assert(Due::attempts_max == 31);
    const std::string remedy = "is not one of end-tree, continue, or retry:N with N from 1 to 30";
    EXPECT_EQ(refusal(parse_failure_rules("retry:29")), "");
    EXPECT_EQ(refusal(parse_failure_rules("retry:30")), "");
    for (const char* text :
         {"retry:31", "retry:256", "retry:4294967297", "retry:99999999999999999999", "retry:0",
          "retry:-1", "retry:1.5", "retry:", "retry", "retry: 1", "Retry:1", "end_tree",
          "end-tree ", "", "continue:1", "record"}) {
        EXPECT_EQ(refusal(parse_failure_rules(text)), remedy) << text;
    }
    EXPECT_FALSE(wait_for_429_choices("record").value());
    EXPECT_TRUE(wait_for_429_choices("wait").value());
    EXPECT_EQ(refusal(wait_for_429_choices("retry")), "is not one of record, wait");
    EXPECT_EQ(refusal(wait_for_429_choices("")), "is not one of record, wait");
}

std::optional<std::pair<double, double>> within(std::string_view text) {
    const Result<StartWithin> read = parse_start_within(text);
    return read ? std::optional(std::pair(read.value().from, read.value().to)) : std::nullopt;
}

TEST(UserValues, ReadSharesOfARecordingAndHowManyUsers) {
    using Shares = std::pair<double, double>;
    expect_each(within, gives("0:0", Shares(0, 0)), gives("0:1", Shares(0, 1)),
                gives("0.0:1.0", Shares(0, 1)), gives("0.25:0.75", Shares(0.25, 0.75)),
                gives("25%:0.75", Shares(0.25, 0.75)), gives("0%:100%", Shares(0, 1)),
                gives("0.5:0.5", Shares(0.5, 0.5)), gives("1:1", Shares(1, 1)));
    for (const char* zero : {"0", "0.0", "0.00", "0.000000000", "00", ".0", "0.", "0%", "0.0%"}) {
        EXPECT_EQ(within(std::string(zero) + ":0.5"), Shares(0, 0.5)) << zero;
    }
    for (const char* text :
         {"", ":", "0.5", "0.5:", ":0.5", "0.75:0.25", "1:0", "0.5:1.1", "0:101%", "-0.1:0.5",
          "0.1:-0.5", "0.1:0.5:0.7", "a:b", "0,1:0,5", "0.1-0.5", "nan:1", "0 :1", "0: 1"}) {
        EXPECT_EQ(refusal(parse_start_within(text)),
                  "is not two shares of a recording, the smaller first; use 0.25:0.75 or 0:50%")
            << text;
    }
    EXPECT_EQ(parse_user_count("8").value().first, 8u);
    EXPECT_EQ(parse_user_count("8").value().most, 8u);
    EXPECT_EQ(parse_user_count("2..64").value().first, 2u);
    EXPECT_EQ(parse_user_count("2..64").value().most, 64u);
    for (const char* text : {"", "0", "..", "2..", "2..2", "3..2", "0..2", "2...3", "2..3..4",
                             "a..b", "2..4294967296", "-1..2"}) {
        EXPECT_FALSE(parse_user_count(text)) << text;
    }
}

TEST(UserValues, ReadWhatUsersAreAddedByAndHowTheyPlay) {
    EXPECT_EQ(text_of(parse_grow_rules("ttft:2s").value()), "ttft:avg:2s");
    EXPECT_EQ(text_of(parse_grow_rules("ttft:p95:250ms").value()), "ttft:p95:250ms");
    EXPECT_EQ(text_of(parse_grow_rules("ttft-due:max:1m").value()), "ttft_due:max:1m");
    EXPECT_EQ(text_of(parse_grow_rules("e2e:20s").value()), "e2e:avg:20s");
    EXPECT_TRUE(parse_user_count("..8").value().is_bound);
    EXPECT_EQ(parse_user_count("..8").value().most, 8U);
    EXPECT_FALSE(parse_user_count(".."));
    EXPECT_EQ(text_of(parse_grow_rules("tpot:p99:50ms").value()), "tpot:p99:50ms");
    EXPECT_EQ(text_of(GrowRules()), "");
    for (const char* text :
         {"", ":", "ttft", "ttft:", "ttft:0", "ttft:p95", "ttft:p95:", "2s", "itl:2s",
          "ttft:p42:2s", "ttft:p95:2s:3s", "ttft::2s", "ttft:p95:-2s"}) {
        EXPECT_FALSE(parse_grow_rules(text)) << text;
    }
    EXPECT_FALSE(tree_barrier_choices("stream").value());
    EXPECT_TRUE(tree_barrier_choices("tree").value());
    EXPECT_EQ(refusal(tree_barrier_choices("trees")), "is not one of stream, tree");
    EXPECT_FALSE(share_system_choices("none").value());
    EXPECT_TRUE(share_system_choices("system").value());
    EXPECT_EQ(refusal(share_system_choices("all")), "is not one of none, system");
    EXPECT_FALSE(start_by_turns_choices("timeline").value());
    EXPECT_TRUE(start_by_turns_choices("turns").value());
    EXPECT_EQ(refusal(start_by_turns_choices("turn")), "is not one of timeline, turns");
    EXPECT_FALSE(prime_one_token_choices("exact").value());
    EXPECT_TRUE(prime_one_token_choices("one-token").value());
    EXPECT_EQ(refusal(prime_one_token_choices("one")), "is not one of exact, one-token");
}

TEST(EventValues, ReadsWhatIsToBeDoneAndRefusesTheRest) {
    const Result<TypedEvent> post = parse_event("+90s post http://a:8000/start_profile");
    ASSERT_TRUE(post);
    EXPECT_EQ(post.value().at_ns, 90'000'000'000);
    EXPECT_EQ(post.value().kind, TimedEventKind::post);
    EXPECT_EQ(std::tuple(post.value().url.host, post.value().url.port), std::tuple("a", 8000));
    EXPECT_EQ(post.value().url.path, "/start_profile");
    const Result<TypedEvent> run = parse_event("  +1.5m   run  ./kill-pod.sh  a  b ");
    ASSERT_TRUE(run);
    EXPECT_EQ(run.value().at_ns, 90'000'000'000);
    EXPECT_EQ(run.value().kind, TimedEventKind::run);
    EXPECT_EQ(run.value().what, "./kill-pod.sh  a  b");
    const Result<TypedEvent> label = parse_event("+0 label phase=degraded");
    ASSERT_TRUE(label);
    EXPECT_EQ(std::tuple(label.value().at_ns, label.value().what), std::tuple(0, "phase=degraded"));
    for (const char* text :
         {"", "90s run x", "+90s", "+90s run", "+90s run  ", "+ run x", "+-1s run x", "+1x run x",
          "+1s jump x", "+1s post", "+1s post http://", "+1s post http://u:word@h/x",
          "+1s post http://h/x?key=1"}) {
        EXPECT_FALSE(parse_event(text)) << text;
    }
    // Credentials of a URL are refused; the refusal does not show them.
    EXPECT_EQ(mask_event("+1s post http://u:word@h/x"), "+1s post http://***@h/x");
    EXPECT_EQ(mask_event("+1s run echo a@b"), "+1s run echo a@b");
    const ScratchFolder folder;
    const std::string path = folder.path() + "/events.txt";
    std::ofstream(path) << "# comment\n\n+1s label a\r\n  +2s run b\n";
    std::vector<TypedEvent> events;
    EXPECT_EQ(read_events(path, events), "");
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].what, "b");
    std::ofstream(path) << "+1s label a\n1s label a\n";
    EXPECT_TRUE(says(read_events(path, events), "events.txt:2: \"1s label a\" is not an event"));
    EXPECT_TRUE(says(read_events(path + "x", events), "cannot be read"));
}

TEST(MetricsValues, ReadsPlacesAndPeriods) {
    EXPECT_EQ(parse_metrics_place("auto").value().kind, MetricsPlace::Kind::automatic);
    EXPECT_EQ(parse_metrics_place("none").value().kind, MetricsPlace::Kind::none);
    const MetricsPlace page = parse_metrics_place("https://gpu:9400/a/metrics").value();
    EXPECT_EQ(page.kind, MetricsPlace::Kind::url);
    EXPECT_EQ(page.url.path, "/a/metrics");
    EXPECT_EQ(parse_metrics_place("gpu:9400").value().url.path, "/metrics");
    EXPECT_FALSE(parse_metrics_place("ftp://gpu"));
    EXPECT_FALSE(parse_metrics_place(""));
    EXPECT_EQ(parse_metrics_period("100ms").value(), 100'000'000);
    EXPECT_EQ(parse_metrics_period("1h").value(), 3'600'000'000'000);
    EXPECT_FALSE(parse_metrics_period("99ms"));
    EXPECT_FALSE(parse_metrics_period("3601s"));
    EXPECT_FALSE(parse_metrics_period("often"));
    EXPECT_TRUE(options_with({}).metrics.automatic());
    EXPECT_EQ(options_with({}).metrics.period_ns, 1'000'000'000);
    EXPECT_FALSE(options_with({"--metrics", "none"}).metrics.automatic());
    EXPECT_FALSE(options_with({"--metrics", "http://a:1"}).metrics.automatic());
    const ReplayOptions both = options_with({"--metrics", "http://a:1", "--metrics", "auto"});
    EXPECT_TRUE(both.metrics.automatic());
    EXPECT_EQ(both.metrics.places.size(), 2U);
    EXPECT_TRUE(refused({"--metrics", "none", "--metrics", "auto"}, "cannot be combined"));
    Words many;
    for (std::size_t i = 0; i < metrics_places_max; ++i) {
        many.insert(many.end(), {"--metrics", "http://a:" + std::to_string(i + 1)});
    }
    EXPECT_EQ(options_with(many).metrics.places.size(), metrics_places_max);
    many.insert(many.end(), {"--metrics", "auto"});
    EXPECT_TRUE(refused(many, "32 at most"));
    EXPECT_EQ(mask_url("http://me:pw@a/metrics"), "http://***@a/metrics");
}

TEST(ShardValues, PartsPlacesAndInstants) {
    ASSERT_TRUE(parse_shard("1/3"));
    EXPECT_EQ(parse_shard("1/3").value().place, (ShardPlace{1, 3}));
    EXPECT_FALSE(parse_shard("1/3").value().is_none);
    EXPECT_EQ(text_of(parse_shard("4095/4096").value().place), "4095/4096");
    EXPECT_FALSE(parse_shard("0/1").value().place.is_part());
    EXPECT_TRUE(parse_shard("none").value().is_none);
    for (const char* text : {"", "/", "1", "3/3", "-1/3", "0/0", "a/b", "1/3/4", "0/4097", "1 /3",
                             "None", "0x1/3", "99999999999/3"}) {
        EXPECT_FALSE(parse_shard(text)) << text;
    }
    for (std::uint32_t own = 0; own < 5; ++own) {
        EXPECT_EQ((ShardPlace{0, 1}.number_of(own)), own);
        EXPECT_EQ((ShardPlace{2, 3}.number_of(own)), own * 3 + 2);
    }
    for (const char* text : {"node0:7100", "10.0.0.5:1", "[::1]:65535", "a.b-c.svc:80"}) {
        const Result<MeetPlace> place = parse_meet_place(text);
        ASSERT_TRUE(place) << text;
        EXPECT_EQ(text_of(place.value()), text);
    }
    for (const char* text : {"", ":", "node0", ":7100", "node0:", "node0:0", "node0:65536",
                             "::1:7100", "http://a:1", "a b:1", "[]:1", "[::1]7100", "a:-1"}) {
        EXPECT_FALSE(parse_meet_place(text)) << text;
    }
    // Expectations by `date -u -d .. +%s`.
    EXPECT_EQ(parse_utc_ns("1970-01-01T00:00:00Z").value(), 0);
    EXPECT_EQ(parse_utc_ns("2026-11-26T05:30:00Z").value(), 1'795'671'000'000'000'000);
    EXPECT_EQ(parse_utc_ns("2026-11-26T07:30:00+02:00").value(), 1'795'671'000'000'000'000);
    EXPECT_EQ(parse_utc_ns("2026-11-25t22:00:00-07:30").value(), 1'795'671'000'000'000'000);
    EXPECT_EQ(parse_utc_ns("2024-02-29T12:00:00.25Z").value(), 1'709'208'000'250'000'000);
    EXPECT_EQ(parse_utc_ns("2024-02-29T12:00:00.000000001z").value(), 1'709'208'000'000'000'001);
    for (const std::string& text :
         words_of("Z 2026-11-26 2026-11-26T05:30:00 2026-11-26T05:30Z 2025-02-29T00:00:00Z "
                  "2026-13-01T00:00:00Z 2026-11-26T24:00:00Z 2026-11-26T05:60:00Z "
                  "2026-11-26T05:30:60Z 2026-11-26T05:30:00.Z 2026-11-26T05:30:00.1234567890Z "
                  "2026-11-26T05:30:00+2:00 2026-11-26T05:30:00+0200 2026-11-26T05:30:00ZZ +30s "
                  "1969-12-31T23:59:59Z 2200-01-01T00:00:00Z 2026-1a-26T05:30:00Z")) {
        EXPECT_FALSE(parse_utc_ns(text)) << text;
    }
    EXPECT_FALSE(parse_utc_ns(""));
    EXPECT_FALSE(parse_utc_ns("2026-11-26 05:30:00Z"));
}

TEST(GoodputValues, ReadRowsAndLimits) {
    const Result<GoodputRule> rule = parse_goodput_rule("tier=gold ttft:200 tpot:50");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule.value().key->text, "kept.tier");
    EXPECT_EQ(rule.value().value, "gold");
    EXPECT_EQ(rule.value().limits.ttft_ns, 200'000'000);
    EXPECT_EQ(rule.value().limits.tpot_ns, 50'000'000);
    EXPECT_EQ(parse_goodput_rule("turn=1 ttft:200").value().key->text, "turn");
    for (const char* text :
         {"tier=gold", "=gold ttft:200", "tier=gold foo:1", "tier=gold ", "input:4=1 ttft:2"}) {
        EXPECT_FALSE(parse_goodput_rule(text)) << text;
    }
    const Result<GoodputRule> other_rule = parse_goodput_rule("ttft:200, tpot:50");
    ASSERT_TRUE(other_rule);
    EXPECT_FALSE(other_rule.value().key);
    EXPECT_EQ(other_rule.value().limits.tpot_ns, 50'000'000);
    EXPECT_EQ(parse_goodput_rule("ttft_due:600").value().limits.ttft_due_ns, 600'000'000);
    for (const char* text : {"", " ", "ttft", "ttft:0", "itl:5", "ttft:-1"}) {
        EXPECT_FALSE(parse_goodput_rule(text)) << text;
    }
    for (const char* text : {"ttft=200", "ttft:200 tpot=50"}) {
        const Result<GoodputRule> equals = parse_goodput_rule(text);
        ASSERT_FALSE(equals);
        EXPECT_TRUE(std::string_view(equals.error().doing).starts_with("has = where")) << text;
    }
}

TEST(GoodputValues, KeptColumnsAskedRulesAndGoodRows) {
    const GoodputRules rules{parse_goodput_rule("tier=gold ttft:1").value()};
    EXPECT_EQ(group_refusal(rules, {}, {"pod", "tier"}), "");
    EXPECT_TRUE(says(group_refusal(rules, {}, {"pod"}), "--keep tier"));
    EXPECT_TRUE(says(group_refusal({parse_goodput_rule("model=a ttft:9").value()}, {}, {"model"}),
                     "the column is kept.model"));
    const Threshold gold = parse_fail_if("tier=gold ttft:p99 > 2s").value();
    EXPECT_TRUE(says(group_refusal({}, {gold}, {"pod"}), "--fail-if \"tier=gold ..\" uses a"));
    /// What is asked of a finished run goes before what it was told, and the rest of that stays.
    const auto rule = [](const char* text) { return parse_goodput_rule(text).value(); };
    const GoodputRules run{rule("ttft:200"), rule("tier=gold ttft:50")};
    const GoodputRules both = with_rules({rule("tpot:20")}, run);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(common_limits(both).tpot_ns, 20'000'000);
    EXPECT_FALSE(common_limits(both).ttft_ns);
    EXPECT_EQ(group_text(both[1]), "kept.tier=gold");
    EXPECT_EQ(with_rules({rule("tier=gold ttft:10")}, run).size(), 2U);
    EXPECT_EQ(with_rules({}, run).size(), 2U);
    const Threshold good = parse_threshold("good < 99 %").value();
    const Threshold ttft = parse_threshold("ttft:p50 > 1s").value();
    EXPECT_EQ(limits_missing({ttft}), "");
    EXPECT_TRUE(says(limits_missing({ttft, good}), "\"good < 99 %\" counts good requests"));
}

Words recorded(const Words& flags) {
    return options_with(flags).request.record_headers;
}

Words times(std::size_t count) {
    Words words;
    for (std::size_t i = 0; i < count; ++i) {
        words.insert(words.end(), {"--record-header", "X-" + std::to_string(i)});
    }
    return words;
}

TEST(HeaderOptions, NameWhatIsRecordedAndTakeValuesFromTheRow) {
    EXPECT_EQ(recorded({}), Words{});
    EXPECT_EQ(recorded({"--record-header", "X-Pod", "--record-header=x-worker"}),
              (Words{"X-Pod", "x-worker"}));
    EXPECT_EQ(recorded(times(7)).size(), 7U);
    EXPECT_EQ(recorded(times(8)).size(), 8U);
    EXPECT_TRUE(refused(times(9), "--record-header is given 9 times; give at most 8"));
    EXPECT_TRUE(refused({"--record-header", "X-Pod", "--record-header", "x-pod"},
                        "--record-header x-pod is given twice"));
    for (const char* wrong : {"", "X Pod", "X-Pod: a", "X\r\nY", "X-\xC3\xA4"}) {
        EXPECT_TRUE(refused({"--record-header", wrong}, "is not a header name")) << wrong;
    }
    // A trace of the user's own is not replaced silently.
    EXPECT_FALSE(options_with({}).request.traceparent);
    EXPECT_TRUE(options_with({"--traceparent"}).request.traceparent);
    EXPECT_TRUE(
        refused({"--traceparent", "--header", "Traceparent: 00-1-2-00"}, "cannot be combined"));
    // Values with placeholders are kept apart from those that are the same for all rows.
    const ReplayCommandLine line =
        parse_flags({"--header", "X-Team: a", "--header", "X-Session: s-{session}/{turn}",
                     "--header", R"(X-Json: {"a":{"b":1}})", "--header", "X-Text: {{row}}",
                     "--header", "X-Tenant={kept.tenant name}", "--keep", "tenant name"});
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    const ReplayOptions& options = line.options;
    ASSERT_EQ(options.request.headers.size(), 3U);
    EXPECT_EQ(options.request.headers[1].value, R"({"a":{"b":1}})");
    EXPECT_EQ(options.request.headers[2].value, "{row}");
    ASSERT_EQ(options.request.row_headers.size(), 2U);
    EXPECT_EQ(options.request.row_headers[0].name, "X-Session");
    EXPECT_EQ(options.request.row_headers[0].pieces.size(), 4U);
    EXPECT_EQ(options.request.row_headers[1].pieces.at(0).text, "tenant name");
    EXPECT_TRUE(refused({"--header", "X-A: {rwo}"}, "--header X-A: {rwo} is not one of {row},"));
    EXPECT_TRUE(refused({"--header", "X-A: {session }"}, "{session } is not one of"));
    EXPECT_TRUE(refused({"--header", "X-A: a{session"}, "{session is not one of"));
    EXPECT_TRUE(refused({"--header", "X-A: {kept}"}, "{kept} is not one of"));
    EXPECT_TRUE(refused({"--header", "X-A: {kept.team}"}, "add --keep team"));
    EXPECT_TRUE(refused({"--header", "X-A: {kept.team}", "--keep", "teams"}, "--keep team"));
    EXPECT_TRUE(refused({"--header", "Host: {session}"}, "the same for all rows"));
    EXPECT_TRUE(refused({"--header", "authorization: Bearer {session}"}, "a key is the same"));
    EXPECT_TRUE(
        refused({"--api", "anthropic", "--header", "X-Api-Key: {row}"}, "a key is the same"));
    EXPECT_TRUE(refused({"--traceparent", "--header", "traceparent: {kept.t}", "--keep", "t"},
                        "cannot be combined"));
}

// A family of headers is set at once, behind those of the user.
TEST(HeaderOptions, NameSessionsUsersAndPlaces) {
    EXPECT_TRUE(options_with({}).request.row_headers.empty());
    const ReplayCommandLine line =
        parse_flags({"--session-headers", "agentx", "--header", "x-session-id: fixed", "--header",
                     "X-Own: {pass}"});
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    const RequestFlags& request = line.options.request;
    ASSERT_EQ(request.row_headers.size(), 6U);
    EXPECT_EQ(request.row_headers[0].name, "X-Own");
    EXPECT_EQ(request.row_headers[1].name, "X-Correlation-ID");
    EXPECT_EQ(request.row_headers[5].name, "X-Dynamo-Parent-Session-ID");
    EXPECT_EQ(to_text(request.row_headers[5].pieces.at(0)), "parent");
    EXPECT_TRUE(refused({"--session-headers", "x"}, "is not one of none, agentx"));
    // Nobody sends a row where there are no users; a pass there always is.
    EXPECT_TRUE(refused({"--header", "X-U: {user}"}, "add --users N, or remove {user}"));
    EXPECT_EQ(options_with({"--header", "X-U: {user}", "--users", "2"}).request.row_headers.size(),
              1U);
    EXPECT_EQ(options_with({"--header", "X-P: {pass}"}).request.row_headers.size(), 1U);
    // Where to connect is no URL; the target keeps its name.
    const ReplayOptions options = options_with({"--connect-to", "[::1]:9"});
    ASSERT_TRUE(options.server.connect_to);
    EXPECT_EQ(place_text(*options.server.connect_to), "[::1]:9");
    EXPECT_EQ(host_header(options.server.targets.at(0).url), "h:8000");
    EXPECT_FALSE(options_with({}).server.connect_to);
    EXPECT_TRUE(refused({"--connect-to", "http://p:1"}, "use HOST:PORT or unix:PATH"));
    EXPECT_TRUE(refused({"--connect-to", "p"}, "use HOST:PORT or unix:PATH"));
    // AIBrix says which pod answered: no flag is needed for that, and none is in its way.
    EXPECT_EQ(recorded({"--api", "aibrix"}), (Words{"target-pod", "target-pod-ip", "request-id"}));
    EXPECT_EQ(recorded({"--api", "aibrix", "--record-header", "Target-Pod"}),
              (Words{"Target-Pod", "target-pod-ip", "request-id"}));
    Words words = times(8);
    words.insert(words.end(), {"--api", "aibrix"});
    EXPECT_EQ(recorded(words).size(), 11U);
}

SynthCommandLine parsed(const std::string& line) {
    return parse_synth_options(words_of(line));
}

TEST(SynthOptions, HaveDefaultsAndHelp) {
    const SynthCommandLine line = parsed("random");
    ASSERT_EQ(line.kind, SynthCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.out, "-");
    EXPECT_EQ(line.options.target, &canonical_target);
    EXPECT_EQ(line.options.spec.arrivals.per_second, 1);
    const RandomSpec& spec = *std::get_if<RandomSpec>(&line.options.spec.kind);
    EXPECT_EQ(std::tuple(spec.rows, spec.input.low), std::tuple(1000U, 1024));
    EXPECT_EQ(parsed("prefix --to mooncake").options.spec.block_size, 512U);
    EXPECT_EQ(parsed("prefix").options.spec.block_size, 16U);
    EXPECT_TRUE(says(parsed("--help").text, "stress reactivation"));
    for (const char* kind :
         {"random", "prefix", "chat", "agents", "stress reuse", "stress working-set",
          "stress offload", "stress compaction", "stress reactivation", "stress fan-out"}) {
        const SynthCommandLine other_line = parsed(std::string(kind) + " --help");
        EXPECT_EQ(other_line.kind, SynthCommandLine::Kind::help);
        EXPECT_TRUE(says(other_line.text, "--seed"));
        EXPECT_EQ(parsed(kind).kind, SynthCommandLine::Kind::run) << parsed(kind).text;
    }
}

struct Refusal {
    const char* line;
    const char* says;
};

TEST(SynthOptions, RefuseWithARemedy) {
    constexpr Refusal refusals[] = {
        {"", "no kind is given; name random, prefix"},
        {"rndom", "unknown kind rndom; use random, prefix"},
        {"stress", "stress needs a pattern; name reuse"},
        {"stress reus", "unknown pattern reus; use reuse"},
        {"random --row 5", "unknown flag --row; did you mean --rows?"},
        {"random --turns 5", "unknown flag --turns"},
        {"random extra", "unexpected argument extra"},
        {"random --rows 0", "--rows \"0\" is not from 1 to 4294967000"},
        {"random --rows -5", "--rows \"-5\" is not from 1 to 4294967000"},
        {"random --rows 1000000000000", "--rows \"1000000000000\" is not from 1 to 4294967000"},
        {"random --in 0", "--in \"0\" has a length that is not from 1 to 134217728"},
        {"random --in -5", "--in \"-5\" has a length that is not from 1 to 134217728"},
        {"random --in 1000000000000", "has a length that is not from 1 to 134217728"},
        {"random --in 99999999999999999999999", "has a length that is not from 1 to 134217728"},
        {"random --in abc", "--in \"abc\" is not a length; use 512, uniform:"},
        {"random --in uniform:9..5", "has a range that ends before it begins"},
        {"random --in uniform:9", "is not a length; use 512"},
        {"random --in normal:512", "is not a length; use 512"},
        {"random --in normal:512:nan", "is not a length; use 512"},
        {"random --in normal:0:5", "must have a mean or median above 0"},
        {"random --in normal:-5:5", "is not a length"},
        {"random --in normal:10:1000000000000",
         "has more than half of its values outside its bounds"},
        {"random --in normal:900:10:1..500", "has more than half of its values outside its bounds"},
        {"random --in lognormal:1000000000000:1", "has more than half of its values"},
        {"random --in file:", "is not a length; use 512"},
        {"random --out-tokens 0", "--out-tokens \"0\" has a length"},
        {"random --range-ratio 1", "--range-ratio \"1\" is not from 0 up to"},
        {"random --range-ratio {\"in\":0.1}", "is not from 0 up to"},
        {"random --in uniform:1..5 --range-ratio 0.5", "--range-ratio is a range around fixed"},
        {"random --rate 0", "--rate \"0\" is not a rate above 0"},
        {"random --rate -1", "--rate \"-1\" is not a rate"},
        {"random --rate 10/d", "is not a rate"},
        {"random --arrivals gamma", "is not known; use poisson or constant"},
        {"random --to csv", "is not one of canonical, mooncake"},
        {"random --block-size 0", "is not from 1 to 65536 tokens"},
        {"random --seed x", "--seed \"x\" is not a whole number"},
        {"prefix --groups 0", "--groups \"0\" is not a number from 1 to 1000000"},
        {"prefix --popularity zipf:-1", "has an exponent that is not from 0 to 20"},
        {"prefix --popularity hot", "is not known; use equal, ordered, or zipf:EXPONENT"},
        {"chat --turns 0", "--turns \"0\" has a number that is not from 1 to 1000000"},
        {"chat --gap -1s", "--gap \"-1s\" has a time that is not from 0 to 366 days"},
        {"chat --gap lognormal:5:x", "is not a time; use 2s"},
        {"chat --gap 400000h", "has a time that is not from 0 to 366 days"},
        {"chat --token-time 1h", "is not a time up to 10s"},
        {"agents --depth 9", "is not a number from 0 to 8"},
        {"agents --spawn 1.5", "is not a decimal from 0 to 1"},
        {"agents --depth 8 --parallel 100", "more than 1000000 agents at a time"},
        {"agents --compact-at 5000", "--compact-at 5000: must be more than --system"},
        {"stress compaction --compact-at 200000", "at most --max-context"},
        {"stress reuse --hit 101", "--hit \"101\" is not a hit rate from 0 to 100 %"},
        {"stress reuse --hit -1", "is not a hit rate from 0 to 100 %"},
        {"stress reuse --working-set 100", "one prompt is longer than the working set"},
        {"stress reuse --in 1 --working-set 1000000000000", "rows, but a trace can have"},
        {"stress working-set --working-set 5", "is not a range of tokens"},
        {"stress working-set --working-set 9..5", "is not a range of tokens"},
        {"stress offload --capacity 0", "is not from 1 to 1000000000000 tokens"},
        {"stress fan-out --in 134217728", "--in and --suffix together are more than 134217728"},
    };
    for (const Refusal& one : refusals) {
        const SynthCommandLine line = parsed(one.line);
        EXPECT_EQ(line.kind, SynthCommandLine::Kind::refused) << one.line;
        EXPECT_TRUE(says(line.text, one.says)) << one.line << ": " << line.text;
    }
}

TEST(SynthOptions, NameAHistogramThatCannotBeRead) {
    SynthCommandLine line = parsed("random --in file:/nowhere/at-all");
    ASSERT_EQ(line.kind, SynthCommandLine::Kind::run);
    EXPECT_TRUE(says(read_histograms(line.options.spec), "file:/nowhere/at-all: "));
}

}  // namespace
}  // namespace driftless
