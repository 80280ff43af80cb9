#include "cmd/doctor/options.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/screen/guard.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Checks what a replay needs from this host, and reports what is missing or in the way, each "
    "with\n"
    "a remedy. It measures nothing (driftless calibrate does) and changes nothing.\n";

constexpr const char* footer =
    R"(Examples:
  driftless doctor
  driftless doctor --out /data/runs
  driftless doctor --json | jq -r '.findings[] | select(.grade != "ok") | .remedy'

Exit codes: 0 a replay can run, 2 usage, 7 it cannot.)";

}  // namespace

ParsedDoctor parse_doctor_options(int argc, char** argv) {
    ParsedDoctor parsed;
    CLI::App app(description, "driftless doctor");
    app.footer(footer);
    app.allow_extras();
    app.get_formatter()->column_width(30);
    app.set_help_flag("-h,--help", "print this help and exit");
    Flags flags(app);
    flags.group("Flags");
    flags.value("--out", "DIR", "folder for the runs", "runs", parse_folder, parsed.options.folder);
    flags.value("--cpu", "N", "CPU of the engine [chosen as in replay]", nullptr, parse_u32,
                parsed.options.cpu);
    flags.on_off("--json", "the findings as one JSON object on standard output",
                 parsed.options.json);
    try {
        app.parse(argc, argv);
        const std::string wrong = unknown_argument(app);
        if (!wrong.empty()) {
            throw CLI::ValidationError(wrong);
        }
    } catch (const CLI::CallForHelp&) {
        std::fputs(help_of(app).c_str(), stdout);
        parsed.exit_code = exit_done;
    } catch (const CLI::ParseError& error) {
        complain("driftless doctor: %s (see driftless doctor --help)", reason_of(error).c_str());
        parsed.exit_code = exit_usage;
    }
    return parsed;
}

}  // namespace driftless
