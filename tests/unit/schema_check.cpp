// The validator itself, and proof that it can say no.
#include "tests/unit/schema_check.hpp"

#include "tests/unit/json_text.hpp"

namespace driftless {
namespace {

struct Pair {
    JsonValue schema;
    JsonValue value;
    std::string path;
};

bool has_type(JsonValue value, std::string_view name) {
    switch (value.type()) {
        case JsonType::null:
            return name == "null";
        case JsonType::boolean:
            return name == "boolean";
        case JsonType::string:
            return name == "string";
        case JsonType::array:
            return name == "array";
        case JsonType::object:
            return name == "object";
        case JsonType::number:
            break;
    }
    const bool whole = value.raw().find_first_of(".eE") == std::string_view::npos;
    return name == "number" || (name == "integer" && whole);
}

bool type_matches(JsonValue types, JsonValue value) {
    if (types.is(JsonType::string)) {
        return has_type(value, *types.as_string());
    }
    for (JsonValue type = types.first(); type.present(); type = type.next()) {
        if (has_type(value, *type.as_string())) {
            return true;
        }
    }
    return false;
}

bool enum_matches(JsonValue choices, JsonValue value) {
    for (JsonValue choice = choices.first(); choice.present(); choice = choice.next()) {
        if (choice.raw() == value.raw()) {
            return true;
        }
    }
    return false;
}

void check_members(const Pair& pair, std::vector<Pair>& work, std::vector<std::string>& errors) {
    const JsonValue properties = pair.schema.find("properties");
    const JsonValue rest = pair.schema.find("additionalProperties");
    for (JsonValue member = pair.value.first(); member.present(); member = member.next()) {
        const std::string path = pair.path + "/" + std::string(member.key());
        const JsonValue known = properties.find(member.key());
        if (known.present()) {
            work.push_back({known, member, path});
        } else if (rest.is(JsonType::object)) {
            work.push_back({rest, member, path});
        } else if (rest.as_bool() == false) {
            errors.push_back(path + ": not in the schema");
        }
    }
    const JsonValue required = pair.schema.find("required");
    for (JsonValue name = required.first(); name.present(); name = name.next()) {
        if (!pair.value.find(*name.as_string()).present()) {
            errors.push_back(pair.path + "/" + std::string(*name.as_string()) + ": missing");
        }
    }
}

void check_keywords(const Pair& pair, std::vector<std::string>& errors) {
    static constexpr std::string_view known[] = {
        "$schema", "$id",     "title",    "description", "type",
        "enum",    "minimum", "required", "properties",  "additionalProperties",
        "items",   "unit",    "since",
    };
    for (JsonValue word = pair.schema.first(); word.present(); word = word.next()) {
        bool found = false;
        for (const std::string_view name : known) {
            found = found || word.key() == name;
        }
        if (!found) {
            errors.push_back(pair.path + ": unknown keyword " + std::string(word.key()));
        }
    }
}

void check_one(const Pair& pair, std::vector<Pair>& work, std::vector<std::string>& errors) {
    check_keywords(pair, errors);
    const JsonValue types = pair.schema.find("type");
    if (types.present() && !type_matches(types, pair.value)) {
        errors.push_back(pair.path + ": type is not " + std::string(types.raw()));
        return;
    }
    const JsonValue choices = pair.schema.find("enum");
    if (choices.present() && !enum_matches(choices, pair.value)) {
        errors.push_back(pair.path + ": not in the enum: " + std::string(pair.value.raw()));
    }
    const std::optional<double> minimum = pair.schema.find("minimum").as_double();
    const std::optional<double> number = pair.value.as_double();
    if (minimum.has_value() && number.has_value() && *number < *minimum) {
        errors.push_back(pair.path + ": below the minimum");
    }
    if (pair.value.is(JsonType::object)) {
        check_members(pair, work, errors);
    }
    const JsonValue items = pair.schema.find("items");
    if (pair.value.is(JsonType::array) && items.present()) {
        for (JsonValue item = pair.value.first(); item.present(); item = item.next()) {
            work.push_back({items, item, pair.path + "[]"});
        }
    }
}

}  // namespace

std::vector<std::string> schema_errors(JsonValue schema, JsonValue value) {
    std::vector<std::string> errors;
    std::vector<Pair> work = {{schema, value, ""}};
    while (!work.empty()) {
        const Pair pair = work.back();
        work.pop_back();
        check_one(pair, work, errors);
    }
    return errors;
}

std::filesystem::path source_path(std::string_view path) {
    return std::filesystem::path(TEST_DATA).parent_path().parent_path() / path;
}

std::string source_file(std::string_view path) {
    std::ifstream file(source_path(path));
    EXPECT_TRUE(file.good()) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> schema_errors(std::string_view schema_path, const std::string& value,
                                       bool all) {
    const JsonText schema(source_file(schema_path));
    const JsonText json(value);
    std::vector<std::string> errors = schema_errors(schema.root, json.root);
    if (all && keys_of(json.root) != keys_of(schema.root.find("properties"))) {
        errors.emplace_back("its members are not those of the schema, in their order");
    }
    return errors;
}

namespace {

std::size_t errors_of(const char* schema_text, const char* value_text) {
    return schema_errors(JsonText(schema_text).root, JsonText(value_text).root).size();
}

// Each keyword refuses what breaks it and lets pass what does not.
TEST(SchemaCheck, EveryKeywordCanSayNo) {
    EXPECT_EQ(errors_of(R"({"type":"integer"})", "1"), 0u);
    EXPECT_EQ(errors_of(R"({"type":"integer"})", "1.5"), 1u);
    EXPECT_EQ(errors_of(R"({"type":["integer","null"]})", "null"), 0u);
    EXPECT_EQ(errors_of(R"({"type":["integer","null"]})", "\"1\""), 1u);
    EXPECT_EQ(errors_of(R"({"enum":["a",null]})", "null"), 0u);
    EXPECT_EQ(errors_of(R"({"enum":["a",null]})", "\"b\""), 1u);
    EXPECT_EQ(errors_of(R"({"minimum":0})", "0"), 0u);
    EXPECT_EQ(errors_of(R"({"minimum":0})", "-1"), 1u);
    EXPECT_EQ(errors_of(R"({"required":["a","b"]})", R"({"a":1})"), 1u);
    EXPECT_EQ(errors_of(R"({"properties":{"a":{"type":"string"}}})", R"({"a":1,"b":2})"), 1u);
    EXPECT_EQ(errors_of(R"({"additionalProperties":false})", R"({"b":2})"), 1u);
    EXPECT_EQ(errors_of(R"({"additionalProperties":{"type":"null"}})", R"({"b":2})"), 1u);
    EXPECT_EQ(errors_of(R"({"items":{"type":"string"}})", R"(["a",1,2])"), 2u);
    EXPECT_EQ(errors_of(R"({"pattern":"x"})", "1"), 1u);
}

}  // namespace
}  // namespace driftless
