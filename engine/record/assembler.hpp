/// Assembler: events in, records out. It owns the state of every open row and reads all content:
/// the JSON of the chunks, token counts, messages. It tells the periods what came, as it comes. A
/// pure consumer: no thread, no file, no clock.
///
/// One row's garbage never touches another: states are apart, and every buffer has a bound
/// (row_state.hpp). Events that make no sense (of a row that was not armed, has
/// ended or is not in the plan) are counted and ignored. Every `end` of a row's own gives exactly
/// one record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/record/fill_record.hpp"
#include "engine/record/periods.hpp"
#include "engine/record/ring.hpp"
#include "engine/record/row_state.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// Running counts, for the progress line and the conservation law.
struct AssemblerCounts {
    std::uint64_t rows = 0;      ///< in the plan; of users: told of so far
    std::uint64_t fired = 0;     ///< rows
    std::uint64_t inflight = 0;  ///< rows fired and not ended
    std::uint64_t ended = 0;     ///< records given
    std::uint64_t failed = 0;    ///< records whose answer is not whole (record.hpp)
    std::uint64_t tokens = 0;    ///< as known so far; exact for rows that have ended
    std::int64_t drift_max_ns = 0;
    std::uint64_t stray_events = 0;  ///< made no sense and were ignored
    std::uint64_t unended = 0;       ///< records that `next_unended` had to make up
};

class Assembler {
  public:
    /// `periods` outlives this; null: there are none.
    explicit Assembler(AssemblerConfig config, Periods* periods = nullptr);

    /// Time 0 on the clock of the stamps. Before the first `end`; earlier events keep absolute
    /// stamps until then.
    void begin(Instant time_zero);

    /// One event, in the order of the ring; `payload` need not outlive the call. At the `end` of a
    /// row: its record, valid until the next call. Else nullptr. Samples are ignored.
    const Record* consume(const Event& event, std::string_view payload);

    /// The texts of the record that was just returned, where `--save-responses` wants them, else
    /// nullptr.
    const SavedText* saved() const { return saved_; }

    /// After the last event: a record for each row that has none (the engine ends every row; where
    /// it could not, the row is `not_sent`, or `cancelled` if it was in flight). nullptr at last.
    const Record* next_unended();

    /// Which row a request is of, and when it was due: from its `armed` to its `end`, else nullptr.
    const Due* due_of(std::uint32_t request) const;

    const AssemblerCounts& counts() const { return counts_; }
    std::size_t rows_open() const { return states_.size() - free_.size(); }

  private:
    RowState* state_of(const Event& event);
    std::uint32_t number_of(const Due& due);
    RowState& open(const Due& due);
    void on_armed(const Event& event);
    void on_fired(RowState& state, const Event& event);
    void on_head(RowState& state, const Event& event);
    void on_part(RowState& state, const Event& event, std::string_view payload);
    void on_chunk(RowState& state, const Event& event, std::string_view payload);
    void count_tokens(RowState& state, std::int64_t stamp_ns, std::uint64_t tokens);
    void read_event(RowState& state, std::string_view block, const ReadAt& read);
    bool is_over(const RowState& state, std::string_view payload) const;
    void finish_pending(RowState& state, const Event& end);
    const Record* on_end(RowState& state, const Event& event);
    void note_turn(const Due& due);
    void count_record(const RowState& state);

    AssemblerConfig config_;
    Periods* periods_;
    /// Of the one server, or of both sides; none: rows repeat, and have several ends.
    std::vector<TurnEnds> turns_;
    std::optional<RunForecast> forecast_;  ///< nothing: the plan has it
    Framing framing_ = Framing::sse;       ///< of answers that are what was asked for
    std::int64_t time_zero_ns_ = no_stamp;
    std::vector<std::uint32_t> slot_of_;  ///< [requests] into `states_`, or below
    std::vector<std::unique_ptr<RowState>>
        states_;  ///< the pool: as many as were ever open at once
    std::vector<std::uint32_t> free_;
    std::uint64_t saves_left_ = 0;
    std::uint32_t next_unended_ = 0;
    JsonDocument document_;
    std::string joined_;  ///< scratch of the SSE reader
    Record record_;
    SavedText saved_text_;
    const SavedText* saved_ = nullptr;
    AssemblerCounts counts_;
};

}  // namespace driftless
