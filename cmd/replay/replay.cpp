#include "cmd/replay/replay.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/base/process.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/replay/calibration_lookup.hpp"
#include "cmd/replay/dry_run.hpp"
#include "cmd/replay/execute.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/pacing.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/resume.hpp"
#include "cmd/replay/server_checks.hpp"
#include "cmd/replay/shard.hpp"
#include "cmd/replay/workload.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

/// What is known before any server: each stage that follows takes it on.
struct Loaded {
    HostFacts host;
    Workload workload;
    ChosenWords words;
};

/// The model of the first row, where rows have models of their own; else empty.
std::string first_model(const Workload& workload) {
    return workload.models.empty() ? "" : workload.models.name_of(workload.plan.rows.front().row);
}

/// A `--fail-if` that holds even if every request gets its answer. How many users send is not known
/// before.
int check_thresholds(const ReplayOptions& options, const Workload& workload) {
    const std::size_t rows = workload.plan.rows.size();
    for (const Threshold& one : options.results.fail_if) {
        const bool counts = one.figure->name == "completed" &&
                            (one.compare == Compare::below || one.compare == Compare::at_most);
        if (counts && workload.users.users == 0 && crosses(one, static_cast<double>(rows))) {
            complain(
                "driftless: --fail-if \"%s\" holds even if all requests are answered: the "
                "plan has %s; replay more rows, or use a lower bound",
                one.text.c_str(), counted(rows, "row", "rows").c_str());
            return exit_usage;
        }
    }
    return exit_done;
}

/// What the flags ask of the trace, and an earlier run of both.
int check_workload(const ReplayOptions& options, const Workload& workload,
                   const std::optional<EarlierRun>& earlier) {
    int code = check_bodies(options, workload.trace);
    if (code == exit_done) {
        code = check_live(options, workload.trace);
    }
    if (code == exit_done) {
        code = check_row_templates(options.request, workload);
    }
    if (code == exit_done) {
        code = check_budgets(options.sending, workload);
    }
    if (code == exit_done) {
        code = check_thresholds(options, workload);
    }
    if (code == exit_done && earlier) {
        code =
            check_schedule(earlier->facts, workload, earlier->resumption ? "--resume" : "--from");
    }
    return code;
}

OrExit<Loaded> load(const ReplayOptions& options, const std::optional<EarlierRun>& earlier) {
    OrExit<Workload> workload = load_workload(options);
    if (!workload) {
        return workload.exit_code();
    }
    int code = check_workload(options, workload.value(), earlier);
    if (code == exit_done) {
        code = choose_share(options, workload.value());
    }
    if (code != exit_done) {
        return code;
    }
    HostFacts host = read_host_facts();
    code = earlier && earlier->resumption
               ? check_calibration_again(options.calibration, options.again.resume, earlier->facts,
                                         host)
               : check_calibration(options.calibration,
                                   {options.host.realtime, options.host.engines}, host);
    if (code != exit_done) {
        return code;
    }
    OrExit<ChosenWords> words = choose_words(options.prompts);
    if (!words) {
        return words.exit_code();
    }
    code = check_text(options.prompts.dataset, workload.value(), words.value().text);
    if (code != exit_done) {
        return code;
    }
    return Loaded{std::move(host), std::move(workload).value(), std::move(words).value()};
}

int dry_run(const Invocation& invocation, const std::optional<EarlierRun>& earlier, Loaded loaded,
            Quiet& quiet) {
    const ReplayOptions& options = invocation.options;
    const Server server =
        describe_server(options, first_model(loaded.workload), std::move(loaded.words), {});
    OrExit<ServedWorkload> served = serve(std::move(loaded.workload), options.request, server);
    if (!served) {
        return served.exit_code();
    }
    deal_share(served.value().workload);
    const OrExit<std::unique_ptr<ReplayParts>> parts =
        ReplayParts::make(invocation, served.value(), server);
    if (!parts) {
        return parts.exit_code();
    }
    if (const int code = save_prompts(*parts.value()); code != exit_done) {
        return code;
    }
    const OrExit<PromptSums> compared = compare(earlier, *parts.value());
    quiet.end();  // its output is the result
    return compared ? execute_dry_run(*parts.value(), loaded.host) : compared.exit_code();
}

/// Of rows that this server may not take as they are meant: printed, and for run.json.
std::vector<std::string> warn_of_rows(const ReplayOptions& options, const Workload& workload,
                                      const Server& server) {
    const PreflightFindings& found = server.findings;
    std::vector<std::string> warnings;
    const auto warn_of_split = [&](const PreflightFindings& of, const char* where) {
        const std::string text =
            split_unknown(of)
                ? split_warning(workload, of.overhead, options.request.dialect->templated)
                : "";
        warnings.push_back(text.empty() ? "" : where + text);
    };
    warn_of_split(found, "");
    if (server.against) {
        warn_of_split(server.against->findings, "--against: ");
    }
    warnings.push_back(short_answers_warning(options.request.output, workload, found.least_answer));
    std::erase(warnings, "");
    for (std::string& warning : warnings) {
        complain("driftless: warning: %s", warning.c_str());
        warning.insert(0, "warning: ");
    }
    return warnings;
}

