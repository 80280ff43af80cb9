/// Lists without memory of their own: elements linked through their own members, and a text in
/// pieces that stand elsewhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/core/errors.hpp"

namespace driftless {

// LinkedList: elements linked through members of their own (`next`, `before`); each is on at most
// one list. First-in first-out, or last-in first-out by `push_front`. Owns nothing and allocates
// nothing; every step is O(1).

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

/// Spliced: a text in pieces that stand elsewhere, some of them repeated. A plain value of views.
class Spliced {
  public:
    Spliced() = default;
    explicit Spliced(std::string_view text) { add(text); }

    /// Appends `text`, `times` in a row. An empty piece is left out.
    void add(std::string_view text, std::uint32_t times = 1) {
        if (text.empty() || times == 0) {
            return;
        }
        CHECK(count_ < pieces_.size());
        pieces_[count_++] = {text, times};
        size_ += text.size() * times;
    }

    /// Appends all pieces of another one.
    void add(const Spliced& other) {
        for (std::size_t i = 0; i < other.count_; ++i) {
            add(other.pieces_[i].text, other.pieces_[i].times);
        }
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    /// Copies `bytes` of it from an offset on; all of them are there.
    void copy(std::size_t from, std::size_t bytes, char* out) const {
        CHECK(from <= size_ && bytes <= size_ - from);
        for (std::size_t i = 0; i < count_ && bytes > 0; ++i) {
            const Piece& piece = pieces_[i];
            const std::size_t length = piece.text.size() * piece.times;
            if (from >= length) {
                from -= length;
                continue;
            }
            while (from < length && bytes > 0) {
                const std::string_view rest = piece.text.substr(from % piece.text.size());
                const std::size_t part = std::min(rest.size(), bytes);
                out = std::copy_n(rest.data(), part, out);
                from += part;
                bytes -= part;
            }
            from = 0;
        }
    }

  private:
    struct Piece {
        std::string_view text;
        std::uint32_t times = 1;
    };
    std::array<Piece, 8> pieces_{};
    std::uint32_t count_ = 0;
    std::size_t size_ = 0;
};

}  // namespace driftless
