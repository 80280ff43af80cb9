#include "cmd/base/this_host.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>

#include "cmd/base/files.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/machines/calibration_floor.hpp"
#include "proto/core/errors.hpp"
#include "proto/run/client_sample.hpp"
#include "proto/run/record.hpp"

namespace driftless {

static constexpr std::string_view container_remedy =
    "Docker and Podman: driftless help seccomp.json > seccomp.json, then --security-opt "
    "seccomp=seccomp.json; Kubernetes: driftless help pod.yaml; more: driftless help containers.md";

// The mock's rings need between 1 and 2 MiB (Linux 6.18), those of a replay less; all rings of a
// user are counted together.
static constexpr std::uint64_t locked_kib_enough = 8192;

static std::string remedy(const Error& error, const RingBars& bars) {
    if (error.sys_errno == ENOMEM && bars.locked_kib) {
        return fmt::format(
            "; rings count as locked memory, and this user can lock {} KiB: ulimit -l {} is enough",
            *bars.locked_kib, locked_kib_enough);
    }
    if (error.code != ErrorCode::denied && error.code != ErrorCode::unsupported) {
        return "";
    }
    // A filter may answer EPERM (Docker) or ENOSYS (Podman): it is the likelier cause of both.
    std::string_view why = "use Linux 6.1 or newer, with io_uring allowed";
    if (bars.disabled != 0) {
        why =
            "kernel.io_uring_disabled forbids it: sysctl kernel.io_uring_disabled=0 on the host "
            "allows it";
    } else if (bars.filtered) {
        why = "a seccomp filter forbids it, as containers do by default";
    }
    return fmt::format("; {}{}{}", why, bars.filtered ? ". " : "",
                       bars.filtered ? container_remedy : "");
}

RingBars read_ring_bars() {
    RingBars bars;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Seccomp:")) {
            bars.filtered = line.ends_with('2');
        }
    }
    std::ifstream("/proc/sys/kernel/io_uring_disabled") >> bars.disabled;
    rlimit locked{};
    if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur < locked_kib_enough * 1024) {
        bars.locked_kib = locked.rlim_cur / 1024;
    }
    utsname name{};
    if (::uname(&name) == 0) {
        bars.kernel = name.release;
    }
    return bars;
}

std::string ring_refusal(const Error& error, const RingBars& bars) {
    return fmt::format("cannot {} on Linux {}: {}{}", error.doing, bars.kernel, reason_of(error),
                       remedy(error, bars));
}

std::string_view DriverProbe::feature(std::string_view name) const {
    const auto found = std::ranges::find(features, name, [](const auto& one) { return one.first; });
    return found == features.end() ? std::string_view() : found->second;
}

std::string DriverProbe::text() const {
    std::string text =
        kind == DriverKind::epoll ? "edge-triggered" : "single issuer, deferred work";
    text += feature("registered_ring") == "yes" ? ", registered ring" : "";
    text += feature("absolute_wait") == "yes" ? ", absolute wait" : "";
    text += feature("no_iowait") == "yes" ? ", no iowait" : "";
    text += "; kernel stamps: sent by " + std::string(feature("transmit_stamps"));
    return text + (feature("receive_stamps") == "yes" ? ", received" : ", not received");
}

DriverProbe probe_driver(DriverKind asked) {
    DriverOptions options;
    options.ops_max = 64;
    options.submit_entries = 64;
    options.buffers = 16;
    options.stamps = {true, true};
    options.kind = asked;
    const Result<std::unique_ptr<Driver>> driver = make_driver(options);
    DriverProbe probe;
    if (!driver) {
        probe.refusal = ring_refusal(driver.error(), read_ring_bars());
        return probe;
    }
    DriverFacts facts = driver.value()->facts();
    probe.kind = facts.kind;
    probe.features = std::move(facts.features);
    if (facts.why_not_ring) {
        probe.refusal = ring_refusal(*facts.why_not_ring, read_ring_bars());
    }
    return probe;
}

