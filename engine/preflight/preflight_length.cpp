/// The part of the preflight that finds what of a body a server takes: `ignore_eos`, answers of one
/// token, and the name of the member that bounds an answer.
#include "engine/preflight/preflight.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// Some servers answer no request for one token: SGLang's responses, OpenAI's below 16.
constexpr std::uint32_t tokens_enough = 16;

std::string tokens_text(std::int64_t tokens) {
    return counted(static_cast<std::uint64_t>(tokens), "token", "tokens");
}

}  // namespace

/// A request of one word in the first form that is taken: without what is refused, for more than
/// one token, and with the other name of the length.
Task<Probe> Preflight::probe_as_taken(const std::string& word) {
    Probe one = co_await probe(word);
    if (refuses_body(one)) {
        co_await leave_out_refused(word, one);
    }
    const bool may_want_more = refuses_body(one) || one.status == 500 || one.status == 200;
    if (!one.ok && one.unreadable == Unreadable::no && may_want_more &&
        probe_tokens_ < tokens_enough) {
        const std::uint32_t few = probe_tokens_;
        probe_tokens_ = tokens_enough;
        Probe more = co_await probe(word);
        if (more.ok) {
            findings_.notes.push_back("it refuses answers of " + tokens_text(few) + " (" +
                                      reason_of(one) + ") and accepts those of " +
                                      std::to_string(tokens_enough));
            one = std::move(more);
        } else {
            probe_tokens_ = few;
        }
    }
    if (one.ok && one.asked > 0 && one.made() > one.asked) {
        co_await try_other_length(word, one);
    }
    findings_.least_answer = probe_tokens_;
    co_return one;
}

/// More tokens came than were asked for: the server may read the other name of the length.
Task<void> Preflight::try_other_length(const std::string& word, Probe& one) {
    if (!plan_.dialect->has_two_length_names || !findings_.length_member.empty()) {
        co_return;
    }
    findings_.length_member = other_length_member(*plan_.dialect);
    Probe other = co_await probe(word);
    if (!other.ok || other.made() > other.asked) {
        findings_.length_member.clear();
        co_return;
    }
    findings_.notes.push_back("it made " + tokens_text(one.made()) + " where " +
                              std::string(plan_.dialect->length_member) + " asked for " +
                              std::to_string(one.asked) + ", and obeys " + findings_.length_member +
                              ": rows go with that");
    one = std::move(other);
}

/// What will become of rows whose length the server does not obey.
void Preflight::note_length() {
    const std::int64_t asked = findings_.length_asked;
    const std::int64_t made = findings_.length_made;
    if (asked < 0 || made < 0 || plan_.body.output != OutputRule::exact) {
        return;
    }
    const std::string said =
        "asked for " + tokens_text(asked) + ", it made " + std::to_string(made);
    if (made > asked) {
        findings_.notes.push_back("warning: " + said +
                                  ": rows that ask for fewer than it makes end as long_output" +
                                  (plan_.body.length_member.empty()
                                       ? ""
                                       : "; without --length-field the other name is tried"));
    } else if (findings_.has_completion_tokens && findings_.stream_chunks > made) {
        findings_.notes.push_back("warning: usage counts " + tokens_text(made) + " and " +
                                  std::to_string(findings_.stream_chunks) +
                                  " chunks had text: it leaves some out (those of the reasoning?), "
                                  "and rows end as short_output; --output cap accepts that");
    } else if (made < asked && findings_.has_completion_tokens) {
        findings_.notes.push_back(
            "warning: " + said +
            ": rows may end early, as short_output; --output cap accepts that");
    }
    note_chunks();
}

/// Which latencies stay unknown where several tokens come in one chunk.
void Preflight::note_chunks() {
    const std::int64_t made = findings_.length_made;
    const std::int64_t chunks = findings_.stream_chunks;
    const bool reported = findings_.has_completion_tokens && findings_.unread_member.empty();
    if (!reported || chunks <= 0 || chunks >= made || plan_.body.continuous_usage) {
        return;
    }
    const std::string came = tokens_text(made) + " came in ";
    if (chunks == 1) {
        findings_.notes.push_back(came + "1 chunk: TPOT and ITL stay unknown for such rows");
    } else if (!findings_.counts_chunks && !findings_.has_token_ids) {
        findings_.notes.push_back(
            came + std::to_string(chunks) + " chunks: ITL stays unknown for such rows" +
            (plan_.dialect->has_stream_options ? "; --continuous-usage may count each chunk" : ""));
    }
}

}  // namespace driftless
