// The flags of synth like: defaults, and refusals with their remedies.
#include <gtest/gtest.h>

#include "cmd/trace/trace.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string like_refusal(const std::vector<std::string>& arguments) {
    const LikeCommandLine line = parse_like_options(arguments);
    EXPECT_EQ(line.kind, LikeCommandLine::Kind::refused);
    return line.text;
}

TEST(LikeOptions, TakeEverything) {
    const LikeCommandLine line = parse_like_options(
        words_of("weka --trees 40 --users 8 --seed 3 --sessions open -o x.gz --to mooncake"));
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
    const auto refuses = [](const std::vector<std::string>& arguments, const char* text) {
        const std::string why = like_refusal(arguments);
        EXPECT_TRUE(says(why, text));
    };
    refuses({}, "like needs a trace; name a file, a directory or -");
    refuses({"t", "--trees", "5", "--rows", "6"}, "use only one of them");
    refuses({"t", "--users", "5", "--rate", "6"}, "--users and --rate both set when trees begin");
    refuses({"t", "--trees", "0"}, "--trees \"0\" is not from 1 to 100000000");
    refuses({"t", "--rows", "1000000000000"}, "is not from 1 to 100000000");
    refuses({"t", "--length", "0"}, "must be longer than 0");
    refuses({"t", "--rate", "inf"}, "is not a rate; use 10 (rows a second)");
    refuses({"t", "--users", "0"}, "is not from 1 to 1000000 users");
    refuses({"t", "--turns", "5"}, "unknown flag --turns");
}

}  // namespace
}  // namespace driftless
