#include "cmd/replay/replay.hpp"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/execute.hpp"
#include "cmd/replay/save_prompts.hpp"
#include "cmd/replay/stamp_facts.hpp"
#include "cmd/replay/verify.hpp"
#include "cmd/ring_errors.hpp"
#include "cmd/secrets.hpp"
#include "cmd/stop.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

// Descriptors that are no connections: files, ring, standard streams, the resolver.
constexpr std::uint64_t files_reserved = 64;
// More than this needs more memory than a laptop has; 28,232 ephemeral ports come first anyway.
constexpr std::uint64_t inflight_most = 65'536;
constexpr std::size_t spin_cpus_min = 3;

bool there(const std::string& path) {
    struct stat facts{};
    return ::lstat(path.c_str(), &facts) == 0;
}

/// "runs/20261121T034512Z-<trace name>", numbered where two runs begin in one second.
std::string default_folder(const std::string& trace_name) {
    const time_t now = ::time(nullptr);
    tm parts{};
    (void)::gmtime_r(&now, &parts);
    char text[32];
    (void)::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
    const std::string base = "runs/" + std::string(text) + "-" + trace_name;
    std::string path = base;
    for (int number = 2; there(path); ++number) {
        path = base + "-" + std::to_string(number);
    }
    return path;
}

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

int check_paths(const ReplayOptions& options) {
    if (!options.out.empty() && there(options.out)) {
        std::fprintf(stderr,
                     "driftless: --out %s: exists already; name a new folder or remove it\n",
                     options.out.c_str());
        return exit_usage;
    }
    if (!options.records_path.empty() && there(options.records_path)) {
        std::fprintf(stderr,
                     "driftless: --output-path %s: exists already; name a new file or remove it\n",
                     options.records_path.c_str());
        return exit_usage;
    }
    return exit_done;
}

int choose_host(const ReplayOptions& options, HostChoice& host) {
    const std::vector<std::uint32_t> allowed = allowed_cpus();
    host.engine_cpu = choose_engine_cpu(allowed);
    if (options.cpu) {
        host.engine_cpu = {*options.cpu, "--cpu"};
    }
    for (const std::uint32_t cpu : allowed) {
        const bool shared = allowed.size() == 1;
        if (options.writer_cpu ? cpu == *options.writer_cpu
                               : shared || cpu != host.engine_cpu.cpu) {
            host.writer_cpus.push_back(cpu);
        }
    }
    if (host.writer_cpus.empty()) {
        std::fprintf(stderr, "driftless: --writer-cpu %u: is not among the allowed CPUs\n",
                     options.writer_cpu.value_or(0));
        return exit_usage;
    }
    host.wait = options.wait != WaitRule::automatic ? options.wait
                : allowed.size() >= spin_cpus_min   ? WaitRule::spin
                                                    : WaitRule::hybrid;
    host.file_limit = raise_file_limit();
    const std::uint64_t most = std::min(
        host.file_limit > files_reserved ? host.file_limit - files_reserved : 1, inflight_most);
    if (options.connections && *options.connections > most) {
        std::fprintf(stderr,
                     "driftless: --connections %u: the limit of open files allows %llu; raise it "
                     "(ulimit -n)\n",
                     *options.connections, static_cast<unsigned long long>(most));
        return exit_host;
    }
    host.inflight_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        options.inflight_max.value_or(static_cast<std::uint32_t>(most)), most));
    const Result<void> pinned = pin_this_thread(host.engine_cpu.cpu);
    if (!pinned) {
        std::fprintf(stderr, "driftless: --cpu %u: the thread cannot be pinned there (%s)\n",
                     host.engine_cpu.cpu, name_of(pinned.error().code));
        return pinned.error().code == ErrorCode::invalid ? exit_usage : exit_host;
    }
    sharpen_timers();
    std::printf("engine: CPU %u (%s), wait %s\n", host.engine_cpu.cpu,
                host.engine_cpu.reason.c_str(), name_of(host.wait));
    return exit_done;
}

