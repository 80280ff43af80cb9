#include "proto/trace/log_reader.hpp"

#include "proto/core/text.hpp"

namespace driftless {

LogReader::LogReader(std::string_view format, const std::vector<std::string>& keep,
                     InputErrors& errors)
    : errors_(errors), format_(find_log_format(format)) {
    for (const std::string& name : keep) {
        columns_.push_back({name});
    }
    if (!format.empty() && format_ == nullptr) {
        stopped_ = true;
        errors_.add({"", 0, "--log-format", std::string(format), "is not a format of logs",
                     "this version reads " + log_format_names()});
    }
}

LogContext LogReader::context(std::uint64_t line) {
    return {calls_, remarks_, columns_, errors_, inner_, file_, line};
}

void LogReader::begin_file(std::string_view name) {
    file_ = name;
    container_ = Container::unknown;
    texts_.clear();
    calls_.clear();
}

bool LogReader::add_line(std::uint64_t number, std::string_view line) {
    calls_.clear();
    if (stopped_ || container_ == Container::refused) {
        return false;
    }
    const std::string_view text = trim(line, white_space);
    if (container_ == Container::unknown && !text.empty()) {
        const bool closed = text.front() == '{' && text.back() == '}';
        container_ = closed ? Container::lines : Container::gathered;
    }
    if (container_ == Container::gathered) {
        return gather(number, line);
    }
    if (!text.empty()) {
        json_text(number, text);
    }
    return container_ != Container::refused;
}

/// Takes the line to the text at hand. One that it closes is read; the next begins behind it.
bool LogReader::gather(std::uint64_t number, std::string_view line) {
    while (container_ == Container::gathered) {  // each turn takes a text off, or the line's end
        const JsonTexts::Found found = texts_.take(number, line);
        const std::string_view text = texts_.text();
        const bool json = text.empty() || text.front() == '{' || text.front() == '[';
        if (!json || found == JsonTexts::Found::too_long) {
            context(texts_.line())
                .refuse("", json ? "is one JSON text of more than 64 MiB" : "is not a JSON object",
                        json ? "split it into lines: jq -c '.[]'"
                             : "a log is JSON lines, or a JSON array; this version reads " +
                                   log_format_names());
            container_ = Container::refused;
        } else if (found == JsonTexts::Found::part) {
            return true;
        } else {
            json_text(texts_.line(), text);
        }
        texts_.clear();
    }
    return false;
}

void LogReader::end_file() {
    calls_.clear();
    if (container_ == Container::gathered && !texts_.text().empty()) {
        json_text(texts_.line(), texts_.text());
    }
    texts_.clear();
    container_ = Container::refused;
}

/// One object, or an array of them.
void LogReader::json_text(std::uint64_t line, std::string_view text) {
    LogContext here = context(line);
    const Result<JsonValue> json = document_.parse(text);
    if (json && json.value().is(JsonType::object)) {
        json_object(here, json.value());
        return;
    }
    if (!json || !json.value().is(JsonType::array)) {
        here.refuse(
            "", "is not JSON, at byte " + std::to_string(document_.error_offset() + 1),
            "correct or remove it; the last line of a log still being written may be incomplete");
        // Where a broken text of several lines ends is not known.
        container_ = container_ == Container::gathered ? Container::refused : container_;
        return;
    }
    std::uint64_t number = 0;
    for (JsonValue one = json.value().first(); one.present(); one = one.next()) {
        here.place = "[" + std::to_string(number++) + "].";
        if (container_ == Container::refused) {
            return;
        }
        if (one.is(JsonType::object)) {
            json_object(here, one);
        } else {
            here.refuse("", "is not a JSON object", "correct or remove it");
        }
    }
}

void LogReader::json_object(LogContext& here, const JsonValue& object) {
    for (const LogFormat* one : log_formats()) {
        if (format_ == nullptr && one->matches(object)) {
            format_ = one;
        }
    }
    if (format_ == nullptr) {
        here.refuse(
            "", "does not have the keys of a known log format",
            "this version reads " + log_format_names() + "; name the format with --log-format");
        container_ = Container::refused;
        return;
    }
    format_->read(here, object);
}

void LogReader::finish() {
    for (const KeptColumn& column : columns_) {
        if (!column.seen && format_ != nullptr) {
            errors_.add({"", 0, "--keep", column.name, "is not a column of any call",
                         "correct it, or remove it"});
        }
    }
}

}  // namespace driftless
