#include "cmd/inspect/options.hpp"

#include "cmd/options_flags.hpp"
#include "cmd/options_trace.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Describes a trace and its faults: rates, bursts, lengths, sessions, sharing,\n"
    "and the hit rate of a prefix cache as a function of its size. Nothing is sent.\n";

constexpr const char* footer =
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
    constexpr Error wrong{ErrorCode::invalid, 0, "is not a list of sizes in tokens; use 512,1024"};
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

void add_flags(Flags& flags, InspectCommand& command) {
    flags.group("Trace");
    add_trace_flags(flags, command.files);
    flags.on_off("--each", "treat every file as a separate trace: one line each", command.each);
    flags.value("--start", "T", "rows from this trace time on, counted from the first row [0]",
                nullptr, parse_duration_ns, command.inspect.plan.start_ns);
    flags.value("--end", "T", "rows before this trace time [the end]", nullptr, parse_duration_ns,
                command.inspect.plan.end_ns);
    flags.value("--limit", "N", "at most N rows, counted after sorting [all]", nullptr,
                parse_positive_count, command.inspect.plan.limit);
    flags.value("--seed", "N", "seed of the --spread figures", "0", parse_count,
                command.inspect.plan.seed);
    flags.group("Cache");
    flags.value("--block-sizes", "A,B",
                "block sizes in tokens, multiples of the trace's [2^n up to 4096]", nullptr,
                parse_sizes, command.inspect.block_sizes);
    flags.value("--kv-bytes", "BYTES", "bytes of one cached token; adds sizes in bytes [none]",
                nullptr, parse_bytes, command.token_bytes);
    flags.value("--max-model-len", "N", "count the rows beyond a context of N tokens [none]",
                nullptr, parse_positive_count, command.inspect.max_model_len);
    flags.group("Output");
    flags.on_off("--plot", "plots of rates, lengths, working set and hit rates", command.plot);
    flags.on_off("--json", "JSON, one object per line (schema: driftless help inspect.schema.json)",
                 command.json);
    flags.value("--hash-block-report", "FILE",
                "JSON as written by simulate_hash_block_mode.py; a new file, or -", nullptr,
                parse_text, command.hash_block_report);
}

std::string contradiction(const InspectCommand& command) {
    const PlanOptions& plan = command.inspect.plan;
    if (command.files.paths.empty()) {
        return "no trace is given; name a file, a directory or -";
    }
    if (plan.start_ns && plan.end_ns && *plan.end_ns <= *plan.start_ns) {
        return "--end must be later than --start";
    }
    if (command.each && !command.hash_block_report.empty()) {
        return "--hash-block-report writes one report on all files; remove --each";
    }
    if (command.json && command.hash_block_report == "-") {
        return "--json and --hash-block-report - both write to standard output: name a file";
    }
    const std::string why = flat_agents_refusal(command.files.flat_agents, command.files.sessions);
    return why.empty() ? model_column_refusal(command.files.map) : why;
}

InspectCommandLine refused(const std::string& why) {
    InspectCommandLine line;
    line.kind = InspectCommandLine::Kind::refused;
    line.text = "driftless inspect: " + why + " (see driftless inspect --help)";
    return line;
}

}  // namespace

InspectCommandLine parse_inspect_options(const std::vector<std::string>& arguments) {
    InspectCommandLine line;
    CLI::App app{description, "driftless inspect"};
    app.footer(footer);
    app.get_formatter()->column_width(30);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this help and exit");
    add_trace_argument(app, line.command.files);
    Flags flags(app);
    add_flags(flags, line.command);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        line.kind = InspectCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(reason_of(error));
    }
    std::string why = unknown_argument(app);
    if (why.empty()) {
        why = contradiction(line.command);
    }
    return why.empty() ? line : refused(why);
}

}  // namespace driftless
