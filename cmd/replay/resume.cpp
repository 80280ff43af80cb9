/// A replay that continues an earlier run (`--resume`) or repeats it (`--from`): its flags taken up
/// again, whether it is the same work, what is left to send.

#include "cmd/base/files.hpp"
#include "cmd/base/toml_reader.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/shard.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static int refuse_flag(const std::string& flag, const std::string& why) {
    return refuse(exit_usage, "driftless: %s: %s", flag.c_str(), why.c_str());
}

/// Fails where it is no flag, or not with such values. Each key is read alone, so that none takes
/// another for its value.
static void check_key(const toml::node& node, const std::string& key,
                      const std::vector<std::string>& flags, const std::string& api_key,
                      TomlReader& reader) {
    const bool is_name =
        key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == key.npos &&
        !key.starts_with("-");
    std::vector<std::string> arguments{"--config", "-"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    arguments.emplace_back("TRACE");  // a flag without its value takes this for it
    const ReplayCommandLine alone =
        is_name ? parse_replay_options(arguments, api_key) : ReplayCommandLine();
    if (!is_name) {
        reader.fail(node, printable(key) + " is no flag; write flags without dashes, as speed = 2");
    } else if (takes_up_flags("--" + key) || alone.kind == ReplayCommandLine::Kind::help) {
        reader.fail(node, key + " is no key of a file; give --" + key + " itself");
    } else if (alone.kind != ReplayCommandLine::Kind::run) {
        reader.fail(node, alone.text);
    } else if (alone.options.workload.files.paths.empty()) {
        reader.fail(node, key + " needs a value");
    }
}

/// The flags of `--config FILE`, with those of the command line in their place where both have one.
static int take_config(const std::string& api_key, ReplayCommandLine& line) {
    const std::string name = line.options.again.config;
    const Result<std::string> text = read_whole_file(name);
    if (!text) {
        return refuse_flag("--config " + name, why_unreadable(text.error()));
    }
    toml::table keys;
    TomlReader reader;
    std::vector<std::string> kept;
    std::string why = parse_toml(text.value(), keys);
    if (why.empty()) {
        reader.scalars(keys, "trace", kept);
        for (const std::string& trace : kept) {
            if (trace.starts_with("-") && trace != "-") {
                reader.fail(*keys.get("trace"), "trace is a flag; write it as a key");
            }
        }
        for (const auto& [key, node] : keys) {
            std::vector<std::string> flags;
            const std::string flag(key.str());
            if (flag != "trace" && reader.why().empty()) {
                reader.flag(node, flag, flags);
                check_key(node, flag, flags, api_key, reader);
            }
            kept.insert(kept.end(), flags.begin(), flags.end());
        }
        why = reader.why();
    }
    // Other tools' names for our flags, too, are replaced by what is typed.
    const ReplayCommandLine spelled = parse_replay_options(kept, api_key);
    kept = spelled.arguments.empty() ? kept : spelled.arguments;
    const Recalled recalled = recall(kept, line.arguments, !api_key.empty());
    why = why.empty() ? recalled.refused : why;
    if (why.empty()) {
        line = parse_replay_options(recalled.arguments, api_key);
        if (line.kind == ReplayCommandLine::Kind::refused &&
            spelled.kind == ReplayCommandLine::Kind::run) {
            return *line.finish();  // what was typed beside the file is wrong
        }
        why = line.kind == ReplayCommandLine::Kind::run ? "" : line.text;
    }
    return why.empty() ? exit_done : refuse_flag("--config " + name, why);
}

int take_up(const std::string& api_key, ReplayCommandLine& line, std::optional<RunFacts>& earlier) {
    const AgainFlags again = line.options.again;
    const bool resumes = !again.resume.empty();
    if (!again.any() && !again.resend) {
        return exit_done;
    }
    if (resumes + !again.from.empty() + !again.config.empty() > 1) {
        return refuse_flag(resumes ? "--resume" : "--from",
                           "--resume continues a run, --from repeats one, and --config takes flags "
                           "from a file; use only one of them");
    }
    if (again.resend && !resumes) {
        return refuse_flag("--resend", "requires --resume; give both");
    }
    if (!again.config.empty()) {
        return take_config(api_key, line);
    }
    const std::string flag = resumes ? "--resume" : "--from";
    const std::string folder = without_slashes(resumes ? again.resume : again.from);
    RunFacts facts;
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        return refuse_flag(flag, why);
    }
    if (resumes && facts.info.merged) {
        return refuse_flag(flag, folder +
                                     ": is merged of shards; resume the shard that was killed, in "
                                     "its own folder, and merge again");
    }
    if (resumes) {
        const int code = check_calibration_again(line.options.calibration, again.resume, facts,
                                                 read_host_facts());
        if (code != exit_done) {
            return code;
        }
    }
    const std::string other =
        resumes ? flag_not_to_resume_with(line.arguments, facts.arguments) : "";
    if (!other.empty()) {
        return refuse_flag(other,
                           "--resume continues with the original settings; remove this flag");
    }
    const Recalled recalled =
        recall(resumes ? facts.arguments : arguments_to_repeat(facts.arguments), line.arguments,
               !api_key.empty());
    if (!recalled.refused.empty()) {
        return refuse_flag(flag, recalled.refused);
    }
    line = parse_replay_options(recalled.arguments, api_key);
    if (line.kind != ReplayCommandLine::Kind::run) {
        return refuse_flag(flag, folder + ": " + line.text);
    }
    if (resumes && line.options.workload.users.users > 0) {
        const bool loops = line.options.workload.users.single_rows;
        return refuse_flag(flag, std::string("a run ") + (loops ? "in a closed loop" : "of users") +
                                     " cannot be resumed; --from " + folder + " runs it again");
    }
    if (resumes) {
        line.options.again = {folder, again.resend, "", ""};
        line.options.results.out = folder;
        line.options.results.records_path = facts.records_path;
    } else {
        line.options.again = {"", false, folder, ""};
    }
    earlier = std::move(facts);
    return exit_done;
}

