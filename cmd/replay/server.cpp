/// The servers of a replay: where they are, what each of them says of itself.

#include "cmd/replay/server.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/replay/replay.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::int64_t address_pause_ns = 500'000'000;

/// The address of a name that is the first to take connections: "localhost" is often ::1 first,
/// where many servers do not listen. Where none does, the first: the preflight will say so.
static Address reachable_address(const ServerFlags& flags, Duration connect_timeout,
                                 const std::vector<Address>& candidates) {
    const std::int64_t began_ns = monotonic_ns();
    while (candidates.size() > 1) {
        const std::optional<Address> found = first_reachable(by_turns(candidates), connect_timeout);
        if (found) {
            return *found;
        }
        if (monotonic_ns() - began_ns >= flags.wait_ready_ns.value_or(0) ||
            stop_requests().load() > 0) {
            break;
        }
        const timespec pause{0, address_pause_ns};
        (void)::nanosleep(&pause, nullptr);
    }
    return candidates.front();
}

/// Where connections of a target go to. Prints why there is no such place.
static OrExit<Address> find_address(const ServerFlags& flags, Duration connect_timeout,
                                    const ReplayTarget& target) {
    const Url& place = flags.connect_to ? *flags.connect_to : target.url;
    const bool is_second = flags.dual && &target != &flags.targets.front();
    const std::string flag = flags.connect_to ? "--connect-to" : is_second ? "--against" : "--url";
    const OrExit<std::vector<Address>> found =
        addresses_of(flag, place, flags.connect_to ? place_text(place) : to_text(place));
    if (!found) {
        return found.exit_code();
    }
    return reachable_address(flags, connect_timeout, found.value());
}

OrExit<std::unique_ptr<TlsContext>> client_context(const TlsClientOptions& options,
                                                   const std::string& where) {
    std::string why;
    Result<TlsContext> made = TlsContext::client(options, why);
    if (!made) {
        return refuse(exit_usage, "driftless: %s%s", where.c_str(), why.c_str());
    }
    return std::make_unique<TlsContext>(std::move(made).value());
}

OrExit<std::vector<Address>> addresses_of(const std::string& flag, const Url& place,
                                          const std::string& shown) {
    if (place.unix_socket) {
        const Result<Address> path = unix_address(place.host);
        if (path) {
            return std::vector{path.value()};
        }
        return refuse(exit_usage,
                      "driftless: %s %s: the path is longer than 107 bytes; use a shorter one",
                      flag.c_str(), to_text(place).c_str());
    }
    Result<std::vector<Address>> found = resolve(place.host, place.port);
    if (!found || found.value().empty()) {
        return refuse(exit_preflight,
                      "driftless: %s %s: the host name cannot be resolved; check it", flag.c_str(),
                      shown.c_str());
    }
    return std::move(found).value();
}

OrExit<ResolvedTargets> resolve_targets(const ServerFlags& flags, Duration connect_timeout) {
    ResolvedTargets resolved;
    for (const ReplayTarget& target : flags.targets) {
        if (target.url.tls && !resolved.tls) {
            if (const int code = keep(client_context(flags.tls, ""), resolved.tls);
                code != exit_done) {
                return code;
            }
        }
        TlsPeer* peer = nullptr;
        if (target.url.tls) {
            resolved.peers.push_back(std::make_unique<TlsPeer>(*resolved.tls, target.url.host));
            peer = resolved.peers.back().get();
        }
        const OrExit<Address> address = find_address(flags, connect_timeout, target);
        if (!address) {
            return address.exit_code();
        }
        resolved.endpoints.push_back({address.value(), peer});
    }
    return resolved;
}

int resolve_targets(Replay& run) {
    const ReplayOptions& options = run.options();
    return keep(resolve_targets(options.server, options.sending.timeouts.connect),
                run.server.targets);
}

ResolvedTargets for_another_thread(const ResolvedTargets& targets) {
    ResolvedTargets own;
    own.endpoints = targets.endpoints;
    for (Endpoint& endpoint : own.endpoints) {
        if (endpoint.tls != nullptr) {
            own.peers.push_back(std::make_unique<TlsPeer>(*targets.tls, endpoint.tls->name()));
            endpoint.tls = own.peers.back().get();
        }
    }
    return own;
}

std::vector<TlsFacts> tls_facts(const TlsClientOptions& options, const ResolvedTargets& targets) {
    std::vector<TlsFacts> facts;
    for (const std::unique_ptr<TlsPeer>& peer : targets.peers) {
        const char* trust = !options.verify ? "none" : options.ca_file.empty() ? "system" : "file";
        facts.push_back(
            {peer->name(), trust, peer->version, peer->cipher, peer->handshakes, peer->resumed});
    }
    return facts;
}

