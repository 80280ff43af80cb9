/// The stages of a replay, from its command line to its exit code. What each does, and where:
/// replay.hpp.

#include "cmd/replay/replay.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string_view>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/shard.hpp"
#include "cmd/report/exports.hpp"
#include "cmd/report/report.hpp"

namespace driftless {

using Stage = int (*)(Replay&);

static constexpr Stage before_servers[] = {
    open_earlier,         // --resume
    check_places,         // --out
    load_workload,        // the trace; the plan, made once
    check_bodies,         // --save-prompts, whole bodies
    check_live,           // --assistant
    check_row_templates,  // --header, --extra-body
    check_budgets,        // --budget-input, --budget-output
    check_thresholds,     // --fail-if
    check_schedule,       // --resume, --from
    choose_share,         // --shard
    check_calibration,    // --calibration
    choose_words,         // --tokenizer, --dataset
};

static constexpr Stage of_a_dry_run[] = {
    describe_server,  // by the flags alone
    make_bodies,      // of recorded requests
    forecast_hits,    // of caches as the flags describe them
    deal_share,       // the rows of this process
    make_parts,       // of requests
    save_prompts,     // --save-prompts
    compare_prompts,  // with those of an earlier run
    execute_dry_run,  // every row is armed, and none is sent
};

static constexpr Stage before_time_0[] = {
    resolve_targets,      // addresses, TLS
    take_host,            // CPUs, rings
    describe_server,      // by the flags alone
    meet_servers,         // the preflight
    check_rows,           // they fit the model
    make_bodies,          // of recorded requests
    forecast_hits,        // of the servers' caches
    deal_share,           // the rows of this process
    make_parts,           // of requests
    verify_prompts,       // --verify-prompts
    save_prompts,         // --save-prompts
    compare_prompts,      // with those of an earlier run
    look_up_calibration,  // what this host can do
    probe_caches,         // warm caches, --reset-cache
};

/// Up to the first stage that stops the replay.
static int go_through(std::span<const Stage> stages, Replay& run) {
    for (const Stage stage : stages) {
        if (const int code = stage(run); code != exit_done) {
            return code;
        }
    }
    return exit_done;
}

static int replay(Replay& run) {
    if (const int code = go_through(before_servers, run); code != exit_done) {
        return code;
    }
    if (run.options().dry_run) {
        return go_through(of_a_dry_run, run);
    }
    count_stop_requests();  // what comes before looks at none: there, a signal just ends us
    Played played{go_through(before_time_0, run), false};
    if (played.code == exit_interrupted) {
        (void)refuse_interrupted();
    } else if (played.code == exit_done) {
        played = execute_run(run);
    }
    const bool failed = played.code != exit_done && played.code != exit_interrupted;
    if (failed && !played.began) {  // CI steps publish the files
        const std::string why = last_complaint();
        (void)write_ci_failure(run.options().results.ci, run.workload.trace.name, why);
    }
    return played.code;
}

/// A flag that replay does not know may be one of report, for the run that replay makes.
static void name_report(CommandLine& line) {
    constexpr std::string_view before = "driftless replay: unknown flag ";
    if (!line.text.starts_with(before)) {
        return;
    }
    const std::size_t end = line.text.find_first_of("; ", before.size());
    const std::string flag = line.text.substr(before.size(), end - before.size());
    if (parse_report_options({".", flag}).text.find("unknown flag") == std::string::npos) {
        line.text = std::string(before) + flag +
                    "; it is a flag of driftless report, which reads the run afterwards";
    }
}

int refuse_interrupted() {
    std::fputs("driftless: interrupted before the first request; nothing was written\n", stderr);
    return exit_interrupted;
}

int refuse(int exit_code, const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    char* text = nullptr;
    const int length = ::vasprintf(&text, format, values);
    va_end(values);
    complain("%s", length < 0 ? format : text);
    std::free(length < 0 ? nullptr : text);
    return exit_code;
}

int run_replay(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const char* variable = std::getenv("OPENAI_API_KEY");
    const std::string key = variable != nullptr ? variable : "";
    ReplayCommandLine line = parse_replay_options(arguments, key);
    name_report(line);
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    std::optional<RunFacts> earlier;
    if (const int code = take_up(key, line, earlier); code != exit_done) {
        return code;
    }
    if (const int code = settle_part(earlier.has_value(), line); code != exit_done) {
        return code;
    }
    OrExit<Credentials> credentials =
        take_credentials(line.options.request, line.options.server.targets);
    if (!credentials) {
        return credentials.exit_code();
    }
    std::vector<Header>& secrets = credentials.value().all;
    for (const TypedEvent& event : line.options.events.typed) {
        for (const SecretPart& part : secrets_in_command(event.what)) {
            secrets.push_back({"--event", part.value});
            secrets.push_back({"--event", event.what.substr(part.at, part.bytes)});
        }
    }
    std::vector<std::string> command = mask_command(arguments);
    if (repeats_secret(command, credentials.value()) ||
        repeats_secret(mask_command(line.arguments), credentials.value())) {
        return exit_usage;
    }
    if (!line.options.events.typed.empty()) {  // commands may print what the environment holds
        std::ranges::move(secrets_of_environment(own_environment()), std::back_inserter(secrets));
    }
    wipe_variable("OPENAI_API_KEY");  // what is needed of it is in the options
    hide_secrets(credentials.value(), line.options.server.tls, argc, argv);
    catch_stop_signals();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Quiet quiet(line.options.results.quiet);
    for (const std::string& note : line.notes) {
        print_line("flags: %s", note.c_str());
    }
    Replay run(make_invocation(std::move(line), std::move(credentials).value(), std::move(command)),
               std::move(earlier), quiet);
    return replay(run);
}

}  // namespace driftless
