#include "cmd/replay/server/other_servers.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/credentials.hpp"
#include "cmd/replay/server/server_screen.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

std::string overhead_text(const Overhead& overhead) {
    return std::to_string(overhead.pre) + "+" + std::to_string(overhead.post);
}

/// What rows to this server will have that those to the first have not; empty: nothing.
std::string difference(const Server& server, const PreflightFindings& found) {
    const Overhead& first = server.findings.overhead;
    if (first.pre == found.overhead.pre && first.post == found.overhead.post) {
        return "";
    }
    const std::string text = "it adds " + overhead_text(found.overhead) +
                             " tokens to a prompt and the first server " + overhead_text(first);
    if (first.pre + first.post == found.overhead.pre + found.overhead.post) {
        const std::uint32_t apart =
            std::max(first.pre, found.overhead.pre) - std::min(first.pre, found.overhead.pre);
        return text + ": cache blocks may be shifted by up to " +
               counted(apart, "token", "tokens") + " there";
    }
    return text +
           ": prompts that go there will not have the recorded lengths; serve the same model and "
           "template everywhere";
}

/// Words that are not one token here, and those that may not open a prompt here, are left out for
/// all. False: too few remain, or the text of --dataset was counted with another tokenizer.
bool narrow_for_further_server(const ReplayOptions& options, const WordTable& table,
                               const PreflightFindings& found, const std::string& where,
                               Server& server) {
    if (found.words == WordVerdict::not_asked) {
        return true;
    }
    const bool reduced = found.words == WordVerdict::reduced;
    if (found.words != WordVerdict::exact && (!reduced || !options.prompts.dataset.empty())) {
        return false;
    }
    // Words behind the openers are unknown at the beginning of a prompt to the servers before.
    std::vector<std::uint32_t> first = found.first_words;
    std::erase_if(first, [&table](std::uint32_t word) { return word >= table.openers(); });
    const bool narrows = !found.dropped.empty() || !found.first_words.empty();
    if (!narrows) {
        return true;
    }
    if (server.prompt != PromptKind::text || (first.empty() && !found.first_words.empty())) {
        return false;
    }
    std::optional<WordTable> kept = table.without(found.dropped, first);
    if (!kept) {
        return false;
    }
    print_kept_words(where, found, *kept);
    server.kept = std::move(kept);
    return true;
}

/// What must hold for all servers holds for the least of them.
void take_least(const PreflightFindings& found, Server& server) {
    PreflightFindings& all = server.findings;
    if (found.max_model_len >= 0) {
        all.max_model_len = all.max_model_len < 0
                                ? found.max_model_len
                                : std::min(all.max_model_len, found.max_model_len);
    }
    if (found.max_input_tokens >= 0) {
        all.max_input_tokens = all.max_input_tokens < 0
                                   ? found.max_input_tokens
                                   : std::min(all.max_input_tokens, found.max_input_tokens);
    }
    all.ignore_eos = all.ignore_eos && found.ignore_eos;
    server.body.ignore_eos = server.body.ignore_eos && found.ignore_eos;
    all.stream_options = all.stream_options && found.stream_options;
    server.body.stream_options = server.body.stream_options && found.stream_options;
}

/// Why rows cannot be bounded alike on both servers; empty: they can. One body goes to all.
std::string other_length(const ReplayOptions& options, const Server& server,
                         const PreflightFindings& found, const std::string& url) {
    const std::string first_url = shown_url(options.server.targets.front());
    const auto field = [&options](const std::string& member) {
        return member.empty() ? std::string(options.request.dialect->length_member) : member;
    };
    const std::string first = field(server.body.length_member);
    const std::string own = field(found.length_member);
    const std::string apart = ", else replay against each of them by itself";
    if (own != first) {
        return "--url " + url + " obeys " + own + " and not " + first + ", with which rows go to " +
               first_url + "; if that one obeys " + own + ", too, give --length-field " + own +
               apart;
    }
    const bool chosen = options.request.length_member.empty() && !server.body.length_member.empty();
    if (chosen && found.length_asked > 0 && found.length_made > found.length_asked) {
        return "--url " + url + " does not obey " + first + ", which " + first_url +
               " needs; if there is a field that both obey, give --length-field" + apart;
    }
    return "";
}

int meet(const ReplayOptions& options, Driver& driver, const std::string& run_id, std::size_t index,
         Server& server) {
    const std::string url = shown_url(options.server.targets[index]);
    std::optional<WordTable> storage;
    PreflightPlan plan = preflight_plan(options, server, run_id, index);
    plan.body = server.body;
    plan.words = &words_for(server, options.prompts.ids_from, storage);
    if (server.kept) {
        plan.word_ids = {};  // they are those of the whole table, in its order
    }
    AskedTarget asked;
    if (const int code = ask_target(driver, plan, "--url " + url + ": ", server, asked);
        code != exit_done) {
        return code;
    }
    const PreflightFindings& found = asked.findings;
    const std::string where = url + ": ";
    if (!narrow_for_further_server(options, *plan.words, found, where, server)) {
        std::fprintf(stderr,
                     "driftless: preflight: --url %s: %s, unlike the first server; serve the same "
                     "model everywhere, or remove this --url\n",
                     url.c_str(), describe_words(found, server.prompt).c_str());
        return exit_preflight;
    }
    if (const std::string why = other_length(options, server, found, url); !why.empty()) {
        std::fprintf(stderr, "driftless: preflight: %s\n", why.c_str());
        return exit_preflight;
    }
    server.findings.requests = found.requests;  // its numbers went on from those before
    server.endpoints[index].said = found.keep_alive;
    std::vector<std::string> notes{"model " + found.model + ", overhead " +
                                   overhead_text(found.overhead) + " tokens"};
    if (const std::string unlike = difference(server, found); !unlike.empty()) {
        notes.push_back("warning: " + unlike);
    }
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    for (const std::string& note : notes) {
        print_note(where, note);
        server.findings.notes.push_back(where + note);
    }
    take_least(found, server);
    return exit_done;
}

}  // namespace

int meet_others(const ReplayOptions& options, Driver& driver, const std::string& run_id,
                Server& server) {
    std::set<std::string> met{whole_url(options.server.targets.front())};
    for (std::size_t index = 1; index < options.server.targets.size(); ++index) {
        if (!met.insert(whole_url(options.server.targets[index])).second) {
            continue;  // given twice: twice its share of the rows
        }
        const int code = meet(options, driver, run_id, index, server);
        if (code != exit_done) {
            return code;
        }
    }
    return exit_done;
}

}  // namespace driftless
