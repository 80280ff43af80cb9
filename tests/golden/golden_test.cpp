// Wire bytes mean what the golden files say, whole, byte by byte and cut at every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "proto/api/dialect.hpp"
#include "proto/http/parsers.hpp"
#include "proto/http/sse.hpp"
#include "proto/json/write.hpp"
#include "tests/golden/cases.hpp"

namespace driftless {

// gtest would print its bytes.
void PrintTo(const GoldenCase& golden, std::ostream* out) {
    *out << golden.name;
}

namespace {

std::string in_quotes(std::string_view text) {
    std::string out;
    JsonWriter(out).string(text);
    return out;
}

std::string count(std::int64_t number) {
    return number < 0 ? "?" : std::to_string(number);
}

std::string describe(const EventReading& reading) {
    switch (reading.kind) {
        case EventReading::Kind::done:
            return "done";
        case EventReading::Kind::ignored:
            return "ignored" + (reading.unread_member.empty()
                                    ? ""
                                    : " unread=" + in_quotes(reading.unread_member));
        case EventReading::Kind::bad:
            return "bad";
        case EventReading::Kind::error:
            return "error " + in_quotes(reading.error_message);
        case EventReading::Kind::delta:
            break;
    }
    std::string out = "delta";
    const auto add = [&out](const char* name, std::string_view text) {
        out += text.empty() ? "" : std::string(" ") + name + in_quotes(text);
    };
    add("id=", reading.response_id);
    add("content=", reading.content);
    out += reading.repeats_text ? " repeats" : "";
    add("reasoning=", reading.reasoning);
    add("tool=", reading.tool_text);
    out += reading.token_ids < 0 ? "" : " ids=" + std::to_string(reading.token_ids);
    out += reading.token_bearing ? " token" : "";
    add("finish=", reading.finish_reason);
    add("error=", reading.error_message);
    add("unread=", reading.unread_member);
    if (reading.has_usage) {
        out += " usage=" + count(reading.prompt_tokens) + "/" + count(reading.completion_tokens) +
               "/" + count(reading.cached_tokens) + (reading.usage_is_running ? "+" : "");
    }
    return out;
}

// What a client reads: the same chain of parsers that replay uses, with everything written down.
class Client {
  public:
    explicit Client(const Dialect& dialect) : dialect_(dialect) { scanner_.reset(dialect.framing); }

    void feed(std::string_view bytes) {
        while (!over_) {
            const ResponseParser::Step step = parser_.feed(bytes);
            bytes.remove_prefix(step.consumed);
            switch (step.piece) {
                case ResponsePiece::head_bytes:
                    head_ += step.span;
                    break;
                case ResponsePiece::head_done:
                    seen_ += "head " + std::to_string(parser_.status()) + " " +
                             std::string(header_value(head_, "content-type")) + "\n";
                    break;
                case ResponsePiece::body:
                    read_body(step.span);
                    break;
                case ResponsePiece::done:
                    end(parser_.keep_alive() ? "complete keep" : "complete close");
                    break;
                case ResponsePiece::error:
                    end(parser_.head_too_large() ? "too large" : "error");
                    break;
                case ResponsePiece::need_more:
                    EXPECT_TRUE(bytes.empty());
                    return;
            }
        }
    }

    std::string finish(bool closes) {
        if (!over_ && closes) {
            end(parser_.finish() ? "complete close" : "truncated");
        } else if (!over_) {
            end("open");
        }
        return seen_;
    }

  private:
    void read_body(std::string_view bytes) {
        while (!bytes.empty()) {
            const std::size_t cut = scanner_.next(bytes);
            block_ += bytes.substr(0, cut == 0 ? bytes.size() : cut);
            bytes.remove_prefix(cut == 0 ? bytes.size() : cut);
            if (cut != 0) {
                const SseEvent event = read_cut_event(dialect_.framing, block_, joined_);
                EXPECT_EQ(event.has_data && scanner_.cut_keep_alive(), false);
                seen_ += event.has_data ? describe(dialect_.read(document_, event.name, event.data))
                                        : "ping";
                seen_ += "\n";
                block_.clear();
            }
        }
    }
    void end(const std::string& how) {
        if (scanner_.pending()) {
            seen_ += "partial " + in_quotes(block_) + "\n";
        }
        seen_ += "end " + how + "\n";
        over_ = true;
    }

    const Dialect& dialect_;
    ResponseParser parser_;
    EventScanner scanner_;
    JsonDocument document_;
    std::string head_;
    std::string block_;
    std::string joined_;
    std::string seen_;
    bool over_ = false;
};

// The reading that was `seen`; the first, and a failure, where it was none of them.
std::string expected_of(const GoldenCase& golden, const std::string& seen) {
    for (const GoldenReading& reading : golden.readings) {
        if (reading.lines == seen) {
            return seen;
        }
    }
    EXPECT_EQ(seen, golden.readings.at(0).lines);
    return golden.readings.at(0).lines;
}

class Golden : public testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, MeansTheSameForEverySplit) {
    const GoldenCase& golden = GetParam();
    ApiTemplate form;
    std::optional<Dialect> described;
    constexpr std::string_view templates = "template:";
    if (golden.dialect.starts_with(templates)) {
        form = sample_template(golden.dialect.substr(templates.size()));
        described = dialect_of(form);
    }
    const Dialect* const dialect = described ? &*described : find_dialect(golden.dialect);
    ASSERT_NE(dialect, nullptr) << golden.dialect;
    Client whole(*dialect);
    whole.feed(golden.wire);
    const std::string expected = expected_of(golden, whole.finish(golden.closes));

    Client bytewise(*dialect);
    for (const char byte : golden.wire) {
        bytewise.feed({&byte, 1});
    }
    EXPECT_EQ(bytewise.finish(golden.closes), expected) << "byte by byte";

    for (std::size_t at = 1; at < golden.wire.size(); ++at) {
        Client split(*dialect);
        split.feed(std::string_view(golden.wire).substr(0, at));
        split.feed(std::string_view(golden.wire).substr(at));
        ASSERT_EQ(split.finish(golden.closes), expected) << "split at " << at;
    }
}

INSTANTIATE_TEST_SUITE_P(, Golden, testing::ValuesIn(all_golden_cases()),
                         [](const testing::TestParamInfo<GoldenCase>& test) {
                             std::string name = test.param.name;
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return !isalnum(static_cast<unsigned char>(c)); },
                                 '_');
                             return name;
                         });

}  // namespace
}  // namespace driftless
