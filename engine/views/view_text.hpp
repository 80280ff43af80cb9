/// What views share to print and to warn; `report` prints its own tables with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/views/value_list.hpp"
#include "engine/views/view.hpp"
#include "proto/json/write.hpp"

namespace driftless {

inline constexpr double ns_per_ms = 1e6;
inline constexpr double ns_per_s = 1e9;

inline double in_ms(std::int64_t ns) {
    return static_cast<double>(ns) / ns_per_ms;
}
inline double in_s(std::int64_t ns) {
    return static_cast<double>(ns) / ns_per_s;
}
inline double as_double(std::int64_t value) {
    return static_cast<double>(value);
}
/// 0 where there is nothing to divide by.
inline double ratio(double value, double by) {
    return by == 0 ? 0 : value / by;
}

/// With so many decimals, "1234.50".
std::string fixed(double value, int decimals);
/// The same with commas between thousands.
std::string with_commas(double value, int decimals);
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
/// In the middle of `width` fillers, as Python's "{:=^50}".
std::string centred(std::string_view text, std::size_t width, char filler);

/// Label and value in the two columns of vLLM's and SGLang's screens.
void add_pair(std::string& screen, std::string_view label, std::string_view value);
void add_pair(std::string& screen, std::string_view label, double value);

/// A table without lines: first column left, others right.
class ViewTable {
  public:
    explicit ViewTable(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

JsonWriter& put_number(JsonWriter& json, std::string_view key, double value);
JsonWriter& put_integer(JsonWriter& json, std::string_view key, std::int64_t value);
JsonWriter& put_text(JsonWriter& json, std::string_view key, std::string_view value);

/// What a view must say of the records that it was given. `uses_events`: its figures need the
/// stamps of roles and finishes; `uses_gaps`: and those of all chunks.
struct ViewNeeds {
    bool events = false;
    bool gaps = false;
    bool client_tokens = false;  ///< the tool counts the tokens of the text itself
};
std::vector<std::string> notes_on(const ViewedRun& run, const ViewNeeds& needs);

/// `counted`: tokens of these kinds; where they cannot be told apart, the server's count.
std::int64_t tokens_or_usage(const ViewedRequest& request, std::string_view kinds);

}  // namespace driftless
