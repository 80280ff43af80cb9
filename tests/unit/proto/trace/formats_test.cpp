// Every format of logs gives the same calls of the same service, however its bytes are cut.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/unit/proto/trace/log_reading.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string file(const std::string& name) {
    return read_bytes(TEST_DATA "/logs/" + name);
}

struct Export {
    const char* name;
    const char* format;
};
constexpr Export exports[] = {{"litellm.jsonl", "litellm"},
                              {"langfuse.jsonl", "langfuse"},
                              {"otel.json", "otel"},
                              {"otlp.jsonl", "otel"},
                              {"plain.jsonl", "plain"}};

TEST(LogFormats, HoldTheSameCalls) {
    const LogReading plain = read_log(file("plain.jsonl"));
    ASSERT_EQ(plain.calls.size(), 4U) << plain.first_error();
    for (const Export& one : exports) {
        const LogReading got = read_log(file(one.name));
        EXPECT_EQ(got.format, one.format);
        ASSERT_EQ(got.calls.size(), 4U) << one.name << ": " << got.first_error();
        EXPECT_TRUE(got.errors.empty()) << got.first_error();
        for (std::size_t i = 0; i < 4; ++i) {
            const LogCall& a = got.calls[i];
            const LogCall& b = plain.calls[i];
            EXPECT_EQ(a.start_ns, b.start_ns) << one.name;
            EXPECT_EQ(a.end_ns, b.end_ns) << one.name;
            EXPECT_EQ(a.session, b.session) << one.name;
            EXPECT_EQ(a.failed, i == 0) << one.name;
            ASSERT_EQ(a.prompt.size(), b.prompt.size()) << one.name;
            for (std::size_t m = 0; m < a.prompt.size(); ++m) {
                EXPECT_EQ(a.prompt[m].role, b.prompt[m].role) << one.name;
                EXPECT_EQ(a.prompt[m].text, b.prompt[m].text) << one.name;
            }
            EXPECT_FALSE(a.id.empty());
            EXPECT_FALSE(a.model.empty());
            if (i > 0) {
                EXPECT_EQ(a.answer, b.answer) << one.name;
                EXPECT_EQ(a.input_tokens, b.input_tokens) << one.name;
                EXPECT_EQ(a.output_tokens, b.output_tokens) << one.name;
            }
        }
    }
}

// Expectations by hand, not by another importer.
TEST(LogFormats, SayWhatTheScriptWrote) {
    const LogReading got = read_log(file("plain.jsonl"));
    ASSERT_EQ(got.calls.size(), 4U);
    EXPECT_EQ(got.calls[1].start_ns, 1'767'607'200'000'000'000);
    EXPECT_EQ(got.calls[3].start_ns, 1'767'607'204'125'000'000);
    EXPECT_EQ(got.calls[3].end_ns, 1'767'607'205'000'000'000);
    EXPECT_EQ(got.calls[3].prompt.size(), 4U);
    EXPECT_EQ(got.calls[3].prompt[2].role, "assistant");
    EXPECT_EQ(got.calls[3].input_tokens, 397U);
    EXPECT_EQ(got.calls[3].output_tokens, 21U);
    EXPECT_EQ(got.calls[3].answer, "Yes, until Friday noon.");
    EXPECT_EQ(got.calls[3].session, "conversation-alpha");
    EXPECT_EQ(got.calls[3].streamed, true);
}

TEST(LogFormats, DoNotDependOnCuts) {
    for (const Export& one : exports) {
        const std::string text = file(one.name);
        const std::string whole = as_text(read_log(text));
        EXPECT_EQ(as_text(read_log(text, "", {}, 1)), whole) << one.name;
        for (std::size_t piece = 2; piece < 600; ++piece) {
            ASSERT_EQ(as_text(read_log(text, "", {}, piece)), whole) << one.name << " by " << piece;
        }
    }
}

// Cut anywhere, a log gives the calls whose lines are whole, and a complaint that quotes no text.
TEST(LogFormats, NameALineThatBreaksOff) {
    const std::string text = file("litellm.jsonl");
    for (std::size_t size = 1; size < text.size(); ++size) {
        const LogReading got = read_log(std::string_view(text).substr(0, size));
        const auto lines = static_cast<std::size_t>(
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
        const bool at_end = text[size - 1] == '\n' || text[size] == '\n';
        EXPECT_EQ(got.errors.count, at_end ? 0U : 1U) << size << got.first_error();
        EXPECT_EQ(got.calls.size(), lines + (at_end && text[size] == '\n' ? 1 : 0)) << size;
        EXPECT_FALSE(says(got.first_error(), "Marzipan"));
    }
}

TEST(LogFormats, AreFoundOrNamed) {
    EXPECT_TRUE(says(read_log("{\"a\":1}\n").first_error(), "keys of a known log"));
    EXPECT_TRUE(says(read_log("{}\n", "csv").first_error(), "litellm"));
    EXPECT_TRUE(says(read_log("time,prompt\n1,2\n").first_error(), "is not a JSON object"));
    EXPECT_TRUE(says(read_log("[1]\n").first_error(), "is not a JSON object"));
    EXPECT_TRUE(read_log("").errors.empty());
    EXPECT_TRUE(read_log("[]\n").errors.empty());
}

TEST(LogFormats, KeepWhatIsAsked) {
    const LogReading got = read_log(file("litellm.jsonl"), "", {"model_group", "cache_hit"});
    ASSERT_EQ(got.calls.size(), 4U);
    EXPECT_EQ(got.calls[0].kept, R"({"model_group":"harbour","cache_hit":false})");
    const LogReading spans = read_log(file("otlp.jsonl"), "", {"gen_ai.request.model"});
    ASSERT_EQ(spans.calls.size(), 4U);
    EXPECT_EQ(spans.calls[0].kept, R"({"gen_ai.request.model":"harbour-7b"})");
    EXPECT_TRUE(says(read_log(file("plain.jsonl"), "", {"modle"}).first_error(), "modle"));
}

// As jq writes them: objects over several lines, one behind the other.
TEST(LogFormats, MayStandOverSeveralLines) {
    const std::string lines = file("litellm.jsonl");
    std::string spread;
    for (const char c : lines) {
        spread += c;
        spread += c == '{' || c == '}' ? "\n" : "";  // the log has none of them in its strings
    }
    const LogReading got = read_log(spread);
    const LogReading plain = read_log(lines);
    EXPECT_EQ(got.first_error(), "");
    EXPECT_EQ(as_text(got), as_text(plain));
    const LogReading broken = read_log("{\n\"id\": 1,}\n" + spread);
    EXPECT_EQ(broken.errors.count, 1U) << as_text(broken);
}

}  // namespace
}  // namespace driftless
