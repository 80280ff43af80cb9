#include "cmd/report/page_readings.hpp"

#include <vector>

#include "cmd/report/page_column.hpp"
#include "cmd/report/record_pass.hpp"
#include "cmd/report/steady_reading.hpp"
#include "cmd/report/why_reading.hpp"

namespace driftless {

namespace {

/// Of all places those that the page has, as its rows.
void write_places(JsonWriter& json, const std::vector<std::uint32_t>& places,
                  std::uint64_t stride) {
    Figure figure;
    figure.name = "row";
    figure.holds_numbers = true;
    std::vector<PageColumn> columns{PageColumn(figure)};
    for (const std::uint32_t place : places) {
        if (place % stride == 0) {
            columns.front().add_integer(static_cast<std::int64_t>(place / stride));
        }
    }
    const std::uint64_t rows = columns.front().rows();
    json.begin_object().key("rows").unsigned_integer(rows).key("of").unsigned_integer(rows);
    json.key("columns");
    write_page_columns(json, columns);
    json.end_object();
}

/// The text of the certificate, and by cause tokens and the rows that it cost most.
void write_loss(JsonWriter& json, const HitLossTokens& loss, std::uint64_t stride) {
    json.begin_object().key("text").string(hit_loss_text(loss)).key("causes").begin_array();
    for (const HitLossCause& cause : hit_loss_causes) {
        std::vector<std::uint32_t> places;
        for (std::uint32_t place = 0; place < loss.rows_lost.size(); ++place) {
            if (loss.rows_lost[place] == &cause) {
                places.push_back(place);
            }
        }
        json.begin_object().key("words").string(cause.words);
        json.key("tokens").unsigned_integer(loss.*cause.tokens);
        json.key("rows").unsigned_integer(places.size()).key("places");
        write_places(json, places, stride);
        json.end_object();
    }
    json.end_array().end_object();
}

}  // namespace

std::string PageReadings::begin(const ReportedRun& run) {
    std::string why;
    const Result<ServerCacheSize> size = read_server_cache_size(run.folder + "/server.jsonl", why);
    if (!size) {
        return why;
    }
    cache_size_ = size.value();
    return set_servers(run, slow_);
}

void PageReadings::add(const Record& record) {
    slow_.add(record);
    steady_.add(record);
    loss_.add(record);
}

std::string PageReadings::end(const ReportedRun& run) {
    why_ = slow_.finding();
    return each_record_at(run, steady_.find(),
                          [this](const Record& record) { steady_.add_again(record); });
}

void PageReadings::write(JsonWriter& json, std::uint64_t stride) const {
    json.key("why");
    write_why(json, why_, {});
    json.key("why_rows").begin_array();
    write_places(json, why_.slow_rows, stride);
    for (const WhyStatement& statement : why_.statements) {
        write_places(json, statement.rows, stride);
    }
    json.end_array().key("steady_state");
    write_steady(json, steady_.reading());
    json.key("hits_lost");
    write_loss(json, loss_.tokens(), stride);
    json.key("cache_size");
    write_server_cache_size(json, cache_size_);
}

}  // namespace driftless
