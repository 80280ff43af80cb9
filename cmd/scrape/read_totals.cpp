#include "cmd/scrape/read_totals.hpp"

#include <utility>

#include "engine/history/run_lines.hpp"
#include "engine/scrape/server_sums.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

std::optional<ServerTotals> read_totals(const std::string& folder,
                                        std::span<const EngineMapping> mappings,
                                        std::vector<MeasuredSpan> spans, std::string& why) {
    const std::string path = folder + "/server.jsonl";
    why.clear();
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return std::nullopt;
    }
    ServerSums sums(mappings, std::move(spans));
    JsonDocument document;
    while (const std::optional<std::string_view> text = lines.value().next()) {
        const Result<ServerLine> line = read_server_line(document, *text);
        if (!line) {
            why = describe_line(path, lines.value().number(), line.error());
            break;
        }
        sums.add(line.value());
    }
    if (lines.value().error()) {
        why = lines.value().why();
    }
    ServerTotals totals = sums.totals();
    return totals.urls.empty() ? std::nullopt : std::optional(std::move(totals));
}

}  // namespace driftless
