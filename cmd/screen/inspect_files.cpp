#include <fmt/format.h>

#include <cmath>

#include "cmd/screen/inspect_table.hpp"
#include "cmd/screen/plots.hpp"

namespace driftless {

namespace {

constexpr std::size_t name_columns = 26;

/// The end of a name that is too long says more than its beginning.
std::string shortened(const std::string& name) {
    return name.size() <= name_columns ? name
                                       : "..." + name.substr(name.size() - (name_columns - 3));
}

std::string line_of(const std::string& name, std::string_view format, std::string_view rows,
                    std::string_view span, std::string_view input, std::string_view output,
                    std::string_view blocks, std::string_view tokens) {
    const std::string middle = format.empty() ? "" : fmt::format("{:<9} ", format);
    return fmt::format("{:<{}} {}{:>8} {:>11} {:>14} {:>11} {:>9} {:>9}\n", shortened(name),
                       name_columns, middle, rows, span, input, output, blocks, tokens);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-"
                      : fmt::format("{:.2f} %",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

std::string file_heading(bool each) {
    return line_of("file", each ? "format" : "", "rows", "span s", "input", "output", "blocks hit",
                   "tokens hit");
}

std::string file_line(const FileFigures& file, const Trace* each) {
    const bool shares = file.references > 0;
    return line_of(file.name, each == nullptr ? "" : each->format, grouped(file.rows),
                   fmt::format("{:.3f}", static_cast<double>(file.span_ns) / 1e9),
                   grouped(file.input_tokens), grouped(file.output_tokens),
                   percent(file.hit_blocks, file.references),
                   shares ? percent(file.hit_tokens, file.input_tokens) : "-");
}

std::string refused_line(const std::string& name, const InputErrors& errors) {
    return fmt::format("{:<{}} refused: {} error{}\n", shortened(name), name_columns, errors.count,
                       errors.count == 1 ? "" : "s");
}

}  // namespace driftless
