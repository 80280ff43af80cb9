/// ScratchFolder: a folder of one test's own, gone with it, and files in it. `read_bytes`: any
/// file, as it is. For tests of what touches files; aborts where no folder can be made.
#pragma once

#include <stdlib.h>

#include "proto/core/errors.hpp"
#include "tests/test.hpp"

namespace driftless {

/// Empty where it is not there.
inline std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class ScratchFolder {
  public:
    ScratchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "driftless-XXXXXX").string();
        CHECK(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return path_; }
    /// Path of a file there.
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    /// Writes a file, and makes the folders that it names; its path.
    std::string write(const std::string& name, const std::string& bytes) const {
        std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
        std::ofstream(*this / name, std::ios::binary) << bytes;
        return *this / name;
    }

  private:
    std::string path_;
};

}  // namespace driftless
