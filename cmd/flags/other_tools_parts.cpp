/// What the translations of single tools share: arguments, members of bodies, numbers.

#include <algorithm>
#include <optional>
#include <utility>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/other_tools.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"
#include "proto/http/request.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

bool is_one_of(std::string_view list, std::string_view value) {
    while (!list.empty()) {
        if (take_until(list, "|") == value) {
            return true;
        }
    }
    return false;
}

void add_flag(Spelled& out, std::string_view flag, std::string_view value) {
    out.arguments.emplace_back(flag);
    out.arguments.emplace_back(value);
}

bool has_argument(const Spelled& out, std::string_view flag) {
    return std::find(out.arguments.begin(), out.arguments.end(), flag) != out.arguments.end();
}

void add_default(Spelled& out, std::string_view flag, std::string_view value) {
    if (!has_argument(out, flag)) {
        add_flag(out, flag, value);
    }
}

void add_note(Spelled& out, std::string note) {
    out.notes.push_back(std::move(note));
}

void refuse_line(Spelled& out, std::string why) {
    if (out.refused.empty()) {
        out.refused = std::move(why);
    }
}

void extend_members(std::string& members, std::string_view name, std::string_view value) {
    const bool literal =
        value == "true" || value == "false" || value == "null" || scan_decimal(value).has_value();
    std::string member;
    JsonWriter json(member);
    json.begin_object().key(name);
    literal ? json.raw(value) : json.string(value);
    json.end_object();
    members += (members.empty() ? "" : ",") + member.substr(1, member.size() - 2);
}

void add_members(Spelled& out, const std::string& members, const std::string& object) {
    JsonDocument document;
    const Result<JsonValue> given = document.parse(object);
    JsonDocument others;
    const Result<JsonValue> added = others.parse("{" + members + "}");
    if (object.empty() || !added || !given || !given.value().is(JsonType::object)) {
        if (!members.empty()) {
            add_flag(out, "--extra-body", "{" + members + "}");
        }
        if (!object.empty()) {
            add_flag(out, "--extra-body", object);  // what is wrong with it, its own parser says
        }
        return;
    }
    std::vector<std::string> names;
    for (JsonValue one = given.value().first(); one.present(); one = one.next()) {
        names.emplace_back(one.key());
    }
    std::string all = object.substr(0, object.rfind('}'));
    for (JsonValue one = added.value().first(); one.present(); one = one.next()) {
        if (std::find(names.begin(), names.end(), one.key()) == names.end()) {
            all += (names.empty() ? "\"" : ",\"") + std::string(one.key()) +
                   "\":" + std::string(one.raw());
            names.emplace_back(one.key());
        }
    }
    add_flag(out, "--extra-body", all + "}");
}

std::string argument_of(const Spelled& out, std::string_view flag) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    return found == out.arguments.end() || found + 1 == out.arguments.end() ? "" : *(found + 1);
}

void set_argument(Spelled& out, std::string_view flag, std::string_view value) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    if (found == out.arguments.end() || found + 1 == out.arguments.end()) {
        add_flag(out, flag, value);
    } else {
        *(found + 1) = value;
    }
}

/// {"type_": "trace_synthetic"}: as GuideLLM took it at first. No other member is known, and none
/// is let pass.
static void take_data_arguments(std::string_view value, Line& line) {
    std::string bare(value);
    std::erase_if(bare, [](char c) { return c == ' ' || c == '"' || c == '{' || c == '}'; });
    if (bare != "type_:trace_synthetic") {
        refuse_line(line, "--data-args \"" + std::string(value) +
                              "\": has no counterpart here; name columns with --map "
                              "time=COLUMN,in=COLUMN,out=COLUMN");
    }
    line.kept["kind"].value = "trace_synthetic";
}

/// A time bounds what is due, and there is no due before an end.
static void take_loop(std::string_view open, Line& line) {
    line.kept["arrive"].value = "yes";
    add_flag(line, "--concurrency", open);
    std::replace(line.arguments.begin(), line.arguments.end(), std::string("--duration"),
                 std::string("--for"));
}

/// `--input-file payload:FILE` of GenAI-Perf is a trace; `synthetic:` is none.
static void take_input_file(std::string_view /*value*/, Line& line) {
    constexpr std::string_view payload = "payload:";
    for (std::string& one : line.arguments) {
        if (one.starts_with(payload)) {
            one.erase(0, payload.size());
        } else if (one.starts_with("synthetic:")) {
            refuse_line(
                line, "--input-file " + one + ": embeddings and rankings are not sent; remove it");
        }
    }
}