using Long = unsigned long long;

static int refuse_digest(const char* flag, const char* what, std::uint64_t was, std::uint64_t is,
                         const char* remedy) {
    return refuse(exit_input,
                  "driftless: %s: the %s differ from the run's: digest %016llx, not %016llx; %s",
                  flag, what, static_cast<Long>(is), static_cast<Long>(was), remedy);
}

/// Where no digest of all prompts is known, as of a run that was cut short: what they are drawn
/// from: seed and dataset. With an equal schedule they make equal prompts.
static int check_sources(const Replay& run, const char* flag) {
    const RunFacts& facts = *run.earlier;
    const std::uint64_t seed = run.options().workload.plan.seed;
    const std::optional<LoadedCorpus>& text = run.server.words.text;
    if (seed != facts.info.run.seed) {
        return refuse(exit_input,
                      "driftless: %s: the run had --seed %llu, not %llu; remove this flag", flag,
                      static_cast<Long>(facts.info.run.seed), static_cast<Long>(seed));
    }
    const std::uint64_t dataset = text ? text->corpus.digest() : 0;
    if (dataset != facts.dataset_digest.value_or(0)) {
        return refuse_digest(
            flag, "texts in --dataset", facts.dataset_digest.value_or(0), dataset,
            "the file has changed, or the flag is new; give the one that the run read");
    }
    return exit_done;
}

static int refuse_overhead(const char* flag, const char* which, const Overhead& is,
                           const Overhead& was) {
    return refuse(exit_input,
                  "driftless: %s: %s adds %u+%u tokens to a prompt, but %u+%u in the run; "
                  "--overhead %u,%u makes the same prompts",
                  flag, which, is.pre, is.post, was.pre, was.post, was.pre, was.post);
}

/// Of the second server of dual fire. That there is one is in the digest of the schedule.
static int check_against(const RunFacts& facts, const Server& server, const char* flag) {
    if (!facts.against || !server.against) {
        return exit_done;
    }
    const PreflightFindings& found = *server.against;
    return found.overhead == facts.against->overhead
               ? exit_done
               : refuse_overhead(flag, "the server of --against", found.overhead,
                                 facts.against->overhead);
}

