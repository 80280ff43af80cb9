#include "cmd/base/run_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <ranges>
#include <string_view>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/secrets.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

Result<FolderLock> FolderLock::take(const std::string& folder) {
    FolderLock lock;
    lock.folder_ = Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock.folder_.is_open()) {
        return error_from_errno(errno, "open the folder");
    }
    if (::flock(lock.folder_.number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return Error{ErrorCode::exists, errno, "lock the folder: another process writes it"};
        }
        if (errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS) {
            return error_from_errno(errno, "lock the folder");
        }
        return lock;
    }
    lock.locked_ = true;
    return lock;
}

bool is_being_written(const std::string& folder) {
    const Result<FolderLock> lock = FolderLock::take(folder);
    return !lock && lock.error().code == ErrorCode::exists;
}

// What a run makes before its run.json; data comes into them afterwards.
static constexpr std::array<const char*, 7> empty_files{
    "requests.jsonl", "fired.jsonl",  "client.jsonl", "responses.jsonl",
    "periods.jsonl",  "events.jsonl", "server.jsonl"};
static constexpr const char* unfinished_file = "run.json.new";
static constexpr const char* facts_file = "run.json";

// What it makes besides.
static constexpr std::array<const char*, 3> later_files{"run.toml", "summary.json", "report.html"};

static bool is_ours(const struct stat& facts) {
    return facts.st_uid == ::geteuid();
}

static bool is_leftover_file(const std::string& path) {
    struct stat facts{};
    return ::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0 &&
           facts.st_nlink == 1 && is_ours(facts);
}

/// Its run.json: no row was sent.
static bool is_of_dry_run(const std::string& path) {
    struct stat facts{};
    const bool is_file = ::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                         facts.st_nlink == 1 && is_ours(facts);
    const Result<std::string> text = is_file ? read_regular_file(path) : Result<std::string>("");
    JsonDocument json;
    const Result<JsonValue> run = json.parse(text ? std::string_view(text.value()) : "");
    const JsonValue segments = run ? run.value().find("segments") : JsonValue();
    return segments.is(JsonType::array) && segments.size() == 0;
}

/// Removes what `place_at` calls a leftover. True where there was any file.
static bool clear_leftover(const std::string& folder) {
    bool any = ::unlink((folder + "/" + unfinished_file).c_str()) == 0;
    any = ::unlink((folder + "/" + facts_file).c_str()) == 0 || any;
    for (const char* const name : empty_files) {
        any = ::unlink((folder + "/" + name).c_str()) == 0 || any;
    }
    return any;
}

/// One try; not_found, where somebody removed the folder between two steps of it.
static Result<NewFolder> try_to_take(const std::string& folder) {
    const bool made = make_folder(folder);
    if (!made && errno != EEXIST) {
        return error_from_errno(errno, "make the folder");
    }
    Result<FolderLock> lock = FolderLock::take(folder);
    if (!lock) {
        return lock.error();
    }
    // Looked at now that nobody else can begin there.
    const bool alone = made || lock.value().keeps_others_out();
    const Result<Place> place = place_at(folder);
    if (!place) {
        (void)(made && ::rmdir(folder.c_str()) == 0);
        return place.error();
    }
    if (!alone || place.value() != Place::leftover) {
        return Error{ErrorCode::exists, EEXIST, "use the folder: another run is there"};
    }
    NewFolder taken;
    taken.made_by_a_run = clear_leftover(folder) || made;
    taken.lock = std::move(lock).value();
    return taken;
}

bool is_file_of_run(std::string_view name) {
    const auto is_named = [name](const char* one) { return name == one; };
    return name == facts_file || std::ranges::any_of(empty_files, is_named) ||
           std::ranges::any_of(later_files, is_named);
}

