#include "cmd/folders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/input/sink.hpp"
#include "proto/core/sys_error.hpp"

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
            return "; raise the user's limit of processes (ulimit -u), memory (ulimit -v) or the "
                   "container's limit of tasks";
        case ENOMEM:
            return "; raise the limit of memory (ulimit -v, or the container's)";
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

int refuse_existing_file(const char* flag, const std::string& path) {
    struct stat facts{};
    if (path == "-" || ::lstat(path.c_str(), &facts) != 0) {
        return exit_done;
    }
    complain("driftless: %s %s: already exists; name a new file or remove it", flag, path.c_str());
    return exit_usage;
}

int fail_new_file(const char* flag, const std::string& path, const Error& error) {
    const int code = fail_host((flag + (" " + path)).c_str(), error);
    return error.code == ErrorCode::exists ? exit_usage : code;
}

int write_new_file(const char* flag, const std::string& path, const std::string& text) {
    Result<OutputSink> sink = OutputSink::create(path);
    if (!sink) {
        return fail_new_file(flag, path, sink.error());
    }
    Result<void> done = sink.value().write(text);
    if (done) {
        done = sink.value().finish();
    }
    return done ? exit_done : fail_new_file(flag, path, done.error());
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

}  // namespace driftless
