// The flags of a run survive run.json, and what is given anew replaces them; secrets do not.
#include "cmd/flags/settings.hpp"

#include <gtest/gtest.h>

#include "cmd/flags/replay_options.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

// Whatever way it was typed, what is kept is parsed to the same arguments again.
TEST(Recall, KeptArgumentsParseToThemselves) {
    const Texts typed = {"a.jsonl",
                         "b.jsonl",
                         "--base-url",
                         "http://h:1/x",
                         "--num-prompts",
                         "7",
                         "--spread",
                         "--goodput",
                         "ttft:200",
                         "tpot:50",
                         "--label",
                         "k=v=w",
                         "--label",
                         "l=m",
                         "--map",
                         "time=a,in=b,out=c",
                         "--no-preflight",
                         "--model",
                         "m",
                         "--header",
                         "X-Team: a=b",
                         "--extra-body={\"a\": 1}"};
    const ReplayCommandLine line = parse_replay_options(typed, "");
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    const Texts kept = arguments_to_keep(line.arguments, "/here");
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
}

TEST(Recall, KeepsNoSecretAndNoPlace) {
    const Texts kept = arguments_to_keep(
        {"-", "/abs.jsonl", "--api-key=sk-secret", "--header=X-Api-Key: 123456", "--header=A: b",
         "--out=dir", "--output-path=f", "--resume=r", "--from=f", "--resend", "--tokenizer=t.json",
         "--calibration=none", "--dry-run", "--save-prompts=p", "--spread"},
        "/here");
    EXPECT_EQ(kept,
              (Texts{"-", "/abs.jsonl", "--api-key=***", "--header=X-Api-Key:***", "--header=A: b",
                     "--tokenizer=/here/t.json", "--calibration=none", "--spread"}));
}

// A run is taken up again from any folder: files and sockets are where they were.
TEST(Recall, KeepsPathsWhole) {
    EXPECT_EQ(
        arguments_to_keep(words_of("--ca=ca.pem --cert=/c.pem --key=k/k.pem --url=unix:s "
                                   "--url=unix:/s --url=http://h/unix:s --connect-to=UNIX:t/s "
                                   "--connect-to=unix:@s --endpoint=unix:s --model=unix:s"),
                          "/here"),
        words_of("--ca=/here/ca.pem --cert=/c.pem --key=/here/k/k.pem --url=unix:/here/s "
                 "--url=unix:/s --url=http://h/unix:s --connect-to=unix:/here/t/s "
                 "--connect-to=unix:@s --endpoint=unix:/here/s --model=unix:s"));
}

TEST(Recall, GivenFlagsReplaceKeptOnes) {
    const Texts kept = {"t.jsonl",   "--url=http://a",   "--url=http://b", "--port=9",
                        "--speed=2", "--endpoint=/v1/x", "--header=A: 1",  "--header=B: 2"};
    EXPECT_EQ(recall(kept, {"--from=r", "--url=http://c", "--header=a: 3"}, false).arguments,
              (Texts{"t.jsonl", "--speed=2", "--endpoint=/v1/x", "--header=B: 2", "--url=http://c",
                     "--header=a: 3"}));
    EXPECT_EQ(recall(kept, {"u.jsonl", "--speed=3"}, false).arguments.back(), "--speed=3");
    EXPECT_EQ(recall(kept, {"u.jsonl"}, false).arguments.back(), "u.jsonl");
    EXPECT_EQ(recall({"--endpoint=http://a/v1"}, {"--url=http://b"}, false).arguments,
              Texts{"--url=http://b"});
    const Texts proxied = {"--url=http://a", "--connect-to=p:1"};
    EXPECT_EQ(recall(proxied, {"--url=http://b"}, false).arguments, Texts{"--url=http://b"});
    EXPECT_EQ(recall(proxied, {"--connect-to=q:1"}, false).arguments,
              (Texts{"--url=http://a", "--connect-to=q:1"}));
}

// What was never recorded must come again, from the flag or from the environment.
TEST(Recall, MaskedValuesAreAskedFor) {
    const Texts key = {"t.jsonl", "--api-key=***"};
    EXPECT_TRUE(says(recall(key, {}, false).refused, "--api-key"));
    EXPECT_EQ(recall(key, {}, true).arguments, Texts{"t.jsonl"});
    EXPECT_EQ(recall(key, {"--api-key=new"}, false).arguments, (Texts{"t.jsonl", "--api-key=new"}));
    const Texts header = {"t.jsonl", "--header=X-Api-Key:***"};
    EXPECT_TRUE(says(recall(header, {}, true).refused, "X-Api-Key"));
    EXPECT_EQ(recall(header, {"--header=x-api-key: 1"}, false).refused, "");
    const Texts body = {"t.jsonl", R"(--extra-body={"a":1,"api_key":"***"})"};
    EXPECT_TRUE(says(recall(body, {}, true).refused, "--extra-body"));
    EXPECT_EQ(recall(body, {"--extra-body={}"}, false).arguments,
              (Texts{"t.jsonl", "--extra-body={}"}));
    EXPECT_EQ(recall({R"(--extra-body={"user":"a:b@c"})"}, {}, false).refused, "");
    EXPECT_TRUE(says(recall({"-"}, {}, false).refused, "standard input"));
    EXPECT_EQ(recall({"-"}, {"t.jsonl"}, false).arguments, Texts{"t.jsonl"});
}

TEST(Recall, OnlyWhatDoesNotChangeTheRunGoesWithResume) {
    EXPECT_EQ(
        flag_not_to_resume_with({"t.jsonl", "--resume=r", "--resend", "--url=http://a",
                                 "--connect-to=p:1", "--header=A: b", "--cpu=1", "--grace=1s"},
                                {}),
        "");
    EXPECT_EQ(flag_not_to_resume_with({"--resume=r", "--seed=1"}, {}), "--seed");
    EXPECT_EQ(flag_not_to_resume_with({"--resume=r", "--out=x"}, {}), "--out");
    const Texts kept = {R"(--extra-body={"a":1,"api_key":"***"})"};
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"a":1,"api_key":"sk-2"})"}, kept), "");
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"a":2,"api_key":"sk-2"})"}, kept),
              "--extra-body");
    EXPECT_EQ(flag_not_to_resume_with({R"(--extra-body={"a":1})"}, {}), "--extra-body");
}

}  // namespace
}  // namespace driftless