OrExit<PromptSums> sum_prompts(ReplayParts& parts) {
    const Plan& plan = parts.workload().plan;
    RequestPass pass(parts, plan, Schedule(plan), "00000000");
    const Result<void> opened = pass.open();
    if (!opened) {
        return fail_host("bodies", opened.error());
    }
    PromptSums sums;
    pass.arm_all([&sums](const RowUnderway& request) {
        sums.request_bytes += request.bytes.size();
        return true;
    });
    const Armer& armer = pass.armer();
    CHECK(armer.all_armed());
    sums.digest = armer.prompts_digest();
    sums.against_digest = armer.against_digest();
    sums.clamped_rows = armer.clamped_rows();
    return sums;
}

int check_schedule(Replay& run) {
    if (!run.earlier) {
        return exit_done;
    }
    const RunFacts& facts = *run.earlier;
    const Workload& workload = run.workload;
    const char* const flag = run.resumes() ? "--resume" : "--from";
    if (workload.trace.digest != facts.trace_digest) {
        return refuse_digest(flag, "rows in the trace", facts.trace_digest, workload.trace.digest,
                             "the file has changed; give the one that the run read as TRACE");
    }
    if (workload.plan.dual != facts.against.has_value()) {
        return refuse(exit_usage, "driftless: %s: the run had %s; %s", flag,
                      facts.against ? "two servers" : "one server, but --against adds a second",
                      facts.against ? "give --against" : "remove it");
    }
    if (workload.plan.schedule_digest != facts.schedule_digest) {
        return refuse_digest(flag, "due instants", facts.schedule_digest,
                             workload.plan.schedule_digest,
                             "remove the flags that select and time rows");
    }
    return exit_done;
}

/// The words, what the servers' templates add, and the sources of prompts whose digest is not
/// known.
static int check_words(const Replay& run, const char* flag) {
    const RunFacts& facts = *run.earlier;
    const Server& server = run.server;
    const Overhead& overhead = server.findings.overhead;
    const char* prompt = prompt_choices.name_of(server.prompt);
    if (run.workload.trace.is_recorded_text()) {
        return facts.prompts_digest ? exit_done : check_sources(run, flag);
    }
    if (overhead != facts.overhead) {
        return refuse_overhead(flag, "the server", overhead, facts.overhead);
    }
    if (const int code = check_against(facts, server, flag); code != exit_done) {
        return code;
    }
    const std::uint64_t words = run.parts->words().digest();
    if (facts.info.run.prompt != prompt || words != facts.words_digest) {
        return refuse_digest(
            flag, "words", facts.words_digest, words,
            "another set of words is one token on this server, or --tokenizer or --prompt differs");
    }
    return facts.prompts_digest ? exit_done : check_sources(run, flag);
}

/// `--from`: the prompts themselves, where the run knew its digest; else the words.
static int check_prompts(const Replay& run) {
    const char* const flag = "--from";
    const RunFacts& facts = *run.earlier;
    const int words = check_words(run, flag);
    if (words != exit_done || !facts.prompts_digest) {
        return words;
    }
    // With another salt it is the same workload in other words, which no cache knows yet.
    const bool is_new_salt = run.invocation.cache_salt != facts.info.run.cache_salt;
    if (is_new_salt && !run.workload.trace.is_recorded_text()) {
        // Their digest must differ; what else decides it must not.
        const int code = check_sources(run, flag);
        if (code == exit_done) {
            print_line(
                "from: prompts use other words than the run's (another --cache-salt); lengths, "
                "sharing and schedule are equal");
        }
        return code;
    }
    const std::optional<WorkloadShare>& share = run.workload.share;
    if ((share ? share->place : ShardPlace()) != shard_in(facts.arguments)) {
        return check_sources(run, flag);  // its digest is of other rows
    }
    const OrExit<PromptSums> sums = sum_prompts(*run.parts);
    if (!sums) {
        return sums.exit_code();
    }
    if (sums.value().digest != *facts.prompts_digest) {
        return refuse_digest(flag, "prompts", *facts.prompts_digest, sums.value().digest,
                             "remove --seed, --cache-salt and --tokenizer");
    }
    return exit_done;
}

