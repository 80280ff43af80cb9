// A column of the page, read back by a decoder of this test's own: every value is exact, and near
// columns cost little.
#include "cmd/report/page_column.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>

#include "proto/core/hash.hpp"
#include "proto/json/document.hpp"

namespace driftless {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view base64) {
    std::vector<std::uint8_t> bytes;
    std::uint32_t bits = 0;
    int held = 0;
    for (const char digit : base64) {
        const std::string_view all =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        if (digit == '=') {
            break;
        }
        bits = (bits << 6) | static_cast<std::uint32_t>(all.find(digit));
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes.push_back(static_cast<std::uint8_t>(bits >> held));
        }
    }
    return bytes;
}

using Texts = std::vector<std::string>;

// The columns of a table as texts: digits, words, or "" for null.
class ReadBack {
  public:
    ReadBack(const std::vector<PageColumn>& columns, std::size_t rows) : rows_(rows) {
        JsonWriter json(text_);
        write_page_columns(json, columns);
        const JsonValue root = document_.parse(text_).value();
        for (JsonValue one = root.first(); one.present(); one = one.next()) {
            read(one);
        }
    }
    const Texts& operator[](const std::string& name) { return texts_[name]; }
    std::size_t bytes() const { return text_.size(); }
    std::string text_;

  private:
    void read(JsonValue column) {
        const std::string name(*column.find("name").as_string());
        if (column.find("doubles").present()) {
            read_doubles(name, bytes_of(*column.find("doubles").as_string()));
            return;
        }
        std::vector<std::uint64_t> codes = codes_of(column);
        std::uint64_t before = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            if (codes[row] == 0) {
                texts_[name].emplace_back();
                numbers_[name].push_back(0);
                continue;
            }
            const std::uint64_t zigzag = codes[row] - 1;
            std::uint64_t value = (zigzag >> 1) ^ (~(zigzag & 1) + 1);
            value += column.find("step").present() ? before : 0;
            value += column.find("plus").present() ? base(column, "plus", row) : 0;
            value -= column.find("minus").present() ? base(column, "minus", row) : 0;
            before = value;
            numbers_[name].push_back(value);
            const JsonValue texts = column.find("texts");
            texts_[name].push_back(texts.present()
                                       ? std::string(*texts.at(value - 1).as_string())
                                       : std::to_string(static_cast<std::int64_t>(value)));
        }
    }
    std::uint64_t base(JsonValue column, const char* key, std::size_t row) {
        return numbers_.at(std::string(*column.find(key).as_string()))[row];
    }
    std::vector<std::uint64_t> codes_of(JsonValue column) const {
        if (column.find("all").present()) {
            return std::vector<std::uint64_t>(rows_, *column.find("all").as_u64());
        }
        std::vector<std::uint64_t> codes;
        std::uint64_t code = 0;
        int shift = 0;
        for (const std::uint8_t byte : bytes_of(*column.find("codes").as_string())) {
            code |= static_cast<std::uint64_t>(byte & 127) << shift;
            shift += 7;
            if (byte < 128) {
                codes.push_back(code);
                code = 0;
                shift = 0;
            }
        }
        EXPECT_EQ(codes.size(), rows_);
        return codes;
    }
    void read_doubles(const std::string& name, const std::vector<std::uint8_t>& bytes) {
        ASSERT_EQ(bytes.size(), rows_ * 8);
        for (std::size_t at = 0; at < bytes.size(); at += 8) {
            double value = 0;
            std::memcpy(&value, &bytes[at], 8);
            char digits[32];
            const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
            texts_[name].push_back(value == value ? std::string(digits, end) : "");
        }
    }

    std::size_t rows_;
    JsonDocument document_;
    std::map<std::string, Texts> texts_;
    std::map<std::string, std::vector<std::uint64_t>> numbers_;
};

PageColumn column_of(const char* name, bool holds_numbers, const Texts& values) {
    Figure figure;
    figure.name = name;
    figure.holds_numbers = holds_numbers;
    PageColumn column(figure);
    for (const std::string& value : values) {
        const CellKind kind = value.empty()   ? CellKind::empty
                              : holds_numbers ? CellKind::number
                                              : CellKind::text;
        column.add({kind, value});
    }
    return column;
}

Texts read_back(bool holds_numbers, const Texts& values) {
    return ReadBack({column_of("one", holds_numbers, values)}, values.size())["one"];
}

TEST(PageColumn, KeepsEveryNumber) {
    const Texts whole{"0", "-1",  "1",  "",  "9007199254740993", "-9223372036854775807",
                      "",  "127", "63", "64"};
    EXPECT_EQ(read_back(true, whole), whole);
    EXPECT_EQ(read_back(true, {}), Texts{});
    EXPECT_EQ(read_back(true, {"", ""}), (Texts{"", ""}));
    EXPECT_EQ(read_back(true, {"7", "7", "7"}), (Texts{"7", "7", "7"}));
}

// One fraction makes it a column of doubles, the whole numbers before it, too.
TEST(PageColumn, KeepsEveryFraction) {
    const Texts values{"3", "", "10003423.548387097", "0.1", "-2.5e-07", "12"};
    EXPECT_EQ(read_back(true, values), values);
}

TEST(PageColumn, KeepsEveryText) {
    const Texts values{"ok", "", "ok", "</script>", "\xE2\x82\xAC \"quoted\"", "ok"};
    EXPECT_EQ(read_back(false, values), values);
}

TEST(PageColumn, KeepsStampsThatAreNearEachOther) {
    Random random(7);
    std::map<std::string, Texts> stamps;
    for (std::size_t row = 0; row < 1000; ++row) {
        const auto due = static_cast<std::int64_t>(row * 1'000'000 + random.below(900'000));
        const auto fired = due + static_cast<std::int64_t>(random.below(2000));
        const bool left = random.below(10) > 0;
        stamps["due_ns"].push_back(std::to_string(due));
        stamps["fired_ns"].push_back(left ? std::to_string(fired) : "");
        stamps["drift_ns"].push_back(left ? std::to_string(fired - due) : "");
    }
    std::vector<PageColumn> columns;
    for (const char* name : {"due_ns", "fired_ns", "drift_ns"}) {
        columns.push_back(column_of(name, true, stamps[name]));
    }
    ReadBack read(columns, 1000);
    for (const auto& [name, values] : stamps) {
        EXPECT_EQ(read[name], values) << name;
    }
    // 4 digits of base64 or less for a due, 3 for a drift; its second column is a byte.
    EXPECT_LT(read.bytes(), 1000U * (4 + 3 + 2) + 400);
}

}  // namespace
}  // namespace driftless
