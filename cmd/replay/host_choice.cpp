#include "cmd/replay/host_choice.hpp"

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/stamp_facts.hpp"
#include "cmd/ring_errors.hpp"

namespace driftless {

namespace {

// Descriptors that are no connections: files, ring, standard streams, the resolver.
constexpr std::uint64_t files_reserved = 64;
// More than this needs more memory than a laptop has; 28,232 ephemeral ports come first anyway.
constexpr std::uint64_t inflight_most = 65'536;
constexpr std::size_t spin_cpus_min = 3;

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

}  // namespace

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

std::unique_ptr<UringDriver> make_driver(const ReplayOptions& options, const HostChoice& host,
                                         const Workload& workload) {
    Result<std::unique_ptr<UringDriver>> driver =
        UringDriver::make(ring_options(host, workload, options));
    if (!driver) {
        std::fprintf(stderr, "driftless: %s\n",
                     ring_refusal(driver.error(), read_ring_bars()).c_str());
        return nullptr;
    }
    return std::move(driver).value();
}

void note_host(RunFile& file, const HostChoice& host, const UringDriver& driver) {
    file.engine_cpu = host.engine_cpu.cpu;
    file.engine_cpu_reason = host.engine_cpu.reason;
    file.writer_cpus = host.writer_cpus;
    file.wait = name_of(host.wait);
    file.inflight_max = host.inflight_max;
    file.file_limit = host.file_limit;
    file.ring = driver.features();
}

}  // namespace driftless
