#include "engine/prompt/builder.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/plan/plan.hpp"
#include "engine/prompt/corpus.hpp"
#include "engine/prompt/word_table.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

static std::uint64_t body_bits(ContentKey key, std::uint32_t group) {
    return mix64(key.value + golden_gamma * (std::uint64_t{group} + 1));
}

namespace {

// Slots of one length known at compile time: the end of word n needs no table and no chain.
template <std::uint32_t length>
struct PutUniform {
    const std::uint64_t* slots;

    char* operator()(std::uint32_t index, char* out) const {
        if constexpr (length == 4) {
            const auto slot = static_cast<std::uint32_t>(slots[index]);
            std::memcpy(out, &slot, sizeof slot);
        } else {
            std::memcpy(out, &slots[index], sizeof slots[index]);
        }
        return out + length;
    }
};

struct PutVariable {
    const std::uint64_t* slots;
    const std::uint8_t* lengths;

    char* operator()(std::uint32_t index, char* out) const {
        std::memcpy(out, &slots[index], sizeof slots[index]);
        return out + lengths[index];
    }
};

}  // namespace

// Whole groups: one mix, 64 / bits words, unrolled since `bits` is a constant.
template <unsigned bits, typename Put>
static char* write_groups(ContentKey key, std::uint32_t group, std::uint32_t groups, Put put,
                          char* out) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::uint64_t counter = key.value + golden_gamma * (std::uint64_t{group} + 1);
    for (; groups > 0; --groups, counter += golden_gamma) {
        std::uint64_t picks = mix64(counter);
        for (unsigned i = 0; i < 64 / bits; ++i, picks >>= bits) {
            out = put(static_cast<std::uint32_t>(picks & mask), out);
        }
    }
    return out;
}

template <unsigned bits, typename Put>
static char* write_range(const WordTable& table, ContentKey key, std::uint32_t from,
                         std::uint32_t end, Put put, char* out) {
    constexpr std::uint32_t per_group = 64 / bits;
    const std::uint32_t head = head_words(table);
    const auto one_by_one = [&](std::uint32_t stop) {
        for (; from < stop; ++from) {
            out = put(word_index(table, key, from), out);
        }
    };
    one_by_one(std::min(head, end));
    if (from < end) {
        const std::uint32_t ragged = (per_group - (from - head) % per_group) % per_group;
        one_by_one(from + std::min(ragged, end - from));
        const std::uint32_t groups = (end - from) / per_group;
        out = write_groups<bits>(key, (from - head) / per_group, groups, put, out);
        from += groups * per_group;
        one_by_one(end);
    }
    return out;
}

template <unsigned bits>
static char* write_with(const WordTable& table, ContentKey key, std::uint32_t from,
                        std::uint32_t end, char* out) {
    switch (table.uniform_length()) {
        case 4:
            return write_range<bits>(table, key, from, end, PutUniform<4>{table.slots()}, out);
        case 5:
            return write_range<bits>(table, key, from, end, PutUniform<5>{table.slots()}, out);
        default:
            return write_range<bits>(table, key, from, end,
                                     PutVariable{table.slots(), table.lengths()}, out);
    }
}

std::uint64_t salted_seed(std::uint64_t seed, std::string_view salt) {
    if (salt.empty()) {
        return seed;
    }
    Digest digest;
    digest.add(salt);
    return mix64(seed ^ digest.value()) + golden_gamma;
}

std::uint32_t word_index(const WordTable& table, ContentKey key, std::uint32_t position) {
    const std::uint64_t mask = table.size() - 1;
    const std::uint32_t head = head_words(table);
    if (position == 0) {
        return static_cast<std::uint32_t>(key.value & ((1U << table.first_bits()) - 1));
    }
    if (position < head) {
        const unsigned shift = table.first_bits() + table.index_bits() * (position - 1);
        return static_cast<std::uint32_t>((key.value >> shift) & mask);
    }
    const std::uint32_t per_group = 64 / table.index_bits();
    const std::uint32_t place = position - head;
    const unsigned shift = table.index_bits() * (place % per_group);
    return static_cast<std::uint32_t>((body_bits(key, place / per_group) >> shift) & mask);
}

char* write_words(const WordTable& table, ContentKey key, std::uint32_t from, std::uint32_t count,
                  char* out) {
    const std::uint32_t end = from + count;
    CHECK(end >= from);
    switch (table.index_bits()) {
        case 8:
            return write_with<8>(table, key, from, end, out);
        case 9:
            return write_with<9>(table, key, from, end, out);
        case 10:
            return write_with<10>(table, key, from, end, out);
        case 11:
            return write_with<11>(table, key, from, end, out);
        default:
            static_assert(WordTable::words_min == 1U << 8 && WordTable::words_max == 1U << 12);
            return write_with<12>(table, key, from, end, out);
    }
}

