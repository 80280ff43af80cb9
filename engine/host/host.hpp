/// Host: what the machine allows and does to us. Pinning, limits, facts, and the once-a-second
/// counters of the engine thread. Plain functions over system calls; nothing here is on the hot
/// path.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

/// CPUs that this process may use, ascending.
std::vector<std::uint32_t> allowed_cpus();

/// CPUs that ascend, as the kernel lists them: "0-3,6".
std::string cpu_list_text(const std::vector<std::uint32_t>& cpus);

/// Which CPU the engine takes by itself, and why, for people.
struct CpuChoice {
    std::uint32_t cpu = 0;
    std::string reason;
};
/// `isolated`: as `isolated_cpus` gives it.
CpuChoice choose_engine_cpu(const std::vector<std::uint32_t>& allowed, std::string_view isolated);
/// CPUs that the scheduler leaves alone, as the kernel lists them ("2-3,6\n"); often none.
std::string isolated_cpus();

cpu_set_t cpu_set_of(const std::vector<std::uint32_t>& cpus);

/// Pins the calling thread. Errors: denied, invalid (a CPU that is not allowed).
Result<void> pin_this_thread(std::uint32_t cpu);

/// Wakes of this thread come as exactly as the kernel can (timer slack of 1 ns instead of 50 us).
void sharpen_timers();

/// Raises the soft limit of open files to the hard one; returns the limit in force.
std::uint64_t raise_file_limit();

/// Makes room for so many descriptors in the kernel's table of this process. It grows by doubling,
/// and where threads share it whoever opens the next descriptor waits for milliseconds: call it
/// before there are threads.
void reserve_files(std::uint64_t count);

/// Descriptors that are not connections: files, ring, standard streams, the resolver.
inline constexpr std::uint64_t files_reserved = 64;
/// Of a limit of open files, what is left for connections; at least 1.
std::uint64_t connection_files(std::uint64_t file_limit);

/// Ports that the kernel gives to outgoing connections: so many can be open to one address and
/// port. 0 where it does not say.
std::uint32_t ephemeral_ports();

/// net.ipv4.tcp_tw_reuse: whether the port of a connection that we closed is given again after a
/// second: 0 not, 1 always, 2 over the loopback. 0 where the kernel does not say.
std::uint32_t reused_ports();

/// Facts for `run.json`.
struct HostFacts {
    std::string kernel;   ///< "Linux 6.1.0-18-amd64"
    std::string machine;  ///< "x86_64"
    std::string cpu_model;
    std::uint32_t cpus_online = 0;
    std::vector<std::uint32_t> cpus_allowed;
    std::uint64_t memory_bytes = 0;
    bool virtual_machine = false;  ///< the CPU says that a hypervisor is there
};
HostFacts read_host_facts();

/// Resident memory of this process now and at most, bytes; 0 where it cannot be read.
struct MemoryMarks {
    std::uint64_t resident = 0;
    std::uint64_t resident_max = 0;
};
MemoryMarks read_memory_marks();

/// Bytes of memory that could be taken now without swapping (MemAvailable).
std::uint64_t available_memory();

/// The kernel's id of the calling thread.
int this_thread_id();

/// What the host did to a thread in some stretch of time.
struct ThreadCost {
    std::int64_t run_delay_ns = 0;  ///< ready to run, and waiting for the CPU
    std::int64_t steal_ns = 0;      ///< of the CPU that the thread was on last, by the hypervisor
};

/// Reads the cost of one thread of this process, from another one: reading /proc takes tens of
/// microseconds, so the engine thread never does it.
class ThreadProbe {
  public:
    explicit ThreadProbe(int thread_id) : thread_id_(thread_id), base_(read()) {}

    /// Since the last call, or since the probe was made.
    ThreadCost next();

  private:
    ThreadCost read() const;

    int thread_id_;
    ThreadCost base_;
};

}  // namespace driftless
