/// A trace that is read as replay reads it, with what was said of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/trace_file.hpp"

namespace driftless {

struct FilesRead {
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    bool usable = false;

    /// The trace, which has to be usable.
    Trace sound() {
        EXPECT_TRUE(usable) << first_error();
        return std::move(trace);
    }
    std::string first_error() const { return errors.empty() ? "" : to_text(errors.list[0]); }
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
