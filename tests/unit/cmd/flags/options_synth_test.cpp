// The flags of synth: defaults, refusals that name flag, value and remedy, and a help for each
// kind.
#include <gtest/gtest.h>

#include <sstream>

#include "cmd/flags/synth_values.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

SynthCommandLine parsed(const std::string& line) {
    std::istringstream words(line);
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) {
        arguments.push_back(word);
    }
    return parse_synth_options(arguments);
}

TEST(SynthOptions, HaveDefaults) {
    const SynthCommandLine line = parsed("random");
    ASSERT_EQ(line.kind, SynthCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.out, "-");
    EXPECT_EQ(line.options.target, &canonical_target);
    EXPECT_EQ(line.options.spec.arrivals.per_second, 1);
    const RandomSpec& spec = *std::get_if<RandomSpec>(&line.options.spec.kind);
    EXPECT_EQ(spec.rows, 1000U);
    EXPECT_EQ(spec.input.low, 1024);
    EXPECT_EQ(parsed("prefix --to mooncake").options.spec.block_size, 512U);
    EXPECT_EQ(parsed("prefix").options.spec.block_size, 16U);
}

TEST(SynthOptions, HelpWithEachKind) {
    EXPECT_TRUE(says(parsed("--help").text, "stress reactivation"));
    for (const char* kind :
         {"random", "prefix", "chat", "agents", "stress reuse", "stress working-set",
          "stress offload", "stress compaction", "stress reactivation", "stress fan-out"}) {
        const SynthCommandLine line = parsed(std::string(kind) + " --help");
        EXPECT_EQ(line.kind, SynthCommandLine::Kind::help);
        EXPECT_TRUE(says(line.text, "--seed"));
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