BlockCache::BlockCache(std::size_t bytes_max, std::size_t block_bytes_max)
    : slot_bytes_(block_bytes_max) {
    if (slot_bytes_ == 0) {
        return;
    }
    sets_.resize(bytes_max / (ways * slot_bytes_ + sizeof(Set)));
    pool_.resize(sets_.size() * ways * slot_bytes_);
    CHECK(bytes() <= bytes_max);
}

// Keys are uniform (a bijection mixed them), so their high bits choose a set without bias.
BlockCache::Set& BlockCache::set_of(ContentKey key) {
    const auto wide = static_cast<unsigned __int128>(key.value) * sets_.size();
    return sets_[static_cast<std::size_t>(wide >> 64)];
}

char* BlockCache::place(const Set& set, std::size_t way) {
    const auto index = static_cast<std::size_t>(&set - sets_.data());
    CHECK(index < sets_.size() && way < ways);
    return pool_.data() + (index * ways + way) * slot_bytes_;
}

std::string_view BlockCache::find(ContentKey key) {
    if (!sets_.empty()) {
        Set& set = set_of(key);
        for (std::size_t i = 0; i < ways; ++i) {
            if (set.way[i].key == key && set.way[i].bytes > 0) {
                set.way[i].used = true;
                ++hits_;
                return {place(set, i), set.way[i].bytes};
            }
        }
    }
    ++misses_;
    return {};
}

void BlockCache::store(ContentKey key, std::string_view bytes) {
    CHECK(!bytes.empty() && bytes.size() <= slot_bytes_);
    if (sets_.empty()) {
        return;
    }
    Set& set = set_of(key);
    // One round of the hand clears every mark, so the second finds a victim.
    while (set.way[set.hand].used) {
        set.way[set.hand].used = false;
        set.hand = (set.hand + 1) % ways;
    }
    Way& victim = set.way[set.hand];
    victim = {key, static_cast<std::uint32_t>(bytes.size()), false};
    std::memcpy(place(set, set.hand), bytes.data(), bytes.size());
    set.hand = (set.hand + 1) % ways;
}

std::size_t BlockCache::bytes() const {
    return pool_.size() + sets_.size() * sizeof(Set);
}

// Larger blocks are computed each time: they amortise what the cache would save, and a copy of one
// would not fit a slice.
static constexpr std::uint32_t cached_block_tokens_max = 4096;

namespace {

/// A run of tokens in the virtual stream with one content key; its first token is word 0.
struct Segment {
    ContentKey key;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;  ///< of what is written: inside the prompt
    bool full_block = false;
};

/// Where in a segment the dataset's text stands; in front of it and behind are words.
struct TextRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t first_piece = 0;
};

}  // namespace

/// Long pieces leave a short prompt without text; so many places are tried for one where most fits.
static constexpr std::uint64_t starts_tried = 8;

/// Text is copied in parts of at most as many bytes as so many words of the built-in table have.
static constexpr std::size_t bytes_per_token = 4;

struct PromptBuilder::State {
    State(const Trace& trace_in, const WordTable& words, const PromptOptions& options)
        : trace(trace_in),
          ids(options.kind == PromptKind::ids
                  ? std::optional(WordTable::token_ids(options.ids_from))
                  : std::nullopt),
          table(ids ? *ids : words),
          keys(salted_seed(options.seed, options.cache_salt)),
          overhead(options.overhead),
          corpus(options.corpus),
          shared_blocks(options.shared_blocks),
          cacheable(corpus == nullptr && trace.block_size > 0 &&
                    trace.block_size <= cached_block_tokens_max && options.block_cache_bytes > 0),
          cache(options.block_cache_bytes,
                cacheable ? std::size_t{trace.block_size} * table.length_max() : 0) {}

    Segment segment_at(const PromptCursor& cursor) const;
    TextRange text_of(const Segment& segment) const;
    /// What was written of a segment.
    struct Part {
        char* end = nullptr;
        std::uint32_t tokens = 0;
    };
    Part write_part(const Segment& segment, std::uint32_t from, std::uint32_t tokens_max,
                    bool opens, char* out);
    char* write(const Segment& segment, std::uint32_t from, std::uint32_t count, char* out);
    char* write_opening(const Segment& segment, std::uint32_t count, char* out);

