#include "engine/stats/side_json.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace driftless {

namespace {

constexpr double ns_per_ms = 1e6;

/// An object in the unit of which `unit` ns are one. Null where nothing was measured.
void write_distribution(JsonWriter& json, std::string_view key, const Distribution& d,
                        double unit) {
    const auto value = [&](std::string_view name, double of) {
        json.key(name);
        d.count == 0 ? json.null() : json.number(of / unit);
    };
    json.key(key).begin_object();
    json.key("count").unsigned_integer(d.count);
    value("mean", d.mean);
    value("std", d.std);
    value("min", d.min);
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        value("p" + std::string(percentiles[i].name), d.at[i]);
    }
    value("max", d.max);
    json.end_object();
}

void write_side(JsonWriter& json, std::string_view key, const OneSideFigures& side) {
    json.key(key).begin_object();
    json.key("url");
    side.url.empty() ? json.null() : json.string(side.url);
    json.key("requests").unsigned_integer(side.requests);
    json.key("completed").unsigned_integer(side.completed);
    json.key("failed").unsigned_integer(side.failed);
    write_distribution(json, "ttft_ms", side.ttft, ns_per_ms);
    write_distribution(json, "tpot_ms", side.tpot, ns_per_ms);
    write_distribution(json, "e2el_ms", side.e2e, ns_per_ms);
    write_distribution(json, "drift_ns", side.drift, 1);
    json.key("cache_rows").unsigned_integer(side.cache_rows);
    json.key("expected_cached_tokens");
    side.cache_rows_unforetold == 0 ? json.unsigned_integer(side.expected_cached_tokens)
                                    : json.null();
    json.key("cached_tokens").unsigned_integer(side.cached_tokens);
    json.end_object();
}

}  // namespace

void write_sides(JsonWriter& json, const std::optional<SideFigures>& sides) {
    json.key("sides");
    if (!sides) {
        json.null();
        return;
    }
    json.begin_object();
    write_side(json, "a", sides->a);
    write_side(json, "b", sides->b);
    json.key("pairs").begin_object();
    json.key("unpaired").unsigned_integer(sides->pairs.unpaired);
    write_distribution(json, "ttft_difference_ms", sides->pairs.ttft, ns_per_ms);
    write_distribution(json, "ttft_difference_a_first_ms", sides->pairs.a_first, ns_per_ms);
    write_distribution(json, "ttft_difference_b_first_ms", sides->pairs.b_first, ns_per_ms);
    json.end_object();
    json.end_object();
}

}  // namespace driftless
