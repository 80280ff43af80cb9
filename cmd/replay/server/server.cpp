#include "cmd/replay/server/server.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/flags/body_spec.hpp"
#include "cmd/replay/server/other_servers.hpp"
#include "cmd/replay/server/server_screen.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"
#include "engine/io/own_lack.hpp"

namespace driftless {

namespace {

constexpr std::size_t preflight_timers = 8;

void tell_waiting(const std::string& line) {
    complain("driftless: preflight: %s", line.c_str());
}

int refuse_words(const ReplayOptions& options, const PreflightFindings& found, PromptKind prompt) {
    std::string remedy = "prompts cannot have the recorded lengths there; ";
    if (!options.prompts.dataset.empty()) {
        remedy += "the text of --dataset needs this model's own --tokenizer; give it, or ";
    } else if (found.words != WordVerdict::varies && prompt == PromptKind::text) {
        remedy += options.prompts.tokenizer.empty()
                      ? "give the model's --tokenizer, or use "
                      : "check that --tokenizer is this model's; otherwise use ";
        remedy += "--api openai-completions --prompt ids, or ";
    }
    const bool lacks_model = options.request.model.empty() && !found.model.empty() &&
                             options.request.dialect->names_model;
    const std::string model = lacks_model ? " --model " + found.model : "";
    complain("driftless: preflight: %s; %s--no-preflight%s to continue anyway",
             describe_words(found, prompt).c_str(), remedy.c_str(), model.c_str());
    return exit_preflight;
}

/// What to do after the words were probed.
enum class NextStep : std::uint8_t { go_on, ask_again, refuse };

struct WordDecision {
    NextStep next = NextStep::go_on;
    PromptKind prompt = PromptKind::text;
    std::optional<WordTable> kept{};  ///< where words are left out, or fewer may open a prompt
};

/// Fewer words than the table has, or fewer that may open a prompt; refused where too few remain.
WordDecision narrow_words(const PreflightFindings& found, PromptKind prompt,
                          const WordTable& table) {
    std::optional<WordTable> kept = table.without(found.dropped, found.first_words);
    if (!kept) {
        return {NextStep::refuse, prompt};
    }
    print_kept_words("", found, *kept);
    return {NextStep::go_on, prompt, std::move(kept)};
}

WordDecision decide_words(const ReplayOptions& options, const PreflightFindings& found,
                          PromptKind prompt, const WordTable& table) {
    if (found.words == WordVerdict::not_asked || found.words == WordVerdict::exact) {
        const bool narrows = found.words == WordVerdict::exact && !found.first_words.empty();
        return narrows ? narrow_words(found, prompt, table) : WordDecision{NextStep::go_on, prompt};
    }
    if (!options.prompts.dataset.empty()) {
        // The text was counted with another tokenizer than the server's.
        return {NextStep::refuse, prompt};
    }
    if (found.words == WordVerdict::reduced && prompt == PromptKind::text) {
        WordDecision narrowed = narrow_words(found, prompt, table);
        if (narrowed.next == NextStep::go_on) {
            return narrowed;
        }
    }
    if (found.words == WordVerdict::varies || prompt == PromptKind::ids ||
        !options.request.dialect->takes_ids) {
        return {NextStep::refuse, prompt};
    }
    print_line("server: %s; sending prompts as token ids instead",
               describe_words(found, prompt).c_str());
    return {NextStep::ask_again, PromptKind::ids};
}

/// What was found out about the first server stands in the bodies of rows.
Server after_preflight(Server server) {
    const PreflightFindings& found = server.findings;
    server.preflight_done = true;
    server.targets.endpoints.front().said = found.keep_alive;
    server.body.prompt = server.prompt;
    server.body.ignore_eos = found.ignore_eos;
    server.body.stream_options = found.stream_options;
    server.body.length_member = found.length_member;
    return server;
}

}  // namespace

OrExit<AskedTarget> ask_target(Driver& driver, const PreflightPlan& plan, const std::string& where,
                               std::uint32_t first_request) {
    Loop loop(driver, preflight_timers);
    Preflight preflight(loop, plan, first_request);
    const bool answered = preflight.run();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    if (!answered) {
        const PreflightFailure& failure = preflight.failure();
        complain("driftless: preflight: %s%s", where.c_str(), failure.text.c_str());
        return is_own_lack(failure.error.sys_errno) ? exit_host : exit_preflight;
    }
    return AskedTarget{preflight.findings(), preflight.model()};
}

PreflightPlan preflight_plan(const Invocation& invocation, const Server& server,
                             const BodySpec& body, const WordTable& words, std::size_t index) {
    const ReplayOptions& options = invocation.options;
    PreflightPlan plan;
    plan.server = asked_server(invocation, server, index);
    plan.api_path = options.server.targets[index].api_path;
    plan.dialect = options.request.dialect;
    plan.body = body;
    plan.words = &words;
    plan.overhead = options.server.overhead;
    plan.sends_recorded_text = server.sends_recorded_text;
    plan.server_block_known = options.server.server_block.has_value();
    plan.template_splits = server.words.template_splits;
    if (server.words.selected && server.prompt == PromptKind::text && !server.kept) {
        plan.word_ids = server.words.selected->ids;  // in the order of the whole table
    }
    if (options.server.wait_ready_ns) {
        plan.wait_ready = Duration{*options.server.wait_ready_ns};
    }
    return plan;
}

AskedServer asked_server(const Invocation& invocation, const Server& server, std::size_t index) {
    const ReplayTarget& target = invocation.options.server.targets[index];
    const Endpoint& endpoint = server.targets.endpoints[index];
    AskedServer asked;
    asked.address = endpoint.address;
    asked.tls = endpoint.tls;
    asked.host = host_header(target.url);
    asked.root_path = target.root_path;
    asked.headers = invocation.credentials.headers;
    asked.secrets = secrets_of(invocation.credentials.all);
    asked.run_id = invocation.run_id;
    const Timeouts& flags = invocation.options.sending.timeouts;
    asked.limits.connect = std::min(asked.limits.connect, flags.connect);
    asked.limits.first_byte = std::min(asked.limits.first_byte, flags.first_byte);
    asked.limits.idle = std::min(asked.limits.idle, flags.idle);
    asked.limits.total = std::min(asked.limits.total, flags.total);
    asked.stop_requests = &stop_requests();
    asked.tell_waiting = &tell_waiting;
    return asked;
}

const WordTable& words_for(const Server& server, std::uint32_t ids_from,
                           std::optional<WordTable>& storage) {
    const std::optional<SelectedWords>& selected = server.words.selected;
    if (server.prompt == PromptKind::text) {
        return server.kept ? *server.kept : selected ? selected->table : WordTable::built_in();
    }
    const bool safe_ids = selected && !selected->ids.empty();
    storage.emplace(safe_ids ? WordTable::token_ids(selected->ids)
                             : WordTable::token_ids(ids_from));
    return *storage;
}

const PreflightFindings& findings_of(const Server& server, Side side) {
    return side == Side::b ? server.against->findings : server.findings;
}

Overhead largest_overhead(const Server& server) {
    const Overhead& first = server.findings.overhead;
    const bool is_first = !server.against || server.against->findings.overhead.pre <= first.pre;
    return is_first ? first : server.against->findings.overhead;
}

BodySpec body_of(const Server& server, Side side) {
    BodySpec body = server.body;
    body.model = side == Side::b ? server.against->findings.model : body.model;
    return body;
}

Side side_of(const Server& server, std::size_t index) {
    return !server.against ? Side::none : index == 0 ? Side::a : Side::b;
}

bool split_unknown(const PreflightFindings& found) {
    return !found.split_known && found.overhead.pre > 0;
}

Server describe_server(const ReplayOptions& options, const std::string& first_model,
                       ChosenWords words, ResolvedTargets targets) {
    Server server;
    server.targets = std::move(targets);
    server.words = std::move(words);
    server.prompt = options.request.prompt;
    server.body = body_spec(options.request);
    server.body.model = first_model.empty() ? options.request.model : first_model;
    server.findings.model = server.body.model;
    server.findings.overhead = options.server.overhead.value_or(Overhead{});
    server.findings.overhead_source = options.server.overhead ? "flag" : "none";
    server.findings.ignore_eos = server.body.ignore_eos;
    server.findings.stream_options = server.body.stream_options;
    if (options.server.dual) {
        server.against = AgainstServer{server.findings};
        if (!options.request.against_model.empty()) {
            server.against->findings.model = options.request.against_model;
        }
    }
    return server;
}

OrExit<Server> meet_server(const Invocation& invocation, Driver& driver, Server described) {
    const ReplayOptions& options = invocation.options;
    if (!options.server.preflight) {
        return described;
    }
    Server server = std::move(described);
    BodySpec body = server.body;  // as the flags say, whatever the first answers were
    NextStep next = NextStep::ask_again;
    while (next == NextStep::ask_again) {  // at most twice: ids are not asked for again
        body.prompt = server.prompt;
        std::optional<WordTable> storage;
        const WordTable& words = words_for(server, options.prompts.ids_from, storage);
        OrExit<AskedTarget> asked =
            ask_target(driver, preflight_plan(invocation, server, body, words, 0), "",
                       server.findings.requests + 1);
        if (!asked) {
            return asked.exit_code();
        }
        server.findings = std::move(asked.value().findings);
        server.body.model = asked.value().model;
        WordDecision decision = decide_words(options, server.findings, server.prompt, words);
        next = decision.next;
        server.prompt = decision.prompt;
        server.kept = std::move(decision.kept);
    }
    if (next == NextStep::refuse) {
        return refuse_words(options, server.findings, server.prompt);
    }
    print_findings(server.findings, server.prompt);
    return meet_others(invocation, driver, after_preflight(std::move(server)));
}

}  // namespace driftless
