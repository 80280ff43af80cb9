#include "cmd/convert/options.hpp"

#include "cmd/options_flags.hpp"
#include "cmd/options_load.hpp"
#include "cmd/options_trace.hpp"
#include "cmd/values.hpp"
#include "proto/logs/format.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Rewrites a trace: in another format, or a part of it, faster, spread, sampled or overlaid. "
    "It\n"
    "prints a line for each thing that the format cannot hold. Given the folder of a run instead "
    "of\n"
    "a trace, it writes what was really sent and received. --from-logs makes a trace from logged\n"
    "requests: their text becomes block ids under a secret salt and is not written.\n";

constexpr const char* footer =
    R"(Durations are 90, 1.5s, 250ms, 5us, 10m or 2h; a bare number is seconds. A file that ends in
.gz, .bz2, .xz or .zst is compressed. Formats written: canonical (everything that a trace holds,
in ns) and mooncake (ms; ids renumbered).

Examples:
  driftless convert weka/ --sessions open -o weka.jsonl.zst
  driftless convert qwen_traceA_blksz_16.jsonl -o a.jsonl --to mooncake --start 10m --end 20m
  driftless convert trace.jsonl -o half.jsonl.gz --sample-sessions 50% --seed 3
  driftless convert trace.jsonl -o busy.jsonl --replicate 4 --spread
  driftless convert runs/20261121T062957Z-trace -o sent.jsonl.zst
  driftless convert logs/ --from-logs --tokenizer tokenizer.json --salt-file salt -o mine.jsonl.zst

Exit codes: 0 done, 2 usage (or the output file exists), 3 input refused, 7 the host fails.)";

Result<std::string> parse_log_format(std::string_view text) {
    if (find_log_format(text) != nullptr) {
        return std::string(text);
    }
    static const std::string why = "is not one of " + log_format_names();
    return Error{ErrorCode::invalid, 0, why.c_str()};
}

void add_log_flags(Flags& flags, LogOptions& logs) {
    flags.group("Logs");
    flags.on_off("--from-logs", "read logs of requests instead of a trace", logs.wanted);
    flags.value("--log-format", "NAME", "litellm, langfuse, otel or plain [detected]", nullptr,
                parse_log_format, logs.format);
    flags.value("--tokenizer", "FILE", "the served model's tokenizer.json, or its rank file",
                nullptr, parse_text, logs.tokenizer);
    flags.value("--salt-file", "FILE", "file with the secret salt for block ids", nullptr,
                parse_text, logs.salt_file);
    flags.value("--salt-env", "NAME", "environment variable with the salt", nullptr, parse_text,
                logs.salt_env);
}

void add_selection_flags(Flags& flags, ConvertOptions& options) {
    flags.group("Selection");
    flags.value("--start", "T", "rows from this trace time on, counted from the first row [0]",
                nullptr, parse_duration_ns, options.plan.start_ns);
    flags.value("--end", "T", "rows before this trace time [the end]", nullptr, parse_duration_ns,
                options.plan.end_ns);
    flags.value("--limit", "N", "at most N rows, counted after sorting [all]", nullptr,
                parse_positive_count, options.plan.limit);
    add_load_flags(flags, options.load);
    flags.value("--speed", "X", "2 halves all times", "1", parse_text, options.speed_text);
    flags.on_off("--spread", "spread rows that share an instant over the gap to the next",
                 options.plan.spread);
    flags.value("--seed", "N", "seed of --spread, samples and copies", "0", parse_count,
                options.plan.seed);
}

/// What logs need, and what has no meaning for them.
std::string check_logs(const ConvertOptions& options) {
    const LogOptions& logs = options.logs;
    const TraceFiles& files = options.files;
    if (!logs.wanted) {
        const bool any = !logs.format.empty() || !logs.tokenizer.empty() ||
                         !logs.salt_file.empty() || !logs.salt_env.empty();
        return any ? "--log-format, --tokenizer, --salt-file and --salt-env need --from-logs; add "
                     "it"
                   : "";
    }
    if (!files.format.empty() || !files.time_unit.empty() || !files.map.empty() ||
        files.sessions != Sessions::recorded || files.id_scope != IdScope::format) {
        return "--format, --time-unit, --map, --sessions and --hash-scope apply to traces, not "
               "logs; use --log-format for logs";
    }
    if (logs.tokenizer.empty()) {
        return "--from-logs needs --tokenizer FILE: blocks consist of the model's tokens";
    }
    if (logs.salt_file.empty() == logs.salt_env.empty()) {
        return "--from-logs needs either --salt-file FILE or --salt-env NAME: without a secret, "
               "texts could be guessed from block ids";
    }
    return "";
}

std::string complete(ConvertOptions& options) {
    if (options.files.paths.empty()) {
        return "no trace is given; name a file, a directory or -";
    }
    if (const std::string why = check_logs(options); !why.empty()) {
        return why;
    }
    if (const std::string why =
            flat_agents_refusal(options.files.flat_agents, options.files.sessions);
        !why.empty()) {
        return why;
    }
    if (const std::string why = model_column_refusal(options.files.map); !why.empty()) {
        return why;
    }
    if (options.out.empty()) {
        return "--out is missing: name a new file, or - for standard output";
    }
    for (const char* ending : {".csv", ".parquet", ".xlsx", ".arrow", ".feather"}) {
        if (options.out.ends_with(ending)) {
            return "--out " + options.out +
                   ": convert writes JSON lines; name it .jsonl, .jsonl.gz "
                   "or .jsonl.zst";
        }
    }
    if (options.plan.start_ns && options.plan.end_ns &&
        *options.plan.end_ns <= *options.plan.start_ns) {
        return "--end must be later than --start";
    }
    const Result<Speed> speed = parse_speed(options.speed_text);
    if (!speed) {
        return "--speed \"" + options.speed_text +
               "\" is not a speed; use a positive decimal, where 2 is twice as fast";
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
    app.set_help_flag("-h,--help", "print this help and exit");
    add_trace_argument(app, options.files);
    Flags flags(app);
    flags.group("Output");
    flags.value("-o,--out", "FILE", "output file, which must not exist yet; - for standard output",
                nullptr, parse_text, options.out);
    flags.value("--to", "NAME", "format to write: canonical or mooncake", "canonical",
                parse_trace_target, options.target);
    flags.group("Trace");
    add_trace_flags(flags, options.files);
    flags.value("--keep", "A,B", "columns of the trace or log to keep [none]", nullptr, parse_list,
                options.files.keep);
    add_log_flags(flags, options.logs);
    add_selection_flags(flags, options);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        line.kind = ConvertCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(reason_of(error));
    }
    std::string why = unknown_argument(app);
    if (why.empty()) {
        why = complete(options);
    }
    return why.empty() ? line : refused(why);
}

}  // namespace driftless
