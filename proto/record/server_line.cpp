#include "proto/record/server_line.hpp"

#include <cmath>
#include <limits>

#include "proto/json/printable.hpp"
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
    const JsonValue series = members.line.find("series");
    const JsonValue values = members.line.find("values");
    JsonValue value = values.first();
    for (JsonValue one = series.first(); one.present(); one = one.next()) {
        ServerValue& changed = out.changed.emplace_back();
        const std::optional<std::uint64_t> number = one.as_u64();
        if (!number || *number > std::numeric_limits<std::uint32_t>::max() || !value.present() ||
            !read_value(value, changed.value)) {
            return Error{ErrorCode::invalid, 0, "values"};
        }
        changed.series = static_cast<std::uint32_t>(*number);
        value = value.next();
    }
    if (series.size() != values.size() || !values.is(JsonType::array)) {
        return Error{ErrorCode::invalid, 0, "values"};
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
    json.key("series").begin_array();
    for (const ServerValue& one : scrape.changed) {
        json.unsigned_integer(one.series);
    }
    json.end_array();
    json.key("values").begin_array();
    for (const ServerValue& one : scrape.changed) {
        write_value(json, one.value);
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
