#include "engine/preflight/tell_tale.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t tokens_a_slice = 1 << 20;

}  // namespace

TellTale make_tell_tale(const Trace& trace, const WordTable& words, PromptOptions options,
                        std::size_t server, std::uint32_t tokens) {
    const bool recorded = trace.is_recorded_text();
    options.corpus = nullptr;  // words say whose they are from the first token on, texts later
    options.shared_blocks = {};
    options.seed = recorded ? 0 : options.seed;
    options.cache_salt = "tell-tale " + std::to_string(trace.digest) + " " +
                         std::to_string(server) + " " + (recorded ? "" : options.cache_salt);
    Trace alone;
    alone.rows.resize(1);
    alone.rows.front().input_length = tokens;
    const TraceRow& row = alone.rows.front();
    PromptBuilder builder(alone, words, options);
    TellTale made{std::string(builder.room_of(row), '\0'), builder.words_of(row), !recorded};
    PromptCursor cursor = builder.begin(row);
    while (!builder.fill(cursor, made.prompt.data(), tokens_a_slice)) {
    }
    made.prompt.resize(cursor.bytes);
    return made;
}

}  // namespace driftless
