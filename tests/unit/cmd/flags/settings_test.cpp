// What flags say together.

#include "cmd/flags/settings.hpp"

#include "cmd/base/toml_reader.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/help/help.hpp"
#include "cmd/runs/find.hpp"
#include "cmd/runs/sweep.hpp"
#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {

// The flags of a run survive run.json, and what is given anew replaces them; secrets do not.

namespace {

// Whatever way it was typed, what is kept is parsed to the same arguments again.
TEST(Recall, KeptArgumentsParseToThemselves) {
    Words typed = words_of(
        "a.jsonl b.jsonl --base-url http://h:1/x --num-prompts 7 --spread --goodput ttft:200 "
        "tpot:50 --label k=v=w --label l=m --map time=a,in=b,out=c --no-preflight --model m");
    typed.insert(typed.end(), {"--header", "X-Team: a=b", R"(--extra-body={"a": 1})"});
    const ReplayCommandLine line = parse_replay_options(typed, "");
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    const Words kept = arguments_to_keep(line.arguments, "/here");
    EXPECT_EQ(kept.front(), "/here/a.jsonl");
    const ReplayCommandLine again = parse_replay_options(kept, "");
    ASSERT_EQ(again.kind, ReplayCommandLine::Kind::run) << again.text;
    EXPECT_EQ(again.arguments, kept);
    EXPECT_EQ(again.options.results.labels, line.options.results.labels);
    EXPECT_EQ(again.options.results.goodput.at(0).limits.tpot_ns, 50'000'000);
    EXPECT_EQ(again.options.request.extra_body, line.options.request.extra_body);
    EXPECT_EQ(again.options.workload.plan.limit, 7u);
    EXPECT_TRUE(again.options.workload.plan.spread);
    EXPECT_FALSE(again.options.server.preflight);
    // run.toml says the same, in the order of names.
    toml::table keys;
    TomlReader reader;
    ASSERT_EQ(parse_toml(arguments_as_toml(kept), keys), "");
    Words read;
    reader.scalars(keys, "trace", read);
    reader.flags(keys, {"trace"}, read);
    EXPECT_EQ(reader.why(), "");
    Words sorted = kept;
    std::stable_sort(sorted.begin() + 2, sorted.end(), [](const auto& a, const auto& b) {
        return a.substr(0, a.find('=')) < b.substr(0, b.find('='));
    });
    EXPECT_EQ(read, sorted);
}

TEST(Recall, KeepsNoSecretNoPlaceAndPorts) {
    const Words kept = arguments_to_keep(
        {"-", "/abs.jsonl", "--api-key=sk-secret", "--header=X-Api-Key: 123456", "--header=A: b",
         "--out=dir", "--output-path=f", "--resume=r", "--from=f", "--resend", "--tokenizer=t.json",
         "--calibration=none", "--dry-run", "--save-prompts=p", "--spread"},
        "/here");
    EXPECT_EQ(kept,
              (Words{"-", "/abs.jsonl", "--api-key=***", "--header=X-Api-Key:***", "--header=A: b",
                     "--tokenizer=/here/t.json", "--calibration=none", "--spread"}));
    // What a run writes at its end is written by its resumed one, too; another run has its own.
    const Words other_kept =
        arguments_to_keep(words_of("t.jsonl --junit=a.xml --force --markdown=/b.md"), "/here");
    EXPECT_EQ(other_kept, words_of("/here/t.jsonl --junit=/here/a.xml --force --markdown=/b.md"));
    EXPECT_EQ(arguments_to_repeat(other_kept), words_of("/here/t.jsonl"));
    const Words other = {"--junit=c.xml"};
    EXPECT_EQ(recall(other_kept, other, false).arguments,
              words_of("/here/t.jsonl --force --markdown=/b.md --junit=c.xml"));
    EXPECT_EQ(flag_not_to_resume_with(other, other_kept), "");
    // The two halves of an address are replaced one by one.
    const Words third_kept = words_of("t.jsonl --host=a --port=1");
    EXPECT_EQ(recall(third_kept, {"--port=2"}, false).arguments,
              words_of("t.jsonl --host=a --port=2"));
    EXPECT_EQ(recall(third_kept, {"--host=b"}, false).arguments,
              words_of("t.jsonl --port=1 --host=b"));
    EXPECT_EQ(recall(third_kept, {"--url=http://c"}, false).arguments,
              words_of("t.jsonl --url=http://c"));
}

// A run is taken up again from any folder: files and sockets are where they were.
TEST(Recall, KeepsPathsWholeAndGivenFlagsGoFirst) {
    EXPECT_EQ(
        arguments_to_keep(words_of("--ca=ca.pem --cert=/c.pem --key=k/k.pem --url=unix:s "
                                   "--url=unix:/s --url=http://h/unix:s --connect-to=UNIX:t/s "
                                   "--connect-to=unix:@s --endpoint=unix:s --model=unix:s"),
                          "/here"),
        words_of("--ca=/here/ca.pem --cert=/c.pem --key=/here/k/k.pem --url=unix:/here/s "
                 "--url=unix:/s --url=http://h/unix:s --connect-to=unix:/here/t/s "
                 "--connect-to=unix:@s --endpoint=unix:/here/s --model=unix:s"));
    const Words kept = {"t.jsonl",   "--url=http://a",   "--url=http://b", "--port=9",
                        "--speed=2", "--endpoint=/v1/x", "--header=A: 1",  "--header=B: 2"};
    EXPECT_EQ(recall(kept, {"--from=r", "--url=http://c", "--header=a: 3"}, false).arguments,
              (Words{"t.jsonl", "--speed=2", "--endpoint=/v1/x", "--header=B: 2", "--url=http://c",
                     "--header=a: 3"}));
    EXPECT_EQ(recall(kept, {"u.jsonl", "--speed=3"}, false).arguments.back(), "--speed=3");
    EXPECT_EQ(recall(kept, {"u.jsonl"}, false).arguments.back(), "u.jsonl");
    EXPECT_EQ(recall({"--endpoint=http://a/v1"}, {"--url=http://b"}, false).arguments,
              Words{"--url=http://b"});
    const Words proxied = {"--url=http://a", "--connect-to=p:1"};
    EXPECT_EQ(recall(proxied, {"--url=http://b"}, false).arguments, Words{"--url=http://b"});
    EXPECT_EQ(recall(proxied, {"--connect-to=q:1"}, false).arguments,
              (Words{"--url=http://a", "--connect-to=q:1"}));
}

// What was never recorded must come again, from the flag or from the environment.
TEST(Recall, MaskedValuesAreAskedForWithResume) {
    const Words key = {"t.jsonl", "--api-key=***"};
    EXPECT_TRUE(says(recall(key, {}, false).refused, "--api-key"));
    EXPECT_EQ(recall(key, {}, true).arguments, Words{"t.jsonl"});
    EXPECT_EQ(recall(key, {"--api-key=new"}, false).arguments, (Words{"t.jsonl", "--api-key=new"}));
    const Words header = {"t.jsonl", "--header=X-Api-Key:***"};
    EXPECT_TRUE(says(recall(header, {}, true).refused, "X-Api-Key"));
    EXPECT_EQ(recall(header, {"--header=x-api-key: 1"}, false).refused, "");
    const Words body = {"t.jsonl", R"(--extra-body={"a":1,"api_key":"***"})"};
    EXPECT_TRUE(says(recall(body, {}, true).refused, "--extra-body"));
    EXPECT_EQ(recall(body, {"--extra-body={}"}, false).arguments,
              (Words{"t.jsonl", "--extra-body={}"}));
    EXPECT_EQ(recall({R"(--extra-body={"user":"a:b@c"})"}, {}, false).refused, "");
    for (const char* flag : {"--event=+1s post http://***@h/x", "--connect-to=***@h:1",
                             "--metrics=http://h/m?api_key=***"}) {
        EXPECT_TRUE(says(recall({flag}, {}, true).refused, "give all of --")) << flag;
    }
    for (const char* plain : {"--label=a=***", "--event=+1s run echo ***", "--url=http://h/***",
                              R"(--extra-body={"user":"***"})"}) {
        EXPECT_EQ(recall({plain}, {}, true).refused, "") << plain;
    }
    // Others of its flag may come with it, or be left out; each keeps its place.
    const Words events = {"--event=+6s run echo Bearer ***", "--event=+1s label a", "--speed=2"};
    const Words whole = {"--event=+6s run echo Bearer K1", "--event=+1s label a", "--speed=2"};
    EXPECT_EQ(recall(events, {whole[0]}, false).arguments, whole);
    EXPECT_EQ(recall(events, {whole[1], whole[0]}, false).arguments, whole);
    EXPECT_TRUE(says(recall(events, {whole[1]}, false).refused, "a key in --event"));
    EXPECT_TRUE(says(recall(events, {events[0]}, false).refused, "a key in --event"));
    EXPECT_EQ(recall(events, {"--event=+2s label b"}, false).arguments,
              (Words{"--speed=2", "--event=+2s label b"}));
    EXPECT_EQ(flag_not_to_resume_with({whole[1], whole[0]}, events), "");
    EXPECT_EQ(flag_not_to_resume_with({whole[0], "--event=+2s label b"}, events), "--event");
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"api_key":"K1","a":1.0})"}, body), "");
    EXPECT_TRUE(says(recall({"-"}, {}, false).refused, "standard input"));
    EXPECT_EQ(recall({"-"}, {"t.jsonl"}, false).arguments, Words{"t.jsonl"});
    EXPECT_EQ(flag_not_to_resume_with({"t.jsonl", "--resume=r", "--resend", "--url=http://a",
                                       "--connect-to=p:1", "--cpu=1", "--grace=1s"},
                                      {}),
              "");
    EXPECT_EQ(flag_not_to_resume_with({"--resume=r", "--seed=1"}, {}), "--seed");
    EXPECT_EQ(flag_not_to_resume_with({"--resume=r", "--out=x"}, {}), "--out");
    // Headers: those alone whose values are not recorded.
    const Words headers = {"--header=Authorization: ***", "--header=X-Tier: env:TIER",
                           "--header=A: b"};
    EXPECT_EQ(
        flag_not_to_resume_with({"--header=authorization=Basic x", "--header=X-Tier=y"}, headers),
        "");
    EXPECT_EQ(flag_not_to_resume_with({"--header=A=c"}, headers), "--header A");
    EXPECT_EQ(flag_not_to_resume_with({"--header=X-New: c"}, headers), "--header X-New");
    const Words kept = {R"(--extra-body={"a":1,"api_key":"***"})"};
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"a":1,"api_key":"sk-2"})"}, kept), "");
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"a":2,"api_key":"sk-2"})"}, kept),
              "--extra-body");
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"a":1})"}, {}), "--extra-body");
    const Words event = {"--event=+1s post http://***@h/x"};
    EXPECT_EQ(flag_not_to_resume_with({"--event=+1s post http://u:p@h/x"}, event), "");
    EXPECT_EQ(flag_not_to_resume_with({"--event=+2s post http://u:p@h/x"}, event), "--event");
}

