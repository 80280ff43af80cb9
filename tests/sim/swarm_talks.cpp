// The swarm's conversations: sessions of messages, played with the answers of the run.
#include <algorithm>
#include <array>
#include <string>

#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t talks_stream = 0x7A1C5;
constexpr std::array<const char*, 3> followers{"user", "tool", "user"};

std::string message(const char* role, std::uint32_t words, Random& random) {
    std::string text;
    for (std::uint32_t word = 0; word < words; ++word) {
        text += word == 0 ? "" : " ";
        text += static_cast<char>('a' + random.below(26));
        text += static_cast<char>('a' + random.below(26));
    }
    return R"({"role":")" + std::string(role) + R"(","content":")" + text + R"("})";
}

/// A conversation that goes on, or a new one.
struct Talk {
    std::string messages;
    std::uint32_t tokens = 0;  ///< of the latest prompt, as recorded
    std::uint32_t answer = 0;  ///< of the answer to it
    std::uint32_t left = 0;    ///< rows to come
};

}  // namespace

// What is recorded of lengths may be off by the same number of tokens in a whole conversation.
Trace talks_trace(std::uint64_t seed, std::uint32_t rows, std::uint32_t overhead) {
    Random random(mix64(seed ^ talks_stream));
    Trace trace = make_trace(seed, rows);
    const std::uint64_t turns_max = 1 + random.below(8);
    const bool knows_lengths = random.below(3) != 0;
    trace.deltas = random.below(3) == 0;
    trace.recorded = true;
    Talk talk;
    for (std::uint32_t index = 0; index < rows; ++index) {
        TraceRow& row = trace.rows[index];
        const auto words = static_cast<std::uint32_t>(1 + random.below(12));
        row.ids_begin = row.ids_count = 0;
        row.output_length = static_cast<std::uint32_t>(2 + random.below(14));
        if (talk.left == 0) {
            talk = {};
            talk.left = static_cast<std::uint32_t>(1 + random.below(turns_max));
            talk.messages = message("user", words, random);
            const auto off = static_cast<std::uint32_t>(random.below(7));
            talk.tokens = std::max(overhead + words + off, 4U) - 3;
            trace.sessions.push_back("talk " + std::to_string(trace.sessions.size()));
            row.turn = 1;
        } else {
            const std::string next = message(followers[random.below(3)], words, random);
            const std::string recorded = message("assistant", talk.answer, random);
            talk.messages = trace.deltas ? next : talk.messages + "," + recorded + "," + next;
            talk.tokens += talk.answer + words;
            const bool at_once = random.below(2) == 0;
            trace.dependencies.push_back(
                {index, index - 1, Trigger::completion,
                 at_once ? 0 : static_cast<std::int64_t>(random.below(30'000'000))});
            row.turn = trace.rows[index - 1].turn + 1;
        }
        --talk.left;
        talk.answer = row.output_length;
        row.session = static_cast<std::uint32_t>(trace.sessions.size() - 1);
        row.input_length = knows_lengths ? talk.tokens : 0;
        trace.body_bytes += R"({"messages":[)" + talk.messages + "]}";
        trace.body_ends.push_back(trace.body_bytes.size());
    }
    trace.ids = {};
    return trace;
}

SimOptions talks_options(std::uint64_t seed) {
    SimOptions options = swarm_options(seed);
    options.closed = true;
    options.live = true;
    options.server.check_history = 1 << 16;
    options.script.share = 0;  // what it says the mock does not remember
    return options;
}

SimResult run_talks_swarm(std::uint64_t seed, std::uint32_t rows) {
    SimOptions options = talks_options(seed);
    if (seed % 2 == 1) {
        options.users = drawn_rules(seed);
        options.users.start = {};
        options.users.recycle = false;
        options.drain_ns = static_cast<std::int64_t>(Random(seed).below(200'000'000));
    }
    const mock::TemplateTokens& overhead = options.server.overhead;
    return run(talks_trace(seed, rows, overhead.pre + overhead.post), options);
}

}  // namespace driftless::sim
