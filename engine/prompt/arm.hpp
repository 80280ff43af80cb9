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

#include "engine/plan/balance.hpp"
#include "engine/plan/row_models.hpp"
#include "engine/prompt/armed_table.hpp"
#include "engine/prompt/body_pool.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/row_fields.hpp"
#include "engine/schedule/schedule.hpp"
#include "engine/time/instant.hpp"
#include "proto/api/dialect.hpp"
#include "proto/http/request.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct ArmerOptions {
    std::string run_id;       ///< requests are named `<run_id>-<file index of the row>`
    std::size_t targets = 1;  ///< rows go to them as `balance` says
    Balance balance = Balance::turn;
    OutputRule output = OutputRule::exact;
    std::uint32_t armed_max = 16384;  ///< requests armed and not yet fired, a power of two
    bool for_tls = false;             ///< leaves room in front, so that records fit in place
    /// Head fields of each row's own, by its position in the plan; outlives the armer. An
    /// X-Request-Id among them goes before ours.
    const RowFields* row_fields = nullptr;
    bool traceparent = false;  ///< names each row's trace (trace_context.hpp)
    /// Of each row's own: bodies begin with its opening, and the frame goes on behind it. Outlives
    /// the armer.
    const RowModels* row_models = nullptr;
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

    /// A request that was not taken; nullptr where it is not ready.
    const ArmedRequest* ready(const Due& due);
    /// It is armed.
    ArmedRequest take(const Due& due);

    /// A request that is armed and was not taken; nullptr where it is not.
    ArmedRequest* find(const Due& due) { return armed_.find(due.request); }
    /// The bytes of a request that was not taken, built once more (`take_retry`), in its old place.
    void put_back(const ArmedRequest& request);

    /// Builds a request once more (a stale retry, or a connection that was lost with its records):
    /// it comes out of `take_retry`. `storage`: that of its bytes so far, where it still has it;
    /// such a request waits for no memory.
    void arm_again(const Due& due, char* storage);
    /// The same for one that was taken before it was armed, and must not wait for memory that those
    /// hold who cannot leave before it.
    void arm_late(const Due& due);
    bool retry_ready() const { return !retries_done_.empty(); }
    ArmedRequest take_retry();

    /// Frees the bytes of a request that will not be sent, where it has them.
    void give_back(const ArmedRequest& request);
    /// The same of a request that was not taken and may be armed or not.
    void forget(const Due& due);

    /// Ends arming for good: what is armed and was not taken is given back, and nothing that was
    /// wanted again comes; whoever wanted it owes it an end.
    void stop();

    /// Every request of the schedule has been built, before `stop` where that was called. False for
    /// good once one was forgotten.
    bool all_armed() const {
        return !forgot_ && (stopped_ ? all_armed_ : !job_active_ && !next(INT64_MAX));
    }
    /// The next request found no room for its bytes, and none has come free since.
    bool lacks_room() const { return lacked_at_ > 0 && bodies_.used_bytes() >= lacked_at_; }
    std::uint32_t armed_count() const { return armed_.count(); }
    /// As many are armed as may be.
    bool full() const { return armed_.full(); }
    std::uint64_t prompts_digest() const { return prompts_digest_; }
    std::uint64_t clamped_rows() const { return clamped_rows_; }

    /// The server that the request is armed for.
    std::uint32_t target_of(const Due& due) const;
    /// Upper bound of the bytes of a request. `row`: position in the trace.
    std::size_t room_of(std::uint32_t row) const;

  private:
    /// A request to be built once more, or late for the first time.
    struct Wanted {
        Due due;
        char* storage = nullptr;  ///< that it still has, as most have not
        bool is_new = false;
    };
    std::vector<Wanted>::iterator next_retry();
    std::optional<Due> next(std::int64_t horizon_ns) const {
        return schedule_.within(Lookahead::arming, horizon_ns);
    }
    bool begin_job(std::int64_t horizon_ns);
    char* take_storage(const Due& due, char* kept);
    void finish_job(Instant now);
    std::size_t write_head(const TraceRow& row, std::size_t body_bytes);
    std::size_t front_room_of(std::uint32_t row) const;
    std::size_t body_room_of(std::uint32_t row) const;
    std::string_view opening_of(std::uint32_t row) const;

    const Trace& trace_;
    Schedule& schedule_;
    PromptBuilder& prompts_;
    BodyPool& bodies_;
    const std::vector<RequestHead>& heads_;
    const BodyFrame& frame_;
    ArmerOptions options_;
    std::size_t head_room_ = 0;
    std::string head_scratch_;
    std::string fields_scratch_;  ///< head fields of one row

    bool stopped_ = false;
    bool all_armed_ = false;     ///< when it was stopped
    bool forgot_ = false;        ///< some request, built or not
    std::size_t lacked_at_ = 0;  ///< bytes in use when the next row found no room; 0: it did
    bool job_active_ = false;
    bool job_is_retry_ = false;
    bool job_is_new_ = false;       ///< built for the first time
    bool job_is_recorded_ = false;  ///< a whole body: no frame around it
    Due job_due_;
    char* job_storage_ = nullptr;
    char* job_body_ = nullptr;          ///< where the body begins in it
    std::size_t job_before_bytes_ = 0;  ///< of the body, before its prompt
    PromptCursor cursor_;

    ArmedTable armed_;
    std::vector<Wanted> retries_wanted_;
    std::vector<ArmedRequest> retries_done_;

    std::uint64_t prompts_digest_ = 0;
    std::uint64_t clamped_rows_ = 0;
};

}  // namespace driftless
