#include "cmd/convert/options.hpp"

#include "cmd/options_flags.hpp"
#include "cmd/options_load.hpp"
#include "cmd/options_trace.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Writes a trace anew: in another format, or a part of it, faster, spread, sampled, overlaid.\n"
    "What the format cannot hold is named, a line each.\n";

constexpr const char* footer =
    R"(Durations are 90, 1.5s, 250ms, 5us, 10m or 2h; a bare number is seconds. A file that ends in
.gz, .bz2, .xz or .zst is compressed. Formats written: canonical (everything that a trace holds,
in ns) and mooncake (ms; ids numbered anew).

Examples:
  driftless convert weka/ --sessions open -o weka.jsonl.zst
  driftless convert qwen_traceA_blksz_16.jsonl -o a.jsonl --to mooncake --start 10m --end 20m
  driftless convert trace.jsonl -o half.jsonl.gz --sample-sessions 50% --seed 3
  driftless convert trace.jsonl -o busy.jsonl --replicate 4 --spread

Exit codes: 0 done, 2 usage (an output file that exists, too), 3 input refused, 7 the host fails.)";

Result<const TraceTarget*> parse_target(std::string_view text) {
    if (const TraceTarget* target = find_trace_target(text); target != nullptr) {
        return target;
    }
    return Error{ErrorCode::invalid, 0, "is not one of canonical, mooncake"};
}

void add_selection_flags(Flags& flags, ConvertOptions& options) {
    flags.group("Selection");
    flags.value("--start", "T", "rows from this trace time on, counted from the first row [0]",
                nullptr, parse_duration_ns, options.plan.start_ns);
    flags.value("--end", "T", "rows before this trace time [the end]", nullptr, parse_duration_ns,
                options.plan.end_ns);
    flags.value("--limit", "N", "rows at most, counted after sorting [all]", nullptr,
                parse_positive_count, options.plan.limit);
    add_load_flags(flags, options.load);
    flags.value("--speed", "X", "2 halves all times", "1", parse_text, options.speed_text);
    flags.on_off("--spread", "spread rows of one instant over the gap to the next",
                 options.plan.spread);
    flags.value("--seed", "N", "seed of --spread, samples and copies", "0", parse_count,
                options.plan.seed);
}

std::string complete(ConvertOptions& options) {
    if (options.files.paths.empty()) {
        return "no trace is given: name a file, a directory or -";
    }
    if (options.out.empty()) {
        return "--out is missing: name a new file, or - for standard output";
    }
    if (options.plan.start_ns && options.plan.end_ns &&
        *options.plan.end_ns <= *options.plan.start_ns) {
        return "--end must be later than --start";
    }
    const Result<Speed> speed = parse_speed(options.speed_text);
    if (!speed) {
        return "--speed \"" + options.speed_text +
               "\" is no speed: write a positive decimal, where 2 is twice as fast";
    }
    options.plan.speed = speed.value();
    options.load.seed = options.plan.seed;
    return "";
}

ConvertCommandLine refused(const std::string& why) {
    ConvertCommandLine line;
    line.kind = ConvertCommandLine::Kind::refused;
    line.text = "driftless convert: " + why + " (see driftless convert --help)";
    return line;
}

}  // namespace

ConvertCommandLine parse_convert_options(const std::vector<std::string>& arguments) {
    ConvertCommandLine line;
    ConvertOptions& options = line.options;
    CLI::App app{description, "driftless convert"};
    app.footer(footer);
    app.get_formatter()->column_width(30);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this and exit");
    add_trace_argument(app, options.files);
    Flags flags(app);
    flags.group("Output");
    flags.value("-o,--out", "FILE", "file to write, which must not be there; - for standard output",
                nullptr, parse_text, options.out);
    flags.value("--to", "NAME", "format to write: canonical or mooncake", "canonical", parse_target,
                options.target);
    flags.group("Trace");
    add_trace_flags(flags, options.files);
    flags.value("--keep", "A,B", "trace columns that are carried along [none]", nullptr, parse_list,
                options.files.keep);
    add_selection_flags(flags, options);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        line.kind = ConvertCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(error.what());
    }
    std::string why = unknown_argument(app);
    if (why.empty()) {
        why = complete(options);
    }
    return why.empty() ? line : refused(why);
}

}  // namespace driftless
