// Any bytes are a line of server.jsonl or are not; what is one, written anew, means the same.
#include <variant>

#include "proto/core/errors.hpp"
#include "proto/run/server_log.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

std::string written(const ServerLine& line) {
    std::string out;
    if (const auto* const series = std::get_if<ServerSeries>(&line); series != nullptr) {
        append_server_series(out, *series);
    } else {
        append_server_scrape(out, std::get<ServerScrape>(line));
    }
    return out;
}

void fuzz_server_line(std::string_view bytes) {
    JsonDocument document;
    const Result<ServerLine> line = read_server_line(document, bytes);
    if (line) {
        const std::string text = written(line.value());
        const Result<ServerLine> again = read_server_line(document, text);
        CHECK(again);
        CHECK(written(again.value()) == text);
    }
}

const FuzzTargets server_line_target = {{"server_line", fuzz_server_line}};

}  // namespace
}  // namespace driftless
