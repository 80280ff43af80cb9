#include "cmd/cells/cell_summary.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace driftless {

namespace {

constexpr double ns_per_ms = 1e6;

std::string name_of_statistic(const Threshold& which) {
    switch (which.statistic) {
        case Statistic::mean:
            return "mean";
        case Statistic::min:
            return "min";
        case Statistic::max:
            return "max";
        case Statistic::percentile:
            break;
    }
    return std::string("p") + percentiles[which.percentile].name;
}

/// Keys of times end in "_ms", but for what the client measures of itself: an object in ns.
std::optional<double> read_time(JsonValue root, const Threshold& which) {
    const std::string statistic = name_of_statistic(which);
    if (which.figure->name == "drift") {
        return root.find("drift_ns").find(statistic).as_double();
    }
    const std::string_view name = which.figure->name == "e2e" ? "e2el" : which.figure->name;
    const std::optional<double> ms =
        root.find(statistic + "_" + std::string(name) + "_ms").as_double();
    return ms ? std::optional(*ms * ns_per_ms) : std::nullopt;
}

std::optional<double> share(std::optional<double> part, std::optional<double> whole) {
    return part && whole && *whole > 0 ? std::optional(*part / *whole) : std::nullopt;
}

/// Of the requests that were sent, those that failed.
std::optional<double> read_errors(JsonValue root) {
    const double not_sent = root.find("outcomes").find("not_sent").as_double().value_or(0);
    const std::optional<double> completed = root.find("completed").as_double();
    const std::optional<double> failed = root.find("failed").as_double();
    if (!completed || !failed) {
        return std::nullopt;
    }
    const double answered = *completed + root.find("short_output").as_double().value_or(0) +
                            root.find("long_output").as_double().value_or(0);
    const double failed_sent = *failed - std::min(*failed, not_sent);
    return share(failed_sent, answered + failed_sent);
}

}  // namespace

Result<CellSummary> CellSummary::read(const std::string& text) {
    CellSummary summary;
    summary.document_ = std::make_unique<JsonDocument>();
    const Result<JsonValue> root = summary.document_->parse(text);
    if (!root) {
        return root.error();
    }
    if (!root.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read summary.json"};
    }
    summary.root_ = root.value();
    return summary;
}

std::optional<double> CellSummary::figure(const Threshold& which) const {
    CHECK(which.figure != nullptr);
    const std::string_view name = which.figure->name;
    if (which.figure->unit == FigureUnit::time) {
        return read_time(root_, which);
    }
    if (name == "errors") {
        return read_errors(root_);
    }
    if (name == "good") {
        if (root_.find("request_goodput").is(JsonType::null)) {
            return std::nullopt;  // some rows could not be judged, or no limits are set
        }
        const JsonValue goodput = root_.find("goodput");
        const JsonValue decided = goodput.find("decided");  // absent before schema 19
        return share(goodput.find("good").as_double(), decided.present()
                                                           ? decided.as_double()
                                                           : root_.find("num_prompts").as_double());
    }
    if (name == "tainted") {
        return share(root_.find("tainted_rows").as_double(), root_.find("num_prompts").as_double());
    }
    if (name == "overtaken") {
        return share(root_.find("overtaken_turns").as_double(),
                     root_.find("follow_up_turns").as_double());
    }
    return root_.find(name).as_double();
}

std::optional<bool> CellSummary::warm() const {
    const JsonValue warm = root_.find("warm_cache");
    return warm.is(JsonType::object) ? warm.find("warm").as_bool() : warm.as_bool();
}

std::string CellSummary::verdict() const {
    return std::string(root_.find("verdict").find("name").as_string().value_or(""));
}

std::string CellSummary::verdict_reasons() const {
    std::string reasons;
    const JsonValue all = root_.find("verdict").find("reasons");
    for (JsonValue one = all.first(); one.present(); one = one.next()) {
        reasons += (reasons.empty() ? "" : "; ") + std::string(one.as_string().value_or(""));
    }
    return reasons;
}

}  // namespace driftless
