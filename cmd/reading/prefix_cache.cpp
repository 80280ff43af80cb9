#include "cmd/reading/prefix_cache.hpp"

#include <algorithm>

#include "cmd/reading/view.hpp"
#include "engine/plan/forecast.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

BlockIdCounter::BlockIdCounter(const Trace& trace, const PrefixTree& tree)
    : tree_(tree),
      one_namespace_(trace.name_spaces == 1),
      ids_(one_namespace_ ? trace.ids.numbers_end() : 0),
      block_size_(trace.block_size) {
    static_assert(sizeof(Id) == 2);
}

/// The number of an id in the row's namespace.
std::uint32_t BlockIdCounter::number_of(const TraceRow& row, std::uint32_t id) {
    if (one_namespace_) {
        return id;
    }
    const auto [known, is_new] =
        numbers_.try_emplace(std::uint64_t{row.name_space} << 32 | id, ids_.size());
    if (is_new) {
        ids_.emplace_back();
    }
    return known->second;
}

void BlockIdCounter::note_first(std::uint32_t number, const Use& use) {
    Id& known = ids_[number];
    known.position = static_cast<std::uint16_t>(use.position % unused) & unused;
    if (use.position >= unused) {
        if (number >= positions_high_.size()) {
            positions_high_.resize(ids_.size(), 0);
        }
        positions_high_[number] = static_cast<std::uint16_t>(use.position / unused);
    }
    if (use.tokens < block_size_) {
        known.partial = 1;
        partial_tokens_.emplace(number, use.tokens);
    }
    if (!use.chained) {
        if (number >= before_.size()) {
            before_.resize(ids_.size(), PrefixTree::none);
        }
        before_[number] = use.before;
    }
}

std::uint32_t BlockIdCounter::first_before(std::uint32_t number) const {
    if (number < before_.size() && before_[number] != PrefixTree::none) {
        return before_[number];
    }
    const std::uint32_t before = tree_.first_before(number);
    return before < ids_.size() ? before : beginning;
}

std::uint32_t BlockIdCounter::first_position(std::uint32_t number) const {
    const std::uint32_t high = number < positions_high_.size() ? positions_high_[number] : 0;
    return high * unused + ids_[number].position;
}

std::uint32_t BlockIdCounter::first_tokens(std::uint32_t number) {
    return ids_[number].partial ? partial_tokens_.at(number) : block_size_;
}

/// One use of an id.
void BlockIdCounter::note(std::uint32_t number, const Use& use) {
    Id& known = ids_[number];
    if (known.position == unused) {
        note_first(number, use);
        return;
    }
    known.two_lengths = known.two_lengths || first_tokens(number) != use.tokens;
    known.shared = 1;
    if (use.new_prefix) {
        known.moving = known.moving || first_position(number) != use.position;
        known.joining = known.joining || first_before(number) != use.before;
    }
}

void BlockIdCounter::add(const Trace& trace, const TraceRow& row, const PrefixTree::Path& path) {
    const auto ids = trace.ids_of(row);
    const auto count = static_cast<std::uint32_t>(ids.size());
    sums_.references += count;
    sums_.prefixes += count - path.known;
    sums_.rows_without_ids += count == 0 ? 1 : 0;
    sums_.rows_complete += count > 0 && path.known == count ? 1 : 0;
    sums_.rows_in_part += path.known > 0 && path.known < count ? 1 : 0;
    sums_.rows_new += count > 0 && path.known == 0 ? 1 : 0;
    // A prefix that was there says nothing new about its ids, but the last may be cut shorter. The
    // id before the first new one is looked up for its number.
    constexpr std::uint32_t ahead = 8;
    Use use;
    const std::uint32_t first = path.known == 0 ? 0 : path.known - 1;
    for (std::uint32_t at = first; at < count; ++at) {
        const std::uint64_t begin = std::uint64_t{at} * block_size_;
        use.tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            block_size_, std::max<std::uint64_t>(row.input_length, begin) - begin));
        use.position = at;
        use.new_prefix = at >= path.known;
        use.chained = one_namespace_ && at < path.chained;
        if (one_namespace_ && at + ahead < count) {
            __builtin_prefetch(&ids_[ids.number(at + ahead)]);
        }
        const std::uint32_t number = number_of(row, ids.number(at));
        note(number, use);
        use.before = number;
    }
}

BlockFigures BlockIdCounter::figures() const {
    BlockFigures figures = sums_;
    for (const Id& id : ids_) {
        if (id.position == unused) {
            continue;
        }
        ++figures.ids;
        figures.ids_moving += id.moving ? 1 : 0;
        figures.ids_joining += id.joining ? 1 : 0;
        figures.ids_of_two_lengths += id.two_lengths ? 1 : 0;
        figures.ids_partial += id.partial ? 1 : 0;
        figures.ids_partial_shared += id.partial && id.shared ? 1 : 0;
    }
    return figures;
}

