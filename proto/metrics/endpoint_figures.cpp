#include "proto/metrics/endpoint_figures.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::string_view total = "_total";
static constexpr std::string_view start_name = "process_start_time_seconds";
/// Starts so close are one: a host whose clock is corrected gives another second.
static constexpr double same_start_s = 2;
/// More falls than restarts of one server in a run: several servers.
static constexpr std::uint32_t falls_of_several = 3;

/// The series that tells how often a histogram's sum was added to; empty: it is not one.
static std::string count_of(std::string_view metric) {
    constexpr std::string_view sum = "_sum";
    return metric.ends_with(sum)
               ? std::string(metric.substr(0, metric.size() - sum.size())) + "_count"
               : "";
}

/// `name` is that metric, with or without `_total`.
static bool is_metric(std::string_view name, std::string_view metric) {
    return same_metric_name(name, metric) ||
           (name.ends_with(total) &&
            same_metric_name(name.substr(0, name.size() - total.size()), metric));
}

static bool has(const std::vector<std::string>& texts, std::string_view text) {
    return std::ranges::count(texts, text) > 0;
}

static bool begins_with_one(const Exposition& page, const std::vector<std::string>& prefixes) {
    return std::ranges::any_of(page.samples, [&](const MetricSample& sample) {
        return std::ranges::any_of(prefixes, [&](const std::string& prefix) {
            return has_metric_prefix(sample.name, prefix);
        });
    });
}

/// The labels as one text, without those in `without`.
static std::string text_of(std::span<const MetricLabel> labels,
                           const std::vector<std::string>& without) {
    std::vector<std::string> parts;
    for (const MetricLabel& one : labels) {
        if (!has(without, one.name)) {
            parts.push_back(std::string(one.name) + '\0' + std::string(one.value) + '\0');
        }
    }
    std::ranges::sort(parts);
    return joined(parts, "");
}

/// An engine is recognised once: pages of an idle server may lack what tells it.
void EndpointFigures::choose(const Exposition& page) {
    for (const EngineMapping& one : mappings_) {
        if (begins_with_one(page, one.prefixes)) {
            mapping_ = &one;
            found_.resize(one.sources.size());
            return;
        }
    }
}

bool EndpointFigures::uses(std::string_view name) const {
    const auto is_of = [name](const FigureSource& source) {
        return (!source.over.empty() && is_metric(name, source.over)) ||
               std::ranges::any_of(source.metrics, [name](const std::string& metric) {
                   return is_metric(name, metric) || is_metric(name, count_of(metric));
               });
    };
    return same_metric_name(name, start_name) ||
           (mapping_ != nullptr && std::ranges::any_of(mapping_->sources, is_of));
}

void EndpointFigures::add(const Exposition& page) {
    ++pages_;
    if (mapping_ == nullptr) {
        choose(page);
    }
    if (mapping_ == nullptr) {
        return;
    }
    for (const MetricSample& sample : page.samples) {
        if (same_metric_name(sample.name, start_name)) {
            note_start(page, sample);
        }
        for (std::size_t i = 0; i < found_.size(); ++i) {
            const FigureSource& source = mapping_->sources[i];
            for (const std::string& metric : source.metrics) {
                if (is_metric(sample.name, metric)) {
                    take(page, source, sample, found_[i].series);
                } else if (is_metric(sample.name, count_of(metric))) {
                    take(page, source, sample, found_[i].counts);
                }
            }
            if (!source.over.empty() && is_metric(sample.name, source.over)) {
                take(page, source, sample, found_[i].over);
            }
        }
    }
    restarts_ += some_counter_fell() ? 1 : 0;
}

/// A process that was started earlier than the one before is another server's.
void EndpointFigures::note_start(const Exposition& page, const MetricSample& sample) {
    if (!std::isfinite(sample.value)) {
        return;
    }
    const auto [place, is_new] =
        started_.try_emplace(text_of(page.labels_of(sample), {}), sample.value);
    several_ = several_ || sample.value < place->second - same_start_s;
    place->second = sample.value;
}

