#include "engine/preflight/answer_pace.hpp"

#include <string>

namespace driftless {

namespace {

/// Tokens of the answer that is looked at for how its chunks come.
constexpr std::uint32_t stream_tokens = 8;

}  // namespace

Task<void> AnswerPace::ask() {
    PreflightFindings& found = context_.findings;
    if (context_.plan.body.output == OutputRule::free || context_.asker.stopped()) {
        co_return;
    }
    const std::string word = prompts_.one_word();
    const Probe some = co_await body_.ask_for(word, stream_tokens);
    if (!some.ok) {
        co_return;
    }
    if (context_.plan.body.stream) {
        found.stream_chunks = some.chunks;
        found.counts_chunks = some.counts_chunks;
        found.stream_receives = context_.asker.reply().body_receives;
    }
    if (some.asked > 0) {
        found.length_asked = some.asked;
        found.length_made = some.made();
        found.length_cut = some.is_cut;
        note_length();
    }
}

/// What will become of rows whose length the server does not obey.
void AnswerPace::note_length() {
    const PreflightFindings& found = context_.findings;
    const std::int64_t asked = found.length_asked;
    const std::int64_t made = found.length_made;
    if (asked < 0 || made < 0 || context_.plan.body.output != OutputRule::exact) {
        return;
    }
    const std::string said = "asked for " + tokens_text(asked) + ", it made " +
                             (found.length_cut ? "at least " : "") + std::to_string(made);
    if (made > asked || found.length_cut) {
        context_.note("warning: " + said + ": rows that ask for fewer tokens end as long_output" +
                      (context_.plan.body.length_member.empty()
                           ? ""
                           : "; remove --length-field to try the other name"));
    } else if (found.has_completion_tokens && found.stream_chunks > made) {
        context_.note("warning: usage counts " + tokens_text(made) + " and " +
                      std::to_string(found.stream_chunks) +
                      " chunks had text: it leaves some out (maybe reasoning), and rows end as "
                      "short_output; --output cap accepts that");
    } else if (made < asked && found.has_completion_tokens) {
        context_.note("warning: " + said +
                      ": rows may end early, as short_output; --output cap accepts that");
    }
    note_chunks();
}

/// Which latencies stay unknown where several tokens come in one chunk.
void AnswerPace::note_chunks() {
    const PreflightFindings& found = context_.findings;
    const std::int64_t made = found.length_made;
    const std::int64_t chunks = found.stream_chunks;
    const bool reported = found.has_completion_tokens && found.unread_member.empty();
    if (!reported || chunks <= 0 || chunks >= made || context_.plan.body.continuous_usage) {
        return;
    }
    const std::string came = tokens_text(made) + " came in ";
    if (chunks == 1) {
        context_.note(came + "1 chunk: TPOT and ITL stay unknown for such rows");
    } else if (!found.counts_chunks && !found.has_token_ids) {
        context_.note(came + std::to_string(chunks) + " chunks: ITL stays unknown for such rows" +
                      (context_.plan.dialect->has_stream_options
                           ? "; --continuous-usage may count each chunk"
                           : ""));
    }
}

bool AnswerPace::check_text() {
    if (context_.plan.dialect->form == nullptr || context_.findings.stream_chunks != 0) {
        return true;
    }
    return context_.fail("an answer of " + std::to_string(stream_tokens) +
                         " tokens came, but no event has text where event.content of the template "
                         "points; correct the pointer");
}

}  // namespace driftless
