// Any bytes as a find.json: refused in words, or a search whose command parses or is refused, and
// whose probes, written anew, are read as the same.

#include "cmd/runs/find.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void fuzz_find_file(std::string_view bytes) {
    SearchReport kept;
    const std::string text(bytes);
    if (!read_search(text, kept).empty()) {
        return;
    }
    const FindCommandLine line = parse_find_options(kept.command);
    CHECK(line.kind == FindCommandLine::Kind::run || !line.text.empty());
    if (line.kind != FindCommandLine::Kind::run || !line.options.resume.empty()) {
        return;
    }
    SearchReport report{.options = &line.options,
                        .command = kept.command,
                        .state = "searching",
                        .probes = kept.probes};
    const std::string written = find_json(report);
    SearchReport again;
    CHECK(read_search(written, again).empty());
    CHECK(again.command == kept.command && again.probes.size() == kept.probes.size());
    report.probes = again.probes;
    CHECK(find_json(report) == written);
}

const FuzzTargets find_file_target = {{"find_file", fuzz_find_file}};

}  // namespace
}  // namespace driftless
