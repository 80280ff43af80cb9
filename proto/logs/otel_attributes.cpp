#include "proto/logs/otel.hpp"

namespace driftless {
namespace {

/// What an OTLP AnyValue holds; other JSON is itself.
JsonValue unwrapped(const JsonValue& value) {
    const JsonValue inside = member(value, {"stringValue", "intValue", "doubleValue", "boolValue",
                                            "arrayValue", "kvlistValue"});
    return inside.present() ? inside : value;
}

}  // namespace

JsonValue Attributes::find(std::string_view name) const {
    if (attributes_.is(JsonType::object)) {
        return unwrapped(member(attributes_, {name}));
    }
    for (JsonValue one = attributes_.first(); one.present(); one = one.next()) {
        if (one.find("key").as_string() == name) {
            return unwrapped(one.find("value"));
        }
    }
    return {};
}

JsonValue Attributes::find(Names names) const {
    for (const std::string_view name : names) {
        const JsonValue value = find(name);
        if (value.present()) {
            return value;
        }
    }
    return {};
}

}  // namespace driftless
