#include "cmd/runs/cell.hpp"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/base/values.hpp"
#include "engine/base/time.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/host/threads.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/verdict.hpp"

namespace driftless {

static constexpr double summary_ns_per_ms = 1e6;

Result<CellSummary> CellSummary::read(const std::string& text) {
    CellSummary summary;
    summary.json_ = ParsedJson(text);
    if (!summary.root().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read summary.json"};
    }
    return summary;
}

std::optional<ErrorBar> CellSummary::error_bar(const Threshold& which) const {
    CHECK(which.figure != nullptr);
    // By definition it counts how late we sent; how late we read is as wrong in it.
    const std::string_view figure = which.figure->name == "ttft_due" ? "ttft" : which.figure->key;
    const bool is_time = which.figure->unit == FigureUnit::time;
    const JsonValue errors = root().find("client_error");
    const JsonValue bar = is_time
                              ? errors.find(std::string(figure) + "_ms").find(which.statistic->name)
                              : errors.find(figure);
    const double unit = is_time ? summary_ns_per_ms : 1;
    const auto below = bar.find("below").as_double();
    const auto above = bar.find("above").as_double();
    return below && above ? std::optional(ErrorBar{*below * unit, *above * unit}) : std::nullopt;
}

std::optional<bool> CellSummary::warm() const {
    const JsonValue warm = root().find("warm_cache");
    return warm.is(JsonType::object) ? warm.find("warm").as_bool() : warm.as_bool();
}

std::string CellSummary::verdict_reasons() const {
    return joined(texts_of(root().find("verdict").find("reasons")), "; ");
}

static constexpr std::int64_t wait_ns = 1'000'000'000;
static constexpr std::size_t why_bytes_max = 500;
static constexpr const char* certified_flag = "--require-certified";

/// Passes on each request to stop that has come since the last time. A replay that drains, or hangs
/// at its disk, is ended by the user: the third request ends us, and the kernel it.
static ChildEnd wait_for(Child& child, int seen) {
    while (true) {
        if (const std::optional<ChildEnd> end = child.wait(wait_ns); end) {
            return *end;
        }
        for (const int asked = stop_requests().load(); seen < asked; ++seen) {
            child.signal(SIGTERM);
        }
    }
}

/// The last line that is an error of ours; else the last one that is not empty.
static std::string last_error(const std::string& path) {
    const Result<std::string> text = read_whole_file(path);
    std::istringstream lines(text ? text.value() : "");
    std::string last;
    bool ours = false;
    for (std::string line; std::getline(lines, line);) {
        const bool is_ours =
            line.starts_with("driftless") && !line.starts_with("driftless: warning");
        if (!line.empty() && (is_ours || !ours)) {
            last = line;
            ours = ours || is_ours;
        }
    }
    last.resize(std::min(last.size(), why_bytes_max));
    return last;
}

static std::optional<CellSummary> read_summary(const std::string& folder) {
    const Result<std::string> text = read_whole_file(folder + "/summary.json");
    if (!text) {
        return std::nullopt;
    }
    Result<CellSummary> summary = CellSummary::read(text.value());
    return summary ? std::optional(std::move(summary).value()) : std::nullopt;
}

/// The condition of --stop-when that ended the run, and those of --fail-if that hold.
static std::string crossed_thresholds(const CellSummary& summary) {
    std::vector<std::string> crossed;
    const JsonValue stopped = summary.root().find("stopped_when").find("cond");
    if (stopped.present()) {
        crossed.push_back("stopped when " + kept_text(stopped));
    }
    const JsonValue all = summary.root().find("thresholds");
    for (JsonValue one = all.first(); one.present(); one = one.next()) {
        if (one.find("fails").as_bool().value_or(false)) {
            crossed.push_back(kept_text(one.find("fail_if")));
        }
    }
    return joined(crossed, "; ");
}

/// A run that ended by itself and has a summary.
static void judge_summed(const Cell& cell, CellEnd& end) {
    const std::string verdict = end.summary->verdict();
    const bool asked = std::ranges::find(cell.arguments, certified_flag) != cell.arguments.end();
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

static CellEnd judge(const Cell& cell, const ChildEnd& ended, bool asked_to_stop) {
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

bool is_spoiled(const std::string& verdict) {
    return verdict == name_of(Verdict::client_limited) || verdict == name_of(Verdict::host_noisy) ||
           verdict == name_of(Verdict::network_limited);
}

CellEnd run_cell(const Cell& cell) {
    const int stops = stop_requests().load();
    if (!make_folders_above(cell.folder)) {
        return {.why = cell.folder + ": its parent folder cannot be created: " +
                       reason_of(error_from_errno(errno, "make a folder"))};
    }
    const Result<Fd> output = open_output(cell.folder + ".stdout");
    const Result<Fd> messages = open_output(cell.folder + ".stderr");
    ChildCommand command;
    command.program = own_program;
    command.arguments = {"driftless", "replay"};
    command.arguments.insert(command.arguments.end(), cell.arguments.begin(), cell.arguments.end());
    command.arguments.insert(command.arguments.end(), {"--out", cell.folder});
    command.environment = own_environment();
    command.output = output ? output.value().number() : -1;
    command.messages = messages ? messages.value().number() : -1;
    Result<Child> child = output && messages
                              ? Child::start(command)
                              : Result<Child>(output ? messages.error() : output.error());
    if (!child) {
        return {.why = failed_text(child.error())};
    }
    const ChildEnd ended = wait_for(child.value(), stops);
    return judge(cell, ended, stop_requests().load() > stops);
}

std::vector<std::string> cell_environment(const std::vector<CellValue>& values,
                                          const std::string& url, const std::string& folder) {
    std::vector<CellValue> set = values;
    set.push_back({"cell", folder.substr(folder.rfind('/') + 1)});
    set.push_back({"run", folder});
    const bool varied = std::ranges::count(values, "url", &CellValue::name) > 0;
    if (!url.empty() && !varied) {
        set.push_back({"url", url});
    }
    std::vector<std::string> names;
    for (CellValue& one : set) {
        std::string variable = "DRIFTLESS_";
        for (const char letter : one.name) {
            const auto c = static_cast<unsigned char>(letter);
            variable += std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_';
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

static constexpr std::int64_t ns_per_second = 1'000'000'000;
// What is asked to end may have a server to stop.
static constexpr std::int64_t end_grace_ns = 2 * ns_per_second;
static constexpr std::int64_t ns_per_ms = 1'000'000;
static constexpr std::int64_t try_ns_max = 30 * ns_per_second;
static constexpr std::int64_t try_pause_ns = ns_per_second / 2;
static constexpr std::int64_t tell_ns = 4 * ns_per_second;
static constexpr std::size_t said_bytes_max = 4096;

static bool asked_to_stop(int stops) {
    return stop_requests().load() > stops;
}

/// Ends a group that is over its time: asked first, then killed.
static void end_group(Child& child) {
    child.signal_group(SIGTERM);
    const std::int64_t end = monotonic_ns() + end_grace_ns;
    while (monotonic_ns() < end && !child.wait(end - monotonic_ns())) {
    }
    child.signal_group(SIGKILL);  // those who did not listen, the leader or others
}

/// Of a file that may be long and still grow.
static std::string last_lines_in(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff bytes = file.tellg();
    const std::streamoff begin =
        std::max<std::streamoff>(bytes - std::streamoff{said_bytes_max}, 0);
    file.seekg(begin);
    std::string text(static_cast<std::size_t>(std::max<std::streamoff>(bytes - begin, 0)), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    return last_lines(text);
}

static HookEnd explain(const Hook& hook, HookOutcome outcome, const std::string& what,
                       const std::string& output) {
    mask_output(output, hook.secrets);
    return {outcome, std::string(hook.name) + ": " + what, output.substr(output.rfind('/') + 1),
            last_lines_in(output)};
}

static HookEnd judge(const Hook& hook, const ChildEnd& end, const std::string& output) {
    if (end.exit_code == 0) {
        mask_output(output, hook.secrets);
        return {};
    }
    const std::string what = end.signal != 0 ? "killed by signal " + std::to_string(end.signal)
                                             : "exit code " + std::to_string(end.exit_code);
    return explain(hook, HookOutcome::failed, what, output);
}

/// `run_hook`; `look` is called several times a second.
static HookEnd run_looking(const Hook& hook, const std::vector<std::string>& environment,
                           const std::string& output, int stops,
                           const std::function<void()>& look) {
    if (hook.command.empty()) {
        return {};
    }
    const Result<Fd> file = open_output(output);
    if (!file) {
        return {
            HookOutcome::failed,
            std::string(hook.name) + ": cannot write " + output + ": " + reason_of(file.error()),
            "", ""};
    }
    ChildCommand command;
    command.program = "/bin/sh";
    command.arguments = {"sh", "-c", hook.command};
    command.environment = environment;
    command.output = command.messages = file.value().number();
    Result<Child> child = Child::start(command);
    if (!child) {
        return explain(hook, HookOutcome::failed,
                       "/bin/sh cannot be started: " + reason_of(child.error()), output);
    }
    const std::int64_t end = monotonic_ns() + hook.limit_ns;
    while (monotonic_ns() < end && !asked_to_stop(stops)) {
        if (const std::optional<ChildEnd> ended = child.value().wait(end - monotonic_ns()); ended) {
            return judge(hook, *ended, output);
        }
        look();
    }
    end_group(child.value());
    return asked_to_stop(stops)
               ? explain(hook, HookOutcome::stopped, "stopped by the user", output)
               : explain(hook, HookOutcome::timed_out,
                         "killed at its time limit of " + duration_to_text(hook.limit_ns), output);
}

/// Once called `tell_ns` from now or later, it calls `tell`, and never again. Refers to all of
/// them.
static auto late_teller(const Hook& hook, const std::string& output, const TellHook& tell) {
    return [&, begin = monotonic_ns(), told = false](const HookEnd& last) mutable {
        if (!told && monotonic_ns() - begin >= tell_ns) {
            told = true;
            tell(last.outcome != HookOutcome::done
                     ? last
                     : explain(hook, HookOutcome::failed, "still running", output));
        }
    };
}

HookEnd run_hook(const Hook& hook, const std::vector<std::string>& environment,
                 const std::string& output, int stops, const TellHook& tell) {
    auto late = late_teller(hook, output, tell);
    return run_looking(hook, environment, output, stops, [&late] { late({}); });
}

HookEnd run_until_ready(const Hook& hook, const std::vector<std::string>& environment,
                        const std::string& output, int stops, const TellHook& tell) {
    const std::int64_t end = monotonic_ns() + hook.limit_ns;
    HookEnd last;
    auto late = late_teller(hook, output, tell);
    const auto look = [&] { late(last); };
    do {
        look();
        Hook one = hook;
        const std::int64_t left_ms = (end - monotonic_ns() + ns_per_ms - 1) / ns_per_ms;
        one.limit_ns = std::clamp<std::int64_t>(left_ms * ns_per_ms, ns_per_ms, try_ns_max);
        last = run_looking(one, environment, output, stops, look);
        if (last.outcome == HookOutcome::done || last.outcome == HookOutcome::stopped) {
            return last;
        }
    } while (monotonic_ns() + try_pause_ns < end && pause_ns(try_pause_ns, stops));
    if (asked_to_stop(stops)) {
        return explain(hook, HookOutcome::stopped, "stopped by the user", output);
    }
    last.what = "not ready within " + duration_to_text(hook.limit_ns) +
                "; last try: " + (last.outcome == HookOutcome::failed ? last.what : "did not end");
    last.outcome = HookOutcome::timed_out;
    return last;
}

void mask_output(const std::string& path, const std::vector<std::string>& secrets) {
    constexpr std::size_t window_bytes = 1 << 20;  // a log may be long
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string window;
    for (const std::string& secret : secrets) {
        std::streamoff begin = 0;
        do {  // ends: the file does, and each turn goes on behind the last one
            window.resize(window_bytes + secret.size());
            file.clear();
            file.seekg(begin);
            file.read(window.data(), static_cast<std::streamsize>(window.size()));
            file.clear();
            window.resize(static_cast<std::size_t>(file.gcount()));
            for (std::size_t at = window.find(secret); at != window.npos;
                 at = window.find(secret, at + secret.size())) {
                file.seekp(begin + static_cast<std::streamoff>(at));
                file << std::string(secret.size(), '*');
            }
            begin += std::streamoff{window_bytes};
        } while (window.size() > window_bytes);
    }
}

bool pause_ns(std::int64_t ns, int stops) {
    const std::int64_t end = monotonic_ns() + ns;
    while (!asked_to_stop(stops)) {
        // A signal that comes just before a sleep does not end it, so that none is long.
        const std::int64_t left = std::min<std::int64_t>(end - monotonic_ns(), ns_per_second / 5);
        if (left <= 0) {
            return true;
        }
        const timespec time{left / ns_per_second, left % ns_per_second};
        (void)::nanosleep(&time, nullptr);
    }
    return false;
}

/// Whatever is no regular file would be used up by reading it; it adds nothing.
static Result<void> add_file(const std::string& path, Xxh64& digest) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) {
        return error_from_errno(errno, "open the trace");
    }
    if (!S_ISREG(facts.st_mode)) {
        return {};
    }
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return error_from_errno(errno, "open the trace");
    }
    std::string bytes(1 << 20, '\0');
    ssize_t count = 0;
    while ((count = ::read(file.number(), bytes.data(), bytes.size())) > 0 ||
           (count < 0 && errno == EINTR)) {
        digest.add(
            std::string_view(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
    }
    return count < 0 ? Result<void>(error_from_errno(errno, "read the trace")) : Result<void>();
}

static Result<KeptTrace> keep_trace(const std::string& path) {
    const Result<std::vector<std::string>> files = expand_path(path);
    if (!files) {
        return files.error();
    }
    Xxh64 digest;
    for (const std::string& file : files.value()) {
        digest.add(file == path ? "" : file);
        if (const Result<void> added = add_file(file, digest); !added) {
            return added.error();
        }
    }
    return KeptTrace{path, hex_text(digest.value())};
}

Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path) {
    std::vector<KeptTrace> kept;
    for (const std::string& one : paths) {
        const auto is_one = [&one](const KeptTrace& known) { return known.path == one; };
        if (std::ranges::any_of(kept, is_one)) {
            continue;
        }
        Result<KeptTrace> trace = keep_trace(one);
        if (!trace) {
            path = one;
            return trace.error();
        }
        kept.push_back(std::move(trace).value());
    }
    return kept;
}

std::string changed_trace(const std::vector<KeptTrace>& kept) {
    for (const KeptTrace& one : kept) {
        const Result<KeptTrace> now = keep_trace(one.path);
        if (!now || now.value().digest != one.digest) {
            return one.path;
        }
    }
    return "";
}

static constexpr const char* cut_suffix = ".cut-";
static constexpr int cuts_max = 1000;
static constexpr const char* aside = "rename the folder of an interrupted cell";

bool is_there(const std::string& path) {
    struct stat facts{};
    return ::lstat(path.c_str(), &facts) == 0;
}

std::string absolute_path(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr),
                                                       &std::free);
    return found != nullptr ? found.get() : path;
}

std::string go_home(const std::string& home, const std::vector<KeptTrace>& traces) {
    if (!home.empty() && ::chdir(home.c_str()) != 0) {
        return "it was started in " + home + ": " +
               reason_of(error_from_errno(errno, "enter that folder"));
    }
    const std::string changed = changed_trace(traces);
    return changed.empty()
               ? ""
               : changed +
                     " has changed since the start; restore the original trace, or start again";
}

int refuse_cells(const std::string& command, const std::string& why, int code) {
    complain("driftless %s: %s", command.c_str(), why.c_str());
    return code;
}

OrExit<FolderLock> lock_folder(const std::string& command, const std::string& folder) {
    Result<FolderLock> lock = FolderLock::take(folder);
    if (lock) {
        return std::move(lock).value();
    }
    return lock.error().code == ErrorCode::exists
               ? refuse_cells(command,
                              folder + ": another driftless " + command +
                                  " is running there; wait until it ends",
                              exit_usage)
               : fail_host(folder.c_str(), lock.error());
}

OrExit<KeptFolder> take_kept_folder(const std::string& command, const char* what,
                                    const std::string& folder) {
    const std::string path = folder + "/" + command + ".json";
    if (!is_there(path)) {
        return refuse_cells(command,
                            "--resume " + folder + ": not the folder of " + what + ": it has no " +
                                command + ".json; name one that has",
                            exit_usage);
    }
    OrExit<FolderLock> lock = lock_folder(command, folder);
    if (!lock) {
        return lock.exit_code();
    }
    Result<std::string> text = read_whole_file(path);
    if (!text) {
        return refuse_cells(command, path + " cannot be read: " + reason_of(text.error()),
                            exit_input);
    }
    return KeptFolder{std::move(lock).value(), std::move(text).value()};
}

int wait_for_orphan(const std::string& command, const char* what, const std::string& run_folder) {
    constexpr int tries = 50;
    constexpr std::int64_t pause = 200'000'000;
    for (int i = 0; i < tries; ++i) {
        const Result<FolderLock> lock = FolderLock::take(run_folder);
        if (lock || lock.error().code != ErrorCode::exists) {
            return exit_done;
        }
        if (!pause_ns(pause, 0)) {
            return exit_interrupted;
        }
    }
    return refuse_cells(
        command, run_folder + ": its replay is still running; stop it, then resume the " + what,
        exit_usage);
}

Result<std::string> set_aside(const std::string& folder, const std::string& name) {
    const std::string place = folder + "/" + name;
    if (!is_there(place)) {
        return std::string();
    }
    for (int number = 1; number <= cuts_max; ++number) {
        std::string kept = name + cut_suffix + std::to_string(number);
        if (is_there(folder + "/" + kept)) {
            continue;
        }
        if (std::rename(place.c_str(), (folder + "/" + kept).c_str()) != 0) {
            return error_from_errno(errno, aside);
        }
        return kept;
    }
    return Error{ErrorCode::exists, 0, aside};
}

std::vector<std::string> cuts_of(const std::string& folder, const std::string& name) {
    std::vector<std::string> cuts;
    for (int number = 1; number <= cuts_max; ++number) {
        std::string cut = name + cut_suffix + std::to_string(number);
        if (!is_there(folder + "/" + cut)) {
            break;
        }
        cuts.push_back(std::move(cut));
    }
    return cuts;
}

void forget_marks(const std::string& folder, const std::vector<std::string>& cuts) {
    for (const std::string& cut : cuts) {
        RunFacts facts;
        if (!read_run(folder + "/" + cut, facts).empty() || facts.ended) {
            continue;  // a run that closed its books has none
        }
        for (const RunSegment& segment : facts.segments) {
            FiredMarks::remove(segment.run_id);
        }
    }
}

}  // namespace driftless