TEST(RuleFlags, SetsWhatTheUserLeftOutWithinItsLocks) {
    const ReplayOptions options = options_with({"--rules", "agentx", "--users", "8"});
    const UserRules& users = options.workload.users;
    EXPECT_TRUE(users.recycle);
    EXPECT_TRUE(users.tree_barrier);
    EXPECT_EQ(users.for_ns, 3'600'000'000'000);
    EXPECT_EQ(std::tuple(users.start.from, users.start.to), std::tuple(0.25, 0.75));
    EXPECT_EQ(users.start.warmup_requests, 10U);
    EXPECT_EQ(users.idle.tree_ns, 300'000'000'000);
    EXPECT_EQ(users.idle.system_ns, 10'000'000'000);
    EXPECT_EQ(options.workload.plan.seed, 42U);
    EXPECT_EQ(options.workload.load.admission.trees_max, 393U);
    EXPECT_EQ(options.rules.chosen.sets.size(), 1U);
    const ReplayCommandLine line =
        parse_flags({"--rules=agentx", "--users=8", "--for=20m", "--seed", "7"});
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.workload.users.for_ns, 1'200'000'000'000);
    EXPECT_EQ(line.options.workload.plan.seed, 7U);
    ASSERT_FALSE(line.notes.empty());
    EXPECT_TRUE(line.notes.back().starts_with("--rules agentx (agentx-v1.0.5) sets --recycle "))
        << line.notes.back();
    const std::string twenty =
        refusal_with({"--rules", "agentx", "--users", "8", "--system-idle-cap", "20s"});
    EXPECT_TRUE(says(twenty, "--rules agentx: --system-idle-cap is 10s in these rules, not 20s"));
    EXPECT_EQ(parse_flags({"--rules", "agentx", "--users", "8", "--system-idle-cap", "10"}).kind,
              ReplayCommandLine::Kind::run)
        << "the same, written otherwise";
    EXPECT_TRUE(refused({"--rules", "agentx", "--users", "8", "--gap-cap", "9"},
                        "--gap-cap is not allowed"));
    EXPECT_TRUE(refused({"--rules", "agentx", "--users", "8", "--no-stream"},
                        "--no-stream is not allowed"));
    EXPECT_TRUE(refused({"--rules", "agentx"}, "--rules agentx: needs --users"));
    EXPECT_TRUE(refused({"--rules", "nothing"}, "is not one of agentx-mvp"));
}

// Two sets that fix different values leave no choice that meets both.
TEST(RuleFlags, RefusesSetsThatContradictAndAddsFlagsInFront) {
    const std::string why = refusal_with({"--rules", "agentx,inferencex-993", "--users", "8"});
    EXPECT_TRUE(says(why, "there and "));
    EXPECT_TRUE(says(why, "give the flag yourself, or use only one set"));
    // Behind "--" stand traces.
    Words arguments{"--rules", "mlperf-agentic", "--users", "2", "--", "-trace"};
    Words notes;
    RuleSets sets;
    EXPECT_EQ(apply_rules(arguments, notes, sets), "");
    EXPECT_EQ(std::tuple(arguments.back(), arguments.front()), std::tuple("-trace", "--gap"));
    EXPECT_EQ(notes.size(), 1U);
    // An earlier run has flags of its own: rules are applied when they are known.
    const ReplayCommandLine line = parse_replay_options({"--from", "r", "--rules", "agentx"}, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.arguments, (Words{"--rules=agentx", "--from=r"}));
}

std::string why(const std::string& text) {
    RuleSet set;
    return read_rule_set("name = \"n\"\nversion = \"v\"\nsource = \"s\"\n" + text, set);
}

TEST(RuleSets, ShipsFourThatAreRight) {
    std::vector<std::string> names;
    for (const ShippedRules& one : shipped_rules()) {
        names.emplace_back(one.name);
        RuleSet set;
        EXPECT_EQ(read_rule_set(one.text, set), "") << one.name;
        EXPECT_EQ(set.name, one.name);
        EXPECT_TRUE(says(set.source, " @")) << "a source has its commit";
        EXPECT_FALSE(set.version.empty());
        EXPECT_FALSE(set.flags.empty());
        EXPECT_FALSE(set.rules.empty());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"agentx-mvp", "agentx", "inferencex-993",
                                               "mlperf-agentic"}));
}

