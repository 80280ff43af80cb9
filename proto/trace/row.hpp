/// The canonical row: what every trace format is read into, and what replay is planned from; and
/// the block ids of all rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

// BlockIds: the block ids of all rows of a trace, back to back, 4 bytes a reference.
//
// A reference is kept as a 32-bit number. While ids are small (traces that count their blocks from
// 0), the number is the id itself. At the first id that is large compared with the number of
// references, the list changes to numbers by first use, with one table of the ids that they stand
// for. In both cases equal numbers mean equal ids and all numbers are below `numbers_end`, so that
// code that counts blocks can use an array instead of a hash table.
//
// Owned by a Trace; append-only but for `truncate`. A span refers to the list and stays valid
// while the list is only appended to.

class BlockIdSpan;

class BlockIds {
  public:
    BlockIds() = default;
    BlockIds(BlockIds&&) = default;
    BlockIds& operator=(BlockIds&&) = default;
    BlockIds(const BlockIds& other) { *this = other; }
    BlockIds& operator=(const BlockIds& other);

    void push_back(std::uint64_t id) { append({&id, 1}); }
    void append(std::span<const std::uint64_t> ids);
    /// Drops all references behind the first `count`.
    void truncate(std::size_t count) { size_ = std::min(size_, count); }
    /// No more ids will be appended soon: frees what only appending needs.
    void settle();

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::uint64_t operator[](std::size_t at) const { return id_of(number(at)); }
    std::uint32_t number(std::size_t at) const { return numbers_[at]; }
    /// All of them; valid until the next id is appended.
    std::span<const std::uint32_t> numbers() const { return {numbers_.get(), size_}; }
    std::uint64_t id_of(std::uint32_t number) const { return direct_ ? number : values_[number]; }
    /// All numbers are below this: at most `direct_min`, or twice the references.
    std::uint32_t numbers_end() const {
        return direct_ ? direct_end_ : static_cast<std::uint32_t>(values_.size());
    }
    BlockIdSpan span(std::size_t begin, std::size_t count) const;

    /// Ids below this are their own numbers in any list: an array over them is 4 MiB at most.
    static constexpr std::uint64_t direct_min = std::uint64_t{1} << 20;

  private:
    struct Free {
        void operator()(std::uint32_t* memory) const { std::free(memory); }
    };

    void reserve(std::size_t count);
    void reallocate(std::size_t capacity);
    void number_all();
    void build_table(std::size_t slots);
    void append_numbered(std::span<const std::uint64_t> ids);
    std::uint32_t number_of(std::uint64_t id);
    std::size_t slot_of(std::uint64_t id) const;

    /// malloc's, so that growing moves pages and copies none.
    std::unique_ptr<std::uint32_t[], Free> numbers_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    bool direct_ = true;
    std::uint32_t direct_end_ = 0;
    std::vector<std::uint64_t> values_;  ///< [number] where not direct
    std::vector<std::uint32_t> table_;   ///< number + 1 by the hash of its id; 0: free
};

/// Some neighbouring ids of a list, by value.
class BlockIdSpan {
  public:
    class Iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::uint64_t;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = std::uint64_t;

        Iterator() = default;
        Iterator(const BlockIds* ids, std::size_t at) : ids_(ids), at_(at) {}
        std::uint64_t operator*() const { return (*ids_)[at_]; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) { return {ids_, at_++}; }
        bool operator==(const Iterator& other) const = default;

      private:
        const BlockIds* ids_ = nullptr;
        std::size_t at_ = 0;
    };
    using value_type = std::uint64_t;
    using const_iterator = Iterator;

    BlockIdSpan(const BlockIds& ids, std::size_t begin, std::size_t count)
        : ids_(&ids), begin_(begin), count_(count) {}

    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    std::uint64_t operator[](std::size_t at) const { return (*ids_)[begin_ + at]; }
    std::uint32_t number(std::size_t at) const { return ids_->number(begin_ + at); }
    std::uint64_t front() const { return (*this)[0]; }
    std::uint64_t back() const { return (*this)[count_ - 1]; }
    BlockIdSpan first(std::size_t count) const {
        CHECK(count <= count_);
        return {*ids_, begin_, count};
    }
    Iterator begin() const { return {ids_, begin_}; }
    Iterator end() const { return {ids_, begin_ + count_}; }

  private:
    const BlockIds* ids_;
    std::size_t begin_;
    std::size_t count_;
};

