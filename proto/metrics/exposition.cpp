#include "proto/metrics/exposition.hpp"

#include <algorithm>

namespace driftless {

namespace {

constexpr char plain(char c) {
    return c == ':' ? '_' : c;
}

}  // namespace

const char* name_of(MetricType type) {
    switch (type) {
        case MetricType::unknown:
            return "unknown";
        case MetricType::counter:
            return "counter";
        case MetricType::gauge:
            return "gauge";
        case MetricType::histogram:
            return "histogram";
        case MetricType::summary:
            return "summary";
        case MetricType::info:
            return "info";
        case MetricType::state_set:
            return "stateset";
        case MetricType::gauge_histogram:
            return "gaugehistogram";
    }
    return "";
}

bool Exposition::is_counter(const MetricSample& sample) const {
    const MetricFamily& family = families[sample.family];
    const bool is_part = sample.name.size() > family.name.size();
    switch (family.type) {
        case MetricType::counter:
            return !is_part || !sample.name.ends_with("_created");
        case MetricType::histogram:
        case MetricType::summary:
            return is_part && !sample.name.ends_with("_created");
        default:
            return false;
    }
}

void Exposition::clear() {
    families.clear();
    samples.clear();
    labels.clear();
    exemplars.clear();
}

bool same_metric_name(std::string_view a, std::string_view b) {
    return a.size() == b.size() && has_metric_prefix(a, b);
}

bool has_metric_prefix(std::string_view name, std::string_view prefix) {
    return name.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), name.begin(),
                      [](char a, char b) { return plain(a) == plain(b); });
}

/// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
std::size_t MetricNameHash::operator()(std::string_view name) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(plain(c))) * 0x100000001b3;
    }
    return hash;
}

std::optional<std::string_view> label_value(std::span<const MetricLabel> labels,
                                            std::string_view name) {
    const auto found = std::find_if(labels.begin(), labels.end(),
                                    [name](const MetricLabel& one) { return one.name == name; });
    return found == labels.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace driftless
