/// A run that dies and is resumed, again and again, until it ends: each segment is simulated, dies
/// at any instant and leaves its files as they then are and its marks; the next one finds out from
/// those, by the product's own code, what is left to do. When the host dies, too, marks are gone
/// and files have lost their ends. Servers remember what they were asked (laws: killed_laws.hpp).
#pragma once

#include "engine/history/past.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// How a segment fares.
struct Fate {
    bool dies = false;
    double at = 0;            ///< between its beginning and its end, as far as that is known
    std::uint32_t steps = 0;  ///< of Kill
    std::uint64_t dice = 0;   ///< of Kill
    bool resuming = false;    ///< of Kill
    std::uint32_t call = 0;   ///< of Kill
    RunJsonFault run_json = RunJsonFault::none;
    bool host = false;                ///< the host dies with it
    std::int64_t after_stop_ns = -1;  ///< dies so long after a first interruption instead
    DiskRoom disk;
    std::int64_t stop_ns = -1;  ///< after its first due instant: a first interruption
    bool resend = false;        ///< the resumption that begins it was asked to send again
};

/// A segment, or the attempt at one.
struct Life {
    std::uint32_t number = 0;  ///< of its segment
    bool resend = false;
    bool marks = true;        ///< those of the segment before were there
    bool host_died = false;   ///< with the segment before
    bool certain = true;      ///< it had to know of every row that may have left
    bool lines_lost = false;  ///< since the beginning: by a disk that failed, or with the host
    std::set<std::uint32_t> planned;   ///< rows that it was to send
    std::set<std::uint32_t> again;     ///< of those: rows that may have left
    std::set<std::uint32_t> given_up;  ///< rows
    std::set<std::uint32_t> dropped;   ///< rows: one that they wait for failed before
    std::string found;                 ///< requests.jsonl, whole lines, as it found it
    std::string found_fired;
    SimResult result;
};

struct KilledRun {
    std::vector<Life> lives;
    std::string why_unreadable;  ///< what a kill had left could not be read; empty: it could
    std::map<std::uint32_t, std::int64_t> due_ns;  ///< [row] of all that are planned
    std::vector<Dependency> dependencies;          ///< of closed sessions
    TurnsBefore turns_before;
    std::string jsonl;            ///< requests.jsonl in the end
    std::vector<Record> records;  ///< read from it
    std::string rebuilt;          ///< summary.json of the files in the end
};

/// The host of a run has died with it: each file is as it was at some flush of the last second.
/// Returns how many flushes there were then; 0: the last one before.
std::size_t lose_ends(const SimDisk& disk, const SimResult& result, std::uint64_t dice);

/// `fates` are those of its segments; the last one does not die, and its disk has room.
KilledRun run_killed(const Trace& trace, const SimOptions& options, const std::vector<Fate>& fates);

// A run of users that dies: it is simulated, dies at any instant and leaves its files as they then
// are and its marks, and the product's own code reads them as `report` does. It can not be
// resumed: where its users were is gone. When the host dies, too, marks are gone and files have
// lost their ends. Laws: killed_laws.hpp.

/// The files of a run, whole: a kill may have torn their last lines.
struct FilesOfRun {
    std::string requests;
    std::string fired;
    std::string client;
    std::string periods;
};

struct KilledUsers {
    SimResult whole;  ///< the same run, which nobody kills
    FilesOfRun whole_files;
    SimResult died;  ///< `stood` is false: it died before run.json named it, and there is no run
    FilesOfRun files;
    bool host_died = false;
    bool marks = false;  ///< they were found

    // What `report` makes of them.
    std::string why_unreadable;  ///< empty: it could read all
    std::uint64_t torn_bytes = 0;
    std::uint64_t left_open = 0;  ///< requests that fired.jsonl tells of, without a record
    Unrecorded lost;
    SummaryFigures figures;
    std::vector<Record> records;  ///< read from the whole lines
};

/// `fate` is how it dies.
KilledUsers run_killed_users(const Trace& trace, const SimOptions& options, const Fate& fate);

}  // namespace driftless::sim