static int check_model(const std::string& was, const std::string& is) {
    if (is == was) {
        return exit_done;
    }
    return refuse(exit_preflight,
                  "driftless: --resume: the run used model \"%s\", but this server offers \"%s\"; "
                  "repeat the run on it with --from",
                  was.c_str(), is.c_str());
}

int open_earlier(Replay& run) {
    const std::string& folder = run.options().again.resume;
    if (folder.empty()) {
        return exit_done;
    }
    const RunFacts& facts = *run.earlier;
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
        return refuse(exit_input, "driftless: --resume: %s; nothing was changed", why.c_str());
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
        return refuse(exit_usage,
                      "driftless: --resume %s: each of its %llu rows has a record%s; --from %s "
                      "repeats all of them in a new run",
                      folder.c_str(), static_cast<unsigned long long>(facts.rows), ended.c_str(),
                      folder.c_str());
    }
    run.lock = std::move(lock).value();
    run.past = std::move(past);
    return exit_done;
}

/// Those of rows of the run.
static std::uint64_t known_records(const Replay& run) {
    const Workload& workload = run.workload;
    std::uint64_t known = 0;
    for (const Planned& planned : workload.plan.rows) {
        known += run.past->has_record(workload.trace.rows[planned.row].index, planned.side) ? 1 : 0;
    }
    return known;
}

/// `--resume`: the prompts for this server are those of the earlier segments. Sums all of them.
static int check_resumed(Replay& run) {
    const RequestFlags& request = run.options().request;
    const RunFacts& facts = *run.earlier;
    const Server& server = run.server;
    int code = check_model(facts.info.model_id, server.findings.model);
    if (code == exit_done && server.against && facts.against) {
        code = check_model(facts.against->model, server.against->model);
    }
    if (code != exit_done) {
        return code;
    }
    if (request.described && request.described->form.digest != facts.template_digest) {
        return refuse(exit_input,
                      "driftless: --resume: %s has changed since the run; restore the file, or "
                      "repeat the run with --from",
                      request.template_file.c_str());
    }
    const std::uint64_t foreign = run.past->records() - known_records(run);
    if (foreign > 0) {
        return refuse(
            exit_input,
            "driftless: --resume %s: %llu of its records are of rows that the run does not have; "
            "nothing was changed; restore its requests.jsonl, or repeat the run with --from",
            run.options().again.resume.c_str(), static_cast<unsigned long long>(foreign));
    }
    if (code = check_words(run, "--resume"); code != exit_done) {
        return code;
    }
    return keep(sum_prompts(*run.parts), run.sums);
}

static std::optional<FiredMarks> find_marks(const Replay& run) {
    const Workload& workload = run.workload;
    Result<FiredMarks> marks =
        FiredMarks::open(run.earlier->segments.back().run_id,
                         marks_for(workload.trace.rows.size(), workload.plan.dual));
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

ResumedRun resumed_run(const Replay& run) {
    const ReplayOptions& options = run.options();
    const Workload& workload = run.workload;
    const RunFacts& facts = *run.earlier;
    const bool resend = options.again.resend;
    const std::optional<FiredMarks> marks = find_marks(run);
    ResumedRun resumed = resume_run({workload.trace, workload.plan, *run.past,
                                     marks ? &*marks : nullptr, facts.segments.back().first_due_ns,
                                     workload.waiting.has_value(), options.workload.plan.speed},
                                    facts.segments, resend);
    resumed.meeting = facts.meeting;
    resumed.urls = facts.info.run.urls;
    const RemainingRows& remaining = resumed.remaining;
    print_line("resume: segment %u of %s; %llu of %llu rows have a record", resumed.segment(),
               options.again.resume.c_str(), static_cast<unsigned long long>(run.past->records()),
               static_cast<unsigned long long>(facts.rows));
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
                   static_cast<double>(schedule.first_due_ns()) / 1e9);
    }
    return resumed;
}

int compare_prompts(Replay& run) {
    if (run.resumes()) {
        return check_resumed(run);
    }
    return run.earlier ? check_prompts(run) : exit_done;
}

}  // namespace driftless
