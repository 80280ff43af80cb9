#include "perf/macro/stage.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/sockets.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/record/writer.hpp"

extern char** environ;

namespace driftless::perf {

namespace {

constexpr Duration lead = milliseconds(200);
constexpr std::size_t ring_bytes = 64 << 20;
constexpr std::size_t body_bytes = 64 << 20;

std::string program() {
    const char* named = std::getenv("DRIFTLESS");
    return named != nullptr ? named : "build-release/driftless";
}

std::string read_line(int from) {
    std::string line;
    char c = 0;
    while (::read(from, &c, 1) == 1 && c != '\n') {
        line += c;
    }
    return line;
}

Trace trace_of(const std::vector<Line>& lines) {
    Trace trace;
    trace.name = "stage";
    trace.format = "stage";
    for (const Line& line : lines) {
        TraceRow row;
        row.at_ns = line.at_ns;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.input_length = line.input_length;
        row.output_length = line.output_length;
        trace.rows.push_back(row);
    }
    return trace;
}

struct CpuTime {
    std::int64_t user_ns = 0;
    std::int64_t system_ns = 0;
};

CpuTime thread_time() {
    rusage usage{};
    CHECK(::getrusage(RUSAGE_THREAD, &usage) == 0);
    const auto ns = [](const timeval& time) {
        return (time.tv_sec * 1'000'000 + time.tv_usec) * 1000;
    };
    return {ns(usage.ru_utime), ns(usage.ru_stime)};
}

std::vector<Record> records_of(const std::string& jsonl) {
    std::vector<Record> records;
    JsonDocument document;
    for (std::size_t at = 0; at < jsonl.size();) {
        const std::size_t end = jsonl.find('\n', at);
        Result<Record> record = read_record(document, std::string_view(jsonl).substr(at, end - at));
        CHECK(static_cast<bool>(record));
        records.push_back(std::move(record).value());
        at = end + 1;
    }
    return records;
}

}  // namespace

MockProcess::MockProcess(std::uint32_t cpu, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"driftless",   "mock",  "--listen",
                                          "127.0.0.1:0", "--cpu", std::to_string(cpu)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    int ends[2];
    CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    CHECK(::posix_spawn_file_actions_init(&actions) == 0);
    CHECK(::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0);
    CHECK(::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
          0);
    const std::string path = program();
    CHECK(::posix_spawn(&process_, path.c_str(), &actions, nullptr, argv.data(), environ) == 0);
    (void)::posix_spawn_file_actions_destroy(&actions);
    (void)::close(ends[1]);
    const std::string said = read_line(ends[0]);
    (void)::close(ends[0]);
    const std::size_t colon = said.rfind(':');
    CHECK(said.starts_with("listening on ") && colon != std::string::npos);
    const auto port = static_cast<std::uint16_t>(std::atoi(said.c_str() + colon + 1));
    const Result<std::vector<Address>> found = resolve("127.0.0.1", port);
    CHECK(static_cast<bool>(found));
    address_ = found.value().front();
}

MockProcess::~MockProcess() {
    (void)::kill(process_, SIGTERM);
    (void)::waitpid(process_, nullptr, 0);
}

Cores take_cores() {
    const std::vector<std::uint32_t> allowed = allowed_cpus();
    Cores cores;
    cores.engine = choose_engine_cpu(allowed, isolated_cpus()).cpu;
    cores.other = cores.engine;
    for (const std::uint32_t cpu : allowed) {
        cores.other = cpu != cores.engine ? cpu : cores.other;
    }
    CHECK(static_cast<bool>(pin_this_thread(cores.engine)));
    sharpen_timers();
    CHECK(!realtime || static_cast<bool>(run_before_others()));
    (void)raise_file_limit();
    return cores;
}

namespace {

/// What a run is made of beside driver and writer, in the order in which the parts refer to each
/// other.
struct Parts {
    explicit Parts(const std::vector<Line>& lines)
        : trace(trace_of(lines)),
          plan(make_plan(trace, {})),
          frame(dialect.frame(body_spec())),
          heads{RequestHead(head_spec(dialect))},
          prompts(trace, WordTable::built_in(), {}),
          ring(ring_bytes, lines.size()) {
        CHECK(static_cast<bool>(plan));
        CHECK(static_cast<bool>(frame));
        CHECK(static_cast<bool>(bodies.open(body_bytes)));
    }

