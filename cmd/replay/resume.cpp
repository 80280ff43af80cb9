#include "cmd/replay/resume.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/folders.hpp"

namespace driftless {

namespace {

std::uint32_t index_of(const Workload& workload, const Planned& planned) {
    return workload.trace.rows[planned.row].index;
}

double seconds_of(std::int64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

}  // namespace

int Resumption::open(const std::string& folder, RunFacts facts) {
    Result<FolderLock> lock = FolderLock::take(folder);
    if (!lock) {
        const bool busy = lock.error().code == ErrorCode::exists;
        std::fprintf(stderr, "driftless: --resume %s: %s\n", folder.c_str(),
                     busy ? "the run is still being written by another process; let it end"
                          : "the folder cannot be locked");
        return busy ? exit_usage : exit_host;
    }
    folder_ = folder;
    lock_ = std::move(lock).value();
    facts_ = std::move(facts);
    past_ = std::make_unique<Past>(facts_);
    std::string why;
    const Result<PastFiles> files = read_past(folder, facts_.records_path, *past_, why);
    if (!files) {
        std::fprintf(stderr, "driftless: --resume: %s; nothing was changed\n", why.c_str());
        return exit_input;
    }
    if (past_->records() >= facts_.rows) {
        std::fprintf(stderr,
                     "driftless: --resume %s: each of its %llu rows has a record; --from repeats a "
                     "run\n",
                     folder.c_str(), static_cast<unsigned long long>(facts_.rows));
        return exit_usage;
    }
    return exit_done;
}

int Resumption::check(const ReplayOptions& options, const Workload& workload,
                      const Server& server) {
    if (server.findings.model != facts_.info.model_id) {
        std::fprintf(stderr,
                     "driftless: --resume: the run asked for model \"%s\", this server offers "
                     "\"%s\"; repeat the run there with --from\n",
                     facts_.info.model_id.c_str(), server.findings.model.c_str());
        return exit_preflight;
    }
    if (options.described && options.described->form.digest != facts_.template_digest) {
        std::fprintf(stderr,
                     "driftless: --resume: %s is not as it was in the run; give back the file, or "
                     "repeat the run with --from\n",
                     options.template_file.c_str());
        return exit_input;
    }
    const int code = check_words(facts_, options, server, "--resume");
    if (code != exit_done) {
        return code;
    }
    const Result<PromptSums> sums = sum_prompts(options, workload, server);
    if (!sums) {
        return fail_host("bodies", sums.error());
    }
    prompts_ = sums.value();
    return exit_done;
}

/// When the run had died at the latest, by its own clock: the signs of life come every second, and
/// with each row; the first row without any would have been one.
std::int64_t Resumption::died_before_ns(const Workload& workload) const {
    const std::int64_t known = std::max(past_->known_ns(), facts_.segments.back().first_due_ns);
    std::int64_t next_sign = known + signs_every_ns;
    for (const Planned& planned : workload.plan.rows) {
        const std::uint32_t row = index_of(workload, planned);
        if (!past_->has_record(row) && !past_->open().contains(row)) {
            next_sign = std::min(next_sign, planned.due_ns);
            break;
        }
    }
    return std::max(known, next_sign) + unseen_ns;
}

std::optional<FiredMarks> Resumption::find_marks(const Workload& workload) const {
    Result<FiredMarks> marks =
        FiredMarks::open(facts_.segments.back().run_id, workload.trace.rows.size());
    if (!marks) {
        std::printf(
            "resume: the run's marks in shared memory are gone: rows that were due when it "
            "died may have left\n");
        return {};
    }
    return std::move(marks).value();
}

void Resumption::narrow(bool resend, Workload& workload) {
    whole_ = workload.plan;
    const std::optional<FiredMarks> marks = find_marks(workload);
    const std::int64_t died_ns = died_before_ns(workload);
    workload.plan.rows.clear();
    std::uint64_t again = 0;
    for (std::uint32_t position = 0; position < whole_.rows.size(); ++position) {
        const Planned& planned = whole_.rows[position];
        const std::uint32_t row = index_of(workload, planned);
        if (past_->has_record(row)) {
            continue;
        }
        const bool unseen = marks ? marks->marked(planned.row) : planned.due_ns <= died_ns;
        const bool may_have_left = unseen || past_->open().contains(row);
        if (may_have_left && !resend) {
            given_up_.push_back(position);
            continue;
        }
        again += may_have_left ? 1 : 0;
        workload.plan.rows.push_back(planned);
    }
    const auto& rest = workload.plan.rows;
    std::printf("resume: segment %u of %s; %llu of %llu rows have a record\n", segment(),
                folder_.c_str(), static_cast<unsigned long long>(past_->records()),
                static_cast<unsigned long long>(facts_.rows));
    std::printf("resume: %zu rows had left%s, and are %s%s\n",
                given_up_.size() + static_cast<std::size_t>(again), marks ? "" : ", or may have",
                resend ? "sent again" : "interrupted",
                resend || given_up_.empty() ? "" : " (--resend sends them again)");
    if (!rest.empty()) {
        std::printf("resume: %zu rows are to be sent, from %.3f s on\n", rest.size(),
                    seconds_of(rest.front().due_ns));
    }
}

std::vector<Record> Resumption::interrupted(AssemblerConfig config) const {
    config.plan = &whole_;
    std::vector<Record> records;
    for (const std::uint32_t position : given_up_) {
        Record& record = records.emplace_back();
        fill_origin(record, position, config);
        record.segment = segment() - 1;
        record.outcome = Outcome::interrupted;
        record.has_chunks = false;
        const auto left = past_->open().find(record.row);
        if (left != past_->open().end()) {
            record.fired_ns = left->second;
            record.drift_ns = left->second - record.due_ns;
        }
    }
    return records;
}

}  // namespace driftless
