#include "cmd/cells/cell.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/stop.hpp"
#include "cmd/whole_file.hpp"
#include "engine/host/child.hpp"
#include "engine/stats/verdict.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::size_t why_bytes_max = 500;
constexpr const char* certified_flag = "--require-certified";

CellEnd refused(std::string why) {
    CellEnd end;
    end.why = std::move(why);
    return end;
}

/// Passes on each request to stop that has come since the last time.
void pass_on(const Child& child, int& seen) {
    for (const int asked = stop_requests().load(); seen < asked; ++seen) {
        child.signal(SIGTERM);
    }
}

/// A replay that drains, or hangs at its disk, is ended by the user: the third request ends us, and
/// the kernel it.
ChildEnd wait_for(Child& child, int seen) {
    while (true) {
        if (const std::optional<ChildEnd> end = child.wait(ns_per_second); end) {
            return *end;
        }
        pass_on(child, seen);
    }
}

/// The last line that is an error of ours; else the last one that is not empty.
std::string last_error(const std::string& path) {
    const Result<std::string> text = read_whole_file(path);
    std::string last;
    bool ours = false;
    for (std::size_t at = 0; text && at < text.value().size();) {
        const std::size_t end = std::min(text.value().find('\n', at), text.value().size());
        const std::string line = text.value().substr(at, end - at);
        const bool is_ours =
            line.starts_with("driftless") && !line.starts_with("driftless: warning");
        if (!line.empty() && (is_ours || !ours)) {
            last = line;
            ours = ours || is_ours;
        }
        at = end + 1;
    }
    last.resize(std::min(last.size(), why_bytes_max));
    return last;
}

std::optional<CellSummary> read_summary(const std::string& folder) {
    const Result<std::string> text = read_whole_file(folder + "/summary.json");
    if (!text) {
        return std::nullopt;
    }
    Result<CellSummary> summary = CellSummary::read(text.value());
    return summary ? std::optional(std::move(summary).value()) : std::nullopt;
}

/// The condition of --stop-when that ended the run, and those of --fail-if that hold.
std::string crossed_thresholds(const CellSummary& summary) {
    std::string crossed;
    const JsonValue stopped = summary.root().find("stopped_when").find("cond");
    if (stopped.present()) {
        crossed = "stopped when " + std::string(stopped.as_string().value_or(""));
    }
    const JsonValue all = summary.root().find("thresholds");
    for (JsonValue one = all.first(); one.present(); one = one.next()) {
        if (one.find("fails").as_bool().value_or(false)) {
            crossed += (crossed.empty() ? "" : "; ") +
                       std::string(one.find("fail_if").as_string().value_or(""));
        }
    }
    return crossed;
}

bool is_spoiled(const std::string& verdict) {
    return verdict == name_of(Verdict::client_limited) || verdict == name_of(Verdict::host_noisy) ||
           verdict == name_of(Verdict::network_limited);
}

/// A run that ended by itself and has a summary.
void judge_summed(const Cell& cell, CellEnd& end) {
    const std::string verdict = end.summary->verdict();
    const bool asked = std::find(cell.arguments.begin(), cell.arguments.end(), certified_flag) !=
                       cell.arguments.end();
    const bool uncertified =
        end.exit_code == exit_not_certified && asked && verdict != name_of(Verdict::certified);
    if (uncertified || is_spoiled(verdict)) {
        end.outcome = CellOutcome::spoiled;
        end.why = verdict + ": " + end.summary->verdict_reasons();
    } else if (end.exit_code == exit_not_certified) {
        end.outcome = CellOutcome::failed;
        end.why = "a rule of --require-rules is violated";
    } else if (end.exit_code == exit_threshold) {
        end.outcome = CellOutcome::threshold;
        end.why = crossed_thresholds(*end.summary);
    } else {
        end.outcome = CellOutcome::completed;
    }
}

