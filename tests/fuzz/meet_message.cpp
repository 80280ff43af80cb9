// Any line of who meets: refused whole, or a message that is written and read back as itself. Any
// text as the reason of a refusal makes a line that the other side can read.
#include "engine/machines/meet.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void check_same(const MeetMessage& a, const MeetMessage& b) {
    CHECK(a.kind == b.kind && a.at_ns == b.at_ns && a.why == b.why);
    CHECK(a.hello.phase == b.hello.phase && a.hello.index == b.hello.index);
    CHECK(a.hello.count == b.hello.count && a.hello.version == b.hello.version);
    CHECK(a.hello.trace_digest == b.hello.trace_digest);
    CHECK(a.hello.plan_digest == b.hello.plan_digest);
    CHECK(a.stamps.t1_ns == b.stamps.t1_ns && a.stamps.t2_ns == b.stamps.t2_ns);
    CHECK(a.stamps.t3_ns == b.stamps.t3_ns && a.stamps.t4_ns == b.stamps.t4_ns);
}

/// A message that is written, as the other side takes it from the connection.
std::optional<MeetMessage> sent(const MeetMessage& message, JsonDocument& document) {
    const std::string line = to_line(message);
    CHECK(line.find('\n') == line.size() - 1 && line.size() - 1 <= meet_line_bytes_max);
    return read_meet_message(std::string_view(line).substr(0, line.size() - 1), document);
}

void check_line(std::string_view line, JsonDocument& document) {
    const std::optional<MeetMessage> read = read_meet_message(line, document);
    if (!read) {
        return;
    }
    CHECK(line.size() <= meet_line_bytes_max);
    CHECK(read->kind != MeetMessage::Kind::hello || read->hello.index < read->hello.count);
    CHECK(read->why.size() <= meet_text_bytes_max && read->at_ns >= 0);
    const std::optional<MeetMessage> back = sent(*read, document);
    CHECK(back.has_value());
    check_same(*read, *back);
}

void check_reason(std::string_view why, JsonDocument& document) {
    MeetMessage message{.kind = MeetMessage::Kind::refused, .why = std::string(why)};
    const std::optional<MeetMessage> back = sent(message, document);
    CHECK(back && back->kind == message.kind);
}

void fuzz_meet_message(std::string_view bytes) {
    static JsonDocument document;
    // Its own allocation: no reading past it.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    check_line({copy.data(), copy.size()}, document);
    check_reason({copy.data(), copy.size()}, document);
}

const FuzzTargets meet_message_target = {{"meet_message", fuzz_meet_message}};

}  // namespace
}  // namespace driftless
