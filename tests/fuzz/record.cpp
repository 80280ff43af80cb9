// Any line is read as a record or refused; what was read is written and read again to the same
// bytes.
#include "proto/record/record.hpp"

#include <string>
#include <vector>

#include "proto/core/check.hpp"
#include "proto/json/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace driftless;
    static JsonDocument document;
    const std::vector<char> copy(data, data + size);  // its own allocation: no reading past it
    const Result<Record> record = read_record(document, {copy.data(), copy.size()});
    if (!record) {
        CHECK(record.error().doing[0] != '\0');
        return 0;
    }
    std::string line;
    append_jsonl(line, record.value());
    const Result<Record> back = read_record(document, line);
    CHECK(static_cast<bool>(back));
    std::string again;
    append_jsonl(again, back.value());
    CHECK(line == again);
    return 0;
}
