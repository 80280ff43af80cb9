#include "cmd/replay/shard/shard.hpp"

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/flags/host_flags.hpp"
#include "cmd/replay/flags/shard_values.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/whole_file.hpp"
#include "engine/meet/clock_difference.hpp"

namespace driftless {

namespace {

/// So much of a cap is this part's.
template <typename Number>
std::string share_cap(const char* flag, const ShardPlace& place, Number& cap) {
    if (cap < place.count) {
        return std::string(flag) + " is " + std::to_string(cap) + ", and each of " +
               std::to_string(place.count) + " shards needs 1 at least: give " +
               std::to_string(place.count) + " or more, or fewer shards";
    }
    const auto more = static_cast<Number>(place.index < cap % place.count ? 1 : 0);
    cap = cap / place.count + more;
    return "";
}

std::string share_caps(const ReplayOptions& options, const ShardPlace& place,
                       SendingFlags& sending) {
    std::string why;
    if (sending.inflight_max) {
        why = share_cap("--max-inflight", place, *sending.inflight_max);
    }
    if (why.empty() && sending.connections) {
        why = share_cap("--connections", place, *sending.connections);
    }
    if (why.empty() && sending.budget_input) {
        why = share_cap("--budget-input", place, sending.budget_input->rate.tokens);
    }
    if (why.empty() && sending.budget_output) {
        why = share_cap("--budget-output", place, sending.budget_output->rate.tokens);
    }
    if (why.empty() && options.workload.users.users > 0) {  // shared out once all is planned
        std::uint32_t users = options.workload.users.users;
        why = share_cap(options.workload.users.single_rows ? "--concurrency" : "--users", place,
                        users);
    }
    return why;
}

/// What cannot be, where several processes play one plan.
std::string why_not_a_part(const ReplayOptions& options) {
    const WorkloadFlags& workload = options.workload;
    if (workload.grow) {
        return "--grow adds users by what one process measures, and --shard has several; remove "
               "one";
    }
    if (workload.users.start.warms_up()) {
        const bool inside = workload.users.start.is_inside();
        return std::string(inside ? "--start-within" : "--warmup-requests") +
               " warms up, and the measurement would begin at another instant in each shard; "
               "remove it, or --shard";
    }
    if (workload.users.idle.system_ns) {
        return "--system-idle-cap shortens the time in which no request is open, and a shard does "
               "not "
               "know when the others have one open; remove it, or --shard";
    }
    if (options.server.reset_cache) {
        return "--reset-cache would empty the cache once for each shard, while others send; remove "
               "it, and empty the cache before the run";
    }
    if (options.prompts.cache_salt == "random") {
        return "--cache-salt random would draw another salt for each shard, and they would share "
               "nothing; name one, as in --cache-salt monday-3";
    }
    return "";
}

/// What is said of the instant at which all begin.
std::string start_contradiction(const ShardFlags& shard) {
    if (shard.meet && shard.start_at_utc_ns) {
        return "--meet agrees on time 0 and --start-at names it; remove one";
    }
    if (shard.meet && !shard.any()) {
        return "--meet is for the shards of a plan, but this process sends all of it; add --shard "
               "I/N";
    }
    return "";
}

/// Of an instant that is named: before anything is read.
std::string why_too_late(const ShardFlags& shard) {
    const std::int64_t now_ns = realtime_clock().now();
    if (!shard.start_at_utc_ns || *shard.start_at_utc_ns > now_ns) {
        return "";
    }
    return "--start-at " + utc_text(*shard.start_at_utc_ns) + " is in the past (it is now " +
           utc_text(now_ns) + "); name a later instant";
}

/// What is to be done once: shard 0 does events and reads the servers' metrics for all.
void leave_to_the_first(ReplayOptions& options) {
    options.events.typed.clear();
    MetricsPlace none;
    none.kind = MetricsPlace::Kind::none;
    options.metrics.places = {none};
}

/// A part writes beside the others.
void keep_apart(ReplayOptions& options) {
    const std::uint32_t index = options.shard.place.index;
    ResultFlags& results = options.results;
    if (!results.out.empty()) {
        results.out += "/shard-" + std::to_string(index);
    }
    results.records_path = file_of_shard(results.records_path, index);
    options.prompts.save_prompts = file_of_shard(options.prompts.save_prompts, index);
}

}  // namespace

ShardPlace shard_in(const std::vector<std::string>& arguments) {
    constexpr std::string_view flag = "--shard=";
    for (const std::string& argument : arguments) {
        if (argument.starts_with(flag)) {
            const Result<TypedShard> typed = parse_shard(argument.substr(flag.size()));
            return typed ? typed.value().place : ShardPlace();
        }
    }
    return {};
}

std::string file_of_shard(const std::string& path, std::uint32_t index) {
    const std::size_t slash = path.rfind('/');
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    if (path.empty() || name == path.size()) {
        return path;
    }
    const std::size_t dot = path.find('.', name + 1);
    std::string made = path;
    made.insert(dot == std::string::npos ? path.size() : dot, "-shard-" + std::to_string(index));
    return made;
}

std::string settle_shard(const Variables& variables, bool taken_up, ReplayCommandLine& line) {
    ReplayOptions& options = line.options;
    ShardFlags& shard = options.shard;
    if (shard.typed) {
        shard.from = shard.typed->is_none ? "" : "--shard";
        shard.place = shard.typed->place;
    } else if (!taken_up) {
        const FoundShard found = find_shard(variables);
        if (!found.refused.empty()) {
            return found.refused;
        }
        shard.from = found.from;
        shard.place = found.place;
        if (shard.any()) {
            line.arguments.push_back("--shard=" + text_of(shard.place));
        }
    }
    std::string why = start_contradiction(shard);
    if (!why.empty() || !shard.is_part()) {
        return why;
    }
    why = why_not_a_part(options);
    if (why.empty()) {
        why = share_caps(options, shard.place, options.sending);
    }
    if (why.empty()) {
        why = host_contradiction(options);
    }
    if (shard.place.index > 0) {
        leave_to_the_first(options);
    }
    if (options.again.resume.empty()) {  // else they are named as they were
        keep_apart(options);
    }
    return why;
}

int settle_part(bool taken_up, ReplayCommandLine& line) {
    std::string why = settle_shard(read_variables(), taken_up, line);
    if (why.empty() && !line.options.dry_run) {
        why = why_too_late(line.options.shard);
    }
    if (why.empty()) {
        return exit_done;
    }
    complain("driftless replay: %s", why.c_str());
    return exit_usage;
}

}  // namespace driftless