std::string pinning_refusal(std::uint32_t cpu, const Error& error) {
    const std::string flag = "--cpu " + std::to_string(cpu) + ": ";
    if (::sched_getscheduler(0) == SCHED_DEADLINE) {
        return flag + "the kernel pins no thread of the class deadline; start it without chrt -d";
    }
    if (error.code != ErrorCode::invalid) {
        return flag + "cannot pin the thread there: " + reason_of(error) + "; " + pinning_remedy;
    }
    return flag + "this process is not allowed on that CPU; use one of " +
           cpu_list_text(allowed_cpus());
}

/// What makes the figures.
static std::string command_for(const EngineSetup& run) {
    return std::string("driftless calibrate") +
           (run.engines > 1 ? " --engines " + std::to_string(run.engines) : "") +
           (run.driver == name_of(DriverKind::epoll) ? " --driver epoll" : "");
}

/// Of a file of this user's state.
static std::string state_path(const std::string& begin, const EngineSetup& engines) {
    std::string name = "/driftless/" + begin;
    name += engines.driver == name_of(DriverKind::epoll) ? "-epoll" : "";
    name += engines.realtime ? "-realtime" : "";
    name += engines.engines > 1 ? "-engines-" + std::to_string(engines.engines) : "";
    name += ".json";
    const auto below = [](const char* variable, const std::string& rest) {
        const char* folder = std::getenv(variable);
        const bool is_whole = folder != nullptr && *folder == '/';  // else it is no place of a user
        return is_whole ? std::string(folder) + rest : std::string();
    };
    const std::string state = below("XDG_STATE_HOME", name);
    return state.empty() ? below("HOME", "/.local/state" + name) : state;
}

std::string default_calibration_path(const EngineSetup& engines) {
    return state_path("calibration", engines);
}

std::string kept_calibration_path(const EngineSetup& engines, const std::string& placed) {
    return state_path("measured-" + placed, engines);
}

Result<void> save_calibration(const Calibration& calibration, const std::string& path) {
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) {
        (void)std::filesystem::create_directories(folder, failed);
    }
    return failed ? Error{ErrorCode::io_failed, failed.value(), "make its folder"}
                  : write_whole_file(path, to_json(calibration), Lasting::written);
}

FoundCalibration find_calibration(const std::string& path, const HostFacts& host,
                                  const EngineSetup& run) {
    std::string from = path.empty() ? default_calibration_path(run) : path;
    Result<std::string> text = read_regular_file(from);
    if (!text && path.empty() && run.realtime) {
        from = default_calibration_path({false, run.engines, run.driver});
        text = read_regular_file(from);
    }
    if (!text && path.empty() && text.error().code == ErrorCode::not_found) {
        return {std::nullopt, command_for(run) + " has not run on this host", true};
    }
    if (!text) {
        return {std::nullopt, from + " " + why_unreadable(text.error()), true};
    }
    JsonDocument document;
    Result<Calibration> read = read_calibration(document, text.value());
    if (!read) {
        return {std::nullopt,
                from + " is not a calibration file: cannot " + read.error().doing + ": " +
                    reason_of(read.error()),
                true};
    }
    const std::string why = why_not_of(read.value(), host, run);
    if (!why.empty()) {
        return {std::nullopt, why + "; run " + command_for(run) + " again", false};
    }
    return {std::move(read).value(), "", false};
}

static constexpr std::uint64_t seed = 0;
// 0.03 s of spinning, 0.1 s of waits, 0.04 s of fires; the rehearsal takes about 0.5 s.
static constexpr FloorPlan brief_floor{milliseconds(30), 32, 40, milliseconds(200)};
static constexpr std::uint64_t brief_streams = 200;
static constexpr RehearsalShape brief_shape{60, 11};

// A thread that spins before all others is stopped for 50 ms of each second.
static SpinGaps spin_gaps(Driver& driver, Duration length, bool realtime) {
    if (realtime) {
        run_among_others();
    }
    const SpinGaps gaps = measure_spin_gaps(driver, length);
    if (realtime) {
        (void)run_before_others();  // was granted before
    }
    return gaps;
}

/// The kernel counts steal in ticks, sometimes backwards, and a turn may have begun before the
/// span.
static double share_of(std::int64_t part_ns, std::int64_t span_ns) {
    return std::clamp(static_cast<double>(part_ns) / static_cast<double>(span_ns), 0.0, 1.0);
}

