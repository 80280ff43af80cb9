#include "cmd/replay/server.hpp"

#include <time.h>

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

namespace {

constexpr std::size_t preflight_timers = 8;
constexpr Duration address_patience = seconds(1);
constexpr std::int64_t address_pause_ns = 500'000'000;

BodySpec body_spec(const ReplayOptions& options, PromptKind prompt) {
    BodySpec spec;
    spec.model = options.model;
    spec.prompt = prompt;
    spec.output = options.output;
    spec.ignore_eos = options.output == OutputRule::exact && options.dialect->has_ignore_eos;
    spec.continuous_usage = options.continuous_usage;
    spec.extra_body = options.extra_body;
    return spec;
}

void print_findings(const PreflightFindings& found, PromptKind prompt) {
    std::printf("server: model %s", found.model.c_str());
    if (found.max_model_len >= 0) {
        std::printf(", context %lld tokens", static_cast<long long>(found.max_model_len));
    }
    std::printf("; overhead %u+%u tokens (%s); %s %s\n", found.overhead.pre, found.overhead.post,
                found.overhead_source.c_str(), prompt == PromptKind::text ? "words" : "ids",
                found.words_exact ? "exact" : "not verified");
    for (const std::string& note : found.notes) {
        std::printf("server: %s\n", note.c_str());
    }
}

/// The first address of a name that takes connections: "localhost" is often ::1 first, where many
/// servers do not listen. Where none does, the first: the preflight will say so.
Address reachable_address(const ReplayOptions& options, const std::vector<Address>& candidates) {
    const std::int64_t patience = options.wait_ready_ns.value_or(0);
    for (std::int64_t waited = 0; candidates.size() > 1; waited += address_pause_ns) {
        for (const Address& candidate : candidates) {
            if (can_connect(candidate, address_patience)) {
                return candidate;
            }
        }
        if (waited >= patience || stop_requests().load() > 0) {
            break;
        }
        const timespec pause{0, address_pause_ns};
        (void)::nanosleep(&pause, nullptr);
    }
    return candidates.front();
}

PreflightPlan preflight_plan(const ReplayOptions& options, const Server& server,
                             const std::string& run_id) {
    const ReplayTarget& target = options.targets.front();
    PreflightPlan plan;
    plan.address = server.addresses.front();
    plan.host = host_header(target.url);
    plan.api_path = target.api_path;
    plan.root_path = target.root_path;
    plan.headers = options.headers;
    plan.dialect = options.dialect;
    plan.body = body_spec(options, server.prompt);
    plan.overhead = options.overhead;
    plan.run_id = run_id;
    plan.stop_requests = &stop_requests();
    if (options.wait_ready_ns) {
        plan.wait_ready = Duration{*options.wait_ready_ns};
    }
    return plan;
}

int report_failure(const ReplayOptions& options, const PreflightFailure& failure) {
    std::string text = failure.text;
    for (const std::string& secret : secrets_of(options.headers)) {
        for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret)) {
            text.replace(at, secret.size(), mask_text);
        }
    }
    std::fprintf(stderr, "driftless: preflight: %s\n", text.c_str());
    return exit_preflight;
}

}  // namespace

int resolve_targets(const ReplayOptions& options, Server& server) {
    for (const ReplayTarget& target : options.targets) {
        if (target.url.unix_socket) {
            const Result<Address> address = unix_address(target.url.host);
            if (!address) {
                std::fprintf(stderr, "driftless: --url %s: the path is too long (107 bytes)\n",
                             to_text(target.url).c_str());
                return exit_usage;
            }
            server.addresses.push_back(address.value());
            continue;
        }
        const auto found = resolve(target.url.host, target.url.port);
        if (!found) {
            std::fprintf(stderr, "driftless: --url %s: the host name cannot be resolved\n",
                         to_text(target.url).c_str());
            return exit_preflight;
        }
        server.addresses.push_back(reachable_address(options, found.value()));
    }
    return exit_done;
}

int choose_words(const ReplayOptions& options, Server& server) {
    if (options.tokenizer.empty()) {
        return exit_done;
    }
    std::string why;
    Result<SelectedWords> selected = load_words(options.tokenizer, why);
    if (!selected) {
        std::fprintf(stderr, "driftless: --tokenizer %s\n", why.c_str());
        return exit_input;
    }
    server.words.emplace(std::move(selected).value());
    const WordFigures& figures = server.words->figures;
    std::printf("words: the %zu shortest of %zu that are one token each in %s (%s, %zu tokens)\n",
                figures.words, figures.strict, options.tokenizer.c_str(), figures.kind.c_str(),
                figures.vocabulary);
    return exit_done;
}

const WordTable& words_for(const Server& server, std::uint32_t ids_from,
                           std::optional<WordTable>& storage) {
    if (server.prompt == PromptKind::text) {
        return server.words ? server.words->table : WordTable::built_in();
    }
    storage.emplace(WordTable::token_ids(ids_from));
    return *storage;
}

void describe_server(const ReplayOptions& options, Server& server) {
    server.prompt = options.prompt;
    server.body = body_spec(options, server.prompt);
    server.findings.model = options.model;
    server.findings.overhead = options.overhead.value_or(Overhead{});
    server.findings.overhead_source = options.overhead ? "flag" : "none";
    server.findings.ignore_eos = server.body.ignore_eos;
}

int meet_server(const ReplayOptions& options, Driver& driver, const std::string& run_id,
                Server& server) {
    describe_server(options, server);
    if (!options.preflight) {
        return exit_done;
    }
    for (int tries = 0; tries < 2; ++tries) {  // a second time with ids, where words are refused
        std::optional<WordTable> storage;
        PreflightPlan plan = preflight_plan(options, server, run_id);
        plan.words = &words_for(server, options.ids_from, storage);
        Loop loop(driver, preflight_timers);
        Preflight preflight(loop, plan);
        const bool answered = preflight.run();
        if (stop_requests().load() > 0) {
            return exit_interrupted;
        }
        if (!answered) {
            return report_failure(options, preflight.failure());
        }
        server.findings = preflight.findings();
        const PreflightFindings& found = server.findings;
        const bool refused = found.words_asked >= 0 && !found.words_exact;
        if (!refused) {
            break;
        }
        std::fprintf(stderr, "driftless: preflight: the server counts %lld tokens for %lld %s\n",
                     static_cast<long long>(found.words_counted),
                     static_cast<long long>(found.words_asked),
                     server.prompt == PromptKind::text ? "words of one token each" : "token ids");
        if (server.prompt == PromptKind::ids || !options.dialect->takes_ids) {
            std::fprintf(stderr,
                         "driftless: prompts would not have the recorded lengths; use --api "
                         "openai-completions --prompt ids, or --no-preflight to go on anyway\n");
            return exit_preflight;
        }
        std::printf("server: prompts go as token ids instead\n");
        server.prompt = PromptKind::ids;
    }
    server.preflight_done = true;
    server.body.prompt = server.prompt;
    server.body.model = server.findings.model;
    server.body.ignore_eos = server.findings.ignore_eos;
    print_findings(server.findings, server.prompt);
    return exit_done;
}

}  // namespace driftless
