/// Breaches: what breaks a law, the first few in words, and how laws say it. It owns its text.
#pragma once

#include "proto/run/record.hpp"
#include "tests/std.hpp"

namespace driftless::sim {

class Breaches {
  public:
    void unless(bool holds, const Record& record, const std::string& what) {
        unless(holds, record.row, what);
    }
    void unless(bool holds, std::uint32_t row, const std::string& what) {
        unless(holds, "row " + std::to_string(row) + " " + what);
    }
    void unless(bool holds, const std::string& what) {
        if (!holds && ++count_ <= shown_max) {
            text_ += (text_.empty() ? "" : "; ") + what;
        }
    }
    std::string text() const {
        return count_ <= shown_max
                   ? text_
                   : text_ + "; and " + std::to_string(count_ - shown_max) + " more";
    }

  private:
    static constexpr std::size_t shown_max = 12;

    std::string text_;
    std::size_t count_ = 0;
};

inline std::string of(std::uint64_t got, std::uint64_t wanted) {
    return std::to_string(got) + " instead of " + std::to_string(wanted);
}

/// Empty where this law is among those that `broken_laws` names.
inline std::string unnamed(const std::string& broken, const std::string& law) {
    const bool named = ("\n" + broken).find("\n" + law + ": ") != std::string::npos;
    return named ? "" : law + " is not in:\n" + broken;
}

/// A breach that tests plant.
inline void lose_last_line(std::string& lines) {
    lines.pop_back();
    lines.erase(lines.rfind('\n') + 1);
}

}  // namespace driftless::sim
