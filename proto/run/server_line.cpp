#include "proto/run/server_line.hpp"

#include <cmath>
#include <limits>

#include "proto/json/utf8.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void write_value(JsonWriter& json, std::optional<double> value) {
    if (!value) {
        json.null();
    } else if (std::isnan(*value)) {
        json.string("NaN");
    } else if (std::isinf(*value)) {
        json.string(*value > 0 ? "+Inf" : "-Inf");
    } else {
        json.number(*value);
    }
}

/// False where it is none.
bool read_value(JsonValue from, std::optional<double>& out) {
    const std::string_view text = from.as_string().value_or("");
    out = from.as_double();
    if (text == "NaN") {
        out = std::numeric_limits<double>::quiet_NaN();
    } else if (text == "+Inf" || text == "-Inf") {
        out = text == "+Inf" ? infinity : -infinity;
    }
    return out.has_value() || from.is(JsonType::null);
}

/// Members of one line, and the first that is not there.
struct LineMembers {
    JsonValue line;
    const char* missing = nullptr;

    template <typename T, typename From>
    void take(const char* key, T& out, std::optional<From> found) {
        if (found) {
            out = static_cast<T>(*found);
        } else {
            missing = missing == nullptr ? key : missing;
        }
    }
    void number(const char* key, std::uint32_t& out) { take(key, out, line.find(key).as_u64()); }
    void number(const char* key, std::uint64_t& out) { take(key, out, line.find(key).as_u64()); }
    void number(const char* key, std::int64_t& out) { take(key, out, line.find(key).as_i64()); }
    void text(const char* key, std::string& out) { take(key, out, line.find(key).as_string()); }
};

/// The numbers of a list of series, one after the other; runs are lists of their first and last.
class SeriesNumbers {
  public:
    explicit SeriesNumbers(JsonValue list) : item_(list.first()) {}

    bool at_end() const { return !item_.present(); }
    /// Nothing where the item is neither a number nor a run.
    std::optional<std::uint32_t> next() {
        const bool is_run = item_.is(JsonType::array) && item_.size() == 2;
        const JsonValue first = is_run ? item_.first() : item_;
        const std::optional<std::uint64_t> from = first.as_u64();
        const std::optional<std::uint64_t> to = is_run ? first.next().as_u64() : from;
        if (!from || !to || *to > std::numeric_limits<std::uint32_t>::max() ||
            *from + within_ > *to) {
            return std::nullopt;
        }
        const auto number = static_cast<std::uint32_t>(*from + within_);
        ++within_;
        if (number == *to) {
            item_ = item_.next();
            within_ = 0;
        }
        return number;
    }

  private:
    JsonValue item_;
    std::uint32_t within_ = 0;  ///< a run
};

/// Hands each number of one list and its value in the other to `take`, until that says false.
/// Bounded by the values that are there. False where the lists do not fit each other.
template <typename Take>
bool read_pairs(JsonValue line, const char* series, const char* values, Take take) {
    const JsonValue list = line.find(values);
    SeriesNumbers numbers(line.find(series));
    for (JsonValue value = list.first(); value.present(); value = value.next()) {
        const std::optional<std::uint32_t> number =
            numbers.at_end() ? std::nullopt : numbers.next();
        if (!number || !take(*number, value)) {
            return false;
        }
    }
    return numbers.at_end() && list.is(JsonType::array);
}

/// So many numbers are shorter as a list of the first and the last.
constexpr std::size_t run_min = 3;

/// Writes the numbers of what has a `series`.
template <typename Entries>
void write_numbers(JsonWriter& json, const char* key, const Entries& entries) {
    json.key(key).begin_array();
    for (std::size_t from = 0, to = 0; from < entries.size(); from = to) {
        const std::uint64_t first = entries[from].series;
        to = from + 1;
        while (to < entries.size() && entries[to].series == first + (to - from)) {
            ++to;
        }
        if (to - from >= run_min) {
            json.begin_array();
            json.unsigned_integer(first).unsigned_integer(entries[to - 1].series);
            json.end_array();
            continue;
        }
        for (std::size_t at = from; at < to; ++at) {
            json.unsigned_integer(entries[at].series);
        }
    }
    json.end_array();
}

