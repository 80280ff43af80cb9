/// LogWriter: writes finished request logs to a file, on a thread of its own.
///
/// The serving thread hands entries over under a lock that is held for a moment; formatting and
/// writing happen elsewhere, at the latest half a second later. Every line in the file is whole.
/// Owned by the serving thread; destroying it writes what is left.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cmd/mock/request_log.hpp"
#include "proto/core/result.hpp"

namespace driftless::mock {

class LogWriter {
  public:
    /// Truncates the file. Errors: denied, not_found, io_failed.
    static Result<std::unique_ptr<LogWriter>> open(const std::string& path);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    void push(RequestLog&& entry);

    /// errno of the first write that failed, 0: none. Valid once `finish` has returned.
    int finish();

  private:
    explicit LogWriter(std::FILE* file);
    void run();
    void write(const std::vector<RequestLog>& entries);

    std::FILE* file_;
    int failed_errno_ = 0;
    std::string text_;  ///< scratch of the writing thread

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<RequestLog> waiting_;
    bool stopping_ = false;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace driftless::mock
