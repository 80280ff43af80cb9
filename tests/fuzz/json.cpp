// Any bytes are JSON or are not; what is JSON is walked without end or overlap, is JSON again when
// it is written anew, and means the same then, packed or not. simdjson's own parser must agree on
// what JSON is.
#include <simdjson.h>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

// Writes `root` anew, without recursion: the stack holds the containers that are open.
std::string write_anew(const JsonValue& root) {
    std::string out;
    JsonWriter json(out);
    std::vector<JsonValue> open;
    for (JsonValue value = root; value.present();) {
        if (!open.empty() && open.back().is(JsonType::object)) {
            json.key(value.key());
        }
        const bool object = value.is(JsonType::object);
        if (const auto integers = value.integers()) {
            json.begin_array();
            for (const std::uint64_t one : *integers) {
                json.raw(std::to_string(one));
            }
            json.end_array();
        } else if (object || value.is(JsonType::array)) {
            object ? json.begin_object() : json.begin_array();
            if (value.size() > 0) {
                open.push_back(value);
                value = value.first();
                continue;
            }
            object ? json.end_object() : json.end_array();
        } else if (const auto text = value.as_string()) {
            CHECK(utf8_valid_prefix(*text) == text->size());
            json.string(*text);
        } else {
            json.raw(value.raw());
        }
        value = value.next();
        while (!value.present() && !open.empty()) {
            open.back().is(JsonType::object) ? json.end_object() : json.end_array();
            value = open.back().next();
            open.pop_back();
        }
    }
    return out;
}

bool is_json_to_simdjson(std::string_view text, bool& decided) {
    simdjson::dom::parser parser;
    const auto error = parser.parse(text.data(), text.size()).error();
    // It refuses lone surrogates and numbers beyond its types, which are JSON all the same; and its
    // depth is another.
    decided = error != simdjson::STRING_ERROR && error != simdjson::NUMBER_ERROR &&
              error != simdjson::DEPTH_ERROR;
    return error == simdjson::SUCCESS;
}

void fuzz_json(std::string_view text) {
    static JsonDocument document;
    static JsonDocument again;
    static JsonDocument packing{JsonArrays::packed};
    const Result<JsonValue> root = document.parse(text);
    const Result<JsonValue> packed = packing.parse(text);
    CHECK(static_cast<bool>(root) == static_cast<bool>(packed));
    bool decided = false;
    const bool expected = is_json_to_simdjson(text, decided);
    CHECK(!decided || expected == static_cast<bool>(root) ||
          (!root && root.error().code == ErrorCode::too_large));
    if (!root) {
        CHECK(document.error_offset() <= text.size());
        return;
    }
    const std::string anew = write_anew(root.value());
    const Result<JsonValue> second = again.parse(anew);
    CHECK(static_cast<bool>(second));
    CHECK(write_anew(second.value()) == anew);
    CHECK(write_anew(packed.value()) == anew);
}

const FuzzTargets json_target = {{"json", fuzz_json}};

}  // namespace
}  // namespace driftless
