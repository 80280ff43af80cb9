#include "cmd/replay/server/warm_cache.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/credentials.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"
#include "engine/preflight/tell_tale.hpp"
#include "engine/preflight/warm_probe.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr std::size_t probe_timers = 8;
/// Tokens of the prompt: two blocks of 512, the largest that servers have by default, ..
constexpr std::int64_t tokens_wanted = 1024;
/// .. or so many of the server's own, where these are known to be larger; and never more than this.
constexpr std::int64_t blocks_wanted = 4;
constexpr std::int64_t tokens_most = 16'384;
/// Fewer tell nothing: words may be alike by accident, and blocks may be as long.
constexpr std::int64_t tokens_least = 64;

std::string tokens_text(std::uint64_t tokens) {
    return counted(tokens, "token", "tokens");
}

/// As many tokens as tell something and fit every server; 0: too few fit.
std::uint32_t tokens_of(const PreflightFindings& found) {
    std::int64_t tokens = std::max(tokens_wanted, blocks_wanted * found.server_block);
    if (found.max_model_len >= 0) {
        tokens = std::min(tokens, found.max_model_len - std::int64_t{found.least_answer} - 1);
    }
    if (found.max_input_tokens >= 0) {
        tokens = std::min(tokens, found.max_input_tokens);
    }
    tokens = std::min(tokens, tokens_most);
    return tokens < tokens_least ? 0 : static_cast<std::uint32_t>(tokens);
}

/// Of all servers so far, and this one: the worst of them, and the sums.
CacheProbe with(CacheProbe all, const CacheProbe& one) {
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
void print(const CacheProbe& probe, const std::string& where, bool is_recorded_text) {
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

int refuse(const std::string& url, const std::string& why) {
    complain("driftless: --reset-cache: %s: %s", url.c_str(), why.c_str());
    return exit_preflight;
}

OrExit<CacheProbe> probe_one(const ReplayParts& parts, Driver& driver, std::size_t index,
                             std::uint32_t tokens, std::uint32_t& next_request) {
    const Invocation& invocation = parts.invocation();
    const ReplayOptions& options = invocation.options;
    const Server& server = parts.server();
    const std::string url = shown_url(options.server.targets[index]);
    const Side side = side_of(server, index);
    // Parts of one plan look at the same servers, and are no earlier run of each other.
    const std::size_t number = index + options.shard.place.index * options.server.targets.size();
    Loop loop(driver, probe_timers);
    WarmProbe asker(loop,
                    preflight_plan(invocation, server, body_of(server, side), parts.words(), index),
                    findings_of(server, side),
                    make_tell_tale(parts.workload().trace, parts.words(),
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
    if (!good) {
        return refuse(url, asker.failure());
    }
    print(probe, options.server.targets.size() > 1 ? url + ": " : "",
          parts.workload().trace.is_recorded_text());
    return probe;
}

CacheProbe not_asked(CacheState state, const char* why) {
    CacheProbe probe;
    probe.state = state;
    probe.why = why;
    return probe;
}

}  // namespace

OrExit<CacheProbe> probe_caches(const ReplayParts& parts, Driver& driver,
                                std::uint32_t first_request) {
    const ServerFlags& flags = parts.invocation().options.server;
    if (!flags.preflight || !flags.warm_probe) {
        return not_asked(CacheState::off, flags.preflight ? "--no-warm-probe" : "--no-preflight");
    }
    const std::uint32_t tokens = tokens_of(parts.server().findings);
    if (tokens == 0) {
        constexpr const char* why =
            "prompts long enough for the probe do not fit the model's context";
        return flags.reset_cache
                   ? OrExit<CacheProbe>(refuse(shown_url(flags.targets.front()),
                                               std::string("it cannot be checked: ") + why))
                   : OrExit<CacheProbe>(not_asked(CacheState::unknown, why));
    }
    CacheProbe all;
    std::uint32_t next_request = first_request;
    std::set<std::string> asked;
    for (std::size_t index = 0; index < flags.targets.size(); ++index) {
        if (!asked.insert(whole_url(flags.targets[index])).second) {
            continue;  // given twice
        }
        const OrExit<CacheProbe> one = probe_one(parts, driver, index, tokens, next_request);
        if (!one) {
            return one.exit_code();
        }
        all = with(std::move(all), one.value());
    }
    return all;
}

}  // namespace driftless
