#include "engine/history/run_lines.hpp"

#include <sys/stat.h>

#include <cstring>
#include <utility>

namespace driftless {

namespace {

constexpr const char* restore_or_remove = "; restore the line or remove it";

}  // namespace

std::string describe_line(const std::string& path, std::uint64_t line, const Error& error) {
    const std::string place = path + ":" + std::to_string(line) + ": ";
    switch (error.code) {
        case ErrorCode::exists:
            return place + error.doing;
        case ErrorCode::missing:
        case ErrorCode::out_of_range:
            return place + error.doing + " is " + reason_of(error) + restore_or_remove;
        case ErrorCode::invalid:
            return place + error.doing + " contradicts the rest of its line" + restore_or_remove;
        case ErrorCode::bad_json: {
            const std::string doing = error.doing;  // a key, or "read a record"
            return doing.find(' ') == doing.npos
                       ? place + doing + " has a value of another kind than it should" +
                             restore_or_remove
                       : place + "cannot " + doing +
                             ": the line is not a JSON object; restore it or remove it";
        }
        default:
            return place + "cannot " + error.doing + ": " + reason_of(error);
    }
}

Result<RunLines> RunLines::open(const std::string& path, std::string& why) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
        why = path + ": is not a regular file, so it cannot be read again";
        return Error{ErrorCode::invalid, 0, "open a file"};
    }
    RunLines lines(path);
    Result<InputSource> source = InputSource::open(path);
    if (source) {
        lines.source_.emplace(std::move(source).value());
    } else if (source.error().code != ErrorCode::not_found) {
        why = path + ": cannot be read (" + std::strerror(source.error().sys_errno) + ")";
        return source.error();
    }
    return lines;
}

bool RunLines::feed() {
    if (!source_) {
        return false;
    }
    const Result<std::string_view> piece = source_->read();
    if (!piece) {
        why_ = path_ + ": cannot be read (" + source_->reason_of(piece.error()) + ")";
        error_ = piece.error();
        return false;
    }
    bytes_ += piece.value().size();
    if (!piece.value().empty()) {
        lines_.feed(piece.value());
    }
    return !piece.value().empty();
}

std::optional<std::string_view> RunLines::next() {
    while (!error_) {  // until the file ends
        if (const auto line = lines_.next()) {
            return line;
        }
        if (lines_.too_long()) {
            why_ = path_ + ": a line is longer than any line of a run";
            error_ = Error{ErrorCode::too_large, 0, "read a line"};
        } else if (!feed()) {
            break;
        }
    }
    return std::nullopt;
}

}  // namespace driftless
