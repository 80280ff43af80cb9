#include "engine/prompt/request_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "engine/plan/row_values.hpp"
#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/trace_context.hpp"

namespace driftless {

namespace {
constexpr std::size_t digits_max = 20;  // of a 64-bit number
}  // namespace

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

/// What stands before the frame: the row's own model, where rows have one.
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

// Into its scratch.
std::string_view RequestWriter::write_id(const TraceRow& row) {
    using Kind = RequestName::Kind;
    const Kind kind = due_.side == Side::b ? Kind::row_of_side_b : Kind::row;
    write_request_id(id_scratch_, options_.run_id, {kind, row.index, due_.pass, due_.attempt});
    return {id_scratch_, request_id_bytes};
}

// Into the scratch; returns its size.
std::size_t RequestWriter::write_head(const TraceRow& row, std::size_t body_bytes) {
    std::string_view request_id = write_id(row);
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

}  // namespace driftless
