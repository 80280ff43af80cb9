/// Armer: from planned rows to requests whose every byte is ready, ahead of time, in small slices.
///
/// It goes by what the schedule wants armed next, builds head and body of each row contiguously in
/// the BodyPool, and keeps them for the pacer. A slice is bounded in work, so that it fits between
/// two fires. What has left no room (bytes or places) waits; that is a late arm if its row becomes
/// due.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/body_pool.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/request_writer.hpp"
#include "engine/schedule/schedule.hpp"
#include "engine/time/instant.hpp"
#include "engine/underway/rows_underway.hpp"
#include "proto/api/dialect.hpp"
#include "proto/http/request.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
