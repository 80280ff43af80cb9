/// AskedTables: while one lives, a command that is asked for its help gives its flag table instead.
///
/// Every parser builds its flags and its help in one function of its own; this is how the flags
/// come out of all of them without a second list anywhere. One at a time, on the main thread,
/// before anything else has begun.
#pragma once

#include <utility>
#include <vector>

#include "cmd/help/flag_table.hpp"

namespace driftless {

class AskedTables {
  public:
    AskedTables();
    ~AskedTables();
    AskedTables(const AskedTables&) = delete;
    AskedTables& operator=(const AskedTables&) = delete;

    const std::vector<FlagTable>& tables() const { return tables_; }

    /// The one that lives; nullptr: help is text.
    static AskedTables* current();
    void add(FlagTable table) { tables_.push_back(std::move(table)); }

  private:
    std::vector<FlagTable> tables_;
};

}  // namespace driftless
