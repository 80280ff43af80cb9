/// Task<T>: a coroutine that is awaited in the expression that makes it, and nowhere else.
///
/// It is immovable, so reference parameters are safe: what they refer to outlives the full
/// expression. A child runs at once, on the parent's stack, up to its first suspension; one that
/// ends there costs no queueing. One that suspends makes its parent ready when it ends: there is no
/// symmetric transfer (it needs tail calls that -O0 and sanitizers do not make), so the depth of
/// the stack is the depth of the code.
///
/// Every coroutine's first parameter is its home, an object with `frames()` and `ready()` (the
/// Loop): its frame comes from that pool. Errors travel in T; exceptions do not exist here.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/task/frames.hpp"
#include "engine/task/ready.hpp"
#include "proto/core/check.hpp"

namespace driftless {

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

}  // namespace driftless
