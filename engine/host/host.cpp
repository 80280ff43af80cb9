#include "engine/host/host.hpp"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/base/fd.hpp"
#include "engine/base/time.hpp"

namespace driftless {

std::string kernel_text(const std::string& path) {
    constexpr std::size_t bytes_max = 64 * 1024;
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return "";
    }
    std::string text(bytes_max, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(file.number(), text.data() + size, text.size() - size);
        if (got <= 0) {
            break;
        }
        size += static_cast<std::size_t>(got);
    }
    text.resize(size);
    return text;
}

std::string kernel_line(const std::string& path) {
    const std::string text = kernel_text(path);
    return text.substr(0, text.find('\n'));
}

std::optional<std::int64_t> take_kernel_number(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The n-th word of a line as a number, from 0.
static std::optional<std::int64_t> nth_number(std::string_view line, int index) {
    constexpr std::string_view blanks = " \t";
    for (int i = 0; i < index; ++i) {
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        line.remove_prefix(std::min(line.find_first_of(blanks), line.size()));
    }
    return take_kernel_number(line);
}

// What is behind `name` on its line, blanks and colon skipped.
static std::string_view field_of(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) {
        return {};
    }
    std::string_view rest = text.substr(at + name.size());
    rest = rest.substr(0, rest.find('\n'));
    return rest.substr(std::min(rest.find_first_not_of(" \t:"), rest.size()));
}

/// Of a line like "MemTotal:  16384 kB"; 0 where it is not there.
static std::uint64_t bytes_of(std::string_view text, std::string_view name) {
    return static_cast<std::uint64_t>(nth_number(field_of(text, name), 0).value_or(0)) * 1024;
}

std::optional<std::int64_t> kernel_number(const std::string& path, int index) {
    return nth_number(kernel_line(path), index);
}

std::vector<std::uint32_t> cpus_of(std::string_view list) {
    std::vector<std::uint32_t> cpus;
    while (const std::optional<std::int64_t> first = take_kernel_number(list)) {
        std::int64_t last = *first;
        if (list.starts_with("-")) {
            list.remove_prefix(1);
            last = take_kernel_number(list).value_or(last);
        }
        for (std::int64_t cpu = *first; cpu <= last && cpu < 4096; ++cpu) {
            cpus.push_back(static_cast<std::uint32_t>(cpu));
        }
        list.remove_prefix(list.starts_with(",") ? 1 : 0);
    }
    return cpus;
}

std::string cpu_list_text(const std::vector<std::uint32_t>& cpus) {
    std::string text;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        std::size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) {
            ++last;
        }
        text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
        text += last > i ? "-" + std::to_string(cpus[last]) : "";
        i = last;
    }
    return text;
}

std::vector<std::uint32_t> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<std::uint32_t> cpus;
    if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) {
                cpus.push_back(cpu);
            }
        }
    }
    return cpus;
}

std::string isolated_cpus() {
    return kernel_line("/sys/devices/system/cpu/isolated");
}

CpuChoice choose_engine_cpu(const std::vector<std::uint32_t>& allowed, std::string_view isolated) {
    if (allowed.empty()) {
        return {0, "the allowed CPUs cannot be read"};
    }
    const std::vector<std::uint32_t> alone = cpus_of(isolated);
    const auto found =
        std::find_first_of(allowed.begin(), allowed.end(), alone.begin(), alone.end());
    if (found != allowed.end()) {
        return {*found, "isolated from the scheduler"};
    }
    if (allowed.size() == 1) {
        return {allowed[0], "the only allowed one, shared with the writer"};
    }
    return {allowed.back(), "the last allowed one: the first ones serve most interrupts"};
}

cpu_set_t cpu_set_of(const std::vector<std::uint32_t>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::uint32_t cpu : cpus) {
        if (cpu < CPU_SETSIZE) {
            CPU_SET(cpu, &set);
        }
    }
    return set;
}

Result<void> pin_this_thread(std::uint32_t cpu) {
    if (cpu >= CPU_SETSIZE) {
        return Error{ErrorCode::invalid, EINVAL, "pin the thread"};
    }
    const cpu_set_t set = cpu_set_of({cpu});
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
        return Error{errno == EINVAL ? ErrorCode::invalid : ErrorCode::denied, errno,
                     "pin the thread"};
    }
    return {};
}