/// A server that was met, and what is to be said of it.
struct MetServer {
    Server server;
    std::vector<std::string> warnings;
};

OrExit<MetServer> meet(const Invocation& invocation, Driver& driver, Server described,
                       const Workload& workload) {
    OrExit<Server> met = meet_server(invocation, driver, std::move(described));
    if (!met) {
        return met.exit_code();
    }
    if (!met.value().preflight_done) {
        return MetServer{std::move(met).value(), {}};
    }
    const PreflightFindings& found = met.value().findings;
    if (const int code = check_context(workload, {found.max_model_len, found.max_input_tokens});
        code != exit_done) {
        return code;
    }
    std::vector<std::string> warnings = warn_of_rows(invocation.options, workload, met.value());
    return MetServer{std::move(met).value(), std::move(warnings)};
}

OrExit<ServedWorkload> serve_forecast(Workload workload, const ReplayOptions& options,
                                      const Server& server) {
    OrExit<ServedWorkload> served = serve(std::move(workload), options.request, server);
    if (!served) {
        return served.exit_code();
    }
    ServedWorkload whole = forecast(std::move(served).value(), options, server);
    deal_share(whole.workload);
    return whole;
}

/// The part of this host that the run has.
struct Engine {
    HostChoice host;
    std::unique_ptr<UringDriver> driver;
};

OrExit<Engine> take_host(const ReplayOptions& options, const Workload& workload,
                         const std::vector<Endpoint>& targets) {
    OrExit<HostChoice> host = choose_host(options, workload, targets);
    if (!host) {
        return host.exit_code();
    }
    const std::uint32_t lanes = lanes_most(options, workload.plan, workload.users, host.value());
    reserve_files(lanes + files_reserved);
    OrExit<std::unique_ptr<UringDriver>> driver = make_driver(options.host, lanes);
    if (!driver) {
        return driver.exit_code();
    }
    return Engine{std::move(host).value(), std::move(driver).value()};
}

/// What came of the prompts before any was sent.
struct CheckedPrompts {
    std::optional<VerifyFindings> verified;
    PromptSums sums;  ///< as `compare` gives them
};

/// Of a resumed run it is what its first segment saw: that one has warmed the cache itself.
OrExit<CacheProbe> check_caches(const std::optional<EarlierRun>& earlier,
                                const CheckedPrompts& checked, const ReplayParts& parts,
                                Driver& driver) {
    if (earlier && earlier->resumption) {
        std::puts("cache: not probed, because it holds the rows sent before");
        return earlier->facts.info.cache_probe;
    }
    const std::uint32_t verified = checked.verified ? checked.verified->requests : 0;
    return probe_caches(parts, driver, parts.server().findings.requests + verified + 1);
}

OrExit<CheckedPrompts> check_all_prompts(const std::optional<EarlierRun>& earlier,
                                         ReplayParts& parts, Driver& driver) {
    const OrExit<std::optional<VerifyFindings>> verified = verify_prompts(parts, driver);
    if (!verified) {
        return verified.exit_code();
    }
    if (const int code = save_prompts(parts); code != exit_done) {
        return code;
    }
    const OrExit<PromptSums> sums = compare(earlier, parts);
    if (!sums) {
        return sums.exit_code();
    }
    return CheckedPrompts{verified.value(), sums.value()};
}

/// The last step that takes long: who stops it is told at once, before there is a folder.
OrExit<CalibrationFacts> calibrate(const std::optional<EarlierRun>& earlier, const HostFacts& facts,
                                   const HostChoice& host, const ReplayParts& parts) {
    const ReplayOptions& options = parts.invocation().options;
    if (!parts.served().forecast_note.empty()) {
        print_line("plan: %s", parts.served().forecast_note.c_str());
    }
    OrExit<CalibrationFacts> calibration =
        earlier && earlier->resumption
            ? OrExit(earlier->facts.calibration)
            : look_up_calibration(options.calibration, options.host.realtime, facts, host,
                                  parts.workload());
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    return calibration;
}

int run(const std::optional<EarlierRun>& earlier, ReplayParts& parts, const RunFile& file,
        const PromptSums& sums, UringDriver& driver, Quiet& quiet) {
    const ReplayOptions& options = parts.invocation().options;
    const Workload& workload = parts.workload();
    const std::string folder = folder_of(options, workload.trace.name);
    if (!earlier || !earlier->resumption) {
        return execute_run({parts, file, workload.plan, nullptr, {}}, driver, folder, quiet);
    }
    const ResumedRun resumed = earlier->resumption->resume(options, workload);
    const Plan remaining = resumed.remaining_plan();
    return execute_run({parts, file, remaining, &resumed, sums}, driver, folder, quiet);
}

/// The exit code of a stage before time 0; an interrupt is told here.
int stopped(int exit_code) {
    if (exit_code == exit_interrupted) {
        std::fputs("driftless: interrupted before the first request; nothing was written\n",
                   stderr);
    }
    return exit_code;
}

