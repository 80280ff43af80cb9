#include "engine/scrape/series_log.hpp"

#include <cmath>
#include <utility>

#include "engine/scrape/growth.hpp"
#include "proto/record/masked.hpp"

namespace driftless {

namespace {

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::size_t SeriesLog::add_url(std::string url) {
    sources_.emplace_back().url = std::move(url);
    return sources_.size() - 1;
}

/// A series that a page has again is another one: the first, the second, .. stay apart.
SeriesLog::Kept* SeriesLog::find(Source& source, const Exposition& page, const MetricSample& sample,
                                 std::string& out) {
    key_.assign(sample.name);
    for (const MetricLabel& label : page.labels_of(sample)) {
        key_.append(1, '\0').append(label.name).append(1, '\0').append(label.value);
    }
    for (std::size_t copy = 0; copy < copies_max; ++copy) {
        const auto found = source.index.find(key_);
        if (found == source.index.end()) {
            break;
        }
        if (Kept& kept = source.kept[found->second]; kept.page != source.pages) {
            return &kept;
        }
        if (copy + 1 == copies_max) {
            return nullptr;
        }
        key_.append(2, '\0');
    }
    if (next_ >= series_max_) {
        return nullptr;
    }
    ServerSeries line;
    line.segment = segment_;
    line.series = next_++;
    line.url = source.url;
    line.name = sample.name;
    line.type = name_of(page.families[sample.family].type);
    line.counter = page.is_counter(sample);
    for (const MetricLabel& label : page.labels_of(sample)) {
        line.labels.emplace_back(label.name, masked(label.value, secrets_, label.value.size()));
    }
    append_server_series(out, line);
    source.index.emplace(key_, source.kept.size());
    Kept& kept = source.kept.emplace_back();
    kept.series = line.series;
    kept.counter = line.counter;
    kept.present = false;
    return &kept;
}

void SeriesLog::add_value(const Kept& kept, double value) {
    if (kept.present && same(kept.value, value)) {
        return;
    }
    const std::optional<double> by =
        kept.present && kept.counter ? growth(kept.value, value) : std::nullopt;
    if (by) {
        scrape_.grown.push_back({kept.series, *by});
    } else {
        scrape_.changed.push_back({kept.series, value});
    }
}

void SeriesLog::add(std::size_t url, std::int64_t t_ns, std::int64_t took_ns,
                    const Exposition& page, std::string& out) {
    Source& source = sources_[url];
    ++source.pages;
    scrape_.segment = segment_;
    scrape_.t_ns = t_ns;
    scrape_.took_ns = took_ns;
    scrape_.url = source.url;
    scrape_.left_out = 0;
    scrape_.changed.clear();
    scrape_.grown.clear();
    for (const MetricSample& sample : page.samples) {
        Kept* const kept = find(source, page, sample, out);
        if (kept == nullptr) {
            ++scrape_.left_out;
            continue;
        }
        add_value(*kept, sample.value);
        kept->present = true;
        kept->value = sample.value;
        kept->page = source.pages;
    }
    for (Kept& kept : source.kept) {
        if (kept.present && kept.page != source.pages) {
            kept.present = false;
            scrape_.changed.push_back({kept.series, std::nullopt});
        }
    }
    append_server_scrape(out, scrape_);
}

void SeriesLog::add_failure(std::size_t url, std::int64_t t_ns, std::int64_t took_ns,
                            std::string error, std::string& out) const {
    ServerScrape line;
    line.segment = segment_;
    line.t_ns = t_ns;
    line.took_ns = took_ns;
    line.url = sources_[url].url;
    line.error = std::move(error);
    append_server_scrape(out, line);
}

}  // namespace driftless