TEST(RuleSets, ReadsAFile) {
    RuleSet set;
    EXPECT_EQ(read_rule_set(R"(name = "mine"
version = "2"
source = "here"
commit = "abc"
[[flag]]
name = "--for"
value = "60s"
other = "refused"
why = "short"
[[rule]]
name = "errors"
measure = "error_share"
max = 0.01
published = false
[[rule]]
name = "corpus"
measure = "digest"
equals = "0123456789abcdef"
)",
                            set),
              "");
    EXPECT_EQ(set.source, "here @abc");
    ASSERT_EQ(set.flags.size(), 1U);
    EXPECT_EQ(set.flags[0].value, "60s");
    EXPECT_EQ(set.flags[0].other, OtherValue::refused);
    ASSERT_EQ(set.rules.size(), 2U);
    EXPECT_EQ(set.rules[0].measure, Measure::error_share);
    EXPECT_EQ(set.rules[0].max, 0.01);
    EXPECT_FALSE(set.rules[0].published);
    EXPECT_EQ(set.rules[1].equals, "0123456789abcdef");
}

TEST(RuleSets, SaysWhatIsWrongWithAFileOrFindsIt) {
    RuleSet set;
    EXPECT_EQ(read_rule_set("version = \"1\"", set), "line 1: name is missing; add it");
    EXPECT_TRUE(why("[[flag]\n").starts_with("line 4: ")) << why("[[flag]\n");
    EXPECT_EQ(why("gate = 3\n"), "line 4: gate is not known; remove or correct it");
    EXPECT_EQ(why("rule = 3\n"), "line 4: rule is not written as [[rule]]");
    EXPECT_EQ(why("[[rule]]\nname = \"a\"\nmeasure = \"speed\"\n"),
              "line 4: [[rule]] measure \"speed\" is not known; driftless help rules.md lists all");
    EXPECT_EQ(why("[[rule]]\nname = \"a\"\nmeasure = \"rows\"\nmin = \"3\"\n"),
              "line 7: min is not a number");
    EXPECT_NE(why("[[rule]]\nname = \"a\"\nmeasure = \"rows\"\nequals = \"3\"\n"), "");
    EXPECT_NE(why("[[rule]]\nname = \"a\"\nmeasure = \"unchecked\"\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"gap\"\nvalue = \"1\"\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"--gap\"\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"--gap\"\nvalue = \"1\"\nabsent = true\n"), "");
    EXPECT_NE(why("[[flag]]\nname = \"--gap\"\nvalue = \"1\"\nother = \"maybe\"\n"), "");
    EXPECT_EQ(why("[[flag]]\nname = \"--gap\"\nabsent = 1\n"),
              "line 6: absent is not true or false");
    RuleSets sets;
    EXPECT_EQ(add_rule_set("agentx", sets), "");
    EXPECT_NE(add_rule_set("agentx", sets), "") << "twice";
    EXPECT_EQ(add_rule_set("agentix", sets),
              "--rules \"agentix\" is not one of agentx-mvp, agentx, inferencex-993, "
              "mlperf-agentic, or a file (FILE.toml); did you mean agentx?");
    EXPECT_TRUE(
        add_rule_set("nowhere.toml", sets).starts_with("--rules nowhere.toml cannot be read: "));
    EXPECT_EQ(std::tuple(sets.sets.size(), sets.texts.size()), std::tuple(1U, 1U));
    EXPECT_EQ(parts_of("a,b.toml"), (std::vector<std::string>{"a", "b.toml"}));
    EXPECT_TRUE(same_value("60", "1m"));
    EXPECT_TRUE(same_value("0:0.7", "0.0:0.70"));
    EXPECT_TRUE(same_value("none", "none"));
    EXPECT_FALSE(same_value("60", "61"));
    EXPECT_FALSE(same_value("0:0.7", "0.1:0.7"));
    EXPECT_FALSE(same_value("turns", "timeline"));
}

