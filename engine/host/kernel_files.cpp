#include "engine/host/kernel_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace driftless {

std::string kernel_line(const std::string& path) {
    constexpr std::size_t bytes_max = 4096;  // a page, which is the most that /sys gives
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return "";
    }
    std::string text(bytes_max, '\0');
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text.substr(0, text.find('\n'));
}

std::optional<std::int64_t> kernel_number(const std::string& path) {
    return kernel_number(path, 0);
}

std::optional<std::int64_t> kernel_number(const std::string& path, int index) {
    constexpr std::string_view blanks = " \t";
    const std::string text = kernel_line(path);
    std::string_view line = text;
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    for (int i = 0; i < index; ++i) {
        line.remove_prefix(std::min(line.find_first_of(blanks), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace driftless
