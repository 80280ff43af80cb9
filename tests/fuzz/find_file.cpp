// Any bytes as a find.json: refused in words, or a search whose command parses or is refused, and
// whose probes, written anew, are read as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cmd/runs/find.hpp"
#include "proto/core/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace driftless;
    KeptSearch kept;
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (!read_search(text, kept).empty()) {
        return 0;
    }
    const FindCommandLine line = parse_find_options(kept.command);
    CHECK(line.kind == FindCommandLine::Kind::run || !line.text.empty());
    if (line.kind != FindCommandLine::Kind::run || !line.options.resume.empty()) {
        return 0;
    }
    SearchReport report;
    report.options = &line.options;
    report.command = kept.command;
    report.probes = kept.probes;
    report.state = "searching";
    const std::string written = find_json(report);
    KeptSearch again;
    CHECK(read_search(written, again).empty());
    CHECK(again.command == kept.command && again.probes.size() == kept.probes.size());
    report.probes = again.probes;
    CHECK(find_json(report) == written);
    return 0;
}