void take_by_code(std::string_view name, std::string_view value, Line& line) {
    CHECK(is_one_of("data_arguments|loop|input_file|settings_file", name));
    const auto take = name == "data_arguments"  ? take_data_arguments
                      : name == "loop"          ? take_loop
                      : name == "settings_file" ? finish_mlperf
                                                : take_input_file;
    take(value, line);
}

void add_default_server(Spelled& out, std::string_view port) {
    if (has_argument(out, "--url") || has_argument(out, "--host") ||
        looks_like_url(argument_of(out, "--endpoint")) || has_argument(out, "--from") ||
        has_argument(out, "--resume")) {
        return;
    }
    add_flag(out, "--host", "127.0.0.1");
    add_default(out, "--port", port);
    add_note(out, "no server is named: using 127.0.0.1:" + argument_of(out, "--port") +
                      ", the tool's default");
}

bool is_positive(std::string_view text) {
    const auto decimal = scan_decimal(text);
    if (!decimal || decimal->negative) {
        return false;
    }
    const Result<Scaled> scaled = scale(*decimal, 9);
    return !scaled || scaled.value().value > 0;
}

static constexpr std::uint64_t billion = 1'000'000'000;

/// A decimal in units of 10^-9; 0 where it is none, negative, or has more digits.
static std::uint64_t nano_of(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    const Result<Scaled> nano = decimal ? scale(*decimal, 9) : Result<Scaled>(Scaled{});
    const bool good = decimal && !decimal->negative && nano && nano.value().exact;
    return good ? nano.value().value : 0;
}

/// `value` / 10^`digits` as a decimal without trailing zeros.
static std::string decimal_text(std::uint64_t value, std::size_t digits) {
    const std::string all = std::to_string(value);
    const std::string padded =
        all.size() > digits ? all : std::string(digits + 1 - all.size(), '0') + all;
    const std::string whole = padded.substr(0, padded.size() - digits);
    const std::string part = padded.substr(padded.size() - digits);
    const std::size_t last = part.find_last_not_of('0');
    return last == part.npos ? whole : whole + "." + part.substr(0, last + 1);
}

bool is_config(std::string_view text) {
    return text.starts_with("kind=") || text.starts_with('{');
}

std::vector<std::pair<std::string, std::string>> config_parts(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> parts;
    JsonDocument document;
    if (const Result<JsonValue> root = document.parse(text);
        root && root.value().is(JsonType::object)) {
        std::vector<std::pair<std::string, JsonValue>> inner{{"", root.value()}};
        for (std::size_t i = 0; i < inner.size(); ++i) {  // bounded by the document's objects
            const std::string prefix = inner[i].first;
            for (JsonValue one = inner[i].second.first(); one.present(); one = one.next()) {
                const std::string key = prefix + std::string(one.key());
                if (one.is(JsonType::object)) {
                    inner.emplace_back(key + ".", one);
                } else {
                    parts.emplace_back(key, std::string(one.as_string().value_or(one.raw())));
                }
            }
        }
        return parts;
    }
    while (!text.empty()) {  // each turn takes a part off
        std::string_view value = trim_blanks(take_until(text, ","));
        const std::string_view name = take_until(value, "=");
        parts.emplace_back(name, value);
    }
    return parts;
}

std::string config_value(std::string_view text, std::string_view key) {
    for (const auto& [name, value] : config_parts(text)) {
        if (name == key) {
            return value;
        }
    }
    return "";
}

std::optional<std::string> converted(std::string_view word, const std::string& text) {
    if (!is_one_of("ms|percent|interval|inverse", word)) {
        return std::nullopt;
    }
    const std::uint64_t nano = nano_of(text);
    if (word == "inverse") {
        const bool exact = nano != 0 && billion * billion % nano == 0;
        return exact ? decimal_text(billion * billion / nano, 9) : "";
    }
    return nano == 0           ? text
           : word == "ms"      ? decimal_text(nano, 6)
           : word == "percent" ? decimal_text(nano, 7) + " %"
                               : decimal_text(billion * billion / nano, 6);
}

}  // namespace driftless
