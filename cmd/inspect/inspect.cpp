#include "cmd/inspect/inspect.hpp"

#include <malloc.h>
#include <sys/stat.h>

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/inspect/options.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/screen/inspect_table.hpp"
#include "cmd/trace_errors.hpp"
#include "engine/input/paths.hpp"
#include "engine/input/sink.hpp"
#include "engine/inspect/hash_block_report.hpp"

namespace driftless {

namespace {

/// One inspection. What a person should know goes to standard output, or to standard error where
/// JSON goes there.
class Inspection {
  public:
    explicit Inspection(const InspectCommand& command)
        : command_(command),
          say_(command.json || command.hash_block_report == "-" ? stderr : stdout) {}

    int run();

  private:
    int run_whole();
    int run_each();
    int inspect(const TraceFiles& files, bool say_notes);
    int write_report() const;
    int check_report() const;
    int fail_report(const Error& error) const;
    bool sizes_fit() const;
    void print_json(const InputErrors* errors) const;

    const InspectCommand& command_;
    std::FILE* say_;
    Trace trace_;
    InputErrors errors_;
    InspectFigures figures_;
};

int Inspection::run() {
    const int code = check_report();
    if (code != exit_done) {
        return code;
    }
    return command_.each ? run_each() : run_whole();
}

int Inspection::check_report() const {
    const std::string& name = command_.hash_block_report;
    struct stat facts{};
    if (name.empty() || name == "-" || ::lstat(name.c_str(), &facts) != 0) {
        return exit_done;
    }
    complain("driftless: --hash-block-report %s: already exists; name a new file or remove it",
             name.c_str());
    return exit_usage;
}

/// Every size must be a multiple of the trace's: what is shared inside a block, nobody knows.
bool Inspection::sizes_fit() const {
    for (const std::uint32_t size : command_.inspect.block_sizes) {
        if (trace_.block_size == 0) {
            complain("driftless: --block-sizes: the trace has no block ids; remove this flag");
            return false;
        }
        if (size % trace_.block_size != 0) {
            complain(
                "driftless: --block-sizes %u: the trace has blocks of %u tokens, and "
                "sharing inside a block is not known; use multiples of %u",
                size, trace_.block_size, trace_.block_size);
            return false;
        }
    }
    return true;
}

void Inspection::print_json(const InputErrors* errors) const {
    std::string text;
    errors != nullptr ? append_json(text, trace_, *errors) : append_json(text, trace_, figures_);
    text += '\n';
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Reads and counts; prints nothing but notes, errors and JSON.
int Inspection::inspect(const TraceFiles& files, bool say_notes) {
    std::vector<std::string> notes;
    errors_ = InputErrors();
    const bool usable = read_trace(files, trace_, errors_, notes);
    for (const std::string& note : notes) {
        if (say_notes || note.starts_with("warning:")) {
            std::fprintf(say_, "trace: %s\n", note.c_str());
        }
    }
    if (!usable) {
        print_errors(errors_);
        if (command_.json) {
            print_json(&errors_);
        }
        return exit_input;
    }
    if (!sizes_fit()) {
        return exit_usage;
    }
    Result<InspectFigures> figures = inspect_trace(trace_, command_.inspect);
    if (!figures) {
        complain("driftless: %s or --limit", nothing_selected(trace_).c_str());
        return exit_input;
    }
    figures_ = std::move(figures).value();
    if (command_.json) {
        print_json(nullptr);
    }
    return exit_done;
}

int Inspection::run_whole() {
    int code = inspect(command_.files, true);
    if (code == exit_done && !command_.hash_block_report.empty()) {
        code = write_report();
    }
    if (code == exit_done && say_ == stdout) {
        std::fputs(inspect_table(trace_, figures_, {command_.plot, command_.token_bytes}).c_str(),
                   stdout);
    }
    return code;
}

/// A line for each file; a file that is refused does not keep the others from theirs.
int Inspection::run_each() {
    int worst = exit_done;
    if (!command_.json) {
        std::fputs(file_heading(true).c_str(), stdout);
    }
    for (const std::string& path : command_.files.paths) {
        Result<std::vector<std::string>> files = expand_path(path);
        // What cannot be opened is refused by read_trace, in its words.
        for (const std::string& file : files ? files.value() : std::vector<std::string>{path}) {
            TraceFiles one = command_.files;
            one.paths = {file};
            const int code = inspect(one, false);
            worst = code == exit_done ? worst : code;
            if (!command_.json) {
                const std::string line = code == exit_done
                                             ? file_line(figures_.files.at(0), &trace_)
                                             : refused_line(file, errors_);
                std::fputs(line.c_str(), stdout);
            }
        }
    }
    return worst;
}

int Inspection::fail_report(const Error& error) const {
    return fail_new_file("--hash-block-report", command_.hash_block_report, error);
}

int Inspection::write_report() const {
    std::string text;
    append_hash_block_report(text, trace_, command_.files.paths.front());
    Result<OutputSink> sink = OutputSink::create(command_.hash_block_report);
    if (!sink) {
        return fail_report(sink.error());
    }
    const Result<void> written = sink.value().write(text);
    if (!written) {
        return fail_report(written.error());
    }
    const Result<void> finished = sink.value().finish();
    if (!finished) {
        return fail_report(finished.error());
    }
    std::fprintf(say_, "wrote: %s: hash-block report\n", command_.hash_block_report.c_str());
    return exit_done;
}

}  // namespace

int run_inspect(int argc, char** argv) {
    // What is freed goes back to the host, whatever was freed before: a large trace has a table at
    // a time, and would else leave a hole in the heap for each.
    (void)::mallopt(M_MMAP_THRESHOLD, 1 << 20);
    const InspectCommandLine line =
        parse_inspect_options(std::vector<std::string>(argv + 1, argv + argc));
    if (line.kind == InspectCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == InspectCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    return Inspection(line.command).run();
}

}  // namespace driftless