/// From what is loaded to the end of a run; each stage prints what stops it.
int send(const Invocation& invocation, const std::optional<EarlierRun>& earlier, Loaded loaded,
         Quiet& quiet) {
    const ReplayOptions& options = invocation.options;
    count_stop_requests();  // what comes before looks at none: there, a signal just ends us
    OrExit<ResolvedTargets> targets =
        resolve_targets(options.server, options.sending.timeouts.connect);
    if (!targets) {
        return stopped(targets.exit_code());
    }
    const OrExit<Engine> engine = take_host(options, loaded.workload, targets.value().endpoints);
    if (!engine) {
        return stopped(engine.exit_code());
    }
    const HostChoice& host = engine.value().host;
    UringDriver& driver = *engine.value().driver;
    Server described = describe_server(options, first_model(loaded.workload),
                                       std::move(loaded.words), std::move(targets).value());
    described.sends_recorded_text = loaded.workload.trace.is_recorded_text();
    const OrExit<MetServer> met = meet(invocation, driver, std::move(described), loaded.workload);
    if (!met) {
        return stopped(met.exit_code());
    }
    const OrExit<ServedWorkload> served =
        serve_forecast(std::move(loaded.workload), options, met.value().server);
    if (!served) {
        return stopped(served.exit_code());
    }
    const OrExit<std::unique_ptr<ReplayParts>> made =
        ReplayParts::make(invocation, served.value(), met.value().server);
    if (!made) {
        return stopped(made.exit_code());
    }
    ReplayParts& parts = *made.value();
    const OrExit<CheckedPrompts> prompts = check_all_prompts(earlier, parts, driver);
    if (!prompts) {
        return stopped(prompts.exit_code());
    }
    const OrExit<CalibrationFacts> calibration = calibrate(earlier, loaded.host, host, parts);
    if (!calibration) {
        return stopped(calibration.exit_code());
    }
    const OrExit<CacheProbe> cache = check_caches(earlier, prompts.value(), parts, driver);
    if (!cache) {
        return stopped(cache.exit_code());
    }
    const RunFile file{parts,
                       loaded.host,
                       EngineHost{host, driver.features()},
                       calibration.value(),
                       prompts.value().verified,
                       met.value().warnings,
                       cache.value()};
    return run(earlier, parts, file, prompts.value().sums, driver, quiet);
}

int replay(const Invocation& invocation, const std::optional<RunFacts>& facts, Quiet& quiet) {
    const ReplayOptions& options = invocation.options;
    const OrExit<std::optional<EarlierRun>> earlier = open_earlier(options.again, facts);
    if (!earlier) {
        return earlier.exit_code();
    }
    const bool resumes = earlier.value() && earlier.value()->resumption;
    const int places = resumes ? exit_done : check_paths(options.results, options.dry_run);
    if (places != exit_done) {
        return places;
    }
    OrExit<Loaded> loaded = load(options, earlier.value());
    if (!loaded) {
        return loaded.exit_code();
    }
    const bool is_salted = !loaded.value().workload.trace.is_recorded_text();
    if (options.prompts.cache_salt == "random" && is_salted) {
        print_line("prompts: --cache-salt %s gives these prompts again",
                   invocation.cache_salt.c_str());
    }
    return options.dry_run ? dry_run(invocation, earlier.value(), std::move(loaded).value(), quiet)
                           : send(invocation, earlier.value(), std::move(loaded).value(), quiet);
}

}  // namespace

int run_replay(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const char* variable = std::getenv("OPENAI_API_KEY");
    const std::string key = variable != nullptr ? variable : "";
    ReplayCommandLine typed = parse_replay_options(arguments, key);
    if (typed.kind == ReplayCommandLine::Kind::help) {
        std::fputs(typed.text.c_str(), stdout);
        return exit_done;
    }
    if (typed.kind == ReplayCommandLine::Kind::refused) {
        complain("%s", typed.text.c_str());
        return exit_usage;
    }
    OrExit<TakenUp> taken = take_up(key, std::move(typed));
    if (!taken) {
        return taken.exit_code();
    }
    ReplayCommandLine& line = taken.value().line;
    if (const int code = settle_part(taken.value().earlier.has_value(), line); code != exit_done) {
        return code;
    }
    OrExit<Credentials> credentials =
        take_credentials(line.options.request, line.options.server.targets);
    if (!credentials) {
        return credentials.exit_code();
    }
    std::vector<std::string> command = mask_command(arguments);
    if (repeats_secret(command, credentials.value())) {
        return exit_usage;
    }
    wipe_variable("OPENAI_API_KEY");  // what is needed of it is in the options
    hide_secrets(credentials.value(), line.options.server.tls, argc, argv);
    catch_stop_signals();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Quiet quiet(line.options.results.quiet);
    for (const std::string& note : line.notes) {
        print_line("flags: %s", note.c_str());
    }
    const Invocation invocation =
        make_invocation(std::move(line), std::move(credentials).value(), std::move(command));
    return replay(invocation, taken.value().earlier, quiet);
}

}  // namespace driftless
