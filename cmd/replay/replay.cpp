#include "cmd/replay/replay.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

#include "cmd/environment.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/credentials.hpp"
#include "cmd/replay/dry_run.hpp"
#include "cmd/replay/places.hpp"
#include "cmd/replay/resume/again.hpp"
#include "cmd/replay/resume/recall.hpp"
#include "cmd/replay/resume/resume.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/run/calibration_lookup.hpp"
#include "cmd/replay/run/execute.hpp"
#include "cmd/replay/server/verify.hpp"
#include "cmd/replay/workload/dataset.hpp"
#include "cmd/replay/workload/recorded.hpp"
#include "cmd/replay/workload/save_prompts.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "engine/plan/server_forecast.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

/// Eight hex digits that differ from run to run: servers must never see two live requests of one
/// name. The only thing in a run that its seed does not decide.
std::string make_run_id() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    const auto seed = static_cast<std::uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec);
    char text[16];
    std::snprintf(text, sizeof(text), "%08x", static_cast<unsigned>(mix64(seed)));
    return text;
}

/// `--cache-salt random`: a salt that no other run has. It is printed and recorded, so that the run
/// can be repeated with it.
void draw_salt(std::string& salt) {
    if (salt != "random") {
        return;
    }
    std::random_device source;
    const std::uint64_t high = source();
    char text[32];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(high << 32 | source()));
    salt = text;
    std::printf("prompts: --cache-salt %s gives these prompts again\n", text);
}

/// What `--resume` or `--from` names.
struct EarlierRun {
    RunFacts facts;
    std::optional<Resumption> resumption;
};

/// Everything before time 0, in its order; each step prints what stops it.
class Preparation {
  public:
    Preparation(const ReplayOptions& options, std::optional<EarlierRun>& earlier, RunFile& file,
                Quiet& quiet)
        : options_(options),
          earlier_(earlier ? &earlier->facts : nullptr),
          resumption_(earlier && earlier->resumption ? &*earlier->resumption : nullptr),
          file_(file),
          quiet_(quiet) {}

    int go() {
        int code = load();
        if (code == exit_done) {
            code = choose_words(options_, server_);
        }
        if (code == exit_done) {
            code = check_text(options_, workload_, server_);
        }
        if (code != exit_done) {
            return code;
        }
        file_.tokenizer = server_.words ? &server_.words->figures : nullptr;
        file_.text = server_.text ? &*server_.text : nullptr;
        if (options_.dry_run) {
            return dry_run();
        }
        code = meet();
        if (code == exit_done) {
            code = calibrate();
        }
        if (code == exit_interrupted) {
            std::fputs("driftless: interrupted before the first request; nothing was written\n",
                       stderr);
        }
        return code == exit_done ? run() : code;
    }

  private:
    int load();
    int dry_run();
    int build_parts();
    int meet();
    void warn(const std::string& warning);
    int compare();
    void forecast();
    int calibrate();
    int run();

    const ReplayOptions& options_;
    const RunFacts* earlier_;  ///< null: a run of its own
    Resumption* resumption_;   ///< null: nothing to resume
    RunFile& file_;
    Quiet& quiet_;
    Workload workload_;
    Server server_;
    HostChoice host_;
    std::unique_ptr<UringDriver> driver_;
    std::unique_ptr<ReplayParts> parts_;  ///< once the server is known
};

int Preparation::load() {
    int code = resumption_ != nullptr ? resumption_->open(options_.again.resume, *earlier_)
                                      : check_paths(options_);
    if (code == exit_done) {
        code = load_workload(options_, workload_);
    }
    if (code == exit_done) {
        code = check_bodies(options_, workload_.trace);
    }
    if (code == exit_done) {
        code = check_row_headers(options_, workload_);
    }
    if (code == exit_done && earlier_ != nullptr) {
        code = check_schedule(*earlier_, workload_, resumption_ ? "--resume" : "--from");
    }
    if (!workload_.models.empty()) {
        server_.first_model = workload_.models.name_of(workload_.plan.rows.front().row);
    }
    file_.options = &options_;
    file_.trace = &workload_.trace;
    file_.load = workload_.load;
    file_.plan = &workload_.plan;
    file_.closed = workload_.closed;
    file_.waits = workload_.waits;
    file_.notes = workload_.notes;
    file_.host = read_host_facts();
    if (code != exit_done) {
        return code;
    }
    return resumption_ != nullptr ? check_calibration_again(options_, *earlier_, file_.host)
                                  : check_calibration(options_, file_.host);
}