/// What one engine's thread finds.
static Result<void> measure_thread(const FloorPlan& plan, const MeasuredHost& host,
                                   Calibration& out) {
    const Result<std::unique_ptr<Driver>> made = make_driver({.kind = host.driver});
    if (!made) {
        return made.error();
    }
    Driver& driver = *made.value();
    ThreadProbe probe(this_thread_id());
    const Instant begin = driver.now();
    const SpinGaps gaps = spin_gaps(driver, plan.spin, host.realtime);
    constexpr Error stopped{ErrorCode::cancelled, 0, "measure the host"};
    if (host.stopped()) {
        return stopped;
    }
    const WaitFloors waits = measure_waits(driver, plan.wait_rounds, plan.most, seed);
    if (host.stopped()) {
        return stopped;
    }
    const cpu_set_t cpus = cpu_set_of(host.others);
    const Result<FireFloors> fires =
        measure_fires(driver, plan.fire_rounds, plan.most, &cpus, seed);
    if (!fires) {
        return fires.error();
    }
    const std::int64_t length = (driver.now() - begin).ns;
    const ThreadCost cost = probe.next();
    out.spin_gaps_per_s = gaps.per_s;
    out.spin_gap_max_ns = gaps.max_ns;
    out.spin_lost_share = gaps.lost_share;
    out.wake_spin = waits.spin;
    out.wake_hybrid = waits.hybrid;
    out.wake_sleep = waits.sleep;
    out.fire_small = fires.value().small;
    out.fire_large = fires.value().large;
    out.steal_share = share_of(cost.steal_ns, length);
    out.run_delay_share = share_of(cost.run_delay_ns, length);
    return {};
}

/// Each figure by itself; of two spreads the one that is later at its p99.
static void take_worse(Calibration& out, const Calibration& other) {
    using C = Calibration;
    out.spin_gap_max_ns = std::max(out.spin_gap_max_ns, other.spin_gap_max_ns);
    for (double C::* const one :
         {&C::spin_gaps_per_s, &C::spin_lost_share, &C::steal_share, &C::run_delay_share}) {
        out.*one = std::max(out.*one, other.*one);
    }
    for (Spread C::* const one :
         {&C::wake_spin, &C::wake_hybrid, &C::wake_sleep, &C::fire_small, &C::fire_large}) {
        out.*one = (other.*one).p99_ns > (out.*one).p99_ns ? other.*one : out.*one;
    }
}

namespace {

/// The thread of an engine that is not the first: measures as that one does, at the same time.
/// `plan` and `host` outlive it.
class OtherEngine {
  public:
    OtherEngine(const FloorPlan& plan, const MeasuredHost& host) : plan_(plan), host_(host) {}
    ~OtherEngine() { thread_.join(); }
    OtherEngine(const OtherEngine&) = delete;
    OtherEngine& operator=(const OtherEngine&) = delete;

    /// Errors: denied, exhausted.
    Result<void> start(std::uint32_t cpu) {
        const cpu_set_t cpus = cpu_set_of({cpu});
        return thread_.start<&OtherEngine::measure>("engine", &cpus, *this);
    }
    /// Waits for its end; what it found makes `out` worse where that was better.
    Result<void> end(Calibration& out) {
        thread_.join();
        if (measured_) {
            take_worse(out, found_);
        }
        return measured_;
    }

  private:
    void measure() {
        sharpen_timers();
        if (host_.realtime && !run_before_others()) {
            measured_ = Error{ErrorCode::denied, EPERM, "run before ordinary threads"};
            return;
        }
        measured_ = measure_thread(plan_, host_, found_);
    }

    const FloorPlan& plan_;
    const MeasuredHost& host_;
    Result<void> measured_;
    Calibration found_;
    SideThread thread_;
};

}  // namespace

