/// A run read back from its folder: rebuilt, as every export and reading has it, and passes over
/// its records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "engine/history/past.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/history/run_lines.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// For `report`, which prints it, and for `merge`, which writes what it has put together. `info`
/// refers to `past`: it stays where it is.
struct RebuiltRun {
    explicit RebuiltRun(RunFacts of) : facts(std::move(of)), past(facts) {}
    RebuiltRun(const RebuiltRun&) = delete;
    RebuiltRun& operator=(const RebuiltRun&) = delete;

    RunFacts facts;
    Past past;
    PastFiles files;
    bool live = false;  ///< another process writes it now
    Unrecorded lost;    ///< what left and has no record
    SummaryFigures figures;
    Judgement judged;  ///< by its calibration, or the widest of its shards
    SummaryInfo info;  ///< with verdict, rules and thresholds
};

/// Reads the files in `folder`, whose run.json gave the facts. `fail_if` replaces the run's own
/// thresholds unless it is empty. Returns the exit code, and in `why` what cannot be read; prints
/// on standard error what it had to leave out of the servers' metrics.
int rebuild(const std::string& folder, const std::vector<Threshold>& fail_if, RebuiltRun& run,
            std::string& why);

// Groups: the figures of a run by what its rows have of a key (`report --by`), and by limits of
// their own (`--goodput "tier=gold ttft:200"`). Values; report.hpp makes them.

/// What is known of a group, and how far the client may have moved it.
struct GroupFigure {
    std::optional<double> value = {};    ///< nothing: unknown
    std::optional<ErrorBar> error = {};  ///< in its unit; nothing: unknown, or it has no bar
};

struct GroupRow {
    std::string value;
    std::vector<GroupFigure> figures;  ///< [group_columns]
};

struct GroupTable {
    std::string key;
    std::vector<GroupRow> rows;
    bool has_bars = false;  ///< the run has: an error that is missing is not known
};

/// A run as `report` has read it: what every export is made of. Values and references to them.
struct ReportedRun {
    const std::string& folder;
    const RunFacts& facts;
    const SummaryFigures& figures;
    const SummaryInfo& info;              ///< with the verdict and the thresholds
    std::string summary;                  ///< the text of summary.json
    std::vector<GroupTable> groups = {};  ///< that were asked for

    std::string records_path() const { return facts.records_in(folder); }
};

/// Prints why `report` cannot go on; returns `code`.
int refuse_report(const std::string& why, int code = exit_input);

/// What became of thresholds: those of some rows are judged by a pass over the records of the run.
/// Returns why they cannot be read (then those of some rows fail), or the empty text.
std::string judge_thresholds_in(const std::string& records_path,
                                const std::vector<Threshold>& thresholds,
                                const SummaryFigures& figures, std::vector<ThresholdFinding>& out);

// One pass over the records of a run, for readings that need more than their sums. Reads forward;
// a record is valid until the next.

/// Gives every record of the file to `take`, in the order of the file, and with it its line if
/// `take` wants that. Returns why it cannot be read on, or the empty text.
template <typename Take>
std::string each_record_in(const std::string& path, Take take) {
    std::string why;
    Result<RecordFeed> feed = RecordFeed::open(path, why);
    if (!feed) {
        return why;
    }
    while (const Record* const record = feed.value().next()) {
        if constexpr (std::is_invocable_v<Take, const Record&, std::string_view>) {
            take(*record, feed.value().line());
        } else {
            take(*record);
        }
    }
    const std::optional<Error>& error = feed.value().error();
    return error && feed.value().why().empty() ? describe_line(path, feed.value().number(), *error)
                                               : feed.value().why();
}

template <typename Take>
std::string each_record(const ReportedRun& run, Take take) {
    return each_record_in(run.records_path(), std::move(take));
}

/// Gives only the records at these places of the file, which ascend from 0; others are not parsed.
template <typename Take>
std::string each_record_at(const ReportedRun& run, std::span<const std::uint32_t> places,
                           Take take) {
    std::string why;
    const std::string path = run.records_path();
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return why;
    }
    JsonDocument document;
    std::uint32_t place = 0;
    while (!places.empty()) {  // ends: with the file at the latest
        const auto line = lines.value().next();
        if (!line) {
            break;
        }
        if (place++ != places.front()) {
            continue;
        }
        places = places.subspan(1);
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return describe_line(path, lines.value().number(), record.error());
        }
        take(record.value());
    }
    return lines.value().why();
}

}  // namespace driftless
