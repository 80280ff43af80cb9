/// LinkedList: elements linked through members of their own (`next`, `before`); each is on at most
/// one list. First-in first-out, or last-in first-out by `push_front`. Owns nothing and allocates
/// nothing; every step is O(1).
#pragma once

#include <cstdint>

#include "proto/core/check.hpp"

namespace driftless {

template <class T>
struct LinkedList {
    T* first = nullptr;
    T* last = nullptr;
    std::uint32_t count = 0;

    bool empty() const { return first == nullptr; }

    /// The element is on no list.
    void push_front(T& one) {
        CHECK(one.next == nullptr && one.before == nullptr && first != &one);
        one.next = first;
        (first == nullptr ? last : first->before) = &one;
        first = &one;
        ++count;
    }
    void push_back(T& one) {
        CHECK(one.next == nullptr && one.before == nullptr && first != &one);
        one.before = last;
        (last == nullptr ? first : last->next) = &one;
        last = &one;
        ++count;
    }
    /// nullptr where the list is empty.
    T* pop_front() {
        T* const one = first;
        if (one != nullptr) {
            remove(*one);
        }
        return one;
    }
    /// The element is on this list.
    void remove(T& one) {
        CHECK(count > 0);
        (one.before == nullptr ? first : one.before->next) = one.next;
        (one.next == nullptr ? last : one.next->before) = one.before;
        one.next = one.before = nullptr;
        --count;
    }
};

}  // namespace driftless
