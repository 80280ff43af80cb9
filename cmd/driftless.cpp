/// The program: one binary, one command per folder beside this file.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/synth_values.hpp"
#include "cmd/help/help.hpp"
#include "cmd/host/host.hpp"
#include "cmd/mock/mock.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/report/report.hpp"
#include "cmd/runs/compare.hpp"
#include "cmd/runs/find.hpp"
#include "cmd/runs/merge.hpp"
#include "cmd/runs/sweep.hpp"
#include "cmd/trace/trace.hpp"

namespace {

using driftless::Command;
using driftless::exit_done;
using driftless::exit_usage;

}  // namespace

/// The commands that exist, in the order in which the help lists them.
static constexpr Command command_list[] = {
    {"replay", "replay a trace against a server, every request at its recorded instant",
     &driftless::run_replay},
    {"sweep", "replay a trace once per combination of values, with hooks between runs",
     &driftless::run_sweep},
    {"report", "rebuild the summary of a run, even if it was killed", &driftless::run_report},
    {"merge", "make one run of the runs of all shards of a replay", &driftless::run_merge},
    {"compare", "tell whether B is better than A, or differs by chance", &driftless::run_compare},
    {"find", "find the highest load at which a server meets an SLO", &driftless::run_find},
    {"inspect", "describe a trace: contents, faults, possible cache hits", &driftless::run_inspect},
    {"convert", "rewrite a trace: another format, a part of it, more or less load",
     &driftless::run_convert},
    {"synth", "make a synthetic workload: random, prefix, chat, agents, stress, like",
     &driftless::run_synth, &driftless::synth_kinds},
    {"calibrate", "measure this host's precision, for the verdict of a replay",
     &driftless::run_calibrate},
    {"doctor", "check what a replay needs from this host, with remedies", &driftless::run_doctor},
    {"mock", "run a mock inference server to rehearse against", &driftless::run_mock},
};
static std::span<const Command> commands() {
    return command_list;
}

/// As under `| head -1`: nobody wants more.
static bool reader_has_gone() {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/// What could not be printed was not given, be it a result, help, or where the files of a run are.
/// Every command ends here: its files are written by then.
static int check_printed(int code) {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    const int reason = flushed ? 0 : errno;
    if ((flushed && std::ferror(stdout) == 0) || reader_has_gone()) {
        return code;
    }
    const std::string_view why = driftless::stdout_was_closed() ? "it is closed"
                                 : reason != 0                  ? std::strerror(reason)
                                                                : "";
    driftless::complain(
        "driftless: standard output could not be written%s%.*s; files that the command "
        "writes are not affected; redirect the output to a file with room, or to "
        "/dev/null",
        why.empty() ? "" : ": ", static_cast<int>(why.size()), why.data());
    return code == exit_done ? driftless::exit_host : code;
}

/// `driftless replay help`, unless a trace has that name.
static bool asks_for_help(std::span<char*> behind) {
    return behind.size() == 1 && std::string_view(behind[0]) == "help" &&
           ::access("help", F_OK) != 0;
}

int main(int argc, char** argv) {
    if (!driftless::settle_process()) {
        return driftless::exit_host;
    }
    driftless::guard_screens();
    if (argc < 2) {
        driftless::print_help(commands(), stderr);
        return exit_usage;
    }
    const std::string_view name = argv[1];
    const std::span<char*> behind(argv + 2, argv + argc);
    if (name == "--help" || name == "-h" || name == "help") {
        return check_printed(driftless::run_help(commands(), driftless::build_facts(), behind));
    }
    if (name == "--version" || name == "-V" || name == "version") {
        return check_printed(driftless::run_version(driftless::build_facts(), behind));
    }
    if (name == "completion") {
        return check_printed(driftless::run_completion(commands(), behind));
    }
    const Command* command = driftless::find_command(commands(), name);
    if (command != nullptr && asks_for_help(behind)) {
        return check_printed(
            driftless::run_help(commands(), driftless::build_facts(), {argv + 1, 1}));
    }
    return command != nullptr ? check_printed(command->run(argc - 1, argv + 1))
                              : driftless::refuse_command(commands(), argv[1]);
}
