#include "cmd/calibrate/rehearsal.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "cmd/whole_file.hpp"
#include "engine/calibrate/floor.hpp"
#include "proto/core/sys_error.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

constexpr std::int64_t chunks_per_stream_second = 50;
constexpr const char* chunk_gap = "20ms";
// A rate of a shorter sample, as the last of a run, says little of a second.
constexpr std::int64_t sample_ns_min = 200'000'000;

// The first line that comes out of a pipe, without its end; what there is, where it closes before.
std::string read_line(int from) {
    std::string line;
    char c = 0;
    while (::read(from, &c, 1) == 1 && c != '\n') {
        line += c;
    }
    return line;
}

/// Its exit code; -1: a signal ended it. Where the user asks to stop, it is not waited for.
int wait_for(Child& process, const MeasuredHost& host) {
    std::optional<ChildEnd> end;
    while (!end) {
        if (host.stopped()) {
            process.signal(SIGKILL);
        }
        end = process.wait(std::int64_t{1'000'000'000});
    }
    return end->exit_code;
}

std::int64_t number(JsonValue sample, std::string_view key) {
    return sample.find(key).as_i64().value_or(0);
}

/// What one engine did in a sample of its own, which is about a second.
struct EngineSecond {
    std::int64_t chunks = 0;  ///< per second
    double taken_share = 0;
    double busy_share = 0;
};

/// Beside an engine, its own writer is what it waits for: only steal says that others were there.
EngineSecond second_of(JsonValue s, std::int64_t span_ns, bool writer_is_beside) {
    const std::int64_t waited_ns = writer_is_beside ? 0 : number(s, "run_delay_ns");
    const double span = static_cast<double>(span_ns);
    const std::int64_t busy = number(s, "busy_fire_ns") + number(s, "busy_receive_ns") +
                              number(s, "busy_prepare_ns") + number(s, "busy_stamps_ns");
    return {number(s, "chunks") * 1'000'000'000 / span_ns,
            static_cast<double>(waited_ns + number(s, "steal_ns")) / span,
            static_cast<double>(busy) / span};
}

/// The second with the most chunks. All engines sample from time 0 on, so that the samples of one
/// place are of about the same second.
Result<void> read_client(const std::string& path, bool writer_is_beside, Rehearsal& rehearsal) {
    std::ifstream file(path);
    JsonDocument document;
    std::map<std::int64_t, std::vector<EngineSecond>> engines;
    for (std::string line; std::getline(file, line);) {
        const Result<JsonValue> sample = document.parse(line);
        if (!sample) {
            return sample.error();
        }
        const JsonValue s = sample.value();
        const std::int64_t span = number(s, "to_ns") - number(s, "from_ns");
        rehearsal.lost =
            rehearsal.lost || number(s, "ring_dropped_payloads") > 0 || number(s, "no_buffers") > 0;
        if (span >= sample_ns_min) {
            engines[number(s, "engine")].push_back(second_of(s, span, writer_is_beside));
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
    for (const EngineSecond& second : all) {
        if (second.chunks > rehearsal.chunks) {
            rehearsal.chunks = second.chunks;
            rehearsal.taken_share = second.taken_share;
            rehearsal.busy_share = second.busy_share;
        }
    }
    return {};
}

/// Whether the writer of that run shared an engine's CPU, as its run.json says.
Result<bool> read_placement(const std::string& path) {
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

Result<void> read_records(const std::string& path, Rehearsal& rehearsal) {
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

}  // namespace

/// Starts this program with other arguments. Its standard output goes to `output`, its messages to
/// the file `messages`. It may use all CPUs that we were allowed: what it inherited from a pinned
/// thread would put its writer beside its engine.
Result<Child> Rehearsals::start(const std::vector<std::string>& arguments, int output,
                                const std::string& messages) const {
    const Result<int> file = open_output(messages);
    if (!file) {
        return file.error();
    }
    ChildCommand command;
    command.program = own_program;
    command.arguments = arguments;
    command.environment = own_environment({"OPENAI_API_KEY"});
    command.output = output;
    command.messages = file.value();
    const cpu_set_t all = cpu_set_of(host_.allowed);
    const cpu_set_t own = cpu_set_of({host_.engine_cpus.front()});
    (void)::sched_setaffinity(0, sizeof all, &all);
    Result<Child> process = Child::start(command);
    (void)::sched_setaffinity(0, sizeof own, &own);
    (void)::close(file.value());
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
    Result<Child> mock =
        start({"driftless", "mock", "--listen", "127.0.0.1:0", "--ttft", "5ms", "--itl", chunk_gap,
               "--jitter", "0.05", "--cpu", std::to_string(host_.others.front())},
              ends[1], folder_ + "/mock.txt");
    (void)::close(ends[1]);
    const std::string said = mock ? read_line(ends[0]) : std::string();
    (void)::close(ends[0]);
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
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    std::vector<std::string> arguments{"driftless", "replay", name + ".jsonl", "--url", url_};
    arguments.insert(arguments.end(),
                     {"--no-preflight", "--model", "mock-model", "--spread", "--chunks", "none",
                      "--no-progress", "--calibration", "none", "--wait", wait_, "--cpu",
                      std::to_string(host_.engine_cpus.front()), "--engines",
                      std::to_string(host_.engines()), "--out", name});
    if (host_.realtime) {
        arguments.push_back("--realtime");
    }
    arguments.insert(arguments.end(), host_.placement.begin(), host_.placement.end());
    Result<Child> replay = start(arguments, nowhere, name + ".txt");
    (void)::close(nowhere);
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