/// Bits `from` to `to` - 1 of a word, to <= 64.
static std::uint64_t bits_between(std::uint32_t from, std::uint32_t to) {
    const std::uint64_t below_to = to == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << to) - 1;
    return below_to & ~((std::uint64_t{1} << from) - 1);
}

/// The bits that are set. `std::popcount` is a call into a table where the build is for every
/// x86-64.
static std::uint32_t ones(std::uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FU;
    return static_cast<std::uint32_t>((word * 0x0101010101010101U) >> 56);
}

void Recency::count(std::size_t word, std::int32_t change) {
    for (std::size_t i = word + 1; i <= tree_.size(); i += i & (~i + 1)) {
        tree_[i - 1] += static_cast<std::uint32_t>(change);
    }
}

std::uint32_t Recency::bits_before(std::size_t word) const {
    std::uint32_t sum = 0;
    for (std::size_t i = word; i > 0; i &= i - 1) {
        sum += tree_[i - 1];
    }
    return sum;
}

std::uint32_t Recency::rank_at(std::uint32_t place) const {
    const std::uint64_t up_to = bits_[place / 64] & bits_between(0, place % 64 + 1);
    return live_ - (bits_before(place / 64) + ones(up_to)) + 1;
}

void Recency::ranks(std::span<const std::uint32_t> things,
                    std::vector<std::uint32_t>& ranks) const {
    std::uint32_t before = never;  // the place of the thing before
    for (const std::uint32_t thing : things) {
        const std::uint32_t place = place_of(thing);
        if (place == never) {
            return;
        }
        // Neighbours in the line are neighbours in rank.
        const bool neighbour = before != never && place + 1 == before;
        ranks.push_back(neighbour ? ranks.back() + 1 : rank_at(place));
        before = place;
    }
}

/// Clears the bits of the things, a word at a time.
void Recency::leave(std::span<const std::uint32_t> things) {
    std::size_t word = 0;
    std::uint64_t gone = 0;
    const auto clear = [&] {
        if (gone != 0) {
            bits_[word] &= ~gone;
            count(word, -static_cast<std::int32_t>(ones(gone)));
            live_ -= ones(gone);
            gone = 0;
        }
    };
    for (const std::uint32_t thing : things) {
        const std::uint32_t place = place_of(thing);
        if (place == never) {
            continue;
        }
        if (place / 64 != word) {
            clear();
            word = place / 64;
        }
        gone |= std::uint64_t{1} << place % 64;
    }
    clear();
}

void Recency::use(std::span<const std::uint32_t> things) {
    if (things.empty()) {
        return;
    }
    const auto coming = static_cast<std::uint32_t>(things.size());
    const std::uint32_t largest = *std::max_element(things.begin(), things.end());
    if (largest >= places_.size()) {
        places_.resize(std::max<std::size_t>(largest + std::size_t{1}, 2 * places_.size()), never);
    }
    leave(things);
    // Nothing that was used before has its place in the line any more: push_together forgets it.
    for (const std::uint32_t thing : things) {
        places_[thing] = never;
    }
    if (bits_.size() * 64 - next_ < coming) {
        push_together(coming);
    }
    const std::uint32_t end = next_ + coming;
    for (std::uint32_t i = 0; i < coming; ++i) {
        CHECK(places_[things[i]] == never);  // a thing is used once at a time
        places_[things[i]] = end - 1 - i;
    }
    for (std::uint32_t from = next_; from < end;) {
        const std::uint32_t to = std::min(end, (from / 64 + 1) * 64);
        bits_[from / 64] |= bits_between(from % 64, (to - 1) % 64 + 1);
        count(from / 64, static_cast<std::int32_t>(to - from));
        from = to;
    }
    next_ = end;
    live_ += coming;
}

/// Gives every thing the place of its order from the least recent on, in a line with room for those
/// that come or are expected, and three times that for further uses.
void Recency::push_together(std::uint32_t coming) {
    std::uint32_t before = 0;
    for (std::size_t word = 0; word < bits_.size(); ++word) {  // plain sums, for this once
        tree_[word] = before;
        before += ones(bits_[word]);
    }
    for (std::uint32_t& place : places_) {
        if (place != never) {
            place = tree_[place / 64] + ones(bits_[place / 64] & bits_between(0, place % 64));
        }
    }
    const std::uint64_t things =
        std::max<std::uint64_t>(std::uint64_t{live_} + coming, places_.size());
    const std::uint64_t places =
        std::min<std::uint64_t>(std::max<std::uint64_t>(places_min, 4 * things), never - 1);
    CHECK(places >= live_ + std::uint64_t{coming});
    bits_.assign((places + 63) / 64, 0);
    tree_.assign(bits_.size(), 0);
    for (std::size_t word = 0; word < bits_.size() && word * 64 < live_; ++word) {
        const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(64, live_ - word * 64));
        bits_[word] = bits_between(0, to);
        count(word, static_cast<std::int32_t>(to));
    }
    next_ = live_;
}

