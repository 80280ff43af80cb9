#include "engine/scrape/scraped_pages.hpp"

#include <algorithm>
#include <variant>

namespace driftless {

std::uint32_t segment_of(const ServerLine& line) {
    const auto* const series = std::get_if<ServerSeries>(&line);
    return series != nullptr ? series->segment : std::get<ServerScrape>(line).segment;
}

std::optional<std::size_t> ScrapedPages::add(const ServerLine& line) {
    begin(segment_of(line));
    if (const auto* const series = std::get_if<ServerSeries>(&line); series != nullptr) {
        add_series(*series);
        return std::nullopt;
    }
    const auto& scrape = std::get<ServerScrape>(line);
    const std::size_t place = place_of(scrape.url);
    if (!scrape.error.empty()) {
        return place;
    }
    take_values(scrape, place);
    fill_page(place);
    const bool was_known = !endpoints_[place].engine().empty();
    endpoints_[place].add(page_);
    if (!was_known && !endpoints_[place].engine().empty()) {
        drop_unused(place);
    }
    return place;
}

void ScrapedPages::begin(std::uint32_t segment) {
    if (segment != segment_) {
        segment_ = segment;
        series_.clear();
        urls_.clear();
        endpoints_.clear();
        used_.clear();
    }
}

std::size_t ScrapedPages::place_of(const std::string& url) {
    const auto found = std::find(urls_.begin(), urls_.end(), url);
    if (found != urls_.end()) {
        return static_cast<std::size_t>(found - urls_.begin());
    }
    urls_.push_back(url);
    endpoints_.emplace_back(mappings_);
    used_.emplace_back();
    return urls_.size() - 1;
}

/// Numbers rise from 0 in each segment; another one is not of a file that we wrote.
void ScrapedPages::add_series(const ServerSeries& line) {
    if (line.series != series_.size()) {
        return;
    }
    const std::size_t place = place_of(line.url);
    if (is_used(place, line.name)) {
        used_[place].push_back(line.series);
    }
    series_.push_back({line, place, 0, false});
}

/// Most series are in no table: without them an hour is read ten times as fast. Until the engine
/// is known, every one may be.
bool ScrapedPages::is_used(std::size_t place, std::string_view name) const {
    const EndpointFigures& figures = endpoints_[place];
    return figures.engine().empty() || figures.uses(name);
}

void ScrapedPages::drop_unused(std::size_t place) {
    std::erase_if(used_[place], [&](std::uint32_t one) {
        return !endpoints_[place].uses(series_[one].line.name);
    });
}

void ScrapedPages::take_values(const ServerScrape& scrape, std::size_t place) {
    const auto is_of_place = [&](std::uint32_t number) {
        return number < series_.size() && series_[number].place == place;
    };
    for (const ServerValue& one : scrape.changed) {
        if (is_of_place(one.series)) {
            series_[one.series].present = one.value.has_value();
            series_[one.series].value = one.value.value_or(0);
        }
    }
    for (const ServerGrowth& one : scrape.grown) {
        if (is_of_place(one.series)) {
            series_[one.series].value += one.by;
        }
    }
}

/// What the page says now, as the server said it.
void ScrapedPages::fill_page(std::size_t place) {
    page_.clear();
    page_.families.resize(3);
    page_.families[0].type = MetricType::counter;
    page_.families[1].type = MetricType::gauge;
    page_.families[2].type = MetricType::unknown;
    for (const std::uint32_t at : used_[place]) {
        const Series& series = series_[at];
        if (!series.present) {
            continue;
        }
        MetricSample& sample = page_.samples.emplace_back();
        sample.name = series.line.name;
        sample.family = series.line.counter ? 0 : series.line.type == "unknown" ? 2 : 1;
        sample.value = series.value;
        sample.labels_begin = static_cast<std::uint32_t>(page_.labels.size());
        sample.labels_count = static_cast<std::uint32_t>(series.line.labels.size());
        for (const auto& [name, value] : series.line.labels) {
            page_.labels.push_back({name, value});
        }
    }
}

}  // namespace driftless
