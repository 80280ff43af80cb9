#include "engine/prompt/rows_underway.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "proto/core/errors.hpp"

namespace driftless {

RowsUnderway::RowsUnderway(std::uint32_t chains) : chains_(chains, nullptr) {
    CHECK(chains > 0 && (chains & (chains - 1)) == 0);
}

void RowsUnderway::reserve(std::uint32_t rows) {
    while (blocks_.size() * block_rows < rows) {
        add_block();
    }
}

void RowsUnderway::add_block() {
    blocks_.push_back(std::make_unique<RowUnderway[]>(block_rows));
    for (std::uint32_t at = block_rows; at > 0; --at) {
        RowUnderway& row = blocks_.back()[at - 1];
        row.chain = free_;
        free_ = &row;
    }
}

/// The link that leads to the row, or the last one of its chain.
RowUnderway** RowsUnderway::link_to(std::uint32_t request) {
    RowUnderway** link = &chains_[request & (chains_.size() - 1)];
    while (*link != nullptr && (*link)->due.request != request) {
        link = &(*link)->chain;
    }
    return link;
}

RowUnderway& RowsUnderway::add(const Due& due) {
    RowUnderway** const link = link_to(due.request);
    CHECK(*link == nullptr);  // one home: a row is there once
    if (free_ == nullptr) {
        add_block();
    }
    RowUnderway& row = *free_;
    free_ = row.chain;
    row = RowUnderway{};
    row.due = due;
    *link = &row;
    ++count_;
    ++untaken_;
    return row;
}

void RowsUnderway::take(RowUnderway& row, const Due& due) {
    CHECK(!row.taken && row.due.request == due.request);
    RowUnderway** const link = link_to(due.request);
    CHECK(*link == &row);
    *link = row.chain;
    row.chain = nullptr;
    row.taken = true;
    row.due = due;
    --untaken_;
}

void RowsUnderway::remove(RowUnderway& row) {
    CHECK(row.taken && row.stage == RowStage::ended);
    CHECK(row.storage == nullptr && row.next == nullptr && row.before == nullptr);
    row.chain = free_;
    free_ = &row;
    --count_;
}

BodyPool::~BodyPool() {
    if (region_ != nullptr) {
        CHECK(used_bytes_ == 0 && !spare_taken_);
        ::munmap(region_, region_bytes_ + spare_bytes_);
    }
}

Result<void> BodyPool::open(std::size_t bytes, std::size_t spare_bytes) {
    CHECK(region_ == nullptr);
    region_bytes_ = std::bit_ceil(std::max(bytes, leaf_bytes));
    spare_bytes_ = spare_bytes;
    void* memory = ::mmap(nullptr, region_bytes_ + spare_bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return Error{ErrorCode::exhausted, errno, "take memory for request bodies"};
    }
    (void)::madvise(memory, region_bytes_, MADV_HUGEPAGE);
    region_ = static_cast<char*>(memory);
    const std::size_t leaves = region_bytes_ / leaf_bytes;
    top_order_ = static_cast<unsigned>(std::countr_zero(leaves));
    CHECK(top_order_ < orders_max);
    std::fill(std::begin(free_), std::end(free_), none);
    next_.assign(leaves, none);
    before_.assign(leaves, none);
    order_.assign(leaves, not_a_head);
    is_free_.assign(leaves, false);
    link(0, top_order_);
    return {};
}

void BodyPool::link(std::uint32_t leaf, unsigned order) {
    next_[leaf] = free_[order];
    before_[leaf] = none;
    if (free_[order] != none) {
        before_[free_[order]] = leaf;
    }
    free_[order] = leaf;
    order_[leaf] = static_cast<std::uint8_t>(order);
    is_free_[leaf] = true;
}

void BodyPool::unlink(std::uint32_t leaf, unsigned order) {
    if (before_[leaf] != none) {
        next_[before_[leaf]] = next_[leaf];
    } else {
        free_[order] = next_[leaf];
    }
    if (next_[leaf] != none) {
        before_[next_[leaf]] = before_[leaf];
    }
    is_free_[leaf] = false;
}

char* BodyPool::take(std::size_t bytes) {
    const std::size_t leaves = (std::max<std::size_t>(bytes, 1) + leaf_bytes - 1) / leaf_bytes;
    const unsigned order = static_cast<unsigned>(std::countr_zero(std::bit_ceil(leaves)));
    unsigned from = order;
    while (from <= top_order_ && free_[from] == none) {
        ++from;
    }
    if (from > top_order_) {
        return nullptr;
    }
    const std::uint32_t leaf = free_[from];
    unlink(leaf, from);
    while (from > order) {  // split, and keep the upper half free
        --from;
        link(leaf + (1u << from), from);
    }
    order_[leaf] = static_cast<std::uint8_t>(order);
    used_bytes_ += leaf_bytes << order;
    used_bytes_max_ = std::max(used_bytes_max_, used_bytes_);
    return region_ + std::size_t{leaf} * leaf_bytes;
}

char* BodyPool::take_or_spare(std::size_t bytes) {
    char* block = take(bytes);
    if (block == nullptr && !spare_taken_ && bytes <= spare_bytes_) {
        spare_taken_ = true;
        block = region_ + region_bytes_;
    }
    return block;
}

void BodyPool::give(char* block) {
    if (block == region_ + region_bytes_) {
        CHECK(spare_taken_);
        spare_taken_ = false;
        return;
    }
    CHECK(block >= region_ && block < region_ + region_bytes_);
    std::uint32_t leaf = static_cast<std::uint32_t>((block - region_) / std::ptrdiff_t{leaf_bytes});
    unsigned order = order_[leaf];
    CHECK(order <= top_order_ && !is_free_[leaf]);
    used_bytes_ -= leaf_bytes << order;
    while (order < top_order_) {  // merge with the buddy as long as it is free and whole
        const std::uint32_t buddy = leaf ^ (1u << order);
        if (!is_free_[buddy] || order_[buddy] != order) {
            break;
        }
        unlink(buddy, order);
        order_[std::max(leaf, buddy)] = not_a_head;
        leaf = std::min(leaf, buddy);
        ++order;
    }
    link(leaf, order);
}

}  // namespace driftless
