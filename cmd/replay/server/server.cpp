#include "cmd/replay/server/server.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/body_spec.hpp"
#include "cmd/replay/server/other_servers.hpp"
#include "cmd/replay/server/server_screen.hpp"
#include "cmd/replay/workload/dataset.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"
#include "engine/io/own_lack.hpp"
#include "engine/io/reachable.hpp"
#include "engine/prompt/load_tokenizer.hpp"

namespace driftless {

namespace {

constexpr std::size_t preflight_timers = 8;
constexpr std::int64_t address_pause_ns = 500'000'000;

/// Of the rows: with what was found out about the model and the prompts.
BodySpec body_of_rows(const ReplayOptions& options, const Server& server) {
    BodySpec spec = body_spec(options);
    spec.model = server.first_model.empty() ? options.request.model : server.first_model;
    spec.prompt = server.prompt;
    return spec;
}

/// The address of a name that is the first to take connections: "localhost" is often ::1 first,
/// where many servers do not listen. Where none does, the first: the preflight will say so.
Address reachable_address(const ReplayOptions& options, const std::vector<Address>& candidates) {
    const std::chrono::nanoseconds patience(options.server.wait_ready_ns.value_or(0));
    const auto began = std::chrono::steady_clock::now();
    while (candidates.size() > 1) {
        const std::optional<Address> found =
            first_reachable(by_turns(candidates), options.sending.timeouts.connect);
        if (found) {
            return *found;
        }
        if (std::chrono::steady_clock::now() - began >= patience || stop_requests().load() > 0) {
            break;
        }
        const timespec pause{0, address_pause_ns};
        (void)::nanosleep(&pause, nullptr);
    }
    return candidates.front();
}

/// Where connections of a target go to. Prints why there is no such place; returns an exit code.
int find_address(const ReplayOptions& options, const ReplayTarget& target, Address& address) {
    const Url& place = options.server.connect_to ? *options.server.connect_to : target.url;
    const std::string flag = options.server.connect_to ? "--connect-to" : "--url";
    if (place.unix_socket) {
        const Result<Address> path = unix_address(place.host);
        if (!path) {
            std::fprintf(stderr, "driftless: %s %s: the path is too long (107 bytes)\n",
                         flag.c_str(), to_text(place).c_str());
            return exit_usage;
        }
        address = path.value();
        return exit_done;
    }
    const auto found = resolve(place.host, place.port);
    if (!found) {
        std::fprintf(
            stderr, "driftless: %s %s: the host name cannot be resolved\n", flag.c_str(),
            options.server.connect_to ? place_text(place).c_str() : to_text(place).c_str());
        return exit_preflight;
    }
    address = reachable_address(options, found.value());
    return exit_done;
}

/// The TLS side of one https target; nullptr where a file of --ca, --cert or --key is wrong, which
/// is printed then.
TlsPeer* add_peer(const ReplayOptions& options, const std::string& host, Server& server) {
    if (!server.tls) {
        std::string why;
        Result<TlsContext> made = TlsContext::client(options.server.tls, why);
        if (!made) {
            std::fprintf(stderr, "driftless: %s\n", why.c_str());
            return nullptr;
        }
        server.tls.emplace(std::move(made).value());
    }
    server.peers.push_back(std::make_unique<TlsPeer>(*server.tls, host));
    return server.peers.back().get();
}

}  // namespace

int ask_target(Driver& driver, const PreflightPlan& plan, const std::string& where, Server& server,
               AskedTarget& asked) {
    Loop loop(driver, preflight_timers);
    Preflight preflight(loop, plan, server.findings.requests + 1);
    const bool answered = preflight.run();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    if (!answered) {
        const PreflightFailure& failure = preflight.failure();
        std::fprintf(stderr, "driftless: preflight: %s%s\n", where.c_str(), failure.text.c_str());
        return is_own_lack(failure.error.sys_errno) ? exit_host : exit_preflight;
    }
    asked = {preflight.findings(), preflight.model()};
    return exit_done;
}

PreflightPlan preflight_plan(const ReplayOptions& options, const Server& server,
                             const std::string& run_id, std::size_t index) {
    const ReplayTarget& target = options.server.targets[index];
    PreflightPlan plan;
    plan.server = asked_server(options, server, run_id, index);
    plan.api_path = target.api_path;
    plan.dialect = options.request.dialect;
    plan.body = body_of_rows(options, server);
    plan.overhead = options.server.overhead;
    plan.server_block_known = options.server.server_block.has_value();
    plan.template_splits = server.template_splits;
    if (server.words && server.prompt == PromptKind::text) {
        plan.word_ids = server.words->ids;
    }
    if (options.server.wait_ready_ns) {
        plan.wait_ready = Duration{*options.server.wait_ready_ns};
    }
    return plan;
}

int resolve_targets(const ReplayOptions& options, Server& server) {
    for (const ReplayTarget& target : options.server.targets) {
        TlsPeer* peer = nullptr;
        if (target.url.tls) {
            peer = add_peer(options, target.url.host, server);
            if (peer == nullptr) {
                return exit_usage;
            }
        }
        Address address;
        if (const int code = find_address(options, target, address); code != exit_done) {
            return code;
        }
        server.endpoints.push_back({address, peer});
    }
    return exit_done;
}

int choose_words(const ReplayOptions& options, Server& server) {
    if (options.prompts.tokenizer.empty()) {
        return exit_done;
    }
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(options.prompts.tokenizer, why);
    Result<SelectedWords> selected =
        tokenizer ? select_words(tokenizer.value(), options.prompts.tokenizer, why)
                  : tokenizer.error();
    if (!selected) {
        std::fprintf(stderr, "driftless: --tokenizer %s\n", why.c_str());
        return exit_input;
    }
    server.words.emplace(std::move(selected).value());
    const WordFigures& figures = server.words->figures;
    std::printf("words: the %zu shortest of %zu that are one token each in %s (%s, %zu tokens)\n",
                figures.words, figures.strict, options.prompts.tokenizer.c_str(),
                figures.kind.c_str(), figures.vocabulary);
    if (const auto chat = read_chat_template(tokenizer_file(options.prompts.tokenizer))) {
        server.template_splits =
            measure_guesses(guess_template(*chat), tokenizer.value(), server.words->table);
    }
    return options.prompts.dataset.empty() ? exit_done
                                           : choose_text(options, tokenizer.value(), server);
}

AskedServer asked_server(const ReplayOptions& options, const Server& server,
                         const std::string& run_id, std::size_t index) {
    const ReplayTarget& target = options.server.targets[index];
    AskedServer asked;
    asked.address = server.endpoints[index].address;
    asked.tls = server.endpoints[index].tls;
    asked.host = host_header(target.url);
    asked.root_path = target.root_path;
    asked.headers = options.request.headers;
    asked.secrets = secrets_of(credentials_of(options));
    asked.run_id = run_id;
    asked.stop_requests = &stop_requests();
    return asked;
}

const WordTable& words_for(const Server& server, std::uint32_t ids_from,
                           std::optional<WordTable>& storage) {
    if (server.prompt == PromptKind::text) {
        return server.kept    ? *server.kept
               : server.words ? server.words->table
                              : WordTable::built_in();
    }
    const bool safe_ids = server.words && !server.words->ids.empty();
    storage.emplace(safe_ids ? WordTable::token_ids(server.words->ids)
                             : WordTable::token_ids(ids_from));
    return *storage;
}

bool split_unknown(const PreflightFindings& found) {
    return !found.split_known && found.overhead.pre > 0;
}

void describe_server(const ReplayOptions& options, Server& server) {
    server.prompt = options.request.prompt;
    server.body = body_of_rows(options, server);
    server.findings.model = server.body.model;
    server.findings.overhead = options.server.overhead.value_or(Overhead{});
    server.findings.overhead_source = options.server.overhead ? "flag" : "none";
    server.findings.ignore_eos = server.body.ignore_eos;
    server.findings.stream_options = server.body.stream_options;
}

namespace {

int refuse_words(const ReplayOptions& options, const PreflightFindings& found, PromptKind prompt) {
    std::string remedy = "prompts cannot have the recorded lengths there; ";
    if (!options.prompts.dataset.empty()) {
        remedy += "the text of --dataset needs the --tokenizer of this very model; give it, or ";
    } else if (found.words != WordVerdict::varies && prompt == PromptKind::text) {
        remedy += options.prompts.tokenizer.empty()
                      ? "give the model's --tokenizer, or use "
                      : "is --tokenizer that of this model? Else use ";
        remedy += "--api openai-completions --prompt ids, or ";
    }
    std::fprintf(stderr, "driftless: preflight: %s; %s--no-preflight to go on anyway\n",
                 describe_words(found, prompt).c_str(), remedy.c_str());
    return exit_preflight;
}

/// What to do after the words were probed.
enum class NextStep : std::uint8_t { go_on, ask_again, refuse };

/// Fewer words than the table has, or fewer that may open a prompt. False: too few.
bool narrow_words(const WordTable& table, Server& server) {
    const PreflightFindings& found = server.findings;
    std::optional<WordTable> kept = table.without(found.dropped, found.first_words);
    if (!kept) {
        return false;
    }
    print_kept_words("", found, *kept);
    server.kept = std::move(kept);
    return true;
}

NextStep decide_words(const ReplayOptions& options, const WordTable& table, Server& server) {
    const PreflightFindings& found = server.findings;
    if (found.words == WordVerdict::not_asked || found.words == WordVerdict::exact) {
        const bool narrows = found.words == WordVerdict::exact && !found.first_words.empty();
        return !narrows || narrow_words(table, server) ? NextStep::go_on : NextStep::refuse;
    }
    if (!options.prompts.dataset.empty()) {
        return NextStep::refuse;  // the text was counted with another tokenizer than the server's
    }
    if (found.words == WordVerdict::reduced && server.prompt == PromptKind::text &&
        narrow_words(table, server)) {
        return NextStep::go_on;
    }
    if (found.words == WordVerdict::varies || server.prompt == PromptKind::ids ||
        !options.request.dialect->takes_ids) {
        return NextStep::refuse;
    }
    std::printf("server: %s; prompts go as token ids instead\n",
                describe_words(found, server.prompt).c_str());
    server.prompt = PromptKind::ids;
    return NextStep::ask_again;
}

}  // namespace

int meet_server(const ReplayOptions& options, Driver& driver, const std::string& run_id,
                Server& server) {
    describe_server(options, server);
    if (!options.server.preflight) {
        return exit_done;
    }
    NextStep next = NextStep::ask_again;
    while (next == NextStep::ask_again) {  // at most twice: ids are not asked for again
        std::optional<WordTable> storage;
        PreflightPlan plan = preflight_plan(options, server, run_id);
        plan.words = &words_for(server, options.prompts.ids_from, storage);
        AskedTarget asked;
        if (const int code = ask_target(driver, plan, "", server, asked); code != exit_done) {
            return code;
        }
        server.findings = std::move(asked.findings);
        server.body.model = asked.model;
        next = decide_words(options, *plan.words, server);
    }
    if (next == NextStep::refuse) {
        return refuse_words(options, server.findings, server.prompt);
    }
    server.preflight_done = true;
    server.endpoints.front().said = server.findings.keep_alive;
    server.body.prompt = server.prompt;
    server.body.ignore_eos = server.findings.ignore_eos;
    server.body.stream_options = server.findings.stream_options;
    server.body.length_member = server.findings.length_member;
    print_findings(server.findings, server.prompt);
    return meet_others(options, driver, run_id, server);
}

}  // namespace driftless
