/// Preflight: what is asked of the server before time 0, and what it answered.
///
/// In this order: `GET /v1/models`; two words to the tokenize endpoint, in each way that servers
/// have it, until one is understood; one request of one word; all words, twice, in different
/// orders; where that is not known of the table, words one by one at the beginning of a prompt; one
/// answer of some tokens; prompts that share their first words, where nothing else tells the
/// overhead's split or the size of the server's cache blocks. It learns the model, the overhead H
/// of template and BOS and its split, and which words (or token ids) count as one token: what does
/// not is searched for and dropped. Its requests are named as probes (RequestName) and never
/// recorded as rows. One to `/v1/models` or to the rows' API that is answered 429 or 5xx, or breaks
/// off, is sent again a little later.
///
/// The server's usage is the truth that rows are held against; the tokenize endpoint is believed as
/// far as it agrees.
///
/// Here is the order of the questions. Each idea asks its own: RetryingAsker and ProbeSender send,
/// ServerPages, TokenizeEndpoint, BodyForm, OverheadCount, WordCheck, FirstWordCheck, AnswerPace
/// and CacheSplit find out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/task.hpp"
#include "engine/server/findings.hpp"
#include "engine/server/probe.hpp"
#include "engine/server/probe_sender.hpp"
#include "engine/server/word_search.hpp"

namespace driftless {

/// ServerPages: the pages on which a server tells about itself: its models, their limits, the size
/// of its cache blocks. Sends no prompt. Owned by the preflight.
class ServerPages {
  public:
    ServerPages(PreflightContext& context, RetryingAsker& retrying)
        : context_(context), retrying_(retrying) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// `GET /v1/models`, again and again under `--wait-ready`, until it lists a model: gateways
    /// answer before they have a worker. It need not be the one that the user named, which may be
    /// an alias that is never listed. A server without that page is fine where the user named the
    /// model. False: the preflight has failed.
    Task<bool> ask_models();
    /// The page on which some servers tell their context, each in its own words; only where the
    /// models told none.
    Task<void> ask_info();
    /// The size of the cache's blocks, where nothing has reported it: vLLM's /metrics do.
    Task<void> ask_metrics();

  private:
    void read_models();
    bool choose_model();
    bool fail_models();

    PreflightContext& context_;
    RetryingAsker& retrying_;
    std::string first_model_;  ///< of the list, unmasked
};

/// TokenizeEndpoint: the server's tokenize endpoint: which way of asking it understands, what it
/// puts around a text, and whether it is still believed. Usage is the truth: whoever sees the two
/// disagree says `doubt`. Owned by the preflight.
class TokenizeEndpoint {
  public:
    TokenizeEndpoint(PreflightContext& context, ProbePrompts& prompts)
        : context_(context), prompts_(prompts) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Tries each way of tokenising that servers have until one is understood; prompts then open
    /// with a word that it makes one token of. A page that is missing is not asked again.
    Task<void> find();
    /// Some way was understood.
    bool found() const { return context_.findings.tokenize.has_value(); }
    /// It was found, and sees what the API puts around a prompt, too.
    bool sees_template() const;

    /// It was found, and has agreed with usage so far.
    bool believed() const { return believed_; }
    void doubt() { believed_ = false; }

    /// The ids that it makes of a prompt; empty where it does not say. Only where it was found.
    Task<std::vector<std::int64_t>> ids_of(const std::string& prompt);
    /// So many ids without those that it puts around a text.
    std::int64_t tokens_within(const std::vector<std::int64_t>& ids) const;

    /// Compares the ids of a prompt of these words with those of the tokenizer that they come from.
    void compare_ids(std::span<const std::uint32_t> words, std::span<const std::int64_t> ids);
    /// Ids were compared, and all were those of the table's own tokenizer.
    bool ids_agree() const { return ids_agree_; }

  private:
    Task<bool> try_form(TokenizeForm form);

    PreflightContext& context_;
    ProbePrompts& prompts_;
    bool believed_ = false;
    bool ids_agree_ = false;
    bool ids_differ_ = false;  ///< once, or they could not be compared
};

/// RefusedParts: what a server refuses of a body and rows can go without: `ignore_eos`,
/// `stream_options`, the name of the member that bounds an answer. Leaves them out one after the
/// other until a body is accepted. Owned by BodyForm.
class RefusedParts {
  public:
    RefusedParts(PreflightContext& context, ProbeSender& sender)
        : context_(context), sender_(sender) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// A body with this prompt was refused, and `one` is the refusal: leaves out one part after the
    /// other, and keeps one in where the server minds the same without it; at last all of them.
    /// `one` becomes an answer, or the refusal of what the server minds beside them.
    Task<void> leave_out(const std::string& prompt, Probe& one);