CapacityCounter::CapacityCounter(const Trace& trace, std::uint32_t group, std::uint32_t nodes)
    : trace_block_(trace.block_size),
      group_(group),
      ceil_(trace.tail_rule == TailRule::ceil),
      recency_(nodes) {
    CHECK(trace_block_ > 0 && group_ > 0);
    sums_.block_size = trace_block_ * group_;
    hits_.reserve(nodes);  // what is not used of it takes no memory
}

/// The path's nodes at the ends of groups, and at the end of the prompt where it has a name.
void CapacityCounter::pick(const TraceRow& row, std::span<const std::uint32_t> path) {
    nodes_.clear();
    for (std::size_t end = group_; end <= path.size(); end += group_) {
        nodes_.push_back(path[end - 1]);
    }
    const std::uint64_t covered = path.size() * std::uint64_t{trace_block_};
    const bool to_the_end = ceil_ ? covered >= row.input_length : covered > row.input_length;
    if (path.size() % group_ != 0 && to_the_end) {
        nodes_.push_back(path.back());
    }
}

void CapacityCounter::add(const TraceRow& row, std::span<const std::uint32_t> path) {
    pick(row, path);
    ranks_.clear();
    recency_.ranks(nodes_, ranks_);
    const std::uint64_t size = sums_.block_size;
    for (std::size_t block = 0; block < ranks_.size(); ++block) {
        const std::size_t rank = ranks_[block];
        if (rank > hits_.size()) {
            hits_.resize(rank, 0);
        }
        const std::uint64_t begin = block * size;
        const std::uint64_t tokens =
            std::min(size, std::max<std::uint64_t>(row.input_length, begin) - begin);
        ++hits_[rank - 1];
        if (tokens < size) {
            shorts_.push_back({ranks_[block], static_cast<std::uint32_t>(size - tokens)});
        }
        sums_.hit_tokens += tokens;
    }
    sums_.hit_blocks += ranks_.size();
    sums_.references += nodes_.size();
    sums_.input_tokens += row.input_length;
    recency_.use(nodes_);
}

CapacityFigures CapacityCounter::figures() const {
    CapacityFigures figures = sums_;
    figures.distinct = recency_.size();
    std::vector<Short> shorts = shorts_;
    std::ranges::sort(shorts, {}, &Short::rank);
    auto missing = shorts.begin();
    CapacityPoint point;
    std::uint64_t power = 1;
    std::size_t share = 0;
    for (std::size_t rank = 1; rank <= hits_.size() && point.hit_blocks < sums_.hit_blocks;
         ++rank) {
        point.blocks = rank;
        point.hit_blocks += hits_[rank - 1];
        point.hit_tokens += hits_[rank - 1] * std::uint64_t{sums_.block_size};
        for (; missing != shorts.end() && missing->rank == rank; ++missing) {
            point.hit_tokens -= missing->missing;
        }
        const bool ideal = point.hit_blocks == sums_.hit_blocks;
        if (rank == power || ideal) {
            figures.curve.push_back(point);
            power *= rank == power ? 2 : 1;
        }
        for (; share < ideal_shares.size() &&
               static_cast<unsigned __int128>(point.hit_tokens) * 1000 >=
                   static_cast<unsigned __int128>(sums_.hit_tokens) * ideal_shares[share];
             ++share) {
            figures.blocks_for[share] = rank;
        }
    }
    return figures;
}

/// The url, and what names a pod or worker behind it.
static std::string server_of(const Record& record) {
    std::string server = record.url;
    for (const RecordedHeader& header : record.headers) {
        if (header.name == "target-pod" || header.name == "target-pod-ip") {
            server += '\n' + header.value.value_or("");
        }
    }
    return server;
}

static std::uint32_t number_of(std::unordered_map<std::string, std::uint32_t>& numbers,
                               const std::string& name) {
    return numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
}

namespace {

/// Instants from which prompts were in the cache, sorted, beside all fires: how many were without a
/// first token at an instant is the difference of two ranks.
struct Prefills {
    std::vector<std::int64_t> begun;
    std::vector<std::int64_t> done;

    /// Rows that had left before and had no token yet.
    bool any_at(std::int64_t at_ns) const {
        const auto left = std::lower_bound(begun.begin(), begun.end(), at_ns) - begun.begin();
        const auto told = std::lower_bound(done.begin(), done.end(), at_ns) - done.begin();
        return left > told;
    }
};

}  // namespace

