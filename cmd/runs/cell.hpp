/// One cell of a sweep or a search: a `driftless replay` as a child process, its summary, the
/// user's hooks around it; and what makes sweep and find go on after a kill: where they began, the
/// traces as they were, unfinished tries.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/run_folder.hpp"
#include "cmd/base/values.hpp"
#include "cmd/replay/invocation.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/json/document.hpp"
#include "proto/json/members.hpp"

namespace driftless {

/// CellSummary: the figures of a cell, from the `summary.json` of its run, by the names that
/// thresholds have ("ttft:p99"). Pure; owns the text.
class CellSummary {
  public:
    /// Errors: bad_json, where the text is no JSON object.
    static Result<CellSummary> read(const std::string& text);

    /// Valid as long as this is, also when it is moved. Keys: proto/figures/README.md.
    JsonValue root() const { return json_.root; }

    /// What `which` asks for: ns for a time, a share from 0 to 1, a number. Nothing where nobody
    /// measured it. The bound of `which` does not count.
    std::optional<double> figure(const Threshold& which) const { return value_of(which, root()); }

    /// How far the client may have moved that figure, down and up; ns. Nothing: that is not known,
    /// or it is no time.
    std::optional<ErrorBar> error_bar(const Threshold& which) const;

    /// Whether the run says that the cache was warm before its first row; nothing: it says nothing.
    std::optional<bool> warm() const;
    /// Name of the verdict, and its reasons; empty where there are none.
    std::string verdict() const { return kept_text(root().find("verdict").find("name")); }
    std::string verdict_reasons() const;

  private:
    ParsedJson json_;
};

// One cell: an ordinary `driftless replay` as a child process, with a run folder of its own, from
// its start to what came of it. `sweep` and `find` play their cells through this and nothing else.
// Prints nothing; needs `count_stop_requests` to have been called.
//
// Beside the run folder `DIR` are `DIR.stdout` and `DIR.stderr`: what the replay said.

/// A value that a cell sets: a flag of replay without its dashes ("speed"), or any other name that
/// hooks know.
struct CellValue {
    std::string name;
    std::string value;

    std::string text() const { return name + "=" + value; }
};

struct Cell {
    std::vector<std::string> arguments;  ///< of `driftless replay`, all but --out
    std::string folder;                  ///< of the run: nothing may be there
};

enum class CellOutcome : std::uint8_t {
    completed,    ///< exit code 0, and the client did not spoil it
    threshold,    ///< exit code 8: a --fail-if holds, or a --stop-when did
    spoiled,      ///< the client, the host or the network did (the verdict), or exit code 6 for it
    failed,       ///< any other exit code, or a signal
    interrupted,  ///< exit code 130, or the user asked to stop
};
template <>
inline constexpr auto closed_list<CellOutcome> =
    name_list("completed", "threshold", "spoiled", "failed", "interrupted");

/// Whether a verdict, by its name, blames somebody else than the server.
bool is_spoiled(const std::string& verdict);

struct CellEnd {
    CellOutcome outcome = CellOutcome::failed;
    std::string why;     ///< one line; empty: completed
    int exit_code = -1;  ///< of the replay; -1: it was not started, or a signal ended it
    int signal = 0;      ///< ... this one; 0: none
    std::optional<CellSummary> summary = {};  ///< none where the run wrote none
};

/// Runs a cell to its end. The first two requests to stop (SIGINT, SIGTERM, SIGHUP) that come while
/// it runs are passed on to the replay: at the first it drains, at the second it cancels. Makes the
/// folders above the run folder. If the host refuses something, the cell has failed, too.
CellEnd run_cell(const Cell& cell);

/// The environment of a cell's hooks: ours, and DRIFTLESS_SPEED=2 for the value "speed", dashes as
/// underscores; DRIFTLESS_URL where there is one; DRIFTLESS_RUN, its run's folder; DRIFTLESS_CELL,
/// the name of that folder.
std::vector<std::string> cell_environment(const std::vector<CellValue>& values,
                                          const std::string& url, const std::string& folder);

// Hooks: the user's shell commands around a cell, for example to start a server, to wait until it
// is ready, to stop it. Each has a time limit; at the limit its whole process group is killed. A
// process that a hook leaves in the background when it ends keeps running: that is how a hook
// starts a server. Prints nothing.

struct Hook {
    const char* name = "";                  ///< for messages: before, ready, after. Static storage
    std::string command;                    ///< for `/bin/sh -c`; empty: there is none
    std::int64_t limit_ns = 0;              ///< more than 0
    std::vector<std::string> secrets = {};  ///< that its output may not show
};

enum class HookOutcome : std::uint8_t {
    done,       ///< exit code 0, or there is no such hook
    failed,     ///< another exit code, a signal, or it could not be started
    timed_out,  ///< killed at its limit; or not ready before it
    stopped,    ///< killed because the user asked to stop
};

struct HookEnd {
    HookOutcome outcome = HookOutcome::done;
    std::string what;    ///< "before: exit code 3"; empty: done
    std::string output;  ///< name of the file with its output; empty: there is none
    std::string said;    ///< the last lines of that output

