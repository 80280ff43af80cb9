#include "cmd/convert/convert.hpp"

#include <sys/stat.h>

#include <cstdio>

#include "cmd/convert/from_logs.hpp"
#include "cmd/convert/options.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/load_values.hpp"
#include "cmd/trace_errors.hpp"
#include "engine/input/sink.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;

/// One conversion. What a person should know goes to standard output, or to standard error where
/// the trace goes there.
class Conversion {
  public:
    explicit Conversion(const ConvertOptions& options)
        : options_(options), say_(options.out == "-" ? stderr : stdout) {}

    int run() {
        int code = check_out();
        code = code == exit_done ? read() : code;
        code = code == exit_done ? select() : code;
        return code == exit_done ? write() : code;
    }

  private:
    int check_out() const;
    int read();
    int select();
    int write();
    int fail(const Error& error) const;
    void say(const char* topic, const std::vector<std::string>& lines) const;

    const ConvertOptions& options_;
    std::FILE* say_;
    Trace trace_;
    std::vector<WrittenRow> rows_;
};

int Conversion::check_out() const {
    struct stat facts{};
    if (options_.out == "-" || ::lstat(options_.out.c_str(), &facts) != 0) {
        return exit_done;
    }
    std::fprintf(stderr, "driftless: --out %s: exists already; name a new file or remove it\n",
                 options_.out.c_str());
    return exit_usage;
}

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
    const bool usable = read_trace(options_.files, trace_, errors, notes);
    say("trace", notes);
    print_errors(errors);
    return usable ? exit_done : exit_input;
}

int Conversion::select() {
    Result<LoadedTrace> load = apply_load(options_.load, std::move(trace_));
    if (!load) {
        std::fprintf(stderr, "driftless: %s\n", load_refusal(load.error()));
        return exit_input;
    }
    trace_ = std::move(load.value().trace);
    say("load", load_notes(load.value().figures));
    const Result<Plan> plan = make_plan(trace_, options_.plan);
    if (!plan) {
        std::fprintf(stderr, "driftless: %s or --limit\n", nothing_selected(trace_).c_str());
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

int Conversion::fail(const Error& error) const {
    return fail_new_file("--out", options_.out, error);
}

int Conversion::write() {
    const std::size_t rows = rows_.size();
    TraceWriter writer(trace_, *options_.target, std::move(rows_));
    Result<OutputSink> sink = OutputSink::create(options_.out);
    if (!sink) {
        return fail(sink.error());
    }
    std::string text;
    std::uint64_t bytes = 0;
    for (bool more = true; more;) {
        more = writer.next(text);
        if (!more || text.size() >= write_bytes) {
            bytes += text.size();
            const Result<void> written = sink.value().write(text);
            if (!written) {
                return fail(written.error());
            }
            text.clear();
        }
    }
    const Result<void> finished = sink.value().finish();
    if (!finished) {
        return fail(finished.error());
    }
    say("loss", writer.losses());
    std::fprintf(say_, "wrote: %s: %zu rows, format %s, %llu bytes before compression\n",
                 options_.out.c_str(), rows, options_.target->name,
                 static_cast<unsigned long long>(bytes));
    return exit_done;
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
        std::fprintf(stderr, "%s\n", line.text.c_str());
        return exit_usage;
    }
    return Conversion(line.options).run();
}

}  // namespace driftless
