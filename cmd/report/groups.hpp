/// Groups: the figures of a run by what its rows have of a key (`report --by`), and by limits of
/// their own (`--goodput "tier=gold ttft:200"`). Owns its sums: about 0.5 MB a group and what
/// Summary says of its rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/report/reported_run.hpp"
#include "engine/stats/summary.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Groups that are told apart; rows of further ones are together in one, `others`.
inline constexpr std::size_t groups_max = 100;

/// A figure of a group.
struct GroupColumn {
    const char* name;   ///< in JSON and CSV
    const char* title;  ///< on the screen; nullptr: not there
    int decimals;
};

struct GroupRow {
    std::string value;
    std::vector<std::optional<double>> figures;  ///< [columns]; nothing: unknown
};

struct GroupTable {
    std::string key;
    std::vector<GroupRow> rows;
};

const std::vector<GroupColumn>& group_columns();

/// A table for each key, and where none is given for each key of the limits (`slos`; those of `run`
/// are judged by). Returns why the records cannot be read, or the empty text.
std::string group_tables(const ReportedRun& run, const std::vector<GroupKey>& keys,
                         const GoodputRules& slos, std::vector<GroupTable>& out);

std::string group_screen(const std::vector<GroupTable>& tables);
/// An array of objects: key, groups.
void write_groups(JsonWriter& json, const std::vector<GroupTable>& tables);
/// Lines of CSV, head first.
std::string group_csv(const std::vector<GroupTable>& tables);

}  // namespace driftless
