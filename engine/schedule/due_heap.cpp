#include "engine/schedule/due_heap.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

bool goes_later(const DueHeap::Entry& a, const DueHeap::Entry& b) {
    return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.request > b.request;
}

}  // namespace

void DueHeap::push(const Entry& entry) {
    CHECK(entries_.size() < entries_.capacity());
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), goes_later);
}

void DueHeap::pop() {
    CHECK(!entries_.empty());
    std::pop_heap(entries_.begin(), entries_.end(), goes_later);
    entries_.pop_back();
}

void DueHeap::restore() {
    std::make_heap(entries_.begin(), entries_.end(), goes_later);
}

}  // namespace driftless