inline BlockIdSpan BlockIds::span(std::size_t begin, std::size_t count) const {
    CHECK(begin + count <= size_);
    return {*this, begin, count};
}

// A `Trace` owns all rows and one arena of block ids; rows refer into the arena. A reader makes it
// (one file per format beside this one); a stage that reshapes it takes it and returns another.

/// How the number of block ids follows from the length (trace-formats 12.3).
enum class TailRule : std::uint8_t {
    ceil,   ///< the last, partial block has an id too (Mooncake, Qwen)
    floor,  ///< only full blocks have ids; the rest of the prompt is private to its row (Weka)
};

inline constexpr std::uint32_t no_session = 0xFFFFFFFFu;
/// In place of a row's index: no such row.
inline constexpr std::uint32_t no_row = 0xFFFFFFFFu;

/// One request of a trace. Trivially copyable, 48 bytes.
struct TraceRow {
    std::int64_t at_ns = 0;       ///< trace time; the earliest row of the trace is 0
    std::uint64_t ids_begin = 0;  ///< first block id in `Trace::ids`
    std::uint32_t ids_count = 0;  ///< number of block ids
    std::uint32_t index = 0;      ///< file order, over all files of the trace, from 0
    std::uint32_t line = 0;       ///< 1-based line in its file; 0 where lines mean nothing
    /// Prompt tokens, and generated tokens as recorded: at least 1. 0 where unknown, which only
    /// rows with a recorded request are.
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::uint32_t name_space = 0;        ///< equal ids mean equal tokens inside one namespace only
    std::uint32_t session = no_session;  ///< index into `Trace::sessions`
    std::uint32_t turn = 0;              ///< 1-based; 0 where unknown
};

static_assert(sizeof(TraceRow) == 48);

/// What a row waits for when sessions are closed: its turn cannot come before an answer has, or
/// before another row was sent. Open-loop replay goes by `at_ns` alone.
enum class Trigger : std::uint8_t {
    completion,
    dispatch,
    over,  ///< the other row is over, in any way; no trace says so (engine/plan/wait_graph.hpp)
};

struct Dependency {
    std::uint32_t row = 0;  ///< the `index` of the row that waits
    std::uint32_t on = 0;   ///< the `index` of the row that it waits for
    Trigger trigger = Trigger::completion;
    std::int64_t delay_ns = 0;  ///< from the trigger on; think time and time of tools
};

/// A file of the trace, and the `index` of its first row.
struct TraceFilePart {
    std::string name;
    std::uint32_t first_row = 0;
};

/// A fact about many rows that a person should know, counted while they were read.
struct Remark {
    const char* one = "";   ///< "row with images, which are not sent"
    const char* many = "";  ///< the same of several
    std::uint64_t count = 0;
};

/// Counts a fact, which is listed from its first count on.
inline void add_remark(std::vector<Remark>& remarks, const char* one, const char* many,
                       std::uint64_t count) {
    const auto known = std::find_if(remarks.begin(), remarks.end(), [many](const Remark& remark) {
        return std::string_view(remark.many) == many;
    });
    if (known != remarks.end()) {
        known->count += count;
    } else if (count > 0) {
        remarks.push_back({one, many, count});
    }
}

/// The order of a trace's rows: by time, those of one instant in file order.
inline bool comes_before(const TraceRow& a, const TraceRow& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
}

/// A whole trace, sorted stably by time (equal instants keep file order).
struct Trace {
    std::string name;              ///< file name without folder and endings
    std::string format;            ///< as `--format` spells it
    std::string time_unit;         ///< "ms", "s", "us", "ns", "iso"
    std::uint32_t block_size = 0;  ///< tokens; 0 where the format has no blocks
    TailRule tail_rule = TailRule::ceil;

