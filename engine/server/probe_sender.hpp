/// PreflightPlan: what a preflight is told: whom to ask, in the form of which rows, and what is
/// known without asking. Values; filled by whoever starts the preflight, and never changed by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/base/task.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/asker.hpp"
#include "engine/server/findings.hpp"
#include "engine/server/probe.hpp"
#include "engine/server/tokenize.hpp"
#include "proto/api/dialect.hpp"
#include "proto/run/overhead.hpp"

namespace driftless {

struct PreflightPlan {
    AskedServer server;
    std::string api_path;  ///< request target of the rows
    const Dialect* dialect = nullptr;
    /// `model` may be empty: the first of /v1/models. `length_member` may be: where the dialect's
    /// own is not obeyed, the other one is tried.
    BodySpec body;
    const WordTable* words = nullptr;
    /// [words] the ids that the tokenizer of the table has for them behind a blank; empty: unknown.
    std::span<const std::uint32_t> word_ids;
    /// What the chat template beside the tokenizer may add; empty: not known.
    std::span<const TemplateSplit> template_splits;
    std::optional<Overhead> overhead;    ///< `--overhead`: goes before what is measured
    bool server_block_known = false;     ///< `--server-block`: it is not searched for
    bool sends_recorded_text = false;    ///< no prompt is made to a length
    std::optional<Duration> wait_ready;  ///< keep asking for the models this long
};

/// PreflightContext: what the parts of a preflight share: the plan, the one who asks, what was
/// found so far, and why it failed. Owned by the preflight; each part holds a reference. It decides
/// nothing.
struct PreflightContext {
    /// Requests are numbered from `first`.
    PreflightContext(Loop& loop, const PreflightPlan& given, std::uint32_t first)
        : plan(given), asker(loop, plan.server, first), model(given.body.model) {}
    PreflightContext(const PreflightContext&) = delete;  // the asker refers to the plan
    PreflightContext& operator=(const PreflightContext&) = delete;

    const PreflightPlan plan;
    Asker asker;
    std::string model;  ///< as rows name it; `findings.model` is the same, masked
    PreflightFindings findings;
    PreflightFailure failure;

    void note(std::string line) { findings.notes.push_back(std::move(line)); }
    /// Says why the preflight ends here; false.
    bool fail(std::string why) {
        failure.text = std::move(why);
        return false;
    }
    Instant now() const { return asker.loop().driver().now(); }
};

/// RetryingAsker: one question of a preflight, asked again where its answer is none: a limit of
/// requests, a connection that breaks off, a server that fails or is still loading. It waits in
/// between and reads no answer. Owned by the preflight.
class RetryingAsker {
  public:
    /// `--wait-ready` counts from here.
    explicit RetryingAsker(PreflightContext& context) : context_(context), begun_(context.now()) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// One question. A limit of requests is no answer to it: it is asked again, a few times. So is
    /// one that the server breaks off or fails at, and under `--wait-ready` one of the rows' API
    /// while nobody answers behind a gateway. False where no answer came: the asker says why.
    Task<bool> fetch(const std::string& method, const std::string& path, const std::string& body,
                     BodyWatch watch = {});

    /// The user wants to wait longer for a server that is not ready.
    bool patient() const;
    Task<void> pause(Duration length);
    /// Between two questions to a server that is not ready.
    static constexpr Duration ready_pause = milliseconds(500);

  private:
    Duration busy_pause(int times);
    bool broke(bool answered) const;
    void note_broken(bool answered);

    PreflightContext& context_;
    Instant begun_;
    bool busy_noted_ = false;
    bool broken_noted_ = false;
};

// ProbeSender: sends one prompt as the rows will be sent, in the form of body that was found to be
// accepted, and reads the answer whole. It does not judge what the answer means. Owned by the
// preflight.

/// How far answers are read.
enum class ReadTo : std::uint8_t {
    end,     ///< as the rows', to their end
    enough,  ///< always streamed, and stopped where they are too long
};

class ProbeSender {
  public:
    ProbeSender(PreflightContext& context, RetryingAsker& retrying);

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// One request with this prompt, for so many tokens; 0: as few as the server takes.
    Task<Probe> send(const std::string& prompt, std::uint32_t tokens = 0);
    /// Tokens of a prompt of many words, by usage. False: the preflight has failed.
    Task<bool> count(const std::string& prompt, std::int64_t& tokens);
    /// Several servers tell cached tokens only where there are some: a prompt that was counted
    /// before goes out again. Whether it is answered is not held against the server.
    Task<void> send_again();

    /// Tokens that a probe asks for, where its answer matters to nobody.
    std::uint32_t least_tokens() const { return least_tokens_; }
    void set_least_tokens(std::uint32_t tokens) { least_tokens_ = tokens; }
    /// Of the next answers; at first `end`.
    void set_reading(ReadTo reading) { reading_ = reading; }

    /// The preflight fails, because of this answer to `what`; false.
    bool fail_answer(const std::string& what, const Probe& probe);

  private:
    void note_reported(const Probe& probe);

    PreflightContext& context_;
    RetryingAsker& retrying_;
    std::uint32_t least_tokens_ = 1;
    ReadTo reading_ = ReadTo::end;
    LengthWatch watch_;
    std::string last_counted_;  ///< the latest prompt of many words, as sent
};

}  // namespace driftless