void sharpen_timers() {
    (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

std::uint64_t raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 1024;
    }
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    (void)::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

void reserve_files(std::uint64_t count) {
    rlimit limit{};
    const Fd any(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (any.is_open() && ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 0) {
        const std::uint64_t last = std::min<std::uint64_t>(count, limit.rlim_cur - 1);
        const Fd high(::fcntl(any.number(), F_DUPFD_CLOEXEC, static_cast<int>(last)));
    }
}

std::uint64_t connection_files(std::uint64_t file_limit) {
    return file_limit > files_reserved ? file_limit - files_reserved : 1;
}

std::uint32_t ephemeral_ports() {
    const std::string range = kernel_line("/proc/sys/net/ipv4/ip_local_port_range");
    const std::int64_t first = nth_number(range, 0).value_or(0);
    const std::int64_t last = nth_number(range, 1).value_or(-1);
    return last >= first ? static_cast<std::uint32_t>(last - first + 1) : 0;
}

std::uint32_t reused_ports() {
    return static_cast<std::uint32_t>(kernel_number("/proc/sys/net/ipv4/tcp_tw_reuse").value_or(0));
}

std::uint32_t cpus_online() {
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<std::uint32_t>(online) : 0;
}

bool has_cpu_time_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

std::string cpu_model_of(std::string_view cpuinfo) {
    std::string model(field_of(cpuinfo, "model name"));
    if (model.empty()) {
        for (const std::string name : {"implementer", "part", "variant", "revision"}) {
            const std::string_view number = field_of(cpuinfo, "CPU " + name);
            if (!number.empty()) {
                model += (model.empty() ? "" : ", ") + name + " " + std::string(number);
            }
        }
    }
    return model;
}

HostFacts read_host_facts() {
    HostFacts facts;
    utsname name{};
    if (::uname(&name) == 0) {
        facts.kernel = std::string(name.sysname) + " " + name.release;
        facts.machine = name.machine;
    }
    const std::string cpus = kernel_text("/proc/cpuinfo");
    facts.cpu_model = cpu_model_of(cpus);
    facts.virtual_machine = field_of(cpus, "flags").find(" hypervisor") != std::string_view::npos;
    facts.cpus_online = cpus_online();
    facts.cpus_allowed = allowed_cpus();
    facts.memory_bytes = bytes_of(kernel_text("/proc/meminfo"), "MemTotal");
    return facts;
}

MemoryMarks read_memory_marks() {
    const std::string status = kernel_text("/proc/self/status");
    return {bytes_of(status, "VmRSS"), bytes_of(status, "VmHWM")};
}

std::uint64_t available_memory() {
    return bytes_of(kernel_text("/proc/meminfo"), "MemAvailable");
}

int this_thread_id() {
    return static_cast<int>(::gettid());
}

ThreadProbe::Counts ThreadProbe::read() const {
    const std::string folder = "/proc/self/task/" + std::to_string(thread_id_) + "/";
    Counts reading;
    reading.cost.run_delay_ns = kernel_number(folder + "schedstat", 1).value_or(0);
    // The name of the thread is in parentheses and may hold blanks: count from behind it.
    const std::string stat = kernel_line(folder + "stat");
    const std::size_t name_end = stat.rfind(')');
    const std::string_view fields =
        name_end == std::string::npos ? "" : std::string_view(stat).substr(name_end + 2);
    reading.cpu = nth_number(fields, 36).value_or(0);  // field 39 of proc(5), counted from field 3
    const std::string cpu_name = "cpu" + std::to_string(reading.cpu) + " ";
    const std::string all = kernel_text("/proc/stat");
    const std::int64_t ticks = nth_number(field_of(all, cpu_name), 7).value_or(0);
    reading.cost.steal_ns = ticks * (1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK)));
    return reading;
}

ThreadCost ThreadProbe::next() {
    const Counts now = read();
    ThreadCost cost{now.cost.run_delay_ns - base_.cost.run_delay_ns, 0};
    if (now.cpu == base_.cpu) {  // each CPU has a count of its own
        cost.steal_ns = std::max<std::int64_t>(now.cost.steal_ns - base_.cost.steal_ns, 0);
    }
    base_ = now;
    return cost;
}

static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
static constexpr std::size_t page_bytes = 4096;  // the least that any machine has

/// What madvise says of memory that cannot be had; anything else is about the call.
static constexpr bool is_memory_lacking(int sys_errno) {
    return sys_errno == ENOMEM || sys_errno == EFAULT || sys_errno == EAGAIN;
}

