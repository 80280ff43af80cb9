#include "proto/trace/segments.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

void SegmentedConversation::store(std::uint64_t place, const SegmentMessage& message) {
    if (place < messages_.size()) {
        messages_[static_cast<std::size_t>(place)] = message;
    } else {
        messages_.push_back(message);
    }
}

std::uint64_t SegmentedConversation::tokens() const {
    std::uint64_t sum = 0;
    for (const SegmentMessage& one : messages_) {
        sum += one.segment.tokens;
    }
    return sum;
}

/// Takes so many tokens away, from the end on.
void SegmentedConversation::shorten(std::uint64_t surplus) {
    for (auto one = messages_.rbegin(); one != messages_.rend() && surplus > 0; ++one) {
        const std::uint64_t cut = std::min<std::uint64_t>(surplus, one->segment.tokens);
        one->segment.tokens -= static_cast<std::uint32_t>(cut);
        surplus -= cut;
    }
}

void SegmentedConversation::settle(std::uint32_t tokens) {
    CHECK(!messages_.empty());
    const std::uint64_t known = this->tokens();
    const bool first = !settled_;
    settled_ = true;
    const auto uncounted = std::find_if(messages_.rbegin(), messages_.rend(),
                                        [](const SegmentMessage& one) { return !one.counted; });
    const auto missing = static_cast<std::uint32_t>(tokens > known ? tokens - known : 0);
    const std::uint64_t surplus = known > tokens ? known - tokens : 0;
    Segment& system = messages_.front().segment;
    if (uncounted != messages_.rend()) {
        uncounted->segment.tokens += missing;
        shorten(surplus);
    } else if (first && has_system_ && system.tokens > surplus) {
        system.tokens += missing;
        system.tokens -= static_cast<std::uint32_t>(surplus);
    } else {
        messages_.back().segment.tokens += missing;
        shorten(surplus);
    }
    for (SegmentMessage& one : messages_) {
        one.counted = true;
    }
}

void SegmentedConversation::add_ids(std::uint32_t block_size, RowIds& ids) const {
    CHECK(block_size > 0);
    std::array<std::uint64_t, 256> batch;
    std::size_t filled = 0;
    Digest block;
    std::uint32_t room = block_size;
    const auto close = [&] {
        batch[filled++] = block.value();
        if (filled == batch.size()) {
            ids.add(std::span(batch).first(filled));
            filled = 0;
        }
        block = Digest();
        room = block_size;
    };
    for (const SegmentMessage& one : messages_) {
        for (std::uint32_t at = 0; at < one.segment.tokens;) {
            const std::uint32_t some = std::min(room, one.segment.tokens - at);
            block.add_u64(one.segment.identity);
            block.add_u64(at);
            block.add_u64(some);
            at += some;
            room -= some;
            if (room == 0) {
                close();
            }
        }
    }
    if (room < block_size) {
        close();
    }
    ids.add(std::span(batch).first(filled));
}

/// Blocks that servers' caches are made of, most often: what prompts share is exact to these.
static constexpr std::uint32_t cache_block_size = 16;
static constexpr const char* either_format =
    "choose --format mooncake if they are whole prompts, or --format mooncake-delta if they are "
    "only what is new since the answer before";

namespace {

/// Rows of lengths that follow another one in their session, held against it.
struct LaterRows {
    std::uint64_t all = 0;
    std::uint64_t shared = 0;            ///< begin with its first block
    std::uint64_t fresh = 0;             ///< begin with another block
    std::uint64_t grown = 0;             ///< no ids; at least as long as it and its answer
    std::uint64_t shorter = 0;           ///< than it, and not shared
    const TraceRow* doubtful = nullptr;  ///< the first one that is not `shared` or `grown`
};

}  // namespace

/// Calls `visit(row, before)` for each row of lengths and the one before it in its session.
template <typename Visit>
static void for_each_later_row(const Trace& trace, const Visit& visit) {
    std::vector<std::uint32_t> last(trace.sessions.size(), no_row);
    for (const TraceRow& row : trace.rows) {
        if (row.session == no_session || !trace.body_of(row).empty()) {
            continue;
        }
        const std::uint32_t before = std::exchange(last[row.session], row.index);
        if (before != no_row) {
            visit(row, trace.rows[before]);
        }
    }
}

