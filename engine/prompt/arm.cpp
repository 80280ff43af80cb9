#include "engine/prompt/arm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "engine/io/tls.hpp"
#include "engine/prompt/row_fields.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/request.hpp"

namespace driftless {

static constexpr std::size_t digits_max = 20;  // of a 64-bit number

RequestWriter::RequestWriter(const Trace& trace, PromptBuilder& prompts,
                             const std::vector<RequestHead>& heads, const BodyFrame& frame,
                             RequestOptions options)
    : trace_(trace), prompts_(prompts), heads_(heads), frame_(frame), options_(std::move(options)) {
    CHECK(heads.size() == options_.targets && options_.targets > 0);
    const std::size_t fields_max =
        (options_.row_fields != nullptr ? options_.row_fields->bytes_max() : 0) +
        (options_.traceparent ? traceparent_bytes : 0);
    fields_scratch_.reserve(fields_max);
    for (const RequestHead& head : heads) {
        head_room_ = std::max(head_room_, head.bytes_max(request_id_bytes, fields_max));
    }
    head_scratch_.resize(head_room_);
}

std::uint32_t RequestWriter::target_of(const Due& due) const {
    if (due.side != Side::none) {
        return due.side == Side::b ? 1 : 0;
    }
    const std::vector<std::uint32_t>* const positions = options_.positions;
    const std::uint32_t position =
        positions == nullptr ? due.request : (*positions)[due.request % positions->size()];
    return driftless::target_of(options_.balance, trace_.rows[due.row], position,
                                static_cast<std::uint32_t>(options_.targets));
}

std::size_t RequestWriter::room_of(std::uint32_t row, std::size_t added) const {
    return front_room_of(row, added) + body_room_of(row) + added;
}

std::size_t RequestWriter::body_room_of(std::uint32_t row) const {
    const bool is_dual = options_.against.prompts != nullptr;
    return std::max(framed_room_of(row, Side::none), is_dual ? framed_room_of(row, Side::b) : 0);
}

std::size_t RequestWriter::framed_room_of(std::uint32_t row, Side side) const {
    const std::size_t prompt = prompts_for(side).room_of(trace_.rows[row]);
    if (!trace_.body_of(trace_.rows[row]).empty()) {
        return prompt;
    }
    const FrameView frame = frame_for(side, row);
    const std::size_t numbers =
        options_.row_bodies == nullptr ? 0 : options_.row_bodies->number_bytes_max();
    return opening_of(row).size() + frame.before.size() + prompt + frame.between.size() +
           digits_max + frame.after.size() + numbers;
}

/// The row's own frame, where rows have one, or that of all.
FrameView RequestWriter::frame_for(Side side, std::uint32_t row) const {
    const RowBodies* const own =
        side == Side::b ? options_.against.row_bodies : options_.row_bodies;
    const BodyFrame& all = side == Side::b ? *options_.against.frame : frame_;
    return own != nullptr ? own->of(row)
                          : FrameView{all.before, all.between, all.after, all.has_length};
}

/// What is before the frame: the row's own model, where rows have one.
std::string_view RequestWriter::opening_of(std::uint32_t row) const {
    return options_.row_models == nullptr ? std::string_view{}
                                          : options_.row_models->opening_of(row);
}

// The head goes right before the body; records are written from the storage's first byte on.
std::size_t RequestWriter::front_room_of(std::uint32_t row, std::size_t added) const {
    const std::size_t bytes = head_room_ + body_room_of(row) + added;
    return head_room_ + (options_.for_tls ? seal_room(bytes) : 0);
}

void RequestWriter::begin(const Due& due, char* storage) {
    CHECK(storage != nullptr);
    due_ = due;
    storage_ = storage;
    body_ = storage + front_room_of(due.row, added_bytes(due));
    const TraceRow& row = trace_.rows[due.row];
    cursor_ = goes_on(due) ? PromptBuilder::begin(row, options_.replies->body_of(due))
                           : prompts_for(due.side).begin(row, due.pass);
    is_recorded_ = !cursor_.recorded.empty();
    before_bytes_ = 0;
    if (!is_recorded_) {
        const std::string_view opening = opening_of(due.row);
        char* const behind = std::copy(opening.begin(), opening.end(), body_);
        const char* const end = write_marked(frame_for(due.side, due.row).before, due.pass,
                                             options_.place.number_of(due.user), behind);
        before_bytes_ = static_cast<std::size_t>(end - body_);
    }
}

bool RequestWriter::fill(std::uint32_t tokens_max) {
    return prompts_for(due_.side).fill(cursor_, body_ + before_bytes_, tokens_max);
}

// Into the scratch; returns its size.
std::size_t RequestWriter::write_head(const TraceRow& row, std::size_t body_bytes) {
    using Kind = RequestName::Kind;
    const Kind kind = due_.side == Side::b ? Kind::row_of_side_b : Kind::row;
    write_request_id(id_scratch_, options_.run_id, {kind, row.index, due_.pass, due_.attempt});
    std::string_view request_id(id_scratch_, request_id_bytes);
    fields_scratch_.clear();
    if (options_.row_fields != nullptr) {
        options_.row_fields->append(due_, fields_scratch_);
        const bool has_own_id = header_value(fields_scratch_, "X-Request-Id").data() != nullptr;
        request_id = has_own_id ? std::string_view{} : request_id;
    }
    if (options_.traceparent) {
        const std::size_t before = fields_scratch_.size();
        fields_scratch_.resize(before + traceparent_bytes);
        (void)write_traceparent(
            fields_scratch_.data() + before,
            trace_context_of(options_.run_id, sending_number(row.index, due_.pass, due_.side)));
    }
    const std::size_t bytes = heads_[target_of(due_)].write(head_scratch_.data(), request_id,
                                                            body_bytes, fields_scratch_);
    CHECK(bytes <= head_room_);
    return bytes;
}

std::string_view RequestWriter::finish() {
    const TraceRow& row = trace_.rows[due_.row];
    char* at = body_ + before_bytes_ + cursor_.bytes;
    const auto append = [&](std::string_view text) {
        at = write_marked(text, due_.pass, options_.place.number_of(due_.user), at);
    };
    if (!is_recorded_) {
        const FrameView frame = frame_for(due_.side, due_.row);
        append(frame.between);
        if (frame.has_length) {
            at = std::to_chars(at, at + digits_max, asked_tokens(due_, row)).ptr;
        }
        append(frame.after);
    }
    const std::size_t head_bytes = write_head(row, static_cast<std::size_t>(at - body_));
    char* const begin = body_ - head_bytes;
    CHECK(begin >= storage_);
    CHECK(static_cast<std::size_t>(at - storage_) <= room_of(due_));
    std::memcpy(begin, head_scratch_.data(), head_bytes);
    return {begin, static_cast<std::size_t>(at - begin)};
}

Armer::Armer(const Trace& trace, Schedule& schedule, PromptBuilder& prompts, BodyPool& bodies,
             const std::vector<RequestHead>& heads, const BodyFrame& frame,
             const ArmerOptions& options)
    : schedule_(schedule),
      bodies_(bodies),
      writer_(trace, prompts, heads, frame, options),
      armed_max_(options.armed_max),
      rows_(options.armed_max) {
    rows_.reserve(std::min(schedule.left(), armed_max_));
}

Armer::~Armer() {
    (void)stop();
}

// The first that is not armed yet. Those that have storage first: they wait for nobody.
RowUnderway* Armer::next_again() const {
    RowUnderway* bare = nullptr;
    for (RowUnderway* row = again_.first; row != nullptr; row = row->next) {
        if (row->stage != RowStage::armed && row->storage != nullptr) {
            return row;
        }
        bare = bare == nullptr && row->stage != RowStage::armed ? row : bare;
    }
    return bare;
}

// What is built again may wait for rows that cannot leave before it: all places in flight are taken
// by rows like it, and all memory by rows behind them.
char* Armer::take_storage(const Due& due, const RowUnderway* again) {
    const std::size_t room = writer_.room_of(due);
    char* const storage = again == nullptr            ? bodies_.take(room)
                          : again->storage != nullptr ? again->storage
                                                      : bodies_.take_or_spare(room);
    lacked_at_ = storage == nullptr && again == nullptr ? bodies_.used_bytes() : 0;
    return storage;
}

bool Armer::begin_job(std::int64_t horizon_ns) {
    CHECK(job_ == nullptr);
    RowUnderway* const again = again_.count > rebuilt_ ? next_again() : nullptr;
    if (again == nullptr && (stopped_ || full())) {
        return false;
    }
    const std::optional<Due> due = again != nullptr ? again->due : next(horizon_ns);
    if (!due) {
        return false;
    }
    char* const storage = take_storage(*due, again);
    if (storage == nullptr) {
        return false;
    }
    job_is_again_ = again != nullptr;
    job_ = job_is_again_ ? again : &rows_.add(*due);
    job_is_new_ = job_->stage == RowStage::wanted;
    job_is_soon_ = !job_is_again_ && schedule_.arms_soon();
    job_->enter(RowStage::arming);
    job_->storage = storage;
    if (!job_is_again_) {
        schedule_.pass(Lookahead::arming, *due);
    }
    writer_.begin(*due, storage);
    return true;
}

bool Armer::step(Instant now, std::int64_t horizon_ns, std::uint32_t tokens_max) {
    if (job_ == nullptr && !begin_job(horizon_ns)) {
        return false;
    }
    if (writer_.fill(tokens_max)) {
        finish_job(now);
    }
    return true;
}

void Armer::finish_job(Instant now) {
    job_->bytes = writer_.finish();
    job_->armed = now;
    job_->enter(RowStage::armed);
    rebuilt_ += job_is_again_ ? 1 : 0;
    if (job_is_new_) {
        (job_->due.side == Side::b ? against_digest_ : prompts_digest_) += writer_.prompt_digest();
        clamped_rows_ += writer_.is_clamped() ? 1 : 0;
    }
    job_ = nullptr;
    job_is_soon_ = false;
}

RowUnderway* Armer::ready(const Due& due) {
    RowUnderway* const row = rows_.find(due.request);
    return row != nullptr && row->is_ready() ? row : nullptr;
}

RowUnderway& Armer::take(const Due& due) {
    RowUnderway* const row = ready(due);
    CHECK(row != nullptr);
    rows_.take(*row, due);
    return *row;
}

void Armer::give_back(RowUnderway& row) {
    if (row.storage != nullptr) {
        bodies_.give(row.storage);
        row.storage = nullptr;
        row.bytes = {};
    }
}

void Armer::discard(RowUnderway& row) {
    give_back(row);
    row.enter(RowStage::ended);
    rows_.remove(row);
}

/// The row that is being built is not built any further.
void Armer::drop_job() {
    CHECK(job_ != nullptr);
    job_->enter(job_is_new_ ? RowStage::wanted : RowStage::again);
    give_back(*job_);
    job_ = nullptr;
    job_is_soon_ = false;
}

RowUnderway& Armer::give_up(const Due& due) {
    RowUnderway* const there = rows_.find(due.request);
    RowUnderway& row = there != nullptr ? *there : rows_.add(due);
    CHECK(row.stage != RowStage::bound);  // those that are bound have a due, and come to their turn
    unbuilt_ = unbuilt_ || there == nullptr || job_ == &row;
    if (job_ == &row) {
        drop_job();
    }
    give_back(row);
    rows_.take(row, due);
    return row;
}

void Armer::arm_again(RowUnderway& row) {
    CHECK(row.stage == RowStage::again && !stopped_);
    again_.push_back(row);
}

RowUnderway& Armer::arm_late(const Due& due) {
    CHECK(rows_.find(due.request) == nullptr && !schedule_.has_passed(Lookahead::arming, due));
    RowUnderway& row = rows_.add(due);
    rows_.take(row, due);
    again_.push_back(row);
    return row;
}

RowUnderway* Armer::take_again() {
    RowUnderway* row = rebuilt_ > 0 ? again_.first : nullptr;
    while (row != nullptr && row->stage != RowStage::armed) {
        row = row->next;
    }
    if (row != nullptr) {
        again_.remove(*row);
        --rebuilt_;
    }
    return row;
}

RowList Armer::stop() {
    all_armed_ = all_armed();
    if (job_ != nullptr) {
        drop_job();
    }
    for (RowUnderway* row = again_.first; row != nullptr; row = row->next) {
        give_back(*row);
        if (row->stage == RowStage::armed) {
            row->enter(RowStage::again);
        }
    }
    rebuilt_ = 0;
    rows_.for_each_untaken([this](RowUnderway& row) {
        if (row.stage == RowStage::armed) {  // a connection's are given back with it
            give_back(row);
            row.enter(RowStage::wanted);
        }
    });
    stopped_ = true;
    return std::exchange(again_, {});
}

}  // namespace driftless
