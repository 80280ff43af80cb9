#include "cmd/replay/resume/resume.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/screen/guard.hpp"

namespace driftless {

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

}  // namespace driftless
