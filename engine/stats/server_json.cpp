#include "engine/stats/server_json.hpp"

#include <string_view>

namespace driftless {

namespace {

constexpr double ms_per_s = 1e3;

void write_number(JsonWriter& json, std::string_view key, std::optional<double> value) {
    json.key(key);
    value ? json.number(*value) : json.null();
}

std::optional<double> per(std::optional<double> whole, std::uint64_t parts) {
    return whole && parts > 0 ? std::optional(*whole / static_cast<double>(parts)) : std::nullopt;
}

void write_urls(JsonWriter& json, const ServerTotals& totals) {
    json.key("urls").begin_array();
    for (const ScrapedUrl& url : totals.urls) {
        json.begin_object();
        json.key("url").string(url.url);
        json.key("engine");
        url.engine.empty() ? json.null() : json.string(url.engine);
        json.key("scrapes").unsigned_integer(url.scrapes);
        json.key("failures").unsigned_integer(url.failures);
        json.key("first_failure");
        url.first_failure.empty() ? json.null() : json.string(url.first_failure);
        json.key("restarts").unsigned_integer(url.restarts);
        json.key("several_servers").boolean(url.several);
        json.end_object();
    }
    json.end_array();
}

void write_gauge(JsonWriter& json, std::string_view key, const std::optional<GaugeTotals>& gauge) {
    json.key(key);
    if (!gauge) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("mean").number(gauge->mean);
    json.key("max").number(gauge->max);
    json.end_object();
}

void write_energy(JsonWriter& json, const ServerTotals& totals, const EnergyDivisors& divisors) {
    const std::optional<double> joules = totals.joules;
    json.key("energy").begin_object();
    write_gauge(json, "watts", totals.gauge(ServerFigure::watts));
    write_number(json, "joules", joules);
    write_number(json, "joules_per_request", per(joules, divisors.requests));
    write_number(json, "joules_per_input_token", per(joules, divisors.input_tokens));
    write_number(json, "joules_per_output_token", per(joules, divisors.output_tokens));
    write_number(json, "joules_per_token",
                 divisors.input_tokens == 0 || divisors.output_tokens == 0
                     ? std::nullopt
                     : per(joules, divisors.input_tokens + divisors.output_tokens));
    write_number(json, "joules_per_tree", per(joules, divisors.finished_trees));
    json.end_object();
}

void write_bounds(JsonWriter& json, ServerFigure figure, const std::optional<CountBounds>& bounds) {
    json.key(name_of(figure));
    if (!bounds) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("least").number(bounds->least);
    json.key("most").number(bounds->most);
    json.end_object();
}

/// What the counters of the same names should have grown by.
void write_explained(JsonWriter& json, const SentTokens& sent) {
    json.key("explained").begin_object();
    write_bounds(json, ServerFigure::requests, sent.requests());
    write_bounds(json, ServerFigure::prompt_tokens, sent.prompt());
    write_bounds(json, ServerFigure::generated_tokens, sent.generated());
    json.end_object();
}

std::optional<double> mean_ms(const ServerTotals& totals, ServerFigure seconds) {
    const std::optional<double> mean = totals.share(seconds, ServerFigure::requests);
    return mean ? std::optional(*mean * ms_per_s) : std::nullopt;
}

}  // namespace

void write_server(JsonWriter& json, const std::optional<ServerTotals>& totals,
                  const EnergyDivisors& divisors, const SentTokens& sent) {
    json.key("server");
    if (!totals) {
        json.null();
        return;
    }
    json.begin_object();
    write_urls(json, *totals);
    json.key("scrapes").unsigned_integer(totals->scrapes);
    json.key("failures").unsigned_integer(totals->failures);
    for (std::size_t i = 0; i < server_figures; ++i) {
        const auto figure = static_cast<ServerFigure>(i);
        if (figure == ServerFigure::queue_seconds || figure == ServerFigure::prefill_seconds ||
            figure == ServerFigure::watts) {
            continue;
        }
        if (is_counter(figure)) {
            write_number(json, name_of(figure), totals->counter(figure));
        } else {
            write_gauge(json, name_of(figure), totals->gauge(figure));
        }
    }
    write_number(json, "prefix_hit_rate",
                 totals->share(ServerFigure::prefix_hit_tokens, ServerFigure::prefix_query_tokens));
    write_number(json, "acceptance_rate",
                 totals->share(ServerFigure::accepted_tokens, ServerFigure::draft_tokens));
    write_number(json, "mean_queue_ms", mean_ms(*totals, ServerFigure::queue_seconds));
    write_number(json, "mean_prefill_ms", mean_ms(*totals, ServerFigure::prefill_seconds));
    write_explained(json, sent);
    write_energy(json, *totals, divisors);
    json.end_object();
}

}  // namespace driftless
