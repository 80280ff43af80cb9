#include "engine/plan/families.hpp"

#include <bit>

#include "engine/plan/disjoint_sets.hpp"
#include "engine/plan/prefix_set.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t nobody = 0xFFFFFFFFu;

/// What is known of each prefix: in how many ways it goes on, and a row that has it. A flat table
/// like PrefixSet, with the same odds against two prefixes of one number.
class PrefixTable {
  public:
    struct Entry {
        std::uint64_t prefix = 0;
        std::uint32_t branches = 0;
        std::uint32_t row = nobody;
    };

    explicit PrefixTable(std::size_t prefixes_max)
        : entries_(std::bit_ceil(2 * prefixes_max + 2)) {}

    /// The entry of that prefix, made where it is new (`prefix` is 0 then, for the caller to set).
    Entry& find(std::uint64_t prefix) {
        const std::size_t mask = entries_.size() - 1;
        std::size_t at = static_cast<std::size_t>(prefix) & mask;
        while (entries_[at].prefix != 0 && entries_[at].prefix != prefix) {
            at = (at + 1) & mask;
        }
        return entries_[at];
    }

  private:
    std::vector<Entry> entries_;
};

/// Calls `visit` with every prefix of the row's blocks, shortest first.
template <typename Visit>
void for_each_prefix(const Trace& trace, const TraceRow& row, const Visit& visit) {
    std::uint64_t prefix = PrefixSet::start(row.name_space);
    for (const std::uint64_t id : trace.ids_of(row)) {
        prefix = PrefixSet::extend(prefix, id) | 1U;  // 0 marks an empty entry
        visit(prefix);
    }
}

void count_branches(const Trace& trace, PrefixTable& table) {
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            continue;
        }
        PrefixTable::Entry* before = nullptr;
        for_each_prefix(trace, row, [&](std::uint64_t prefix) {
            PrefixTable::Entry& entry = table.find(prefix);
            if (entry.prefix == 0) {
                entry.prefix = prefix;
                if (before != nullptr) {
                    ++before->branches;
                }
            }
            before = &entry;
        });
    }
}

/// Rows of no session that share a prefix which is no preamble.
void join_by_prefix(const Trace& trace, DisjointSets& groups) {
    std::size_t prefixes_max = 0;
    for (const TraceRow& row : trace.rows) {
        prefixes_max += row.session == no_session ? row.ids_count : 0;
    }
    PrefixTable table(prefixes_max);
    count_branches(trace, table);
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            continue;
        }
        for_each_prefix(trace, row, [&](std::uint64_t prefix) {
            PrefixTable::Entry& entry = table.find(prefix);
            if (entry.branches <= preamble_branches) {
                entry.row = entry.row == nobody ? row.index : entry.row;
                groups.join(row.index, entry.row);
            }
        });
    }
}

void join_by_session(const Trace& trace, DisjointSets& groups) {
    std::vector<std::uint32_t> first(trace.sessions.size(), nobody);
    for (const TraceRow& row : trace.rows) {
        if (row.session == no_session) {
            continue;
        }
        std::uint32_t& known = first[row.session];
        known = known == nobody ? row.index : known;
        groups.join(row.index, known);
    }
}

}  // namespace

Families families_of(const Trace& trace) {
    // By index: a trace as it was read has each from 0 on once.
    DisjointSets groups(trace.rows.size());
    join_by_session(trace, groups);
    join_by_prefix(trace, groups);
    for (const Dependency& one : trace.dependencies) {
        groups.join(one.row, one.on);
    }
    std::vector<std::uint32_t> number(trace.rows.size(), 0);
    Families families;
    for (std::uint32_t index = 0; index < number.size(); ++index) {
        const std::uint32_t root = groups.smallest_of(index);
        number[index] = root == index ? families.count++ : number[root];
    }
    families.of_row.reserve(trace.rows.size());
    for (const TraceRow& row : trace.rows) {
        CHECK(row.index < number.size());
        families.of_row.push_back(number[row.index]);
    }
    return families;
}

}  // namespace driftless
