/// The program: one binary, one command per folder beside this file.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/calibrate/calibrate.hpp"
#include "cmd/compare/compare.hpp"
#include "cmd/convert/convert.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/find/find.hpp"
#include "cmd/inspect/inspect.hpp"
#include "cmd/mock/mock.hpp"
#include "cmd/nearest_name.hpp"
#include "cmd/process.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/report/report.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/secrets.hpp"
#include "cmd/sweep/sweep.hpp"
#include "cmd/synth/synth.hpp"
#include "cmd/version.hpp"

namespace {

using driftless::exit_done;
using driftless::exit_usage;

struct Command {
    const char* name;
    const char* help;  ///< one line
    /// `argv[0]` is the command's name. Returns the exit code.
    int (*run)(int argc, char** argv);
    bool prints = false;  ///< what it says on stdout is its result
};

/// The commands that exist, in the order in which the help lists them.
constexpr Command command_list[] = {
    {"replay", "replay a trace against a server, every request at its instant",
     &driftless::run_replay},
    {"sweep", "replay a trace once for each combination of values, with hooks between the runs",
     &driftless::run_sweep},
    {"report", "rebuild the summary of a run, also of one that was killed", &driftless::run_report,
     true},
    {"compare", "say whether one run is better than another, or whether it is chance",
     &driftless::run_compare, true},
    {"find", "find the highest load at which a server meets an SLO", &driftless::run_find},
    {"inspect", "say what is in a trace, what is wrong with it, what a cache could hit",
     &driftless::run_inspect, true},
    {"convert", "write a trace anew: another format, a part of it, more or less of it",
     &driftless::run_convert},
    {"synth", "make a workload without a recording: random, prefix, chat, agents, stress, like",
     &driftless::run_synth},
    {"calibrate", "measure what this host can promise, for the verdict of a replay",
     &driftless::run_calibrate},
    {"mock", "serve as an inference server to rehearse against", &driftless::run_mock},
};
std::span<const Command> commands() {
    return command_list;
}

void print_help(std::FILE* out) {
    std::fputs(
        "Replays the request traces of LLM services against an inference server, on time.\n\n"
        "Usage: driftless COMMAND [FLAGS]\n\nCommands:\n",
        out);
    for (const Command& command : commands()) {
        std::fprintf(out, "  %-10s %s\n", command.name, command.help);
    }
    std::fputs(
        "\n  --version  print the version and exit (-V, version)\n"
        "  --help     print this and exit (-h, help); `driftless COMMAND --help` lists its flags\n",
        out);
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands()) {
        if (name == command.name) {
            return &command;
        }
    }
    return nullptr;
}

/// A flag that is typed without a command is most often one of replay's.
int refuse(const std::string& typed) {
    if (typed.starts_with("-")) {
        const std::string flag = typed.substr(0, typed.find('='));  // the value may be a key
        std::fprintf(stderr,
                     "driftless: flag '%s' needs a command before it, as in driftless replay %s "
                     "(see driftless --help)\n",
                     flag.c_str(), flag.c_str());
        return exit_usage;
    }
    std::vector<std::string> names{"help", "version"};
    for (const Command& command : commands()) {
        names.emplace_back(command.name);
    }
    const std::string nearest = driftless::nearest_name(typed, names);
    std::fprintf(stderr, "driftless: unknown command '%s'%s (see driftless --help)\n",
                 driftless::mask_command({typed}).front().c_str(),
                 nearest.empty() ? "" : ("; did you mean " + nearest + "?").c_str());
    return exit_usage;
}

/// `driftless help`, `driftless help COMMAND`.
int help(int argc, char** argv) {
    if (argc < 3) {
        print_help(stdout);
        return exit_done;
    }
    const Command* command = find_command(argv[2]);
    if (command == nullptr) {
        return refuse(argv[2]);
    }
    std::string flag = "--help";
    char* arguments[] = {argv[2], flag.data(), nullptr};
    return command->run(2, arguments);
}

/// A result that is not on stdout whole has not been given.
int check_printed(int code) {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    const int reason = flushed ? 0 : errno;
    if (flushed && std::ferror(stdout) == 0) {
        return code;
    }
    std::fprintf(stderr, "driftless: standard output could not be written%s%s\n",
                 reason != 0 ? ": " : "", reason != 0 ? std::strerror(reason) : "");
    return code == exit_done ? driftless::exit_host : code;
}

int run(const Command& command, int argc, char** argv) {
    const int code = command.run(argc, argv);
    return command.prints ? check_printed(code) : code;
}

}  // namespace

int main(int argc, char** argv) {
    if (!driftless::settle_process()) {
        return driftless::exit_host;
    }
    driftless::guard_screens();
    if (argc < 2) {
        print_help(stderr);
        return exit_usage;
    }
    const std::string_view name = argv[1];
    if (name == "--help" || name == "-h" || name == "help") {
        return check_printed(help(argc, argv));
    }
    if (name == "--version" || name == "-V" || name == "version") {
        std::printf("driftless %s\n", driftless::version());
        return check_printed(exit_done);
    }
    const Command* command = find_command(name);
    return command != nullptr ? run(*command, argc - 1, argv + 1) : refuse(argv[1]);
}
