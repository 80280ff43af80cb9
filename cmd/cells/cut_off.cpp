#include "cmd/cells/cut_off.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cmd/cells/hook.hpp"
#include "cmd/run_folder.hpp"
#include "engine/record/fired_marks.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

constexpr const char* cut_suffix = ".cut-";
constexpr int cuts_max = 1000;
constexpr const char* aside = "rename the folder of an interrupted cell";

bool is_there(const std::string& path) {
    struct stat facts{};
    return ::lstat(path.c_str(), &facts) == 0;
}

}  // namespace

std::string absolute_path(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr),
                                                       &std::free);
    return found != nullptr ? found.get() : path;
}

std::string go_home(const std::string& home, const std::vector<KeptTrace>& traces) {
    if (!home.empty() && ::chdir(home.c_str()) != 0) {
        return "it was started in " + home + ": " +
               reason_of(error_from_errno(errno, "enter that folder"));
    }
    const std::string changed = changed_trace(traces);
    return changed.empty()
               ? ""
               : changed +
                     " has changed since the start; restore the original trace, or start again";
}

OrphanEnd wait_for_orphan(const std::string& run_folder) {
    constexpr int tries = 50;
    constexpr std::int64_t pause = 200'000'000;
    for (int i = 0; i < tries; ++i) {
        const Result<FolderLock> lock = FolderLock::take(run_folder);
        if (lock || lock.error().code != ErrorCode::exists) {
            return OrphanEnd::gone;
        }
        if (!pause_ns(pause, 0)) {
            return OrphanEnd::stopped;
        }
    }
    return OrphanEnd::runs;
}

Result<std::string> set_aside(const std::string& folder, const std::string& name) {
    const std::string place = folder + "/" + name;
    if (!is_there(place)) {
        return std::string();
    }
    for (int number = 1; number <= cuts_max; ++number) {
        std::string kept = name + cut_suffix + std::to_string(number);
        if (is_there(folder + "/" + kept)) {
            continue;
        }
        if (std::rename(place.c_str(), (folder + "/" + kept).c_str()) != 0) {
            return error_from_errno(errno, aside);
        }
        return kept;
    }
    return Error{ErrorCode::exists, 0, aside};
}

std::vector<std::string> cuts_of(const std::string& folder, const std::string& name) {
    std::vector<std::string> cuts;
    for (int number = 1; number <= cuts_max; ++number) {
        std::string cut = name + cut_suffix + std::to_string(number);
        if (!is_there(folder + "/" + cut)) {
            break;
        }
        cuts.push_back(std::move(cut));
    }
    return cuts;
}

void forget_marks(const std::string& folder, const std::vector<std::string>& cuts) {
    for (const std::string& cut : cuts) {
        RunFacts facts;
        if (!read_run(folder + "/" + cut, facts).empty() || facts.ended) {
            continue;  // a run that closed its books has none
        }
        for (const RunSegment& segment : facts.segments) {
            FiredMarks::remove(segment.run_id);
        }
    }
}

}  // namespace driftless
