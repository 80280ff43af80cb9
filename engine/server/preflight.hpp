/// Preflight: what is asked of the server before time 0, and what it answered.
///
/// In this order: `GET /v1/models`, and a page of the context; words to the tokenize endpoint, in
/// each way that servers have it; one word, in one form of body after the other; all words, in
/// different orders; words one by one at the beginning of a prompt; one answer of some tokens;
/// prompts that share their first words, and `/metrics`. It learns the model, the overhead H
/// of template and BOS and its split, and which words (or token ids) count as one token: what does
/// not is searched for and dropped. Its requests are named as probes (RequestName) and never
/// recorded as rows. One to `/v1/models` or to the rows' API that is answered 429 or 5xx, or breaks
/// off, is sent again a little later.
///
/// The server's usage is the truth that rows are held against; the tokenize endpoint is believed as
/// far as it agrees.
///
/// A stage is a coroutine over a PreflightContext, which sends for all of them and keeps what they
/// found. Preflight runs the stages in their order.
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
#include "engine/server/tokenize.hpp"
#include "proto/api/dialect.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// PreflightPlan: what a preflight is told: whom to ask, in the form of which rows, and what is
/// known without asking. Filled by whoever starts the preflight, and never changed by it; what it
/// points to outlives the preflight.
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

/// How far answers are read.
enum class ReadTo : std::uint8_t {
    end,     ///< as the rows', to their end
    enough,  ///< always streamed, and stopped where they are too long
};

/// PreflightContext: what the stages of a preflight share: the plan, the one who asks, what was
/// found so far, and why it failed. It sends a prompt as the rows will be sent, in the form of body
/// that was found to be accepted, and asks again as `fetch` says. It does not judge what an
/// answer means: the stages do. Owned by Preflight or WarmProbe.
struct PreflightContext {
    /// Requests are numbered from `first`. `--wait-ready` counts from here. The plan names a
    /// dialect and words, or it is a CHECK.
    PreflightContext(Loop& loop, const PreflightPlan& given, std::uint32_t first);
    PreflightContext(const PreflightContext&) = delete;  // the asker refers to the plan
    PreflightContext& operator=(const PreflightContext&) = delete;

    // Home of the stages (task.hpp).
    FramePool& frames() { return asker.frames(); }
    ReadyList& ready() { return asker.ready(); }

    /// One question. A limit of requests is no answer to it: it is asked again, a few times. So is
    /// one that the server breaks off or fails at, and under `--wait-ready` one of the rows' API
    /// while nobody answers behind a gateway. False where no answer came: the asker says why.
    Task<bool> fetch(const std::string& method, const std::string& path, const std::string& body,
                     BodyWatch watch = {});
    /// One request with this prompt, for so many tokens; 0: as few as the server takes.
    Task<Probe> send(const std::string& prompt, std::uint32_t tokens = 0,
                     ReadTo reading = ReadTo::end);
    /// Tokens of a prompt of many words, by usage. False: the preflight has failed.
    Task<bool> count(const std::string& prompt, std::int64_t& tokens);
    /// Ends early where the user stops it.
    Task<void> pause(Duration length);

    /// The user wants to wait longer for a server that is not ready.
    bool patient() const;
    Instant now() const { return asker.loop().driver().now(); }
    void note(std::string line) { findings.notes.push_back(std::move(line)); }
    /// Says why the preflight ends here; false.
    bool fail(std::string why) {
        failure.text = std::move(why);
        return false;
    }
    /// The preflight fails, because of this answer to `what`; false.
    bool fail_answer(const std::string& what, const Probe& probe);

    /// Between two questions to a server that is not ready.
    static constexpr Duration ready_pause = milliseconds(500);

    const PreflightPlan plan;
    Asker asker;
    const Instant begun;
    std::string model;  ///< as rows name it; `findings.model` is the same, masked
    ProbePrompts prompts;
    PreflightFindings findings;
    PreflightFailure failure;

    LengthWatch length_watch;
    bool repeated = false;     ///< the latest question, after a try that the server may have taken
    std::string last_counted;  ///< the latest prompt of many words, as sent
    bool busy_noted = false;
    bool broken_noted = false;

