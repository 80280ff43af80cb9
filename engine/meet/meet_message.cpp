#include "engine/meet/meet_message.hpp"

#include <array>
#include <limits>

#include "proto/json/utf8.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

using Kind = MeetMessage::Kind;

struct KindName {
    Kind kind;
    const char* name;
};
constexpr std::array<KindName, 9> kinds{
    KindName{Kind::hello, "hello"},       KindName{Kind::measure, "measure"},
    KindName{Kind::ask, "ask"},           KindName{Kind::tell, "tell"},
    KindName{Kind::measured, "measured"}, KindName{Kind::start, "start"},
    KindName{Kind::set, "set"},           KindName{Kind::go, "go"},
    KindName{Kind::refused, "refused"}};

bool read_text(JsonValue from, std::string& out) {
    const auto text = from.as_string();
    if (!text || text->size() > meet_text_bytes_max) {
        return false;
    }
    out = *text;
    return true;
}

bool read_number(JsonValue from, std::uint32_t& out) {
    const auto number = from.as_u64();
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
        return false;
    }
    out = static_cast<std::uint32_t>(*number);
    return true;
}

bool read_stamp(JsonValue from, std::int64_t& out) {
    const auto stamp = from.as_i64();
    out = stamp.value_or(0);
    return stamp && *stamp >= 0;
}

bool read_hello(JsonValue from, MeetHello& out) {
    std::string phase;
    const bool known = read_text(from.find("phase"), phase) &&
                       read_number(from.find("index"), out.index) &&
                       read_number(from.find("count"), out.count) &&
                       read_text(from.find("version"), out.version) &&
                       read_text(from.find("trace"), out.trace_digest) &&
                       read_text(from.find("plan"), out.plan_digest);
    out.phase = phase == "after" ? MeetPhase::after : MeetPhase::before;
    return known && (phase == "before" || phase == "after") && out.index < out.count;
}

/// What belongs to its kind.
bool read_members(JsonValue from, MeetMessage& out) {
    switch (out.kind) {
        case Kind::hello:
            return read_hello(from, out.hello);
        case Kind::ask:
            return read_stamp(from.find("t1"), out.stamps.t1_ns);
        case Kind::tell:
            return read_stamp(from.find("t1"), out.stamps.t1_ns) &&
                   read_stamp(from.find("t2"), out.stamps.t2_ns) &&
                   read_stamp(from.find("t3"), out.stamps.t3_ns);
        case Kind::start:
            return read_stamp(from.find("at"), out.at_ns);
        case Kind::refused:
            return read_text(from.find("why"), out.why);
        case Kind::measure:
        case Kind::measured:
        case Kind::set:
        case Kind::go:
            return true;
    }
    return false;
}

/// As much of a reason as the other side takes: whole characters, and a line that is not too long
/// with its escapes.
std::string_view cut_reason(std::string_view why) {
    constexpr std::size_t bytes_max =
        meet_line_bytes_max - std::string_view(R"({"say":"refused","why":""})").size();
    why = why.substr(0, meet_text_bytes_max);
    constexpr std::string_view short_escapes = "\"\\\b\f\n\r\t";
    std::size_t kept = 0;
    std::size_t written = 0;
    for (const char c : why) {
        written += short_escapes.find(c) != short_escapes.npos ? 2
                   : static_cast<unsigned char>(c) < 0x20      ? 6
                                                               : 1;
        kept += written <= bytes_max ? 1 : 0;
    }
    why = why.substr(0, kept);
    return why.substr(0, utf8_valid_prefix(why));
}

void write_members(JsonWriter& json, const MeetMessage& message) {
    if (message.kind == Kind::hello) {
        const MeetHello& hello = message.hello;
        json.key("phase").string(hello.phase == MeetPhase::after ? "after" : "before");
        json.key("index").unsigned_integer(hello.index);
        json.key("count").unsigned_integer(hello.count);
        json.key("version").string(hello.version);
        json.key("trace").string(hello.trace_digest);
        json.key("plan").string(hello.plan_digest);
    }
    if (message.kind == Kind::ask || message.kind == Kind::tell) {
        json.key("t1").integer(message.stamps.t1_ns);
    }
    if (message.kind == Kind::tell) {
        json.key("t2").integer(message.stamps.t2_ns);
        json.key("t3").integer(message.stamps.t3_ns);
    }
    if (message.kind == Kind::start) {
        json.key("at").integer(message.at_ns);
    }
    if (message.kind == Kind::refused) {
        json.key("why").string(cut_reason(message.why));
    }
}

}  // namespace

std::string to_line(const MeetMessage& message) {
    std::string line;
    JsonWriter json(line);
    json.begin_object();
    for (const KindName& one : kinds) {
        if (one.kind == message.kind) {
            json.key("say").string(one.name);
        }
    }
    write_members(json, message);
    json.end_object();
    line += '\n';
    return line;
}

std::optional<MeetMessage> read_meet_message(std::string_view line, JsonDocument& document) {
    if (line.size() > meet_line_bytes_max) {
        return {};
    }
    const Result<JsonValue> root = document.parse(line);
    if (!root || !root.value().is(JsonType::object)) {
        return {};
    }
    const auto said = root.value().find("say").as_string();
    for (const KindName& one : kinds) {
        if (said == one.name) {
            MeetMessage message;
            message.kind = one.kind;
            return read_members(root.value(), message) ? std::optional(message) : std::nullopt;
        }
    }
    return {};
}

}  // namespace driftless
