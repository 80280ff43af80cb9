/// What tests of log importers share: a text read as a log, in pieces of any size.
#pragma once

#include "engine/plan/compressed_files.hpp"
#include "proto/trace/logs.hpp"
#include "tests/std.hpp"

namespace driftless {

struct LogReading {
    std::vector<LogCall> calls;
    std::vector<Remark> remarks;
    InputErrors errors;
    std::string format;

    std::string first_error() const { return errors.empty() ? "" : to_text(errors.list[0]); }
    std::uint64_t count(std::string_view words) const {
        for (const Remark& one : remarks) {
            if (std::string_view(one.one).find(words) != std::string_view::npos) {
                return one.count;
            }
        }
        return 0;
    }
};

/// Reads `text` in pieces of `piece` bytes.
inline LogReading read_log(std::string_view text, std::string_view format = "",
                           const std::vector<std::string>& keep = {},
                           std::size_t piece = std::string_view::npos) {
    LogReading out;
    LogReader reader(format, keep, out.errors);
    reader.begin_file("log");
    LineSplitter lines;
    const auto take = [&] {
        for (LogCall& call : reader.calls()) {
            out.calls.push_back(std::move(call));
        }
    };
    bool wanted = true;
    for (std::size_t at = 0; wanted && at <= text.size();) {
        const std::string_view part = text.substr(at, piece);
        at += part.empty() ? 1 : part.size();
        part.empty() ? lines.finish() : lines.feed(part);
        while (wanted) {
            const auto line = lines.next();
            if (!line) {
                break;
            }
            wanted = reader.add_line(lines.number(), *line);
            take();
        }
    }
    reader.end_file();
    take();
    reader.finish();
    out.remarks = reader.remarks();
    out.format = reader.format() == nullptr ? "" : reader.format()->name;
    return out;
}

/// All that calls say, as one text, to compare.
inline std::string as_text(const LogReading& reading) {
    std::string out;
    for (const LogCall& call : reading.calls) {
        out += std::to_string(call.start_ns) + ".." + std::to_string(call.end_ns.value_or(-1));
        for (const LogMessage& message : call.prompt) {
            out += "|" + message.role + ":" + message.text;
        }
        out += "|=" + call.answer.value_or("-") + "|";
        out += std::to_string(call.input_tokens.value_or(0)) + "+";
        out += std::to_string(call.output_tokens.value_or(0)) + "|" + call.session;
        out += call.failed ? "|failed\n" : "\n";
    }
    for (const InputError& error : reading.errors.list) {
        out += to_text(error) + "\n";
    }
    return out;
}

}  // namespace driftless
