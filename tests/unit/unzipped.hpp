/// A file of a zip archive, for tests of workbooks.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <string>
#include <string_view>

namespace driftless {

/// Empty where the archive has no such file.
inline std::string unzipped(const std::string& zip, std::string_view name) {
    struct archive* const reader = archive_read_new();
    archive_read_support_format_zip(reader);
    std::string text;
    struct archive_entry* entry = nullptr;
    if (archive_read_open_memory(reader, zip.data(), zip.size()) == ARCHIVE_OK) {
        while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
            char piece[4096];
            while (archive_entry_pathname(entry) == name) {  // until the file ends
                const auto size = archive_read_data(reader, piece, sizeof piece);
                if (size <= 0) {
                    break;
                }
                text.append(piece, static_cast<std::size_t>(size));
            }
        }
    }
    archive_read_free(reader);
    return text;
}

}  // namespace driftless
