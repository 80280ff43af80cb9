/// A trace that is read as replay reads it, with what was said of it.
#pragma once

#include "engine/plan/trace_file.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {

struct FilesRead : ReadTrace {
    std::vector<std::string> notes;

    bool has_note(const std::string& part) const {
        return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
            return note.find(part) != std::string::npos;
        });
    }
};

inline FilesRead read_files(const TraceFiles& files) {
    FilesRead read;
    read.usable = read_trace(files, read.trace, read.errors, read.notes);
    return read;
}

}  // namespace driftless
