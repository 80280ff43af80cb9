/// BlockIds: the block ids of all rows of a trace, back to back, 4 bytes a reference.
///
/// A reference is kept as a 32-bit number. While ids are small (traces that count their blocks from
/// 0), the number is the id itself. At the first id that is large compared with the number of
/// references, the list changes to numbers by first use, with one table of the ids that they stand
/// for. In both cases equal numbers mean equal ids and all numbers are below `numbers_end`, so that
/// code that counts blocks can use an array instead of a hash table.
///
/// Owned by a Trace; append-only but for `truncate`. A span refers to the list and stays valid
/// while the list is only appended to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "proto/core/check.hpp"

namespace driftless {

class BlockIdSpan;

class BlockIds {
  public:
    BlockIds() = default;
    BlockIds(BlockIds&&) = default;
    BlockIds& operator=(BlockIds&&) = default;
    BlockIds(const BlockIds& other) { *this = other; }
    BlockIds& operator=(const BlockIds& other);

    void push_back(std::uint64_t id) { append({&id, 1}); }
    void append(std::span<const std::uint64_t> ids);
    /// Drops all references behind the first `count`.
    void truncate(std::size_t count) { size_ = std::min(size_, count); }
    /// No more ids will be appended soon: frees what only appending needs.
    void settle();

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::uint64_t operator[](std::size_t at) const { return id_of(number(at)); }
    std::uint32_t number(std::size_t at) const { return numbers_[at]; }
    /// All of them; valid until the next id is appended.
    std::span<const std::uint32_t> numbers() const { return {numbers_.get(), size_}; }
    std::uint64_t id_of(std::uint32_t number) const { return direct_ ? number : values_[number]; }
    /// All numbers are below this: at most `direct_min`, or twice the references.
    std::uint32_t numbers_end() const {
        return direct_ ? direct_end_ : static_cast<std::uint32_t>(values_.size());
    }
    BlockIdSpan span(std::size_t begin, std::size_t count) const;

    /// Ids below this are their own numbers in any list: an array over them is 4 MiB at most.
    static constexpr std::uint64_t direct_min = std::uint64_t{1} << 20;

  private:
    struct Free {
        void operator()(std::uint32_t* memory) const { std::free(memory); }
    };

    void reserve(std::size_t count);
    void number_all();
    void build_table(std::size_t slots);
    void append_numbered(std::span<const std::uint64_t> ids);
    std::uint32_t number_of(std::uint64_t id);
    std::size_t slot_of(std::uint64_t id) const;

    /// malloc's, so that growing moves pages and copies none.
    std::unique_ptr<std::uint32_t[], Free> numbers_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    bool direct_ = true;
    std::uint32_t direct_end_ = 0;
    std::vector<std::uint64_t> values_;  ///< [number] where not direct
    std::vector<std::uint32_t> table_;   ///< number + 1 by the hash of its id; 0: free
};

/// Some neighbouring ids of a list, by value.
class BlockIdSpan {
  public:
    class Iterator {
      public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = std::uint64_t;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = std::uint64_t;

        Iterator() = default;
        Iterator(const BlockIds* ids, std::size_t at) : ids_(ids), at_(at) {}
        std::uint64_t operator*() const { return (*ids_)[at_]; }
        std::uint64_t operator[](difference_type n) const { return *(*this + n); }
        Iterator& operator++() { return *this += 1; }
        Iterator& operator--() { return *this += -1; }
        Iterator operator++(int) { return {ids_, at_++}; }
        Iterator operator--(int) { return {ids_, at_--}; }
        Iterator& operator+=(difference_type n) {
            at_ += static_cast<std::size_t>(n);
            return *this;
        }
        Iterator& operator-=(difference_type n) { return *this += -n; }
        friend Iterator operator+(Iterator a, difference_type n) { return a += n; }
        friend Iterator operator+(difference_type n, Iterator a) { return a += n; }
        friend Iterator operator-(Iterator a, difference_type n) { return a -= n; }
        friend difference_type operator-(const Iterator& a, const Iterator& b) {
            return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
        }
        auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }
        bool operator==(const Iterator& other) const { return at_ == other.at_; }

      private:
        const BlockIds* ids_ = nullptr;
        std::size_t at_ = 0;
    };
    using value_type = std::uint64_t;
    using const_iterator = Iterator;

    BlockIdSpan(const BlockIds& ids, std::size_t begin, std::size_t count)
        : ids_(&ids), begin_(begin), count_(count) {}

    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    std::uint64_t operator[](std::size_t at) const { return (*ids_)[begin_ + at]; }
    std::uint32_t number(std::size_t at) const { return ids_->number(begin_ + at); }
    std::uint64_t front() const { return (*this)[0]; }
    std::uint64_t back() const { return (*this)[count_ - 1]; }
    BlockIdSpan first(std::size_t count) const {
        CHECK(count <= count_);
        return {*ids_, begin_, count};
    }
    Iterator begin() const { return {ids_, begin_}; }
    Iterator end() const { return {ids_, begin_ + count_}; }

  private:
    const BlockIds* ids_;
    std::size_t begin_;
    std::size_t count_;
};

inline BlockIdSpan BlockIds::span(std::size_t begin, std::size_t count) const {
    CHECK(begin + count <= size_);
    return {*this, begin, count};
}

}  // namespace driftless
