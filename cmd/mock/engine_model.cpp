#include "cmd/mock/engine_model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "proto/core/errors.hpp"
#include "proto/http/request.hpp"

namespace driftless::mock {

// Each use of a seed draws from its own sequence.
static constexpr std::uint64_t pace_stream = 0x7061636500000000ULL;

Duration stretched(Duration delay, double jitter, Random& random) {
    if (jitter == 0) {
        return delay;
    }
    const double factor = 1 + jitter * (2 * random.uniform() - 1);
    return {static_cast<std::int64_t>(static_cast<double>(delay.ns) * factor)};
}

void AnswerSchedule::start(const Pace& pace, Instant from, std::uint32_t uncached_tokens,
                           std::uint64_t seed) {
    random_ = Random(mix64(seed ^ pace_stream));
    const Duration prefill{pace.per_uncached_token.ns * uncached_tokens};
    next_ = from + stretched(pace.first + prefill, pace.jitter, random_);
}

void AnswerSchedule::advance(const Pace& pace, std::uint32_t tokens) {
    next_ = next_ + stretched({pace.between.ns * tokens}, pace.jitter, random_);
}

static constexpr std::uint64_t step_stream = 0x7374657073000000ULL;

namespace {

/// What a step still has room for, and what it holds.
struct StepPlan {
    std::uint64_t tokens_left;
    std::uint64_t answers = 0;
    std::uint64_t prompt_tokens = 0;

    void add_prompt_of(Seat& seat) {
        const std::uint64_t part = std::min<std::uint64_t>(seat.prompt_left, tokens_left);
        seat.part = static_cast<std::uint32_t>(part);
        tokens_left -= part;
        prompt_tokens += part;
        answers += part > 0 ? 1 : 0;
    }
};

}  // namespace

Batch::Batch(const Pace& pace, std::uint32_t slots, std::uint64_t seed)
    : pace_(pace), slots_(slots), random_(mix64(seed ^ step_stream)) {}

void Batch::join(Seat& seat) {
    CHECK(seat.place == Seat::Place::out && seat.prompt_left > 0 && seat.steps > 0);
    seat.place = Seat::Place::coming;
    seat.part = seat.done = 0;
    seat.begun = seat.first = seat.latest = {0};
    coming_.emplace(seat.ready, &seat);
}

void Batch::leave(Seat& seat) {
    switch (seat.place) {
        case Seat::Place::out:
            break;
        case Seat::Place::coming: {
            auto [at, end] = coming_.equal_range(seat.ready);
            at = std::find_if(at, end, [&](const auto& entry) { return entry.second == &seat; });
            coming_.erase(at);
            break;
        }
        case Seat::Place::waiting:
            std::erase(waiting_, &seat);
            break;
        case Seat::Place::running:
            std::erase(running_, &seat);
            break;
    }
    seat.place = Seat::Place::out;
}

Instant Batch::next() const {
    if (step_ends_ < never || coming_.empty()) {
        return step_ends_;
    }
    return std::max(coming_.begin()->first, last_end_);
}

void Batch::advance(Instant now, std::vector<Seat*>& reached) {
    for (Instant at = next(); at <= now; at = next()) {  // each step takes `step_min` at least
        if (step_ends_ < never) {
            end_step(reached);
        }
        begin_step(at);
    }
}

void Batch::begin_step(Instant at) {
    while (!coming_.empty() && coming_.begin()->first <= at) {
        Seat* const seat = coming_.begin()->second;
        coming_.erase(coming_.begin());
        seat->place = Seat::Place::waiting;
        waiting_.push_back(seat);
    }
    StepPlan plan{std::numeric_limits<std::uint64_t>::max()};
    for (const Seat* seat : running_) {
        plan.answers += seat->prompt_left == 0 ? 1 : 0;
    }
    if (pace_.step_tokens != 0) {
        plan.tokens_left =
            pace_.step_tokens - std::min<std::uint64_t>(pace_.step_tokens, plan.answers);
    }
    for (Seat* seat : running_) {
        plan.add_prompt_of(*seat);
    }
    while (!waiting_.empty() && plan.tokens_left > 0 && (slots_ == 0 || running_.size() < slots_)) {
        Seat* const seat = waiting_.front();
        waiting_.pop_front();
        seat->place = Seat::Place::running;
        seat->begun = at;
        running_.push_back(seat);
        plan.add_prompt_of(*seat);
    }
    if (plan.answers > 0) {
        step_ends_ = at + step_time(plan.answers, plan.prompt_tokens);
    }
}

void Batch::end_step(std::vector<Seat*>& reached) {
    last_end_ = step_ends_;
    step_ends_ = never;
    std::erase_if(running_, [&](Seat* seat) { return finish_step_of(*seat, reached); });
}

/// Its part of the step that has ended. True: it has all its tokens.
bool Batch::finish_step_of(Seat& seat, std::vector<Seat*>& reached) const {
    seat.prompt_left -= seat.part;
    seat.part = 0;
    if (seat.prompt_left > 0) {
        return false;
    }
    seat.first = seat.done == 0 ? last_end_ : seat.first;
    seat.latest = last_end_;
    if (++seat.done == seat.wanted) {
        reached.push_back(&seat);
    }
    const bool all = seat.done == seat.steps;
    seat.place = all ? Seat::Place::out : seat.place;
    return all;
}

Duration Batch::step_time(std::uint64_t answers, std::uint64_t prompt_tokens) {
    const std::int64_t alone = pace_.between.ns;
    const double others = static_cast<double>(answers - 1);
    const auto slower =
        static_cast<std::int64_t>(pace_.batch_slowdown * others * static_cast<double>(alone));
    const std::uint64_t rate = pace_.prefill_tokens_per_s;
    const std::uint64_t prompts = rate == 0 ? 0 : prompt_tokens * 1'000'000'000 / rate;
    const Duration step{alone + slower + static_cast<std::int64_t>(prompts)};
    return std::max(stretched(step, pace_.jitter, random_), step_min);
}

static constexpr std::size_t cells_first = 1024;

PrefixCache::PrefixCache(std::size_t blocks_max)
    : blocks_max_(blocks_max), cells_(cells_first, none) {
    CHECK(blocks_max_ <= none);
}

/// The cell that holds the block, or the empty one where it belongs. Names are mixed already.
std::size_t PrefixCache::cell_of(std::uint64_t block) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t cell = block & mask;
    while (cells_[cell] != none && nodes_[cells_[cell]].block != block) {  // half of them are empty
        cell = (cell + 1) & mask;
    }
    return cell;
}

