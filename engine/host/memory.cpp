#include "engine/host/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace driftless {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// A line of /proc/self/maps.
struct Extent {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[5] = "";
    unsigned long inode = 0;  ///< of the file that is mapped; 0: none is
    std::size_t bytes() const { return end - begin; }
};

// What cannot be made present (a guard page, the kernel's own pages) stays as it is.
bool populate(const Extent& extent) {
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

bool populate_all() {
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
void spare_heap() {
    (void)::mallopt(M_TRIM_THRESHOLD, static_cast<int>(4 * heap_spare_bytes));
    (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(2 * heap_spare_bytes));
    void* spare = std::malloc(heap_spare_bytes);
    if (spare != nullptr) {
        std::memset(spare, 0, heap_spare_bytes);
        asm volatile("" ::"r"(spare) : "memory");  // or the compiler sees that nobody reads it
        std::free(spare);
    }
}

std::uint64_t huge_bytes() {
    const std::unique_ptr<FILE, int (*)(FILE*)> sums(std::fopen("/proc/self/smaps_rollup", "re"),
                                                     &std::fclose);
    unsigned long kilobytes = 0;
    char line[256];
    while (sums != nullptr && std::fgets(line, sizeof line, sums.get()) != nullptr) {
        if (std::sscanf(line, "AnonHugePages: %lu kB", &kilobytes) == 1) {
            break;
        }
    }
    return std::uint64_t{kilobytes} * 1024;
}

}  // namespace

void* map_touched(std::size_t bytes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    if (bytes >= huge_page_bytes) {
        (void)::madvise(memory, bytes, MADV_HUGEPAGE);
    }
    if (::madvise(memory, bytes, MADV_POPULATE_WRITE) != 0) {
        const int why = errno;
        (void)::munmap(memory, bytes);
        errno = why;
        return nullptr;
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
    grants.huge_bytes = huge_bytes();
    return grants;
}

}  // namespace driftless
