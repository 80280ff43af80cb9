#include "engine/input/file_lines.hpp"

#include <utility>

namespace driftless {

Result<FileLines> FileLines::open(const std::string& path) {
    Result<InputSource> source = InputSource::open(path);
    if (!source) {
        return source.error();
    }
    return FileLines(std::move(source).value());
}

/// Reads on. False where nothing more comes.
bool FileLines::feed() {
    const Result<std::string_view> piece = source_.read();
    if (!piece) {
        broke_off_ = piece.error().code == ErrorCode::truncated;
        trouble_ = source_.reason_of(piece.error());
        return false;
    }
    if (piece.value().empty()) {
        lines_.finish();
        finished_ = true;
        return true;
    }
    bytes_ += piece.value().size();
    lines_.feed(piece.value());
    return true;
}

std::optional<std::string_view> FileLines::next() {
    while (!ended_) {  // ends with the file
        if (const auto line = lines_.next()) {
            return line;
        }
        if (lines_.too_long()) {
            trouble_ = "line " + std::to_string(lines_.number() + 1) + " is longer than 64 MiB";
        }
        ended_ = finished_ || lines_.too_long() || !feed();
    }
    return std::nullopt;
}

}  // namespace driftless
