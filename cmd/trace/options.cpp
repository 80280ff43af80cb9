/// The command lines of `convert`, `inspect` and `synth like`.

#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/synth_values.hpp"
#include "cmd/trace/trace.hpp"
#include "proto/trace/logs.hpp"

namespace driftless {

static constexpr const char* convert_description =
    "Rewrites a trace: in another format, or a part of it, faster, spread, sampled or overlaid. "
    "It\n"
    "prints a line for each thing that the format cannot hold. Given the folder of a run instead "
    "of\n"
    "a trace, it writes what was really sent and received. --from-logs makes a trace from logged\n"
    "requests: their text becomes block ids under a secret salt and is not written.\n";

static constexpr const char* convert_footer =
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
    return invalid(why.c_str());
}

static void add_log_flags(Flags& flags, LogOptions& logs) {
    flags.group("Logs");
    flags.on_off("--from-logs", "read logs of requests instead of a trace", logs.wanted);
    flags.value("--log-format", "NAME", "litellm, langfuse, otel or plain [detected]",
                parse_log_format, logs.format);
    flags.value("--tokenizer", "FILE", "the served model's tokenizer.json, or its rank file",
                logs.tokenizer);
    flags.value("--salt-file", "FILE", "file with the secret salt for block ids", logs.salt_file);
    flags.value("--salt-env", "NAME", "environment variable with the salt", logs.salt_env);
}

static std::string files_refusal(const TraceFiles& files) {
    const std::string why = flat_agents_refusal(files.flat_agents, files.sessions);
    return why.empty() ? model_column_refusal(files.map) : why;
}

static void add_selection_flags(Flags& flags, ConvertOptions& options) {
    flags.group("Selection");
    add_range_flags(flags, options.plan);
    add_load_flags(flags, options.load);
    flags.value("--speed", "X", "2 halves all times", "1", parse_text, options.speed_text);
    flags.on_off("--spread", "spread rows that share an instant over the gap to the next",
                 options.plan.spread);
    flags.value("--seed", "N", "seed of --spread, samples and copies", "0", parse_count,
                options.plan.seed);
}

/// What logs need, and what has no meaning for them.
static std::string check_logs(const ConvertOptions& options) {
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

static std::string complete(ConvertOptions& options) {
    if (options.files.paths.empty()) {
        return "no trace is given; name a file, a directory or -";
    }
    if (const std::string why = check_logs(options); !why.empty()) {
        return why;
    }
    if (const std::string why = files_refusal(options.files); !why.empty()) {
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
    if (const std::string why = range_refusal(options.plan); !why.empty()) {
        return why;
    }
    options.load.seed = options.plan.seed;
    return complete_speed(options.speed_text, options.plan);
}

ConvertCommandLine parse_convert_options(const std::vector<std::string>& arguments) {
    ConvertCommandLine line;
    ConvertOptions& options = line.options;
    CommandParser parser("convert", convert_description, convert_footer);
    parser.most_used = {"--out",      "--to",        "--format",          "--map",
                        "--sessions", "--from-logs", "--tokenizer",       "--start",
                        "--end",      "--limit",     "--sample-sessions", "--replicate",
                        "--speed"};
    add_trace_argument(parser.flags, options.files);
    Flags& flags = parser.flags;
    flags.group("Output");
    flags.value("-o,--out", "FILE", "output file, which must not exist yet; - for standard output",
                options.out);
    flags.value("--to", "NAME", "format to write: canonical or mooncake", "canonical",
                parse_trace_target, options.target);
    flags.group("Trace");
    add_trace_flags(flags, options.files);
    flags.value("--keep", "A,B", "columns of the trace or log to keep [none]", parse_list,
                options.files.keep);
    add_log_flags(flags, options.logs);
    add_selection_flags(flags, options);
    parser.read(arguments, line, [&] { return complete(options); });
    return line;
}

static constexpr const char* inspect_description =
    "Describes a trace and its faults: rates, bursts, lengths, sessions, sharing,\n"
    "and the hit rate of a prefix cache as a function of its size. Nothing is sent.\n";

static constexpr const char* inspect_footer =
    R"(Durations are 90, 1.5s, 250ms, 5us, 10m or 2h; a bare number is seconds. Hit rates are exact
for an LRU cache that evicts the end of a prompt before its beginning.

Examples:
  driftless inspect trace.jsonl
  driftless inspect trace.jsonl.zst --plot --kv-bytes 320k
  driftless inspect weka/ --sessions open --block-sizes 64,128,256 --max-model-len 131072
  driftless inspect traces/ --each
  driftless inspect trace.jsonl --json | jq '.capacity[0].sizes'
  driftless convert trace.jsonl -o - --sample-sessions 10% | driftless inspect -

Exit codes: 0 done, 2 usage (or a report file exists), 3 input refused, 7 the host fails.)";

Result<std::vector<std::uint32_t>> parse_sizes(std::string_view text) {
    constexpr Error wrong = invalid("is not a list of sizes in tokens; use 512,1024");
    const Result<std::vector<std::string>> parts = parse_list(text);
    std::vector<std::uint32_t> sizes;
    for (const std::string& part : parts ? parts.value() : std::vector<std::string>{""}) {
        const Result<std::uint32_t> size = parse_positive_u32(part);
        if (!size) {
            return wrong;
        }
        sizes.push_back(size.value());
    }
    return sizes;
}

static void add_flags(Flags& flags, InspectCommand& command) {
    flags.group("Trace");
    add_trace_flags(flags, command.files);
    flags.on_off("--each", "treat every file as a separate trace: one line each", command.each);
    add_range_flags(flags, command.inspect.plan);
    flags.value("--seed", "N", "seed of the --spread figures", "0", parse_count,
                command.inspect.plan.seed);
    flags.group("Cache");
    flags.value("--block-sizes", "A,B",
                "block sizes in tokens, multiples of the trace's [2^n up to 4096]", parse_sizes,
                command.inspect.block_sizes);
    flags.value("--kv-bytes", "BYTES", "bytes of one cached token; adds sizes in bytes [none]",
                parse_bytes, command.token_bytes);
    flags.value("--max-model-len", "N", "count the rows beyond a context of N tokens [none]",
                parse_positive_count, command.inspect.max_model_len);
    flags.group("Output");
    flags.on_off("--plot", "plots of rates, lengths, working set and hit rates", command.plot);
    flags.on_off("--json", "JSON, one object per line (schema: driftless help inspect.schema.json)",
                 command.json);
    flags.value("--hash-block-report", "FILE",
                "JSON as written by simulate_hash_block_mode.py; a new file, or -",
                command.hash_block_report);
}

static std::string contradiction(const InspectCommand& command) {
    if (command.files.paths.empty()) {
        return "no trace is given; name a file, a directory or -";
    }
    if (const std::string why = range_refusal(command.inspect.plan); !why.empty()) {
        return why;
    }
    if (command.each && !command.hash_block_report.empty()) {
        return "--hash-block-report writes one report on all files; remove --each";
    }
    if (command.json && command.hash_block_report == "-") {
        return "--json and --hash-block-report - both write to standard output: name a file";
    }
    return files_refusal(command.files);
}

InspectCommandLine parse_inspect_options(const std::vector<std::string>& arguments) {
    InspectCommandLine line;
    CommandParser parser("inspect", inspect_description, inspect_footer);
    add_trace_argument(parser.flags, line.command.files);
    add_flags(parser.flags, line.command);
    parser.read(arguments, line, [&] { return contradiction(line.command); });
    return line;
}

static constexpr const char* like_description =
    "Makes a trace from whole session trees of another one: longer or shorter, at another rate, "
    "or\n"
    "with a number of users. It keeps lengths, gaps and sharing, and prints how well.\n";

static constexpr const char* like_footer =
    R"(Durations are 90, 1.5s, 250ms, 10m or 2h; a bare number is seconds. A file that ends in .gz,
.bz2, .xz or .zst is compressed.

Examples:
  driftless synth like conversation.jsonl --length 3h -o long.jsonl.zst
  driftless synth like weka/ --sessions open --users 32 --trees 400 -o users.jsonl.zst
  driftless synth like trace.jsonl --rows 500 --seed 7 | driftless replay - --url ..)";

