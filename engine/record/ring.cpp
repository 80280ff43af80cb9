#include "engine/record/ring.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/host/host.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

static constexpr std::uint64_t cell_bytes = 64;
static constexpr std::uint64_t entries_per_row = 6;  // armed, fired, wire, sent, head, end
static constexpr std::uint64_t payload_cells_max = EventRing::payload_bytes_max / cell_bytes;
/// How far either side may run on an old view of the other: 64 KiB.
static constexpr std::uint64_t view_cells_max = 1024;

static std::uint64_t cells_of(std::size_t payload_bytes) {
    return 1 + (payload_bytes + cell_bytes - 1) / cell_bytes;
}

/// The largest payload, a skip of nearly that size before it, and as much again to work with.
static constexpr std::uint64_t work_cells_min = 4 * (payload_cells_max + 1);

EventRing::EventRing(std::size_t bytes, std::size_t rows_open_max)
    : rows_open_max_(std::max<std::size_t>(rows_open_max, 1)) {
    const std::uint64_t entry_reserve = entries_per_row * rows_open_max_;
    const std::uint64_t least = std::max((entry_reserve + work_cells_min) * 8 / 7 + 1,
                                         (bytes + cell_bytes - 1) / cell_bytes);
    const std::uint64_t cells = std::bit_ceil(least);
    CHECK(cells * cell_bytes <= bytes_max);
    mask_ = cells - 1;
    release_cells_ = std::min(view_cells_max, cells / 8);
    payload_reserve_ = entry_reserve + cells / 8;
    CHECK(release_cells_ > 0 && payload_reserve_ < cells);
    cells_ = static_cast<Cell*>(map_touched(cells * cell_bytes));
}

EventRing::~EventRing() {
    if (cells_ != nullptr) {
        munmap(cells_, capacity_bytes());
    }
}

void EventRing::look_at_consumer() {
    const std::uint64_t head = shared_head_.load(std::memory_order_acquire);
    CHECK(head >= producer_.head_seen && head <= producer_.tail);  // it has read what was written
    producer_.head_seen = head;
    producer_.looked_at = producer_.tail;
    producer_.high = std::max(producer_.high, producer_.tail - producer_.head_seen);
}

/// Whether that many cells leave `reserve` cells free behind them.
bool EventRing::fits(std::uint64_t cells, std::uint64_t reserve) {
    const auto holds = [&] {
        const std::uint64_t free = mask_ + 1 - (producer_.tail - producer_.head_seen);
        return free >= cells + reserve;
    };
    if (holds()) {
        return true;
    }
    look_at_consumer();
    return holds();
}

/// The cells of an event, with those up to the end of the memory where it would wrap.
std::uint64_t EventRing::with_skip(std::uint64_t cells) const {
    const std::uint64_t to_end = mask_ + 1 - (producer_.tail & mask_);
    return cells <= to_end ? cells : cells + to_end;
}

std::uint64_t EventRing::must_stay_free(const Event& event) const {
    switch (event.kind) {
        case EventKind::part:
        case EventKind::chunk:
            return entries_per_row * rows_open_max_;
        case EventKind::armed:
            return rows_open_max_ + 1;
        case EventKind::fired:
            return rows_open_max_;
        case EventKind::end:
            return event.end.outcome == Outcome::not_sent ? rows_open_max_ : 0;
        case EventKind::wire:
        case EventKind::sent:
        case EventKind::head:
        case EventKind::sample:
        case EventKind::skip:
            break;
    }
    return 3 * rows_open_max_;
}

bool EventRing::has_room_for_row() {
    return fits(2, rows_open_max_);
}

/// Writes skip, event and payload, then shows them to the consumer together. `cells` is what
/// `with_skip` said.
void EventRing::place(const Event& event, std::string_view payload, std::uint64_t cells) {
    std::uint64_t at = producer_.tail & mask_;
    if (at + cells > mask_ + 1) {
        Event skip;
        skip.kind = EventKind::skip;
        skip.length = static_cast<std::uint32_t>(mask_ + 1 - at);
        std::memcpy(&cells_[at], &skip, sizeof skip);
        at = 0;
    }
    CHECK(at + cells_of(payload.size()) <= mask_ + 1);
    std::memcpy(&cells_[at], &event, sizeof event);
    if (!payload.empty()) {
        std::memcpy(&cells_[at + 1], payload.data(), payload.size());
    }
    producer_.tail += cells;
    CHECK(producer_.tail - producer_.head_seen <= mask_ + 1);  // nothing unread was written over
    shared_tail_.store(producer_.tail, std::memory_order_release);
}

EventRing::Push EventRing::push(const Event& event, std::string_view payload) {
    CHECK(has_memory());
    CHECK(payload.size() <= payload_bytes_max);
    CHECK(event.kind != EventKind::skip);
    if (producer_.tail - producer_.looked_at >= view_cells_max) {
        look_at_consumer();
    }
    Event placed = event;
    placed.length = static_cast<std::uint32_t>(payload.size());
    const bool may_shrink = event.kind == EventKind::part || event.kind == EventKind::chunk;
    const std::uint64_t cells = with_skip(cells_of(payload.size()));
    const bool plain = payload.empty() || !may_shrink;
    if (fits(cells, plain ? must_stay_free(event) : payload_reserve_)) {
        place(placed, payload, cells);
        return Push::whole;
    }
    if (plain || !fits(1, must_stay_free(event))) {
        return Push::entry_dropped;
    }
    placed.length = 0;
    placed.flags |= event_payload_dropped;
    place(placed, {}, 1);
    return Push::payload_dropped;
}

std::size_t EventRing::high_bytes() const {
    const std::uint64_t now = producer_.tail - producer_.head_seen;
    return std::max(producer_.high, now) * cell_bytes;
}

const Event* EventRing::front() {
    while (true) {  // twice at most: a skip is always followed by an event
        if (consumer_.head == consumer_.tail_seen) {
            consumer_.tail_seen = shared_tail_.load(std::memory_order_acquire);
            if (consumer_.head == consumer_.tail_seen) {
                if (consumer_.released != consumer_.head) {
                    consumer_.released = consumer_.head;
                    shared_head_.store(consumer_.head, std::memory_order_release);
                }
                return nullptr;
            }
        }
        const Cell& cell = cells_[consumer_.head & mask_];
        const Event* event = reinterpret_cast<const Event*>(&cell);
        if (event->kind != EventKind::skip) {
            return event;
        }
        consumer_.head += event->length;
        CHECK(consumer_.head < consumer_.tail_seen);  // an event follows
    }
}

std::uint64_t EventRing::spare_times() const {
    const std::uint64_t waiting = shared_tail_.load(std::memory_order_acquire) - consumer_.head;
    return waiting == 0 ? UINT64_MAX : (mask_ + 1) / waiting;
}

std::string_view EventRing::payload_of(const Event& event) {
    return {reinterpret_cast<const char*>(&event + 1), event.length};
}

void EventRing::pop() {
    CHECK(consumer_.head != consumer_.tail_seen);  // `front` has shown an event
    const Event* event = reinterpret_cast<const Event*>(&cells_[consumer_.head & mask_]);
    CHECK(event->kind != EventKind::skip);
    consumer_.head += cells_of(event->length);
    CHECK(consumer_.head <= consumer_.tail_seen);
    if (consumer_.head - consumer_.released >= release_cells_) {
        consumer_.released = consumer_.head;
        shared_head_.store(consumer_.head, std::memory_order_release);
    }
}

}  // namespace driftless
