// The flags of synth like: defaults, and refusals with their remedies.
#include <gtest/gtest.h>

#include "cmd/trace/synth.hpp"

namespace driftless {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
    const LikeCommandLine line = parse_like_options(arguments);
    EXPECT_EQ(line.kind, LikeCommandLine::Kind::refused);
    return line.text;
}

TEST(LikeOptions, TakeEverything) {
    const LikeCommandLine line =
        parse_like_options({"weka", "--trees", "40", "--users", "8", "--seed", "3", "--sessions",
                            "open", "-o", "x.gz", "--to", "mooncake"});
    ASSERT_EQ(line.kind, LikeCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.command.like.trees, 40U);
    EXPECT_EQ(line.command.like.users, 8U);
    EXPECT_EQ(line.command.like.seed, 3U);
    EXPECT_EQ(line.command.out, "x.gz");
    EXPECT_EQ(line.command.target, &mooncake_target);
    EXPECT_EQ(line.command.files.sessions, Sessions::open);
    EXPECT_EQ(parse_like_options({"--help"}).kind, LikeCommandLine::Kind::help);
}

TEST(LikeOptions, RefuseWithARemedy) {
    const auto says = [](const std::vector<std::string>& arguments, const char* text) {
        const std::string why = refusal(arguments);
        EXPECT_NE(why.find(text), std::string::npos) << why;
    };
    says({}, "like needs a trace; name a file, a directory or -");
    says({"t", "--trees", "5", "--rows", "6"}, "use only one of them");
    says({"t", "--users", "5", "--rate", "6"}, "--users and --rate both set when trees begin");
    says({"t", "--trees", "0"}, "--trees \"0\" is not from 1 to 100000000");
    says({"t", "--rows", "1000000000000"}, "is not from 1 to 100000000");
    says({"t", "--length", "0"}, "must be longer than 0");
    says({"t", "--rate", "inf"}, "is not a rate; use 10 (rows a second)");
    says({"t", "--users", "0"}, "is not from 1 to 1000000 users");
    says({"t", "--turns", "5"}, "unknown flag --turns");
}

}  // namespace
}  // namespace driftless
