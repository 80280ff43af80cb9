/// ReadyList: coroutines that may go on, in the order in which they became ready.
///
/// Intrusive and unbounded by construction (a coroutine is on one list at most). Only the loop
/// resumes from it; handlers and final awaiters only push. That keeps every stack flat and lets no
/// coroutine run in the middle of somebody else's work.
#pragma once

#include <coroutine>
#include <cstddef>

#include "proto/core/check.hpp"

namespace driftless {

class ReadyList;

/// What every promise of ours has: its place on a list, and whom its end concerns.
struct PromiseBase {
    std::coroutine_handle<> self;
    ReadyList* ready = nullptr;     ///< the loop's list
    PromiseBase* parent = nullptr;  ///< becomes ready when this one ends; null for a root
    ReadyList* ended = nullptr;     ///< a root goes here when it ends
    PromiseBase* next = nullptr;
    bool listed = false;
};

class ReadyList {
  public:
    ReadyList() = default;
    ReadyList(const ReadyList&) = delete;
    ReadyList& operator=(const ReadyList&) = delete;

    bool empty() const { return first_ == nullptr; }

    void push(PromiseBase& promise) {
        CHECK(!promise.listed);
        promise.listed = true;
        promise.next = nullptr;
        (last_ != nullptr ? last_->next : first_) = &promise;
        last_ = &promise;
    }

    /// The oldest, taken off the list. CHECK: not empty.
    PromiseBase& pop() {
        CHECK(first_ != nullptr);
        PromiseBase& promise = *first_;
        first_ = promise.next;
        if (first_ == nullptr) {
            last_ = nullptr;
        }
        promise.listed = false;
        return promise;
    }

    /// Resumes what is ready, at most `resumes_max`, what becomes ready meanwhile included. Returns
    /// how many were resumed.
    std::size_t run(std::size_t resumes_max) {
        std::size_t resumed = 0;
        for (; first_ != nullptr && resumed < resumes_max; ++resumed) {
            pop().self.resume();
        }
        return resumed;
    }

  private:
    PromiseBase* first_ = nullptr;
    PromiseBase* last_ = nullptr;
};

}  // namespace driftless
