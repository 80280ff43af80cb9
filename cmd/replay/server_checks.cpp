/// What is asked of the servers before the first row, and what a person reads of it: their
/// findings, prompts held against their tokens, caches that are warm.

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

#include "cmd/replay/replay.hpp"
#include "engine/plan/plan.hpp"
#include "engine/server/findings.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::size_t words_shown = 8;

/// Counts that rows will be without; the flags that fix it are in the notes, as is an ignore_eos
/// that was refused. Where nothing is missing, nothing is said: run.json has it all.
static void print_support(const PreflightFindings& found) {
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

static const char* words_text(PromptKind prompt, bool exact) {
    if (prompt == PromptKind::ids) {
        return exact ? "ids exact" : "ids not verified";
    }
    return exact ? "every word is one token on this server" : "words not verified";
}

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
    const bool exact = found.has_words();
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

static constexpr std::size_t verify_timers = 8;
// Text that was cut with another tokenizer than the server's shows in the first long row.
static constexpr std::uint32_t dataset_rows = 4;

static int refuse_check(const ServerFlags& flags, const std::string& why) {
    return refuse(exit_preflight, "driftless: %s: %s",
                  flags.verify_prompts > 0 ? "--verify-prompts" : "--dataset", why.c_str());
}

/// Rows to be verified: as many as asked; a few of a dataset's without being asked, where the
/// server can say.
static std::uint32_t rows_to_verify(const ServerFlags& flags, const Server& server) {
    const bool unasked = server.words.text && server.findings.tokenize.has_value();
    return flags.verify_prompts == 0 && unasked ? dataset_rows : flags.verify_prompts;
}

static void print_findings(const VerifyFindings& found) {
    std::printf("verify: %u prompts are exactly as long as recorded (%llu tokens)", found.rows,
                static_cast<unsigned long long>(found.tokens));
    if (found.pairs > 0) {
        std::printf("; %u pairs share as recorded (%llu tokens, %llu more by chance)", found.pairs,
                    static_cast<unsigned long long>(found.shared_tokens),
                    static_cast<unsigned long long>(found.shared_beyond));
    }
    std::printf("\n");
}

int verify_prompts(Replay& run) {
    const Invocation& invocation = run.invocation;
    const ReplayOptions& options = invocation.options;
    const ServerFlags& flags = options.server;
    const Server& server = run.server;
    const Workload& workload = run.workload;
    ReplayParts& parts = *run.parts;
    const std::uint32_t rows = rows_to_verify(flags, server);
    if (rows == 0) {
        return exit_done;
    }
    const bool ids = server.prompt == PromptKind::ids;
    if (ids && !server.findings.has_usage) {
        return refuse_check(
            flags,
            "prompts are sent as token ids, and the server reports no usage to count "
            "them; remove this flag");
    }
    if (!ids && !server.findings.tokenize) {
        return refuse_check(
            flags,
            "the server has no known tokenize endpoint (/tokenize, /v1/tokenize); remove "
            "this flag: every answer's usage is compared anyway");
    }
    // Ids are truly sent: with the salt of the run, rows would find them in the server's cache.
    PromptOptions apart = prompt_options(invocation, server);
    apart.cache_salt += " verify " + invocation.run_id;
    PromptBuilder others(workload.trace, parts.words(), apart);
    VerifyPlan plan;
    plan.server = asked_server(invocation, server);
    plan.model = server.body.model;
    if (ids) {
        plan.dialect = options.request.dialect;
        plan.api_path = options.server.targets.front().api_path;
        plan.body = server.body;
        plan.answer_tokens = server.findings.least_answer;
    } else {
        plan.form = *server.findings.tokenize;
        plan.own = server.findings.tokenize_overhead;
    }
    plan.overhead = server.findings.overhead;
    plan.trace = &workload.trace;
    plan.plan = &workload.plan;
    plan.words = &parts.words();
    plan.prompts = ids ? &others : &parts.prompts();
    plan.rows_max = rows;
    plan.seed = options.workload.plan.seed;
    plan.first_request = server.findings.requests + 1;
    Loop loop(*run.driver, verify_timers);
    Verification verification(loop, plan);
    const bool good = verification.run();
    const VerifyFindings found = verification.findings();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    if (!good) {
        return refuse_check(
            flags,
            found.wrong +
                (ids ? "; check whether a proxy changes prompts, or remove the flag to run anyway"
                 : server.words.text
                     ? "; give this model's own --tokenizer, or remove --dataset"
                     : "; give the model's --tokenizer, or use --api openai-completions --prompt "
                       "ids, or remove --verify-prompts to run anyway"));
    }
    print_findings(found);
    run.verified = found;
    return exit_done;
}

static constexpr std::size_t probe_timers = 8;
/// Tokens of the prompt: two blocks of 512, the largest that servers have by default, ..
static constexpr std::int64_t tokens_wanted = 1024;
/// .. or so many of the server's own, where these are known to be larger; and never more than this.
static constexpr std::int64_t blocks_wanted = 4;
static constexpr std::int64_t tokens_most = 16'384;
/// Fewer tell nothing: words may be alike by accident, and blocks may be as long.
static constexpr std::int64_t tokens_least = 64;

static std::string tokens_text(std::uint64_t tokens) {
    return counted(tokens, "token", "tokens");
}

/// As many tokens as tell something and fit every server; 0: too few fit.
static std::uint32_t tokens_of(const PreflightFindings& found) {
    const std::int64_t tokens =
        std::min({std::max(tokens_wanted, blocks_wanted * found.server_block), tokens_most,
                  found.prompt_tokens_max()});
    return tokens < tokens_least ? 0 : static_cast<std::uint32_t>(tokens);
}

/// Of all servers so far, and this one: the worst of them, and the sums.
static CacheProbe with(CacheProbe all, const CacheProbe& one) {
    if (one.state > all.state) {
        all.state = one.state;
        all.why = one.why;
    }
    all.tokens += one.tokens;
    all.cached_tokens += one.cached_tokens;
    if (!one.reset.empty() && all.reset.find(one.reset) == std::string::npos) {
        all.reset += (all.reset.empty() ? "" : ", ") + one.reset;
    }
    return all;
}

/// `where`: "URL: ", where there are several.
static void print(const CacheProbe& probe, const std::string& where, bool is_recorded_text) {
    const char* const whose = is_recorded_text ? "trace" : "trace, seed and salt";
    if (!probe.reset.empty()) {
        print_line("cache: %semptied with POST %s: a prompt that was cached before no longer is",
                   where.c_str(), probe.reset.c_str());
        return;
    }
    switch (probe.state) {
        case CacheState::warm:
            complain(
                "driftless: warning: %sthe prefix cache is warm: it holds %llu of %s of a prompt "
                "that only an earlier run of this %s sends; TTFT will be too low; use %s"
                "--reset-cache, or restart the server",
                where.c_str(), static_cast<unsigned long long>(probe.cached_tokens),
                tokens_text(probe.tokens).c_str(), whose,
                is_recorded_text ? "" : "--cache-salt random or ");
            return;
        case CacheState::cold:
            print_line("cache: %scold: it holds no earlier run of this %s", where.c_str(), whose);
            return;
        case CacheState::unknown:
            print_line("cache: %snot known whether warm: %s", where.c_str(), probe.why.c_str());
            return;
        case CacheState::off:
            return;
    }
}

static int refuse_reset(const std::string& url, const std::string& why) {
    return refuse(exit_preflight, "driftless: --reset-cache: %s: %s", url.c_str(), why.c_str());
}

static OrExit<CacheProbe> probe_one(const Replay& run, std::size_t index, std::uint32_t tokens,
                                    std::uint32_t& next_request) {
    const Invocation& invocation = run.invocation;
    const ReplayParts& parts = *run.parts;
    const ReplayOptions& options = invocation.options;
    const Server& server = run.server;
    const std::string url = shown_url(options.server.targets[index]);
    const Side side = side_of(server, index);
    // Parts of one plan look at the same servers, and are no earlier run of each other.
    const std::size_t number = index + options.shard.place.index * options.server.targets.size();
    Loop loop(*run.driver, probe_timers);
    WarmProbe asker(loop,
                    preflight_plan(invocation, server, body_of(server, side), parts.words(), index),
                    findings_of(server, side),
                    make_tell_tale(run.workload.trace, parts.words(),
                                   prompt_options(invocation, server, side), number, tokens),
                    next_request);
    CacheProbe probe;
    bool good = true;
    if (options.server.reset_cache) {
        good = asker.reset(probe);
    } else {
        probe = asker.look();
    }
    next_request = asker.next_name();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    const std::string where = options.server.targets.size() > 1 ? url + ": " : "";
    for (const std::string& note : asker.notes()) {
        print_note(where, note);
    }
    if (!good) {
        return refuse_reset(url, asker.failure());
    }
    print(probe, where, run.workload.trace.is_recorded_text());
    return probe;
}

static CacheProbe not_asked(CacheState state, const char* why) {
    CacheProbe probe;
    probe.state = state;
    probe.why = why;
    return probe;
}

/// Asks each server, empties its cache if that was asked for, and prints what was found. Refuses to
/// go on if a cache cannot be emptied, or cannot be shown to be empty. Requests are numbered from
/// `next_request`.
static OrExit<CacheProbe> probe_all(const Replay& run, std::uint32_t next_request) {
    const ServerFlags& flags = run.options().server;
    if (!flags.preflight || !flags.warm_probe) {
        return not_asked(CacheState::off, flags.preflight ? "--no-warm-probe" : "--no-preflight");
    }
    const std::uint32_t tokens = tokens_of(run.server.findings);
    if (tokens == 0) {
        constexpr const char* why =
            "prompts long enough for the probe do not fit the model's context";
        return flags.reset_cache
                   ? OrExit<CacheProbe>(refuse_reset(shown_url(flags.targets.front()),
                                                     std::string("it cannot be checked: ") + why))
                   : OrExit<CacheProbe>(not_asked(CacheState::unknown, why));
    }
    CacheProbe all;
    std::set<std::string> asked;
    for (std::size_t index = 0; index < flags.targets.size(); ++index) {
        if (!asked.insert(whole_url(flags.targets[index])).second) {
            continue;  // given twice
        }
        const OrExit<CacheProbe> one = probe_one(run, index, tokens, next_request);
        if (!one) {
            return one.exit_code();
        }
        all = with(std::move(all), one.value());
    }
    return all;
}

int probe_caches(Replay& run) {
    if (run.resumes()) {  // its first segment has warmed the cache itself
        std::puts("cache: not probed, because it holds the rows sent before");
        run.cache = run.earlier->info.cache_probe;
        return exit_done;
    }
    const std::uint32_t verified = run.verified ? run.verified->requests : 0;
    return keep(probe_all(run, run.server.findings.requests + verified + 1), run.cache);
}

}  // namespace driftless
