/// The files that `report` writes beside its screen: which were asked for, and writing them; and a
/// run as a trace for ui.perfetto.dev (`--perfetto`), its packets and slices.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "engine/plan/compressed_files.hpp"

namespace driftless {

/// Paths as typed; empty: not asked for. "-" is standard output where a file is one text.
struct ReportExports {
    std::string csv;
    CiFiles ci;
    std::string perfetto;
    std::string xlsx;
    std::string html;

    /// An export goes to standard output, which then carries nothing else.
    bool take_stdout() const {
        return ci.markdown == "-" || ci.junit == "-" || html == "-" || perfetto == "-";
    }
};

/// Writes what was asked for, and overwrites a file by `--force` alone. Returns the exit code;
/// errors are printed.
int write_exports(const ReportExports& exports, const ReportedRun& run);

/// The lines of a file of the run. Errors: of opening it; `why` says it.
Result<JsonlRows> rows_of(const ReportedRun& run, RunTable table, std::string& why);

/// `--csv DIR`: a run as four tables: requests.csv, periods.csv, summary.csv, definitions.csv.
/// Makes the folder if it does not exist; `force` overwrites files. Returns the exit code; errors
/// are printed.
int write_csv_folder(const ReportedRun& run, const std::string& folder, bool force);

// `--markdown FILE`: a run on one page of Markdown, for the summary of a CI job: verdict and
// outcome, then load, latencies, cache and drift, each threshold with pass or fail, and groups.

// `--junit FILE`: a run as a test report that CI systems read: a case for the verdict, and one for
// each threshold of `--fail-if`. The verdict fails if the run is not trustworthy or rows have no
// record; it is skipped if there is no calibration to judge by.
//
// The elements are those that Ant's JUnit task writes and CI systems have agreed on: `testsuites`,
// `testsuite`, `testcase`, `failure`, `skipped` (github.com/testmoapp/junitxml lists them).

/// `--markdown` and `--junit`, as asked for. Returns the exit code; errors are printed.
int write_ci_files(const CiFiles& files, const ReportedRun& run);

/// The same of a run that failed before its first request: the case for the verdict is an error.
/// `suite` is the trace's name, `why` one line.
int write_ci_failure(const CiFiles& files, const std::string& suite, const std::string& why);

// PerfettoTrace: records and events of a run as a trace of Perfetto's TrackEvent packets, appended
// to a string. Rows in, packets out; it holds the ends of what is on each track, and no records.
//
// A trace is a sequence of packets, each complete by itself: a truncated file opens up to its last
// whole packet, and two traces one after the other are one trace. Fields and their numbers:
// perfetto.dev/docs/reference/synthetic-track-event and
// perfetto.dev/docs/reference/trace-packet-proto.

/// What the tracks of one run have in common.
struct RunOfTracks {
    std::int64_t zero_ns = 0;    ///< time 0 of the run, UTC
    std::uint64_t identity = 0;  ///< a number that no other run has
    std::string_view name;       ///< for people
};

class PerfettoTrace {
  public:
    /// The columns of records and of events are the names of arguments, which packets refer to by
    /// number, in this order. Makes the first tracks. The caller owns all of them, and may empty
    /// `out` between the calls.
    PerfettoTrace(std::string& out, const std::vector<Figure>& columns,
                  const std::vector<Figure>& event_columns, const RunOfTracks& run);

    /// One record. It becomes one slice, from its due instant to its end, with its stages inside;
    /// a row that was never sent becomes an instant.
    void add(const TableRow& row);
    /// An event of the run: an instant at its beginning, or where it should have begun.
    void add_event(const TableRow& row);

  private:
    /// Stamps of a record, ns from time 0. Each is at or behind the one before it, as slices must
    /// be; what the record says itself is among the arguments.
    struct Stages {
        std::int64_t due = 0;
        std::int64_t fired = 0;
        std::int64_t sent = 0;
        std::optional<std::int64_t> first_token;
        std::int64_t last_token = 0;
        std::int64_t end = 0;
    };
    /// A track, and where its last slice ends.
    struct Track {
        std::uint64_t uuid = 0;
        std::int64_t end_ns = 0;
    };
    /// What an event tells of itself (its debug annotations): all that is known of a row.
    struct Arguments {
        const TableRow* row = nullptr;
        std::size_t first_name = 0;  ///< number of the name of its first column
    };

    const TableCell& cell(const TableRow& row, std::string_view column) const {
        return row[place_of(columns_, column)];
    }
    std::optional<std::int64_t> integer(const TableRow& row, std::string_view column) const;
    std::optional<Stages> stages_of(const TableRow& row) const;
    /// The first packet.
    void begin();
    std::uint64_t track_for(const TableRow& row, const Stages& stages);
    /// Tells of a track before anything is on it; `parent` 0: none. Tracks of one name and parent
    /// are shown as one.
    std::uint64_t new_track(std::uint64_t parent, std::string_view name);
    /// `type` is a TrackEvent.Type, `ns` from time 0. Slices of a track must nest, and begin and
    /// end in the order of time; of equal times the order of the calls counts.
    void event(std::uint32_t type, std::uint64_t track, std::int64_t ns, std::string_view name,
               const Arguments& arguments);
    void slice(std::uint64_t track, std::string_view name, std::int64_t from, std::int64_t to);

    std::string& out_;
    const std::vector<Figure>& columns_;
    const std::vector<Figure>& event_columns_;
    std::int64_t zero_ns_;
    std::uint64_t identity_;
    std::uint64_t tracks_ = 0;
    std::uint64_t run_track_ = 0;
    std::uint64_t events_track_ = 0;
    std::uint64_t unsent_track_ = 0;
    /// By shard, segment and number of the lane. A lane has a second track where rows were due on
    /// it before the row before them had ended; Perfetto shows tracks of one name as one.
    std::map<std::array<std::uint64_t, 3>, std::vector<Track>> lanes_;
};

/// `--perfetto FILE`: a track per lane with its requests and their stages, how late each row left,
/// and the events of the run. Instants are UTC in ns, so that the traces of several runs lie beside
/// each other. Never writes over a file. Returns the exit code; what failed is printed.
int write_perfetto(const ReportedRun& run, const std::string& path);

}  // namespace driftless
