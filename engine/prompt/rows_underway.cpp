#include "engine/prompt/rows_underway.hpp"

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

RowUnderway* RowsUnderway::find(std::uint32_t request) {
    return *link_to(request);
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

}  // namespace driftless
