// Fields of an answer's head in its record (`--record-header`): whatever they hold, and whatever
// happens to the answer, the record has every name that was asked for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/record/assembler.hpp"
#include "tests/unit/engine/record/script.hpp"

namespace driftless {
namespace {

using Names = std::vector<std::string>;

// Some rows whose records keep these fields.
struct Recording {
    explicit Recording(const Names& names, std::uint32_t rows = 1, const Names& secrets = {})
        : input(rows), assembler(config(names, secrets)) {
        assembler.begin({script_zero_ns});
    }
    AssemblerConfig config(const Names& names, const Names& secrets) {
        AssemblerConfig config = input.config();
        config.record_headers = names;
        config.secrets = secrets;
        return config;
    }

    ScriptTrace input;
    Assembler assembler;
};

// What a record of row 0 says of an answer with these fields.
std::vector<RecordedHeader> recorded(const Names& names, std::string_view fields,
                                     const Names& secrets = {}) {
    Recording one_row(names, 1, secrets);
    return Script(one_row.assembler).fire(0).head(1, 429, fields).end(2).headers;
}

std::optional<std::string> one(std::string_view fields, const Names& secrets = {}) {
    const std::vector<RecordedHeader> headers = recorded({"Target-Pod"}, fields, secrets);
    EXPECT_EQ(headers.size(), 1u);
    EXPECT_EQ(headers.at(0).name, "Target-Pod");
    return headers.at(0).value;
}

// Names match in any case and are spelled as the user did; of several fields the first holds; one
// that is not there is null, an empty one is not.
TEST(RecordedHeaders, AreFoundByName) {
    EXPECT_EQ(one("target-pod: llama-7\r\n"), "llama-7");
    EXPECT_EQ(one("A: b\r\nTARGET-POD:\t llama-7 \r\ntarget-pod: other\r\n"), "llama-7");
    EXPECT_EQ(one("target-pod:\r\n"), "");
    EXPECT_EQ(one("target-pod-ip: 10.0.0.1\r\n"), std::nullopt);
    EXPECT_TRUE(recorded({}, "target-pod: llama-7\r\n").empty());
    const std::vector<RecordedHeader> two = recorded({"b", "a"}, "A: 1\r\nB: 2\r\n");
    ASSERT_EQ(two.size(), 2u);
    EXPECT_EQ(two[0].name + *two[0].value + two[1].name + *two[1].value, "b2a1");
}

// 255, 256 and 257 bytes; a code point is not cut in two.
TEST(RecordedHeaders, AreCutAtTheirLimit) {
    for (const std::size_t bytes : {recorded_header_bytes_max - 1, recorded_header_bytes_max,
                                    recorded_header_bytes_max + 1}) {
        const std::string value(bytes, 'x');
        EXPECT_EQ(one("target-pod: " + value + "\r\n"), value.substr(0, recorded_header_bytes_max));
    }
    const std::string almost(recorded_header_bytes_max - 1, 'x');
    EXPECT_EQ(one("target-pod: " + almost + "\xC3\xA4\r\n"), almost);
}

// A key that comes back is masked, before the value is cut.
TEST(RecordedHeaders, HoldNoKeys) {
    const std::string key(100, 'k');
    EXPECT_EQ(one("target-pod: pod " + key + "!\r\n", {key}), "pod ***!");
    const std::string far(recorded_header_bytes_max - 50, 'x');
    EXPECT_EQ(one("target-pod: " + far + key + "\r\n", {key}), far + "***");
}

// Nor does what an answer names itself by, wherever the key stands in it.
TEST(ResponseIds, HoldNoKeys) {
    const std::string key(100, 'k');
    for (std::size_t before = 0; before < id_bytes_max; before += 7) {
        const std::string id = "X-Request-Id: " + std::string(before, 'x') + key + "\r\n";
        Recording one_row({}, 1, {key});
        const Record& record = Script(one_row.assembler).fire(0).head(1, 200, id).done(2).end(3);
        EXPECT_EQ(record.response_id.value_or("").find('k'), std::string::npos) << before;
    }
}

// A row that never had a head names what is unknown all the same; so does one that lost it.
TEST(RecordedHeaders, AreNullWithoutAHead) {
    Recording rows({"a", "b"}, 3);
    Assembler& assembler = rows.assembler;
    Script(assembler, 0).fire(0).head(1, 200, "a: 1\r\n").end(2);
    const auto check = [](const Record& record) {
        ASSERT_EQ(record.headers.size(), 2u);
        EXPECT_EQ(record.headers[0].name, "a");
        EXPECT_FALSE(record.headers[0].value || record.headers[1].value);
    };
    check(Script(assembler, 1).fire(0).part(1, "HTTP/1.1 200 OK\r\na: 1\r\n").end(2));
    check(*assembler.next_unended());
}

// A head with a hole where our own buffer was full says nothing: what stands on both sides of the
// hole would be read as one. Its stream is a stream none the less.
TEST(RecordedHeaders, AreNullWhereTheHeadIsDamaged) {
    Recording rows({"Target-Pod"}, 2);
    const auto answer = [&](std::uint32_t row, std::uint8_t flags) {
        Script script(rows.assembler, row);
        script.fire(0).part(1, "HTTP/1.1 200 OK\r\ntarget-pod: llama-");
        script.part(1, flags != 0 ? "" : "7\r\nX-Request-Id: 1\r\nContent-Type: text/event-stream",
                    flags);
        return script.part(1, "\r\n\r\n").head(1, 200, "");
    };
    EXPECT_EQ(answer(0, 0).text(2, "a").done(3).end(4).headers.at(0).value, "llama-7");
    const Record& damaged = answer(1, event_payload_dropped).text(2, "a").done(3).end(4);
    EXPECT_EQ(damaged.headers.at(0).value, std::nullopt);
    EXPECT_EQ(damaged.outcome, Outcome::ok);
    EXPECT_EQ(damaged.tainted, (Names{std::string(taint_payload_dropped)}));
}

// Nor does one of which an entry may be missing altogether.
TEST(RecordedHeaders, AreNullWhereEntriesWereDropped) {
    Recording one_row({"Target-Pod"});
    Script row(one_row.assembler);
    row.fire(0).head(1, 200, "target-pod: lla\r\nX-Request-Id: 1\r\n").done(2);
    Event end = Script::event(EventKind::end, 0, 3);
    end.end = {};
    end.end.entries_dropped = 1;
    const Record& record = row.end_with(end);
    EXPECT_EQ(record.headers.at(0).value, std::nullopt);
    EXPECT_EQ(record.response_id, std::nullopt);
}

// Bytes that are no UTF-8, quotes and control bytes leave as JSON that can be read.
TEST(RecordedHeaders, AreJsonWhateverTheyHold) {
    Recording one_row({"Target-Pod"});
    Script row(one_row.assembler);
    std::string fields = "target-pod: ";
    for (int byte = 1; byte < 256; ++byte) {
        fields += byte == '\r' || byte == '\n' ? 'x' : static_cast<char>(byte);
    }
    std::string line;
    append_jsonl(line, row.fire(0).head(1, 200, fields + "\r\n").end(2));
    JsonDocument document;
    ASSERT_TRUE(document.parse(line));
    const Result<Record> back = read_record(document, line);
    ASSERT_TRUE(back);
    EXPECT_TRUE(back.value().headers.at(0).value->starts_with("\x01\x02\x03"));
}

}  // namespace
}  // namespace driftless