void add_tls_facts(std::vector<TlsFacts>& sum, const std::vector<TlsFacts>& other) {
    CHECK(sum.size() == other.size());
    for (std::size_t peer = 0; peer < sum.size(); ++peer) {
        sum[peer].handshakes += other[peer].handshakes;
        sum[peer].resumed += other[peer].resumed;
        if (sum[peer].version.empty()) {
            sum[peer].version = other[peer].version;
            sum[peer].cipher = other[peer].cipher;
        }
    }
}

static constexpr std::size_t preflight_timers = 8;

static void tell_waiting(const std::string& line) {
    complain("driftless: preflight: %s", line.c_str());
}

static int refuse_words(const ReplayOptions& options, const PreflightFindings& found,
                        PromptKind prompt) {
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
    return refuse(exit_preflight, "driftless: preflight: %s; %s--no-preflight%s to continue anyway",
                  describe_words(found, prompt).c_str(), remedy.c_str(), model.c_str());
}

namespace {

/// What to do after the words were probed.
enum class NextStep : std::uint8_t { go_on, ask_again, refuse };

struct WordDecision {
    NextStep next = NextStep::go_on;
    PromptKind prompt = PromptKind::text;
    std::optional<WordTable> kept{};  ///< where words are left out, or fewer may open a prompt
};

}  // namespace

/// Fewer words than the table has, or fewer that may open a prompt; refused where too few remain.
static WordDecision narrow_words(const PreflightFindings& found, PromptKind prompt,
                                 const WordTable& table) {
    std::optional<WordTable> kept = table.without(found.dropped, found.first_words);
    if (!kept) {
        return {NextStep::refuse, prompt};
    }
    print_kept_words("", found, *kept);
    return {NextStep::go_on, prompt, std::move(kept)};
}

