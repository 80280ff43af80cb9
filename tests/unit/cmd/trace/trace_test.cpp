// inspect, convert and like: their flags and what they print.

#include "cmd/trace/trace.hpp"

#include "tests/unit/cmd/reading/make_trace.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// The salt is read from a file or the environment, and is long enough, or the refusal says so.

namespace {

std::string from_env(const char* value, std::string& salt) {
    ::setenv("DRIFTLESS_TEST_SALT", value, 1);
    const std::string why = read_salt("", "DRIFTLESS_TEST_SALT", salt);
    ::unsetenv("DRIFTLESS_TEST_SALT");
    return why;
}

TEST(Salt, HasItsLimitsAndComesFromAFile) {
    std::string salt;
    EXPECT_TRUE(says(from_env("123456789012345", salt), "holds 15 bytes"));
    EXPECT_EQ(from_env("1234567890123456", salt), "");
    EXPECT_EQ(salt, "1234567890123456");
    EXPECT_EQ(from_env(std::string(4096, 'x').c_str(), salt), "");
    EXPECT_TRUE(says(from_env(std::string(4097, 'x').c_str(), salt), "4097"));
    EXPECT_TRUE(says(from_env("                    ", salt), "holds 0 bytes"));
    EXPECT_TRUE(says(read_salt("", "DRIFTLESS_TEST_NOT_SET", salt), "openssl rand"));
    const ScratchFolder folder;
    const std::string path = folder.write("salt", "a salt of some bytes\r\n");
    std::string read;
    EXPECT_EQ(read_salt(path, "", read), "");
    EXPECT_EQ(read, "a salt of some bytes");
    std::filesystem::remove(path);
    EXPECT_TRUE(says(read_salt(path, "", read), "No such file"));
}

ConvertOptions parsed(const std::vector<std::string>& arguments) {
    const ConvertCommandLine line = parse_convert_options(arguments);
    EXPECT_EQ(line.kind, ConvertCommandLine::Kind::run) << line.text;
    return line.options;
}

std::string refusal(const std::vector<std::string>& arguments) {
    const ConvertCommandLine line = parse_convert_options(arguments);
    EXPECT_EQ(line.kind, ConvertCommandLine::Kind::refused);
    return line.text;
}

TEST(ConvertOptions, HaveDefaultsAndTakeEverything) {
    const ConvertOptions options = parsed({"t.jsonl", "-o", "out.jsonl"});
    EXPECT_EQ(options.files.paths, std::vector<std::string>{"t.jsonl"});
    EXPECT_EQ(std::tuple(options.out, options.target, options.plan.speed.numerator),
              std::tuple("out.jsonl", &canonical_target, 1U));
    EXPECT_EQ(options.load.copies.count, 1U);
    EXPECT_FALSE(options.load.sample);
    const ConvertOptions other_options = parsed(words_of(
        "a b --out=o.gz --to mooncake --start 1s --end 2m --limit 7 --speed 2.5 --spread --seed 9 "
        "--replicate 3 --sample-sessions 50% --format qwen --keep x,y --lenient"));
    EXPECT_EQ(other_options.target, &mooncake_target);
    EXPECT_EQ(other_options.plan.start_ns, 1'000'000'000);
    EXPECT_EQ(other_options.plan.end_ns, 120'000'000'000);
    EXPECT_EQ(other_options.plan.limit, 7U);
    EXPECT_EQ(other_options.plan.speed.numerator, 5U);
    EXPECT_TRUE(other_options.plan.spread);
    EXPECT_EQ(other_options.load.seed, 9U);
    EXPECT_EQ(other_options.load.copies.count, 3U);
    EXPECT_EQ(other_options.load.sample->billionths, 500'000'000U);
    EXPECT_EQ(other_options.files.keep.size(), 2U);
    EXPECT_TRUE(other_options.files.lenient);
}

TEST(ConvertOptions, RefuseWithARemedyAndShowExamples) {
    EXPECT_TRUE(says(refusal({"-o", "x"}), "no trace is given"));
    EXPECT_TRUE(says(refusal({"t"}), "--out is missing"));
    EXPECT_TRUE(says(refusal({"t", "-o", "x", "--to", "csv"}), "canonical, mooncake"));
    EXPECT_TRUE(says(refusal({"t", "-o", "x", "--start", "2", "--end", "1"}), "later than"));
    EXPECT_TRUE(says(refusal({"t", "-o", "x", "--sped", "2"}), "did you mean --speed"));
    const auto logs = [](std::vector<std::string> more) {
        more.insert(more.begin(), {"l", "-o", "o", "--from-logs"});
        return refusal(more);
    };
    EXPECT_TRUE(says(logs({}), "needs --tokenizer"));
    EXPECT_TRUE(says(logs({"--tokenizer", "t"}), "--salt-file FILE or --salt-env"));
    EXPECT_TRUE(says(logs({"--tokenizer", "t", "--salt-file", "a", "--salt-env", "b"}),
                     "needs either --salt-file"));
    EXPECT_TRUE(
        says(logs({"--tokenizer", "t", "--salt-file", "a", "--format", "qwen"}), "--log-format"));
    EXPECT_TRUE(says(refusal({"t", "-o", "o", "--salt-file", "s"}), "need --from-logs; add it"));
    const ConvertOptions options =
        parsed(words_of("l.jsonl -o o --from-logs --tokenizer t.json --salt-file s --log-format "
                        "otel --block-size 32"));
    EXPECT_TRUE(options.logs.wanted);
    EXPECT_EQ(options.logs.format, "otel");
    EXPECT_EQ(options.logs.tokenizer, "t.json");
    EXPECT_EQ(std::tuple(options.logs.salt_file, options.files.block_size), std::tuple("s", 32U));
    const ConvertCommandLine line = parse_convert_options({"--help"});
    EXPECT_EQ(line.kind, ConvertCommandLine::Kind::help);
    EXPECT_TRUE(says(line.text, {"driftless convert trace.jsonl -o", "[canonical]"}));
}

TEST(LikeOptions, TakeEverythingOrRefuse) {
    const LikeCommandLine line = parse_like_options(
        words_of("weka --trees 40 --users 8 --seed 3 --sessions open -o x.gz --to mooncake"));
    ASSERT_EQ(line.kind, LikeCommandLine::Kind::run) << line.text;
    EXPECT_EQ(std::tuple(line.command.like.trees, line.command.like.users), std::tuple(40U, 8U));
    EXPECT_EQ(std::tuple(line.command.like.seed, line.command.out), std::tuple(3U, "x.gz"));
    EXPECT_EQ(line.command.target, &mooncake_target);
    EXPECT_EQ(line.command.files.sessions, Sessions::open);
    EXPECT_EQ(parse_like_options({"--help"}).kind, LikeCommandLine::Kind::help);
    const auto refuses = [](const std::vector<std::string>& arguments, const char* text) {
        const LikeCommandLine refused = parse_like_options(arguments);
        EXPECT_EQ(refused.kind, LikeCommandLine::Kind::refused);
        EXPECT_TRUE(says(refused.text, text));
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

// What inspect shows: the same figures as its JSON, plots where they are asked for.

std::string shown(const Trace& trace, const InspectCommand& command = {}) {
    Result<InspectFigures> figures = inspect_trace(trace, {});
    CHECK(figures);
    return inspect_table(trace, figures.value(), command);
}

/// 3 of 5 blocks and 9 of 17 tokens hit: 1 2 again, then 1.
Trace sharing() {
    return make_trace(4, TailRule::ceil, {{0, 7, {1, 2}}, {1, 7, {1, 2}}, {2, 3, {3}}});
}

TEST(InspectTable, TellsWhatIsShared) {
    const std::string text = shown(sharing());
    EXPECT_TRUE(says(
        text, {"ids                    3 in 5 references", "chained: equal ids mean equal prefixes",
               "partial blocks         2 ids, 1 of them in several rows",
               "prompts                1 all known, 0 known in part, 2 all new",
               "ideal hit rate         40.00 % of blocks, 41.18 % of tokens"}));
    EXPECT_TRUE(says(text, "usable by a server     23.53 % of tokens"));  // one full block of 17
    EXPECT_TRUE(says(text, {"\n           1             4     20.00 %     23.53 %\n",
                            "\n           2             8     40.00 %     41.18 %\n"}));
    InspectCommand command{.token_bytes = 1024};
    const std::string in_bytes = shown(sharing(), command);
    EXPECT_TRUE(
        says(in_bytes, "\n           2             8   8.00 KiB     40.00 %     41.18 %\n"));
    EXPECT_TRUE(says(in_bytes, "cache bytes for this share of it"));
    EXPECT_FALSE(says(shown(sharing()), "█"));
    command = {};
    command.plot = true;
    const std::string plots = shown(sharing(), command);
    EXPECT_TRUE(says(plots, {"40.00 %     41.18 %  |██████████████████████████████|\n",
                             "\nRows in every 1ms\n           1 |███|\n",
                             "Working set: distinct blocks used in every 1ms\n",
                             "Input tokens of a row\n                2 - 3 |"}));
}

// Requests in words: nobody counted their tokens.
TEST(InspectTable, ShowsWhatTheTraceHas) {
    Trace trace = make_trace(0, TailRule::ceil, {{0, 0, {}}, {1, 0, {}}});
    const std::string text = shown(trace);
    EXPECT_TRUE(says(text, "\n  input            not recorded\n"));
    EXPECT_FALSE(says(text, "input tokens"));
    EXPECT_TRUE(says(text, "\n  output                    7 "));
    const std::string bare = shown(make_trace(0, TailRule::ceil, {{0, 5, {}}, {1, 5, {}}}));
    EXPECT_FALSE(says(bare, "Sharing"));
    EXPECT_FALSE(says(bare, "Sessions"));
    EXPECT_FALSE(says(bare, "file "));
    EXPECT_TRUE(says(bare, "largest instant        1 row at 0.000 s"));
    const std::string other_text =
        shown(make_trace(4, TailRule::ceil, {{0, 8, {1, 2}}, {1, 8, {2, 1}}}));
    EXPECT_TRUE(says(
        other_text,
        "block contents: 100.00 % at more than one position, 100.00 % after more than one other"));
    EXPECT_FALSE(says(other_text, "Cache blocks"));  // nothing hits at any size
    trace = sharing();
    trace.files = {{"a/very/long/folder/of/traces/first.json", 0}, {"second.json", 2}};
    const std::string listed = shown(trace);
    EXPECT_TRUE(says(listed, {"...er/of/traces/first.json", "50.00 %   50.00 %\nsecond.json"}));
    InputErrors errors;
    errors.add({});
    EXPECT_EQ(refused_line("bad.csv", errors), "bad.csv                    refused: 1 error\n");
}

InspectCommand inspect_parsed(const std::vector<std::string>& arguments) {
    const InspectCommandLine line = parse_inspect_options(arguments);
    EXPECT_EQ(line.kind, InspectCommandLine::Kind::run) << line.text;
    return line.command;
}

std::string inspect_refusal(const std::vector<std::string>& arguments) {
    const InspectCommandLine line = parse_inspect_options(arguments);
    EXPECT_EQ(line.kind, InspectCommandLine::Kind::refused);
    return line.text;
}

TEST(InspectOptions, TakeEverythingOrAreRefused) {
    const InspectCommand command = inspect_parsed({"t.jsonl"});
    EXPECT_EQ(command.files.paths, std::vector<std::string>{"t.jsonl"});
    EXPECT_FALSE(command.each || command.plot || command.json);
    EXPECT_TRUE(command.inspect.block_sizes.empty());
    EXPECT_EQ(command.inspect.max_model_len, 0U);
    EXPECT_EQ(command.inspect.plan.seed, 0U);
    EXPECT_EQ(std::tuple(command.token_bytes, command.hash_block_report), std::tuple(0U, ""));
    const InspectCommand other_command =
        inspect_parsed(words_of("a b --format qwen --sessions open --lenient --start 1s --end 2m "
                                "--limit 7 --seed 3 --block-sizes 512,1024 --kv-bytes 320k "
                                "--max-model-len 131072 --plot --json --hash-block-report r.json"));
    EXPECT_EQ(other_command.files.paths, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(other_command.files.format, "qwen");
    EXPECT_TRUE(other_command.files.sessions == Sessions::open && other_command.files.lenient);
    EXPECT_EQ(other_command.inspect.plan.start_ns, 1'000'000'000);
    EXPECT_EQ(other_command.inspect.plan.end_ns, 120'000'000'000);
    EXPECT_EQ(other_command.inspect.plan.limit, 7U);
    EXPECT_EQ(other_command.inspect.plan.seed, 3U);
    EXPECT_EQ(other_command.inspect.block_sizes, (std::vector<std::uint32_t>{512, 1024}));
    EXPECT_EQ(other_command.token_bytes, 320U * 1024);
    EXPECT_EQ(other_command.inspect.max_model_len, 131'072U);
    EXPECT_TRUE(other_command.plot && other_command.json);
    EXPECT_EQ(other_command.hash_block_report, "r.json");
    EXPECT_TRUE(inspect_parsed({"a", "--each"}).each);
    EXPECT_TRUE(says(inspect_refusal({}), "name a file, a directory or -"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--block-sizes", "512,,1"}), "use 512,1024"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--block-sizes", "0"}), "use 512,1024"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--start", "2s", "--end", "1s"}), "later than --start"));
    EXPECT_TRUE(
        says(inspect_refusal({"t", "--each", "--hash-block-report", "r"}), "remove --each"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--json", "--hash-block-report", "-"}), "name a file"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--map"}), "--map needs a value (K=COLUMN,..)"));
    EXPECT_TRUE(says(inspect_refusal({"t", "--plots"}), "did you mean --plot?"));
    const InspectCommandLine line = parse_inspect_options({"--help"});
    EXPECT_EQ(line.kind, InspectCommandLine::Kind::help);
    EXPECT_TRUE(says(line.text, "\n  driftless inspect trace.jsonl\n"));
    std::size_t begin = 0;
    for (std::size_t end; (end = line.text.find('\n', begin)) != line.text.npos; begin = end + 1) {
        EXPECT_LE(end - begin, 100U) << line.text.substr(begin, end - begin);
    }
}

}  // namespace
}  // namespace driftless
