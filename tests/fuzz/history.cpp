// Any bytes as run.json, and as the lines of each file of a run: read or refused with a reason, and
// no record or open row is counted twice. The first byte says which file the rest is.
#include "engine/history/past.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void check(const Result<void>& added) {
    CHECK(added || added.error().doing[0] != '\0');
}

void fuzz_history(std::string_view bytes) {
    if (bytes.empty()) {
        return;
    }
    const std::vector<char> copy(bytes.begin() + 1, bytes.end());  // no reading past its end
    const std::string_view text(copy.data(), copy.size());
    const int file = static_cast<std::uint8_t>(bytes[0]) % 4;
    if (file == 0) {
        static JsonDocument document;
        const Result<RunFacts> facts = read_run_facts(document, text);
        CHECK(facts ? !facts.value().segments.empty() : facts.error().doing[0] != '\0');
        return;
    }
    Past past(RunFacts{});
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string_view line = text.substr(at, end - at);
        switch (file) {
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
}

const FuzzTargets history_target = {{"history", fuzz_history}};

}  // namespace
}  // namespace driftless
