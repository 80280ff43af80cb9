/// A list of strings in run.json. Included by the files that write parts of it.
#pragma once

#include <string>
#include <vector>

#include "proto/json/write.hpp"

namespace driftless {

inline void strings(JsonWriter& json, const char* key, const std::vector<std::string>& values) {
    json.key(key).begin_array();
    for (const std::string& value : values) {
        json.string(value);
    }
    json.end_array();
}

}  // namespace driftless