Result<ServerLine> read_series(LineMembers members) {
    ServerSeries out;
    members.number("segment", out.segment);
    members.number("series", out.series);
    members.text("url", out.url);
    members.text("name", out.name);
    members.text("type", out.type);
    members.take("counter", out.counter, members.line.find("counter").as_bool());
    const JsonValue labels = members.line.find("labels");
    if (members.missing != nullptr || !labels.is(JsonType::object)) {
        return Error{ErrorCode::missing, 0,
                     members.missing != nullptr ? members.missing : "labels"};
    }
    for (JsonValue one = labels.first(); one.present(); one = one.next()) {
        out.labels.emplace_back(one.key(), one.as_string().value_or(""));
    }
    return ServerLine(std::move(out));
}

Result<ServerLine> read_scrape(LineMembers members) {
    ServerScrape out;
    members.number("segment", out.segment);
    members.number("t_ns", out.t_ns);
    members.number("took_ns", out.took_ns);
    members.text("url", out.url);
    members.number("left_out", out.left_out);
    if (members.missing != nullptr) {
        return Error{ErrorCode::missing, 0, members.missing};
    }
    out.error = members.line.find("error").as_string().value_or("");
    const bool has_values =
        read_pairs(members.line, "series", "values", [&out](std::uint32_t series, JsonValue from) {
            return read_value(from, out.changed.emplace_back(ServerValue{series, {}}).value);
        });
    if (!has_values) {
        return Error{ErrorCode::invalid, 0, "values"};
    }
    const auto read_growth = [&out](std::uint32_t series, JsonValue from) {
        const std::optional<double> by = from.as_double();
        out.grown.push_back({series, by.value_or(0)});
        return by.has_value();
    };
    if (members.line.find("grown").present() &&
        !read_pairs(members.line, "grown", "grown_by", read_growth)) {
        return Error{ErrorCode::invalid, 0, "grown_by"};
    }
    return ServerLine(std::move(out));
}

}  // namespace

void append_server_series(std::string& out, const ServerSeries& series) {
    const std::size_t from = out.size();
    JsonWriter json(out);
    json.begin_object();
    json.key("segment").unsigned_integer(series.segment);
    json.key("series").unsigned_integer(series.series);
    json.key("url").string(series.url);
    json.key("name").string(series.name);
    json.key("type").string(series.type);
    json.key("counter").boolean(series.counter);
    json.key("labels").begin_object();
    for (const auto& [name, value] : series.labels) {
        json.key(name).string(value);
    }
    json.end_object();
    json.end_object();
    escape_unprintable_json(out, from);
    out += '\n';
}

void append_server_scrape(std::string& out, const ServerScrape& scrape) {
    const std::size_t from = out.size();
    JsonWriter json(out);
    json.begin_object();
    json.key("segment").unsigned_integer(scrape.segment);
    json.key("t_ns").integer(scrape.t_ns);
    json.key("took_ns").integer(scrape.took_ns);
    json.key("url").string(scrape.url);
    json.key("error");
    scrape.error.empty() ? json.null() : json.string(scrape.error);
    json.key("left_out").unsigned_integer(scrape.left_out);
    write_numbers(json, "series", scrape.changed);
    json.key("values").begin_array();
    for (const ServerValue& one : scrape.changed) {
        write_value(json, one.value);
    }
    json.end_array();
    write_numbers(json, "grown", scrape.grown);
    json.key("grown_by").begin_array();
    for (const ServerGrowth& one : scrape.grown) {
        json.number(one.by);
    }
    json.end_array();
    json.end_object();
    escape_unprintable_json(out, from);
    out += '\n';
}

Result<ServerLine> read_server_line(JsonDocument& document, std::string_view line) {
    const Result<JsonValue> root = document.parse(line);
    if (!root || !root.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read a line of server.jsonl"};
    }
    const LineMembers members{root.value()};
    return root.value().find("name").present() ? read_series(members) : read_scrape(members);
}

}  // namespace driftless
