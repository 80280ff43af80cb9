/// Spans of OpenTelemetry, as files hold them: OTLP JSON (attributes as a list of typed values)
/// and exporters' own JSON (attributes as an object).
///
/// `Attributes` looks names up in either; values keep the document's lifetime.
#pragma once

#include <string_view>

#include "proto/json/document.hpp"
#include "proto/logs/fields.hpp"

namespace driftless {

class Attributes {
  public:
    explicit Attributes(const JsonValue& attributes) : attributes_(attributes) {}

    /// The value of that name, absent where there is none: a string, a number (OTLP writes 64-bit
    /// integers as strings), a boolean, or the list of an `arrayValue`.
    JsonValue find(std::string_view name) const;
    /// The first of several names.
    JsonValue find(Names names) const;

  private:
    JsonValue attributes_;
};

}  // namespace driftless
