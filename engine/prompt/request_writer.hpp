/// RequestWriter: puts one request together in the storage that it is given, in slices: what its
/// body begins with, its prompt, the rest of the body, and the head right in front. It takes no
/// memory after it is made, and decides nothing: which request, when and where is the armer's.
/// Owned by the armer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/live/replies.hpp"
#include "engine/plan/balance.hpp"
#include "engine/plan/row_models.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/row_bodies.hpp"
#include "engine/prompt/row_fields.hpp"
#include "engine/schedule/due.hpp"
#include "proto/api/dialect.hpp"
#include "proto/http/request.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
    bool traceparent = false;  ///< names each row's trace (trace_context.hpp)
    /// Of each row's own: bodies begin with its opening, and the frame goes on behind it. Outlives
    /// the armer.
    const RowModels* row_models = nullptr;
    /// Frames of each row's own; null: all have the one. Outlives the armer.
    const RowBodies* row_bodies = nullptr;
    /// Which of several processes this is, who name no two users alike.
    ShardPlace place = {};
    /// Words of answers that bodies hold; null: bodies are as they stand in the trace. Outlives the
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
    std::string_view write_id(const TraceRow& row);
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

}  // namespace driftless