    const Trace& trace;
    std::optional<WordTable> ids;  ///< under `--prompt ids` it stands in for the words
    const WordTable& table;
    ContentKeys keys;
    Overhead overhead;
    const Corpus* corpus;
    std::span<const std::uint32_t> shared_blocks;
    bool cacheable;
    BlockCache cache;
};

// Block k lies at server tokens [k B, (k+1) B). The first one that is visible behind the template
// is delayed, not cut, so that its head is never lost; so is a private tail.
Segment PromptBuilder::State::segment_at(const PromptCursor& cursor) const {
    const TraceRow& row = *cursor.row;
    const std::uint64_t size = trace.block_size;
    const std::uint64_t covered = std::min<std::uint64_t>(row.ids_count * size, row.input_length);
    Segment segment;
    if (cursor.next_token >= covered) {
        segment.key = keys.of_row(number_in_pass(row.index, cursor.pass));
        segment.begin = std::max(static_cast<std::uint32_t>(covered), cursor.first_token);
        segment.end = cursor.end_token;
        CHECK(segment.begin <= cursor.next_token && cursor.next_token < segment.end);
        return segment;
    }
    const std::uint64_t block = cursor.next_token / size;
    const std::uint64_t block_end = std::min((block + 1) * size, covered);
    const bool is_shared = row.index < shared_blocks.size() && block < shared_blocks[row.index];
    segment.key = keys.of_block(number_in_pass(row.name_space, is_shared ? 0 : cursor.pass),
                                trace.ids[row.ids_begin + block]);
    segment.begin = std::max(static_cast<std::uint32_t>(block * size), cursor.first_token);
    segment.end = std::min(static_cast<std::uint32_t>(block_end), cursor.end_token);
    segment.full_block = segment.end - segment.begin == size;
    CHECK(segment.begin <= cursor.next_token && cursor.next_token < segment.end);
    return segment;
}

// The words in front tell keys apart within the first tokens, and open a prompt safely; the one
// behind ends it as the words ended that the server counted.
TextRange PromptBuilder::State::text_of(const Segment& segment) const {
    const std::uint32_t head = head_words(table);
    const std::uint32_t length = segment.end - segment.begin;
    if (corpus == nullptr || length <= head + 1) {
        return {};
    }
    const std::uint32_t room = length - head - 1;
    TextRange text{head, head, 0};
    for (std::uint64_t i = 0; i < starts_tried && text.end - head < room - room / 4; ++i) {
        const std::uint32_t first = corpus->piece_at(mix64(segment.key.value + golden_gamma * i));
        const std::uint32_t end = head + corpus->fit(first, room);
        text = end > text.end ? TextRange{head, end, first} : text;
    }
    return text;
}

/// Words [from, from + count) of a segment, each with its separator.
char* PromptBuilder::State::write(const Segment& segment, std::uint32_t from, std::uint32_t count,
                                  char* out) {
    const bool whole = segment.full_block && count == trace.block_size;
    const std::uint32_t length = table.uniform_length();
    // The head of a cached block serves a partial one too, where its bytes can be counted.
    if (!cacheable || from != 0 || (!whole && length == 0)) {
        return write_words(table, segment.key, from, count, out);
    }
    const std::string_view cached = cache.find(segment.key);
    if (!cached.empty()) {
        const std::size_t bytes = whole ? cached.size() : std::size_t{count} * length;
        std::memcpy(out, cached.data(), bytes);
        return out + bytes;
    }
    char* const end = write_words(table, segment.key, from, count, out);
    if (whole) {
        cache.store(segment.key, {out, static_cast<std::size_t>(end - out)});
    }
    return end;
}

/// The first words of a prompt: as `write` from 0, but without the very first separator.
char* PromptBuilder::State::write_opening(const Segment& segment, std::uint32_t count, char* out) {
    const std::uint32_t index = word_index(table, segment.key, 0);
    const std::uint64_t word = table.slot(index) >> 8;
    std::memcpy(out, &word, sizeof word);
    out += table.length(index) - 1;
    return count == 1 ? out : write(segment, 1, count - 1, out);
}

/// Of a segment, from a token on: text or words, whichever are there. `opens`: nothing is in
/// front of it.
PromptBuilder::State::Part PromptBuilder::State::write_part(const Segment& segment,
                                                            std::uint32_t from,
                                                            std::uint32_t tokens_max, bool opens,
                                                            char* out) {
    const TextRange text = text_of(segment);
    if (from >= text.begin && from < text.end) {
        const Corpus::Run run =
            corpus->run(text.first_piece, from - text.begin, std::min(tokens_max, text.end - from),
                        tokens_max * bytes_per_token);
        return {std::copy(run.bytes.begin(), run.bytes.end(), out), run.tokens};
    }
    const std::uint32_t end = from < text.begin ? text.begin : segment.end - segment.begin;
    const std::uint32_t count = std::min(end - from, tokens_max);
    return {opens ? write_opening(segment, count, out) : write(segment, from, count, out), count};
}