  private:
    enum class Part : std::uint8_t { ignore_eos, stream_options, length_name };
    /// A part that is left out, and the refusal for which it is.
    struct Dropped {
        Part part;
        std::string reason;
    };

    Task<void> leave_out_each(const std::string& prompt, Probe& latest);
    Task<void> leave_out_all(const std::string& prompt, Probe& latest);
    std::optional<Part> next_part(std::string_view refusal) const;
    bool in_body(Part part, bool may_mean) const;
    std::string_view name_of(Part part) const;
    bool was_dropped(Part part) const;
    void apply();
    std::string note_of(const Dropped& dropped) const;

    static constexpr Part all_parts[] = {Part::ignore_eos, Part::stream_options, Part::length_name};

    PreflightContext& context_;
    ProbeSender& sender_;
    std::vector<Part> tried_;
    std::vector<Dropped> dropped_;
};

/// BodyForm: the first form of a row's body that the server accepts: without what it refuses
/// (RefusedParts), for more than one token where it answers none for one, and with the name of the
/// length that it obeys. Later probes and the rows go in that form. Owned by the preflight.
class BodyForm {
  public:
    BodyForm(PreflightContext& context, ProbeSender& sender)
        : context_(context), sender_(sender), refused_(context, sender) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Sends a prompt in one form after the other: its answer in the first that is accepted, or
    /// the refusal.
    Task<Probe> find(const std::string& prompt);
    /// An answer of so many tokens (0: as few as the server takes). Where it is too long and the
    /// name of the length is open, it is asked for with the other name, which is kept where the
    /// server obeys it.
    Task<Probe> ask_for(const std::string& prompt, std::uint32_t tokens);

  private:
    bool is_length_open() const;
    ReadTo reading() const;
    Task<void> ask_for_more(const std::string& prompt, Probe& one);
    Task<void> try_other_length(const std::string& prompt, std::uint32_t tokens, Probe& one);

    PreflightContext& context_;
    ProbeSender& sender_;
    RefusedParts refused_;
};

/// AnswerPace: how long an answer of some tokens is, and whether its chunks come one by one, as
/// they are made. Notes what will become of rows where not. Owned by the preflight.
class AnswerPace {
  public:
    AnswerPace(PreflightContext& context, BodyForm& body, const ProbePrompts& prompts)
        : context_(context), body_(body), prompts_(prompts) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asks for an answer of some tokens. A proxy that holds an answer back until its end makes
    /// every stamp but the last worthless (nginx, with TLS and proxy_buffering on).
    Task<void> ask();
    /// False where a user's template finds no text in that answer: every row would be without a
    /// token, and the preflight has failed.
    bool check_text();

  private:
    void note_length();
    void note_chunks();

    PreflightContext& context_;
    BodyForm& body_;
    const ProbePrompts& prompts_;
};

/// OverheadCount: how many tokens stand around a prompt, by what one word was counted as, and how
/// many of them stand in front of it: by the tokenize endpoint, the chat template or the model's
/// name. What cached tokens tell of the split is CacheSplit's. Owned by the preflight.
class OverheadCount {
  public:
    OverheadCount(PreflightContext& context, ProbeSender& sender, ProbePrompts& prompts,
                  const TokenizeEndpoint& tokenize)
        : context_(context), sender_(sender), prompts_(prompts), tokenize_(tokenize) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// The overhead, from what one word was counted as. Usage is what rows are held against, so it
    /// goes before what /tokenize says; `--overhead` goes before both. False: the preflight has
    /// failed.
    Task<bool> settle(std::int64_t counted);
    /// Tokens around a prompt, as usage counts them; without usage, as the tokenize endpoint does.
    std::int64_t around() const { return around_; }

    /// One token, no template, and nothing that shows where it stands: a BOS. The tokenizers of all
    /// families of models that add one token to a text put it in front (token-exact.md, section 5);
    /// an EOS behind it takes `add_eos_token`, which none of them has set.
    void assume_bos();

  private:
    void take_uncounted();
    void take(std::int64_t around);
    void take_given(const Overhead& overhead);
    bool split_by_template(std::uint32_t tokens);
    Task<bool> agree(std::int64_t counted);
    Task<bool> reject_words(std::int64_t counted, std::int64_t many);

