#include "cmd/replay/resume.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/calibration_lookup.hpp"
#include "cmd/replay/pacing.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/shard.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

int refuse(const std::string& flag, const std::string& why) {
    complain("driftless: %s: %s", flag.c_str(), why.c_str());
    return exit_usage;
}

}  // namespace

OrExit<TakenUp> take_up(const std::string& api_key, ReplayCommandLine typed) {
    const AgainFlags& again = typed.options.again;
    const bool resumes = !again.resume.empty();
    if (!resumes && again.from.empty() && !again.resend) {
        return TakenUp{std::move(typed), {}};
    }
    if (resumes && !again.from.empty()) {
        return refuse("--resume", "continues a run and --from repeats one; use only one of them");
    }
    if (again.resend && !resumes) {
        return refuse("--resend", "requires --resume; give both");
    }
    const std::string flag = resumes ? "--resume" : "--from";
    std::string folder = resumes ? again.resume : again.from;
    while (folder.size() > 1 && folder.back() == '/') {
        folder.pop_back();
    }
    RunFacts facts;
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        return refuse(flag, why);
    }
    if (resumes && facts.info.merged) {
        return refuse(flag, folder +
                                ": is merged of shards; resume the shard that was killed, in "
                                "its own folder, and merge again");
    }
    if (resumes) {
        const int code = check_calibration_again(typed.options.calibration, again.resume, facts,
                                                 read_host_facts());
        if (code != exit_done) {
            return code;
        }
    }
    const std::string other =
        resumes ? flag_not_to_resume_with(typed.arguments, facts.arguments) : "";
    if (!other.empty()) {
        return refuse(other, "--resume continues with the original settings; remove this flag");
    }
    const Recalled recalled = recall(facts.arguments, typed.arguments, !api_key.empty());
    if (!recalled.refused.empty()) {
        return refuse(flag, recalled.refused);
    }
    ReplayCommandLine line = parse_replay_options(recalled.arguments, api_key);
    if (line.kind != ReplayCommandLine::Kind::run) {
        return refuse(flag, folder + ": " + line.text);
    }
    if (resumes && line.options.workload.users.users > 0) {
        const bool loops = line.options.workload.users.single_rows;
        return refuse(flag, std::string(loops ? "a closed loop" : "users of a run") +
                                " that was killed " + (loops ? "has" : "have") +
                                " cannot be resumed; --from " + folder + " runs it again");
    }
    if (resumes) {
        line.options.again = {folder, again.resend, ""};
        line.options.results.out = folder;
        line.options.results.records_path = facts.records_path;
    } else {
        line.options.again = {"", false, folder};
    }
    return TakenUp{std::move(line), std::move(facts)};
}

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