/// As many bytes as so many words of the built-in table have. Marks the cursor's end with the last.
static char* copy_recorded(PromptCursor& cursor, std::uint32_t tokens, char* out) {
    CHECK(cursor.bytes <= cursor.recorded.size());
    const std::size_t left = cursor.recorded.size() - cursor.bytes;
    const std::size_t bytes = std::min(left, tokens * bytes_per_token);
    cursor.recorded.copy(cursor.bytes, bytes, out);
    cursor.next_token = bytes == left ? cursor.end_token : cursor.next_token;
    return out + bytes;
}

PromptBuilder::PromptBuilder(const Trace& trace, const WordTable& words,
                             const PromptOptions& options)
    : state_(std::make_unique<State>(trace, words, options)) {}

PromptBuilder::~PromptBuilder() = default;

bool PromptBuilder::clamped(const TraceRow& row) const {
    if (!state_->trace.body_of(row).empty()) {
        return false;
    }
    const std::uint64_t overhead =
        std::uint64_t{state_->overhead.pre} + std::uint64_t{state_->overhead.post};
    return row.input_length <= overhead;
}

std::uint32_t PromptBuilder::words_of(const TraceRow& row) const {
    return clamped(row) ? 1 : row.input_length - state_->overhead.pre - state_->overhead.post;
}

std::size_t PromptBuilder::room_of(const TraceRow& row) const {
    const std::string_view recorded = state_->trace.body_of(row);
    if (!recorded.empty()) {
        return recorded.size() + write_slack;
    }
    const std::size_t token = state_->corpus == nullptr ? state_->table.length_max()
                                                        : std::size_t{Corpus::bytes_per_token_max};
    return words_of(row) * token + write_slack;
}

PromptCursor PromptBuilder::begin(const TraceRow& row, const Spliced& body) {
    CHECK(!body.empty());
    PromptCursor cursor;
    cursor.row = &row;
    cursor.recorded = body;
    cursor.end_token = 1;  // one mark of its end, whatever its length
    return cursor;
}

PromptCursor PromptBuilder::begin(const TraceRow& row, std::uint32_t pass) const {
    if (const std::string_view body = state_->trace.body_of(row); !body.empty()) {
        return begin(row, Spliced(body));
    }
    PromptCursor cursor;
    cursor.row = &row;
    cursor.pass = pass;
    CHECK(row.input_length > 0);
    cursor.first_token = std::min(state_->overhead.pre, row.input_length - 1);
    cursor.next_token = cursor.first_token;
    cursor.end_token = cursor.first_token + words_of(row);
    return cursor;
}

bool PromptBuilder::fill(PromptCursor& cursor, char* out, std::uint32_t tokens_max) {
    CHECK(!cursor.done);
    const std::size_t hashed = cursor.bytes & ~(Xxh64Lanes::stripe - 1);
    char* at = out + cursor.bytes;
    std::uint32_t left = std::max(tokens_max, 1U);
    if (!cursor.recorded.empty()) {
        at = copy_recorded(cursor, left, at);
        left = 0;
    }
    while (left > 0 && cursor.next_token < cursor.end_token) {
        const Segment segment = state_->segment_at(cursor);
        const std::uint32_t from = cursor.next_token - segment.begin;
        const State::Part part = state_->write_part(segment, from, left, at == out, at);
        CHECK(part.tokens > 0);  // so that the loop ends
        at = part.end;
        cursor.next_token += part.tokens;
        left -= std::min(part.tokens, left);
    }
    cursor.bytes = static_cast<std::size_t>(at - out);
    cursor.lanes.add_stripes(out + hashed, (cursor.bytes - hashed) / Xxh64Lanes::stripe);
    CHECK(cursor.next_token <= cursor.end_token);
    cursor.done = cursor.next_token == cursor.end_token;
    if (cursor.done) {
        const std::size_t tail = cursor.bytes & ~(Xxh64Lanes::stripe - 1);
        cursor.digest = cursor.lanes.finish(out + tail, cursor.bytes);
    }
    return cursor.done;
}

PromptBuilder::CacheMarks PromptBuilder::cache_marks() const {
    return {state_->cache.bytes(), state_->cache.hits(), state_->cache.misses()};
}

}  // namespace driftless
