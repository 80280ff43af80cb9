/// fill_record: from all that is known about a row to its record, and to its one outcome. Pure: it
/// reads the state, writes the record, and keeps nothing.
///
/// Precedence of the outcome, first that holds: what the engine says, where that is not `ok`; the
/// HTTP status; an encoding or a content type that is none of the API's; an event over its limit;
/// an event that cannot be read; an error in the stream, `[DONE]` or not; a close-delimited stream
/// without finish or `[DONE]`; no token; under `--output exact`, another length than asked; ok.
/// A row that lost bytes in the ring is not blamed for what only those bytes could have told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/prompt/row_fields.hpp"
#include "engine/record/grow_and_stop.hpp"
#include "engine/record/ring.hpp"
#include "engine/record/row_state.hpp"
#include "proto/api/dialect.hpp"
#include "proto/figures/taint.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Bytes of a server's message in a record.
inline constexpr std::size_t error_bytes_max = 256;
/// Bytes of a header's value in a record: names of pods and workers are far shorter.
inline constexpr std::size_t recorded_header_bytes_max = 256;

/// What the records of a run are made from. Pointers outlive the assembler.
struct AssemblerConfig {
    const Trace* trace = nullptr;
    const Plan* plan = nullptr;
    const Dialect* dialect = nullptr;
    std::vector<std::string> urls;          ///< [targets] as they are in the records
    std::string model;                      ///< as it is in the records; empty: none is named
    std::string against_model;              ///< of side b (dual fire); as above
    const RowModels* row_models = nullptr;  ///< each row's own, where rows have one
    OutputRule output = OutputRule::exact;
    bool stream = true;  ///< false under `--no-stream`
    /// Streams of this server say that they have ended: one that does not is cut off.
    bool has_end_mark = false;
    bool against_has_end_mark = false;  ///< of side b
    bool chunks = true;                 ///< `--chunks full`
    std::uint64_t save_responses = 0;   ///< `--save-responses`: answers, UINT64_MAX for all
    std::vector<std::string> secrets;   ///< never to be in a record (text.hpp)
    std::string trace_run_id;  ///< what traces are named after; empty: requests had no traceparent
    std::vector<std::string> record_headers;  ///< names of answer fields that are recorded
    TaintLimits limits;                       ///< what calibration allows; none without one
    std::uint32_t segment = 0;                ///< of a run that was killed and goes on
    /// [requests of this segment] their numbers in the run; empty: the same.
    std::vector<std::uint32_t> numbers;
    /// Of several processes that send a plan: [rows of this run] their numbers in all of it; empty:
    /// the same.
    std::vector<std::uint32_t> numbers_in_all;
    std::uint32_t number_in_all(std::uint32_t number) const {
        return numbers_in_all.empty() ? number : numbers_in_all[number];
    }
    /// [sessions] the session that its tree is named after (roots_of_sessions); empty: itself.
    std::vector<std::uint32_t> trees;
    ShardPlace place;     ///< of several processes: no two of them name a user alike
    bool closed = false;  ///< `--sessions closed`: when the last row is due is not known
    /// Of users: their requests have numbers below this, and use them again in later passes; how
    /// many there will be is not known. 0: there are none, and each row of the plan is sent once.
    std::uint32_t requests_end = 0;
    bool has_users() const { return requests_end > 0; }
    /// Users send rows of the plan more than once: in later passes, too.
    bool rows_repeat() const { return requests_end > plan->rows.size(); }
    /// Of a run that is resumed: the rows that have a record; else null.
    const RowEnds* earlier_ends = nullptr;
    PeriodRules periods;
    /// `--assistant live`; else null. Told of every end; outlives the assembler.
    Histories* histories = nullptr;
    ForecastRules forecast;  ///< of cache hits, where the run decides the order
};

/// Fills `record` (of any earlier content) from the row's state and its `end`. `document` is
/// scratch for error bodies. Takes the chunk arrays out of the state.
void fill_record(Record& record, RowState& state, const Event& end, const AssemblerConfig& config,
                 std::int64_t time_zero_ns, JsonDocument& document);

// Origin: what a record knows of a row before it is sent: where it comes from, and when it was
// due. Pure.

/// What `error` says of a row that will not be sent, because of the row with that index.
std::string waited_in_vain(std::uint32_t row, const char* why = "failed");

/// `number`: of the sending, in the run.
void fill_origin(Record& record, const Due& due, std::uint32_t number,
                 const AssemblerConfig& config);

// The one outcome of a row, by the precedence above. Pure; internal to engine/record.

/// Whether some bytes of the answer never reached the writer.
bool lost_bytes(const RowState& state, const EndInfo& end);

/// Beyond these an answer of this row is over its limit.
AnswerLimits limits_of(const RowState& state, const AssemblerConfig& config);

/// Once the token counts of the record are known.
Outcome outcome_of(const Record& record, const RowState& state, const EndInfo& end,
                   const AssemblerConfig& config);

}  // namespace driftless