static LaterRows later_rows_of(const Trace& trace) {
    LaterRows found;
    for_each_later_row(trace, [&](const TraceRow& row, const TraceRow& before) {
        const bool ids = row.ids_count > 0 && before.ids_count > 0;
        const bool shared = ids && trace.ids_of(row).front() == trace.ids_of(before).front();
        const bool grown =
            !ids && row.input_length >= std::uint64_t{before.input_length} + before.output_length;
        found.all += 1;
        found.shared += shared ? 1 : 0;
        found.fresh += ids && !shared ? 1 : 0;
        found.grown += grown ? 1 : 0;
        found.shorter += !shared && row.input_length < before.input_length ? 1 : 0;
        if (found.doubtful == nullptr && !shared && !grown) {
            found.doubtful = &row;
        }
    });
    return found;
}

namespace {

enum class Reading : std::uint8_t { whole, pieces, undecided };

}  // namespace

/// A whole prompt repeats the row before; a context that was compacted does not, so that one row in
/// ten may differ. Pieces repeat nothing, and are as often shorter as longer.
static Reading reading_of(const LaterRows& rows) {
    const auto most = [](std::uint64_t some, std::uint64_t all) { return some * 10 >= all * 9; };
    const std::uint64_t with_ids = rows.shared + rows.fresh;
    if (with_ids > 0) {
        return most(rows.shared, with_ids)                      ? Reading::whole
               : rows.shorter > 0 && most(rows.fresh, with_ids) ? Reading::pieces
                                                                : Reading::undecided;
    }
    return most(rows.grown, rows.all)     ? Reading::whole
           : rows.shorter * 4 >= rows.all ? Reading::pieces
                                          : Reading::undecided;
}

/// Lists an error of a row. Always false.
static bool refuse_row(RowContext& whole, const TraceRow& row, std::string_view field,
                       std::string problem, const char* remedy) {
    whole.line = row.line;
    whole.file = whole.draft.trace().file_of(row);
    return whole.refuse(field, "", std::move(problem), remedy);
}

static void refuse_undecided(RowContext& whole, const LaterRows& rows) {
    const bool ids = rows.shared + rows.fresh > 0;
    refuse_row(whole, *rows.doubtful, ids ? "hash_ids" : "input_length",
               "may be a whole prompt or only what is new in its session: of " +
                   counted(rows.all, "later row", "later rows") + " of sessions, " +
                   std::to_string(ids ? rows.shared : rows.grown) +
                   (ids ? " begin with the first block of the row before, "
                        : " are as long as the row before and its answer, ") +
                   std::to_string(rows.shorter) + " are shorter than the row before",
               either_format);
}

namespace {

/// The prompts of a trace, put together row by row.
class PromptMaker {
  public:
    PromptMaker(RowContext& whole, std::uint32_t piece_blocks, std::uint32_t block_size)
        : whole_(whole),
          trace_(whole.draft.trace()),
          piece_blocks_(piece_blocks),
          block_size_(block_size),
          talks_(trace_.sessions.size()) {}

    /// False after an error.
    bool make();

  private:
    struct Talk {
        SegmentedConversation said;
        const TraceRow* unanswered = nullptr;  ///< its last row has no output length
        bool has_words = false;                ///< some row of the session is text
        std::uint32_t pieces = 0;
    };

    void add_piece(const TraceRow& row, SegmentedConversation& said) const;
    bool check(const TraceRow& row, const Talk& talk, std::uint64_t tokens) const;

    RowContext& whole_;
    Trace& trace_;
    std::uint32_t piece_blocks_;
    std::uint32_t block_size_;
    std::vector<Talk> talks_;  ///< [Trace::sessions]
    BlockIds made_;
};

}  // namespace

/// Where tokens come from that no id names: the row, and whether they are its answer.
static std::uint64_t identity_of(const TraceRow& row, std::string_view part) {
    Digest digest;
    digest.add(part);
    digest.add_u64(row.index);
    return digest.value();
}

void PromptMaker::add_piece(const TraceRow& row, SegmentedConversation& said) const {
    std::uint32_t left = row.input_length;
    for (const std::uint64_t id : trace_.ids_of(row)) {
        const std::uint32_t tokens = std::min(left, piece_blocks_);
        said.append({id, tokens});
        left -= tokens;
    }
    if (left > 0) {
        said.append({identity_of(row, "input"), left});
    }
}

