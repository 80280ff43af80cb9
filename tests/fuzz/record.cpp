// Any line is read as a record or refused, the same way whether it is taken just as it is written
// or by JsonDocument (which reads what begins with a blank); what was read is written and read
// again to the same bytes. Of a written
// line, its order is the record's.
#include "proto/run/record.hpp"

#include "proto/run/record_lines.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void check_parsed(const Result<Record>& record, const std::vector<char>& line,
                  JsonDocument& document) {
    const std::string blank = " " + std::string(line.begin(), line.end());
    const Result<Record> parsed = read_record(document, blank);
    CHECK(static_cast<bool>(record) == static_cast<bool>(parsed));
    if (!record) {
        CHECK(record.error().code == parsed.error().code);
        return;
    }
    std::string one;
    std::string other;
    append_jsonl(one, record.value());
    append_jsonl(other, parsed.value());
    CHECK(one == other);
}

void fuzz_record(std::string_view bytes) {
    static JsonDocument document;
    static RecordOrders orders;
    // Its own allocation: no reading past it.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    const Result<Record> record = read_record(document, {copy.data(), copy.size()});
    check_parsed(record, copy, document);
    (void)orders.read({copy.data(), copy.size()});
    if (!record) {
        CHECK(record.error().doing[0] != '\0');
        return;
    }
    std::string line;
    append_jsonl(line, record.value());
    const Result<Record> back = read_record(document, line);
    CHECK(static_cast<bool>(back));
    const Result<RecordOrder> order =
        orders.read(std::string_view(line).substr(0, line.size() - 1));
    CHECK(order && order.value().row == record.value().row);
    CHECK(order.value().due_ns == record.value().due_ns);
    CHECK(order.value().attempt == record.value().attempt);
    CHECK(order.value().pass == record.value().pass && order.value().side == record.value().side);
    std::string again;
    append_jsonl(again, back.value());
    CHECK(line == again);
}

const FuzzTargets record_target = {{"record", fuzz_record}};

}  // namespace
}  // namespace driftless
