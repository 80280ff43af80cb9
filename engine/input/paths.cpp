#include "engine/input/paths.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>

#include "proto/core/text.hpp"

namespace driftless {
namespace {

constexpr std::string_view compression_endings[] = {".gz", ".bz2", ".xz", ".zst"};
constexpr std::string_view trace_endings[] = {".jsonl", ".ndjson", ".json", ".csv"};

std::string_view without_zeros(std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

/// Cuts one of the endings off; true where there was one.
bool cut_ending(std::string_view& name, std::span<const std::string_view> endings) {
    for (const std::string_view ending : endings) {
        if (name.size() > ending.size() && name.ends_with(ending)) {
            name.remove_suffix(ending.size());
            return true;
        }
    }
    return false;
}

Error error_of(int sys_errno) {
    const ErrorCode code = sys_errno == ENOENT || sys_errno == ENOTDIR ? ErrorCode::not_found
                           : sys_errno == EACCES                       ? ErrorCode::denied
                                                                       : ErrorCode::io_failed;
    return {code, sys_errno, "open the trace"};
}

bool is_folder(const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

bool numeric_less(std::string_view a, std::string_view b) {
    const std::string_view whole_a = a;
    const std::string_view whole_b = b;
    while (!a.empty() && !b.empty()) {
        const std::string_view run_a = leading_digits(a);
        const std::string_view run_b = leading_digits(b);
        if (run_a.empty() || run_b.empty()) {
            if (a.front() != b.front()) {
                return static_cast<unsigned char>(a.front()) <
                       static_cast<unsigned char>(b.front());
            }
            a.remove_prefix(1);
            b.remove_prefix(1);
            continue;
        }
        const std::string_view value_a = without_zeros(run_a);
        const std::string_view value_b = without_zeros(run_b);
        if (value_a != value_b) {
            return value_a.size() != value_b.size() ? value_a.size() < value_b.size()
                                                    : value_a < value_b;
        }
        a.remove_prefix(run_a.size());
        b.remove_prefix(run_b.size());
    }
    if (a.empty() != b.empty()) {
        return a.empty();
    }
    return whole_a < whole_b;  // equal but for leading zeros
}

bool has_trace_ending(std::string_view name) {
    (void)cut_ending(name, compression_endings);
    return cut_ending(name, trace_endings);
}

Result<std::vector<std::string>> expand_path(const std::string& path) {
    if (path == "-" || !is_folder(path)) {
        return std::vector<std::string>{path};
    }
    const auto close = [](DIR* folder) { ::closedir(folder); };
    const std::unique_ptr<DIR, decltype(close)> folder(::opendir(path.c_str()), close);
    if (folder == nullptr) {
        return error_of(errno);
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string name = entry->d_name;
        if (name.front() != '.' && has_trace_ending(name) && !is_folder(path + "/" + name)) {
            names.push_back(name);
        }
    }
    if (names.empty()) {
        return Error{ErrorCode::missing, 0, "find traces in the folder"};
    }
    std::sort(names.begin(), names.end(), numeric_less);
    for (std::string& name : names) {
        name.insert(0, path.ends_with('/') ? path : path + "/");
    }
    return names;
}

std::string trace_name(std::string_view path) {
    if (path == "-") {
        return "stdin";
    }
    while (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    const std::size_t slash = path.rfind('/');
    path.remove_prefix(slash == std::string_view::npos ? 0 : slash + 1);
    (void)cut_ending(path, compression_endings);
    (void)cut_ending(path, trace_endings);
    return std::string(path.empty() ? "trace" : path);
}

}  // namespace driftless