bool PromptMaker::check(const TraceRow& row, const Talk& talk, std::uint64_t tokens) const {
    if (talk.has_words && talk.pieces > 0) {
        return refuse_row(whole_, row, "session_id",
                          "is of a session that has both lengths and text",
                          "use either in a session whose rows are only what is new");
    }
    if (talk.unanswered != nullptr) {
        return refuse_row(whole_, *talk.unanswered, "output_length",
                          "is missing: the later prompts of its session contain the answer",
                          "use --default-output N");
    }
    if (tokens > row_tokens_max) {
        return refuse_row(
            whole_, row, "input_length",
            "makes a prompt of " + std::to_string(tokens) + " tokens with the turns before it",
            "use --format mooncake if input_length is the whole prompt");
    }
    return made_.size() + blocks_of(tokens, block_size_) <= segment_blocks_max ||
           refuse_row(whole_, row, "", "makes more than 2^30 blocks with the prompts before it",
                      "replay fewer sessions at a time");
}

bool PromptMaker::make() {
    RowIds ids(made_);
    for (TraceRow& row : trace_.rows) {
        Talk alone;
        Talk& talk = row.session == no_session ? alone : talks_[row.session];
        talk.has_words = talk.has_words || !trace_.body_of(row).empty();
        talk.pieces += trace_.body_of(row).empty() ? 1 : 0;
        ids.begin();
        if (trace_.body_of(row).empty()) {
            add_piece(row, talk.said);
        }
        const std::uint64_t tokens = talk.said.tokens();
        if (!check(row, talk, tokens)) {
            return false;
        }
        if (trace_.body_of(row).empty()) {
            row.input_length = static_cast<std::uint32_t>(tokens);
            talk.said.add_ids(block_size_, ids);
            talk.unanswered = row.output_length == 0 ? &row : nullptr;
            talk.said.append({identity_of(row, "answer"), row.output_length});
        }
        ids.keep(row);
    }
    made_.settle();
    trace_.ids = std::move(made_);
    return true;
}

/// The text of a recorded request as JSON; empty where it is another request.
static std::string_view recorded_text(JsonDocument& document, std::string_view request) {
    const Result<JsonValue> json = document.parse(request);
    const JsonValue text = json ? json.value().find("text_input") : JsonValue();
    return text.raw();
}

namespace {

/// Rows of text that follow another one in their session, held against it.
struct LaterTexts {
    std::uint64_t all = 0;
    std::uint64_t repeating = 0;      ///< begin with the text before
    const TraceRow* fresh = nullptr;  ///< the first one that does not
    const TraceRow* other = nullptr;  ///< a row of some session that is another whole request
};

}  // namespace

static LaterTexts later_texts_of(const Trace& trace) {
    LaterTexts found;
    JsonDocument document;
    std::vector<std::string> last(trace.sessions.size());
    for (const TraceRow& row : trace.rows) {
        const std::string_view body = trace.body_of(row);
        if (row.session == no_session || body.empty()) {
            continue;
        }
        const std::string_view text = recorded_text(document, body);
        if (text.empty()) {
            found.other = &row;
            continue;
        }
        std::string& before = last[row.session];
        if (!before.empty()) {
            const bool repeats = text.starts_with(before);
            found.all += 1;
            found.repeating += repeats ? 1 : 0;
            found.fresh = repeats || found.fresh != nullptr ? found.fresh : &row;
        }
        before.assign(text.substr(0, text.size() - 1));  // without its last quote
    }
    return found;
}

/// Texts of sessions become new messages, between which the answers of the run go.
static void make_messages(Trace& trace) {
    JsonDocument document;
    std::string bytes;
    std::vector<std::uint64_t> ends;
    for (TraceRow& row : trace.rows) {
        const std::string_view body = trace.body_of(row);
        const std::string_view text =
            row.session == no_session ? std::string_view() : recorded_text(document, body);
        if (text.empty()) {
            bytes += body;
        } else {
            constexpr std::size_t name_bytes = std::string_view(R"({"text_input":)").size();
            bytes += R"({"messages":[{"role":"user","content":)";
            bytes += text;
            bytes += "}]";
            bytes += body.substr(name_bytes + text.size());
            row.input_length = row.turn > 1 ? 0 : row.input_length;  // of its text alone
        }
        ends.push_back(bytes.size());
    }
    trace.body_bytes = std::move(bytes);
    trace.body_ends = std::move(ends);
    trace.deltas = true;
}