namespace {

double seconds_of(std::int64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

int check_model(const std::string& was, const std::string& is) {
    if (is == was) {
        return exit_done;
    }
    complain(
        "driftless: --resume: the run used model \"%s\", but this server offers \"%s\"; "
        "repeat the run on it with --from",
        was.c_str(), is.c_str());
    return exit_preflight;
}

}  // namespace

OrExit<Resumption> Resumption::open(const std::string& folder, RunFacts facts) {
    Result<FolderLock> lock = FolderLock::take(folder);
    if (!lock) {
        const bool busy = lock.error().code == ErrorCode::exists;
        complain("driftless: --resume %s: %s", folder.c_str(),
                 busy ? "another process is still writing the run; wait until it ends"
                      : "the folder cannot be locked; check its permissions");
        return busy ? exit_usage : exit_host;
    }
    auto past = std::make_unique<Past>(facts);
    std::string why;
    const Result<PastFiles> files = read_past(folder, facts.records_path, *past, why);
    if (!files) {
        complain("driftless: --resume: %s; nothing was changed", why.c_str());
        return exit_input;
    }
    if (facts.ended && past->records() >= facts.rows) {
        const SummaryFigures& figures = past->summary().figures();
        const std::uint64_t unsent =
            figures.outcomes[static_cast<std::size_t>(Outcome::not_sent)] - figures.dropped;
        std::string ended =
            unsent == 0 ? ""
                        : "; " + std::to_string(unsent) + " were not sent because the run was " +
                              (facts.info.stopped_when ? "stopped by --stop-when" : "interrupted") +
                              ", which ends a run; only a killed run can be resumed";
        if (figures.dropped > 0) {
            ended += "; " + std::to_string(figures.dropped) +
                     " were not sent because a row that they waited for failed";
        }
        complain(
            "driftless: --resume %s: each of its %llu rows has a record%s; --from %s "
            "repeats all of them in a new run",
            folder.c_str(), static_cast<unsigned long long>(facts.rows), ended.c_str(),
            folder.c_str());
        return exit_usage;
    }
    return Resumption(folder, std::move(lock).value(), std::move(facts), std::move(past));
}

/// Those of rows of the run.
std::uint64_t Resumption::known_records(const Workload& workload) const {
    std::uint64_t known = 0;
    for (const Planned& planned : workload.plan.rows) {
        known += past_->has_record(workload.trace.rows[planned.row].index, planned.side) ? 1 : 0;
    }
    return known;
}

OrExit<PromptSums> Resumption::check(ReplayParts& parts) const {
    const RequestFlags& request = parts.invocation().options.request;
    const Server& server = parts.server();
    const bool dual = server.against && facts_.against;
    if (const int code = check_model(facts_.info.model_id, server.findings.model);
        code != exit_done) {
        return code;
    }
    if (const int code =
            dual ? check_model(facts_.against->model, server.against->findings.model) : exit_done;
        code != exit_done) {
        return code;
    }
    if (request.described && request.described->form.digest != facts_.template_digest) {
        complain(
            "driftless: --resume: %s has changed since the run; restore the file, or "
            "repeat the run with --from",
            request.template_file.c_str());
        return exit_input;
    }
    const std::uint64_t foreign = past_->records() - known_records(parts.workload());
    if (foreign > 0) {
        complain(
            "driftless: --resume %s: %llu of its records are of rows that the run does not have; "
            "nothing was changed; restore its requests.jsonl, or repeat the run with --from",
            folder_.c_str(), static_cast<unsigned long long>(foreign));
        return exit_input;
    }
    const int code = check_words(facts_, parts, "--resume");
    if (code != exit_done) {
        return code;
    }
    return sum_prompts(parts);
}

std::optional<FiredMarks> Resumption::find_marks(const Workload& workload) const {
    Result<FiredMarks> marks = FiredMarks::open(
        facts_.segments.back().run_id, marks_for(workload.trace.rows.size(), workload.plan.dual));
    if (!marks) {
        const bool foreign = marks.error().code == ErrorCode::denied;
        print_line(
            "resume: the run's marks in shared memory are %s; rows due when it died may have been "
            "sent",
            foreign ? "accessible to other users and are not read" : "gone");
        return {};
    }
    return std::move(marks).value();
}

ResumedRun Resumption::resume(const ReplayOptions& options, const Workload& workload) const {
    const bool resend = options.again.resend;
    const std::optional<FiredMarks> marks = find_marks(workload);
    ResumedRun resumed = resume_run({workload.trace, workload.plan, *past_,
                                     marks ? &*marks : nullptr, facts_.segments.back().first_due_ns,
                                     workload.waiting.has_value(), options.workload.plan.speed},
                                    facts_.segments, resend);
    resumed.meeting = facts_.meeting;
    const RemainingRows& remaining = resumed.remaining;
    print_line("resume: segment %u of %s; %llu of %llu rows have a record", resumed.segment(),
               folder_.c_str(), static_cast<unsigned long long>(past_->records()),
               static_cast<unsigned long long>(facts_.rows));
    print_line("resume: %zu rows were sent%s without a record, and are %s%s",
               remaining.given_up.size() + remaining.again.size(),
               marks ? "" : ", or may have been,", resend ? "sent again" : "interrupted",
               resend || remaining.given_up.empty() ? "" : " (--resend sends them again)");
    if (!remaining.dropped.empty()) {
        print_line("resume: %zu rows are not sent: the rows that they wait for failed",
                   remaining.dropped.size());
    }
    if (!remaining.send.empty()) {
        const Plan plan = resumed.remaining_plan();
        const Schedule schedule = schedule_of(options.workload.plan.speed, workload, plan,
                                              remaining.earlier, workload.users, nullptr);
        print_line("resume: %zu rows will be sent, from %.3f s on", remaining.send.size(),
                   seconds_of(schedule.first_due_ns()));
    }
    return resumed;
}

OrExit<std::optional<EarlierRun>> open_earlier(const AgainFlags& again,
                                               const std::optional<RunFacts>& facts) {
    if (!facts) {
        return std::optional<EarlierRun>();
    }
    EarlierRun earlier{*facts, {}};
    if (!again.resume.empty()) {
        OrExit<Resumption> opened = Resumption::open(again.resume, *facts);
        if (!opened) {
            return opened.exit_code();
        }
        earlier.resumption.emplace(std::move(opened).value());
    }
    return std::optional<EarlierRun>(std::move(earlier));
}

OrExit<PromptSums> compare(const std::optional<EarlierRun>& earlier, ReplayParts& parts) {
    if (earlier && earlier->resumption) {
        return earlier->resumption->check(parts);
    }
    const int code = earlier ? check_prompts(earlier->facts, parts, "--from") : exit_done;
    if (code != exit_done) {
        return code;
    }
    return PromptSums();
}

}  // namespace driftless
