// Any bytes are a page of metrics or are not. What is one lies inside the limits, and every sample
// written anew is read as the same; what is none is told in words without control bytes.
#include "proto/metrics/exposition.hpp"

#include "proto/core/text.hpp"
#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

std::string written(const Exposition& page) {
    std::string text;
    for (const MetricSample& sample : page.samples) {
        text.append(sample.name).append("{");
        for (const MetricLabel& label : page.labels_of(sample)) {
            text.append(label.name).append("=\"");
            for (const char c : label.value) {
                text.append(c == '\n' ? "\\n" : c == '"' ? "\\\"" : c == '\\' ? "\\\\" : "");
                text.append(c == '\n' || c == '"' || c == '\\' ? 0 : 1, c);
            }
            text.append("\",");
        }
        text.append("} ").append(std::isnan(sample.value)   ? "NaN"
                                 : std::isinf(sample.value) ? sample.value > 0 ? "+Inf" : "-Inf"
                                                            : std::to_string(sample.value));
        text.append("\n");
    }
    return text;
}

void check_page(const Exposition& page) {
    for (const MetricSample& sample : page.samples) {
        CHECK(sample.family < page.families.size());
        CHECK(is_metric_name(sample.name));
        CHECK(page.labels_of(sample).size() == sample.labels_count);
    }
}

void fuzz_exposition(std::string_view any) {
    const FuzzInput input = read_input(any);
    const std::vector<char> bytes(input.bytes.begin(), input.bytes.end());
    ExpositionReader reader(
        {.bytes_max = 1 << 16, .series_max = 50, .families_max = 50, .line = {}});
    for (const char* type : {"", "application/openmetrics-text; version=1.0.0"}) {
        if (!reader.read({bytes.data(), bytes.size()}, type)) {
            CHECK(!reader.problem().empty());
            CHECK(printable(reader.problem()) == reader.problem());
            CHECK(reader.page().samples.empty());
            continue;
        }
        check_page(reader.page());
        const std::string text = written(reader.page());
        if (text.size() <= 1 << 16) {
            ExpositionReader again;
            CHECK(again.read(text, "text/plain"));
            CHECK(again.page().samples.size() == reader.page().samples.size());
            CHECK(written(again.page()) == text);
        }
    }
}

const FuzzTargets exposition_target = {{"exposition", fuzz_exposition}};

}  // namespace
}  // namespace driftless
