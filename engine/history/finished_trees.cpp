#include "engine/history/finished_trees.hpp"

#include "engine/history/run_lines.hpp"
#include "engine/stats/tree_figures.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

std::optional<std::uint64_t> count_finished_trees(const std::string& records_path) {
    std::string why;
    Result<RunLines> lines = RunLines::open(records_path, why);
    if (!lines) {
        return std::nullopt;
    }
    TreeFigures trees;
    JsonDocument document;
    while (const auto line = lines.value().next()) {
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return std::nullopt;
        }
        trees.add(record.value());
    }
    return lines.value().error() ? std::nullopt : std::optional(trees.totals(0).finished);
}

}  // namespace driftless
