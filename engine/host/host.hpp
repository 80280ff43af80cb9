/// Host: what the machine says of itself: its CPUs, memory, interfaces, power and kernel files.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

// Pinning, limits, facts, and the once-a-second counters of the engine thread. Plain functions over
// system calls; nothing here is on the hot path.

/// CPUs that this process may use, ascending.
std::vector<std::uint32_t> allowed_cpus();

/// CPUs of the host, allowed or not. 0: unknown.
std::uint32_t cpus_online();

/// Whether this process may use so much CPU time and no more (`ulimit -t`).
bool has_cpu_time_limit();

/// CPUs that ascend, as the kernel lists them: "0-3,6".
std::string cpu_list_text(const std::vector<std::uint32_t>& cpus);
/// The CPUs of such a list.
std::vector<std::uint32_t> cpus_of(std::string_view list);

/// Which CPU the engine takes by itself, and why, for people.
struct CpuChoice {
    std::uint32_t cpu = 0;
    std::string reason;
};
/// `isolated`: as `isolated_cpus` gives it.
CpuChoice choose_engine_cpu(const std::vector<std::uint32_t>& allowed, std::string_view isolated);
/// CPUs that the scheduler leaves alone, as the kernel lists them ("2-3,6"); often none.
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

/// The model in the text of /proc/cpuinfo. On Arm, which gives no name, the numbers of its first
/// CPU: "implementer 0x41, part 0xd0c, variant 0x3, revision 1". Empty where there is neither.
std::string cpu_model_of(std::string_view cpuinfo);

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
    /// Of the CPU that the thread is on, by the hypervisor; 0 where it has come from another CPU.
    std::int64_t steal_ns = 0;
};

/// Reads the cost of one thread of this process, from another one: reading /proc takes tens of
/// microseconds, so the engine thread never does it.
class ThreadProbe {
  public:
    explicit ThreadProbe(int thread_id) : thread_id_(thread_id), base_(read()) {}

    /// Since the last call, or since the probe was made.
    ThreadCost next();

  private:
    /// Since the thread began, and since the host did.
    struct Counts {
        ThreadCost cost;
        std::int64_t cpu = 0;  ///< that the thread was on last
    };

    Counts read() const;

    int thread_id_;
    Counts base_;
};

// Memory: pages that are there before the first fire, so that the engine's thread meets no fault
// after it. Plain functions over system calls, called before time 0 only; nothing here knows what
// the memory is for.

/// Private memory, every page of it there, in huge pages where the kernel grants them; nullptr
/// where there is not enough (errno says why). Given back by munmap.
void* map_touched(std::size_t bytes);

/// What the process was granted.
struct MemoryGrants {
    /// Every page of a mapping up to `settled_bytes_max`, but for large tables of libraries.
    bool present = false;
    bool locked = false;  ///< none of them leaves again
    std::string why_not;  ///< for what was not granted; empty: all was
    std::uint64_t huge_bytes = 0;
};

/// Makes every page of this process present and locks them where the limit allows. Once, when all
/// that a run is made of is there. Also leaves `heap_spare_bytes` of touched heap behind, for what
/// grows later.
MemoryGrants settle_memory();

/// A larger mapping is left alone: such are the bodies of `--arm-ahead all`, which are touched when
/// they are armed, and half of which may be rounding.
inline constexpr std::size_t settled_bytes_max = std::size_t{256} << 20;
/// Of a file's data that nobody may write: what is larger belongs to a library that a library needs
/// (the 30 MB of ICU, by libxml2, by libarchive), and no thread of a run reads it.
inline constexpr std::size_t settled_data_bytes_max = std::size_t{8} << 20;
/// Lanes and coroutine frames beyond those that stand at time 0: two thousand of them.
inline constexpr std::size_t heap_spare_bytes = std::size_t{4} << 20;

// Network interfaces that are up, and what their drivers do with packets: what `ethtool` shows, by
// the same ioctl. The loopback is left out. Read once, never in a run.

/// Nothing where the driver, or the container, does not say.
struct Interface {
    std::string name;
    int mtu = 0;
    std::optional<bool> tso;  ///< the device cuts large sends into packets
    std::optional<bool> gso;  ///< the kernel does, below TCP
    std::optional<bool> gro;  ///< packets of one stream are joined before TCP sees them
    std::optional<bool> lro;  ///< the device joins them, and waits for more
    /// The device holds a packet back for so long before it interrupts.
    std::optional<std::uint32_t> receive_wait_us;
    bool receive_wait_adapts = false;
    std::optional<bool> transmit_stamps;  ///< the driver stamps what it sends
};

/// At most `interfaces_max`, in the order of the kernel. Empty where there are none.
std::vector<Interface> read_interfaces();

/// A node of a cluster has one for each pod; the first ones are its own.
inline constexpr std::size_t interfaces_max = 16;

// How a CPU saves power and how the clock is read: what makes a thread wake late. Empty, nothing
// or 0 where it cannot be read here, as in most virtual machines. Read once, never in a run.

struct PowerSettings {
    std::string governor;
    std::string idle_state;            ///< the deepest that the kernel may use: "C6"
    std::int64_t idle_latency_us = 0;  ///< to leave it
    std::optional<bool> turbo;         ///< the clock rate may rise above the nominal one
};
/// `root` is where /sys is.
PowerSettings read_power_settings(std::uint32_t cpu, const std::string& root = "/sys");

struct ClockSource {
    std::string name;             ///< "tsc"
    std::int64_t reading_ns = 0;  ///< what one reading of CLOCK_MONOTONIC takes, median of many
};
ClockSource read_clock_source();

// Files of the kernel, in /proc and /sys. For what is read once and shown; nothing on the hot
// path. A file that is not there is an answer.

/// All of it, at most 64 KiB; empty where it cannot be read.
std::string kernel_text(const std::string& path);
/// Its first line.
std::string kernel_line(const std::string& path);
/// The n-th word of its first line, from 0, as a number; nothing where there is none.
std::optional<std::int64_t> kernel_number(const std::string& path, int index = 0);
/// Cuts the number off that the line begins with, after blanks; nothing where there is none.
std::optional<std::int64_t> take_kernel_number(std::string_view& line);

}  // namespace driftless
