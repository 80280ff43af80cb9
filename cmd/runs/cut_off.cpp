#include "cmd/runs/cut_off.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cmd/base/run_folder.hpp"
#include "cmd/runs/cell.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/result.hpp"

namespace driftless {

std::string text_of(JsonValue value) {
    return std::string(value.as_string().value_or(""));
}

std::vector<std::string> texts_of(JsonValue array) {
    std::vector<std::string> texts;
    for (JsonValue one = array.first(); one.present(); one = one.next()) {
        texts.push_back(text_of(one));
    }
    return texts;
}

namespace {

/// Whatever is no regular file would be used up by reading it; it adds nothing.
Result<void> add_file(const std::string& path, Xxh64& digest) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) {
        return error_from_errno(errno, "open the trace");
    }
    if (!S_ISREG(facts.st_mode)) {
        return {};
    }
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_from_errno(errno, "open the trace");
    }
    std::string bytes(1 << 20, '\0');
    ssize_t count = 0;
    while ((count = ::read(fd, bytes.data(), bytes.size())) > 0 || (count < 0 && errno == EINTR)) {
        digest.add(
            std::string_view(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
    }
    const int why = errno;
    ::close(fd);
    return count < 0 ? Result<void>(error_from_errno(why, "read the trace")) : Result<void>();
}

Result<KeptTrace> keep_trace(const std::string& path) {
    const Result<std::vector<std::string>> files = expand_path(path);
    if (!files) {
        return files.error();
    }
    Xxh64 digest;
    for (const std::string& file : files.value()) {
        digest.add(file == path ? "" : file);
        if (const Result<void> added = add_file(file, digest); !added) {
            return added.error();
        }
    }
    return KeptTrace{path, hex_text(digest.value())};
}

}  // namespace

Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path) {
    std::vector<KeptTrace> kept;
    for (const std::string& one : paths) {
        const auto is_one = [&one](const KeptTrace& known) { return known.path == one; };
        if (std::any_of(kept.begin(), kept.end(), is_one)) {
            continue;
        }
        Result<KeptTrace> trace = keep_trace(one);
        if (!trace) {
            path = one;
            return trace.error();
        }
        kept.push_back(std::move(trace).value());
    }
    return kept;
}

std::string changed_trace(const std::vector<KeptTrace>& kept) {
    for (const KeptTrace& one : kept) {
        const Result<KeptTrace> now = keep_trace(one.path);
        if (!now || now.value().digest != one.digest) {
            return one.path;
        }
    }
    return "";
}

void write_kept_traces(JsonWriter& json, const std::vector<KeptTrace>& kept) {
    json.key("traces").begin_array();
    for (const KeptTrace& one : kept) {
        json.begin_object();
        json.key("path").string(one.path);
        json.key("digest").string(one.digest);
        json.end_object();
    }
    json.end_array();
}

std::vector<KeptTrace> read_kept_traces(JsonValue array) {
    std::vector<KeptTrace> kept;
    for (JsonValue one = array.first(); one.present(); one = one.next()) {
        kept.push_back({text_of(one.find("path")), text_of(one.find("digest"))});
    }
    return kept;
}

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
