/// LogReader: lines of a log in, LogCalls out. It finds the format and lists every error.
///
/// Bytes and files are the caller's (cmd/reading). A log is JSON lines, or one JSON text that goes
/// over several lines, or an array of objects; such a text is gathered first. All files of a log
/// are of one format. It keeps nothing of a call once the next line comes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/split.hpp"
#include "proto/trace/log_format.hpp"

namespace driftless {

class LogReader {
  public:
    /// `format` by its name, empty: by the first object. `errors` outlives the reader. A name that
    /// is none is listed at once.
    LogReader(std::string_view format, const std::vector<std::string>& keep, InputErrors& errors);

    /// What follows comes from this file. What was gathered of the one before is dropped.
    void begin_file(std::string_view name);
    /// One line without its end; blank ones are skipped. False if there is no point in reading
    /// further in this file.
    bool add_line(std::uint64_t number, std::string_view line);
    /// After the last line of a file.
    void end_file();
    /// After the last file: names of kept columns that no call had are listed.
    void finish();

    /// The calls of the last line, or of the file where it was gathered. They may be moved from.
    std::span<LogCall> calls() { return calls_; }

    /// What was noticed and is no reason to refuse.
    const std::vector<Remark>& remarks() const { return remarks_; }
    /// The format that was chosen; nullptr where nothing was read.
    const LogFormat* format() const { return format_; }

  private:
    enum class Container : std::uint8_t { unknown, lines, gathered, refused };

    LogContext context(std::uint64_t line);
    void json_text(std::uint64_t line, std::string_view text);
    void json_object(LogContext& context, const JsonValue& object);
    bool gather(std::uint64_t number, std::string_view line);

    InputErrors& errors_;
    const LogFormat* format_ = nullptr;
    bool stopped_ = false;  ///< the name of the format is wrong
    std::vector<KeptColumn> columns_;
    std::vector<Remark> remarks_;
    std::vector<LogCall> calls_;
    JsonDocument document_;
    JsonDocument inner_;

    std::string file_;
    Container container_ = Container::unknown;
    JsonTexts texts_;  ///< gathered
};

}  // namespace driftless
