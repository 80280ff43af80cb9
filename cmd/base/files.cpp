#include "cmd/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/base/secrets.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

const char* host_remedy(int sys_errno) {
    switch (sys_errno) {
        case EACCES:
        case EPERM:
            return "; check the permissions, or name another place";
        case EROFS:
            return "; name a place that can be written to";
        case ENOENT:
        case ENOTDIR:
            return "; check that its folder is there";
        case ENOSPC:
        case EDQUOT:
            return "; free some space, or name a place on another disk";
        case EMFILE:
        case ENFILE:
            return "; raise ulimit -n";
        case EAGAIN:
            return "; raise the user's limit of processes (ulimit -u), memory (ulimit -v, -d) or "
                   "the container's limit of tasks";
        case ENOMEM:
            return "; raise the limit of memory (ulimit -v, ulimit -d, or the container's)";
        case EFBIG:
            return "; raise the limit of a file's size (ulimit -f)";
        default:
            return "";
    }
}

int fail_host(const char* what, const Error& error) {
    complain("driftless: %s: cannot %s: %s%s", what, error.doing, reason_of(error).c_str(),
             host_remedy(error.sys_errno));
    return exit_host;
}

int refuse_folder(const std::string& folder) {
    complain("driftless: --out %s: another run is using this folder; name a new one",
             folder.c_str());
    return exit_usage;
}

/// So many bytes tell what a file holds.
static constexpr std::size_t begin_bytes = 12;

/// The first bytes of a file that can be read; empty: of none.
static std::string begin_of(const std::string& path) {
    char bytes[begin_bytes];
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    const ssize_t got = file.is_open() ? ::read(file.number(), bytes, sizeof bytes) : -1;
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
}

static bool is_binary(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char one) {
        const auto byte = static_cast<unsigned char>(one);
        return byte < '\t' || byte > '~';
    });
}

/// Whether a file that begins so can be an earlier export of the kind that begins so: an empty one
/// can be any.
static bool begins_alike(std::string_view old, std::string_view fresh) {
    const std::size_t size = std::min(begin_bytes, fresh.size());
    return old.empty() || old.substr(0, size) == fresh.substr(0, size) ||
           (is_binary(old) && is_binary(fresh) && old.front() == fresh.front());
}

/// Whether it holds what a run, a sweep or a search has found.
static bool is_data(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    return is_file_of_run(name) || name == "sweep.json" || name == "find.json";
}

static int refuse_old(const char* flag, const std::string& path, const char* why) {
    complain("driftless: %s %s: already exists%s; name a new file or remove it", flag, path.c_str(),
             why);
    return exit_usage;
}

int refuse_existing_file(const char* flag, const std::string& path, bool force,
                         std::string_view begins) {
    struct stat facts{};
    if (path == "-" || ::lstat(path.c_str(), &facts) != 0) {
        return exit_done;
    }
    if (!force) {
        return refuse_old(flag, path, "");
    }
    if (!S_ISREG(facts.st_mode)) {
        return refuse_old(flag, path, " and is no regular file");
    }
    return !is_data(path) && begins_alike(begin_of(path), begins)
               ? exit_done
               : refuse_old(flag, path, " and is no earlier export of this kind");
}

int refuse_existing_files(std::span<const NewText> files, bool force) {
    int code = exit_done;
    for (auto one = files.begin(); one != files.end() && code == exit_done; ++one) {
        code = one->path.empty() ? code : refuse_existing_file(one->flag, one->path, force);
    }
    return code;
}

int write_new_files(std::span<const NewText> files, bool force) {
    int code = exit_done;
    for (auto one = files.begin(); one != files.end() && code == exit_done; ++one) {
        if (!one->path.empty()) {
            const std::string text = one->make(code);
            code = code == exit_done ? write_new_file(one->flag, one->path, text, force) : code;
        }
    }
    return code;
}

std::ptrdiff_t files_on_stdout(std::span<const NewText> files) {
    return std::ranges::count_if(files, [](const NewText& one) { return one.path == "-"; });
}

int write_export(const char* flag, const std::string& path, bool force,
                 const std::function<int(const std::string&)>& write) {
    int code = refuse_existing_file(flag, path, force);
    struct stat old{};
    if (code != exit_done || path == "-" || ::lstat(path.c_str(), &old) != 0) {
        return code == exit_done ? write(path) : code;
    }
    std::string folder = path + ".XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
        return fail_new_file(flag, path, error_from_errno(errno, "make a folder beside it"));
    }
    const std::string fresh = folder + "/" + std::filesystem::path(path).filename().string();
    code = write(fresh);
    if (code == exit_done) {
        code = refuse_existing_file(flag, path, force, begin_of(fresh));
    }
    (void)(code == exit_done && ::chmod(fresh.c_str(), old.st_mode & 07777));
    if (code == exit_done && ::rename(fresh.c_str(), path.c_str()) != 0) {
        code = fail_new_file(flag, path, error_from_errno(errno, "replace the file"));
    }
    (void)::unlink(fresh.c_str());
    (void)::rmdir(folder.c_str());
    return code;
}

int fail_new_file(const char* flag, const std::string& path, const Error& error) {
    const int code = fail_host((flag + (" " + path)).c_str(), error);
    return error.code == ErrorCode::exists ? exit_usage : code;
}

int write_new_file(const char* flag, const std::string& path, const std::string& text, bool force) {
    return write_export(flag, path, force, [&](const std::string& place) {
        Result<OutputSink> sink = OutputSink::create(place);
        Result<void> done = sink ? sink.value().write(text) : sink.error();
        if (done) {
            done = sink.value().finish();
        }
        return done ? exit_done : fail_new_file(flag, path, done.error());
    });
}

