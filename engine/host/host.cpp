#include "engine/host/host.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace driftless {

namespace {

constexpr std::size_t proc_bytes_max = 64 * 1024;

// A file of /proc as text, cut at `proc_bytes_max`; empty where it cannot be read.
std::string read_proc(const char* path) {
    const int number = ::open(path, O_RDONLY | O_CLOEXEC);
    if (number < 0) {
        return {};
    }
    std::string text(proc_bytes_max, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(number, text.data() + size, text.size() - size);
        if (got <= 0) {
            break;
        }
        size += static_cast<std::size_t>(got);
    }
    ::close(number);
    text.resize(size);
    return text;
}

// What stands behind `name` on its line, blanks and colon skipped.
std::string_view field_of(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) {
        return {};
    }
    std::string_view rest = text.substr(at + name.size());
    rest = rest.substr(0, rest.find('\n'));
    const std::size_t begin = rest.find_first_not_of(" \t:");
    return begin == std::string_view::npos ? std::string_view{} : rest.substr(begin);
}

std::int64_t number_of(std::string_view text) {
    std::int64_t value = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Whether a list of the kernel's ("2-3,6") names this CPU.
bool is_listed(std::uint32_t cpu, std::string_view list) {
    while (!list.empty() && list.front() >= '0' && list.front() <= '9') {
        const std::string_view range = list.substr(0, list.find(','));
        const std::size_t dash = range.find('-');
        const std::int64_t first = number_of(range);
        const std::int64_t last = dash == range.npos ? first : number_of(range.substr(dash + 1));
        if (first <= cpu && cpu <= last) {
            return true;
        }
        list.remove_prefix(std::min(range.size() + 1, list.size()));
    }
    return false;
}

std::int64_t nth_number(std::string_view text, int index) {
    for (int i = 0; i < index; ++i) {
        const std::size_t blank = text.find(' ');
        if (blank == std::string_view::npos) {
            return 0;
        }
        text.remove_prefix(blank);
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    return number_of(text);
}

}  // namespace

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
    return read_proc("/sys/devices/system/cpu/isolated");
}

CpuChoice choose_engine_cpu(const std::vector<std::uint32_t>& allowed, std::string_view isolated) {
    if (allowed.empty()) {
        return {0, "the allowed CPUs cannot be read"};
    }
    const auto found = std::find_if(allowed.begin(), allowed.end(), [isolated](std::uint32_t cpu) {
        return is_listed(cpu, isolated);
    });
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
    const int any = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (any >= 0 && ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 0) {
        const std::uint64_t last = std::min<std::uint64_t>(count, limit.rlim_cur - 1);
        const int high = ::fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(last));
        if (high >= 0) {
            ::close(high);
        }
    }
    if (any >= 0) {
        ::close(any);
    }
}

std::uint64_t connection_files(std::uint64_t file_limit) {
    return file_limit > files_reserved ? file_limit - files_reserved : 1;
}

std::uint32_t ephemeral_ports() {
    unsigned first = 0;
    unsigned last = 0;
    const std::string range = read_proc("/proc/sys/net/ipv4/ip_local_port_range");
    const bool known = std::sscanf(range.c_str(), "%u %u", &first, &last) == 2 && last >= first;
    return known ? last - first + 1 : 0;
}

std::uint32_t reused_ports() {
    unsigned rule = 0;
    const std::string text = read_proc("/proc/sys/net/ipv4/tcp_tw_reuse");
    return std::sscanf(text.c_str(), "%u", &rule) == 1 ? rule : 0;
}

HostFacts read_host_facts() {
    HostFacts facts;
    utsname name{};
    if (::uname(&name) == 0) {
        facts.kernel = std::string(name.sysname) + " " + name.release;
        facts.machine = name.machine;
    }
    const std::string cpus = read_proc("/proc/cpuinfo");
    facts.cpu_model = std::string(field_of(cpus, "model name"));
    facts.virtual_machine = field_of(cpus, "flags").find(" hypervisor") != std::string_view::npos;
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    facts.cpus_online = online > 0 ? static_cast<std::uint32_t>(online) : 0;
    facts.cpus_allowed = allowed_cpus();
    const std::string memory = read_proc("/proc/meminfo");
    facts.memory_bytes = static_cast<std::uint64_t>(number_of(field_of(memory, "MemTotal"))) * 1024;
    return facts;
}

MemoryMarks read_memory_marks() {
    const std::string status = read_proc("/proc/self/status");
    MemoryMarks marks;
    marks.resident = static_cast<std::uint64_t>(number_of(field_of(status, "VmRSS"))) * 1024;
    marks.resident_max = static_cast<std::uint64_t>(number_of(field_of(status, "VmHWM"))) * 1024;
    return marks;
}

std::uint64_t available_memory() {
    const std::string memory = read_proc("/proc/meminfo");
    return static_cast<std::uint64_t>(number_of(field_of(memory, "MemAvailable"))) * 1024;
}

int this_thread_id() {
    return static_cast<int>(::gettid());
}

ThreadCost ThreadProbe::read() const {
    const std::string folder = "/proc/self/task/" + std::to_string(thread_id_) + "/";
    ThreadCost reading;
    reading.run_delay_ns = nth_number(read_proc((folder + "schedstat").c_str()), 1);
    // The name of the thread stands in parentheses and may hold blanks: count from behind it.
    const std::string stat = read_proc((folder + "stat").c_str());
    const std::size_t name_end = stat.rfind(')');
    const std::string_view fields =
        name_end == std::string::npos ? "" : std::string_view(stat).substr(name_end + 2);
    const std::int64_t cpu = nth_number(fields, 36);  // field 39 of proc(5), counted from field 3
    const std::string cpu_name = "cpu" + std::to_string(cpu) + " ";
    const std::string all = read_proc("/proc/stat");
    const std::int64_t ticks = nth_number(field_of(all, cpu_name), 7);
    reading.steal_ns = ticks * (1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK)));
    return reading;
}

ThreadCost ThreadProbe::next() {
    const ThreadCost now = read();
    const ThreadCost cost{now.run_delay_ns - base_.run_delay_ns, now.steal_ns - base_.steal_ns};
    base_ = now;
    return cost;
}

}  // namespace driftless
