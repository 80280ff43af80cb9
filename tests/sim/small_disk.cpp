#include "tests/sim/small_disk.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "proto/core/check.hpp"

namespace driftless::sim {

namespace {

void limit_files(rlim_t bytes) {
    rlimit limit{};
    CHECK(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

}  // namespace

SmallDisk::~SmallDisk() {
    if (!folder_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
}

LineSink SmallDisk::open() {
    CHECK(folder_.empty());
    std::string name = (std::filesystem::temp_directory_path() / "sim-disk-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    Result<LineSink> sink = LineSink::create(folder_ + "/requests.jsonl");
    CHECK(static_cast<bool>(sink));
    return std::move(sink).value();
}

std::string SmallDisk::read() const {
    std::ifstream file(folder_ + "/requests.jsonl", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

SmallDisk::Limit::Limit(const SmallDisk& disk) {
    if (disk.bounded()) {
        (void)::signal(SIGXFSZ, SIG_IGN);  // else a write beyond the limit ends the process
        limit_files(*disk.bytes_);
        set_ = true;
    }
}

SmallDisk::Limit::~Limit() {
    if (set_) {
        limit_files(RLIM_INFINITY);
    }
}

}  // namespace driftless::sim
