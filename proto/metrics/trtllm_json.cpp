/// The JSON of TensorRT-LLM's `/metrics`: a list of iterations, oldest first, each served once.
/// https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve/trtllm-serve.html (metrics endpoint)
#include <deque>
#include <string>

#include "proto/metrics/exposition.hpp"

namespace driftless {

namespace {

constexpr std::string_view prefix = "trtllm_iteration_";

}  // namespace

/// The numbers of the latest iteration become gauges:
/// `trtllm_iteration_kvCacheStats_usedNumBlocks`. Sums over iterations are not made: another reader
/// of the page may have got some of them.
Result<void> ExpositionReader::read_json(std::string_view page) {
    const Result<JsonValue> root = document_.parse(page);
    if (!root) {
        return fail(root.error().code, "the page is not complete JSON");
    }
    if (!root.value().is(JsonType::array)) {
        return fail(ErrorCode::bad_json, "the JSON is not a list of iterations (TensorRT-LLM)",
                    page);
    }
    JsonValue latest;
    for (JsonValue one = root.value().first(); one.present(); one = one.next()) {
        latest = one;
    }
    if (!latest.present()) {
        return {};  // idle: no iteration since the page was read last
    }
    if (!latest.is(JsonType::object)) {
        return fail(ErrorCode::bad_json, "an iteration is not an object", latest.raw());
    }
    std::string name(prefix);
    for (JsonValue one = latest.first(); one.present(); one = one.next()) {
        if (Result<void> added = add_json(name, one); !added) {
            return added;
        }
        for (JsonValue inner = one.is(JsonType::object) ? one.first() : JsonValue();
             inner.present(); inner = inner.next()) {
            name.append(one.key()).append("_");
            Result<void> added = add_json(name, inner);
            name.resize(prefix.size());
            if (!added) {
                return added;
            }
        }
    }
    return {};
}

/// A number becomes a sample; all else is nothing. `name` stands before its key.
Result<void> ExpositionReader::add_json(const std::string& name, const JsonValue& value) {
    const std::optional<double> number = value.as_double();
    const std::string whole = name + std::string(value.key());
    if (!number || !is_metric_name(whole) || whole.size() > limits_.line.name_bytes_max) {
        return {};
    }
    if (out_.samples.size() >= limits_.series_max) {
        return fail(ErrorCode::too_large, "the page has too many series");
    }
    const std::string_view kept = names_.emplace_back(whole);
    const Result<std::uint32_t> at = family(kept);
    if (!at) {
        return at.error();
    }
    out_.families[at.value()].type = MetricType::gauge;
    MetricSample& sample = out_.samples.emplace_back();
    sample.name = kept;
    sample.family = at.value();
    sample.value = *number;
    return {};
}

}  // namespace driftless
