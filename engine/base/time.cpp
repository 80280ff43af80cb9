#include "engine/base/time.hpp"

#include <time.h>

#include <cstdlib>

namespace driftless {

std::int64_t monotonic_ns() {
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void ClockOffset::take(const ClockReading* readings, std::size_t count) {
    ClockSample fresh = sample_;
    fresh.error_ns = INT64_MAX;
    for (std::size_t i = 0; i < count; ++i) {
        const ClockReading& reading = readings[i];
        const std::int64_t bracket = reading.after_ns - reading.before_ns;
        if (bracket < fresh.error_ns) {
            fresh.error_ns = bracket;
            fresh.offset_ns = reading.realtime_ns - (reading.before_ns + bracket / 2);
        }
    }
    if (count == 0) {
        return;
    }
    const std::int64_t moved = std::llabs(fresh.offset_ns - sample_.offset_ns);
    const bool stepped = known_ && moved > fresh.error_ns / 2 + sample_.error_ns / 2 + tight_ns;
    if (known_ && !stepped && fresh.error_ns > tight_ns && fresh.error_ns > sample_.error_ns) {
        return;
    }
    fresh.steps += stepped ? 1 : 0;
    sample_ = fresh;
    known_ = true;
}

static constexpr std::uint32_t arity = 4;  // flatter than binary: fewer cache misses a pop

Timers::Timers(std::size_t timers_max) : timers_max_(timers_max) {
    heap_.reserve(timers_max);
}

void Timers::place(std::uint32_t position, Timer* timer) {
    heap_[position] = timer;
    timer->position_ = position;
}

void Timers::sift_up(std::uint32_t position) {
    Timer* timer = heap_[position];
    while (position > 0) {
        const std::uint32_t parent = (position - 1) / arity;
        if (heap_[parent]->at_ <= timer->at_) {
            break;
        }
        place(position, heap_[parent]);
        position = parent;
    }
    place(position, timer);
}

void Timers::sift_down(std::uint32_t position) {
    Timer* timer = heap_[position];
    const std::uint32_t count = static_cast<std::uint32_t>(heap_.size());
    while (true) {  // bounded by the height of the heap
        const std::uint32_t first = position * arity + 1;
        if (first >= count) {
            break;
        }
        std::uint32_t least = first;
        const std::uint32_t last = first + arity < count ? first + arity : count;
        for (std::uint32_t child = first + 1; child < last; ++child) {
            if (heap_[child]->at_ < heap_[least]->at_) {
                least = child;
            }
        }
        if (timer->at_ <= heap_[least]->at_) {
            break;
        }
        place(position, heap_[least]);
        position = least;
    }
    place(position, timer);
}

void Timers::set(Timer& timer, Instant at) {
    CHECK(timer.handler != nullptr);
    if (!timer.set()) {
        CHECK(heap_.size() < timers_max_);
        timer.at_ = at;
        heap_.push_back(&timer);
        timer.position_ = static_cast<std::uint32_t>(heap_.size() - 1);
        sift_up(timer.position_);
        return;
    }
    const Instant before = timer.at_;
    timer.at_ = at;
    if (at < before) {
        sift_up(timer.position_);
    } else {
        sift_down(timer.position_);
    }
}

void Timers::clear(Timer& timer) {
    if (!timer.set()) {
        return;
    }
    const std::uint32_t position = timer.position_;
    CHECK(heap_[position] == &timer);
    Timer* last = heap_.back();
    heap_.pop_back();
    timer.position_ = Timer::not_set;
    if (last == &timer) {
        return;
    }
    place(position, last);
    sift_up(position);
    sift_down(last->position_);
}

std::size_t Timers::expire(Instant now, std::size_t timers_max) {
    std::size_t fired = 0;
    while (fired < timers_max && !heap_.empty() && heap_[0]->at_ <= now) {
        Timer& timer = *heap_[0];
        clear(timer);
        timer.handler(timer, now);
        ++fired;
    }
    return fired;
}

}  // namespace driftless