int report_ring(const Error& error) {
    std::fprintf(stderr, "driftless: %s\n", ring_refusal(error, read_ring_bars()).c_str());
    return exit_host;
}

UringOptions ring_options(const HostChoice& host, const Workload& workload,
                          const ReplayOptions& asked) {
    UringOptions options;
    // A lane has a receive, a send, its stamps and their cancel in flight; the preflight a few.
    const auto lanes = static_cast<std::uint32_t>(
        std::min<std::size_t>(workload.plan.rows.size(), host.inflight_max));
    options.ops_max = 4 * lanes + 16;
    options.buffers = asked.receive_buffers;
    options.stamps = stamps_of(asked.stamps);
    return options;
}

/// What `run.json` says of the host side of the run.
void note_host(RunFile& file, const HostChoice& host, const UringDriver& driver) {
    file.engine_cpu = host.engine_cpu.cpu;
    file.engine_cpu_reason = host.engine_cpu.reason;
    file.writer_cpus = host.writer_cpus;
    file.wait = name_of(host.wait);
    file.inflight_max = host.inflight_max;
    file.file_limit = host.file_limit;
    file.ring = driver.features();
}

int replay_with(const ReplayOptions& options, RunFile& file) {
    Workload workload;
    int code = check_paths(options);
    if (code == exit_done) {
        code = load_workload(options, workload);
    }
    if (code == exit_done) {
        code = check_bodies(options, workload.trace);
    }
    if (code != exit_done) {
        return code;
    }
    file.options = &options;
    file.trace = &workload.trace;
    file.load = workload.load;
    file.plan = &workload.plan;
    file.notes = workload.notes;
    file.host = read_host_facts();
    Server server;
    code = choose_words(options, server);
    if (code != exit_done) {
        return code;
    }
    file.tokenizer = server.words ? &server.words->figures : nullptr;
    if (options.dry_run) {
        describe_server(options, server);
        file.overhead = server.findings.overhead;
        file.prompt = server.prompt;
        code = save_prompts(options, workload, server);
        return code == exit_done ? execute_dry_run(options, workload, server, file) : code;
    }
    HostChoice host;
    code = resolve_targets(options, server);
    if (code == exit_done) {
        code = choose_host(options, host);
    }
    if (code != exit_done) {
        return code;
    }
    Result<std::unique_ptr<UringDriver>> driver =
        UringDriver::make(ring_options(host, workload, options));
    if (!driver) {
        return report_ring(driver.error());
    }
    code = meet_server(options, *driver.value(), file.run_id, server);
    if (code == exit_done) {
        code = check_context(workload, server.findings.max_model_len);
    }
    if (code == exit_done) {
        code =
            verify_prompts(options, workload, server, *driver.value(), file.run_id, file.verified);
    }
    if (code != exit_done) {
        return code;
    }
    code = save_prompts(options, workload, server);
    if (code != exit_done) {
        return code;
    }
    expect_cached(workload.trace, server.findings.overhead.post, workload.plan);
    host.trust = find_trust(options, file.host, workload);
    file.findings = server.preflight_done ? &server.findings : nullptr;
    file.overhead = server.findings.overhead;
    file.prompt = server.prompt;
    note_host(file, host, *driver.value());
    const std::string folder =
        options.out.empty() ? default_folder(workload.trace.name) : options.out;
    return execute_run(options, workload, server, host, *driver.value(), folder, file);
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
    std::string& out = line.options.out;
    while (out.size() > 1 && out.back() == '/') {
        out.pop_back();
    }
    catch_stop_signals();
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    for (const std::string& note : line.notes) {
        std::printf("flags: %s\n", note.c_str());
    }
    draw_salt(line.options.cache_salt);
    RunFile file;
    file.run_id = make_run_id();
    file.command = mask_command(arguments);
    return replay_with(line.options, file);
}

}  // namespace driftless
