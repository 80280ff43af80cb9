/// Test cases as CI jobs read them: JUnit's XML. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

enum class CaseEnd : std::uint8_t { passed, failed, skipped };

struct TestCase {
    std::string group;
    std::string name;
    CaseEnd end = CaseEnd::passed;
    std::string message;  ///< of a failure, or why it was skipped
    std::string details;  ///< what was found, whatever became of it
};

/// One suite of these cases. `date`: "20261121-034512", UTC; empty: not known.
std::string junit_text(std::string_view suite, const std::vector<TestCase>& cases,
                       std::int64_t duration_ns, const std::string& date);

}  // namespace driftless
