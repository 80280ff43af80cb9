#include "proto/trace/columns.hpp"

#include <algorithm>

#include "proto/core/decimal.hpp"
#include "proto/json/write.hpp"

namespace driftless {
namespace {

/// Names of unknown columns that are noted for the message; their count goes on.
constexpr std::size_t unknown_names_max = 16;

/// Names that a message lists: wide files have hundreds.
constexpr std::size_t joined_names_max = 24;

/// Whether a cell may stand in JSON as it is: a number as RFC 8259 writes it.
bool is_json_number(std::string_view text) {
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    const bool leading_zero = digits.size() > 1 && digits[0] == '0' && digits[1] != '.';
    return scan_decimal(text) && !text.starts_with('+') && !digits.starts_with('.') &&
           !leading_zero && digits.find(".e") == digits.npos && digits.find(".E") == digits.npos &&
           !digits.ends_with('.');
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (std::size_t i = 0; i < names.size() && i < joined_names_max; ++i) {
        all += (i == 0 ? "" : ", ") + names[i];
    }
    return names.size() <= joined_names_max
               ? all
               : all + " and " + std::to_string(names.size() - joined_names_max) + " more";
}

/// By its name, or by a path into it.
bool ColumnNotes::is_kept(std::string_view name) const {
    return std::any_of(keep_.begin(), keep_.end(), [name](const std::string& kept) {
        return kept.starts_with(name) && (kept.size() == name.size() || kept[name.size()] == '.');
    });
}

void ColumnNotes::note_unless_known(std::string_view name,
                                    std::span<const std::string_view> known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) {
        return;
    }
    ++unknown_;
    const bool noted =
        std::find(unknown_names_.begin(), unknown_names_.end(), name) != unknown_names_.end();
    if (!noted && unknown_names_.size() < unknown_names_max) {
        unknown_names_.emplace_back(name);
    }
}

bool ColumnNotes::same_names(const JsonValue& row) const {
    JsonValue value = row.first();
    for (const std::string& name : names_) {
        if (!value.present() || value.key() != name) {
            return false;
        }
        value = value.next();
    }
    return !names_.empty() && !value.present();
}

void ColumnNotes::note(const JsonValue& row, std::span<const std::string_view> known) {
    if (same_names(row)) {
        unknown_ += names_unknown_;
        return;
    }
    const std::uint64_t before = unknown_;
    names_.clear();
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        names_.emplace_back(value.key());
        if (!is_kept(names_.back())) {
            note_unless_known(names_.back(), known);
        }
    }
    names_unknown_ = unknown_ - before;
}

void ColumnNotes::note(const CsvRow& row, std::span<const std::string_view> known) {
    const CsvHeader& header = row.header();
    kept_columns_.clear();
    for (std::size_t i = 0; i < keep_.size(); ++i) {
        if (const std::optional<std::size_t> at = header.find_in_any_case(keep_[i])) {
            seen_[i] = true;
            kept_columns_.push_back(*at);
        }
    }
    for (std::size_t i = 0; i < header.names().size(); ++i) {
        const bool kept =
            std::find(kept_columns_.begin(), kept_columns_.end(), i) != kept_columns_.end();
        if (!kept && !row[i].empty()) {
            note_unless_known(header.names()[i], known);
        }
    }
    if (names_ != header.names()) {
        names_ = header.names();
    }
}

std::string ColumnNotes::kept(const JsonValue& row) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (std::size_t i = 0; i < keep_.size(); ++i) {
        const JsonValue value = row.find_path(keep_[i]);
        seen_[i] = seen_[i] || value.present();
        writer.key(keep_[i]).raw(value.present() ? value.raw() : "null");
    }
    writer.end_object();
    return text;
}

std::string ColumnNotes::kept(const CsvRow& row) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (const std::string& name : keep_) {
        const auto cell = row.find_in_any_case(name);
        writer.key(name);
        if (!cell || cell->empty()) {
            writer.null();
        } else if (is_json_number(*cell)) {
            writer.raw(*cell);
        } else {
            writer.string(*cell);
        }
    }
    writer.end_object();
    return text;
}

std::vector<std::string> ColumnNotes::missing() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < keep_.size(); ++i) {
        if (!seen_[i]) {
            names.push_back(keep_[i]);
        }
    }
    return names;
}

}  // namespace driftless