    std::vector<TraceRow> rows;
    BlockIds ids;  ///< all rows' block ids back to back
    std::vector<std::string> sessions;
    std::vector<Dependency> dependencies;  ///< by `row`; empty where rows do not wait for others
    /// How long the answer to the row with index i took, as recorded; 0: not known. May be short,
    /// or empty: read it through `answer_ns_of`.
    std::vector<std::int64_t> answers_ns;
    /// Tokens of system prompt and tools that the conversation of the row with index i declares, at
    /// the begin of its prompts. May be short, or empty: read it through `system_tokens_of`.
    std::vector<std::uint32_t> system_tokens;
    std::vector<TraceFilePart> files;  ///< in the order in which they were read
    std::vector<Remark> remarks;       ///< what a format noticed; no reason to refuse
    /// `--keep`: the JSON text of each row's kept columns ("{...}"), by `index`; empty where
    /// nothing is kept. Read it through `kept_of`.
    std::vector<std::string> kept;
    /// JSON objects whose members are added to the bodies of single rows, by `index`; may be short,
    /// or empty: read them through `extra_of`.
    std::vector<std::string> extras;
    /// Request bodies that are sent as they stand, back to back (saved prompts): that of the row
    /// with index i ends at `body_ends[i]`. Both empty where no row has one: read them through
    /// `body_of`.
    std::string body_bytes;
    std::vector<std::uint64_t> body_ends;
    /// They are recorded requests, of which bodies have yet to be made
    /// (proto/api/request_body.hpp).
    bool recorded = false;
    /// Recorded requests hold only the messages that are new since the answer to the row before in
    /// their session: what was said before is put together while the run goes on.
    bool deltas = false;
    std::string body_api;  ///< the dialect that the bodies were made for

    std::uint64_t bytes = 0;   ///< of the decompressed input
    std::uint64_t digest = 0;  ///< 64-bit digest of the decompressed input
    std::uint64_t rows_unsorted =
        0;  ///< rows whose time is before their predecessor's, before sorting
    std::uint64_t surplus_ids = 0;     ///< `--lenient`: block ids ignored
    std::uint64_t rows_uncovered = 0;  ///< `--lenient`: rows whose missing ids were filled
    std::uint64_t unknown_keys = 0;    ///< keys that no reader knows, ignored
    std::uint64_t zero_outputs = 0;    ///< output lengths of 0, clamped to 1
    /// Rows whose start was not recorded: their time follows from gaps after answers alone.
    std::uint64_t rows_laid_out = 0;
    std::uint32_t name_spaces = 0;  ///< namespaces of block ids, numbered from 0
    /// `--replicate`: rows of one copy. Copy k of the row with index i has the index
    /// i + k * copy_rows. 0: the trace is as it was read.
    std::uint32_t copy_rows = 0;

    BlockIdSpan ids_of(const TraceRow& row) const { return ids.span(row.ids_begin, row.ids_count); }
    /// What the row waits for under closed sessions.
    std::span<const Dependency> dependencies_of(const TraceRow& row) const {
        return std::ranges::equal_range(dependencies, row.index, {}, &Dependency::row);
    }
    /// By row, as they are in a trace; those of a row keep their order.
    void sort_dependencies();
    /// That of the row of which it is a copy.
    std::uint32_t index_in_copy(const TraceRow& row) const {
        return copy_rows == 0 ? row.index : row.index % copy_rows;
    }
    /// Name of the file that the row is in; empty where no file is named. Copies share it.
    std::string_view file_of(const TraceRow& row) const {
        const std::uint32_t index = index_in_copy(row);
        std::string_view found;
        for (const TraceFilePart& file : files) {
            found = file.first_row <= index ? file.name : found;
        }
        return found;
    }
    /// The copy that the row belongs to.
    std::uint32_t copy_of(const TraceRow& row) const {
        return copy_rows == 0 ? 0 : row.index / copy_rows;
    }
    /// Copies share it.
    std::int64_t answer_ns_of(const TraceRow& row) const {
        const std::size_t index = index_in_copy(row);
        return index < answers_ns.size() ? answers_ns[index] : 0;
    }
    /// Copies share it.
    std::uint32_t system_tokens_of(const TraceRow& row) const {
        const std::size_t index = index_in_copy(row);
        return index < system_tokens.size() ? system_tokens[index] : 0;
    }
    /// The row's whole request body, JSON text; empty where it is made from lengths and ids. Copies
    /// share it.
    std::string_view body_of(const TraceRow& row) const {
        const std::size_t index = index_in_copy(row);
        if (index >= body_ends.size()) {
            return {};
        }
        const std::uint64_t begin = index == 0 ? 0 : body_ends[index - 1];
        return std::string_view(body_bytes).substr(begin, body_ends[index] - begin);
    }
    /// JSON object of members for the body that is made from the row's length; empty: none. Copies
    /// share it.
    std::string_view extra_of(const TraceRow& row) const {
        const std::size_t index = index_in_copy(row);
        return index < extras.size() ? std::string_view(extras[index]) : std::string_view{};
    }
    /// Rows are sent with the words that were recorded: no salt, seed or overhead changes them.
    bool is_recorded_text() const { return !body_ends.empty(); }
    /// Whether it is known how much of the row's prompt stood in earlier ones: recorded text
    /// without block ids shares what it shares.
    bool foretells_hits(const TraceRow& row) const {
        return row.ids_count > 0 || body_of(row).empty();
    }
    /// JSON object of the row's kept columns; empty where nothing is kept. Copies share it.
    std::string_view kept_of(const TraceRow& row) const {
        const std::size_t index = index_in_copy(row);
        CHECK(kept.empty() || index < kept.size());
        return kept.empty() ? std::string_view{} : std::string_view{kept[index]};
    }
};

