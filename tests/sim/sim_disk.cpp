#include "tests/sim/sim_disk.hpp"

#include <stdlib.h>
#include <unistd.h>

#include "proto/core/errors.hpp"

// Names that the linker gives: calls of `write` arrive at the one, the kernel's is the other.
extern "C" ssize_t __real_write(int fd, const void* bytes, std::size_t count);
extern "C" ssize_t __wrap_write(int fd, const void* bytes, std::size_t count);

namespace driftless::sim {

namespace {

SimDisk* the_disk = nullptr;

std::string path_of(int fd) {
    std::error_code none;
    const auto link = std::filesystem::path("/proc/self/fd") / std::to_string(fd);
    return std::filesystem::read_symlink(link, none).string();
}

/// In memory where the host has a folder there: thousands of files come and go.
std::filesystem::path scratch() {
    constexpr const char* memory = "/dev/shm";
    return ::access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

}  // namespace

SimDisk::SimDisk() {
    std::string name = (scratch() / "driftless-sim-disk-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    CHECK(std::exchange(the_disk, this) == nullptr);
}

SimDisk::~SimDisk() {
    the_disk = nullptr;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void SimDisk::begin(const DiskRoom& room) {
    room_ = room;
    life_.reset();
}

std::string SimDisk::read(const char* name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t SimDisk::size(const char* name) const {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(folder_ + "/" + name, none);
    return none ? 0 : bytes;
}

void SimDisk::cut(const char* name, std::uint64_t bytes) const {
    if (size(name) > bytes) {
        std::filesystem::resize_file(folder_ + "/" + name, bytes);
    }
}

bool SimDisk::refuses(int fd) const {
    return room_.bytes && (room_.only_for.empty() || path_of(fd) == folder_ + "/" + room_.only_for);
}

ssize_t SimDisk::write(int fd, const void* bytes, std::size_t count) {
    if (life_) {
        const std::size_t lived = std::min<std::uint64_t>(count, *life_);
        *life_ -= lived;
        CHECK(::__real_write(fd, bytes, lived) == static_cast<ssize_t>(lived));
        return static_cast<ssize_t>(count);
    }
    if (!refuses(fd)) {
        return ::__real_write(fd, bytes, count);
    }
    if (*room_.bytes == 0) {
        errno = ENOSPC;
        return -1;
    }
    const std::size_t fits = std::min<std::uint64_t>(count, *room_.bytes);
    *room_.bytes -= fits;
    return ::__real_write(fd, bytes, fits);
}

}  // namespace driftless::sim

ssize_t __wrap_write(int fd, const void* bytes, std::size_t count) {
    using driftless::sim::the_disk;
    return the_disk != nullptr ? the_disk->write(fd, bytes, count) : __real_write(fd, bytes, count);
}
