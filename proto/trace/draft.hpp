/// TraceDraft: a trace while its rows are read: ids, names, conversations, messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

// NumbersByName: a map from names to numbers, searched without copying the name.

struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
        return std::hash<std::string_view>{}(name);
    }
};

using NumbersByName = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;

/// IdCounts: which block sizes the rows' numbers of ids fit, so that a refusal can name one.
///
/// Sizes are the powers of two that caches use, 16 to 1024, by the rule that the partial last block
/// has an id (TailRule::ceil). Pure.
class IdCounts {
  public:
    static constexpr std::uint64_t size_min = 16;
    static constexpr std::uint64_t size_max = 1024;

    /// A row of that many tokens has that many ids.
    void add(std::uint64_t tokens, std::uint64_t ids) {
        ++rows_;
        ids_ += ids;
        std::uint64_t size = size_min;
        for (Fit& fit : fits_) {
            const std::uint64_t needed = (tokens + size - 1) / size;
            fit.rows += needed == ids ? 1 : 0;
            fit.off += needed > ids ? needed - ids : ids - needed;
            size *= 2;
        }
    }
    void add_wrong(bool wrong) { wrong_ += wrong ? 1 : 0; }

    std::uint64_t rows() const { return rows_; }
    std::uint64_t ids() const { return ids_; }      ///< in all rows, as recorded
    std::uint64_t wrong() const { return wrong_; }  ///< rows that do not fit the size in force
    /// "16 or 32": the sizes that every row fits; empty: none.
    std::string sizes_of_all() const {
        std::string sizes;
        for (std::size_t i = 0; i < fits_.size(); ++i) {
            if (rows_ > 0 && fits_[i].rows == rows_) {
                sizes += (sizes.empty() ? "" : " or ") + std::to_string(size_min << i);
            }
        }
        return sizes;
    }

    struct Best {
        std::uint64_t size = 0;
        std::uint64_t rows = 0;  ///< that fit it
    };
    /// The size at which the fewest ids are too many or missing.
    Best best() const {
        const auto* const least = std::ranges::min_element(fits_, {}, &Fit::off);
        return {size_min << (least - fits_.begin()), least->rows};
    }

  private:
    struct Fit {
        std::uint64_t rows = 0;  ///< that fit the size
        std::uint64_t off = 0;   ///< ids too many or missing, of all rows
    };
    std::uint64_t rows_ = 0;
    std::uint64_t ids_ = 0;
    std::uint64_t wrong_ = 0;
    std::array<Fit, 7> fits_ = {};  ///< [log2 of size / size_min]
};

/// RowIds: the block ids of the row that is being read, at the end of the trace's arena.
///
/// A format begins them, adds ids, and may cut surplus ones; adding the row keeps them, and those
/// of a row that was not added are dropped. It counts how numbers of ids go with lengths, and the
/// rows without a list, for the checks of the whole trace. Part of a TraceDraft.
class RowIds {
  public:
    /// The arena outlives this.
    explicit RowIds(BlockIds& arena) : arena_(arena) {}

    /// Starts the ids of a row; those of a row that was not added are dropped.
    void begin() { arena_.truncate(kept_); }
    void add(std::uint64_t id) { arena_.push_back(id); }
    void add(std::span<const std::uint64_t> ids) { arena_.append(ids); }
    std::uint64_t count() const { return arena_.size() - kept_; }
    void cut(std::uint64_t count) { arena_.truncate(kept_ + count); }
    /// The ids since `begin` are this row's.
    void keep(TraceRow& row);

    /// How numbers of ids went with lengths, of rows that were refused, too.
    IdCounts& counts() { return counts_; }

    /// A row has no list of ids: its prompt is private. If other rows have one, the trace is
    /// refused.
    void note_missing(std::uint64_t line);
    std::uint64_t rows_missing() const { return rows_missing_; }
    std::uint64_t first_line_missing() const { return first_line_missing_; }

    /// After the last row: loose ids are dropped.
    void finish();

  private:
    BlockIds& arena_;
    std::uint64_t kept_ = 0;  ///< where the ids of added rows end
    std::uint64_t rows_missing_ = 0;
    std::uint64_t first_line_missing_ = 0;
    IdCounts counts_;
};

// NameSpaces: the namespace of a row's block ids.
//
// Equal ids mean equal blocks inside one namespace only. A format says where one begins, or names
// it; the user's `--hash-scope` goes before that. A namespace gets its number with its first row,
// or with its name. Part of a TraceDraft.

/// Where equal block ids mean equal blocks, `--hash-scope`: as the format says, inside a file,
/// across all files, or inside a session (rows without one: inside their file).
enum class IdScope : std::uint8_t { format, file, all, session };

class NameSpaces {
  public:
    /// `trace` counts the namespaces, and outlives this.
    explicit NameSpaces(Trace& trace) : trace_(trace) {}

    /// What the user chose. Before the first file.
    void set_scope(IdScope scope) { scope_ = scope; }
    /// Rows that follow come from another file. `one_log`: the format's files share one namespace.
    void begin_file(bool one_log);
    /// Block ids that follow share nothing with those before.
    void begin();
    /// Block ids that follow share with those of the namespace of that name in this file.
    void enter(std::string_view name);

    /// The namespace of a row that is added now.
    std::uint32_t of(const TraceRow& row);

  private:
    Trace& trace_;
    IdScope scope_ = IdScope::format;
    std::optional<std::uint32_t> current_;
    NumbersByName named_;                                   ///< of this file
    std::vector<std::optional<std::uint32_t>> of_session_;  ///< [Trace::sessions], IdScope::session
};

// SessionTurns: the conversations of a trace while its rows are read.
//
// It numbers sessions by their names, which hold inside one file only, remembers the last row of
// each, and makes a turn wait for the turn before it. Part of a TraceDraft.

