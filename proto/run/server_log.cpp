#include "proto/run/server_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "proto/core/text.hpp"
#include "proto/json/members.hpp"

namespace driftless {

static constexpr double infinity = std::numeric_limits<double>::infinity();

static void write_value(JsonWriter& json, std::optional<double> value) {
    if (!value) {
        json.null();
    } else if (std::isnan(*value)) {
        json.string("NaN");
    } else if (std::isinf(*value)) {
        json.string(*value > 0 ? "+Inf" : "-Inf");
    } else {
        json.number(*value);
    }
}

/// False where it is none.
static bool read_value(JsonValue from, double& out) {
    out = from.as_double().value_or(0);
    return from.as_double().has_value();
}
static bool read_value(JsonValue from, std::optional<double>& out) {
    const std::string_view text = from.as_string().value_or("");
    out = from.as_double();
    if (text == "NaN") {
        out = std::numeric_limits<double>::quiet_NaN();
    } else if (text == "+Inf" || text == "-Inf") {
        out = text == "+Inf" ? infinity : -infinity;
    }
    return out.has_value() || from.is(JsonType::null);
}

namespace {

/// The numbers of a list of series, one after the other; runs are lists of their first and last.
class SeriesNumbers {
  public:
    explicit SeriesNumbers(JsonValue list) : item_(list.first()) {}

    bool at_end() const { return !item_.present(); }
    /// Nothing where the item is neither a number nor a run.
    std::optional<std::uint32_t> next() {
        const bool is_run = item_.is(JsonType::array) && item_.size() == 2;
        const JsonValue first = is_run ? item_.first() : item_;
        const std::optional<std::uint64_t> from = first.as_u64();
        const std::optional<std::uint64_t> to = is_run ? first.next().as_u64() : from;
        if (!from || !to || *to > std::numeric_limits<std::uint32_t>::max() ||
            *from + within_ > *to) {
            return std::nullopt;
        }
        const auto number = static_cast<std::uint32_t>(*from + within_);
        ++within_;
        if (number == *to) {
            item_ = item_.next();
            within_ = 0;
        }
        return number;
    }

  private:
    JsonValue item_;
    std::uint32_t within_ = 0;  ///< a run
};

}  // namespace

/// So many numbers are shorter as a list of the first and the last.
static constexpr std::size_t run_min = 3;

/// Writes the numbers of what has a `series`.
template <typename Entries>
static void write_numbers(JsonWriter& json, const char* key, const Entries& entries) {
    json.key(key).begin_array();
    for (std::size_t from = 0, to = 0; from < entries.size(); from = to) {
        const std::uint64_t first = entries[from].series;
        to = from + 1;
        while (to < entries.size() && entries[to].series == first + (to - from)) {
            ++to;
        }
        if (to - from >= run_min) {
            json.begin_array();
            json.unsigned_integer(first).unsigned_integer(entries[to - 1].series);
            json.end_array();
            continue;
        }
        for (std::size_t at = from; at < to; ++at) {
            json.unsigned_integer(entries[at].series);
        }
    }
    json.end_array();
}

namespace {

/// Lists of numbers of series and of what each has: `series` and `values`, `grown` and `grown_by`.
struct SeriesReader : JsonMembers {
    using JsonMembers::JsonMembers;

    template <typename Entry, typename Value>
    void series(const char* series, const char* values, int since, std::vector<Entry>& out,
                Value Entry::* value) {
        const JsonValue places = get(series, later);
        const JsonValue list = get(values, later);
        if (!places.present() && since >= later) {
            return;
        }
        SeriesNumbers numbers(places);
        bool holds = list.is(JsonType::array);
        for (JsonValue one = list.first(); holds && one.present(); one = one.next()) {
            const std::optional<std::uint32_t> number =
                numbers.at_end() ? std::nullopt : numbers.next();
            holds = number && read_value(one, out.emplace_back(Entry{*number, {}}).*value);
        }
        fail_unless(holds && numbers.at_end(), ErrorCode::invalid, values);
    }
};

struct SeriesWriter : MemberWriter {
    using MemberWriter::MemberWriter;

    template <typename Entry, typename Value>
    void series(const char* series, const char* values, int, const std::vector<Entry>& entries,
                Value Entry::* value) {
        write_numbers(json_, series, entries);
        json_.key(values).begin_array();
        for (const Entry& one : entries) {
            write_value(json_, one.*value);
        }
        json_.end_array();
    }
};

}  // namespace

void append_server_series(std::string& out, const ServerSeries& series) {
    append_json_line(out, series);
}

void append_server_scrape(std::string& out, const ServerScrape& scrape) {
    append_json_line<SeriesWriter>(out, scrape);
}

Result<ServerLine> read_server_line(JsonDocument& document, std::string_view line) {
    const Result<JsonValue> root = document.parse(line);
    const auto as_line = [](auto read) {
        return read ? Result<ServerLine>(std::move(read).value())
                    : Result<ServerLine>(read.error());
    };
    constexpr const char* doing = "read a line of server.jsonl";
    return root && root.value().find("name").present()
               ? as_line(read_members<ServerSeries>(root, doing))
               : as_line(read_members<ServerScrape, SeriesReader>(root, doing));
}

/// A double has 17 digits at most; a growth of more than these saves nothing.
static constexpr int digits_max = 15;

static double rounded(double value, int digits) {
    char text[32];
    const std::to_chars_result end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits);
    double read = value;
    (void)std::from_chars(text, end.ptr, read);
    return read;
}

/// A server adds decimals or small parts to a large sum: `to - from` has digits that are of the
/// rounding alone, and the sum does not need them to come out the same.
std::optional<double> growth(double from, double to) {
    if (!std::isfinite(from) || !std::isfinite(to) || to <= from) {
        return std::nullopt;
    }
    const double exact = to - from;
    if (std::trunc(exact) == exact && from + exact == to) {
        return exact;
    }
    for (int digits = 1; digits <= digits_max; ++digits) {
        if (const double shorter = rounded(exact, digits); from + shorter == to) {
            return shorter;
        }
    }
    return std::nullopt;
}

static bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

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
    line.type = page.families[sample.family].type;
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
        sample.family = series.line.counter ? 0 : series.line.type == MetricType::unknown ? 2 : 1;
        sample.value = series.value;
        sample.labels_begin = static_cast<std::uint32_t>(page_.labels.size());
        sample.labels_count = static_cast<std::uint32_t>(series.line.labels.size());
        for (const auto& [name, value] : series.line.labels) {
            page_.labels.push_back({name, value});
        }
    }
}

static constexpr double ns_per_s = 1e9;
static constexpr std::size_t figures_count = server_figures;

static void add_to(std::optional<double>& sum, std::optional<double> value) {
    if (value) {
        sum = sum.value_or(0) + *value;
    }
}

static ServerFigure figure_at(std::size_t i) {
    return static_cast<ServerFigure>(i);
}

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
