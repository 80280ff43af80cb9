/// TraceDraft: a trace while its rows are read.
///
/// Formats append block ids and rows here, name sessions and requests, and say who waits for whom.
/// It numbers rows and namespaces and remembers the last row of every session. Owned by the reader;
/// names of sessions and requests hold inside one file only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/trace/id_counts.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

inline constexpr std::uint32_t no_row = 0xFFFFFFFFu;

/// Where equal block ids mean equal blocks, `--hash-scope`: as the format says, inside a file,
/// across all files, or inside a session (rows without one: inside their file).
enum class IdScope : std::uint8_t { format, file, all, session };

/// Where a session stands.
struct SessionTail {
    std::optional<std::uint32_t> name_space;  ///< its own, under IdScope::session
    std::uint32_t turns = 0;
    std::uint32_t last_row = no_row;
    std::int64_t last_at_ns = 0;
    std::optional<std::int64_t> last_end_ns;  ///< recorded end of its answer, where known
};

/// Names are looked up without a copy.
struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
        return std::hash<std::string_view>{}(name);
    }
};

class TraceDraft {
  public:
    explicit TraceDraft(Trace& trace) : trace_(trace) {}

    Trace& trace() { return trace_; }

    /// Rows that follow come from this file: names start anew, and so does its namespace.
    void begin_file(std::string_view name);
    /// Block ids that follow share nothing with those before.
    void begin_name_space();
    /// Block ids that follow share with those of the namespace of that name in this file.
    void enter_name_space(std::string_view name);
    /// From now on all files share one namespace and one set of names: they are segments of one
    /// log.
    void share_name_space() { shared_ = true; }
    /// The user's word, which goes before all of these. Before the first file.
    void set_scope(IdScope scope) { scope_ = scope; }

    /// Starts the ids of a row; those of a row that was not added are dropped.
    void begin_ids();
    void add_id(std::uint64_t id) { trace_.ids.push_back(id); }
    void add_ids(std::span<const std::uint64_t> ids) { trace_.ids.append(ids); }
    std::uint64_t ids_count() const { return trace_.ids.size() - ids_kept_; }
    void cut_ids(std::uint64_t count) { trace_.ids.truncate(ids_kept_ + count); }
    /// How numbers of ids went with lengths, of rows that were refused, too.
    IdCounts& counts() { return counts_; }

    /// A row has no list of ids: its prompt is private. Where other rows have one, the reader
    /// refuses the trace.
    void note_missing_ids(std::uint64_t line);
    std::uint64_t rows_without_ids() const { return rows_without_ids_; }
    std::uint64_t first_line_without_ids() const { return first_line_without_ids_; }

    /// Times of whose unit one cannot be sure from the row alone: the first one, for messages.
    void note_doubt(std::string_view file, std::uint64_t line, std::string_view name,
                    std::string_view text) {
        if (!doubt_) {
            doubt_ = Doubt{std::string(file), line, std::string(name), std::string(text)};
        }
    }
    struct Doubt {
        std::string file;
        std::uint64_t line = 0;
        std::string name;
        std::string text;
    };
    const std::optional<Doubt>& doubt() const { return doubt_; }

    /// Gives the row that is added next a request body of its own.
    void set_body(std::string_view json);

    /// Adds the row with the ids since `begin_ids`; fills in index, ids and namespace.
    TraceRow& add(TraceRow row);
    std::uint32_t rows() const { return static_cast<std::uint32_t>(trace_.rows.size()); }

    /// The session of that name in this file, made where it is new.
    std::uint32_t session(std::string_view name) { return session(name, name); }
    /// The same where names are not enough: sessions of one name with different keys differ.
    std::uint32_t session(std::string_view name, std::string_view key);
    SessionTail& tail(std::uint32_t session) { return tails_[session]; }
    /// Makes `row`, not added yet, the next turn of its session: it waits for the turn before.
    void next_turn(TraceRow& row, std::int64_t delay_ns);

    /// Names the row that is added next; `find_request` gives its index from then on.
    void name_request(std::string_view name) { requests_[std::string(name)] = rows(); }
    std::uint32_t find_request(std::string_view name) const;

    void depend(const Dependency& dependency) { trace_.dependencies.push_back(dependency); }
    void remark(const char* one, const char* many, std::uint64_t count = 1);

    /// After the last row: dependencies are sorted, loose ids dropped.
    void finish();

  private:
    using Names = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;

    Trace& trace_;
    std::uint64_t ids_kept_ = 0;  ///< where the ids of added rows end
    std::uint64_t rows_without_ids_ = 0;
    std::uint64_t first_line_without_ids_ = 0;
    std::uint32_t name_space_of(const TraceRow& row);

    std::optional<std::uint32_t> name_space_;
    IdScope scope_ = IdScope::format;
    IdCounts counts_;
    std::optional<Doubt> doubt_;
    bool shared_ = false;
    Names sessions_;  ///< of this file
    Names requests_;
    Names name_spaces_;
    std::vector<SessionTail> tails_;  ///< [Trace::sessions]
};

}  // namespace driftless