// `--against`: the second of two servers, and the flags that do not go with it, each with a reason
// and a remedy.

Words against(Words more) {
    more.insert(more.begin(), {"--against", "http://g:9000/base"});
    return more;
}

TEST(DualFlags, NameServersAndModelsOrAreRefused) {
    const ReplayOptions options = options_with(against({}));
    EXPECT_TRUE(options.server.dual);
    ASSERT_EQ(options.server.targets.size(), 2u);
    EXPECT_EQ(options.server.targets[0].url.host, "h");
    EXPECT_EQ(options.server.targets[1].url.host, "g");
    EXPECT_EQ(options.server.targets[1].api_path, "/base/v1/chat/completions");
    EXPECT_EQ(options.server.targets[1].root_path, "/base");
    EXPECT_EQ(options_with({"--against", "http://h:8000"}).server.targets.size(), 2u);
    EXPECT_EQ(options_with(against({"--against-model", "m"})).request.against_model, "m");
    EXPECT_TRUE(refused({"--against-model", "m"}, "needs --against"));
    EXPECT_TRUE(refused(against({"--model", "{kept.m}", "--keep", "m", "--against-model", "n"}),
                        "remove --against-model"));
    const std::pair<const char*, Words> loops[] = {
        {"--users", {"--users", "2"}},
        {"--concurrency", {"--concurrency", "2"}},
        {"--sessions closed", {"--sessions", "closed"}},
        {"--budget-input", {"--budget-input", "100000/m"}},
        {"--budget-output", {"--budget-output", "100000/m"}},
    };
    for (const auto& [flag, words] : loops) {
        const std::string refusal = refusal_with(against(words));
        EXPECT_TRUE(says(refusal, "but with " + std::string(flag) + " "));
        EXPECT_TRUE(says(refusal, "remove one"));
    }
    EXPECT_TRUE(refused(against({"--assistant", "live", "--sessions", "closed"}), "remove one"));
    EXPECT_TRUE(refused(against({"--url", "http://i:1"}), "give only one --url"));
    EXPECT_TRUE(refused(against({"--connect-to", "i:1"}), "--connect-to"));
    EXPECT_TRUE(refused(against({"--connection", "sticky", "--balance", "session"}),
                        "--connection sticky"));
    EXPECT_TRUE(refused(against({"--save-prompts", "f"}), "--save-prompts"));
    const ReplayCommandLine alone =
        parse_replay_options({"trace.jsonl", "--dry-run", "--against", "http://g:1"}, "");
    EXPECT_TRUE(says(alone.text, "give the first with --url"));
}

