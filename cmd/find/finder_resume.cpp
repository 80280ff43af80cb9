// How a search goes on after it was killed.
#include <cstdio>
#include <utility>

#include "cmd/cells/cut_off.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/find/finder.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

int Finder::resume(KeptSearch kept) {
    report_.home = std::move(kept.home);
    report_.traces = std::move(kept.traces);
    report_.probes = std::move(kept.probes);
    seconds_before_ = kept.seconds;
    if (const std::string why = recall(); !why.empty()) {
        return refuse_find(folder_ + "/find.json " + why, exit_input);
    }
    complain("find: continues after %s in %s",
             counted(report_.probes.size(), "probe", "probes").c_str(), printable(folder_).c_str());
    return run();
}

/// The probes of the file are those that the search asked for: it asks again, from its beginning.
/// Returns what is wrong with them, or the empty text.
std::string Finder::recall() {
    for (JudgedProbe& one : report_.probes) {
        const std::optional<KneeProbe> asked = next_step(options_.rules, done_).next;
        if (!asked || load_text(asked->value) != load_text(one.probe.value) ||
            asked->seed != one.probe.seed) {
            return "has probes that do not match its command; start a new search";
        }
        one.probe = *asked;
        count(one);
        forget_marks(folder_, one.cut_folders);
    }
    return "";
}

/// By the probes that were too short, the window is what it was.
int Finder::lengthen_as_before() {
    int code = exit_done;
    for (std::size_t i = 0; i < report_.probes.size() && code == exit_done; ++i) {
        const JudgedProbe& one = report_.probes[i];
        code = one.outcome == ProbeOutcome::too_short ? lengthen(one.probe.value, one.rows) : code;
    }
    return code;
}

/// What a probe left that was cut off is kept, beside the place that it had.
int Finder::clear_place(JudgedProbe& probe) {
    switch (wait_for_orphan(folder_ + "/" + probe.run)) {
        case OrphanEnd::gone:
            break;
        case OrphanEnd::runs:
            return refuse_find(folder_ + "/" + probe.run +
                                   ": its replay is still running; stop it, then resume the search",
                               exit_usage);
        case OrphanEnd::stopped:
            return end_with("interrupted", "interrupted between two probes", exit_interrupted);
    }
    const Result<std::string> cut = set_aside(folder_, probe.run);
    if (!cut) {
        return fail_host(probe.run.c_str(), cut.error());
    }
    probe.cut_folders = cuts_of(folder_, probe.run);
    return exit_done;
}

}  // namespace driftless