int Preparation::dry_run() {
    describe_server(options_, server_);
    file_.model = server_.findings.model;
    file_.overhead = server_.findings.overhead;
    file_.prompt = server_.prompt;
    int code = build_parts();
    if (code == exit_done) {
        code = save_prompts(*parts_);
    }
    if (code == exit_done) {
        code = compare();
    }
    quiet_.end();  // its output is the result
    return code == exit_done ? execute_dry_run(server_, *parts_, file_) : code;
}

/// What all requests are made of, from here on: also those that are saved, verified and summed.
int Preparation::build_parts() {
    const int code = make_bodies(options_, server_, workload_, file_);
    if (code != exit_done) {
        return code;
    }
    Result<std::unique_ptr<ReplayParts>> parts = ReplayParts::make(options_, workload_, server_);
    if (!parts) {
        return fail_host("bodies", parts.error());
    }
    parts_ = std::move(parts).value();
    return exit_done;
}

/// On the screen and in run.json; empty: nothing.
void Preparation::warn(const std::string& warning) {
    if (!warning.empty()) {
        std::fprintf(stderr, "driftless: warning: %s\n", warning.c_str());
        server_.findings.notes.push_back("warning: " + warning);
    }
}

int Preparation::meet() {
    count_stop_requests();  // what comes before looks at none: there, a signal just ends us
    int code = resolve_targets(options_, server_);
    if (code == exit_done) {
        code = choose_host(options_, workload_, host_);
    }
    if (code != exit_done) {
        return code;
    }
    driver_ = make_driver(options_, host_, workload_);
    if (driver_ == nullptr) {
        return exit_host;
    }
    code = meet_server(options_, *driver_, file_.run_id, server_);
    if (code == exit_done && server_.preflight_done) {
        code = check_context(workload_,
                             {server_.findings.max_model_len, server_.findings.max_input_tokens});
    }
    if (code == exit_done && server_.preflight_done && split_unknown(server_.findings)) {
        warn(split_warning(workload_, server_.findings.overhead,
                           options_.request.dialect->templated));
    }
    if (code == exit_done && server_.preflight_done) {
        warn(short_answers_warning(options_, workload_, server_.findings.least_answer));
    }
    if (code == exit_done) {
        code = build_parts();
    }
    if (code == exit_done) {
        code = verify_prompts(server_, *parts_, *driver_, file_.run_id, file_.verified);
    }
    if (code == exit_done) {
        code = save_prompts(*parts_);
    }
    return code == exit_done ? compare() : code;
}

/// With the prompts of the run that is resumed or repeated.
int Preparation::compare() {
    if (resumption_ != nullptr) {
        return resumption_->check(server_, *parts_);
    }
    return earlier_ == nullptr ? exit_done : check_prompts(*earlier_, server_, *parts_, "--from");
}

/// What the caches should hit: in the trace's blocks, and in the server's where they are known.
void Preparation::forecast() {
    const Overhead around =
        server_.prompt == PromptKind::ids ? Overhead{} : server_.findings.overhead;
    if (server_.findings.overhead.post != workload_.plan.post_tokens) {
        expect_cached(workload_.trace, server_.findings.overhead.post, workload_.plan);
    }
    std::optional<std::uint32_t> block = options_.server.server_block;
    if (!block && server_.findings.server_block > 0) {
        block = static_cast<std::uint32_t>(server_.findings.server_block);
    }
    if (!block) {
        return;
    }
    if (expect_server_cached(workload_.trace, {around.pre, around.post}, *block, workload_.plan)) {
        file_.server_block = block;
    } else {
        std::printf(
            "plan: more than %llu block ids: hits are not forecast in the server's blocks\n",
            static_cast<unsigned long long>(server_forecast_ids_max));
    }
}

