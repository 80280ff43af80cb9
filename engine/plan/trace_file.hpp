/// TRACE arguments in, one Trace out: which files they name, what is read or made of them, and what
/// a person should know of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/synth_spec.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/reader.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

// Which files a TRACE argument names, in which order, and what the trace is called.
//
// It looks at names and at what folders hold; it opens no file.

/// Less-than of names in which runs of digits compare as numbers: trace_2 before trace_10.
bool numeric_less(std::string_view a, std::string_view b);

/// The files of a folder that end as traces do, in numeric order, with the folder's path in front;
/// a path that is no folder (and "-") is itself. Hidden files and subfolders are left out. Errors:
/// not_found, denied, missing (a folder without traces), io_failed.
Result<std::vector<std::string>> expand_path(const std::string& path);

/// File name without folder and endings; "stdin" for "-".
std::string trace_name(std::string_view path);

// Notes: what a person should know of a trace before it is replayed, a line each.
//
// The sanity line comes always: a wrong unit or block size shows in it at a glance.

/// A note of so many things, if there are any.
void count_note(std::vector<std::string>& notes, std::uint64_t count, const char* one,
                const char* many);

/// Appends the notes of a trace that was read from `files` files. `unknown_names` are keys that no
/// reader knows.
void describe(const Trace& trace, std::size_t files, const std::vector<std::string>& unknown_names,
              std::vector<std::string>& notes);

// read_trace: TRACE arguments in, one Trace out, with all errors and the facts worth printing.
//
// Files, folders and standard input are read one after the other as one trace, in constant memory
// beyond the row index. It prints nothing itself.

using TraceFiles = ReadOptions;

/// True where the trace is whole and usable. Otherwise `errors` says why, and `out` must not be
/// used. `notes` are one-line facts and warnings, in the order they should be printed.
bool read_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                std::vector<std::string>& notes);

/// Makes the text that `driftless synth` writes, line by line, and reads it as `read_trace` reads a
/// file of that `name`: the same rows, ids and digest. `files` says how; its paths are not read.
bool read_made(const SynthSpec& spec, std::string_view name, const TraceTarget& target,
               const TraceFiles& files, Trace& out, InputErrors& errors,
               std::vector<std::string>& notes);

}  // namespace driftless