namespace {

/// A line of /proc/self/maps.
struct Extent {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[5] = "";
    unsigned long inode = 0;  ///< of the file that is mapped; 0: none is
    std::size_t bytes() const { return end - begin; }
};

}  // namespace

// What cannot be made present (a guard page, the kernel's own pages) stays as it is.
static bool populate(const Extent& extent) {
    const bool is_data = extent.inode != 0 && std::strcmp(extent.rights, "r--p") == 0;
    if (extent.rights[0] != 'r' ||
        extent.bytes() > (is_data ? settled_data_bytes_max : settled_bytes_max)) {
        return true;
    }
    void* begin = reinterpret_cast<void*>(extent.begin);
    const bool writes = extent.rights[1] == 'w' && extent.rights[3] == 'p';
    return ::madvise(begin, extent.bytes(), writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) ==
               0 ||
           errno == EFAULT || errno == EINVAL;
}

static bool populate_all() {
    char own = 0;  // EINVAL of memory of our own: before Linux 5.14
    const auto page = reinterpret_cast<std::uintptr_t>(&own) / page_bytes * page_bytes;
    if (::madvise(reinterpret_cast<void*>(page), page_bytes, MADV_POPULATE_READ) != 0) {
        return false;
    }
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                     &std::fclose);
    if (maps == nullptr) {
        return false;
    }
    bool all = true;
    char line[512];
    while (std::fgets(line, sizeof line, maps.get()) != nullptr) {  // bounded by the mappings
        Extent extent;
        if (std::sscanf(line, "%lx-%lx %4s %*s %*s %lu", &extent.begin, &extent.end, extent.rights,
                        &extent.inode) == 4) {
            all = populate(extent) && all;
        }
    }
    return all;
}

// The heap keeps what is freed, and what is freed was touched.
static void spare_heap() {
    (void)::mallopt(M_TRIM_THRESHOLD, static_cast<int>(4 * heap_spare_bytes));
    (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(2 * heap_spare_bytes));
    void* spare = std::malloc(heap_spare_bytes);
    if (spare != nullptr) {
        std::memset(spare, 0, heap_spare_bytes);
        asm volatile("" ::"r"(spare) : "memory");  // or the compiler sees that it is not read
        std::free(spare);
    }
}

void* map_touched(std::size_t bytes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    if (bytes >= huge_page_bytes) {
        (void)::madvise(memory, bytes, MADV_HUGEPAGE);
    }
    if (::madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) {
        return memory;
    }
    if (const int why = errno; is_memory_lacking(why)) {
        (void)::munmap(memory, bytes);
        errno = why;
        return nullptr;
    }
    for (std::size_t at = 0; at < bytes; at += page_bytes) {  // before Linux 5.14, or forbidden
        static_cast<volatile char*>(memory)[at] = 0;
    }
    return memory;
}

MemoryGrants settle_memory() {
    MemoryGrants grants;
    spare_heap();
    grants.present = populate_all();
    if (!grants.present) {
        grants.why_not = "not all memory could be mapped before the start";
    }
    // What is there, and nothing that is yet to come: a limit must not fail a later allocation.
    grants.locked = ::mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
    if (!grants.locked) {
        grants.why_not += grants.why_not.empty() ? "" : "; ";
        grants.why_not += "memory cannot be locked: raise the limit (ulimit -l unlimited)";
    }
    grants.huge_bytes = bytes_of(kernel_text("/proc/self/smaps_rollup"), "AnonHugePages");
    return grants;
}

namespace {

/// A socket to ask through, and the interface that is asked.
class InterfaceQuery {
  public:
    InterfaceQuery(int socket, const std::string& name) : socket_(socket) {
        std::strncpy(request_.ifr_name, name.c_str(), sizeof(request_.ifr_name) - 1);
    }

    bool ask(unsigned long what) { return ::ioctl(socket_, what, &request_) == 0; }
    const ifreq& answer() const { return request_; }

    /// A command of ethtool: `command` holds its number, and the answer afterwards.
    template <typename T>
    bool ask_driver(T& command) {
        request_.ifr_data = reinterpret_cast<char*>(&command);
        return ask(SIOCETHTOOL);
    }

    std::optional<std::uint32_t> value(std::uint32_t number) {
        ethtool_value value{number, 0};
        return ask_driver(value) ? std::optional(std::uint32_t{value.data}) : std::nullopt;
    }
    std::optional<bool> is_on(std::uint32_t number) {
        const std::optional<std::uint32_t> found = value(number);
        return found ? std::optional(*found != 0) : std::nullopt;
    }

