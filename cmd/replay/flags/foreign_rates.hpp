/// ForeignRates: what the command lines of other tools say of rates and of requests that are open
/// at once. One flag rarely says all of it: `finish` puts them together.
///
/// vllm bench and SGLang: a rate and a cap, or with an infinite rate a closed loop. GuideLLM: the
/// profile says what its rate is. Pure; opens no file.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/replay/flags/program_words.hpp"
#include "cmd/replay/flags/spelling.hpp"

namespace driftless {

class ForeignRates {
  public:
    explicit ForeignRates(ForeignTool tool) : tool_(tool) {}

    /// As Foreign::take.
    std::optional<std::size_t> take(std::string_view typed, const std::string* next, Spelled& out);
    /// GuideLLM's `--profile`, or `--rate-type`.
    void take_profile(const std::string& flag, std::string_view value, Spelled& out);
    /// After the last argument.
    void finish(Spelled& out);

    ForeignTool tool() const { return tool_; }
    /// Rows arrive at a rate, or one behind another: recorded times say nothing. After `finish`.
    bool arrive() const { return arrive_; }
    /// How far GuideLLM's replay profile stretches its trace; empty: not at all. After `finish`.
    const std::string& stretch() const { return stretch_; }

  private:
    std::string get(std::string_view name) const;
    bool has(std::string_view name) const { return said_.contains(name); }
    void refuse_unknown(const std::string& flag, Spelled& out) const;
    void finish_rate(Spelled& out);
    void finish_ramp(Spelled& out);
    void finish_profile(Spelled& out);
    void finish_arrivals(Spelled& out, const std::string& rate);
    void finish_loop(Spelled& out, const std::string& rate);
    void add_cap(Spelled& out, const std::string& cap, const char* why);
    void add_rate(Spelled& out, const std::string& rate, const std::string& law);
    void add_loop(Spelled& out, const std::string& open);
    std::string drawn_law(bool scales) const;

    ForeignTool tool_;
    std::map<std::string_view, std::string> said_;  ///< names are those of the table
    std::string profile_flag_;                      ///< as typed
    std::string profile_;                           ///< its kind; empty: none was given
    std::string stretch_;
    bool arrive_ = false;
};

}  // namespace driftless
