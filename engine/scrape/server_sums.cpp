#include "engine/scrape/server_sums.hpp"

#include <algorithm>
#include <utility>

namespace driftless {

namespace {

constexpr double ns_per_s = 1e9;
constexpr std::size_t figures_count = server_figures;

void add_to(std::optional<double>& sum, std::optional<double> value) {
    if (value) {
        sum = sum.value_or(0) + *value;
    }
}

ServerFigure figure_at(std::size_t i) {
    return static_cast<ServerFigure>(i);
}

}  // namespace

std::optional<double> ServerTotals::share(ServerFigure part, ServerFigure of) const {
    const std::optional<double> whole = counter(of);
    const std::optional<double> some = counter(part);
    return whole && some && *whole > 0 ? std::optional(*some / *whole) : std::nullopt;
}

void ServerSums::add(const ServerLine& line) {
    const auto* const series = std::get_if<ServerSeries>(&line);
    const auto* const scrape = std::get_if<ServerScrape>(&line);
    const std::uint32_t segment = series != nullptr ? series->segment : scrape->segment;
    if (segment != segment_) {
        begin(segment);
    }
    if (series != nullptr) {
        add_series(*series);
    } else {
        add_scrape(*scrape);
    }
}

void ServerSums::begin(std::uint32_t segment) {
    sum_ = with_segment();
    segment_ = segment;
    series_.clear();
    sources_.clear();
}

const MeasuredSpan* ServerSums::span() const {
    const auto found = std::find_if(spans_.begin(), spans_.end(), [this](const MeasuredSpan& one) {
        return one.segment == segment_;
    });
    return found == spans_.end() ? nullptr : &*found;
}

ScrapedUrl& ServerSums::url_of(const std::string& url) {
    const auto found = std::find_if(urls_.begin(), urls_.end(),
                                    [&url](const ScrapedUrl& one) { return one.url == url; });
    if (found != urls_.end()) {
        return *found;
    }
    urls_.emplace_back().url = url;
    return urls_.back();
}

std::size_t ServerSums::source_of(const std::string& url) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i].url == url) {
            return i;
        }
    }
    (void)url_of(url);
    sources_.push_back({url, EndpointFigures(mappings_), {}, false, 0, {}, {}});
    return sources_.size() - 1;
}

/// Numbers rise from 0 in each segment; another one is not of a file that we wrote.
void ServerSums::add_series(const ServerSeries& line) {
    if (line.series != series_.size()) {
        return;
    }
    const std::size_t at = source_of(line.url);
    Source& source = sources_[at];
    if (!source.is_chosen || source.figures.uses(line.name)) {
        source.series.push_back(line.series);
    }
    series_.push_back({line, at, 0, false});
}