/// A value for each block of each namespace of a trace: an array, or a table where that would be
/// far longer than the trace has references. The trace outlives this.
template <typename Value>
class PerBlock {
  public:
    explicit PerBlock(const Trace& trace) : trace_(trace) {
        std::uint64_t references = 0;
        for (const TraceRow& row : trace.rows) {
            references += row.ids_count;
        }
        const std::uint64_t blocks = std::uint64_t{trace.name_spaces} * trace.ids.numbers_end();
        array_.resize(blocks <= BlockIds::direct_min + 4 * references ? blocks : 0);
    }

    Value& of(const TraceRow& row, std::size_t block) {
        const std::uint64_t key = key_of(row, block);
        return array_.empty() ? table_[key] : array_[key];
    }
    /// Nullptr where it may never have been set.
    Value* find(const TraceRow& row, std::size_t block) {
        const std::uint64_t key = key_of(row, block);
        if (!array_.empty()) {
            return &array_[key];
        }
        const auto known = table_.find(key);
        return known == table_.end() ? nullptr : &known->second;
    }
    std::uint64_t count(const Value& value) const {
        return static_cast<std::uint64_t>(
            std::count(array_.begin(), array_.end(), value) +
            std::count_if(table_.begin(), table_.end(),
                          [&value](const auto& one) { return one.second == value; }));
    }

  private:
    std::uint64_t key_of(const TraceRow& row, std::size_t block) const {
        return std::uint64_t{row.name_space} * trace_.ids.numbers_end() +
               trace_.ids_of(row).number(block);
    }

    const Trace& trace_;
    std::vector<Value> array_;
    std::unordered_map<std::uint64_t, Value> table_;
};

/// One reason why a trace is refused: everything a person needs to fix it.
struct InputError {
    std::string file;
    std::uint64_t line = 0;  ///< 0: the file as a whole
    std::string field;       ///< empty: the line as a whole
    std::string value;       ///< as written, cut at 80 bytes
    std::string problem;     ///< what is wrong, a clause
    std::string remedy;      ///< what fixes it, with the flag's name where there is one
};

/// At most this many errors are listed; the rest is counted.
inline constexpr std::size_t input_errors_max = 100;

/// Errors that say the same of different places.
struct InputErrorKind {
    std::string said;         ///< field and problem, without the numbers in them
    std::uint64_t count = 0;  ///< all
};

struct InputErrors {
    std::vector<InputError> list;       ///< the first `input_errors_max`
    std::uint64_t count = 0;            ///< all
    std::vector<InputErrorKind> kinds;  ///< the first `input_errors_max`

    void add(InputError error);
    /// The same, before all others.
    void add_first(InputError error);
    bool empty() const { return count == 0; }
};

/// Errors of one kind that a person reads; all others are counted.
inline constexpr std::size_t shown_errors_max = 3;

/// The errors as lines for a person: of each kind the first ones, then how many more there are.
std::vector<std::string> to_lines(const InputErrors& errors);

/// One line for a person: `file:line: field "value": problem; remedy`.
std::string to_text(const InputError& error);

}  // namespace driftless