std::size_t PrefixCache::longest_prefix(std::span<const std::uint64_t> blocks) const {
    std::size_t found = 0;
    while (found < blocks.size() && cells_[cell_of(blocks[found])] != none) {
        ++found;
    }
    return found;
}

void PrefixCache::enter(std::span<const std::uint64_t> blocks) {
    for (std::size_t i = blocks.size(); i-- > 0;) {
        const std::uint32_t known = cells_[cell_of(blocks[i])];
        if (known != none) {
            unlink(known);
            link_newest(known);
        } else {
            link_newest(add(blocks[i]));
        }
    }
}

/// Puts a new block into the table, in a new node or in that of the oldest block.
std::uint32_t PrefixCache::add(std::uint64_t block) {
    std::uint32_t node = oldest_;
    if (blocks_max_ != 0 && nodes_.size() == blocks_max_) {
        empty_cell(cell_of(nodes_[node].block));
        unlink(node);
    } else {
        CHECK(nodes_.size() < none);
        node = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({});
        if (2 * nodes_.size() > cells_.size()) {
            grow();
        }
    }
    nodes_[node].block = block;
    cells_[cell_of(block)] = node;
    return node;
}

void PrefixCache::unlink(std::uint32_t node) {
    const Node& out = nodes_[node];
    (out.newer == none ? newest_ : nodes_[out.newer].older) = out.older;
    (out.older == none ? oldest_ : nodes_[out.older].newer) = out.newer;
}

void PrefixCache::link_newest(std::uint32_t node) {
    nodes_[node].newer = none;
    nodes_[node].older = newest_;
    (newest_ == none ? oldest_ : nodes_[newest_].newer) = node;
    newest_ = node;
}

/// Takes a block out of the table and moves up what had been pushed behind it (Knuth, 6.4 R).
void PrefixCache::empty_cell(std::size_t cell) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t next = cell;
    while (true) {  // ends at the next empty cell
        cells_[cell] = none;
        do {
            next = (next + 1) & mask;
            if (cells_[next] == none) {
                return;
            }
            // An entry may move up unless its home lies cyclically in (cell, next].
        } while (((next - nodes_[cells_[next]].block) & mask) < ((next - cell) & mask));
        cells_[cell] = cells_[next];
        cell = next;
    }
}

void PrefixCache::grow() {
    std::vector<std::uint32_t> before(2 * cells_.size(), none);
    before.swap(cells_);
    for (const std::uint32_t node : before) {
        if (node != none) {
            cells_[cell_of(nodes_[node].block)] = node;
        }
    }
}

/// The name of a reply within its session.
static std::uint64_t name_in(std::string_view session, std::uint64_t reply) {
    Digest digest;
    digest.add(session);
    digest.add_u64(reply);
    return digest.value();
}

static bool holds(const PrefixCache& names, std::uint64_t name) {
    return names.longest_prefix({&name, 1}) == 1;
}

void SentReplies::enter(std::string_view session, std::string_view text) {
    Digest digest;
    digest.add(text);
    const std::uint64_t reply = digest.value();
    const std::uint64_t here = name_in(session, reply);
    anywhere_.enter({&reply, 1});
    in_session_.enter({&here, 1});
}

HistoryCount SentReplies::count(std::string_view session, std::span<const std::uint64_t> replies) {
    HistoryCount count;
    for (const std::uint64_t reply : replies) {
        const std::uint64_t here = name_in(session, reply);
        if (holds(in_session_, here)) {
            ++count.known;
            in_session_.enter({&here, 1});
            anywhere_.enter({&reply, 1});
        } else if (holds(anywhere_, reply)) {
            ++count.elsewhere;
            anywhere_.enter({&reply, 1});
        } else {
            ++count.unknown;
        }
    }
    return count;
}

}  // namespace driftless::mock
