#include "cmd/calibrate/options.hpp"

#include <cstdio>

#include "cmd/engine_count.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/options_flags.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    "Measures in about 20 s what this host can promise: how late each way of waiting wakes up, "
    "how\n"
    "much CPU time other work takes, what a send costs, and how many chunks per second it can "
    "read\n"
    "with the engine at most 60 % busy. `replay` compares its runs with these figures; without "
    "them\n"
    "it measures for up to a second before the first run.\n";

constexpr const char* footer =
    R"(Run it while the machine is idle; otherwise it reports what it saw and saves nothing.

Examples:
  driftless calibrate
  driftless calibrate --cpu 3 --out node7.json
  driftless replay trace.jsonl --url http://a:8000 --calibration node7.json --require-certified

Exit codes: 0 done, 2 usage, 7 the host lacks something, fails, or is busy.)";

Result<std::uint32_t> parse_cpu(std::string_view text) {
    const Result<std::uint64_t> number = parse_count(text);
    if (!number || number.value() > UINT32_MAX) {
        return Error{ErrorCode::invalid, 0, "is not a CPU number; use 0, 1, 2 .."};
    }
    return static_cast<std::uint32_t>(number.value());
}

Result<std::string> parse_path(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "is empty; name a file"};
    }
    return std::string(text);
}

}  // namespace

ParsedCalibrate parse_calibrate_options(int argc, char** argv) {
    ParsedCalibrate parsed;
    CLI::App app(description, "driftless calibrate");
    app.footer(footer);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this help and exit");
    app.get_formatter()->column_width(28);
    Flags flags(app);
    flags.group("Flags");
    flags.value("--out", "FILE",
                "file for the figures [$XDG_STATE_HOME/driftless/calibration.json]", nullptr,
                parse_path, parsed.options.out);
    flags.value("--cpu", "N", "CPU of the engine [chosen as in replay]", nullptr, parse_cpu,
                parsed.options.cpu);
    flags.value("--engines", "N|auto",
                "for replays with as many engines, measured together; saved in a\n"
                "separate file, calibration-engines-N.json",
                "1", parse_engines, parsed.options.engines);
    flags.on_off("--realtime",
                 "for replays with --realtime; saved in a separate file,\n"
                 "calibration-realtime.json",
                 parsed.options.realtime);
    flags.on_off("--accept-noise", "save figures even if others used over 3 % of the engine's CPU",
                 parsed.options.accept_noise);
    flags.on_off("--quick", "takes 5 s: a tenth of the measurements, one rehearsal; a rough floor",
                 parsed.options.quick);
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
        complain("driftless calibrate: %s (see driftless calibrate --help)",
                 reason_of(error).c_str());
        parsed.exit_code = exit_usage;
    }
    return parsed;
}

}  // namespace driftless