/// Of the same series twice on one page the higher one holds: with several API servers vLLM gives
/// that of one process, and of all.
void EndpointFigures::take(const Exposition& page, const FigureSource& source,
                           const MetricSample& sample, std::map<std::string, Series>& series) {
    const MetricType type = page.families[sample.family].type;
    const bool counts = is_counter(source.figure);
    const auto labels = page.labels_of(sample);
    const bool is_number = std::isfinite(sample.value) && !(counts && sample.value < 0);
    if ((!is_number && !counts) ||
        (counts && type != MetricType::unknown && !page.is_counter(sample)) ||
        (!source.label.empty() &&
         !has(source.values, label_value(labels, source.label).value_or("")))) {
        return;
    }
    std::string name(sample.name);
    std::replace(name.begin(), name.end(), ':', '_');
    const auto [place, is_new] = series.try_emplace(name + '\0' + text_of(labels, {}));
    Series& one = place->second;
    if (is_new) {
        one.group = name + '\0' + text_of(labels, mapping_->ranks);
    } else if (one.page == pages_ && sample.value <= one.latest) {
        return;
    }
    if (!is_number) {
        one.unknown = true;
        return;
    }
    if (one.page != pages_) {
        one.before = is_new ? std::nullopt : std::optional(one.latest);
        one.grown_before = one.grown;
        one.page = pages_;
    }
    const double since = one.before.value_or(pages_ > 1 ? 0 : sample.value);
    one.fell = counts && sample.value < since;
    one.grown = one.grown_before + (one.fell ? sample.value : sample.value - since);
    one.latest = sample.value;
}

bool EndpointFigures::some_counter_fell() {
    bool any = false;
    for (Found& found : found_) {
        for (auto* const all : {&found.series, &found.over}) {
            for (auto& [text, one] : *all) {
                if (one.page != pages_) {
                    continue;
                }
                any = any || one.fell;
                if (one.fell) {
                    several_ = several_ || ++one.falls >= falls_of_several ||
                               (one.has_risen && one.latest >= one.floor);
                    one.peak = *one.before;
                    one.floor = one.low = one.latest;
                    one.has_risen = false;
                } else if (one.falls > 0 && !one.has_risen) {
                    const double step = one.latest - one.before.value_or(one.latest);
                    one.has_risen = one.latest >= one.peak && 2 * step > one.peak - one.low;
                    one.low = one.latest;
                }
            }
        }
    }
    return any;
}

double EndpointFigures::sum(const std::map<std::string, Series>& series,
                            ServerFigure figure) const {
    std::map<std::string_view, double> groups;
    for (const auto& [text, one] : series) {
        if (is_counter(figure) || one.page == pages_) {
            const double value = is_counter(figure) ? one.grown : one.latest;
            const auto [place, is_new] = groups.try_emplace(one.group, value);
            place->second = std::max(place->second, value);
        }
    }
    double sum = 0;
    double most = 0;
    for (const auto& [group, value] : groups) {
        sum += value;
        most = std::max(most, value);
    }
    return is_usage(figure) ? most : sum;
}

std::optional<double> EndpointFigures::value(ServerFigure figure) const {
    const auto is_unknown = [](const auto& one) { return one.second.unknown; };
    const auto was_added_to = [](const auto& one) { return one.second.grown > 0; };
    for (std::size_t i = 0; i < found_.size(); ++i) {
        const FigureSource& source = mapping_->sources[i];
        const Found& found = found_[i];
        const auto is_there = [&](const auto& one) {
            return is_counter(figure) || one.second.page == pages_;
        };
        if (source.figure != figure || std::ranges::none_of(found.series, is_there)) {
            continue;
        }
        if (several_ || std::ranges::any_of(found.series, is_unknown) ||
            std::ranges::any_of(found.over, is_unknown)) {
            return std::nullopt;
        }
        if (!found.counts.empty() && std::ranges::none_of(found.counts, was_added_to)) {
            continue;  // nothing was observed: its sum of 0 says nothing
        }
        const double value = sum(found.series, figure) * source.scale;
        if (source.over.empty()) {
            return value;
        }
        const double over = sum(found.over, figure);
        return over > 0 ? std::optional(value / over) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<double> figure_of_all(std::span<const EndpointFigures> endpoints,
                                    ServerFigure figure) {
    std::optional<double> all;
    for (const EndpointFigures& one : endpoints) {
        if (const std::optional<double> value = one.value(figure); value) {
            const double before = all.value_or(0);
            all = is_usage(figure) ? std::max(before, *value) : before + *value;
        }
    }
    return all;
}

}  // namespace driftless
