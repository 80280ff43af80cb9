/// From planned rows to requests whose every byte is ready, ahead of time, in small slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/prompt/row_fields.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "proto/api/dialect.hpp"
#include "proto/http/request.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// RequestWriter: puts one request together in the storage that it is given, in slices: what its
// body begins with, its prompt, the rest of the body, and the head right in front. It takes no
// memory after it is made, and decides nothing: which request, when and where is the armer's.
// Owned by the armer.

/// What requests to the second server of dual fire are made of; both outlive the armer.
struct AgainstForm {
    PromptBuilder* prompts = nullptr;  ///< with that server's overhead
    const BodyFrame* frame = nullptr;  ///< with its model
    const RowBodies* row_bodies = nullptr;
};

/// How requests look, beside their prompts.
struct RequestOptions {
    /// Begins the names of requests (write_request_id).
    std::string run_id;
    std::size_t targets = 1;  ///< rows go to them as `balance` says
    Balance balance = Balance::turn;
    /// [requests of this engine] their positions in the plan, by which they are balanced; null:
    /// they are the same. Outlives the armer.
    const std::vector<std::uint32_t>* positions = nullptr;
    bool for_tls = false;  ///< leaves room in front, so that records fit in place
    /// Head fields of each row's own, by its position in the trace; outlives the armer. An
    /// X-Request-Id among them goes before ours.
    const RowFields* row_fields = nullptr;
    bool traceparent = false;  ///< names each row's trace (request.hpp)
    /// Of each row's own: bodies begin with its opening, and the frame goes on behind it. Outlives
    /// the armer.
    const RowModels* row_models = nullptr;
    /// Frames of each row's own; null: all have the one. Outlives the armer.
    const RowBodies* row_bodies = nullptr;
    /// Which of several processes this is, who name no two users alike.
    ShardPlace place = {};
    /// Words of answers that bodies hold; null: bodies are as they are in the trace. Outlives the
    /// armer.
    const Replies* replies = nullptr;
    /// Dual fire: a row goes to the target of its side, a or b, whatever `balance` says; null in
    /// it: there is none.
    AgainstForm against;
};

class RequestWriter {
  public:
    /// All of them outlive it. `heads` holds one head per target.
    RequestWriter(const Trace& trace, PromptBuilder& prompts, const std::vector<RequestHead>& heads,
                  const BodyFrame& frame, RequestOptions options);

    /// The server that the request goes to.
    std::uint32_t target_of(const Due& due) const;
    /// Upper bound of the bytes of a request that goes on behind no answer of this run. `row`:
    /// position in the trace.
    std::size_t room_of(std::uint32_t row) const { return room_of(row, 0); }
    /// The same of one that may be built now.
    std::size_t room_of(const Due& due) const { return room_of(due.row, added_bytes(due)); }

    /// Begins a request, in storage with room for it; what was begun before is forgotten.
    void begin(const Due& due, char* storage);
    /// About `tokens_max` further tokens of its prompt; true where that is complete.
    bool fill(std::uint32_t tokens_max);
    /// The rest of it, once the prompt is complete. Its bytes, in that storage.
    std::string_view finish();

    /// Of the request at hand, once its prompt is complete.
    std::uint64_t prompt_digest() const { return PromptBuilder::digest_of(cursor_); }
    /// Its prompt is longer than recorded, since the server's template alone is.
    bool is_clamped() const { return prompts_for(due_.side).clamped(trace_.rows[due_.row]); }

  private:
    std::size_t room_of(std::uint32_t row, std::size_t added) const;
    std::size_t front_room_of(std::uint32_t row, std::size_t added) const;
    std::size_t body_room_of(std::uint32_t row) const;
    bool goes_on(const Due& due) const {
        return options_.replies != nullptr && options_.replies->goes_on(due);
    }
    std::size_t added_bytes(const Due& due) const {
        return goes_on(due) ? options_.replies->added_bytes(due) : 0;
    }
    PromptBuilder& prompts_for(Side side) const {
        return side == Side::b ? *options_.against.prompts : prompts_;
    }
    FrameView frame_for(Side side, std::uint32_t row) const;
    std::size_t framed_room_of(std::uint32_t row, Side side) const;
    std::string_view opening_of(std::uint32_t row) const;
    std::size_t write_head(const TraceRow& row, std::size_t body_bytes);

    const Trace& trace_;
    PromptBuilder& prompts_;
    const std::vector<RequestHead>& heads_;
    const BodyFrame& frame_;
    const RequestOptions options_;
    std::size_t head_room_ = 0;
    std::string head_scratch_;
    char id_scratch_[request_id_bytes];
    std::string fields_scratch_;  ///< head fields of one row

    Due due_;
    char* storage_ = nullptr;
    char* body_ = nullptr;          ///< where the body begins in it
    std::size_t before_bytes_ = 0;  ///< of the body, before its prompt
    bool is_recorded_ = false;      ///< a whole body: no frame around it
    PromptCursor cursor_;
};

// Armer: from planned rows to requests whose every byte is ready, ahead of time, in small slices.
//
// It goes by what the schedule wants armed next, builds head and body of each row contiguously in
// the BodyPool, and keeps them for the pacer. A slice is bounded in work, so that it fits between
// two fires. What has left no room (bytes or places) waits; that is a late arm if its row becomes
// due.

