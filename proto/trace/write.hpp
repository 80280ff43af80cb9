/// TraceWriter: writes rows of a Trace as lines of a format that can hold them.
///
/// Formats are a table of functions, as for reading. What a target cannot hold is never left out in
/// silence: `losses` names it. The trace is only read and outlives the writer; files are the
/// caller's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// A row that is written, and its time: cropped, spread and scaled already.
struct WrittenRow {
    std::uint32_t position = 0;  ///< in Trace::rows
    std::int64_t at_ns = 0;
};

struct TraceTarget;

/// A target by its name; nullptr where there is none.
const TraceTarget* find_trace_target(std::string_view name);

class TraceWriter {
  public:
    /// `rows` by time; those of one instant in file order.
    TraceWriter(const Trace& trace, const TraceTarget& target, std::vector<WrittenRow> rows);

    /// From here on rows are written with bodies for `api` that `next` is given, instead of the
    /// trace's own.
    void replace_bodies(std::string_view api) { new_api_ = api; }

    /// Appends the line that precedes the rows, with its end; nothing if there is none, or if it
    /// was already written.
    void begin(std::string& out);
    /// Appends the next line with its end, that of `begin` first. False after the last. `body`:
    /// where bodies are replaced, and after `begin`, the one of the row that is next.
    bool next(std::string& out, std::string_view body = {});

    /// After the last line: what the target could not hold, and what a person should know, a line
    /// each.
    std::vector<std::string> losses() const;

    // For targets.

    const Trace& trace() const { return trace_; }
    /// The API that bodies are for; empty where there are none, or where they are recorded.
    std::string_view body_api() const { return new_api_.empty() ? trace_.body_api : new_api_; }
    /// The body of the row that is written now; empty for none.
    std::string_view body_of(const TraceRow& row) const {
        return new_api_.empty() ? trace_.body_of(row) : new_body_;
    }
    /// Bodies are as a client sent them, not as a dialect makes them.
    bool recorded() const { return new_api_.empty() && trace_.recorded; }
    /// The number of a row in what is written, by its index; `no_row` where it was left out.
    std::uint32_t number_of(std::uint32_t index) const { return numbers_[index]; }
    /// One number for each block of each namespace, from 0 by first use: that of the row's block.
    std::uint64_t dense_id(const TraceRow& row, std::size_t block);
    /// A number that no block has.
    std::uint64_t fresh_id() { return next_id_++; }
    /// How many sessions have the name of this one.
    std::uint32_t namesakes(std::uint32_t session) const {
        return namesakes_.at(trace_.sessions[session]);
    }
    /// The row of this session that was written last; `no_row` for none. Sets it to `number`.
    std::uint32_t follow(std::uint32_t session, std::uint32_t number) {
        return std::exchange(last_rows_[session], number);
    }
    /// Writes the members for the body of a row that has lengths, where it has some.
    void write_extra(JsonWriter& json, const TraceRow& row);
    /// Writes the kept columns of a row whose names are not among `own`.
    void write_kept(JsonWriter& json, const TraceRow& row, std::span<const std::string_view> own);
    /// Writes the members of an object, JSON text.
    void write_members(JsonWriter& json, std::string_view object);
    /// Counts a loss; the texts are those of one and of several.
    void lose(const char* one, const char* many, std::uint64_t count = 1) {
        add_remark(counts_, one, many, count);
    }
    void lose(std::string line) { lines_.push_back(std::move(line)); }

  private:
    const Trace& trace_;
    const TraceTarget& target_;
    std::vector<WrittenRow> rows_;
    std::vector<std::uint32_t> numbers_;  ///< [index]
    std::size_t next_ = 0;
    bool begun_ = false;
    std::string_view new_api_;
    std::string_view new_body_;
    PerBlock<std::uint64_t> ids_;  ///< the number to write + 1; 0: none yet
    std::uint64_t next_id_ = 0;
    std::unordered_map<std::string_view, std::uint32_t> namesakes_;
    std::vector<std::uint32_t> last_rows_;  ///< [session]
    JsonDocument document_;
    std::vector<Remark> counts_;
    std::vector<std::string> lines_;
};

struct TraceTarget {
    const char* name = "";
    bool by_time = true;  ///< rows go out by time; else in file order
    /// Appends what is before the rows; nullptr: nothing.
    void (*begin)(TraceWriter& writer, std::string& out) = nullptr;
    /// Appends a row, without the line's end.
    void (*write)(TraceWriter& writer, const WrittenRow& row, std::string& out) = nullptr;
};

extern const TraceTarget canonical_target;
extern const TraceTarget mooncake_target;

}  // namespace driftless