/// What the page says now, as the server said it.
void ServerSums::fill_page(Source& source, std::size_t number) {
    page_.clear();
    page_.families.resize(3);
    page_.families[0].type = MetricType::counter;
    page_.families[1].type = MetricType::gauge;
    page_.families[2].type = MetricType::unknown;
    for (const std::uint32_t at : source.series) {
        const Series& series = series_[at];
        if (!series.present || series.source != number) {
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

void ServerSums::add_scrape(const ServerScrape& scrape) {
    const std::size_t at = source_of(scrape.url);
    Source& source = sources_[at];
    ScrapedUrl& url = url_of(scrape.url);
    if (!scrape.error.empty()) {
        ++url.failures;
        url.first_failure = url.first_failure.empty() ? scrape.error : url.first_failure;
        source.before = {};
        return;
    }
    for (const ServerValue& one : scrape.changed) {
        if (one.series < series_.size() && series_[one.series].source == at) {
            series_[one.series].present = one.value.has_value();
            series_[one.series].value = one.value.value_or(0);
        }
    }
    fill_page(source, at);
    const std::uint64_t restarts = source.figures.restarts();
    source.figures.add(page_);
    ++url.scrapes;
    url.restarts += source.figures.restarts() - restarts;
    if (!source.is_chosen && !source.figures.engine().empty()) {
        source.is_chosen = true;
        url.engine = source.figures.engine();
        std::erase_if(source.series, [&](std::uint32_t one) {
            return !source.figures.uses(series_[one].line.name);
        });
    }
    add_gauges(source, scrape.t_ns);
}

void ServerSums::add_gauges(Source& source, std::int64_t t_ns) {
    Gauges now;
    for (std::size_t i = 0; i < gauges; ++i) {
        now[i] = source.figures.value(figure_at(i));
    }
    const MeasuredSpan* const measured = span();
    const std::int64_t from =
        std::max(source.before_ns, measured != nullptr ? measured->begin_ns : 0);
    const std::int64_t to = std::min(t_ns, measured != nullptr ? measured->end_ns : 0);
    const auto step = static_cast<double>(t_ns - source.before_ns);
    for (std::size_t i = 0; i < gauges && measured != nullptr && to > from; ++i) {
        if (!now[i] || !source.before[i]) {
            continue;
        }
        const double first = *source.before[i];
        const double slope = (*now[i] - first) / step;
        const double middle = static_cast<double>(from - source.before_ns) / 2 +
                              static_cast<double>(to - source.before_ns) / 2;
        const double seconds = static_cast<double>(to - from) / ns_per_s;
        source.areas[i].value_seconds += (first + slope * middle) * seconds;
        source.areas[i].seconds += seconds;
    }
    source.before = now;
    source.before_ns = t_ns;
    if (measured != nullptr && t_ns >= measured->begin_ns && t_ns <= measured->end_ns) {
        add_most();
    }
}

/// Of all pages together, at this instant.
void ServerSums::add_most() {
    for (std::size_t i = 0; i < gauges; ++i) {
        std::optional<double> all;
        for (const Source& source : sources_) {
            if (source.before[i]) {
                all = is_usage(figure_at(i)) ? std::max(all.value_or(0), *source.before[i])
                                             : all.value_or(0) + *source.before[i];
            }
        }
        if (all) {
            sum_.most[i] = std::max(sum_.most[i].value_or(*all), *all);
        }
    }
}

/// Means of several pages are added up, of usages the highest holds; they weigh as long as they
/// were measured.
ServerSums::Sum ServerSums::with_segment() const {
    Sum sum = sum_;
    std::array<std::optional<double>, figures_count> counters;
    for (std::size_t i = gauges; i < figures_count; ++i) {
        for (const Source& source : sources_) {
            add_to(counters[i], source.figures.value(figure_at(i)));
        }
        add_to(sum.counters[i], counters[i]);
    }
    for (std::size_t i = 0; i < gauges; ++i) {
        double mean = 0;
        double seconds = 0;
        for (const Source& source : sources_) {
            const Area& area = source.areas[i];
            if (area.seconds <= 0) {
                continue;
            }
            const double own = area.value_seconds / area.seconds;
            mean = is_usage(figure_at(i)) ? std::max(mean, own) : mean + own;
            seconds = std::max(seconds, area.seconds);
            if (figure_at(i) == ServerFigure::watts) {
                add_to(sum.joules, area.value_seconds);
            }
        }
        sum.areas[i].value_seconds += mean * seconds;
        sum.areas[i].seconds += seconds;
    }
    return sum;
}

ServerTotals ServerSums::totals() const {
    const Sum sum = with_segment();
    ServerTotals totals;
    totals.urls = urls_;
    for (const ScrapedUrl& url : urls_) {
        totals.scrapes += url.scrapes;
        totals.failures += url.failures;
    }
    totals.counters = sum.counters;
    totals.joules = sum.joules;
    for (std::size_t i = 0; i < gauges; ++i) {
        if (sum.areas[i].seconds > 0) {
            const double mean = sum.areas[i].value_seconds / sum.areas[i].seconds;
            totals.gauges[i] = GaugeTotals{mean, sum.most[i].value_or(mean)};
        }
    }
    return totals;
}

}  // namespace driftless
