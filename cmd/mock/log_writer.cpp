#include "cmd/mock/log_writer.hpp"

#include <cerrno>
#include <chrono>
#include <utility>

#include "proto/core/sys_error.hpp"

namespace driftless::mock {

namespace {
/// Between two writes: well below the second after which a line must be readable.
constexpr auto pause = std::chrono::milliseconds(500);
}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::open(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) {
        return error_from_errno(errno, "open the log");
    }
    return std::unique_ptr<LogWriter>(new LogWriter(file));
}

LogWriter::LogWriter(std::FILE* file) : file_(file), thread_(&LogWriter::run, this) {}

LogWriter::~LogWriter() {
    (void)finish();
    (void)std::fclose(file_);
}

void LogWriter::push(RequestLog&& entry) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(entry));
}

int LogWriter::finish() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
    return failed_errno_;
}

/// The writing thread: takes what has come, writes it, pauses; once more when told to stop.
void LogWriter::run() {
    std::vector<RequestLog> entries;
    for (bool last = false; !last;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait_for(lock, pause, [this] { return stopping_; });
            last = stopping_;
            entries.swap(waiting_);
        }
        write(entries);
        entries.clear();
    }
}

void LogWriter::write(const std::vector<RequestLog>& entries) {
    constexpr std::size_t text_bytes = std::size_t{1} << 20;
    text_.clear();
    for (const RequestLog& entry : entries) {
        append_log_line(text_, entry);
        if (text_.size() >= text_bytes) {
            (void)std::fwrite(text_.data(), 1, text_.size(), file_);
            text_.clear();
        }
    }
    (void)std::fwrite(text_.data(), 1, text_.size(), file_);
    if ((std::fflush(file_) != 0 || std::ferror(file_) != 0) && failed_errno_ == 0) {
        failed_errno_ = errno != 0 ? errno : EIO;
    }
}

}  // namespace driftless::mock