static WordDecision decide_words(const ReplayOptions& options, const PreflightFindings& found,
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

/// What was found out about the first server is in the bodies of rows.
static void take_findings(Server& server) {
    const PreflightFindings& found = server.findings;
    server.targets.endpoints.front().said = found.keep_alive;
    server.body.prompt = server.prompt;
    server.body.ignore_eos = found.ignore_eos;
    server.body.stream_options = found.stream_options;
    server.body.length_member = found.length_member;
}

namespace {

/// What a preflight learned of one target.
struct AskedTarget {
    PreflightFindings findings;
    std::string model;  ///< as rows name it
};

}  // namespace

/// Asks one target; its requests are numbered from `first_request`. Prints what fails, `where`
/// before it ("--url URL: ", or empty).
static OrExit<AskedTarget> ask_target(Driver& driver, const PreflightPlan& plan,
                                      const std::string& where, std::uint32_t first_request) {
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
    return side == Side::b ? *server.against : server.findings;
}

Overhead largest_overhead(const Server& server) {
    const Overhead& first = server.findings.overhead;
    const bool is_first = !server.against || server.against->overhead.pre <= first.pre;
    return is_first ? first : server.against->overhead;
}

BodySpec body_of(const Server& server, Side side) {
    BodySpec body = server.body;
    body.model = side == Side::b ? server.against->model : body.model;
    return body;
}

Side side_of(const Server& server, std::size_t index) {
    return !server.against ? Side::none : index == 0 ? Side::a : Side::b;
}

bool split_unknown(const PreflightFindings& found) {
    return !found.split_known && found.overhead.pre > 0;
}

int describe_server(Replay& run) {
    const ReplayOptions& options = run.options();
    const Workload& workload = run.workload;
    Server& server = run.server;
    server.sends_recorded_text = workload.trace.is_recorded_text();
    server.prompt = options.request.prompt;
    server.body = body_spec(options.request);
    server.body.model = workload.models.empty()
                            ? options.request.model
                            : workload.models.name_of(workload.plan.rows.front().row);
    server.findings.model = server.body.model;
    server.findings.overhead = options.server.overhead.value_or(Overhead{});
    server.findings.overhead_source = options.server.overhead ? "flag" : "none";
    server.findings.ignore_eos = server.body.ignore_eos;
    server.findings.stream_options = server.body.stream_options;
    if (options.server.dual) {
        server.against = server.findings;
        if (!options.request.against_model.empty()) {
            server.against->model = options.request.against_model;
        }
    }
    return exit_done;
}

static constexpr const char* both_sides_note =
    "server: --against is the same as --url: both sides share its prefix cache, so the second "
    "request of a row finds the first one's prompt there";

static std::string overhead_text(const Overhead& overhead) {
    return std::to_string(overhead.pre) + "+" + std::to_string(overhead.post);
}

/// What rows to this server will have that those to the first have not; empty: nothing.
static std::string difference(const Server& server, const PreflightFindings& found) {
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

namespace {

/// What the words of all servers become.
struct Narrowing {
    bool possible = true;  ///< false: too few remain, or the text of --dataset was counted with
                           ///< another tokenizer
    std::optional<WordTable> kept{};  ///< empty: as before
};

}  // namespace

/// Words that are not one token here, and those that may not open a prompt here, are left out for
/// all.
static Narrowing narrow_for_further_server(const ReplayOptions& options, const WordTable& table,
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
static void take_least(Server& server, const PreflightFindings& found) {
    PreflightFindings& all = server.findings;
    const auto take = [](std::int64_t& least, std::int64_t one) {  // below 0: not known
        least = least < 0 ? one : one < 0 ? least : std::min(least, one);
    };
    take(all.max_model_len, found.max_model_len);
    take(all.max_input_tokens, found.max_input_tokens);
    all.least_answer = std::max(all.least_answer, found.least_answer);
    all.ignore_eos = all.ignore_eos && found.ignore_eos;
    server.body.ignore_eos = server.body.ignore_eos && found.ignore_eos;
    all.stream_options = all.stream_options && found.stream_options;
    server.body.stream_options = server.body.stream_options && found.stream_options;
}

/// Why rows cannot be bounded alike on both servers; empty: they can. One body goes to all.
/// `shown`: flag and URL of the further one.
static std::string other_length(const ReplayOptions& options, const Server& server,
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
static std::vector<std::string> notes_of(const Server& server, const PreflightFindings& found) {
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
static BodySpec asked_body(const ReplayOptions& options, const Server& server) {
    BodySpec body = server.body;
    if (options.server.dual && !options.request.against_model.empty()) {
        body.model = options.request.against_model;
    } else if (options.server.dual && !options.request.row_model) {
        body.model = options.request.model;  // where none is named, the first that it lists
    }
    return body;
}

/// Holds this one against all servers so far.
static int meet_further(Replay& run, std::size_t index) {
    const ReplayOptions& options = run.options();
    Server& server = run.server;
    const std::string url = shown_url(options.server.targets[index]);
    const std::string shown = (options.server.dual ? "--against " : "--url ") + url;
    std::optional<WordTable> storage;
    const WordTable& words = words_for(server, options.prompts.ids_from, storage);
    const OrExit<AskedTarget> asked = ask_target(
        *run.driver,
        preflight_plan(run.invocation, server, asked_body(options, server), words, index),
        shown + ": ", server.findings.requests + 1);
    if (!asked) {
        return asked.exit_code();
    }
    const PreflightFindings& found = asked.value().findings;
    const std::string where = url + ": ";
    Narrowing narrowing = narrow_for_further_server(options, words, found, where, server.prompt);
    if (!narrowing.possible) {
        return refuse(
            exit_preflight,
            "driftless: preflight: %s: %s, unlike the first server; serve models with one "
            "tokenizer everywhere, or remove this flag",
            shown.c_str(), describe_words(found, server.prompt).c_str());
    }
    if (const std::string why = other_length(options, server, found, shown); !why.empty()) {
        return refuse(exit_preflight, "driftless: preflight: %s", why.c_str());
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
        *server.against = found;
        server.against->model = asked.value().model;
    }
    take_least(server, found);
    return exit_done;
}

/// The first server is the second, too: there is nothing to be asked again.
static bool is_met(const ReplayOptions& options, const Server& server) {
    return !server.against || options.request.against_model.empty() ||
           options.request.against_model == server.body.model;
}

/// The servers of further `--url`s: each is asked everything that the first was, before a row is
/// sent: a server that is down or serves another model would cost its share of the rows. Prints a
/// line for each; the findings are then what holds for all of them (words, context, ignore_eos).
static int meet_others(Replay& run) {
    const std::vector<ReplayTarget>& targets = run.options().server.targets;
    Server& server = run.server;
    std::set<std::string> met{whole_url(targets.front())};
    for (std::size_t index = 1; index < targets.size(); ++index) {
        const bool is_new = met.insert(whole_url(targets[index])).second;
        if (!is_new && is_met(run.options(), server)) {
            if (server.against) {
                *server.against = server.findings;
                std::puts(both_sides_note);
            }
            continue;  // given twice: twice its share of the rows
        }
        if (const int code = meet_further(run, index); code != exit_done) {
            return code;
        }
    }
    return exit_done;
}

int meet_servers(Replay& run) {
    const ReplayOptions& options = run.options();
    if (!options.server.preflight) {
        return exit_done;
    }
    Server& server = run.server;
    BodySpec body = server.body;  // as the flags say, whatever the first answers were
    NextStep next = NextStep::ask_again;
    while (next == NextStep::ask_again) {  // at most twice: ids are not asked for again
        body.prompt = server.prompt;
        std::optional<WordTable> storage;
        const WordTable& words = words_for(server, options.prompts.ids_from, storage);
        OrExit<AskedTarget> asked =
            ask_target(*run.driver, preflight_plan(run.invocation, server, body, words, 0), "",
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
    take_findings(server);
    return meet_others(run);
}

}  // namespace driftless
