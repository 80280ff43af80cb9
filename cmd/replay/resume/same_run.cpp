#include "cmd/replay/resume/same_run.hpp"

#include <cstdio>
#include <string>
#include <string_view>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/run/parts.hpp"
#include "cmd/replay/shard/shard.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

using Long = unsigned long long;

int refuse_digest(const char* flag, const char* what, std::uint64_t was, std::uint64_t is,
                  const char* remedy) {
    complain("driftless: %s: the %s differ from the run's: digest %016llx, not %016llx; %s", flag,
             what, static_cast<Long>(is), static_cast<Long>(was), remedy);
    return exit_input;
}

/// `--from` with another salt: the same workload in other words, which no cache knows yet.
bool salt_is_new(const RunFacts& facts, const std::string& salt, std::string_view flag) {
    return flag == "--from" && salt != facts.cache_salt.value_or("");
}

/// Where no digest of all prompts is known, as of a run that was cut short: what they are drawn
/// from.
int check_sources(const RunFacts& facts, const ReplayParts& parts, const char* flag) {
    const std::uint64_t seed = parts.invocation().options.workload.plan.seed;
    const std::optional<LoadedCorpus>& text = parts.server().words.text;
    if (seed != facts.seed) {
        complain("driftless: %s: the run had --seed %llu, not %llu; remove this flag", flag,
                 static_cast<Long>(facts.seed), static_cast<Long>(seed));
        return exit_input;
    }
    const std::uint64_t dataset = text ? text->corpus.digest() : 0;
    if (dataset != facts.dataset_digest.value_or(0)) {
        return refuse_digest(
            flag, "texts in --dataset", facts.dataset_digest.value_or(0), dataset,
            "the file has changed, or the flag is new; give the one that the run read");
    }
    return exit_done;
}

int refuse_overhead(const char* flag, const char* which, const Overhead& is, const Overhead& was) {
    complain(
        "driftless: %s: %s adds %u+%u tokens to a prompt, but %u+%u in the run; "
        "--overhead %u,%u makes the same prompts",
        flag, which, is.pre, is.post, was.pre, was.post, was.pre, was.post);
    return exit_input;
}

/// Of the second server of dual fire. That there is one is in the digest of the schedule.
int check_against(const RunFacts& facts, const Server& server, const char* flag) {
    if (!facts.against || !server.against) {
        return exit_done;
    }
    const PreflightFindings& found = server.against->findings;
    return found.overhead == facts.against->overhead
               ? exit_done
               : refuse_overhead(flag, "the server of --against", found.overhead,
                                 facts.against->overhead);
}

}  // namespace

OrExit<PromptSums> sum_prompts(ReplayParts& parts) {
    const Plan& plan = parts.workload().plan;
    RequestPass pass(parts, plan, Schedule(plan), "00000000");
    const Result<void> opened = pass.open();
    if (!opened) {
        return fail_host("bodies", opened.error());
    }
    Armer& armer = pass.armer();
    Schedule& schedule = pass.schedule();
    constexpr std::uint32_t tokens_a_step = 1 << 20;
    PromptSums sums;
    while (armer.step(Instant{}, INT64_MAX, tokens_a_step)) {
        for (const Due* due = schedule.peek(); due != nullptr && armer.ready(*due);
             due = schedule.peek()) {
            RowUnderway& request = armer.take(schedule.take());
            sums.request_bytes += request.bytes.size();
            armer.discard(request);
        }
    }
    CHECK(armer.all_armed());
    sums.digest = armer.prompts_digest();
    sums.against_digest = armer.against_digest();
    sums.clamped_rows = armer.clamped_rows();
    return sums;
}

int check_schedule(const RunFacts& facts, const Workload& workload, const char* flag) {
    if (workload.trace.digest != facts.trace_digest) {
        return refuse_digest(flag, "rows in the trace", facts.trace_digest, workload.trace.digest,
                             "the file has changed; give the one that the run read as TRACE");
    }
    if (workload.plan.dual != facts.against.has_value()) {
        complain("driftless: %s: the run had %s; %s", flag,
                 facts.against ? "two servers" : "one server, but --against adds a second",
                 facts.against ? "give --against" : "remove it");
        return exit_usage;
    }
    if (workload.plan.schedule_digest != facts.schedule_digest) {
        return refuse_digest(flag, "due instants", facts.schedule_digest,
                             workload.plan.schedule_digest,
                             "remove the flags that select and time rows");
    }
    return exit_done;
}

int check_words(const RunFacts& facts, const ReplayParts& parts, const char* flag) {
    const Server& server = parts.server();
    const Overhead& overhead = server.findings.overhead;
    const char* prompt = server.prompt == PromptKind::text ? "text" : "ids";
    if (parts.workload().trace.is_recorded_text()) {
        return facts.prompts_digest ? exit_done : check_sources(facts, parts, flag);
    }
    if (overhead != facts.overhead) {
        return refuse_overhead(flag, "the server", overhead, facts.overhead);
    }
    if (const int code = check_against(facts, server, flag); code != exit_done) {
        return code;
    }
    if (facts.prompt != prompt || parts.words().digest() != facts.words_digest) {
        return refuse_digest(
            flag, "words", facts.words_digest, parts.words().digest(),
            "another set of words is one token on this server, or --tokenizer or --prompt differs");
    }
    return facts.prompts_digest ? exit_done : check_sources(facts, parts, flag);
}

int check_prompts(const RunFacts& facts, ReplayParts& parts, const char* flag) {
    const int words = check_words(facts, parts, flag);
    if (words != exit_done || !facts.prompts_digest) {
        return words;
    }
    if (salt_is_new(facts, parts.invocation().cache_salt, flag) &&
        !parts.workload().trace.is_recorded_text()) {
        // Their digest must differ; what else decides it must not.
        const int code = check_sources(facts, parts, flag);
        if (code == exit_done) {
            print_line(
                "from: prompts use other words than the run's (another --cache-salt); lengths, "
                "sharing and schedule are equal");
        }
        return code;
    }
    const std::optional<WorkloadShare>& share = parts.workload().share;
    if ((share ? share->place : ShardPlace()) != shard_in(facts.arguments)) {
        return check_sources(facts, parts, flag);  // its digest is of other rows
    }
    const OrExit<PromptSums> sums = sum_prompts(parts);
    if (!sums) {
        return sums.exit_code();
    }
    if (sums.value().digest != *facts.prompts_digest) {
        return refuse_digest(flag, "prompts", *facts.prompts_digest, sums.value().digest,
                             "remove --seed, --cache-salt and --tokenizer");
    }
    return exit_done;
}

}  // namespace driftless
