#include "cmd/replay/places.hpp"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

bool there(const std::string& path) {
    struct stat facts{};
    return ::lstat(path.c_str(), &facts) == 0;
}

/// Where a run will write only after minutes of preparation, it is tried before.
int try_places(const ResultFlags& results, bool dry_run, Place place) {
    const bool makes_folder = place == Place::free && !(results.out.empty() && dry_run);
    const std::string folder = results.out.empty() ? default_folder("trace") : results.out;
    const Result<void> made = makes_folder ? try_place(folder) : Result<void>{};
    if (!made) {
        return fail_folder(folder, made.error());
    }
    const bool makes_records = !results.records_path.empty() && !dry_run;
    const Result<void> records = makes_records ? try_place(results.records_path) : Result<void>{};
    return records ? exit_done : fail_host(results.records_path.c_str(), records.error());
}

}  // namespace

std::string default_folder(const std::string& trace_name) {
    const time_t now = ::time(nullptr);
    tm parts{};
    (void)::gmtime_r(&now, &parts);
    char text[32];
    (void)::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
    std::string name = printable(trace_name);  // a file's name may hold anything
    std::replace(name.begin(), name.end(), '\\', '_');
    return "runs/" + std::string(text) + "-" + name;
}

std::string folder_of(const ReplayOptions& options, const std::string& trace_name) {
    if (!options.results.out.empty()) {
        return options.results.out;
    }
    const ShardPlace& place = options.shard.place;
    return default_folder(trace_name) +
           (place.is_part() ? "-shard-" + std::to_string(place.index) : "");
}

int check_paths(const ResultFlags& results, bool dry_run) {
    const Result<Place> found =
        results.out.empty() ? Result<Place>(Place::free) : place_at(results.out);
    if (!found) {
        return fail_host(("--out " + results.out).c_str(), found.error());
    }
    const Place place = found.value();
    if (place == Place::taken) {
        complain("driftless: --out %s: already exists; name a new folder or remove it",
                 results.out.c_str());
        return exit_usage;
    }
    if (place == Place::leftover) {
        const Result<FolderLock> lock = FolderLock::take(results.out);
        if (!lock && lock.error().code == ErrorCode::exists) {
            return refuse_folder(results.out);
        }
    }
    if (!results.records_path.empty() && there(results.records_path)) {
        complain("driftless: --output-path %s: already exists; name a new file or remove it",
                 results.records_path.c_str());
        return exit_usage;
    }
    return try_places(results, dry_run, place);
}

}  // namespace driftless
