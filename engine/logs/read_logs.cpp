#include "engine/logs/read_logs.hpp"

#include <cstring>

#include "engine/input/file_lines.hpp"
#include "engine/input/notes.hpp"
#include "engine/input/paths.hpp"
#include "engine/logs/log_rows.hpp"
#include "proto/logs/read.hpp"

namespace driftless {
namespace {

/// One reading of all files.
struct Reading {
    LogReader reader;
    LogRows rows;
    InputErrors& errors;
    std::vector<std::string>& notes;
    std::uint64_t bytes = 0;

    void refuse_file(const std::string& path, const Error& error) const;
    void take_calls();
    void read_file(const std::string& path);
};

void Reading::refuse_file(const std::string& path, const Error& error) const {
    errors.add({path, 0, "", "",
                error.sys_errno != 0 ? std::strerror(error.sys_errno) : "has no log",
                "name a file of JSON lines, a folder of such files, or -"});
}

void Reading::take_calls() {
    for (LogCall& call : reader.calls()) {
        rows.add(std::move(call), errors);
    }
}

void Reading::read_file(const std::string& path) {
    Result<FileLines> opened = FileLines::open(path);
    if (!opened) {
        refuse_file(path, opened.error());
        return;
    }
    FileLines& lines = opened.value();
    const std::string name = path == "-" ? "standard input" : path;
    reader.begin_file(name);
    rows.begin_file(name);
    bool wanted = true;
    while (wanted) {  // ends with the file
        const auto line = lines.next();
        if (!line) {
            break;
        }
        wanted = reader.add_line(lines.number(), *line);
        take_calls();
    }
    bytes += lines.bytes();
    if (lines.broke_off() && lines.number() > 0) {
        notes.push_back("warning: " + name + ": " + lines.trouble() + ": read up to line " +
                        std::to_string(lines.number()));
    } else if (!lines.trouble().empty()) {
        errors.add({name, 0, "", "", "cannot be read: " + lines.trouble(), "repair the file"});
    }
    reader.end_file();
    take_calls();
}

void describe_logs(Trace& trace, const Reading& reading, std::size_t files,
                   std::vector<std::string>& notes) {
    trace.remarks = reading.reader.remarks();
    describe(trace, files, {}, notes);
    const std::vector<std::string> own = reading.rows.notes();
    notes.insert(notes.end(), own.begin(), own.end());
    if (!trace.ids.empty()) {
        notes.push_back(
            "prompts consist of role, newline, text and newline per message, in place of the "
            "server's chat template");
    }
}

}  // namespace

bool read_logs(const LogFiles& files, Tokenizer& tokenizer, KeyedHash& hash, Trace& out,
               InputErrors& errors, std::vector<std::string>& notes) {
    out = Trace();
    Reading reading{LogReader(files.format, files.keep, errors),
                    LogRows(tokenizer, hash, files.block_size, files.lenient), errors, notes};
    for (const std::string& path : files.paths) {
        const Result<std::vector<std::string>> expanded = expand_path(path);
        if (!expanded) {
            reading.refuse_file(path, expanded.error());
            continue;
        }
        for (const std::string& file : expanded.value()) {
            reading.read_file(file);
        }
    }
    reading.reader.finish();
    reading.rows.finish(out);
    // A name of the log would tell whose it is.
    out.name = "logs";
    out.format = reading.reader.format() == nullptr ? "" : reading.reader.format()->name;
    out.time_unit = "iso";
    out.block_size = out.ids.empty() ? 0 : files.block_size;
    out.bytes = reading.bytes;
    out.files = {{out.name, 0}};
    if (errors.empty() && out.rows.empty()) {
        errors.add({files.paths.empty() ? "" : files.paths.front(), 0, "", "",
                    "has no answered request", "a trace needs at least one"});
    }
    if (errors.empty()) {
        describe_logs(out, reading, 1, notes);
    }
    return errors.empty();
}

}  // namespace driftless