static std::string now_text() {
    timespec time{};
    (void)::clock_gettime(CLOCK_REALTIME, &time);
    return utc_text(std::int64_t{time.tv_sec} * 1'000'000'000);
}

Calibration begin_calibration(const HostFacts& facts, const MeasuredHost& host) {
    Calibration calibration;
    calibration.date = now_text();
    calibration.kernel = facts.kernel;
    calibration.cpu_model = facts.cpu_model;
    calibration.cpus_online = facts.cpus_online;
    calibration.engine_cpu = host.engine_cpus.front();
    calibration.engines = host.engines();
    calibration.realtime = host.realtime;
    calibration.driver = name_of(host.driver);
    return calibration;
}

Result<void> measure_floor(const FloorPlan& plan, const MeasuredHost& host, Calibration& out) {
    std::vector<std::unique_ptr<OtherEngine>> others;
    for (std::uint32_t engine = 1; engine < host.engines(); ++engine) {
        others.push_back(std::make_unique<OtherEngine>(plan, host));
        if (const Result<void> started = others.back()->start(host.engine_cpus[engine]); !started) {
            return started.error();
        }
    }
    Result<void> measured = measure_thread(plan, host, out);
    for (const std::unique_ptr<OtherEngine>& other : others) {
        const Result<void> found = other->end(out);
        measured = measured ? found : measured;
    }
    return measured;
}

Result<void> measure_briefly(const MeasuredHost& host, const char* wait, Calibration& out,
                             std::string& why_no_rehearsal) {
    if (const Result<void> floor = measure_floor(brief_floor, host, out); !floor) {
        return floor.error();
    }
    if (host.stopped()) {
        return Error{ErrorCode::cancelled, 0, "measure the host"};
    }
    const std::uint64_t room = connection_files(raise_file_limit());
    const auto streams = static_cast<std::uint32_t>(std::min(room, brief_streams * host.engines()));
    Rehearsals rehearsals(host, brief_shape, wait);
    const Result<void> opened = rehearsals.open();
    const Result<Rehearsal> done =
        opened ? rehearsals.run(streams) : Result<Rehearsal>(opened.error());
    if (done) {
        out.rehearsals.push_back(done.value());
    } else {
        why_no_rehearsal =
            std::string("cannot ") + done.error().doing + ": " + reason_of(done.error());
    }
    return {};
}

static constexpr std::int64_t chunks_per_stream_second = 50;
static constexpr const char* chunk_gap = "20ms";
// A rate of a shorter sample, as the last of a run, says little of a second.
static constexpr std::int64_t sample_ns_min = 200'000'000;

// The first line that comes out of a pipe, without its end; what there is, where it closes before.
static std::string read_line(int from) {
    std::string line;
    char c = 0;
    while (::read(from, &c, 1) == 1 && c != '\n') {
        line += c;
    }
    return line;
}

/// Its exit code; -1: a signal ended it. Where the user asks to stop, it is not waited for.
///
/// Its last thread may still be leaving /proc then. Who reaps it meanwhile waits for that in the
/// kernel, actively, and keeps that thread from its CPU: for up to 90 s (Linux 6.18, beside
/// compilers). So that thread gets some time first.
static int wait_for(Child& process, const MeasuredHost& host) {
    constexpr timespec some_time{0, 30'000'000};
    std::optional<ChildEnd> end;
    while (!end) {
        if (host.stopped()) {
            process.signal(SIGKILL);
        }
        end = process.wait(std::int64_t{1'000'000'000});
    }
    (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &some_time, nullptr);
    return end->exit_code;
}

namespace {

/// What one engine did in a sample of its own, which is about a second.
struct EngineSecond {
    std::int64_t chunks = 0;  ///< per second
    double taken_share = 0;
    double busy_share = 0;
};

}  // namespace

/// Beside an engine, its own writer is what it waits for: only steal says that others were there.
static EngineSecond second_of(const ClientSample& s, std::int64_t span_ns, bool writer_is_beside) {
    const std::int64_t waited_ns = writer_is_beside ? 0 : std::max<std::int64_t>(s.run_delay_ns, 0);
    const std::int64_t steal_ns = std::max<std::int64_t>(s.steal_ns, 0);
    const std::int64_t busy =
        s.busy_fire_ns + s.busy_receive_ns + s.busy_prepare_ns + s.busy_stamps_ns;
    return {s.chunks * 1'000'000'000 / span_ns, share_of(waited_ns + steal_ns, span_ns),
            share_of(busy, span_ns)};
}

/// The second with the most chunks. All engines sample from time 0 on, so that the samples of one
/// place are of about the same second.
static Result<void> read_client(const std::string& path, bool writer_is_beside,
                                Rehearsal& rehearsal) {
    std::ifstream file(path);
    JsonDocument document;
    std::map<std::int64_t, std::vector<EngineSecond>> engines;
    for (std::string line; std::getline(file, line);) {
        const Result<ClientSample> sample = read_client_sample(document, line);
        if (!sample) {
            return sample.error();
        }
        const ClientSample& s = sample.value();
        const std::int64_t span = s.to_ns - s.from_ns;
        rehearsal.lost = rehearsal.lost || s.ring_dropped_payloads > 0 || s.no_buffers > 0;
        if (span >= sample_ns_min) {
            engines[s.engine].push_back(second_of(s, span, writer_is_beside));
        }
    }
    std::vector<EngineSecond> all;
    for (const auto& [engine, seconds] : engines) {
        all.resize(std::max(all.size(), seconds.size()));
        for (std::size_t at = 0; at < seconds.size(); ++at) {
            all[at].chunks += seconds[at].chunks;
            all[at].taken_share = std::max(all[at].taken_share, seconds[at].taken_share);
            all[at].busy_share = std::max(all[at].busy_share, seconds[at].busy_share);
        }
    }
    const auto most = std::ranges::max_element(all, {}, &EngineSecond::chunks);
    if (most != all.end() && most->chunks > 0) {
        rehearsal.chunks = most->chunks;
        rehearsal.taken_share = most->taken_share;
        rehearsal.busy_share = most->busy_share;
    }
    return {};
}

/// Whether the writer of that run shared an engine's CPU, as its run.json says.
static Result<bool> read_placement(const std::string& path) {
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return text.error();
    }
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text.value());
    return root ? Result<bool>(
                      root.value().find("host").find("writer_gives_way").as_bool().value_or(false))
                : root.error();
}

static Result<void> read_records(const std::string& path, Rehearsal& rehearsal) {
    std::ifstream file(path);
    JsonDocument document;
    std::vector<std::int64_t> drift;
    std::vector<std::int64_t> delay;
    for (std::string line; std::getline(file, line);) {
        const Result<Record> record = read_record(document, line);
        if (!record) {
            return record.error();
        }
        if (record.value().drift_ns) {
            drift.push_back(*record.value().drift_ns);
        }
        if (record.value().receive_delay_ns) {
            delay.push_back(*record.value().receive_delay_ns);
        }
    }
    rehearsal.drift = spread_of(drift);
    rehearsal.receive_delay = spread_of(delay);
    return {};
}

/// Starts this program with other arguments. Its standard output goes to `output`, its messages to
/// the file `messages`. It may use all CPUs that we were allowed: what it inherited from a pinned
/// thread would put its writer beside its engine.
Result<Child> Rehearsals::start(const std::vector<std::string>& arguments, int output,
                                const std::string& messages) const {
    const Result<Fd> file = open_output(messages);
    if (!file) {
        return file.error();
    }
    ChildCommand command;
    command.program = own_program;
    command.arguments = arguments;
    command.environment = own_environment({"OPENAI_API_KEY"});
    command.output = output;
    command.messages = file.value().number();
    const cpu_set_t all = cpu_set_of(host_.allowed);
    const cpu_set_t own = cpu_set_of({host_.engine_cpus.front()});
    (void)::sched_setaffinity(0, sizeof all, &all);
    Result<Child> process = Child::start(command);
    (void)::sched_setaffinity(0, sizeof own, &own);
    return process;
}

Rehearsals::~Rehearsals() {
    if (mock_) {
        mock_->signal(SIGTERM);
        (void)wait_for(*mock_, host_);
    }
    if (!folder_.empty()) {
        std::error_code ignored;
        (void)std::filesystem::remove_all(folder_, ignored);
    }
}

Result<void> Rehearsals::open() {
    const char* temporary = std::getenv("TMPDIR");
    std::string name = std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp");
    name += "/driftless-calibrate-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        return error_from_errno(errno, "make a temporary folder");
    }
    folder_ = name;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return error_from_errno(errno, "make a pipe");
    }
    const Fd from(ends[0]);
    Fd to(ends[1]);
    Result<Child> mock =
        start({"driftless", "mock", "--listen", "127.0.0.1:0", "--ttft", "5ms", "--itl", chunk_gap,
               "--jitter", "0.05", "--cpu", std::to_string(host_.others.front())},
              to.number(), folder_ + "/mock.txt");
    to.close();
    const std::string said = mock ? read_line(from.number()) : std::string();
    if (!mock) {
        return mock.error();
    }
    mock_ = std::move(mock).value();
    constexpr std::string_view before = "listening on ";
    if (!said.starts_with(before)) {
        return Error{ErrorCode::io_failed, 0, "start the mock"};
    }
    url_ = said.substr(before.size());
    return {};
}

