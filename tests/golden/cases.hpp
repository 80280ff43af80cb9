/// The golden files as values: bytes that servers send, and what they mean (README.md beside this
/// file). Whoever reads them owns them; nothing is checked here but their form.
#pragma once

#include <string>
#include <vector>

#include "proto/api/api_template.hpp"

namespace driftless {

/// What an answer means, and what becomes of a row that asked for two tokens and got it.
struct GoldenReading {
    std::string lines;    ///< all but that of the outcome
    std::string outcome;  ///< empty where none is named
};

struct GoldenCase {
    std::string name;     ///< file and heading
    std::string dialect;  ///< its name; "template:NAME" is a file in tests/data/templates
    std::string wire;
    bool closes = false;                  ///< the connection ends after the bytes
    std::vector<GoldenReading> readings;  ///< the best first; several where parsers differ
};

/// The cases of every file beside this one, sorted by name. gtest failures where a file is not
/// what README.md says.
std::vector<GoldenCase> all_golden_cases();

/// The template of that name in tests/data/templates; CHECKs that there is one.
ApiTemplate sample_template(const std::string& name);

}  // namespace driftless