std::string hit_loss_text(const HitLossTokens& loss) {
    if (loss.rows == 0) {
        return "unknown: no server reported its hits, or none is foretold";
    }
    if (loss.lost == 0) {
        return "none of " + std::to_string(loss.expected) + " expected tokens";
    }
    const auto percent = [](std::uint64_t part, std::uint64_t whole, int decimals) {
        return fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), decimals);
    };
    std::string text = std::to_string(loss.lost) + " of " + std::to_string(loss.expected) +
                       " expected tokens (" +
                       percent(loss.lost, std::max<std::uint64_t>(loss.expected, 1), 2) + " %)";
    for (const HitLossCause& cause : hit_loss_causes) {
        if (loss.*cause.tokens > 0) {
            text += "; " + percent(loss.*cause.tokens, loss.lost, 1) + " % " + cause.words;
        }
    }
    if (loss.gained > 0) {
        text += "; " + std::to_string(loss.gained) +
                " tokens more were hit than expected: rows of a burst arrived in another order, or "
                "the cache was warm";
    }
    return text;
}

void HitLoss::add(const Record& record) {
    const std::uint32_t place = added_++;
    if (!record.fired_ns || !record.ended_ns) {
        return;
    }
    Row row;
    row.place = place;
    row.fired_ns = *record.fired_ns;
    row.first_token_ns = record.first_token_ns;
    row.ended_ns = *record.ended_ns;
    row.server = number_of(servers_, server_of(record));
    const auto& family = record.tree ? record.tree : record.session;
    row.family = family ? number_of(families_, *family + '\n' + std::to_string(record.pass) + '\n' +
                                                   name_of(record.side))
                        : no_family;
    row.counts =
        record.phase == Phase::profile && record.cached_tokens && record.expected_cached_tokens;
    if (row.counts) {
        const std::int64_t in_server = record.expected_cached_server.value_or(
            *record.expected_cached_tokens);  // smaller blocks hold more of a prompt
        row.expected = std::max(*record.expected_cached_tokens, in_server);
        row.cached = *record.cached_tokens;
        row.blocks = row.expected - in_server;
    }
    rows_.push_back(row);
}

HitLossTokens HitLoss::tokens() const {
    HitLossTokens sums;
    sums.servers = servers_.size();
    sums.rows_lost.resize(added_, nullptr);
    std::vector<const Row*> order;
    Prefills prefills;
    for (const Row& row : rows_) {
        order.push_back(&row);
        prefills.begun.push_back(row.fired_ns);
        prefills.done.push_back(row.first_token_ns.value_or(row.ended_ns));
    }
    std::ranges::stable_sort(order, {}, &Row::fired_ns);
    std::sort(prefills.begun.begin(), prefills.begun.end());
    std::sort(prefills.done.begin(), prefills.done.end());
    std::vector<const Row*> before(families_.size(), nullptr);
    for (const Row* row : order) {
        const Row* turn = row->family == no_family ? nullptr : before[row->family];
        if (row->family != no_family) {
            before[row->family] = row;
        }
        if (!row->counts) {
            continue;
        }
        ++sums.rows;
        sums.expected += static_cast<std::uint64_t>(row->expected);
        const std::int64_t lost = std::max<std::int64_t>(row->expected - row->cached, 0);
        const std::int64_t blocks = std::clamp<std::int64_t>(row->blocks, 0, lost);
        const auto left = static_cast<std::uint64_t>(lost - blocks);
        sums.lost += static_cast<std::uint64_t>(lost);
        sums.gained +=
            static_cast<std::uint64_t>(std::max<std::int64_t>(row->cached - row->expected, 0));
        sums.blocks += static_cast<std::uint64_t>(blocks);
        const HitLossCause*& most = sums.rows_lost[row->place];
        most = lost == 0 ? nullptr : hit_loss_causes.data();
        const bool alone = sums.servers == 1 && !prefills.any_at(row->fired_ns);
        const bool in_flight =
            turn != nullptr && turn->first_token_ns.value_or(turn->ended_ns) > row->fired_ns;
        const auto cause = turn == nullptr
                               ? (alone ? &HitLossTokens::capacity : &HitLossTokens::unknown)
                           : in_flight                   ? &HitLossTokens::in_flight
                           : turn->server != row->server ? &HitLossTokens::routing
                                                         : &HitLossTokens::capacity;
        sums.*cause += left;
        if (left > static_cast<std::uint64_t>(blocks)) {
            most = std::ranges::find(hit_loss_causes, cause, &HitLossCause::tokens);
        }
    }
    CHECK(sums.lost == sums.blocks + sums.in_flight + sums.routing + sums.capacity + sums.unknown);
    return sums;
}

}  // namespace driftless