/// The last step that takes long: who stops it is told at once, before there is a folder.
int Preparation::calibrate() {
    forecast();
    file_.calibration = resumption_ != nullptr
                            ? earlier_->calibration
                            : look_up_calibration(options_, file_.host, host_, workload_);
    return stop_requests().load() > 0 ? exit_interrupted : exit_done;
}

int Preparation::run() {
    file_.findings = server_.preflight_done ? &server_.findings : nullptr;
    file_.model = server_.findings.model;
    file_.overhead = server_.findings.overhead;
    file_.split_unknown = split_unknown(server_.findings);
    file_.length_member = server_.body.length_member;
    file_.prompt = server_.prompt;
    note_host(file_, host_, *driver_);
    const std::string folder =
        options_.results.out.empty() ? default_folder(workload_.trace.name) : options_.results.out;
    if (resumption_ == nullptr) {
        return execute_run({*parts_, workload_.plan, server_, host_, nullptr, {}}, *driver_, folder,
                           file_, quiet_);
    }
    const ResumedRun resumed = resumption_->resume(options_, workload_);
    const Plan remaining = resumed.remaining_plan();
    return execute_run({*parts_, remaining, server_, host_, &resumed, resumption_->prompts()},
                       *driver_, folder, file_, quiet_);
}

/// What `--resume` and `--from` of a later run need. A salt that was drawn is kept as it fell.
void note_arguments(const ReplayCommandLine& line, RunFile& file) {
    char folder[PATH_MAX];
    const std::string here = ::getcwd(folder, sizeof(folder)) != nullptr ? folder : ".";
    file.arguments = arguments_to_keep(line.arguments, here);
    for (std::string& argument : file.arguments) {
        if (argument.starts_with("--cache-salt=")) {
            argument = "--cache-salt=" + line.options.prompts.cache_salt;
        }
    }
    file.records_path = absolute_path(line.options.results.records_path, here);
}

}  // namespace

int run_replay(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const char* key = std::getenv("OPENAI_API_KEY");
    ReplayCommandLine line =
        parse_replay_options(arguments, key != nullptr ? std::string(key) : std::string());
    if (line.kind == ReplayCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == ReplayCommandLine::Kind::refused) {
        std::fprintf(stderr, "%s\n", line.text.c_str());
        return exit_usage;
    }
    RunFile file;
    file.run_id = make_run_id();
    file.command = mask_command(arguments);
    std::optional<EarlierRun> earlier;
    if (!line.options.again.resume.empty() || !line.options.again.from.empty() ||
        line.options.again.resend) {
        earlier.emplace();
        const int code = take_up(key != nullptr ? key : "", line, earlier->facts);
        if (code != exit_done) {
            return code;
        }
        if (!line.options.again.resume.empty()) {
            earlier->resumption.emplace();
        }
    }
    if (const std::string why = take_from_environment(line.options); !why.empty()) {
        std::fprintf(stderr, "driftless: %s\n", why.c_str());
        return exit_usage;
    }
    wipe_variable("OPENAI_API_KEY");  // what is needed of it is in the options
    hide_secrets(line.options, argc, argv);
    std::string& out = line.options.results.out;
    while (out.size() > 1 && out.back() == '/') {
        out.pop_back();
    }
    catch_stop_signals();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Quiet quiet(line.options.results.quiet);
    for (const std::string& note : line.notes) {
        std::printf("flags: %s\n", note.c_str());
    }
    draw_salt(line.options.prompts.cache_salt);
    note_arguments(line, file);
    return Preparation(line.options, earlier, file, quiet).go();
}

}  // namespace driftless
