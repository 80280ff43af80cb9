/// `driftless report`: the summary of a run, rebuilt from what it wrote (of one that was killed, or
/// still goes on, as far as it came), and what else it makes of the records: tables by group,
/// another tool's view, trees as jobs, the steady part, why rows are slow, how faithful it was.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/reading/prefix_cache.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/reading/why.hpp"
#include "cmd/report/exports.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/summary_table.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/figures/steadiness.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/put.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Groups are made with sums of about 1.3 MB each and what Summary says of their rows.

/// Groups that are told apart; rows of further ones are together in one, `others`.
inline constexpr std::size_t groups_max = 100;

/// A figure of a group.
struct GroupColumn {
    std::string name;   ///< in JSON and CSV
    std::string title;  ///< for people; empty: they do not see it
    int decimals;
    bool has_error = false;  ///< the client may have moved it
};
/// Of what people see.
inline constexpr std::string_view group_units =
    "TTFT, TPOT and E2E in ms; hit % of prompt tokens, and of the hits expected of them; (client): "
    "moved by at most";

const std::vector<GroupColumn>& group_columns();

/// What people see of a group: a head, then lines of as many cells. Behind a figure stands in
/// parentheses how far the client may have moved it.
struct GroupCells {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> lines;
};
GroupCells group_cells(const GroupTable& table);

/// Lines of CSV, head first.
std::string group_csv(const std::vector<GroupTable>& tables);

struct ReportReadings {
    const View* view = nullptr;  ///< nullptr: none
    std::vector<GroupKey> by;
    GoodputRules slos;  ///< before those of the run; of some rows each is a table, too
    bool steady = false;
    std::optional<WhyWish> why;
    bool trees = false;
    bool certificate = false;
    std::string against;  ///< a trace; empty: none

    /// A table by group.
    bool any_groups() const {
        return !by.empty() || std::ranges::any_of(
                                  slos, [](const GoodputRule& one) { return one.key.has_value(); });
    }
    /// Any that is below the summary.
    bool any_below() const {
        return any_groups() || steady || why.has_value() || trees || certificate ||
               !against.empty();
    }
};

/// What readings say.
struct ReadingTexts {
    std::string screen;   ///< below the summary, or instead of it where `own_screen`
    std::string members;  ///< of the JSON object, each with a comma before it
    std::string notes;    ///< lines for standard error
    bool own_screen = false;

    /// One reading: its screen, and its member of the JSON object, which `put_value` writes.
    template <typename Value>
    void add(const char* name, const std::string& text, const Value& value) {
        screen += text;
        members += std::string(",\"") + name + "\":";
        JsonWriter json(members);
        put_value(json, value);
    }
};

// Each adds its texts. They return why a file cannot be read, a line for standard error, or the
// empty text.

/// `--by`: a table for each key, and where none is given for each key of the limits (`slos`;
/// those of `run` are judged by). An array of objects: key, groups; they are in `run`, too.
std::string take_groups(const ReportReadings& readings, ReportedRun& run, ReadingTexts& out);
/// `report --trees`: figures of the sessions that wait for each other, as jobs.
std::string take_trees(const ReportedRun& run, ReadingTexts& out);
/// `report --steady`: the steady part of a run beside the whole of it. A pass over the records, and
/// a second one for few of them.
std::string take_steady(const ReportedRun& run, ReadingTexts& out);
/// `report --why`: what sets the slowest rows apart, in words.
std::string take_why(const ReportedRun& run, const WhyWish& wish, ReadingTexts& out);
/// `report --certificate`: what was admitted and really sent. Two runs with the same certificate
/// played the same work. What the servers made of it is shown beside it, and is not part of it.
std::string take_certificate(const ReportedRun& run, ReadingTexts& out);
/// `report --against TRACE`: how faithful a run is to a trace: arrivals, lengths, sharing and gaps
/// as recorded beside those that were replayed.
std::string take_fidelity(const ReportedRun& run, const std::string& trace, ReadingTexts& out);

/// For `--view`: the requests of the measurement as other tools would have seen them, by row.
/// Memory: 16 bytes a chunk and about 250 a request. Returns why its records cannot be read, or the
/// empty text.
std::string read_viewed_run(const ReportedRun& run, ViewedRun& out);

/// What both sides of the table say.
struct SteadySide {
    std::uint64_t requests = 0;  ///< that left in it
    double seconds = 0;
    double requests_per_s = 0;  ///< answered in it
    /// Of answers within it; of those that it cuts, by their chunks. Nothing where tokens of one
    /// were not counted.
    std::optional<double> tokens_per_s;
    // ns, of those that left in it
    Distribution ttft;
    Distribution ttft_due;
    Distribution tpot;
    Distribution e2e;
};

struct SteadyReading {
    SteadyState state;
    SteadySide whole;
    SteadySide window;
};

/// Finds the steady part of a run from its records, and the figures of that part and of the whole.
/// Owns about 100 bytes a request; reads no file.
class SteadyRun {
  public:
    /// Every record, in the order of the file; its chunks do not matter.
    void add(const Record& record);
    /// Once all were added. Returns the places of those that `add_again` needs, ascending from 0:
    /// whose tokens came partly within the window, so that the stamps of their chunks decide.
    std::vector<std::uint32_t> find();
    void add_again(const Record& record);
    SteadyReading reading() const { return {state_, whole_.figures(), window_.figures()}; }

  private:
    struct Answer {
        std::uint32_t place = 0;
        bool is_whole = false;
        std::int64_t fired_ns = 0;
        OptionalNs ended_ns;
        OptionalNs ttft_ns;  ///< also of those whose does not count
        CountedTimes times;
        std::optional<double> tokens;  ///< that were counted
    };
    struct Side {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
        std::uint64_t requests = 0;
        std::uint64_t answered = 0;
        double tokens = 0;
        bool is_counted = true;
        TimeSamples times;
        bool holds(std::int64_t at_ns) const { return at_ns >= begin_ns && at_ns < end_ns; }
        /// Some of its time is within, and some is not.
        bool cuts(const Answer& answer) const;
        void add(const Answer& answer);
        SteadySide figures() const;
    };

    std::uint32_t added_ = 0;
    std::vector<Answer> answers_;
    SteadyState state_;
    Side whole_;
    Side window_;
};

void put_value(JsonWriter& json, const SteadyReading& reading);

/// "tpot", "10%", "tpot:10%". Errors: invalid.
Result<WhyWish> parse_why(std::string_view text);

/// Gives `records` what the servers of the run said of themselves. Returns why their file cannot be
/// read, or the empty text.
std::string set_servers(const ReportedRun& run, WhyRecords& records);
void write_why(JsonWriter& json, const WhyFinding& finding, const WhyWish& wish);

/// `argv[0]` is the command's name. Returns the exit code.
int run_report(int argc, char** argv);

// What the user asked of `driftless report`. Parsing touches no file.

struct ReportCommand {
    std::string folder;
    bool json = false;
    std::vector<Threshold> fail_if;  ///< empty: those of the run, for its summary alone
    TableKind table = TableKind::compact;
    ReportExports exports;
    ReportReadings readings;
};

struct ReportCommandLine : CommandLine {
    ReportCommand command;
};

ReportCommandLine parse_report_options(const std::vector<std::string>& arguments);

}  // namespace driftless