int fail_folder(const std::string& folder, const Error& error) {
    if (error.sys_errno == EEXIST) {
        complain("driftless: --out %s: already exists, or another run has it; name a new folder",
                 folder.c_str());
        return exit_usage;
    }
    if (error.code == ErrorCode::exists) {
        return refuse_folder(folder);
    }
    complain("driftless: cannot make the folder %s: %s%s", folder.c_str(), reason_of(error).c_str(),
             host_remedy(error.sys_errno));
    return exit_host;
}

ExportFile::ExportFile(const char* flag, std::string path) : flag_(flag), path_(std::move(path)) {
    Result<OutputSink> sink = OutputSink::create(path_);
    code_ = sink ? exit_done : fail_new_file(flag_, path_, sink.error());
    if (sink) {
        sink_.emplace(std::move(sink).value());
    }
}

int ExportFile::finish() {
    flush();
    if (code_ == exit_done) {
        keep(sink_->finish());
    }
    return code_;
}

void ExportFile::flush() {
    if (code_ == exit_done) {
        keep(sink_->write(text));
    }
    text.clear();
}

void ExportFile::keep(const Result<void>& done) {
    code_ = done ? code_ : fail_new_file(flag_, path_, done.error());
}

Result<void> try_place(const std::string& path) {
    struct stat facts{};
    std::string above = path;
    do {  // each turn goes a folder up; the current one and the root are there
        const std::size_t slash = above.rfind('/');
        above = slash == std::string::npos ? "." : above.substr(0, std::max<std::size_t>(slash, 1));
    } while (above != "." && above != "/" && ::stat(above.c_str(), &facts) != 0 && errno == ENOENT);
    const std::string probe = above + "/.driftless-" + std::to_string(::getpid());
    if (::mkdir(probe.c_str(), 0755) != 0) {
        return error_from_errno(errno, "make the folder");
    }
    (void)::rmdir(probe.c_str());
    return {};
}

std::string without_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') {
        path.pop_back();
    }
    return path;
}

bool make_folders_above(const std::string& path) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
        if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) {
            return false;
        }
    }
    return true;
}

bool make_folder(const std::string& path) {
    return make_folders_above(path) && ::mkdir(path.c_str(), 0755) == 0;
}

// run.json, the largest that is read, grows with the model list of a server: some KiB each.
static constexpr std::size_t read_bytes_max = 64 << 20;

Result<void> write_whole_file(const std::string& path, const std::string& text, Lasting lasting) {
    const std::string fresh = path + ".new";
    // Where a FIFO has that name, it is refused instead of waited for.
    const int number =
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
    if (number < 0) {
        return error_from_errno(errno, "create a file");
    }
    const bool written =
        write_all(number, text) && (lasting == Lasting::written || ::fsync(number) == 0);
    const int why = written ? 0 : errno;
    const bool closed = ::close(number) == 0;
    if (!written || !closed || ::rename(fresh.c_str(), path.c_str()) != 0) {
        const Error error = error_from_errno(written ? errno : why, "write a file");
        (void)::unlink(fresh.c_str());
        return error;
    }
    return {};
}

Result<std::string> read_whole_file(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return error_from_errno(errno, "open a file");
    }
    std::string text;
    char piece[16384];
    ssize_t got = 1;
    while (text.size() <= read_bytes_max && got != 0) {
        got = ::read(file.number(), piece, sizeof(piece));
        if (got < 0 && errno != EINTR) {
            return error_from_errno(errno, "read a file");
        }
        text.append(piece, got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    return got == 0 ? Result<std::string>(std::move(text))
                    : Error{ErrorCode::too_large, 0, "read a file"};
}

Result<std::string> read_regular_file(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        return Error{ErrorCode::invalid, 0, "is not a regular file"};
    }
    return read_whole_file(path);
}

std::string why_unreadable(const Error& error) {
    return error.code == ErrorCode::invalid ? error.doing : "cannot be read: " + reason_of(error);
}

int write_trace(const Trace& trace, const TraceTarget& target, std::vector<WrittenRow> rows,
                const std::string& path, std::FILE* say) {
    const std::size_t count = rows.size();
    TraceWriter writer(trace, target, std::move(rows));
    ExportFile file("--out", path);
    std::uint64_t bytes = 0;
    for (bool more = true; more && file.code() == exit_done;) {
        const std::size_t before = file.text.size();
        more = writer.next(file.text);
        bytes += file.text.size() - before;
        file.drain();
    }
    if (const int code = file.finish(); code != exit_done) {
        return code;
    }
    for (const std::string& line : writer.losses()) {
        std::fprintf(say, "loss: %s\n", line.c_str());
    }
    std::fprintf(say, "wrote: %s: %zu %s, format %s, %llu bytes before compression\n", path.c_str(),
                 count, count == 1 ? "row" : "rows", target.name,
                 static_cast<unsigned long long>(bytes));
    return exit_done;
}

void print_errors(const InputErrors& errors) {
    for (const std::string& line : to_lines(errors)) {
        complain("driftless: %s", mask_members(line).c_str());
    }
}

std::string nothing_selected(const Trace& trace) {
    char last[64] = "";
    if (!trace.rows.empty()) {
        (void)std::snprintf(last, sizeof last, ": its last row comes at %.3f s",
                            static_cast<double>(trace.rows.back().at_ns) / 1e9);
    }
    return std::string("no row of the trace is selected") + last + "; widen --start, --end";
}

}  // namespace driftless
