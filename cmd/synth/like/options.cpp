#include "cmd/synth/like/options.hpp"

#include "cmd/options_flags.hpp"
#include "cmd/options_trace.hpp"
#include "cmd/synth/synth_values.hpp"
#include "cmd/trace_values.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Makes a trace from whole session trees of another one: longer or shorter, at another rate, "
    "or\n"
    "with a number of users. It keeps lengths, gaps and sharing, and prints how well.\n";

constexpr const char* footer =
    R"(Durations are 90, 1.5s, 250ms, 10m or 2h; a bare number is seconds. A file that ends in .gz,
.bz2, .xz or .zst is compressed.

Examples:
  driftless synth like conversation.jsonl --length 3h -o long.jsonl.zst
  driftless synth like weka/ --sessions open --users 32 --trees 400 -o users.jsonl.zst
  driftless synth like trace.jsonl --rows 500 --seed 7 | driftless replay - --url ..)";

Result<std::optional<std::uint64_t>> parse_size(std::string_view text) {
    const Result<std::uint64_t> rows = parse_rows(text);
    if (!rows || rows.value() > like_rows_max) {
        return Error{ErrorCode::invalid, 0, "is not from 1 to 100000000"};
    }
    return std::optional(rows.value());
}

Result<std::optional<std::int64_t>> parse_length(std::string_view text) {
    const Result<std::int64_t> length = parse_duration_ns(text);
    if (!length) {
        return length.error();
    }
    return length.value() > 0 ? Result<std::optional<std::int64_t>>(std::optional(length.value()))
                              : Error{ErrorCode::invalid, 0, "must be longer than 0"};
}

Result<std::optional<double>> parse_like_rate(std::string_view text) {
    const Result<double> rate = parse_synth_rate(text);
    if (!rate || rate.value() == 0) {
        return Error{ErrorCode::invalid, 0, "is not a rate; use 10 (rows a second), 600/m or 50/h"};
    }
    return std::optional(rate.value());
}

Result<std::uint32_t> parse_users(std::string_view text) {
    const Result<std::uint32_t> users = parse_groups(text);
    return users ? users : Error{ErrorCode::invalid, 0, "is not from 1 to 1000000 users"};
}

std::string check(const LikeCommand& command) {
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

LikeCommandLine refused(const std::string& why) {
    LikeCommandLine line;
    line.kind = LikeCommandLine::Kind::refused;
    line.text = "driftless synth: " + why + " (see driftless synth like --help)";
    return line;
}

}  // namespace

LikeCommandLine parse_like_options(const std::vector<std::string>& arguments) {
    LikeCommandLine line;
    LikeCommand& command = line.command;
    CLI::App app{description, "driftless synth like"};
    app.footer(footer);
    app.get_formatter()->column_width(30);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this help and exit");
    add_trace_argument(app, command.files);
    Flags flags(app);
    flags.group("Workload");
    flags.value("--trees", "N",
                "session trees [as many as the trace has, times the change of --rate]", nullptr,
                parse_size, command.like.trees);
    flags.value("--rows", "N", "about this many rows; trees stay whole", nullptr, parse_size,
                command.like.rows);
    flags.value("--length", "T", "trees that begin within T; the last ones may end later", nullptr,
                parse_length, command.like.length_ns);
    flags.value("--rate", "R", "rows per second: trees begin closer or further apart [recorded]",
                nullptr, parse_like_rate, command.like.per_second);
    flags.value("--users", "N", "this many users, each with one tree after another [recorded]",
                nullptr, parse_users, command.like.users);
    flags.group("Output");
    flags.value("-o,--out", "FILE", "output file, which must not exist yet; - for standard output",
                "-", parse_text, command.out);
    flags.value("--to", "NAME", "format to write: canonical or mooncake", "canonical",
                parse_trace_target, command.target);
    flags.value("--seed", "N", "the same seed makes the same trace", "0", parse_count,
                command.like.seed);
    flags.group("Trace");
    add_trace_flags(flags, command.files);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        line.kind = LikeCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(reason_of(error));
    }
    std::string why = unknown_argument(app);
    if (why.empty()) {
        why = check(command);
    }
    return why.empty() ? line : refused(why);
}

}  // namespace driftless
