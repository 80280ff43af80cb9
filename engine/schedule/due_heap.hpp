/// DueHeap: the earliest due first. Plain values; memory is taken by `reserve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace driftless {

/// Requests by their dues; those of one instant by their numbers. Bounded: of each request that
/// waits there is one at most.
class DueHeap {
  public:
    struct Entry {
        std::int64_t due_ns = 0;
        std::uint32_t request = 0;
        std::uint32_t pass = 0;  ///< the request is used once in each
    };
    void reserve(std::size_t entries_max) { entries_.reserve(entries_max); }
    bool empty() const { return entries_.empty(); }
    bool full() const { return entries_.size() == entries_.capacity(); }
    const Entry& top() const { return entries_.front(); }
    void push(const Entry& entry);
    void pop();
    /// Takes out those of which `stale` says so.
    template <class Stale>
    void remove_if(Stale stale) {
        std::erase_if(entries_, stale);
        restore();
    }
    /// Calls `change` for each, which may set its due.
    template <class Change>
    void change(Change change) {
        for (Entry& entry : entries_) {
            change(entry);
        }
        restore();
    }
    const std::vector<Entry>& entries() const { return entries_; }

  private:
    void restore();

    std::vector<Entry> entries_;
};

}  // namespace driftless