  private:
    int socket_;
    ifreq request_{};
};

}  // namespace

static void read_coalescing(InterfaceQuery& query, Interface& interface) {
    ethtool_coalesce coalesce{};
    coalesce.cmd = ETHTOOL_GCOALESCE;
    if (query.ask_driver(coalesce)) {
        interface.receive_wait_us = coalesce.rx_coalesce_usecs;
        interface.receive_wait_adapts = coalesce.use_adaptive_rx_coalesce != 0;
    }
}

static void read_stamping(InterfaceQuery& query, Interface& interface) {
    ethtool_ts_info stamping{};
    stamping.cmd = ETHTOOL_GET_TS_INFO;
    if (query.ask_driver(stamping)) {
        interface.transmit_stamps = (stamping.so_timestamping & SOF_TIMESTAMPING_TX_SOFTWARE) != 0;
    }
}

static std::optional<Interface> read_interface(int socket, const std::string& name) {
    Interface interface;
    interface.name = name;
    InterfaceQuery query(socket, name);
    if (!query.ask(SIOCGIFFLAGS) || (query.answer().ifr_flags & IFF_UP) == 0 ||
        (query.answer().ifr_flags & IFF_LOOPBACK) != 0) {
        return std::nullopt;
    }
    interface.mtu = query.ask(SIOCGIFMTU) ? query.answer().ifr_mtu : 0;
    interface.tso = query.is_on(ETHTOOL_GTSO);
    interface.gso = query.is_on(ETHTOOL_GGSO);
    interface.gro = query.is_on(ETHTOOL_GGRO);
    if (const auto flags = query.value(ETHTOOL_GFLAGS); flags) {
        interface.lro = (*flags & ETH_FLAG_LRO) != 0;
    }
    read_coalescing(query, interface);
    read_stamping(query, interface);
    return interface;
}

std::vector<Interface> read_interfaces() {
    std::vector<Interface> found;
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    struct if_nameindex* const names = socket.is_open() ? ::if_nameindex() : nullptr;
    for (const struct if_nameindex* name = names;
         name != nullptr && name->if_index != 0 && found.size() < interfaces_max; ++name) {
        if (std::optional<Interface> interface = read_interface(socket.number(), name->if_name);
            interface) {
            found.push_back(std::move(*interface));
        }
    }
    if (names != nullptr) {
        ::if_freenameindex(names);
    }
    return found;
}

static constexpr int idle_states_max = 16;  // CPUIDLE_STATE_MAX is 10

static std::optional<bool> read_turbo(const std::string& devices) {
    if (const auto off = kernel_number(devices + "/intel_pstate/no_turbo"); off) {
        return *off == 0;
    }
    if (const auto on = kernel_number(devices + "/cpufreq/boost"); on) {
        return *on != 0;
    }
    return std::nullopt;
}

PowerSettings read_power_settings(std::uint32_t cpu, const std::string& root) {
    const std::string devices = root + "/devices/system/cpu";
    const std::string own = devices + "/cpu" + std::to_string(cpu);
    PowerSettings settings;
    settings.governor = kernel_line(own + "/cpufreq/scaling_governor");
    settings.turbo = read_turbo(devices);
    for (int i = 0; i < idle_states_max; ++i) {
        const std::string state = own + "/cpuidle/state" + std::to_string(i);
        const auto latency = kernel_number(state + "/latency");
        if (!latency) {
            break;
        }
        if (kernel_number(state + "/disable").value_or(0) == 0 &&
            *latency >= settings.idle_latency_us) {
            settings.idle_state = kernel_line(state + "/name");
            settings.idle_latency_us = *latency;
        }
    }
    return settings;
}

ClockSource read_clock_source() {
    constexpr int per_round = 64;
    std::array<std::int64_t, 31> rounds{};
    for (std::int64_t& round : rounds) {
        const std::int64_t begin = monotonic_ns();
        for (int i = 1; i < per_round; ++i) {
            (void)monotonic_ns();
        }
        round = (monotonic_ns() - begin) / per_round;
    }
    std::nth_element(rounds.begin(), rounds.begin() + rounds.size() / 2, rounds.end());
    return {kernel_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            rounds[rounds.size() / 2]};
}

}  // namespace driftless