/// What is said of the command; empty: it runs.
std::string said(const std::string& extra, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"t.jsonl", "--url", "http://h:8000", "--extra-body", extra};
    words.insert(words.end(), more.begin(), more.end());
    const ReplayCommandLine line = parse_replay_options(words, "");
    return line.kind == ReplayCommandLine::Kind::run ? "" : line.text;
}

TEST(ExtraBody, ReplacesAllButThePrompt) {
    const std::string held = " contains the prompt and cannot be replaced; remove it";
    EXPECT_TRUE(says(said(R"({"top_p":1,"messages":[]})"), "--extra-body: \"messages\"" + held));
    EXPECT_TRUE(says(said(R"({"input":""})", {"--api", "openai-responses"}), "\"input\"" + held));
    const std::string form = std::string(TEST_DATA) + "/templates/ollama.json";
    EXPECT_TRUE(says(said(R"({"prompt":"x"})", {"--api", "template", "--template", form}),
                     "\"prompt\"" + held));
    EXPECT_NE(said(R"({"messages":[]})", {"--dry-run"}), "");
    EXPECT_TRUE(
        says(said(R"({"options":1})", {"--api", "ollama"}), "\"options\" has other members"));
    EXPECT_EQ(said(R"({"options":{"num_ctx":4096}})", {"--api", "ollama"}), "");
    EXPECT_EQ(said(R"({"temperature":1,"stream_options":null,"model":"x","max_tokens":3})"), "");
    EXPECT_EQ(said("{}"), "");
    EXPECT_EQ(said(R"({"priority":"{kept.prio}","r":"{row}"})", {"--keep", "prio"}), "");
    EXPECT_TRUE(says(said(R"({"priority":"{kept.prio}"})"), "add --keep prio"));
    EXPECT_TRUE(says(said(R"({"priority":"{rwo}"})"), "--extra-body: {rwo} is not one of {row}"));
    EXPECT_TRUE(says(said(R"({"u":"{user}"})"), "add --users N"));
    EXPECT_EQ(said(R"({"regex":"[a-z]{3}"})"), "");
}