    /// Tokens around a prompt, as usage counts them; without usage, as the tokenize endpoint does.
    std::int64_t around = 0;
    std::uint32_t shared_prompts = 0;  ///< made so far; each has other words behind the shared ones
    /// The tokenize endpoint was found, answers, and has counted words as usage does so far.
    bool tokenize_believed = false;
    /// Whether all its ids that were compared are those of the table's own tokenizer; false, too,
    /// where they could not be; nothing where none were.
    std::optional<bool> ids_agree;
};

// The stages. One that returns a bool says false where the preflight has failed: the context says
// why. Each asks only where its answer is needed.

/// `GET /v1/models`, again and again under `--wait-ready`, until it lists a model: gateways answer
/// before they have a worker. It need not be the one that the user named, which may be an alias
/// that is never listed. A server without that page is fine where the user named the model.
Task<bool> ask_models(PreflightContext& context);
/// The page on which some servers tell their context, each in its own words; only where the models
/// told none.
Task<void> ask_info(PreflightContext& context);
/// The size of the cache's blocks, where nothing has reported it: vLLM's /metrics do.
Task<void> ask_metrics(PreflightContext& context);

/// Sends a prompt in one form of a row's body after the other: without what the server refuses, for
/// more than one token where it answers none for one, with the name of the length that it obeys.
/// Its answer in the first form that is accepted, or the refusal. Later probes and the rows go in
/// that form.
Task<Probe> find_body_form(PreflightContext& context, const std::string& prompt);
/// How long an answer of some tokens is, and whether its chunks come one by one, as they are made;
/// notes what will become of rows where not. A proxy that holds an answer back until its end makes
/// every stamp but the last worthless (nginx, with TLS and proxy_buffering on).
Task<void> ask_pace(PreflightContext& context);
/// False where a user's template finds no text in that answer: every row would be without a token.
bool check_text(PreflightContext& context);

/// Tries each way of tokenising that servers have until one is understood; prompts then open with a
/// word that it makes one token of. A page that is missing is not asked again.
Task<void> find_tokenize(PreflightContext& context);
/// How many tokens stand around a prompt, by what one word was counted as, and how many of them
/// are in front of it: by the tokenize endpoint, the chat template or the model's name. Usage is
/// what rows are held against, so it goes before what /tokenize says; `--overhead` goes before
/// both.
Task<bool> settle_overhead(PreflightContext& context, std::int64_t counted);
/// One token, no template, and nothing that shows where it stands: a BOS. The tokenizers of all
/// families of models that add one token to a text put it in front (token-exact.md, section 5); an
/// EOS behind it takes `add_eos_token`, which none of them has set.
void assume_bos(PreflightContext& context);
/// The overhead's split, by the cached tokens of prompts that share their first words
/// (SplitSearch); only where neither the server's tokenize endpoint nor its model's name tells it.
Task<void> find_split(PreflightContext& context);
/// The same questions tell the size of the server's blocks, where the split is known from elsewhere
/// and no page tells the size.
Task<void> find_block(PreflightContext& context);
/// Every word of the table must count as one token behind another; those that do not are searched
/// for and dropped (WordSearch). Only where anything counts.
Task<bool> check_words(PreflightContext& context);
/// Which words are one token each at the beginning of a prompt, where that is not known of the
/// table: asks word by word until enough are known (FirstWords). Only behind a check of the words
/// that has left some to use.
Task<bool> check_first_words(PreflightContext& context);

class Preflight {
  public:
    /// Its requests are numbered from `first`. `--wait-ready` counts from here.
    Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first = 1);

    /// Turns the loop until all is asked, or the user stops it: then neither what it returns nor
    /// `failure` means anything. False: `failure` says why.
    bool run();

    /// As rows name it; `findings().model` is the same, masked.
    const std::string& model() const { return context_.model; }
    const PreflightFindings& findings() const { return context_.findings; }
    const PreflightFailure& failure() const { return context_.failure; }

    /// It ends after this, and what `--wait-ready` adds. A server on a CPU takes some minutes for
    /// the largest search of words; one that needs longer is stuck.
    static constexpr Duration whole_max = seconds(600);

  private:
    PreflightContext context_;
};

}  // namespace driftless
