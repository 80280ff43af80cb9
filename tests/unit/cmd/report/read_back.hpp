/// ReadBack: the columns of the page, read by a decoder of the tests' own.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/report/page.hpp"
#include "proto/json/document.hpp"

namespace driftless {

inline std::vector<std::uint8_t> base64_bytes(std::string_view base64) {
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

/// The columns of a table as texts: digits, words, or "" for null.
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

  private:
    std::string text_;
    void read(JsonValue column) {
        const std::string name(*column.find("name").as_string());
        if (column.find("doubles").present()) {
            read_doubles(name, base64_bytes(*column.find("doubles").as_string()));
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
        for (const std::uint8_t byte : base64_bytes(*column.find("codes").as_string())) {
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

}  // namespace driftless