    static BodySpec body_spec() {
        BodySpec spec;
        spec.model = "mock-model";
        return spec;
    }
    static RequestHeadSpec head_spec(const Dialect& dialect) {
        RequestHeadSpec spec;
        spec.target = dialect.default_path;
        spec.host = "stage";
        return spec;
    }
    AssemblerConfig assembler() const {
        AssemblerConfig config;
        config.trace = &trace;
        config.plan = &plan.value();
        config.dialect = &dialect;
        config.urls = {"http://stage"};
        return config;
    }

    const Trace trace;
    const Result<Plan> plan;
    const Dialect& dialect = dialect_of(Api::openai_chat);
    const Result<BodyFrame> frame;
    const std::vector<RequestHead> heads;
    PromptBuilder prompts;
    BodyPool bodies;
    EventRing ring;
};

ReplaySettings settings_of(const StageOptions& options, std::uint32_t rows) {
    ReplaySettings settings;
    settings.wait = options.wait;
    settings.guard = options.guard;
    settings.inflight_max = rows;
    settings.lanes_max = rows;
    return settings;
}

/// From warm lanes to the last row's end.
void turn_run(Run& run, Driver& driver, RecordWriter& writer, Parts& parts, const Cores& cores,
              const Between& between, StageResult& result) {
    while (!run.warm()) {
        (void)run.turn();
    }
    WriterSeat seat{cpu_set_of({cores.other}), false, {}};
    (void)settle_memory();
    writer.read_from({{&parts.ring}});
    CHECK(static_cast<bool>(writer.start_thread(&seat, {})));
    const Instant zero = driver.now() + lead;
    run.begin(zero);
    writer.begin(zero);
    result.zero_ns = zero.ns;
    const CpuTime before = thread_time();
    const std::vector<Planned>& rows = parts.plan.value().rows;
    while (run.turn()) {
        const std::uint64_t next = run.rows_fired();
        const std::int64_t at = (driver.now() - zero).ns;
        between(driver, at, next < rows.size() ? rows[next].due_ns - at : INT64_MAX);
    }
    const CpuTime after = thread_time();
    result.user_ns = after.user_ns - before.user_ns;
    result.system_ns = after.system_ns - before.system_ns;
    writer.stop();
}

}  // namespace

StageResult play(const std::vector<Line>& lines, const MockProcess& mock, const Cores& cores,
                 const StageOptions& options, const Between& between) {
    Parts parts(lines);
    const auto rows = static_cast<std::uint32_t>(lines.size());
    std::string requests;
    RecordSinks sinks;
    sinks.requests = LineSink(&requests);
    RecordWriter writer(parts.assembler(), {}, std::move(sinks));
    DriverOptions uring;
    uring.ops_max = 5 * rows + 16;
    uring.buffers = options.receive_buffers;
    uring.stamps = options.stamps;
    uring.stamp_ring = options.stamp_ring;
    const Result<std::unique_ptr<Driver>> driver = make_driver(uring);
    CHECK(static_cast<bool>(driver));
    const std::atomic<int> never_stopped{0};
    StageResult result;
    {
        Schedule schedule(parts.plan.value());
        ArmerOptions naming;
        naming.run_id = "stage";
        Armer armer(parts.trace, schedule, parts.prompts, parts.bodies, parts.heads,
                    parts.frame.value(), naming);
        Run run(*driver.value(),
                {parts.trace,
                 schedule,
                 armer,
                 parts.bodies,
                 parts.ring,
                 {Endpoint{mock.address()}},
                 never_stopped},
                settings_of(options, rows));
        turn_run(run, *driver.value(), writer, parts, cores, between, result);
    }
    result.records = records_of(requests);
    result.chunks = writer.client().sums.chunks;
    return result;
}

void print_row(const std::string& what, const std::string& figure, const std::string& floor,
               const std::string& ratio, const std::string& bar) {
    std::printf("| %s | %s | %s | %s | %s |\n", what.c_str(), figure.c_str(), floor.c_str(),
                ratio.c_str(), bar.c_str());
    (void)std::fflush(stdout);
}

double median(std::vector<double> values) {
    CHECK(!values.empty());
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
}

}  // namespace driftless::perf
