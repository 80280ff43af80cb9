#include "cmd/convert/convert.hpp"

#include <cstdio>

#include "cmd/convert/from_logs.hpp"
#include "cmd/convert/options.hpp"
#include "cmd/convert/run_trace.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/load_values.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/trace_errors.hpp"
#include "cmd/write_trace.hpp"

namespace driftless {

namespace {

/// One conversion. What a person should know goes to standard output, or to standard error where
/// the trace goes there.
class Conversion {
  public:
    explicit Conversion(const ConvertOptions& options)
        : options_(options), say_(options.out == "-" ? stderr : stdout) {}

    int run() {
        int code = refuse_existing_file("--out", options_.out);
        code = code == exit_done ? read() : code;
        code = code == exit_done ? select() : code;
        return code == exit_done ? write() : code;
    }

  private:
    int read();
    int select();
    int write();
    void say(const char* topic, const std::vector<std::string>& lines) const;

    const ConvertOptions& options_;
    std::FILE* say_;
    Trace trace_;
    std::vector<WrittenRow> rows_;
};

void Conversion::say(const char* topic, const std::vector<std::string>& lines) const {
    for (const std::string& line : lines) {
        std::fprintf(say_, "%s: %s\n", topic, line.c_str());
    }
}

int Conversion::read() {
    InputErrors errors;
    std::vector<std::string> notes;
    if (options_.logs.wanted) {
        const int code = read_from_logs(options_, trace_, errors, notes);
        say("logs", notes);
        print_errors(errors);
        return code;
    }
    if (options_.files.paths.size() == 1 && is_run_folder(options_.files.paths[0])) {
        const int code = read_run_trace(options_.files.paths[0], trace_, notes);
        say("run", notes);
        return code;
    }
    const bool usable = read_trace(options_.files, trace_, errors, notes);
    say("trace", notes);
    print_errors(errors);
    return usable ? exit_done : exit_input;
}

int Conversion::select() {
    Result<LoadedTrace> load = apply_load(options_.load, std::move(trace_));
    if (!load) {
        complain("driftless: %s", load_refusal(load.error()));
        return exit_input;
    }
    trace_ = std::move(load.value().trace);
    say("load", load_notes(load.value().figures));
    const Result<Plan> plan = make_plan(trace_, options_.plan);
    if (!plan) {
        complain("driftless: %s or --limit", nothing_selected(trace_).c_str());
        return exit_input;
    }
    for (const Planned& one : plan.value().rows) {
        rows_.push_back({one.row, one.due_ns});
    }
    for (Dependency& one : trace_.dependencies) {
        one.delay_ns = due_of(one.delay_ns, options_.plan.speed);
    }
    return exit_done;
}

int Conversion::write() {
    return write_trace(trace_, *options_.target, std::move(rows_), options_.out, say_);
}

}  // namespace

int run_convert(int argc, char** argv) {
    const ConvertCommandLine line =
        parse_convert_options(std::vector<std::string>(argv + 1, argv + argc));
    if (line.kind == ConvertCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == ConvertCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    return Conversion(line.options).run();
}

}  // namespace driftless