    /// "before: exit code 3 (its output: before.txt)"
    std::string why() const {
        return output.empty() ? what : what + " (its output: " + output + ")";
    }
};

/// Gets what a hook has said so far.
using TellHook = std::function<void(const HookEnd&)>;

/// Runs the hook to its end. Its stdout and stderr go to the file `output`, which is made anew; a
/// process in the background may write there later. `stops` is how often the user has asked to stop
/// so far (`stop_requests`): one more ends the hook. Where it runs for 4 s, `tell` is called once,
/// with what it has said.
HookEnd run_hook(
    const Hook& hook, const std::vector<std::string>& environment, const std::string& output,
    int stops, const TellHook& tell = [](const HookEnd&) {});

/// Runs the hook repeatedly, with pauses of 0.5 s, until its exit code is 0 or its limit has
/// passed. One try takes at most 30 s. `output` has what the last try printed. Where it is not
/// ready after 4 s, `tell` is called once, with the last try that has ended, or the first one.
HookEnd run_until_ready(
    const Hook& hook, const std::vector<std::string>& environment, const std::string& output,
    int stops, const TellHook& tell = [](const HookEnd&) {});

/// Writes stars over all bytes of secrets in a file that others may still append to.
void mask_output(const std::string& path, const std::vector<std::string>& secrets);

/// Waits. Returns false at once if the user asks to stop.
bool pause_ns(std::int64_t ns, int stops);

// What a sweep or a search that is resumed must find again: the files of its traces, byte for
// byte. Cells of two traces in one table would be compared as if they were of one.

/// A trace as it was at the beginning.
struct KeptTrace {
    std::string path;    ///< as it was typed
    std::string digest;  ///< of its bytes, 16 hex digits
};
void walk(auto& fields, IsOf<KeptTrace> auto& kept) {
    fields.value("path", 1, kept.path);
    fields.value("digest", 1, kept.digest);
}

/// Digests of the traces at these paths, each of them once: of a file, or of all files of a
/// directory with their names. Errors: those of reading; `path` says of which.
Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path);

/// The path of the first of `kept` that has changed or cannot be read; empty: none.
std::string changed_trace(const std::vector<KeptTrace>& kept);

// What `sweep` and `find` both do before they resume after a kill: return to the folder where they
// began, set aside what an unfinished try left, and wait for a replay that still writes.

/// Anything is at that path, a link that leads nowhere too.
bool is_there(const std::string& path);

/// The path unchanged if it cannot be resolved.
std::string absolute_path(const std::string& path);

/// Changes to the folder in which the cells began (empty: stays), because paths and hooks are
/// relative to it, and checks that the traces have not changed. Returns why the cells cannot go on,
/// or the empty text.
std::string go_home(const std::string& home, const std::vector<KeptTrace>& traces);

/// The folder of a sweep or a search that is to go on, ours as long as this lives.
struct KeptFolder {
    FolderLock lock;
    std::string text;  ///< of its file, find.json or sweep.json
};
/// Takes a folder for `command`, "find" or "sweep", which goes on with `what`, "a search". Prints
/// why it cannot.
OrExit<KeptFolder> take_kept_folder(const std::string& command, const char* what,
                                    const std::string& folder);
/// The lock alone.
OrExit<FolderLock> lock_folder(const std::string& command, const std::string& folder);

/// Prints why a command cannot begin or go on, and returns the exit code.
int refuse_cells(const std::string& command, const std::string& why, int code);

/// Waits for the replay of a process that was killed: it dies with it, or drains for a while.
/// Returns `exit_done` once nobody writes the run; `exit_interrupted` if the user asks to stop;
/// `exit_usage` if its replay still does after 10 s, which is printed: `what` ("sweep") cannot go
/// on.
int wait_for_orphan(const std::string& command, const char* what, const std::string& run_folder);

/// Renames what an unfinished try left to NAME.cut-1, or to the next number that is free. Returns
/// the new name; empty if nothing was there. Errors: exists; those of rename.
Result<std::string> set_aside(const std::string& folder, const std::string& name);

/// The names of all that was set aside of `name`, in order.
std::vector<std::string> cuts_of(const std::string& folder, const std::string& name);

/// Frees the shared memory (engine/history/fired_marks.hpp) of unfinished tries, once another try
/// has taken their place and has ended. Their files stay.
void forget_marks(const std::string& folder, const std::vector<std::string>& cuts);

}  // namespace driftless
