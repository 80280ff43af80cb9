#include "cmd/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cmd/whole_file.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

Result<FolderLock> FolderLock::take(const std::string& folder) {
    FolderLock lock;
    lock.fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock.fd_ < 0) {
        return error_from_errno(errno, "open the folder");
    }
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return Error{ErrorCode::exists, errno, "lock the folder: another process writes it"};
        }
        // A file system without locks: then nothing keeps two of us apart.
        if (errno != ENOLCK && errno != EOPNOTSUPP) {
            return error_from_errno(errno, "lock the folder");
        }
    }
    return lock;
}

FolderLock::~FolderLock() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

std::string read_run(const std::string& folder, RunFacts& facts) {
    const std::string path = folder + "/run.json";
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return text.error().code == ErrorCode::not_found
                   ? folder + ": is no folder of a run: it has no run.json"
                   : path + ": cannot be read (" + name_of(text.error().code) + ")";
    }
    JsonDocument document;
    Result<RunFacts> read = read_run_facts(document, text.value());
    if (!read) {
        return path + ": " + read.error().doing + " (" + name_of(read.error().code) +
               "): is it of a dry run, or of another version?";
    }
    facts = std::move(read).value();
    return "";
}

}  // namespace driftless
