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
#include "cmd/screen/guard.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr const char* both_sides_note =
    "server: --against is the same as --url: both sides share its prefix cache, so the second "
    "request of a row finds the first one's prompt there";

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
                             " tokens to a prompt, the first server " + overhead_text(first);
    if (first.pre + first.post == found.overhead.pre + found.overhead.post) {
        const std::uint32_t apart =
            std::max(first.pre, found.overhead.pre) - std::min(first.pre, found.overhead.pre);
        return text + ": cache blocks may be shifted by up to " +
               counted(apart, "token", "tokens") + " there";
    }
    return text +
           ": prompts there will not have the recorded lengths; serve the same model and template "
           "everywhere";
}

/// What the words of all servers become.
struct Narrowing {
    bool possible = true;  ///< false: too few remain, or the text of --dataset was counted with
                           ///< another tokenizer
    std::optional<WordTable> kept{};  ///< empty: as before
};

/// Words that are not one token here, and those that may not open a prompt here, are left out for
/// all.
Narrowing narrow_for_further_server(const ReplayOptions& options, const WordTable& table,
                                    const PreflightFindings& found, const std::string& where,
                                    PromptKind prompt) {
    if (found.words == WordVerdict::not_asked) {
        return {};
    }
    const bool reduced = found.words == WordVerdict::reduced;
    if (found.words != WordVerdict::exact && (!reduced || !options.prompts.dataset.empty())) {
        return {false};
    }
    // Words behind the openers are unknown at the beginning of a prompt to the servers before.
    std::vector<std::uint32_t> first = found.first_words;
    std::erase_if(first, [&table](std::uint32_t word) { return word >= table.openers(); });
    const bool narrows = !found.dropped.empty() || !found.first_words.empty();
    if (!narrows) {
        return {};
    }
    if (prompt != PromptKind::text || (first.empty() && !found.first_words.empty())) {
        return {false};
    }
    std::optional<WordTable> kept = table.without(found.dropped, first);
    if (!kept) {
        return {false};
    }
    print_kept_words(where, found, *kept);
    return {true, std::move(kept)};
}

/// What must hold for all servers holds for the least of them.
Server take_least(Server server, const PreflightFindings& found) {
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
    return server;
}

/// Why rows cannot be bounded alike on both servers; empty: they can. One body goes to all.
/// `shown`: flag and URL of the further one.
std::string other_length(const ReplayOptions& options, const Server& server,
                         const PreflightFindings& found, const std::string& shown) {
    const std::string first_url = shown_url(options.server.targets.front());
    const auto field = [&options](const std::string& member) {
        return member.empty() ? std::string(options.request.dialect->length_member) : member;
    };
    const std::string first = field(server.body.length_member);
    const std::string own = field(found.length_member);
    const std::string apart = ", or replay against each separately";
    if (own != first) {
        return shown + " obeys " + own + " and not " + first + ", which rows use for " + first_url +
               "; if that one also obeys " + own + ", give --length-field " + own + apart;
    }
    const bool chosen = options.request.length_member.empty() && !server.body.length_member.empty();
    if (chosen && found.length_asked > 0 && found.length_made > found.length_asked) {
        return shown + " does not obey " + first + ", which " + first_url +
               " needs; if there is a field that both obey, give --length-field" + apart;
    }
    return "";
}

/// What is said of a further server, as printed. Prompts for --against are made for its overhead.
std::vector<std::string> notes_of(const Server& server, const PreflightFindings& found) {
    std::vector<std::string> notes{"model " + found.model + ", overhead " +
                                   overhead_text(found.overhead) + " tokens"};
    const std::string unlike =
        server.against || server.sends_recorded_text ? "" : difference(server, found);
    if (!unlike.empty()) {
        notes.push_back("warning: " + unlike);
    }
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    return notes;
}

/// How a further server is asked: as the others, but for the model of --against.
BodySpec asked_body(const ReplayOptions& options, const Server& server) {
    BodySpec body = server.body;
    if (options.server.dual && !options.request.against_model.empty()) {
        body.model = options.request.against_model;
    } else if (options.server.dual && !options.request.row_model) {
        body.model = options.request.model;  // where none is named, the first that it lists
    }
    return body;
}

/// All servers so far, and this one.
OrExit<Server> meet(const Invocation& invocation, Driver& driver, std::size_t index,
                    Server server) {
    const ReplayOptions& options = invocation.options;
    const std::string url = shown_url(options.server.targets[index]);
    const std::string shown = (options.server.dual ? "--against " : "--url ") + url;
    std::optional<WordTable> storage;
    const WordTable& words = words_for(server, options.prompts.ids_from, storage);
    const OrExit<AskedTarget> asked = ask_target(
        driver, preflight_plan(invocation, server, asked_body(options, server), words, index),
        shown + ": ", server.findings.requests + 1);
    if (!asked) {
        return asked.exit_code();
    }
    const PreflightFindings& found = asked.value().findings;
    const std::string where = url + ": ";
    Narrowing narrowing = narrow_for_further_server(options, words, found, where, server.prompt);
    if (!narrowing.possible) {
        complain(
            "driftless: preflight: %s: %s, unlike the first server; serve models with one "
            "tokenizer everywhere, or remove this flag",
            shown.c_str(), describe_words(found, server.prompt).c_str());
        return exit_preflight;
    }
    if (const std::string why = other_length(options, server, found, shown); !why.empty()) {
        complain("driftless: preflight: %s", why.c_str());
        return exit_preflight;
    }
    if (narrowing.kept) {
        server.kept = std::move(narrowing.kept);
    }
    server.findings.requests = found.requests;  // its numbers went on from those before
    server.targets.endpoints[index].said = found.keep_alive;
    for (const std::string& note : notes_of(server, found)) {
        print_note(where, note);
        server.findings.notes.push_back(where + note);
    }
    if (server.against) {
        server.against->findings = found;
        server.against->findings.model = asked.value().model;
    }
    return take_least(std::move(server), found);
}

/// The first server is the second, too: there is nothing to be asked again.
bool is_met(const ReplayOptions& options, const Server& server) {
    return !server.against || options.request.against_model.empty() ||
           options.request.against_model == server.body.model;
}

}  // namespace

OrExit<Server> meet_others(const Invocation& invocation, Driver& driver, Server first) {
    const std::vector<ReplayTarget>& targets = invocation.options.server.targets;
    std::set<std::string> met{whole_url(targets.front())};
    Server server = std::move(first);
    for (std::size_t index = 1; index < targets.size(); ++index) {
        const bool is_new = met.insert(whole_url(targets[index])).second;
        if (!is_new && is_met(invocation.options, server)) {
            if (server.against) {
                server.against->findings = server.findings;
                std::puts(both_sides_note);
            }
            continue;  // given twice: twice its share of the rows
        }
        OrExit<Server> next = meet(invocation, driver, index, std::move(server));
        if (!next) {
            return next.exit_code();
        }
        server = std::move(next).value();
    }
    return server;
}

}  // namespace driftless
