/// Task: coroutines of one thread: where their frames live, the tasks themselves, the queue of
/// those that are ready, and the jobs a loop owns.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

/// FramePool: where coroutine frames live. Size classes of 64 bytes, free lists, slabs that are
/// never given back before the pool ends.
///
/// One per thread of coroutines; owned by the Loop. A frame remembers its pool in the 16 bytes
/// before it, so that destroying it needs no global. Under AddressSanitizer every frame is a malloc
/// of its own, because pooled reuse would hide a use after destruction.
class FramePool {
  public:
    FramePool() = default;
    ~FramePool();
    FramePool(const FramePool&) = delete;
    FramePool& operator=(const FramePool&) = delete;

    /// A frame of at least `bytes`; aborts where the host has no memory. Frames above
    /// `frame_bytes_max` are a CHECK: large objects live in lanes (style, rule 15).
    void* take(std::size_t bytes);
    /// Gives a frame back to the pool that made it.
    static void give(void* frame);

    struct Marks {
        std::uint64_t live = 0;
        std::uint64_t live_max = 0;
        std::uint64_t slab_bytes = 0;
        std::size_t largest_frame = 0;
    };
    const Marks& marks() const { return marks_; }

    /// Our largest frame is well below 1 KiB (g++ 12, release); sanitizers double it.
    static constexpr std::size_t frame_bytes_max = 4096;

  private:
    static constexpr std::size_t class_bytes = 64;
    static constexpr std::size_t classes = frame_bytes_max / class_bytes + 1;
    static constexpr std::size_t slab_bytes = 64 * 1024;

    struct Free {
        Free* next;
    };
    void refill(std::size_t size_class);

    std::array<Free*, classes> free_{};
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    Marks marks_;
};

// ReadyList: coroutines that may go on, in the order in which they became ready.
//
// Intrusive and unbounded by construction (a coroutine is on one list at most). Only the loop
// resumes from it; handlers and final awaiters only push. That keeps every stack flat, and no
// coroutine runs in the middle of other work.

class ReadyList;

/// What every promise of ours has: its place on a list, and what becomes ready when it ends.
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

// Task<T>: a coroutine that is awaited in the expression that makes it, and nowhere else.
// Asker::run alone takes one as an argument and has it awaited before that expression ends.
//
// It is immovable, so reference parameters are safe: what they refer to outlives the full
// expression. A child runs at once, on the parent's stack, up to its first suspension; one that
// ends there costs no queueing. One that suspends makes its parent ready when it ends: there is no
// symmetric transfer (it needs tail calls that -O0 and sanitizers do not make), so the depth of
// the stack is the depth of the code.
//
// Every coroutine's first parameter is its home, an object with `frames()` and `ready()` (the
// Loop): its frame comes from that pool. Errors travel in T; exceptions do not exist here.

namespace task_detail {

/// Ends a coroutine: its parent becomes ready, or a root is handed to its owner for burial.
struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> over) const noexcept {
        PromiseBase& promise = over.promise();
        if (promise.parent != nullptr) {
            promise.ready->push(*promise.parent);
        } else if (promise.ended != nullptr) {
            promise.ended->push(promise);
        }
    }
    void await_resume() const noexcept {}
};

struct PromiseCommon : PromiseBase {
    template <typename Home, typename... Rest>
    static void* operator new(std::size_t bytes, Home& home, Rest&&...) {
        return home.frames().take(bytes);
    }
    static void operator delete(void* frame) { FramePool::give(frame); }

    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() const { check_failed("no exceptions here", __FILE__, __LINE__); }
};

template <typename T>
struct Promise : PromiseCommon {
    std::optional<T> value;
    void return_value(T result) { value.emplace(std::move(result)); }
};

template <>
struct Promise<void> : PromiseCommon {
    void return_void() const noexcept {}
};

}  // namespace task_detail

template <typename T = void>
class [[nodiscard]] Task {
  public:
    struct promise_type : task_detail::Promise<T> {
        template <typename Home, typename... Rest>
        explicit promise_type(Home& home, Rest&&...) {
            this->ready = &home.ready();
        }
        Task get_return_object() {
            const auto handle = std::coroutine_handle<promise_type>::from_promise(*this);
            this->self = handle;
            return Task(handle);
        }
    };
    using Handle = std::coroutine_handle<promise_type>;

    ~Task() {
        if (handle_) {
            CHECK(handle_.done());
            handle_.destroy();
        }
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    struct Awaiter {
        Handle child;
        bool await_ready() const noexcept { return false; }
        template <typename Parent>
        bool await_suspend(std::coroutine_handle<Parent> parent) noexcept {
            child.resume();
            if (child.done()) {
                return false;
            }
            child.promise().parent = &parent.promise();
            return true;
        }
        T await_resume() {
            if constexpr (!std::is_void_v<T>) {
                return std::move(*child.promise().value);
            }
        }
    };
    Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

    /// For Jobs: takes the frame out of the task's hands.
    Handle release() { return std::exchange(handle_, Handle{}); }

  private:
    explicit Task(Handle handle) : handle_(handle) {}
    Handle handle_;
};

/// One waiter, one occasion at a time: a handler or another coroutine says `notify`, the coroutine
/// that awaits `wait()` goes on. A notification that comes first is kept, once; so is one that
/// comes between the waiter's becoming ready and its going on.
class Signal {
  public:
    Signal() = default;
    ~Signal() { CHECK(waiter_ == nullptr); }
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    void notify() {
        if (waiter_ == nullptr) {
            set_ = true;
            return;
        }
        PromiseBase* waiter = std::exchange(waiter_, nullptr);
        waiter->ready->push(*waiter);
    }
    void clear() { set_ = false; }

    struct Awaiter {
        Signal& signal;
        bool await_ready() const noexcept { return std::exchange(signal.set_, false); }
        template <typename Promise>
        void await_suspend(std::coroutine_handle<Promise> waiter) noexcept {
            CHECK(signal.waiter_ == nullptr);
            signal.waiter_ = &waiter.promise();
        }
        void await_resume() const noexcept {}
    };
    Awaiter wait() { return Awaiter{*this}; }

  private:
    PromiseBase* waiter_ = nullptr;
    bool set_ = false;
};

/// Jobs: the owner of root coroutines. Spawned in one place, freed in one place.
///
/// A root takes its parameters by value, or as references to things that live as long as the run.
/// It starts at once. A frame that has ended is freed by the next `reap`, never from inside itself.
class Jobs {
  public:
    Jobs() = default;
    /// CHECK: every root has ended. The owner of the jobs lets them end first.
    ~Jobs() {
        reap();
        CHECK(live_ == 0);
    }
    Jobs(const Jobs&) = delete;
    Jobs& operator=(const Jobs&) = delete;

    void spawn(Task<void> task) {
        const Task<void>::Handle handle = task.release();
        handle.promise().ended = &ended_;
        ++live_;
        handle.resume();
    }

    /// Frees the frames of roots that have ended.
    void reap() {
        while (!ended_.empty()) {  // bounded by the live roots
            ended_.pop().self.destroy();
            --live_;
        }
    }

    std::size_t live() const { return live_; }

  private:
    ReadyList ended_;
    std::size_t live_ = 0;
};

}  // namespace driftless