TEST(NewFlag, IsWhereverFlagsAreByOneDeclaration) {
    static constexpr Choices<bool> kinds{{"few", false}, {"many", true}};
    TypedServer server;
    ReplayOptions options;
    bool many = false;
    std::string text;
    CommandParser parser = replay_parser(server, options);
    parser.flags.group("Host");
    parser.flags.value("--new-kind", "KIND", "how many: {}", "many", kinds, many);
    parser.flags.value("--new-file", "FILE", "as in it [none]", text,
                       watching | of_sweep | no_probe(": there is none"));
    parser.flags.value("--new-url", "URL", "a place", text, resumable | hides(mask_url));
    parser.flags.on_off("--new-once", "now", many, of_one_run | not_setting);
    CommandLine line;
    EXPECT_EQ(parser.parse({"--help=all"}, line), "");
    EXPECT_TRUE(says(line.text, "--new-kind KIND             how many: few, many [many]\n"));
    EXPECT_EQ(parser.parse({"--help=new-kind"}, line), "");
    EXPECT_TRUE(says(line.text, "Host:\n  --new-kind KIND"));
    const FlagTable flags = parser.table();
    const std::vector<CommandPages> pages{{"replay", "plays", {flags}}};
    EXPECT_TRUE(says(man_page(pages[0], {"1", "2026-11-25"}), "\\-\\-new\\-kind"));
    const std::vector<Completed> all = completed_words(pages, {}, {});
    EXPECT_TRUE(says(bash_completion(all), "'replay --new-kind') reply='few many'"));
    EXPECT_TRUE(says(bash_completion(all), "'replay --new-file') reply='/'"));
    EXPECT_TRUE(says(bash_completion(all), " --new-kind --new-file --new-url --new-once'"));
    EXPECT_TRUE(says(zsh_completion(all), "'--new-kind=[how many: few, many]:KIND:(few many)'"));
    EXPECT_TRUE(says(fish_completion(all), " -l new-kind -x -a 'few many' -d 'how many: few,"));

    const Words given = words_of("--new-kind=few --new-file=f --new-url=http://u:w@h --new-once");
    const Words kept = words_of("--new-kind=few --new-file=/here/f --new-url=http://***@h");
    EXPECT_EQ(arguments_to_keep(given, "/here", flags), kept);
    EXPECT_EQ(mask_command({given[2], "--new-url", "u:w@h"}, flags),
              words_of("--new-url=http://***@h --new-url ***@h"));
    EXPECT_TRUE(says(recall(kept, {}, false, flags).refused, "a key in --new-url"));
    EXPECT_EQ(recall(kept, {given[2]}, false, flags).arguments,
              (Words{kept[0], kept[1], given[2]}));
    EXPECT_EQ(flag_not_to_resume_with({given[2]}, {}, flags), "");
    EXPECT_EQ(flag_not_to_resume_with(given, {}, flags), "--new-kind");
    EXPECT_EQ(differing_settings(given, {}, beside_settings, flags).first,
              "--new-kind=few --new-file=f --new-url=http://u:w@h");
    EXPECT_EQ(differing_settings({}, given, beside_sending, flags).second,
              "--new-kind=few --new-url=http://u:w@h");
    EXPECT_EQ(sending_settings(given, flags), (Words{given[0], given[2]}));
    EXPECT_TRUE(is_flag_of_sweep("new-file", flags));
    EXPECT_FALSE(is_flag_of_sweep("new-kind", flags));
    EXPECT_EQ(why_not_in_probe({given[0], given[2]}, flags), "");
    EXPECT_EQ(why_not_in_probe(given, flags),
              "--new-file after -- cannot be used in a probe: there is none");
    // Sweep and find pass a flag on that they do not know, and each flag of their own is refused.
    const SweepCommandLine sweep =
        parse_sweep_options(words_of("t.jsonl --url http://a --over new-kind=few,many"));
    EXPECT_EQ(sweep.kind, CommandLine::Kind::run) << sweep.text;
    const FindCommandLine find = parse_find_options(
        words_of("t.jsonl --url http://a --slo ttft:p50<1s --over rate -- --new-kind few"));
    EXPECT_EQ(find.kind, CommandLine::Kind::run) << find.text;
    EXPECT_TRUE(is_flag_of_sweep("help"));
    EXPECT_EQ(why_not_in_probe({"--speed=2", "--seed", "1"}),
              "--seed after -- cannot be used in a probe; give it before --");
    EXPECT_EQ(why_not_in_probe({"--grow=ttft:2s"}),
              "--grow after -- cannot be used in a probe: it changes the load within a run");
}

