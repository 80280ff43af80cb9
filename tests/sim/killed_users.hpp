/// A run of users that dies: it is simulated, dies at any instant and leaves its files as they then
/// are and its marks, and the product's own code reads them as `report` does. It can not be
/// resumed: where its users were is gone. When the host dies, too, marks are gone and files have
/// lost their ends. Laws: laws_of_killed_users.hpp.
#pragma once

#include <string>
#include <vector>

#include "engine/history/past.hpp"
#include "proto/figures/summary.hpp"
#include "tests/sim/killed_run.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

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
