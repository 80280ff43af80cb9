/// The command lines of `calibrate` and `doctor`.

#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/host/host.hpp"

namespace driftless {

static constexpr const char* calibrate_description =
    "Measures in about 20 s what this host can promise: how late each way of waiting wakes up, "
    "how\n"
    "much CPU time other work takes, what a send costs, and how many chunks per second it can "
    "read\n"
    "with the engine at most 60 % busy. `replay` compares its runs with these figures; without "
    "them\n"
    "it measures for up to a second before the first run.\n";

static constexpr const char* calibrate_footer =
    R"(Run it while the machine is idle; otherwise it reports what it saw and saves nothing.

Examples:
  driftless calibrate
  driftless calibrate --cpu 3 --out node7.json
  driftless replay trace.jsonl --url http://a:8000 --calibration node7.json --require-certified

Exit codes: 0 done, 2 usage, 7 the host lacks something, fails, or is busy.)";

Result<std::uint32_t> parse_cpu(std::string_view text) {
    const Result<std::uint32_t> number = parse_u32(text);
    return number ? number : invalid("is not a CPU number; use 0, 1, 2 ..");
}

CalibrateCommandLine parse_calibrate_options(const std::vector<std::string>& arguments) {
    CalibrateCommandLine parsed;
    CommandParser parser("calibrate", calibrate_description, calibrate_footer, 28);
    Flags& flags = parser.flags;
    flags.group("Flags");
    flags.value("--out", "FILE",
                "file for the figures [$XDG_STATE_HOME/driftless/calibration.json]", parse_path,
                parsed.options.out);
    flags.value("--cpu", "N", "CPU of the engine [chosen as in replay]", parse_cpu,
                parsed.options.cpu);
    flags.value("--engines", "N|auto",
                "for replays with as many engines, measured together; saved in a\n"
                "separate file, calibration-engines-N.json",
                "1", parse_engines, parsed.options.engines);
    flags.on_off("--realtime",
                 "for replays with --realtime; saved in a separate file,\n"
                 "calibration-realtime.json",
                 parsed.options.realtime);
    flags.value("--driver", "WHICH",
                "for replays over io_uring or epoll, or auto (as in replay); saved in a\n"
                "separate file for epoll, calibration-epoll.json",
                "auto", driver_choices, parsed.options.driver);
    flags.on_off("--accept-noise", "save figures even if others used over 3 % of the engine's CPU",
                 parsed.options.accept_noise);
    flags.on_off("--quick", "takes 5 s: a tenth of the measurements, one rehearsal; a rough floor",
                 parsed.options.quick);
    parser.read(arguments, parsed);
    return parsed;
}

static constexpr const char* doctor_description =
    "Checks what a replay needs from this host, and reports what is missing or in the way, each "
    "with\n"
    "a remedy. It measures nothing (driftless calibrate does) and changes nothing.\n";

static constexpr const char* doctor_footer =
    R"(Examples:
  driftless doctor
  driftless doctor --out /data/runs
  driftless doctor --json | jq -r '.findings[] | select(.grade != "ok") | .remedy'

Exit codes: 0 a replay can run, 2 usage, 7 it cannot.)";

DoctorCommandLine parse_doctor_options(const std::vector<std::string>& arguments) {
    DoctorCommandLine parsed;
    CommandParser parser("doctor", doctor_description, doctor_footer);
    Flags& flags = parser.flags;
    flags.group("Flags");
    flags.value("--out", "DIR", "folder for the runs", "runs", parse_folder, parsed.options.folder);
    flags.value("--cpu", "N", "CPU of the engine [chosen as in replay]", parse_u32,
                parsed.options.cpu);
    flags.on_off("--json", "the findings as one JSON object on standard output",
                 parsed.options.json);
    parser.read(arguments, parsed);
    return parsed;
}

}  // namespace driftless
