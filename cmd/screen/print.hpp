/// `print`: formatted text to a stream, for screens. `fmt::print` throws if the stream cannot be
/// written, and a full disk must not end a command that way. Main checks stdout at the end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace driftless {

template <typename... Values>
void print(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    (void)std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace driftless
