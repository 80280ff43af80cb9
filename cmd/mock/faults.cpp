#include "cmd/mock/faults.hpp"

#include <charconv>

#include "proto/core/hash.hpp"
#include "proto/http/request.hpp"

namespace driftless::mock {

// Each use of a seed draws from its own sequence.
static constexpr std::uint64_t fault_stream = 0x6661756C74000000ULL;
static constexpr std::uint64_t refuse_stream = 0x7265667573650000ULL;

Fault fault_of_request(const std::vector<FaultRule>& rules, std::optional<std::uint64_t> row,
                       std::uint64_t seed) {
    for (const FaultRule& rule : rules) {
        if (rule.row && rule.row == row) {
            return rule.fault;
        }
    }
    double draw = Random(mix64(seed ^ fault_stream)).uniform();
    for (const FaultRule& rule : rules) {
        if (rule.row || rule.fault == Fault::refuse) {
            continue;
        }
        if (draw < rule.probability) {
            return rule.fault;
        }
        draw -= rule.probability;
    }
    return Fault::none;
}

bool refuses_connection(const std::vector<FaultRule>& rules, std::uint64_t seed) {
    double probability = 0;
    for (const FaultRule& rule : rules) {
        if (!rule.row && rule.fault == Fault::refuse) {
            probability += rule.probability;
        }
    }
    return probability > 0 && Random(mix64(seed ^ refuse_stream)).uniform() < probability;
}

std::optional<std::uint64_t> row_of_request_id(std::string_view id) {
    const std::size_t dash = id.rfind('-');
    const bool is_uuid = id.size() == request_id_bytes && dash == 23;
    if (dash == std::string_view::npos ||
        (is_uuid && id[19] == static_cast<char>(RequestName::Kind::probe))) {
        return std::nullopt;
    }
    std::uint64_t row = 0;
    const char* const end = id.data() + id.size();
    const auto [stop, failure] = std::from_chars(id.data() + dash + 1, end, row);
    const bool is_number = failure == std::errc() && stop != id.data() + dash + 1;
    return is_number && stop == end ? std::optional(row) : std::nullopt;
}

}  // namespace driftless::mock
