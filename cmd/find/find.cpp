#include "cmd/find/find.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cmd/cells/cut_off.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/find/finder.hpp"
#include "cmd/find/options.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/places.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "cmd/whole_file.hpp"

namespace driftless {

namespace {

int begin(const FindOptions& options, const std::vector<std::string>& command) {
    const bool named = !options.out.empty();
    std::string folder = named ? options.out : default_folder("find");
    const Result<NewFolder> taken = named ? take_new_folder(folder) : take_numbered_folder(folder);
    if (!taken) {
        return fail_folder(folder, taken.error());
    }
    count_stop_requests();
    return Finder(options, command, folder).begin();
}

/// All that a search is to do is in its command, which find.json has.
int go_on(const std::string& shown, const std::string& folder, KeptSearch kept) {
    const FindCommandLine line = parse_find_options(kept.command);
    if (line.kind != FindCommandLine::Kind::run || !line.options.resume.empty()) {
        return refuse_find(shown + "/find.json has an invalid command: " + line.text, exit_input);
    }
    if (const std::string why = go_home(kept.home, kept.traces); !why.empty()) {
        return refuse_find("--resume " + shown + ": " + why, exit_input);
    }
    count_stop_requests();
    const std::vector<std::string> command = kept.command;
    return Finder(line.options, command, folder).resume(std::move(kept));
}

int resume(std::string folder) {
    while (folder.size() > 1 && folder.back() == '/') {
        folder.pop_back();
    }
    const std::string path = folder + "/find.json";
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) {
        return refuse_find(
            "--resume " + folder +
                ": not the folder of a search: it has no find.json; name one that has",
            exit_usage);
    }
    const Result<FolderLock> lock = FolderLock::take(folder);
    if (!lock) {
        return lock.error().code == ErrorCode::exists
                   ? refuse_find(
                         folder + ": another driftless find is running there; wait until it ends",
                         exit_usage)
                   : fail_host(folder.c_str(), lock.error());
    }
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return refuse_find(path + " cannot be read: " + reason_of(text.error()), exit_input);
    }
    KeptSearch kept;
    if (const std::string why = read_search(text.value(), kept); !why.empty()) {
        return refuse_find(path + " " + why, exit_input);
    }
    return go_on(folder, absolute_path(folder), std::move(kept));
}

}  // namespace

int run_find(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const FindCommandLine line = parse_find_options(arguments);
    if (line.kind == FindCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == FindCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    catch_stop_signals();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return line.options.resume.empty() ? begin(line.options, arguments)
                                       : resume(line.options.resume);
}

}  // namespace driftless
