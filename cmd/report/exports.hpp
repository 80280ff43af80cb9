/// The files that `report` writes beside its screen: which were asked for, and writing them; and a
/// run as a trace for ui.perfetto.dev (`--perfetto`), its packets and slices.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"

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

// `--csv DIR`: a run as four tables: requests.csv, periods.csv, summary.csv, definitions.csv.

/// Makes the folder if it does not exist; `force` overwrites files. Returns the exit code; errors
/// are printed.
int write_csv_folder(const ReportedRun& run, const std::string& folder, bool force);

// `--markdown FILE`: a run on one page of Markdown, for the summary of a CI job: verdict and
// outcome, then load, latencies, cache and drift, each threshold with pass or fail, and groups.

std::string markdown_summary(const ReportedRun& run);

// `--junit FILE`: a run as a test report that CI systems read: a case for the verdict, and one for
// each threshold of `--fail-if`.
//
// The elements are those that Ant's JUnit task writes and CI systems have agreed on: `testsuites`,
// `testsuite`, `testcase`, `failure`, `skipped` (github.com/testmoapp/junitxml lists them).

/// `--markdown` and `--junit`, as asked for. Returns the exit code; errors are printed.
int write_ci_files(const CiFiles& files, const ReportedRun& run);

/// The same of a run that failed before its first request: the case for the verdict is an error.
/// `suite` is the trace's name, `why` one line.
int write_ci_failure(const CiFiles& files, const std::string& suite, const std::string& why);

/// The XML. The verdict fails if the run is not trustworthy or rows have no record; it is skipped
/// if there is no calibration to judge by.
std::string junit_report(const ReportedRun& run);

// PerfettoTrace: a trace of Perfetto's TrackEvent packets, appended to a string: tracks, slices,
// instants.
//
// A trace is a sequence of packets, each complete by itself: a truncated file opens up to its last
// whole packet, and two traces one after the other are one trace. Fields and their numbers:
// perfetto.dev/docs/reference/synthetic-track-event and
// perfetto.dev/docs/reference/trace-packet-proto.

enum class ArgumentKind : std::uint8_t { integer, number, boolean, text };

/// What a slice or an instant says of itself (a debug annotation).
struct TraceArgument {
    std::uint32_t name = 0;  ///< index among the names that `begin` was given
    ArgumentKind kind = ArgumentKind::integer;
    std::int64_t integer = 0;  ///< a boolean: 0 or 1
    double number = 0;
    std::string_view text{};
};

class PerfettoTrace {
  public:
    /// `sequence`, not 0, tells traces apart that are put one behind the other. The caller owns
    /// `out` and may empty it between the calls.
    PerfettoTrace(std::string& out, std::uint32_t sequence) : out_(out), sequence_(sequence) {}

    /// The first packet: the names of all arguments, which packets then refer to by number.
    void begin(std::span<const std::string_view> argument_names);
    /// Tells of a track before anything is on it. `uuid` is unique among all traces that are put
    /// together; `parent` 0: none. Tracks of one name and parent are shown as one.
    void track(std::uint64_t uuid, std::uint64_t parent, std::string_view name);

    // `at_ns` is never negative. Slices of a track must nest, and begin and end in the order of
    // time; of equal times the order of the calls counts.
    void slice_begin(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                     std::span<const TraceArgument> arguments = {});
    void slice_end(std::uint64_t track, std::int64_t at_ns);
    void instant(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                 std::span<const TraceArgument> arguments = {});

  private:
    void event(std::uint32_t type, std::uint64_t track, std::int64_t at_ns, std::string_view name,
               std::span<const TraceArgument> arguments);

    std::string& out_;
    std::uint32_t sequence_;
};

// LaneSlices: records become slices on the tracks of lanes. Rows in, packets out; it holds the
// ends of what is on each track, and no records.

/// What the tracks of one run have in common.
struct RunOfTracks {
    std::int64_t zero_ns = 0;    ///< time 0 of the run, UTC
    std::uint64_t identity = 0;  ///< a number that no other run has
    std::string_view name;       ///< for people
};

class LaneSlices {
  public:
    /// The columns of records and of events are the names of arguments, in this order. Makes the
    /// first tracks.
    LaneSlices(PerfettoTrace& trace, const std::vector<Figure>& columns,
               const std::vector<Figure>& event_columns, const RunOfTracks& run);

    /// One record. It becomes one slice, from its due instant to its end, with its stages inside;
    /// a row that was never sent becomes an instant.
    void add(const TableRow& row);
    /// An event of the run: an instant at its beginning, or where it should have begun.
    void add_event(const TableRow& row);

  private:
    /// Places of the columns that slices are made of.
    struct Columns {
        std::size_t row, segment, connection, reused, due, fired, connect, wire, sent, first_token,
            last_token, done, ended, shard;
    };
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

    struct EventColumns {
        std::size_t first_name, what, at, begin;
    };

    static Columns columns_of(const std::vector<Figure>& columns);
    static std::optional<Stages> stages_of(const TableRow& row, const Columns& at);
    std::uint64_t track_for(const TableRow& row, const Stages& stages);
    std::uint64_t new_track(std::uint64_t parent, std::string_view name);
    void slice(std::uint64_t track, std::string_view name, std::int64_t from, std::int64_t to);
    std::int64_t utc(std::int64_t ns) const { return zero_ns_ + ns; }

    PerfettoTrace& trace_;
    Columns at_;
    EventColumns event_at_;
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

// `--perfetto FILE`: a run as a trace for ui.perfetto.dev: a track per lane with its requests and
// their stages, how late each row left, and the events of the run.
//
// Instants are UTC in ns, so that the traces of several runs lie beside each other. A record
// becomes one slice, with all that the record says; what is not known of it is left out.

/// Never writes over a file. Returns the exit code; what failed is printed.
int write_perfetto(const ReportedRun& run, const std::string& path);

}  // namespace driftless