/// Where a session stands.
struct SessionTail {
    std::uint32_t turns = 0;
    std::uint32_t last_row = no_row;
    std::int64_t last_at_ns = 0;
    std::optional<std::int64_t> last_end_ns;  ///< recorded end of its answer, where known
};

class SessionTurns {
  public:
    /// `trace` holds the names and the dependencies, and outlives this.
    explicit SessionTurns(Trace& trace) : trace_(trace) {}

    /// Names begin anew.
    void begin_file();
    /// Sessions whose name is in an earlier file, too: they are others.
    std::uint64_t namesakes() const { return namesakes_; }

    /// The session of that name in this file, made where it is new.
    std::uint32_t find(std::string_view name) { return find(name, name); }
    /// The same where names are not enough: sessions of one name with different keys differ.
    std::uint32_t find(std::string_view name, std::string_view key);

    SessionTail& tail(std::uint32_t session) { return tails_[session]; }
    /// Makes `row`, which is added next, the next turn of its session: it waits for the turn
    /// before.
    void next_turn(TraceRow& row, std::int64_t delay_ns);

  private:
    Trace& trace_;
    NumbersByName numbers_;                    ///< by key, of this file
    std::vector<SessionTail> tails_;           ///< [Trace::sessions]
    std::unordered_set<std::string> earlier_;  ///< names of earlier files
    std::size_t of_earlier_ = 0;               ///< sessions of `Trace` that these are
    std::uint64_t namesakes_ = 0;
};

// MessageRows: which rows of a trace hold messages, and how much of their conversation.
//
// A row of messages holds all that was said so far, or only what is new since the answer to the
// row before (a delta). All rows of a trace are of one kind (`Trace::deltas`), because their
// prompts are put together in one way; in a session with deltas all rows are deltas. Part of a
// TraceDraft.

enum class RowWords : std::uint8_t {
    none,     ///< no list of messages: a length, a text, a body
    history,  ///< messages: all that was said so far
    delta,    ///< messages: what is new since the answer to the row before
};

/// Where the rows of a session stand.
struct MessageTail {
    bool begun = false;
    bool doubted = false;          ///< its rows look like deltas and do not say so
    bool deltas = false;           ///< its rows are deltas
    std::string tools;             ///< JSON list of the last row that had one; empty: none
    std::uint64_t list_bytes = 0;  ///< of the last row's messages, as JSON text
};

class MessageRows {
  public:
    /// `session` is an index into `Trace::sessions`.
    MessageTail& tail(std::uint32_t session);

    /// Notes that the next row of that session, or of none, is of this kind. Returns what forbids
    /// it, a clause; empty: nothing.
    std::string_view note(std::uint32_t session, RowWords words);

  private:
    std::vector<MessageTail> tails_;  ///< [Trace::sessions]
    bool histories_ = false;          ///< some row is one
    bool deltas_ = false;
};

// Dialogue: the conversation at hand of a format that has one message a row.
//
// It checks that turns and roles follow each other and gathers the messages, so that a row that
// asks for an answer can be given everything said before it. Rows of a conversation stand
// together, so that there is one of these a file. Part of a TraceDraft; no clock, no file.

/// Who speaks. `none`: before the first row.
enum class Speaker : std::uint8_t { none, user, assistant, tool };

struct Dialogue {
    std::string id;
    std::uint32_t session = no_session;  ///< of `Trace::sessions`
    std::uint32_t turn = 0;              ///< of the row before
    Speaker speaker = Speaker::none;     ///< of the row before
    bool calls_tools = false;            ///< the row before asks for results of tools
    bool has_system = false;
    bool broken = false;   ///< one of its rows was refused: those behind it mean nothing
    std::string messages;  ///< JSON objects with commas between them
    std::string tools;     ///< JSON list that holds for rows without one; empty: none
    std::uint32_t answer_tokens_max = 0;  ///< holds for rows without a limit; 0: none

    /// Appends messages: JSON objects with commas between them.
    void add(std::string_view objects) {
        messages += messages.empty() || objects.empty() ? "" : ",";
        messages += objects;
    }
};

/// Whether a row of `next` may follow the dialogue so far. What forbids it, a clause; empty: it
/// may.
std::string_view order_problem(const Dialogue& dialogue, Speaker next);

// TraceDraft: a trace while its rows are read.
//
// Formats add rows here, name requests, and say who waits for whom; ids, namespaces and sessions
// are parts of their own. It numbers rows. Owned by the reader; names of sessions, requests and
// namespaces hold inside one file only.

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
    /// Gives the row that is added next the number of its turn as its file has it: from 1 on, or,
    /// if any turn of the file is 0, from 0 on.
    void number_turn(TraceRow& row, std::uint32_t number);
    void depend(const Dependency& dependency) { trace_.dependencies.push_back(dependency); }

    void remark(const char* one, const char* many, std::uint64_t count = 1) {
        add_remark(trace_.remarks, one, many, count);
    }
    /// Keeps the first one, for messages.
    void note_doubt(UnitDoubt doubt);
    const std::optional<UnitDoubt>& doubt() const { return doubt_; }

    /// After the last row: dependencies are sorted, loose ids dropped.
    void finish();

  private:
    void settle_turns();

    Trace& trace_;
    RowIds ids_;
    NameSpaces name_spaces_;
    SessionTurns sessions_;
    Dialogue dialogue_;  ///< of this file
    MessageRows message_rows_;
    bool one_log_ = false;
    NumbersByName requests_;               ///< of this file
    std::vector<std::uint32_t> numbered_;  ///< rows of this file whose turn has a number
    bool from_0_ = false;                  ///< a turn of this file is 0
    std::optional<UnitDoubt> doubt_;
};

}  // namespace driftless
