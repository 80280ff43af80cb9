#include "cmd/replay/resume/again.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/resume/recall.hpp"
#include "cmd/replay/run/calibration_lookup.hpp"
#include "cmd/run_folder.hpp"

namespace driftless {

namespace {

int refuse(const std::string& flag, const std::string& why) {
    std::fprintf(stderr, "driftless: %s: %s\n", flag.c_str(), why.c_str());
    return exit_usage;
}

}  // namespace

int take_up(const std::string& api_key, ReplayCommandLine& line, RunFacts& facts) {
    const bool resumes = !line.options.again.resume.empty();
    if (resumes && !line.options.again.from.empty()) {
        return refuse("--resume", "continues one run and --from repeats one: use one of them");
    }
    const std::string flag = resumes ? "--resume" : "--from";
    std::string folder = resumes ? line.options.again.resume : line.options.again.from;
    while (folder.size() > 1 && folder.back() == '/') {
        folder.pop_back();
    }
    const bool resend = line.options.again.resend;
    if (resend && !resumes) {
        return refuse("--resend", "requires --resume");
    }
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        return refuse(flag, why);
    }
    if (resumes) {
        const int code = check_calibration_again(line.options, facts, read_host_facts());
        if (code != exit_done) {
            return code;
        }
    }
    const std::string other =
        resumes ? flag_not_to_resume_with(line.arguments, facts.arguments) : "";
    if (!other.empty()) {
        return refuse(other, "--resume continues with the original settings; remove this flag");
    }
    const Recalled recalled = recall(facts.arguments, line.arguments, !api_key.empty());
    if (!recalled.refused.empty()) {
        return refuse(flag, recalled.refused);
    }
    line = parse_replay_options(recalled.arguments, api_key);
    if (line.kind != ReplayCommandLine::Kind::run) {
        return refuse(flag, folder + ": " + line.text);
    }
    if (resumes) {
        line.options.again.resume = folder;
        line.options.again.resend = resend;
        line.options.results.out = folder;
        line.options.results.records_path = facts.records_path;
    } else {
        line.options.again.from = folder;
    }
    return exit_done;
}

}  // namespace driftless