Result<std::uint64_t> parse_size(std::string_view text) {
    return within(parse_rows(text), 1, like_rows_max, "is not from 1 to 100000000");
}

static Result<double> parse_like_rate(std::string_view text) {
    const Result<double> rate = parse_synth_rate(text);
    return rate && rate.value() > 0
               ? rate
               : invalid("is not a rate; use 10 (rows a second), 600/m or 50/h");
}

static Result<std::uint32_t> parse_users(std::string_view text) {
    const Result<std::uint32_t> users = parse_groups(text);
    return users ? users : invalid("is not from 1 to 1000000 users");
}

static std::string check(const LikeCommand& command) {
    const LikeOptions& like = command.like;
    if (command.files.paths.empty()) {
        return "like needs a trace; name a file, a directory or -";
    }
    if ((like.trees ? 1 : 0) + (like.rows ? 1 : 0) + (like.length_ns ? 1 : 0) > 1) {
        return "--trees, --rows and --length all set the length; use only one of them";
    }
    if (like.users > 0 && like.per_second) {
        return "--users and --rate both set when trees begin; use only one of them";
    }
    return flat_agents_refusal(command.files.flat_agents, command.files.sessions);
}

LikeCommandLine parse_like_options(const std::vector<std::string>& arguments) {
    LikeCommandLine line;
    LikeCommand& command = line.command;
    CommandParser parser("synth like", like_description, like_footer);
    add_trace_argument(parser.flags, command.files);
    Flags& flags = parser.flags;
    flags.group("Workload");
    flags.value("--trees", "N",
                "session trees [as many as the trace has, times the change of --rate]", parse_size,
                command.like.trees);
    flags.value("--rows", "N", "about this many rows; trees stay whole", parse_size,
                command.like.rows);
    flags.value("--length", "T", "trees that begin within T; the last ones may end later",
                parse_positive_duration_ns, command.like.length_ns);
    flags.value("--rate", "R", "rows per second: trees begin closer or further apart [recorded]",
                parse_like_rate, command.like.per_second);
    flags.value("--users", "N", "this many users, each with one tree after another [recorded]",
                parse_users, command.like.users);
    flags.group("Output");
    flags.value("-o,--out", "FILE", "output file, which must not exist yet; - for standard output",
                "-", parse_text, command.out);
    flags.value("--to", "NAME", "format to write: canonical or mooncake", "canonical",
                parse_trace_target, command.target);
    flags.value("--seed", "N", "the same seed makes the same trace", "0", parse_count,
                command.like.seed);
    flags.group("Trace");
    add_trace_flags(flags, command.files);
    parser.read(arguments, line, [&] { return check(command); });
    return line;
}

}  // namespace driftless