Result<void> Rehearsals::write_trace(const std::string& path, std::uint32_t streams) const {
    std::ofstream file(path);
    for (std::uint32_t i = 0; i < streams; ++i) {
        file << "{\"timestamp\": " << std::uint64_t{i} * shape_.begin_ms / streams
             << ", \"input_length\": 16, \"output_length\": " << shape_.chunks_a_stream
             << ", \"hash_ids\": [" << i << "]}\n";
    }
    file.flush();
    return file ? Result<void>() : Error{ErrorCode::io_failed, 0, "write a trace"};
}

Result<Rehearsal> Rehearsals::run(std::uint32_t streams) {
    const std::string name = folder_ + "/" + std::to_string(streams);
    const Result<void> written = write_trace(name + ".jsonl", streams);
    if (!written) {
        return written.error();
    }
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    std::vector<std::string> arguments{"driftless", "replay", name + ".jsonl", "--url", url_};
    arguments.insert(arguments.end(),
                     {"--no-preflight", "--model", "mock-model", "--spread", "--chunks", "none",
                      "--no-progress", "--calibration", "none", "--wait", wait_, "--driver",
                      name_of(host_.driver), "--cpu", std::to_string(host_.engine_cpus.front()),
                      "--engines", std::to_string(host_.engines()), "--out", name});
    if (host_.realtime) {
        arguments.push_back("--realtime");
    }
    arguments.insert(arguments.end(), host_.placement.begin(), host_.placement.end());
    Result<Child> replay = start(arguments, nowhere.number(), name + ".txt");
    if (!replay) {
        return replay.error();
    }
    if (wait_for(replay.value(), host_) != 0) {
        return Error{ErrorCode::io_failed, 0, "rehearse a replay"};
    }
    Rehearsal rehearsal;
    rehearsal.streams = streams;
    rehearsal.chunks_asked = chunks_per_stream_second * streams;
    const Result<bool> beside = read_placement(name + "/run.json");
    if (!beside) {
        return beside.error();
    }
    const Result<void> client = read_client(name + "/client.jsonl", beside.value(), rehearsal);
    const Result<void> records = read_records(name + "/requests.jsonl", rehearsal);
    if (!client || !records) {
        return client ? records.error() : client.error();
    }
    return rehearsal;
}

Capacity capacity_of(const std::vector<Rehearsal>& rehearsals, double busy_share) {
    double chunks = 0;  // of the last rehearsal below, from (0, 0)
    double busy = 0;
    for (const Rehearsal& rehearsal : rehearsals) {
        const double next = static_cast<double>(rehearsal.chunks);
        if (rehearsal.busy_share >= busy_share && rehearsal.busy_share > busy) {
            const double part = (busy_share - busy) / (rehearsal.busy_share - busy);
            return {static_cast<std::int64_t>(chunks + part * (next - chunks)), false};
        }
        chunks = next;
        busy = rehearsal.busy_share;
    }
    if (busy <= 0) {
        return {};
    }
    return {static_cast<std::int64_t>(chunks / busy * busy_share), true};
}

}  // namespace driftless
