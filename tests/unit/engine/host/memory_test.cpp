// Pages that are there: those of a touched mapping, and those of a settled process that nobody has
// written to before.
#include "engine/host/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace driftless {
namespace {

constexpr std::size_t page = 4096;

bool every_page_is_there(void* memory, std::size_t bytes) {
    std::vector<unsigned char> there(bytes / page);
    return ::mincore(memory, bytes, there.data()) == 0 &&
           std::all_of(there.begin(), there.end(), [](unsigned char is) { return (is & 1) != 0; });
}

TEST(Memory, EveryPageOfATouchedMappingIsThere) {
    for (const std::size_t bytes : {page, std::size_t{4} << 20}) {
        void* memory = map_touched(bytes);
        ASSERT_NE(memory, nullptr);
        EXPECT_TRUE(every_page_is_there(memory, bytes));
        ::munmap(memory, bytes);
    }
    EXPECT_EQ(map_touched(std::size_t{1} << 60), nullptr);
}

TEST(Memory, EveryPageOfASettledProcessIsThere) {
    constexpr std::size_t bytes = 64 * page;
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_FALSE(every_page_is_there(memory, bytes));
    const MemoryGrants grants = settle_memory();
    EXPECT_TRUE(grants.present) << grants.why_not;
    EXPECT_EQ(grants.present && grants.locked, grants.why_not.empty());
    EXPECT_TRUE(every_page_is_there(memory, bytes));
    ::munlockall();
    ::munmap(memory, bytes);
}

// Large tables of a library are left alone: no thread of a run reads them.
TEST(Memory, LargeDataOfFilesIsLeftAlone) {
    for (const std::size_t bytes : {settled_data_bytes_max, settled_data_bytes_max + page}) {
        const int file = ::memfd_create("data", MFD_CLOEXEC);
        ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
        void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
        ASSERT_NE(memory, MAP_FAILED);
        EXPECT_TRUE(settle_memory().present);
        EXPECT_EQ(every_page_is_there(memory, bytes), bytes == settled_data_bytes_max);
        ::munlockall();
        ::munmap(memory, bytes);
        ::close(file);
    }
}

}  // namespace
}  // namespace driftless
