// What commands share: values, exit codes, folders, errors of the host.

#include "cmd/base/values.hpp"

#include <unistd.h>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/server_metrics.hpp"
#include "cmd/base/this_host.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Durations, sizes and counts mean exactly what was typed, or are refused with a reason.

namespace {

std::int64_t duration(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    return ns ? ns.value() : -1;
}

// Every unit, and a bare number as seconds.
TEST(Values, ReadDurationsOfEveryUnitExactly) {
    expect_each(duration, gives("90", 90'000'000'000), gives("1.5s", 1'500'000'000),
                gives("10m", 600'000'000'000), gives("2h", 7'200'000'000'000),
                gives("250ms", 250'000'000), gives("5us", 5'000), gives("80ns", 80), gives("0", 0),
                gives(".5", 500'000'000), gives("2.", 2'000'000'000));
    // No double in between: one nanosecond beside a year stays, as do trailing zeros.
    expect_each(duration, gives("31536000.000000001", 31'536'000'000'000'001),
                gives("0.1", 100'000'000), gives("0.000000001000000000000000000000", 1),
                gives("0.5us", 500), gives("0.25m", 15'000'000'000));
    // As other tools write them: parts with units, each smaller than the one before it.
    expect_each(duration, gives("30m30s", 1'830'000'000'000), gives("1h30m", 5'400'000'000'000),
                gives("1h0.5m2s3ms4us5ns", 3'632'003'004'005));
    for (const char* text : {"30s30m", "1m1m", "1m30", "1h,30m", "1h 30m", "m30s", "1h30"}) {
        EXPECT_EQ(duration(text), -1) << text;
    }
    EXPECT_EQ(duration("878400h"), 3'162'240'000'000'000'000);  // 100 years of 366 days
    EXPECT_EQ(duration("878399h60m"), 3'162'240'000'000'000'000);
    EXPECT_EQ(duration("878400h1ns"), -1);
    for (const char* text : {"", "s", ".", "-1", "+1", "1e3", "1 s", "1.5.2", "1S", "1min", "x"}) {
        EXPECT_EQ(duration(text), -1) << text;
    }
    // At the limits: 1 ns is the finest, 100 years (of 366 days) the longest.
    expect_each(duration, gives("0.5ns", -1), gives("0.0000000001", -1),
                gives("3162240000", 3'162'240'000'000'000'000), gives("3162240001", -1),
                gives("99999999999999999999", -1));
}

// One table reads a word, names a value, and lists the words.
TEST(Choices, ReadNameAndList) {
    static constexpr Choices<int> choices({{"one", 1}, {"two", 2}, {"second", 2}}, "use ", " or ",
                                          " (not zero)");
    EXPECT_EQ(choices("second").value(), 2);
    EXPECT_STREQ(choices("on").error().doing, "use one, two or second (not zero)");
    EXPECT_STREQ(choices("").error().doing, choices("ones").error().doing);
    EXPECT_STREQ(choices.name_of(2), "two");
    EXPECT_STREQ(choices.name_of(3), "");
    EXPECT_EQ(choices.words(), words_of("one two second"));
    EXPECT_STREQ(choices.list(), "one, two or second (not zero)");
}

// What is printed reads back to the same number.
TEST(Values, WriteDurationsAndReadSizesCountsAndLists) {
    expect_each([&](auto in) { return duration_to_text(in); }, gives(0, "0s"),
                gives(1'500'000'000, "1500ms"), gives(600'000'000'000, "10m"), gives(7, "7ns"));
    for (const std::int64_t ns : {1LL, 999LL, 1000LL, 61'000'000'000LL, 7'200'000'000'000LL}) {
        EXPECT_EQ(duration(duration_to_text(ns)), ns);
    }
    const auto bytes = [](std::string_view text) {
        const Result<std::uint64_t> value = parse_bytes(text);
        return value ? static_cast<std::int64_t>(value.value()) : -1;
    };
    expect_each(bytes, gives("4096", 4096), gives("0", 0), gives("64k", 65536),
                gives("64M", 67108864), gives("2GiB", 2147483648), gives("2gB", 2147483648));
    for (const char* text :
         {"", "k", "-1", "1.5M", "1X", "1Mi", "99999999999999999999", "18446744073709551615k"}) {
        EXPECT_EQ(bytes(text), -1) << text;
    }
    EXPECT_EQ(parse_count("18446744073709551615").value(), 18446744073709551615ULL);
    EXPECT_FALSE(parse_count("18446744073709551616") || parse_count("1.0") || parse_count(""));
    EXPECT_TRUE(parse_positive_count("1") && !parse_positive_count("0"));
    EXPECT_EQ(parse_list("a, b,c").value(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_FALSE(parse_list("") || parse_list("a,,b") || parse_list("a,"));
}

// A stage gives its value whole, or the exit code that the command ends with, and never both.

OrExit<std::unique_ptr<int>> half_of(int number) {
    if (number % 2 != 0) {
        return exit_input;
    }
    return std::make_unique<int>(number / 2);
}

TEST(OrExit, HasTheValueOrTheExitCode) {
    OrExit<std::unique_ptr<int>> whole = half_of(8);
    ASSERT_TRUE(whole);
    const std::unique_ptr<int> value = std::move(whole).value();
    EXPECT_EQ(*value, 4);
    const OrExit<std::unique_ptr<int>> refused = half_of(7);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.exit_code(), exit_input);
}

// Whether a run's folder can be made is tried in the nearest folder above it that is there.

// "R/trace_replay": a folder whose name is one letter was taken to be "." or "/", and to be there.
TEST(Folders, TriesAboveFoldersOfOneLetter) {
    namespace fs = std::filesystem;
    const fs::path before = fs::current_path();
    const fs::path scratch =
        fs::temp_directory_path() / ("driftless-folders-" + std::to_string(::getpid()));
    fs::create_directory(scratch);
    fs::current_path(scratch);
    EXPECT_TRUE(try_place("R/trace_replay"));
    EXPECT_TRUE(try_place("R/a/b"));
    EXPECT_TRUE(try_place("run"));
    EXPECT_TRUE(fs::is_empty(scratch)) << "nothing is left behind";
    fs::current_path(before);
    fs::remove_all(scratch);
}

constexpr Error eperm{ErrorCode::denied, EPERM, "set up io_uring"};

// The likeliest cause is named: the sysctl where it is set, else a filter, else the kernel.
TEST(RingErrors, NameTheCauseTheLimitAndTheRemedy) {
    const std::string filtered = ring_refusal(eperm, {.filtered = true, .kernel = "6.8"});
    EXPECT_TRUE(says(filtered, {"cannot set up io_uring on Linux 6.8: ",
                                "seccomp filter forbids it", "driftless help pod.yaml"}));

    const std::string disabled = ring_refusal(eperm, {.disabled = 2, .kernel = "6.8"});
    EXPECT_TRUE(says(disabled, "sysctl kernel.io_uring_disabled=0"));
    EXPECT_FALSE(says(disabled, "seccomp"));

    const Error einval{ErrorCode::unsupported, EINVAL, "set up io_uring"};
    const std::string old = ring_refusal(einval, {.kernel = "5.15"});
    EXPECT_TRUE(says(old, {"on Linux 5.15: ", "Linux 6.1 or newer"}));
    // Where permission is not the matter, no remedy is guessed.
    const Error full{ErrorCode::exhausted, ENOMEM, "set up io_uring"};
    const std::string said = ring_refusal(full, {.filtered = true, .kernel = "6.8"});
    EXPECT_FALSE(says(said, "seccomp"));
    EXPECT_EQ(said.find(';'), std::string::npos);
    // A small limit of locked memory, as containers and older systems have, is named.
    const std::string other_said =
        ring_refusal(full, {.filtered = true, .kernel = "6.8", .locked_kib = 64});
    EXPECT_TRUE(says(other_said, "this user can lock 64 KiB: ulimit -l 8192"));
    EXPECT_TRUE(says(ring_refusal(full, {.locked_kib = 0}), "this user can lock 0 KiB"));
    EXPECT_FALSE(says(other_said, "seccomp"));
    // The host that runs this test has a kernel with a name.
    EXPECT_FALSE(read_ring_bars().kernel.empty());
}

// Tables are read whole or refused with line and reason; each shipped one reads and names an
// engine.

std::string why(std::string_view text) {
    EngineMapping out;
    return read_mapping(text, out);
}

TEST(MappingFile, ReadsRefusesAndCoversTheEngines) {
    const std::string head = "engine = \"x\"\nprefixes = [\"x:\"]\n";
    EXPECT_EQ(why(head + "[[figure]]\nname = \"running\"\nmetrics = \"x:a\"\n"), "");
    EXPECT_EQ(why("engine = \"x\"\nfigure = []\n"), "line 1: prefixes is missing");
    EXPECT_EQ(
        why(head + "[[figure]]\nname = \"runing\"\nmetrics = \"x:a\"\n"),
        "line 3: [[figure]] name \"runing\" is not known; driftless help metrics.md lists all");
    EXPECT_EQ(why(head + "[[figure]]\nname = \"running\"\n"),
              "line 3: [[figure]] running: metrics is missing");
    EXPECT_EQ(why(head + "[[figure]]\nname = \"running\"\nmetrics = \"a\"\nlabel = \"b\"\n"),
              "line 3: [[figure]] running: label needs values, and values need a label");
    EXPECT_EQ(why(head + "gate = 1\n[[figure]]\nname = \"running\"\nmetrics = \"a\"\n"),
              "line 3: gate is not known; remove or correct it");
    std::set<std::string> engines;
    for (const EngineMapping& one : known_mappings()) {
        EXPECT_FALSE(one.sources.empty()) << one.engine;
        engines.insert(one.engine);
    }
    EXPECT_EQ(engines, (std::set<std::string>{"atom", "dynamo", "llamacpp", "power", "sglang",
                                              "tgi", "trtllm", "vllm"}));
    // The refusal of an unknown name points to this page.
    const ShippedFile* const page = find_shipped_file("metrics.md");
    ASSERT_NE(page, nullptr);
    for (std::size_t i = 0; i < server_figures; ++i) {
        const std::string name = name_of(static_cast<ServerFigure>(i));
        EXPECT_TRUE(says(page->text, "`" + name + "`")) << name;
    }
}

}  // namespace
}  // namespace driftless