CellEnd judge(const Cell& cell, const ChildEnd& ended, bool asked_to_stop) {
    CellEnd end;
    end.exit_code = ended.exit_code;
    end.signal = ended.signal;
    end.summary = read_summary(cell.folder);
    const bool ran = end.exit_code == exit_done || end.exit_code == exit_not_certified ||
                     end.exit_code == exit_threshold;
    if (end.exit_code == exit_interrupted || (asked_to_stop && end.exit_code != exit_done)) {
        end.outcome = CellOutcome::interrupted;
        end.why = "interrupted";
    } else if (ran && end.summary) {
        judge_summed(cell, end);
    } else if (ran) {
        end.why = "the run has no readable summary.json";
    } else if (end.signal != 0) {
        end.why = "the replay was killed by signal " + std::to_string(end.signal) + " (" +
                  ::strsignal(end.signal) + ")";
    } else {
        end.why = end.exit_code == exit_no_success ? "no request got a complete answer"
                                                   : last_error(cell.folder + ".stderr");
        end.why += end.why.empty() ? "exit code " + std::to_string(end.exit_code) : "";
    }
    end.why.resize(std::min(end.why.size(), why_bytes_max));
    return end;
}

}  // namespace

const char* name_of(CellOutcome outcome) {
    switch (outcome) {
        case CellOutcome::completed:
            return "completed";
        case CellOutcome::threshold:
            return "threshold";
        case CellOutcome::spoiled:
            return "spoiled";
        case CellOutcome::failed:
            return "failed";
        case CellOutcome::interrupted:
            return "interrupted";
    }
    return "";
}

CellEnd run_cell(const Cell& cell) {
    const int stops = stop_requests().load();
    if (!make_folders_above(cell.folder)) {
        return refused(cell.folder + ": its parent folder cannot be created: " +
                       reason_of(error_from_errno(errno, "make a folder")));
    }
    const Result<int> output = open_output(cell.folder + ".stdout");
    const Result<int> messages = open_output(cell.folder + ".stderr");
    ChildCommand command;
    command.program = own_program;
    command.arguments = {"driftless", "replay"};
    command.arguments.insert(command.arguments.end(), cell.arguments.begin(), cell.arguments.end());
    command.arguments.insert(command.arguments.end(), {"--out", cell.folder});
    command.environment = own_environment();
    command.output = output ? output.value() : -1;
    command.messages = messages ? messages.value() : -1;
    Result<Child> child = output && messages
                              ? Child::start(command)
                              : Result<Child>(output ? messages.error() : output.error());
    for (const Result<int>* file : {&output, &messages}) {
        if (*file) {
            (void)::close(file->value());
        }
    }
    if (!child) {
        return refused(std::string("cannot ") + child.error().doing + ": " +
                       reason_of(child.error()));
    }
    const ChildEnd ended = wait_for(child.value(), stops);
    return judge(cell, ended, stop_requests().load() > stops);
}

std::vector<std::string> cell_environment(const std::vector<CellValue>& values,
                                          const std::string& url, const std::string& name,
                                          const std::string& folder) {
    std::vector<CellValue> set = values;
    set.push_back({"cell", name});
    set.push_back({"run", folder});
    const bool varied = std::any_of(values.begin(), values.end(),
                                    [](const CellValue& one) { return one.name == "url"; });
    if (!url.empty() && !varied) {
        set.push_back({"url", url});
    }
    std::vector<std::string> names;
    for (CellValue& one : set) {
        std::string variable = "DRIFTLESS_";
        for (const char c : one.name) {
            const bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
            const bool is_small = c >= 'a' && c <= 'z';
            variable += is_small ? static_cast<char>(c - 'a' + 'A') : is_word ? c : '_';
        }
        names.push_back(variable);
        one.name = std::move(variable);
    }
    std::vector<std::string> environment = own_environment(names);
    for (const CellValue& one : set) {
        environment.push_back(one.name + "=" + one.value);
    }
    return environment;
}

}  // namespace driftless
