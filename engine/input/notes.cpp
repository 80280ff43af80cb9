#include "engine/input/notes.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "proto/core/counted.hpp"
#include "proto/json/write.hpp"

namespace driftless {
namespace {

/// A line as printf formats it. Lines are short: names go in by `+`.
__attribute__((format(printf, 1, 2))) std::string line_of(const char* format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

std::uint64_t largest_burst(const Trace& trace) {
    std::uint64_t largest = 0;
    std::uint64_t burst = 0;
    std::int64_t instant = -1;
    for (const TraceRow& row : trace.rows) {
        burst = row.at_ns == instant ? burst + 1 : 1;
        instant = row.at_ns;
        largest = std::max(largest, burst);
    }
    return largest;
}

/// "span 3536.999 s, 12031 rows, 3.40/s, max 28 rows at one instant"
std::string sanity_line(const Trace& trace) {
    const std::int64_t span_ns = trace.rows.back().at_ns;
    const double rows = static_cast<double>(trace.rows.size());
    std::string line = line_of("span %" PRId64 ".%03" PRId64 " s, ", span_ns / 1'000'000'000,
                               span_ns / 1'000'000 % 1000) +
                       counted(trace.rows.size(), "row", "rows");
    if (span_ns > 0) {
        line += line_of(", %.2f/s", rows * 1e9 / static_cast<double>(span_ns));
    }
    return line + ", max " + counted(largest_burst(trace), "row", "rows") + " at one instant";
}

/// ", blocks of 512 tokens, partial blocks have ids"
std::string blocks_of(const Trace& trace) {
    if (trace.block_size == 0) {
        return trace.recorded ? ", no block ids: prompts share equal text"
                              : ", no block ids: prompts share nothing";
    }
    return ", blocks of " + std::to_string(trace.block_size) + " tokens, partial blocks have " +
           (trace.tail_rule == TailRule::ceil ? "ids" : "none");
}

void count_note(std::vector<std::string>& notes, std::uint64_t count, const char* one,
                const char* many) {
    if (count > 0) {
        notes.push_back(counted(count, one, many));
    }
}

}  // namespace

void describe(const Trace& trace, std::size_t files, const std::vector<std::string>& unknown_names,
              std::vector<std::string>& notes) {
    notes.push_back("format " + trace.format + ", times in " + trace.time_unit + blocks_of(trace));
    notes.push_back(sanity_line(trace));
    if (files > 1) {
        notes.push_back(std::to_string(files) +
                        " files: equal block ids of different files share " +
                        (trace.name_spaces > 1 || trace.ids.empty() ? "nothing" : "their blocks"));
    }
    if (!trace.sessions.empty()) {
        notes.push_back(counted(trace.sessions.size(), "session", "sessions") +
                        "; rows are ordered by time, whatever their turn");
    }
    for (const Remark& remark : trace.remarks) {
        count_note(notes, remark.count, remark.one, remark.many);
    }
    count_note(notes, trace.rows_unsorted, "row out of order was sorted",
               "rows out of order were sorted");
    count_note(notes, trace.surplus_ids, "surplus block id ignored", "surplus block ids ignored");
    count_note(notes, trace.rows_uncovered, "row lacked block ids: filled with private tokens",
               "rows lacked block ids: filled with private tokens");
    std::uint64_t in_words = 0;
    std::uint64_t unknown = 0;
    for (const TraceRow& row : trace.rows) {
        in_words += trace.recorded && !trace.body_of(row).empty() ? 1 : 0;
        unknown += row.input_length == 0 ? 1 : 0;
    }
    count_note(notes, in_words, "recorded request, with text", "recorded requests, with text");
    count_note(notes, unknown, "row has no recorded prompt length",
               "rows have no recorded prompt length");
    count_note(notes, trace.zero_outputs, "output length of 0 taken as 1",
               "output lengths of 0 taken as 1");
    if (trace.unknown_keys > 0) {
        std::string names;
        for (const std::string& name : unknown_names) {
            names += names.empty() ? "" : ", ";
            append_json_escaped(names, name);
        }
        notes.push_back(counted(trace.unknown_keys, "value", "values") +
                        " of unknown columns ignored (" + names +
                        "); replay --keep copies columns into the records");
    }
}

}  // namespace driftless
