#include "cmd/replay/server/server_screen.hpp"

#include <cstdio>
#include <string_view>

#include "cmd/replay/server/server.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/preflight/hints.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr std::size_t words_shown = 8;

/// Counts that rows will be without; the flags that fix it are in the notes, as is an ignore_eos
/// that was refused. Where nothing is missing, nothing is said: run.json has it all.
void print_support(const PreflightFindings& found) {
    std::string missing;
    const auto lacks = [&missing](bool there, const char* what) {
        missing += there ? "" : (missing.empty() ? "" : ", ") + std::string(what);
    };
    lacks(found.has_usage, "usage");
    lacks(found.has_cached_tokens, "cached tokens");
    if (!missing.empty()) {
        print_line("server: does not report %s; rows will lack them", missing.c_str());
    }
}

const char* words_text(PromptKind prompt, bool exact) {
    if (prompt == PromptKind::ids) {
        return exact ? "ids exact" : "ids not verified";
    }
    return exact ? "every word is one token on this server" : "words not verified";
}

}  // namespace

void print_findings(const PreflightFindings& found, PromptKind prompt) {
    std::printf("server: model %s", found.model.empty() ? "not named" : found.model.c_str());
    if (found.models.size() > 1 && found.model == found.models.front()) {
        std::printf(" (the first of %zu; --model names another)", found.models.size());
    }
    if (found.max_model_len >= 0) {
        std::printf(", context %lld tokens", static_cast<long long>(found.max_model_len));
    }
    if (found.max_input_tokens >= 0) {
        std::printf(", prompts of at most %lld tokens",
                    static_cast<long long>(found.max_input_tokens));
    }
    const bool exact = found.words == WordVerdict::exact || found.words == WordVerdict::reduced;
    if (found.overhead_source == "none") {
        std::printf("\nserver: overhead (tokens around each prompt) unknown, counted as 0; %s\n",
                    words_text(prompt, exact));
    } else {
        std::printf("\nserver: overhead %u+%u tokens (%s%s); %s\n", found.overhead.pre,
                    found.overhead.post, found.overhead_source.c_str(),
                    found.split_source == "cached_tokens"   ? ", split by cached tokens"
                    : found.split_source == "chat_template" ? ", split by the chat template"
                    : found.split_source == "bos"           ? ", a BOS at the start"
                    : split_unknown(found)                  ? ", split unknown"
                                                            : "",
                    words_text(prompt, exact));
    }
    if (found.server_block > 0) {
        print_line(
            "server: cache blocks of %s (%s)",
            counted(static_cast<std::uint64_t>(found.server_block), "token", "tokens").c_str(),
            found.server_block_source == "metrics" ? "its metrics" : "by cached tokens");
    }
    print_support(found);
    for (const std::string& note : found.notes) {
        print_note("", note);
    }
}

void print_note(const std::string& where, const std::string& note) {
    constexpr std::string_view begin = "warning: ";
    if (note.starts_with(begin)) {
        const std::string text = note.substr(begin.size());
        complain("driftless: warning: %s%s", where.c_str(), text.c_str());
    } else {
        print_line("server: %s%s", where.c_str(), note.c_str());
    }
}

void print_kept_words(const std::string& where, const PreflightFindings& found,
                      const WordTable& kept) {
    if (!found.dropped.empty()) {
        print_line(
            "server: %s%s on this server and left out (%s); %u words remain", where.c_str(),
            counted(found.dropped.size(), "word is not one token", "words are not one token each")
                .c_str(),
            list_first(found.dropped_words, words_shown).c_str(), kept.size());
    }
    if (!found.first_words.empty()) {
        print_line(
            "server: %sprompts begin with %u words that are one token there (%u tried, %zu one "
            "token)",
            where.c_str(), 1U << kept.first_bits(), found.first_words_asked,
            found.first_words.size());
    }
}

std::string describe_words(const PreflightFindings& found, PromptKind prompt) {
    const std::string kind = prompt == PromptKind::text ? "words" : "token ids";
    if (found.words == WordVerdict::varies) {
        return "the server counts the same prompt differently from request to request";
    }
    if (found.words == WordVerdict::no_first) {
        return "of " + std::to_string(found.first_words_asked) +
               " words, too few are a single token at the beginning of a prompt";
    }
    std::string text = "the server counts " + std::to_string(found.words_counted) + " tokens for " +
                       std::to_string(found.words_asked) + " " + kind + " of one token each";
    if (found.joins > 0) {
        text += ", and some " + kind + " merge with their neighbours";
    } else if (!found.dropped_words.empty()) {
        text += " (not " + list_first(found.dropped_words, words_shown) + ")";
        if (found.words != WordVerdict::reduced) {
            text += ", which leaves fewer than the " + std::to_string(WordTable::words_min) +
                    " that prompts need";
        }
    }
    return text;
}

}  // namespace driftless