    PreflightContext& context_;
    ProbeSender& sender_;
    ProbePrompts& prompts_;
    const TokenizeEndpoint& tokenize_;
    std::int64_t around_ = 0;
};

/// CacheSplit: the overhead's split and the size of the server's cache blocks, by the cached tokens
/// of prompts that share their first words. Here the questions of SplitSearch are asked. Owned by
/// the preflight.
class CacheSplit {
  public:
    CacheSplit(PreflightContext& context, ProbeSender& sender, const ProbePrompts& prompts,
               const OverheadCount& overhead)
        : context_(context), sender_(sender), prompts_(prompts), overhead_(overhead) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asked only where neither the server's tokenize endpoint nor its model's name tells the
    /// split.
    Task<void> find_split();
    /// The same questions tell the size of the server's blocks, where the split is known from
    /// elsewhere and no page tells the size.
    Task<void> find_block();

  private:
    Task<bool> search_cache(std::uint32_t words, SplitSearch& search);
    Task<bool> ask_cache(std::uint32_t words, SplitSearch& search, bool repeats_first);
    std::uint32_t words_to_share() const;
    std::string shared_prompt(std::uint32_t shared, std::uint32_t words);
    void take_block(const SplitSearch& search);

    PreflightContext& context_;
    ProbeSender& sender_;
    const ProbePrompts& prompts_;
    const OverheadCount& overhead_;
    std::uint32_t prompts_made_ = 0;  ///< each has other words behind the shared ones
};

/// WordCheck: every word of the table must count as one token behind another; those that do not are
/// searched for and dropped (WordSearch). Here the questions of that search are asked. Which words
/// may open a prompt is FirstWordCheck's. Owned by the preflight.
class WordCheck {
  public:
    WordCheck(PreflightContext& context, ProbeSender& sender, const ProbePrompts& prompts,
              TokenizeEndpoint& tokenize, const OverheadCount& overhead)
        : context_(context),
          sender_(sender),
          prompts_(prompts),
          tokenize_(tokenize),
          overhead_(overhead) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asks until the search is over, where anything counts. False: the preflight has failed.
    Task<bool> check();

  private:
    Task<bool> count(std::span<const std::uint32_t> words, bool whole, std::int64_t& tokens);
    Task<bool> go_without_tokenize(bool counted, const std::string& prompt, std::int64_t& tokens);
    std::uint32_t words_at_once() const;
    void take_result();

    PreflightContext& context_;
    ProbeSender& sender_;
    const ProbePrompts& prompts_;
    TokenizeEndpoint& tokenize_;
    const OverheadCount& overhead_;
    std::optional<WordSearch> search_;
};

/// FirstWordCheck: which words are one token each at the beginning of a prompt, where that is not
/// known of the table. Here the questions of FirstWords are asked. Owned by the preflight.
class FirstWordCheck {
  public:
    FirstWordCheck(PreflightContext& context, ProbeSender& sender, const ProbePrompts& prompts,
                   TokenizeEndpoint& tokenize, const OverheadCount& overhead)
        : context_(context),
          sender_(sender),
          prompts_(prompts),
          tokenize_(tokenize),
          overhead_(overhead) {}

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

    /// Asks word by word until enough are known; only behind a word check that has left words to
    /// use. False: the preflight has failed.
    Task<bool> check();

  private:
    bool proven() const;
    Task<bool> count(std::uint32_t word, std::int64_t& tokens);

    PreflightContext& context_;
    ProbeSender& sender_;
    const ProbePrompts& prompts_;
    TokenizeEndpoint& tokenize_;
    const OverheadCount& overhead_;
};

class Preflight {
  public:
    /// Its requests are numbered from `first`. `--wait-ready` counts from here.
    Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first = 1);

    /// Turns the loop until all is asked. False: `failure` says why; `cancelled` where the user
    /// stopped it.
    bool run();

    /// As rows name it; `findings().model` is the same, masked.
    const std::string& model() const { return context_.model; }
    const PreflightFindings& findings() const { return context_.findings; }
    const PreflightFailure& failure() const { return context_.failure; }

    /// It ends after this, and what `--wait-ready` adds. A server on a CPU takes some minutes for
    /// the largest search of words; one that needs longer is stuck.
    static constexpr Duration whole_max = seconds(600);

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return context_.asker.frames(); }
    ReadyList& ready() { return context_.asker.ready(); }

  private:
    Task<void> ask_all();
    Task<bool> ask_needed();
    Task<void> ask_useful();
    Task<bool> probe_one_word();

    PreflightContext context_;
    RetryingAsker retrying_;
    ServerPages pages_;
    ProbePrompts prompts_;
    ProbeSender sender_;
    TokenizeEndpoint tokenize_;
    BodyForm body_;
    OverheadCount overhead_;
    WordCheck words_;
    FirstWordCheck first_words_;
    AnswerPace pace_;
    CacheSplit cache_;
    bool done_ = false;
    bool ok_ = false;
};

}  // namespace driftless
