#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "cmd/report/page.hpp"
#include "cmd/report/text_formats.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

/// What a column of records is likely near to, so that its codes are short: all are sums of others,
/// or stamps of one request.
struct Base {
    std::string_view name;
    std::string_view plus;
    std::string_view minus;
};
constexpr std::array bases{
    Base{"request", "row", ""},
    Base{"parent_end_ns", "due_ns", ""},
    Base{"armed_ns", "due_ns", ""},
    Base{"fired_ns", "due_ns", ""},
    Base{"drift_ns", "fired_ns", "due_ns"},
    Base{"wire_ns", "fired_ns", ""},
    Base{"sent_ns", "wire_ns", ""},
    Base{"headers_ns", "sent_ns", ""},
    Base{"first_byte_ns", "headers_ns", ""},
    Base{"first_token_ns", "first_byte_ns", ""},
    Base{"first_content_ns", "first_token_ns", ""},
    Base{"last_token_ns", "first_token_ns", ""},
    Base{"done_ns", "last_token_ns", ""},
    Base{"ended_ns", "done_ns", ""},
    Base{"ttft_ns", "first_token_ns", "fired_ns"},
    Base{"ttft_due_ns", "first_token_ns", "due_ns"},
    Base{"e2e_ns", "last_token_ns", "fired_ns"},
    Base{"prompt_tokens", "input_length", ""},
    Base{"prompt_tokens_off", "prompt_tokens", "input_length"},
    Base{"expected_cached_server", "expected_cached_tokens", ""},
    Base{"cached_tokens", "expected_cached_tokens", ""},
    Base{"output_tokens", "output_length", ""},
    Base{"wire_delay_bound_ns", "wire_ns", "fired_ns"},
    Base{"end_ns", "begin_ns", ""},
    Base{"to_ns", "from_ns", ""},
};

const PageColumn* named(const std::vector<PageColumn>& columns, std::string_view name,
                        std::size_t before) {
    for (std::size_t i = 0; i < before; ++i) {
        if (columns[i].name() == name) {
            return &columns[i];
        }
    }
    return nullptr;
}

std::uint64_t or_zero(const PageColumn* column, const std::vector<OptionalNs>* values,
                      std::size_t row) {
    return column == nullptr ? 0 : static_cast<std::uint64_t>((*values)[row].value_or(0));
}

/// 0, -1, 1, -2, .. as 1, 2, 3, 4, ..: 0 is left for null.
std::uint64_t code_of(std::uint64_t difference) {
    const auto signed_one = static_cast<std::int64_t>(difference);
    return ((difference << 1) ^ static_cast<std::uint64_t>(signed_one >> 63)) + 1;
}

void append_varint(std::vector<std::uint8_t>& out, std::uint64_t code) {
    for (; code >= 128; code >>= 7) {
        out.push_back(static_cast<std::uint8_t>((code & 127) | 128));
    }
    out.push_back(static_cast<std::uint8_t>(code));
}

std::size_t bytes_of(const std::vector<std::uint64_t>& codes) {
    std::size_t bytes = 0;
    for (const std::uint64_t code : codes) {
        bytes += (static_cast<std::size_t>(std::bit_width(code | 1)) + 6) / 7;
    }
    return bytes;
}

std::vector<std::uint64_t> stepped(const std::vector<OptionalNs>& values) {
    std::vector<std::uint64_t> codes;
    std::uint64_t before = 0;
    for (const OptionalNs& value : values) {
        codes.push_back(value ? code_of(static_cast<std::uint64_t>(*value) - before) : 0);
        before = value ? static_cast<std::uint64_t>(*value) : before;
    }
    return codes;
}

std::string base64_of(const std::vector<std::uint8_t>& bytes) {
    std::string text;
    append_base64_of(text, bytes);
    return text;
}

void write_codes(JsonWriter& json, const std::vector<std::uint64_t>& codes) {
    const bool equal =
        std::adjacent_find(codes.begin(), codes.end(), std::not_equal_to<>()) == codes.end();
    if (equal) {
        json.key("all").unsigned_integer(codes.empty() ? 0 : codes.front());
        return;
    }
    std::vector<std::uint8_t> bytes;
    for (const std::uint64_t code : codes) {
        append_varint(bytes, code);
    }
    json.key("codes").string(base64_of(bytes));
}

}  // namespace

void PageColumn::add(const TableCell& cell) {
    if (!figure_.holds_numbers) {
        cell.kind == CellKind::empty ? integers_.push_back({}) : add_text(cell.text);
    } else if (cell.kind == CellKind::number) {
        add_number(cell.text);
    } else if (has_fractions_) {
        fractions_.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
        integers_.push_back({});
    }
}

void PageColumn::add_integer(std::int64_t value) {
    has_fractions_ ? fractions_.push_back(static_cast<double>(value)) : integers_.push_back(value);
}

void PageColumn::add_number(const std::string& digits) {
    const char* const end = digits.data() + digits.size();
    if (!has_fractions_) {
        std::int64_t whole = 0;
        const auto read = std::from_chars(digits.data(), end, whole);
        if (read.ec == std::errc() && read.ptr == end) {
            integers_.push_back(whole);
            return;
        }
        has_fractions_ = true;  // the first fraction: the column is one of doubles
        for (const OptionalNs& one : integers_) {
            fractions_.push_back(one ? static_cast<double>(*one)
                                     : std::numeric_limits<double>::quiet_NaN());
        }
        integers_.clear();
    }
    double value = std::numeric_limits<double>::quiet_NaN();
    (void)std::from_chars(digits.data(), end, value);
    fractions_.push_back(value);
}

