// Any bytes as run.json, and as the lines of each file of a run: read or refused with a reason, and
// no record or open row is counted twice. The first byte says which file the rest is.
#include <vector>

#include "engine/history/past.hpp"

using namespace driftless;

namespace {

void check(const Result<void>& added) {
    CHECK(added || added.error().doing[0] != '\0');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::vector<char> copy(data + 1, data + size);  // its own allocation: no reading past it
    const std::string_view text(copy.data(), copy.size());
    if (data[0] % 4 == 0) {
        static JsonDocument document;
        const Result<RunFacts> facts = read_run_facts(document, text);
        CHECK(facts ? !facts.value().segments.empty() : facts.error().doing[0] != '\0');
        return 0;
    }
    Past past(RunFacts{});
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string_view line = text.substr(at, end - at);
        switch (data[0] % 4) {
            case 1:
                check(past.add_record(line));
                break;
            case 2:
                check(past.add_fired(line));
                break;
            default:
                check(past.add_sample(line));
        }
        at = end == text.npos ? text.size() : end + 1;
    }
    CHECK(past.summary().figures().rows == past.records());
    for (const auto& [row, left] : past.open()) {
        CHECK(!past.has_record(row) && past.known_ns() >= left.fired_ns);
    }
    return 0;
}
