#include "cmd/merge/options.hpp"

#include "cmd/options_flags.hpp"
#include "cmd/table_kind.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Makes one run of the runs of all shards of a replay (replay --shard): one file of records,\n"
    "by their due instants, and one summary, whose percentiles are exact. The shards' own folders\n"
    "stay as they are.\n";

constexpr const char* footer =
    R"(A shard that is missing is named, and its rows are counted as not reported; so are those of
one that was killed. Finish such a shard with driftless replay --resume, then merge again.

Examples:
  driftless merge shard-0 shard-1 shard-2 shard-3 --out whole
  driftless merge /mnt/run/shard-* -o /mnt/run/whole
  driftless report whole --perfetto whole.pftrace
  driftless compare whole other

Exit codes: 0 done (also if shards are missing), 2 usage (a folder is not a shard, or --out exists
already), 3 the runs are not shards of one replay, or cannot be read, 7 the host fails.)";

MergeCommandLine refused(const std::string& why) {
    MergeCommandLine line;
    line.kind = MergeCommandLine::Kind::refused;
    line.text = "driftless merge: " + why + " (see driftless merge --help)";
    return line;
}

Result<std::string> parse_folder(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "does not name a folder"};
    }
    return std::string(text);
}

Result<bool> parse_page(std::string_view text) {
    if (text != "html" && text != "none") {
        return Error{ErrorCode::invalid, 0, "is not known; use html or none"};
    }
    return text == "html";
}

std::string why_not(const MergeCommand& command) {
    if (command.folders.empty()) {
        return "no run is given; name the folders of all shards";
    }
    return command.out.empty() ? "--out is missing; name a folder for the merged run" : "";
}

}  // namespace

MergeCommandLine parse_merge_options(const std::vector<std::string>& arguments) {
    MergeCommandLine line;
    CLI::App app{description, "driftless merge"};
    app.footer(footer);
    app.get_formatter()->column_width(30);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this help and exit");
    app.add_option("RUN", line.command.folders, "folders of the shards, in any order");
    Flags flags(app);
    flags.group("Output");
    flags.value("-o,--out", "DIR", "new folder for the merged run", nullptr, parse_folder,
                line.command.out);
    flags.value("--report", "KIND", "html: a page of charts in report.html; or none", "html",
                parse_page, line.command.page);
    flags.value("--table", "KIND", "short, or full (every figure)", "short", parse_table_kind,
                line.command.table);
    flags.group("Verdict");
    flags.value("--clock-error-max", "T",
                "not certified if a shard's clock is known less exactly than this", "1ms",
                parse_duration_ns, line.command.clock_error_max_ns);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        line.kind = MergeCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(reason_of(error));
    }
    std::string why = unknown_argument(app);
    why = why.empty() ? why_not(line.command) : why;
    return why.empty() ? line : refused(why);
}

}  // namespace driftless