/// What the user named is taken; rows that say the opposite are named.
static void note_repeats(const RowContext& whole, std::uint64_t repeating, std::uint64_t all) {
    whole.draft.remark(
        "row begins as the row before in its session does, as whole prompts do (--format mooncake)",
        "rows begin as the rows before in their sessions do, as whole prompts do (--format "
        "mooncake)",
        repeating * 10 >= all * 9 ? repeating : 0);
}

/// Texts are read as lengths are: AIPerf and AIBrix send the earlier ones and the answers before
/// each. Lists what forbids it.
static void settle_texts(RowContext& whole) {
    Trace& trace = whole.draft.trace();
    const LaterTexts texts = later_texts_of(trace);
    const bool stated = whole.rules.format_stated();
    const bool repeat = texts.repeating * 10 >= texts.all * 9;
    const bool pieces =
        stated ? trace.format == pieces_format_name : texts.repeating * 10 <= texts.all;
    if (texts.all == 0 || (stated && !pieces) || (!stated && repeat)) {
        return;
    }
    const TraceRow* const wrong = !pieces ? texts.fresh : trace.deltas ? nullptr : texts.other;
    if (wrong != nullptr) {
        refuse_row(
            whole, *wrong, pieces ? "" : "text_input",
            pieces ? "is a whole request of a session, while the texts of other rows are "
                     "only what is new"
                   : "may be a whole prompt or only what is new in its session: of " +
                         counted(texts.all, "later text", "later texts") + " of sessions, " +
                         std::to_string(texts.repeating) + " begin with the text before",
            pieces ? "use --format mooncake if the texts are whole prompts, too" : either_format);
        return;
    }
    note_repeats(whole, texts.repeating, texts.all);
    make_messages(trace);
    trace.format = pieces_format_name;
    whole.draft.remark(
        "text is only what is new in its session: answers of the run go between (--format "
        "mooncake: texts are whole prompts)",
        "texts are only what is new in their sessions: answers of the run go between them "
        "(--format mooncake: texts are whole prompts)",
        texts.all);
}

/// Puts the prompts of lengths together.
static void settle_lengths(RowContext& whole, const LaterRows& rows) {
    Trace& trace = whole.draft.trace();
    const std::uint32_t piece_blocks = whole.rules.block_size;
    whole.rules.block_size = std::gcd(piece_blocks, cache_block_size);  // 0: no row has ids
    trace.format = pieces_format_name;
    note_repeats(whole, rows.shared, rows.shared + rows.fresh);
    if (PromptMaker(whole, piece_blocks, whole.rules.block_size).make()) {
        whole.draft.remark(
            "row holds only what is new in its session: its prompt is all earlier prompts and "
            "answers, and that (--format mooncake: rows are whole prompts)",
            "rows hold only what is new in their sessions: their prompts are all earlier prompts "
            "and answers, and that (--format mooncake: rows are whole prompts)",
            rows.all);
    }
}

void settle_session_pieces(RowContext& whole) {
    Trace& trace = whole.draft.trace();
    const LaterRows rows = later_rows_of(trace);
    const Reading reading = rows.all == 0                        ? Reading::whole
                            : !whole.rules.format_stated()       ? reading_of(rows)
                            : trace.format == pieces_format_name ? Reading::pieces
                                                                 : Reading::whole;
    if (reading == Reading::undecided) {
        refuse_undecided(whole, rows);
    }
    if (reading == Reading::pieces) {
        settle_lengths(whole, rows);
    }
    if (whole.errors.empty()) {
        settle_texts(whole);
    }
}

void note_unread_pieces(const RowContext& whole) {
    const LaterRows rows = later_rows_of(whole.draft.trace());
    const LaterTexts texts = later_texts_of(whole.draft.trace());
    const bool sure = rows.all == 0 || reading_of(rows) == Reading::whole;
    whole.draft.remark(
        "row of a session is read as a whole prompt, which it may not be (if it is only what is "
        "new, as AIBrix's client sends it: driftless convert FILE --to mooncake -o NEW_FILE, then "
        "replay NEW_FILE --format mooncake-delta)",
        "rows of sessions are read as whole prompts, which they may not be (if they are only what "
        "is new, as AIBrix's client sends them: driftless convert FILE --to mooncake -o NEW_FILE, "
        "then replay NEW_FILE --format mooncake-delta)",
        (sure ? 0 : rows.all) + texts.all - texts.repeating);
}

}  // namespace driftless
