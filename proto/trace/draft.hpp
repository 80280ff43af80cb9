/// TraceDraft: a trace while its rows are read.
///
/// Formats add rows here, name requests, and say who waits for whom; ids, namespaces and sessions
/// are parts of their own. It numbers rows. Owned by the reader; names of sessions, requests and
/// namespaces hold inside one file only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/trace/dialogue.hpp"
#include "proto/trace/message_rows.hpp"
#include "proto/trace/name_spaces.hpp"
#include "proto/trace/numbers_by_name.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/row_ids.hpp"
#include "proto/trace/session_turns.hpp"

namespace driftless {

/// A time whose unit does not follow from its row alone.
struct UnitDoubt {
    std::string file;
    std::uint64_t line = 0;
    std::string name;
    std::string text;
};

class TraceDraft {
  public:
    explicit TraceDraft(Trace& trace)
        : trace_(trace), ids_(trace.ids), name_spaces_(trace), sessions_(trace) {}

    Trace& trace() { return trace_; }
    RowIds& ids() { return ids_; }
    NameSpaces& name_spaces() { return name_spaces_; }
    SessionTurns& sessions() { return sessions_; }
    Dialogue& dialogue() { return dialogue_; }
    MessageRows& message_rows() { return message_rows_; }

    /// Rows that follow come from this file: names start anew, and so does its namespace.
    void begin_file(std::string_view name);
    /// From now on all files share one namespace and one set of names: they are segments of one
    /// log.
    void share_name_space() { one_log_ = true; }

    /// Gives the row that is added next a request body of its own.
    void set_body(std::string_view json);
    /// Gives the row that is added next members for its body, a JSON object. Call it when the row
    /// is known to be added.
    void set_extra(std::string_view json);
    /// Adds the row with the ids since `ids().begin()`; fills in index, ids and namespace.
    TraceRow& add(TraceRow row);
    std::uint32_t rows() const { return static_cast<std::uint32_t>(trace_.rows.size()); }

    /// Names the row that is added next; `find_request` gives its index from then on.
    void name_request(std::string_view name) { requests_[std::string(name)] = rows(); }
    /// `no_row` where no row of this file has that name.
    std::uint32_t find_request(std::string_view name) const;
    void depend(const Dependency& dependency) { trace_.dependencies.push_back(dependency); }

    void remark(const char* one, const char* many, std::uint64_t count = 1);
    /// Keeps the first one, for messages.
    void note_doubt(UnitDoubt doubt);
    const std::optional<UnitDoubt>& doubt() const { return doubt_; }

    /// After the last row: dependencies are sorted, loose ids dropped.
    void finish();

  private:
    Trace& trace_;
    RowIds ids_;
    NameSpaces name_spaces_;
    SessionTurns sessions_;
    Dialogue dialogue_;  ///< of this file
    MessageRows message_rows_;
    bool one_log_ = false;
    NumbersByName requests_;  ///< of this file
    std::optional<UnitDoubt> doubt_;
};

}  // namespace driftless