struct ArmerOptions : RequestOptions {
    std::uint32_t armed_max = 16384;  ///< requests armed and not yet fired, a power of two
};

class Armer {
  public:
    /// All of them outlive the armer. `heads` holds one head per target.
    Armer(const Trace& trace, Schedule& schedule, PromptBuilder& prompts, BodyPool& bodies,
          const std::vector<RequestHead>& heads, const BodyFrame& frame,
          const ArmerOptions& options);
    ~Armer();
    Armer(const Armer&) = delete;
    Armer& operator=(const Armer&) = delete;

    /// One slice of about `tokens_max` tokens for the next request that is due up to `horizon_ns`
    /// (from time 0). False where there is nothing to do, or no room to do it.
    bool step(Instant now, std::int64_t horizon_ns, std::uint32_t tokens_max);

    /// What `step` goes on with may be due as soon as somebody reads an answer.
    bool arms_soon() const {
        return !stopped_ && !full() && !lacks_room() && (job_is_soon_ || schedule_.arms_soon());
    }

    /// The rows that are on their way. The armer brings them in; the pacer takes them out.
    RowsUnderway& rows() { return rows_; }

    /// A row whose turn has not come; nullptr where its bytes are not ready.
    RowUnderway* ready(const Due& due);
    /// The turn of a row that is ready has come; `due` has its rank.
    RowUnderway& take(const Due& due);

    /// Builds a row once more whose bytes are lost (a stale retry, or a connection that ended with
    /// its records): it comes out of `take_again`. One that has its storage still waits for no
    /// memory.
    void arm_again(RowUnderway& row);
    /// The same for a row whose turn has come before it was armed, and which must not wait for
    /// memory that those hold who cannot leave before it.
    RowUnderway& arm_late(const Due& due);
    /// Rows that are being built once more.
    std::uint32_t again_count() const { return again_.count; }
    /// The next of them that is armed; nullptr where none is.
    RowUnderway* take_again();

    /// A row that will not be sent: its turn has come, and whatever was built of it is given back.
    RowUnderway& give_up(const Due& due);
    /// Gives the bytes of a row back, where it has them.
    void give_back(RowUnderway& row);
    /// The same for a row that was taken and goes no further: it was built to be looked at.
    void discard(RowUnderway& row);

    /// Ends arming for good: what is armed and was not taken is given back. Rows that were to be
    /// built once more come out, without their bytes, in the order in which that was asked for.
    RowList stop();

    /// Every request of the schedule has been built, before `stop` where that was called. False for
    /// good once one was given up that was not.
    bool all_armed() const {
        return !unbuilt_ && (stopped_ ? all_armed_ : job_ == nullptr && !next(INT64_MAX));
    }
    /// The next request found no room for its bytes, and none has come free since.
    bool lacks_room() const { return lacked_at_ > 0 && bodies_.used_bytes() >= lacked_at_; }
    /// Rows that are armed, or were, and whose turn has not come.
    std::uint32_t armed_count() const { return rows_.untaken() - (builds_next() ? 1 : 0); }
    /// As many are armed as may be.
    bool full() const { return armed_count() >= armed_max_; }
    std::uint64_t prompts_digest() const { return prompts_digest_ + against_digest_; }
    /// The part of it that went to side b of dual fire; else 0.
    std::uint64_t against_digest() const { return against_digest_; }
    std::uint64_t clamped_rows() const { return clamped_rows_; }

    /// The server that the request is armed for.
    std::uint32_t target_of(const Due& due) const { return writer_.target_of(due); }
    /// Upper bound of the bytes of a request. `row`: position in the trace.
    std::size_t room_of(std::uint32_t row) const { return writer_.room_of(row); }

  private:
    /// A row is being built for the first time.
    bool builds_next() const { return job_ != nullptr && !job_is_again_; }
    RowUnderway* next_again() const;
    std::optional<Due> next(std::int64_t horizon_ns) const {
        return schedule_.within(Lookahead::arming, horizon_ns);
    }
    bool begin_job(std::int64_t horizon_ns);
    char* take_storage(const Due& due, const RowUnderway* again);
    void drop_job();
    void finish_job(Instant now);

    Schedule& schedule_;
    BodyPool& bodies_;
    RequestWriter writer_;
    const std::uint32_t armed_max_;

    bool stopped_ = false;
    bool all_armed_ = false;      ///< when it was stopped
    bool unbuilt_ = false;        ///< some row was given up before it was built
    std::size_t lacked_at_ = 0;   ///< bytes in use when the next row found no room; 0: it did
    RowUnderway* job_ = nullptr;  ///< the row that is being built
    bool job_is_again_ = false;   ///< it is one of `again_`
    bool job_is_new_ = false;     ///< built for the first time
    bool job_is_soon_ = false;    ///< `arms_soon` said so when it was begun

    RowsUnderway rows_;
    RowList again_;              ///< wanted once more, being built, or armed
    std::uint32_t rebuilt_ = 0;  ///< of them: armed

    std::uint64_t prompts_digest_ = 0;
    std::uint64_t against_digest_ = 0;
    std::uint64_t clamped_rows_ = 0;
};

}  // namespace driftless
