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

const ScrapedUrl* ServerTotals::of_several() const {
    const auto found =
        std::find_if(urls.begin(), urls.end(), [](const ScrapedUrl& one) { return one.several; });
    return found == urls.end() ? nullptr : &*found;
}

void ServerSums::add(const ServerLine& line) {
    if (segment_of(line) != pages_.segment()) {
        sum_ = with_segment();
        gauges_.clear();
    }
    const std::optional<std::size_t> place = pages_.add(line);
    for (std::size_t i = gauges_.size(); i < pages_.urls().size(); ++i) {
        gauges_.emplace_back();
        (void)url_of(pages_.urls()[i]);
    }
    if (place) {
        add_scrape(std::get<ServerScrape>(line), *place);
    }
}

const MeasuredSpan* ServerSums::span() const {
    const auto found = std::find_if(spans_.begin(), spans_.end(), [this](const MeasuredSpan& one) {
        return one.segment == pages_.segment();
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

void ServerSums::add_scrape(const ServerScrape& scrape, std::size_t place) {
    ScrapedUrl& url = url_of(scrape.url);
    if (!scrape.error.empty()) {
        ++url.failures;
        url.first_failure = url.first_failure.empty() ? scrape.error : url.first_failure;
        gauges_[place].before = {};
        return;
    }
    const EndpointFigures& figures = pages_.endpoints()[place];
    ++url.scrapes;
    if (url.engine.empty()) {
        url.engine = figures.engine();
    }
    url.several = url.several || figures.is_several();
    url.restarts += figures.restarts() - gauges_[place].restarts;
    gauges_[place].restarts = figures.restarts();
    add_gauges(place, scrape.t_ns);
}

void ServerSums::add_gauges(std::size_t place, std::int64_t t_ns) {
    PageGauges& page = gauges_[place];
    Gauges now;
    for (std::size_t i = 0; i < gauges; ++i) {
        now[i] = pages_.endpoints()[place].value(figure_at(i));
    }
    const MeasuredSpan* const measured = span();
    const std::int64_t from =
        std::max(page.before_ns, measured != nullptr ? measured->begin_ns : 0);
    const std::int64_t to = std::min(t_ns, measured != nullptr ? measured->end_ns : 0);
    const auto step = static_cast<double>(t_ns - page.before_ns);
    for (std::size_t i = 0; i < gauges && measured != nullptr && to > from; ++i) {
        if (!now[i] || !page.before[i]) {
            continue;
        }
        const double first = *page.before[i];
        const double slope = (*now[i] - first) / step;
        const double middle = static_cast<double>(from - page.before_ns) / 2 +
                              static_cast<double>(to - page.before_ns) / 2;
        const double seconds = static_cast<double>(to - from) / ns_per_s;
        page.areas[i].value_seconds += (first + slope * middle) * seconds;
        page.areas[i].seconds += seconds;
    }
    page.before = now;
    page.before_ns = t_ns;
    if (measured != nullptr && t_ns >= measured->begin_ns && t_ns <= measured->end_ns) {
        add_most();
    }
}

/// Of all pages together, at this instant.
void ServerSums::add_most() {
    for (std::size_t i = 0; i < gauges; ++i) {
        std::optional<double> all;
        for (const PageGauges& page : gauges_) {
            if (page.before[i]) {
                all = is_usage(figure_at(i)) ? std::max(all.value_or(0), *page.before[i])
                                             : all.value_or(0) + *page.before[i];
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
        for (const EndpointFigures& figures : pages_.endpoints()) {
            add_to(counters[i], figures.value(figure_at(i)));
        }
        add_to(sum.counters[i], counters[i]);
    }
    for (std::size_t i = 0; i < gauges; ++i) {
        double mean = 0;
        double seconds = 0;
        for (const PageGauges& page : gauges_) {
            const Area& area = page.areas[i];
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
        if (totals.of_several() != nullptr && figure_at(i) != ServerFigure::watts) {
            totals.gauges[i].reset();
        }
    }
    if (totals.of_several() != nullptr) {
        totals.counters.fill(std::nullopt);
    }
    return totals;
}

}  // namespace driftless
