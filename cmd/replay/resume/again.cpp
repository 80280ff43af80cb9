#include "cmd/replay/resume/again.hpp"

#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/resume/recall.hpp"
#include "cmd/replay/run/calibration_lookup.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"

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

}  // namespace driftless