/// What only the first and only the second has.
std::string difference(const Words& a, const Words& b) {
    const auto [first, second] = differing_settings(a, b);
    return first + "|" + second;
}

TEST(Settings, AreComparedByWhatTheyMean) {
    for (const char* typed : {"--chunks=full",
                              "--connection=reuse",
                              "--stamps=full",
                              "--engines=1",
                              "--period=10",
                              "--period=10000ms",
                              "--replicate=1",
                              "--wait-ready=0",
                              "--drain=1m",
                              "--gap=end-to-start",
                              "--on-failure=end-tree",
                              "--start-within=0:0%",
                              "--metrics=auto",
                              "--user-ramp=0",
                              "--live-keep=tools,text",
                              "--arm-ahead=2000ms",
                              "--sample-sessions=100%",
                              "--certify-within=5000us",
                              "--certify-within=sent:5ms read:5ms",
                              "--extra-body={}",
                              "--endpoint=/v1/chat/completions",
                              "--header=Authorization: ***",
                              "--block-cache=1024k",
                              "--abandon=none"}) {
        EXPECT_EQ(difference({typed}, {}), "|") << typed;
    }
    for (const auto& [a, b] : {
             std::pair("--timeout-idle=4s", "--timeout-idle=4000ms"),
             std::pair("--budget-input=500k/m", "--budget-input=500000/m"),
             std::pair("--header=X-a: b", "--header=x-A:b"),
             std::pair("--record-header=X-Pod", "--record-header=x-pod"),
             std::pair("--extra-body={\"a\": \"b c\"}", "--extra-body={ \"a\":\"b c\" }"),
             std::pair("--abandon=10%:2s..1m", "--abandon=0.1:2000ms..60s"),
             std::pair("--start-within=0.25:0.5", "--start-within=25%:50%"),
             std::pair("--on-failure=retry:3", "--on-failure=retry:03"),
             std::pair("--event=+1m label x", "--event=+60s label x"),
             std::pair("--replicate-within=60", "--replicate-within=1m"),
             std::pair("--extra-body={\"a\":1,\"b\":[\"A\"]}",
                       "--extra-body={\"b\":[\"\\u0041\"],\"a\":1.0}"),
             std::pair("--certify-within=sent:5ms,read:6ms", "--certify-within=read:6ms sent:5ms"),
             std::pair("--stop-when=ttft:p99 > 10s for 30s",
                       "--stop-when=ttft:p99>10000ms for 30s"),
             std::pair("--keep=a,b", "--keep=b,a"),
             std::pair("--goodput=ttft:200 tpot:50", "--goodput=tpot:50ms,ttft:0.2s"),
         }) {
        EXPECT_EQ(difference({a}, {b}), "|") << a << " " << b;
    }
    for (const auto& [a, b] : {
             std::pair("--timeout-idle=4s", "--timeout-idle=5s"),
             std::pair("--header=a: b", "--header=a: B"),
             std::pair("--header=a", "--header=b"),
             std::pair("--extra-body={\"a\":\"b c\"}", "--extra-body={\"a\":\"bc\"}"),
             std::pair("--extra-body={\"a\":\"\\\" c\"}", "--extra-body={\"a\":\"\\\"c\"}"),
             std::pair("--extra-body={\"a\":[1,2]}", "--extra-body={\"a\":[2,1]}"),
             std::pair("--extra-body={\"a\":9007199254740993}",
                       "--extra-body={\"a\":9007199254740992}"),
             std::pair("--certify-within=4ms", "--certify-within=sent:4ms read:4ms"),  // the error
             std::pair("--stop-when=ttft:p99>10s", "--stop-when=ttft:p99>=10s"),
             std::pair("--wait=spin", "--wait=sleep"),
             std::pair("--abandon=10%:2s..10s", "--abandon=10%:2s..10ms"),
             std::pair("--budget-input=500k/s", "--budget-input=30M/m"),  // buckets of other sizes
             std::pair("--event=+1s run a 60", "--event=+1s run a 1m"),
             std::pair("--user=1", "--user=1.0"),
             std::pair("--user=none", "--user=some"),
             std::pair("--metrics=auto", "--metrics=none"),
         }) {
        const bool is_default = std::string_view(a) == "--metrics=auto";
        EXPECT_EQ(difference({a}, {b}), (is_default ? "" : a) + std::string("|") + b);
    }
    EXPECT_EQ(difference({"--user=none"}, {}), "--user=none|") << "no default, but a name";
    EXPECT_EQ(difference({"--metrics=auto", "--metrics=http://h:1"}, {"--metrics=http://h:1"}),
              "--metrics=auto|");
}

