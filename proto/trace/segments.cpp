#include "proto/trace/segments.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

void SegmentedConversation::store(std::uint64_t place, const SegmentMessage& message) {
    if (place < messages_.size()) {
        messages_[static_cast<std::size_t>(place)] = message;
    } else {
        messages_.push_back(message);
    }
}

std::uint64_t SegmentedConversation::tokens() const {
    std::uint64_t sum = 0;
    for (const SegmentMessage& one : messages_) {
        sum += one.segment.tokens;
    }
    return sum;
}

/// Takes so many tokens away, from the end on.
void SegmentedConversation::shorten(std::uint64_t surplus) {
    for (auto one = messages_.rbegin(); one != messages_.rend() && surplus > 0; ++one) {
        const std::uint64_t cut = std::min<std::uint64_t>(surplus, one->segment.tokens);
        one->segment.tokens -= static_cast<std::uint32_t>(cut);
        surplus -= cut;
    }
}

void SegmentedConversation::settle(std::uint32_t tokens) {
    CHECK(!messages_.empty());
    const std::uint64_t known = this->tokens();
    const bool first = !settled_;
    settled_ = true;
    const auto uncounted = std::find_if(messages_.rbegin(), messages_.rend(),
                                        [](const SegmentMessage& one) { return !one.counted; });
    const auto missing = static_cast<std::uint32_t>(tokens > known ? tokens - known : 0);
    const std::uint64_t surplus = known > tokens ? known - tokens : 0;
    Segment& system = messages_.front().segment;
    if (uncounted != messages_.rend()) {
        uncounted->segment.tokens += missing;
        shorten(surplus);
    } else if (first && has_system_ && system.tokens > surplus) {
        system.tokens += missing;
        system.tokens -= static_cast<std::uint32_t>(surplus);
    } else {
        messages_.back().segment.tokens += missing;
        shorten(surplus);
    }
    for (SegmentMessage& one : messages_) {
        one.counted = true;
    }
}

void SegmentedConversation::add_ids(std::uint32_t block_size, RowIds& ids) const {
    CHECK(block_size > 0);
    std::array<std::uint64_t, 256> batch;
    std::size_t filled = 0;
    Digest block;
    std::uint32_t room = block_size;
    const auto close = [&] {
        batch[filled++] = block.value();
        if (filled == batch.size()) {
            ids.add(std::span(batch).first(filled));
            filled = 0;
        }
        block = Digest();
        room = block_size;
    };
    for (const SegmentMessage& one : messages_) {
        for (std::uint32_t at = 0; at < one.segment.tokens;) {
            const std::uint32_t some = std::min(room, one.segment.tokens - at);
            block.add_u64(one.segment.identity);
            block.add_u64(at);
            block.add_u64(some);
            at += some;
            room -= some;
            if (room == 0) {
                close();
            }
        }
    }
    if (room < block_size) {
        close();
    }
    ids.add(std::span(batch).first(filled));
}

}  // namespace driftless