void PageColumn::add_text(const std::string& text) {
    const auto next = static_cast<std::int64_t>(texts_.size()) + 1;
    const auto [at, is_new] = numbers_.try_emplace(text, next);
    if (is_new) {
        texts_.push_back(text);
    }
    integers_.push_back(at->second);
}

void PageColumn::write(JsonWriter& json, const PageColumn* plus, const PageColumn* minus) const {
    json.begin_object().key("name").string(figure_.name).key("unit").string(figure_.unit);
    if (!texts_.empty()) {
        json.key("texts").begin_array();
        for (const std::string& text : texts_) {
            json.string(text);
        }
        json.end_array();
    }
    has_fractions_ ? write_fractions(json) : write_integers(json, plus, minus);
    json.end_object();
}

void PageColumn::write_integers(JsonWriter& json, const PageColumn* plus,
                                const PageColumn* minus) const {
    const auto fits = [this](const PageColumn* column) {
        return column == nullptr || (!column->has_fractions_ && column->texts_.empty() &&
                                     column->integers_.size() == integers_.size());
    };
    const std::vector<std::uint64_t> steps = stepped(integers_);
    if ((plus == nullptr && minus == nullptr) || !fits(plus) || !fits(minus)) {
        json.key("step").boolean(true);
        write_codes(json, steps);
        return;
    }
    std::vector<std::uint64_t> codes;
    for (std::size_t row = 0; row < integers_.size(); ++row) {
        const std::uint64_t base = or_zero(plus, plus ? &plus->integers_ : nullptr, row) -
                                   or_zero(minus, minus ? &minus->integers_ : nullptr, row);
        codes.push_back(integers_[row] ? code_of(static_cast<std::uint64_t>(*integers_[row]) - base)
                                       : 0);
    }
    if (bytes_of(steps) < bytes_of(codes)) {
        json.key("step").boolean(true);
        write_codes(json, steps);
        return;
    }
    if (plus != nullptr) {
        json.key("plus").string(plus->name());
    }
    if (minus != nullptr) {
        json.key("minus").string(minus->name());
    }
    write_codes(json, codes);
}

void PageColumn::write_fractions(JsonWriter& json) const {
    std::vector<std::uint8_t> bytes;
    for (const double value : fractions_) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (int shift = 0; shift < 64; shift += 8) {
            bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
        }
    }
    json.key("doubles").string(base64_of(bytes));
}

void write_page_columns(JsonWriter& json, const std::vector<PageColumn>& columns) {
    json.begin_array();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto base = std::find_if(bases.begin(), bases.end(), [&](const Base& one) {
            return one.name == columns[i].name();
        });
        const bool known = base != bases.end();
        columns[i].write(json, known ? named(columns, base->plus, i) : nullptr,
                         known ? named(columns, base->minus, i) : nullptr);
    }
    json.end_array();
}

namespace {

/// In the order in which they need each other.
constexpr std::array<std::string_view, 6> libraries{"d3-array",  "d3-collection",  "d3-color",
                                                    "d3-format", "d3-interpolate", "d3-scale"};
constexpr std::array<std::string_view, 10> shared_scripts{
    "columns", "statistics", "words", "parts", "draw",
    "pointer", "fingers",    "keys",  "chart", "whole"};

std::string_view part(std::string_view name) {
    const auto all = shipped_page();
    const auto found = std::find_if(
        all.begin(), all.end(), [name](const ShippedPagePart& one) { return one.name == name; });
    CHECK(found != all.end());
    return found->text;
}

void append_parts(std::string& code, std::span<const std::string_view> names) {
    for (const std::string_view name : names) {
        code.append(part(name)).append("\n");
    }
}

/// What stands in the page for a word between two @ in its shell.
struct Filling {
    std::string_view mark;
    std::string_view text;
};

/// In one pass, so that no mark is looked for in what was filled in.
std::string filled(std::string_view shell, std::span<const Filling> fillings) {
    std::string page;
    for (std::size_t from = 0;;) {
        const std::size_t at = shell.find('@', from);
        page += shell.substr(from, at - from);
        if (at == shell.npos) {
            return page;
        }
        const std::size_t end = shell.find('@', at + 1);
        CHECK(end != shell.npos);
        const std::string_view mark = shell.substr(at + 1, end - at - 1);
        const auto found = std::find_if(fillings.begin(), fillings.end(),
                                        [mark](const Filling& one) { return one.mark == mark; });
        CHECK(found != fillings.end());
        page += found->text;
        from = end + 1;
    }
}

}  // namespace

std::string page_text(std::string_view title, std::span<const std::string_view> scripts,
                      std::string_view data) {
    std::string escaped_title;
    append_xml_text(escaped_title, title);
    std::string code;
    append_parts(code, libraries);
    append_parts(code, shared_scripts);
    append_parts(code, scripts);
    // Only what has this word runs. Nobody can know it who does not know every stamp of the run.
    Digest digest;
    digest.add(data);
    const std::string nonce =
        fmt::format("{:016x}{:016x}", digest.value(), mix64(digest.value() ^ data.size()));
    std::string json;
    append_script_json(json, data);
    const std::array fillings{
        Filling{"nonce", nonce},         Filling{"title", escaped_title},
        Filling{"style", part("style")}, Filling{"licence", part("licence")},
        Filling{"code", code},           Filling{"data", json},
    };
    return filled(part("shell"), fillings);
}

}  // namespace driftless