// What find and sweep give to their own runs.

TEST(DryRun, LeavesOutWhatOnlyAServerCanAnswer) {
    EXPECT_EQ(arguments_of_dry_run(words_of("t --reset-cache --verify-prompts 2 --speed 2 "
                                            "--verify-prompts=3 --seed=1")),
              words_of("t --speed 2 --seed=1 --dry-run"));
}

TEST(Probes, TakeNoFlagOfOneRunOrOfShards) {
    for (const char* flag : {"--save-prompts", "--shard", "--start-at", "--meet"}) {
        EXPECT_TRUE(says(why_not_in_probe({"--speed", "2", flag, "0/2"}),
                         std::string(flag) + " after -- cannot be used in a probe: "));
    }
    EXPECT_EQ(why_not_in_probe(words_of("--shard none --reset-cache --verify-prompts 2")), "");
    EXPECT_EQ(why_not_in_probe({"--shard=none"}), "");
}

TEST(FlagTable, SplitsDefaultsAndKnowsFilesWordsAndUnits) {
    const Flag flag = make_flag({"--wait"}, "HOW", "spin or sleep [auto (spin)]", "Host");
    EXPECT_EQ(std::tuple(flag.help, flag.standard), std::tuple("spin or sleep", "auto (spin)"));
    EXPECT_EQ(make_flag({"--x"}, "N", "from [0, 1] on", "").standard, "");
    EXPECT_EQ(make_flag({"--x"}, "N", "one; repeatable", "").is_repeatable(), true);
    for (const char* unit : {"FILE", "FILE|DIR", "NAME|FILE", "auto|none|FILE", "RUN", "DIR"}) {
        EXPECT_TRUE(make_flag({"--x"}, unit, "", "").takes_file()) << unit;
    }
    for (const char* unit : {"", "PATH", "PROFILE", "N", "K:V"}) {
        EXPECT_FALSE(make_flag({"--x"}, unit, "", "").takes_file()) << unit;
    }
    EXPECT_EQ(possible_values("is not Text; use ids (arrays of 4 K), or ids"),
              words_of("is not use ids arrays of or"));
    EXPECT_EQ(unit_words("auto|none|FILE"), words_of("auto none"));
    EXPECT_TRUE(unit_words("").empty());
    EXPECT_TRUE(unit_words("FILE").empty());
}

}  // namespace
}  // namespace driftless
