#include "proto/trace/tails.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

/// A partial block, and whether its id was seen with another length.
struct Tail {
    std::uint64_t id = 0;
    std::uint32_t name_space = 0;
    std::uint32_t length = 0;
    bool uneven = false;

    auto key() const { return std::tuple(name_space, id); }
};

bool before(const Tail& a, const Tail& b) {
    return a.key() < b.key();
}

/// Says of most ids that they are no tail without a search: a bit for each of the tails' hashes.
class Sieve {
  public:
    explicit Sieve(std::size_t tails) : bits_(std::bit_ceil(tails * 16 + 64)) {}
    void add(const Tail& tail) { bits_[place(tail.id, tail.name_space)] = true; }
    bool may_hold(std::uint64_t id, std::uint32_t name_space) const {
        return bits_[place(id, name_space)];
    }

  private:
    std::size_t place(std::uint64_t id, std::uint32_t name_space) const {
        return mix64(id + golden_gamma * (std::uint64_t{name_space} + 1)) & (bits_.size() - 1);
    }
    std::vector<bool> bits_;
};

/// The partial last blocks of all rows, one for each id; those of two lengths are marked.
std::vector<Tail> tails_of(const Trace& trace) {
    std::vector<Tail> tails;
    for (const TraceRow& row : trace.rows) {
        const std::uint64_t covered = std::uint64_t{row.ids_count} * trace.block_size;
        if (row.ids_count > 0 && covered > row.input_length) {
            const auto length =
                static_cast<std::uint32_t>(row.input_length + trace.block_size - covered);
            tails.push_back({trace.ids_of(row).back(), row.name_space, length});
        }
    }
    std::sort(tails.begin(), tails.end(), before);
    std::size_t kept = 0;
    for (const Tail& tail : tails) {
        if (kept > 0 && tails[kept - 1].key() == tail.key()) {
            tails[kept - 1].uneven =
                tails[kept - 1].uneven || tails[kept - 1].length != tail.length;
        } else {
            tails[kept++] = tail;
        }
    }
    tails.resize(kept);
    return tails;
}

/// Marks the tails whose ids name full blocks, too.
void mark_full_blocks(const Trace& trace, std::vector<Tail>& tails) {
    Sieve sieve(tails.size());
    for (const Tail& tail : tails) {
        sieve.add(tail);
    }
    for (const TraceRow& row : trace.rows) {
        const std::size_t full =
            std::min<std::size_t>(row.ids_count, row.input_length / trace.block_size);
        for (const std::uint64_t id : trace.ids_of(row).first(full)) {
            if (!sieve.may_hold(id, row.name_space)) {
                continue;
            }
            const Tail wanted{id, row.name_space};
            const auto found = std::lower_bound(tails.begin(), tails.end(), wanted, before);
            if (found != tails.end() && found->key() == wanted.key()) {
                found->uneven = true;
            }
        }
    }
}

/// The same where all ids are of one namespace, which most traces are: an array says the length of
/// the partial block that each id names, and no tail is sorted or looked up.
std::uint64_t uneven_tails_of_one_namespace(const Trace& trace) {
    constexpr std::uint32_t uneven = 0xFFFFFFFFu;
    std::vector<std::uint32_t> length_of(trace.ids.numbers_end(), 0);  // 0: no partial block
    bool any = false;
    for (const TraceRow& row : trace.rows) {
        const std::uint64_t covered = std::uint64_t{row.ids_count} * trace.block_size;
        if (row.ids_count > 0 && covered > row.input_length) {
            const auto length =
                static_cast<std::uint32_t>(row.input_length + trace.block_size - covered);
            std::uint32_t& known = length_of[trace.ids_of(row).number(row.ids_count - 1)];
            known = known == 0 || known == length ? length : uneven;
            any = true;
        }
    }
    for (const TraceRow& row : trace.rows) {
        const BlockIdSpan ids = trace.ids_of(row);
        const std::size_t full =
            any ? std::min<std::size_t>(ids.size(), row.input_length / trace.block_size) : 0;
        for (std::size_t i = 0; i < full; ++i) {
            std::uint32_t& known = length_of[ids.number(i)];
            known = known == 0 ? 0 : uneven;
        }
    }
    return static_cast<std::uint64_t>(std::count(length_of.begin(), length_of.end(), uneven));
}

}  // namespace

std::uint64_t uneven_tails(const Trace& trace) {
    if (trace.block_size == 0) {
        return 0;
    }
    if (trace.name_spaces == 1) {
        return uneven_tails_of_one_namespace(trace);
    }
    std::vector<Tail> tails = tails_of(trace);
    if (tails.empty()) {
        return 0;
    }
    mark_full_blocks(trace, tails);
    return static_cast<std::uint64_t>(
        std::count_if(tails.begin(), tails.end(), [](const Tail& tail) { return tail.uneven; }));
}

}  // namespace driftless