Result<Place> place_at(const std::string& folder) {
    struct stat facts{};
    if (::lstat(folder.c_str(), &facts) != 0) {
        return Place::free;  // or it cannot be reached: making it says why
    }
    if (!S_ISDIR(facts.st_mode) || !is_ours(facts)) {
        return Place::taken;
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
    if (entries == nullptr && errno == EACCES) {
        return Place::taken;
    }
    if (entries == nullptr) {
        return error_from_errno(errno, "list the folder");
    }
    while (const dirent* const entry = ::readdir(entries.get())) {  // to the first that is not ours
        const std::string_view name = entry->d_name;
        const bool itself = name == "." || name == "..";
        const bool is_empty_file =
            std::find(empty_files.begin(), empty_files.end(), name) != empty_files.end() &&
            is_leftover_file(folder + "/" + entry->d_name);
        const bool is_dry = name == facts_file && is_of_dry_run(folder + "/" + facts_file);
        if (!itself && !is_empty_file && !is_dry && name != unfinished_file) {
            return Place::taken;
        }
    }
    return Place::leftover;
}

Result<NewFolder> take_new_folder(const std::string& folder) {
    constexpr int tries = 3;
    Result<NewFolder> taken = try_to_take(folder);
    for (int i = 1; i < tries && !taken && taken.error().code == ErrorCode::not_found; ++i) {
        taken = try_to_take(folder);
    }
    return taken;
}

Result<NewFolder> take_numbered_folder(std::string& folder) {
    constexpr int runs_a_second_max = 100;
    const std::string base = folder;
    Result<NewFolder> taken = Error{ErrorCode::exists, 0, "make a folder"};
    for (int number = 1; number <= runs_a_second_max; ++number) {
        folder = number == 1 ? base : base + "-" + std::to_string(number);
        struct stat facts{};
        if (::lstat(folder.c_str(), &facts) == 0) {
            continue;
        }
        taken = take_new_folder(folder);
        if (taken || taken.error().code != ErrorCode::exists) {
            break;
        }
    }
    return taken;
}

/// "the whole" is what run_facts names where a file is not JSON at all.
static std::string why_no_facts(const Error& error) {
    const std::string what = error.doing;
    if (error.code == ErrorCode::bad_json && what == "the whole") {
        return "it is not a JSON object; restore the file, or name another run";
    }
    if (error.code == ErrorCode::unsupported) {
        return "it was written by a newer driftless; use that one";
    }
    const std::string found = error.code == ErrorCode::bad_json
                                  ? " has a value of another kind than it should"
                                  : " is " + reason_of(error);
    return what + found + "; it may be from a dry run or another version";
}

/// What to name instead: runs that are in the folder, as shards and the cells of a sweep are.
static std::string runs_in(const std::string& folder) {
    constexpr std::ptrdiff_t named_max = 4;
    std::vector<std::string> runs;
    std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    while (const dirent* const entry = entries ? ::readdir(entries.get()) : nullptr) {
        const std::string run = folder + "/" + entry->d_name;
        struct stat facts{};
        if (entry->d_name[0] != '.' && ::stat((run + "/run.json").c_str(), &facts) == 0) {
            runs.push_back(run);
        }
    }
    std::sort(runs.begin(), runs.end());
    std::string text = runs.empty() ? "name one that has" : "it holds runs: ";
    text += joined(std::views::take(runs, named_max), ", ", mask_url);
    return text + (std::ssize(runs) > named_max ? " .." : "");
}

std::string read_run(const std::string& folder, RunFacts& facts) {
    const std::string path = folder + "/run.json";
    const Result<std::string> text = read_regular_file(path);
    if (!text && text.error().sys_errno == ENOTDIR) {
        return mask_url(folder) + ": is a file; name the folder of a run";
    }
    if (!text) {
        return text.error().code == ErrorCode::not_found
                   ? mask_url(folder) + ": is not the folder of a run: it has no run.json; " +
                         runs_in(folder)
                   : path + ": " + why_unreadable(text.error());
    }
    JsonDocument document;
    Result<RunFacts> read = read_run_facts(document, text.value());
    if (!read) {
        return path + ": " + why_no_facts(read.error());
    }
    facts = std::move(read).value();
    return "";
}

std::optional<RunFacts> read_run_partly(const std::string& folder) {
    const Result<std::string> text = read_regular_file(folder + "/run.json");
    JsonDocument document;
    return text ? read_partly(document, text.value()) : std::nullopt;
}

}  // namespace driftless
