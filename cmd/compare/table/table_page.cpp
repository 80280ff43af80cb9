#include "cmd/compare/table/table_page.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cmd/report/page_shell.hpp"
#include "cmd/version.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::array<std::string_view, 2> scripts{"frontier", "many_runs"};

std::filesystem::path absolute_path(const std::string& path) {
    std::error_code error;
    const std::filesystem::path full = std::filesystem::absolute(path, error);
    return (error ? std::filesystem::path(path) : full).lexically_normal();
}

/// Nothing where the folder is not there any more.
std::string link_to(const TableRun& run, const std::filesystem::path& page_folder) {
    const std::filesystem::path folder = absolute_path(run.folder);
    std::error_code error;
    for (const std::filesystem::path& place : {folder / "report.html", folder}) {
        if (std::filesystem::exists(place, error)) {
            return relative_link(page_folder.string(), place.string());
        }
    }
    return "";
}

void write_links(JsonWriter& json, const ManyRuns& table, const std::string& page_path) {
    const std::filesystem::path page_folder = absolute_path(page_path).parent_path();
    json.key("links").begin_array();
    for (const RunCell& cell : table.cells) {
        json.begin_array();
        for (const std::size_t index : cell.runs) {
            const std::string link = link_to(table.runs[index], page_folder);
            link.empty() ? json.null() : json.string(link);
        }
        json.end_array();
    }
    json.end_array();
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~/").find(c) != std::string_view::npos;
}

}  // namespace

std::string relative_link(const std::string& from, const std::string& to) {
    const std::string path =
        std::filesystem::path(to).lexically_relative(std::filesystem::path(from)).generic_string();
    std::string link;
    for (const char c : path) {
        link +=
            is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return link;
}

std::string table_page(const TableDocument& document, const std::string& page_path) {
    std::string data;
    JsonWriter json(data);
    json.begin_object();
    json.key("program").string(std::string("driftless ") + version());
    json.key("table").raw(table_json(document));
    write_links(json, document.table, page_path);
    json.end_object();
    return page_text(counted(document.table.runs.size(), "run", "runs"), scripts, data);
}

}  // namespace driftless
