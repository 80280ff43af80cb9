/// The shell and columns of pages, then the page of a run: its readings, and all that its scripts
/// draw from.

#include "cmd/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/reading/prefix_cache.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/reading/why.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/document.hpp"
#include "proto/json/put.hpp"
#include "proto/run/record.hpp"

namespace driftless {

static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();  ///< null, on a page

namespace {

/// What a column of records is likely near to, so that its codes are short: all are sums of others,
/// or stamps of one request.
struct Base {
    std::string_view name;
    std::string_view plus;
    std::string_view minus;
};

}  // namespace

static constexpr std::array bases{
    Base{"request", "row", ""},
    Base{"parent_end_ns", "due_ns", ""},
    Base{"armed_ns", "due_ns", ""},
    Base{"fired_ns", "due_ns", ""},
    Base{"drift_ns", "fired_ns", "due_ns"},
    Base{"wire_ns", "fired_ns", ""},
    Base{"sent_ns", "wire_ns", ""},
    Base{"headers_ns", "sent_ns", ""},
    Base{"first_byte_ns", "headers_ns", ""},
    Base{"first_token_ns", "first_byte_ns", ""},
    Base{"first_content_ns", "first_token_ns", ""},
    Base{"last_token_ns", "first_token_ns", ""},
    Base{"done_ns", "last_token_ns", ""},
    Base{"ended_ns", "done_ns", ""},
    Base{"ttft_ns", "first_token_ns", "fired_ns"},
    Base{"ttft_due_ns", "first_token_ns", "due_ns"},
    Base{"e2e_ns", "last_token_ns", "fired_ns"},
    Base{"prompt_tokens", "input_length", ""},
    Base{"prompt_tokens_off", "prompt_tokens", "input_length"},
    Base{"expected_cached_server", "expected_cached_tokens", ""},
    Base{"cached_tokens", "expected_cached_tokens", ""},
    Base{"output_tokens", "output_length", ""},
    Base{"wire_delay_bound_ns", "wire_ns", "fired_ns"},
    Base{"end_ns", "begin_ns", ""},
    Base{"to_ns", "from_ns", ""},
};

static const PageColumn* named(const std::vector<PageColumn>& columns, std::string_view name,
                               std::size_t before) {
    const auto all = std::span(columns).first(before);
    const auto found = std::ranges::find(all, name, &PageColumn::name);
    return found == all.end() ? nullptr : &*found;
}

static std::uint64_t or_zero(const PageColumn* column, std::size_t row) {
    return column == nullptr ? 0 : static_cast<std::uint64_t>(column->integer(row).value_or(0));
}

/// 0, -1, 1, -2, .. as 1, 2, 3, 4, ..: 0 is left for null.
static std::uint64_t code_of(std::uint64_t difference) {
    const auto signed_one = static_cast<std::int64_t>(difference);
    return ((difference << 1) ^ static_cast<std::uint64_t>(signed_one >> 63)) + 1;
}

static void append_varint(std::vector<std::uint8_t>& out, std::uint64_t code) {
    for (; code >= 128; code >>= 7) {
        out.push_back(static_cast<std::uint8_t>((code & 127) | 128));
    }
    out.push_back(static_cast<std::uint8_t>(code));
}

static std::size_t bytes_of(const std::vector<std::uint64_t>& codes) {
    std::size_t bytes = 0;
    for (const std::uint64_t code : codes) {
        bytes += (static_cast<std::size_t>(std::bit_width(code | 1)) + 6) / 7;
    }
    return bytes;
}

static std::vector<std::uint64_t> stepped(const std::vector<OptionalNs>& values) {
    std::vector<std::uint64_t> codes;
    std::uint64_t before = 0;
    for (const OptionalNs& value : values) {
        codes.push_back(value ? code_of(static_cast<std::uint64_t>(*value) - before) : 0);
        before = value ? static_cast<std::uint64_t>(*value) : before;
    }
    return codes;
}

static void write_codes(JsonWriter& json, const std::vector<std::uint64_t>& codes) {
    const bool equal = std::ranges::adjacent_find(codes, std::not_equal_to<>()) == codes.end();
    if (equal) {
        json.key("all").unsigned_integer(codes.empty() ? 0 : codes.front());
        return;
    }
    std::vector<std::uint8_t> bytes;
    for (const std::uint64_t code : codes) {
        append_varint(bytes, code);
    }
    json.key("codes").string(base64_of(bytes));
}

void PageColumn::add(const TableCell& cell) {
    if (!figure_.holds_numbers) {
        cell.kind == CellKind::empty ? integers_.push_back({}) : add_text(cell.text);
    } else if (cell.kind == CellKind::number) {
        add_number(cell.text);
    } else if (has_fractions_) {
        fractions_.push_back(unknown);
    } else {
        integers_.push_back({});
    }
}

PageColumn::PageColumn(std::string name, std::string_view unit) {
    figure_.name = std::move(name);
    figure_.unit = unit;
    figure_.holds_numbers = true;
}

void PageColumn::add_rounded(double value) {
    add(std::isfinite(value) ? TableCell{CellKind::number, fmt::format("{:.0f}", value)}
                             : TableCell{});
}

void PageColumn::add_integer(std::int64_t value) {
    has_fractions_ ? fractions_.push_back(static_cast<double>(value)) : integers_.push_back(value);
}

void PageColumn::add_number(const std::string& digits) {
    if (!has_fractions_) {
        if (const auto whole = read_number<std::int64_t>(digits)) {
            integers_.push_back(*whole);
            return;
        }
        has_fractions_ = true;  // the first fraction: the column is one of doubles
        for (const OptionalNs& one : integers_) {
            fractions_.push_back(one ? static_cast<double>(*one) : unknown);
        }
        integers_.clear();
    }
    fractions_.push_back(read_number<double>(digits).value_or(unknown));
}

void PageColumn::add_text(const std::string& text) {
    const auto next = static_cast<std::int64_t>(texts_.size()) + 1;
    const auto [at, is_new] = numbers_.try_emplace(text, next);
    if (is_new) {
        texts_.push_back(text);
    }
    integers_.push_back(at->second);
}

void PageColumn::write(JsonWriter& json, const PageColumn* plus, const PageColumn* minus) const {
    json.begin_object().key("name").string(figure_.name).key("unit").string(figure_.unit);
    if (!texts_.empty()) {
        write_texts(json, "texts", texts_);
    }
    has_fractions_ ? write_fractions(json) : write_integers(json, plus, minus);
    json.end_object();
}

void PageColumn::write_integers(JsonWriter& json, const PageColumn* plus,
                                const PageColumn* minus) const {
    const auto fits = [this](const PageColumn* column) {
        return column == nullptr || (!column->has_fractions_ && column->texts_.empty() &&
                                     column->integers_.size() == integers_.size());
    };
    const std::vector<std::uint64_t> steps = stepped(integers_);
    const bool has_base = (plus != nullptr || minus != nullptr) && fits(plus) && fits(minus);
    std::vector<std::uint64_t> codes;
    for (std::size_t row = 0; has_base && row < integers_.size(); ++row) {
        const std::uint64_t base = or_zero(plus, row) - or_zero(minus, row);
        codes.push_back(integers_[row] ? code_of(static_cast<std::uint64_t>(*integers_[row]) - base)
                                       : 0);
    }
    if (!has_base || bytes_of(steps) < bytes_of(codes)) {
        json.key("step").boolean(true);
        write_codes(json, steps);
        return;
    }
    if (plus != nullptr) {
        json.key("plus").string(plus->name());
    }
    if (minus != nullptr) {
        json.key("minus").string(minus->name());
    }
    write_codes(json, codes);
}

void PageColumn::write_fractions(JsonWriter& json) const {
    std::vector<std::uint8_t> bytes;
    for (const double value : fractions_) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (int shift = 0; shift < 64; shift += 8) {
            bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
        }
    }
    json.key("doubles").string(base64_of(bytes));
}

void put_value(JsonWriter& json, const std::vector<PageColumn>& columns) {
    json.begin_array();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto base = std::ranges::find(bases, columns[i].name(), &Base::name);
        const bool known = base != bases.end();
        columns[i].write(json, known ? named(columns, base->plus, i) : nullptr,
                         known ? named(columns, base->minus, i) : nullptr);
    }
    json.end_array();
}

/// In the order in which they need each other.
static constexpr std::array<std::string_view, 6> libraries{
    "d3-array", "d3-collection", "d3-color", "d3-format", "d3-interpolate", "d3-scale"};
static constexpr std::array<std::string_view, 10> shared_scripts{
    "columns", "statistics", "words", "parts", "draw",
    "pointer", "fingers",    "keys",  "chart", "whole"};

static std::string_view part(std::string_view name) {
    const auto all = shipped_page();
    const auto found = std::ranges::find(all, name, &ShippedPagePart::name);
    CHECK(found != all.end());
    return found->text;
}

static void append_parts(std::string& code, std::span<const std::string_view> names) {
    for (const std::string_view name : names) {
        code.append(part(name)).append("\n");
    }
}

namespace {

/// What is in the page for a word between two @ in its shell.
struct Filling {
    std::string_view mark;
    std::string_view text;
};

}  // namespace

/// In one pass, so that no mark is looked for in what was filled in.
static std::string filled(std::string_view shell, std::span<const Filling> fillings) {
    std::string page;
    for (std::size_t from = 0;;) {
        const std::size_t at = shell.find('@', from);
        page += shell.substr(from, at - from);
        if (at == shell.npos) {
            return page;
        }
        const std::size_t end = shell.find('@', at + 1);
        CHECK(end != shell.npos);
        const std::string_view mark = shell.substr(at + 1, end - at - 1);
        const auto found = std::ranges::find(fillings, mark, &Filling::mark);
        CHECK(found != fillings.end());
        page += found->text;
        from = end + 1;
    }
}

std::string page_text(std::string_view title, std::span<const std::string_view> scripts,
                      std::string_view data) {
    std::string escaped_title;
    append_xml_text(escaped_title, title);
    std::string code;
    append_parts(code, libraries);
    append_parts(code, shared_scripts);
    append_parts(code, scripts);
    // Only what has this word runs. Nobody can know it who does not know every stamp of the run.
    Digest digest;
    digest.add(data);
    const std::string nonce =
        fmt::format("{:016x}{:016x}", digest.value(), mix64(digest.value() ^ data.size()));
    std::string json;
    append_script_json(json, data);
    const std::array fillings{
        Filling{"nonce", nonce},         Filling{"title", escaped_title},
        Filling{"style", part("style")}, Filling{"licence", part("licence")},
        Filling{"code", code},           Filling{"data", json},
    };
    return filled(part("shell"), fillings);
}

// The page of a run: its readings, and all that its scripts draw from.

namespace {

/// A table of the run's files, or as many of its rows as the page has.
struct PageTable {
    std::vector<PageColumn> columns;
    std::uint64_t kept = 0;
    std::uint64_t read = 0;

    const PageColumn* find(std::string_view name) const {
        return named(columns, name, columns.size());
    }
};

}  // namespace

static void put_value(JsonWriter& json, const PageTable& table) {
    put_object(json, {{"rows", table.kept}, {"of", table.read}, {"columns", table.columns}});
}

/// Of all places those that the page has, as its rows.
static PageTable places_on_page(const std::vector<std::uint32_t>& places, std::uint64_t stride) {
    PageTable table{{{"row", ""}}};
    for (const std::uint32_t place : places) {
        if (place % stride == 0) {
            table.columns.front().add_integer(static_cast<std::int64_t>(place / stride));
        }
    }
    table.kept = table.read = table.columns.front().rows();
    return table;
}

/// The text of the certificate, and by cause tokens and the rows that it cost most.
static void write_loss(JsonWriter& json, const HitLossTokens& loss, std::uint64_t stride) {
    const auto put_cause = [&loss, stride](JsonWriter& to, const HitLossCause& cause) {
        std::vector<std::uint32_t> places;
        for (std::uint32_t place = 0; place < loss.rows_lost.size(); ++place) {
            if (loss.rows_lost[place] == &cause) {
                places.push_back(place);
            }
        }
        put_object(to, {{"words", cause.words},
                        {"tokens", loss.*cause.tokens},
                        {"rows", places.size()},
                        {"places", places_on_page(places, stride)}});
    };
    put_object(json,
               {{"text", hit_loss_text(loss)}, {"causes", put_each(hit_loss_causes, put_cause)}});
}

namespace {

// What the page of a run says beside its tables and charts, by the readings of `report`: why its
// slow rows were slow, its steady part, and the size of the servers' caches. Reads the run's
// files, prints nothing.

/// Gets every record while the page reads them for its tables.
class PageReadings {
  public:
    /// Before the first record. Returns why a file cannot be read, or the empty text.
    std::string begin(const ReportedRun& run) {
        std::string why;
        const Result<ServerCacheSize> size =
            read_server_cache_size(run.folder + "/server.jsonl", why);
        if (!size) {
            return why;
        }
        cache_size_ = size.value();
        return set_servers(run, slow_);
    }
    /// The record may lack its chunks.
    void add(const Record& record) {
        slow_.add(record);
        steady_.add(record);
        loss_.add(record);
    }
    /// After the last record. Returns as `begin` does.
    std::string end(const ReportedRun& run) {
        why_ = slow_.finding();
        return each_record_at(run, steady_.find(),
                              [this](const Record& record) { steady_.add_again(record); });
    }
    /// Writes the keys `why`, `why_rows`, `steady_state`, `hits_lost` and `cache_size` of the
    /// object that is open. `why_rows` has a table with the column `row` for the slowest rows, then
    /// one for those of each statement; rows count on a page that has every `stride`-th record.
    void write(JsonWriter& json, std::uint64_t stride) const {
        std::vector<PageTable> why_rows{places_on_page(why_.slow_rows, stride)};
        for (const WhyStatement& statement : why_.statements) {
            why_rows.push_back(places_on_page(statement.rows, stride));
        }
        write_why(json.key("why"), why_, {});
        put(json, {{"why_rows", why_rows}, {"steady_state", steady_.reading()}});
        write_loss(json.key("hits_lost"), loss_.tokens(), stride);
        put(json, {{"cache_size", cache_size_}});
    }

  private:
    WhyRecords slow_;
    WhyFinding why_;
    SteadyRun steady_;
    HitLoss loss_;
    ServerCacheSize cache_size_;
};

}  // namespace

/// Of this page alone, in the order in which they need each other.
static constexpr std::array<std::string_view, 14> run_scripts{
    "run",   "record", "load",   "steady",   "latency",  "why",         "forecast",
    "cache", "server", "client", "sessions", "outcomes", "definitions", "page",
};
static constexpr std::array defined_on_page{RunTable::summary, RunTable::requests,
                                            RunTable::periods, RunTable::client, RunTable::events};
static constexpr std::array page_tables{RunTable::requests, RunTable::periods, RunTable::client,
                                        RunTable::events};

/// Columns of a table of this run: only records of a merged run have a shard.
static std::vector<Figure> columns_of(const ReportedRun& run, RunTable which) {
    std::vector<Figure> columns = figures_of(which);
    if (run.figures.shards.empty()) {
        std::erase_if(columns, [](const Figure& one) { return one.name == "shard"; });
    }
    return columns;
}

static PageTable empty_table(const std::vector<Figure>& columns) {
    PageTable table;
    for (const Figure& figure : columns) {
        table.columns.emplace_back(figure);
    }
    return table;
}

static void keep_row(const TableRow& row, PageTable& table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        table.columns[i].add(row[i]);
    }
    ++table.kept;
}

static std::optional<PageTable> read_table(const ReportedRun& run, RunTable which,
                                           std::string& why) {
    const std::string path = run.folder + "/" + name_of(which) + ".jsonl";
    Result<JsonlRows> rows = JsonlRows::open(path, columns_of(run, which), why);
    if (!rows) {
        return {};
    }
    PageTable table = empty_table(rows.value().columns());
    while (const TableRow* const row = rows.value().next()) {
        ++table.read;
        keep_row(*row, table);
    }
    why = rows.value().why();
    return why.empty() ? std::optional(std::move(table)) : std::nullopt;
}

/// `stride`: the table has every so many records. `readings` get all of them.
static std::optional<PageTable> read_requests(const ReportedRun& run, std::uint64_t stride,
                                              PageReadings& readings, std::string& why) {
    const std::vector<Figure> columns = columns_of(run, RunTable::requests);
    PageTable table = empty_table(columns);
    JsonDocument document;
    TableRow row;
    why = each_record(run, [&](const Record& record, std::string_view line) {
        readings.add(record);
        if (table.read++ % stride == 0) {
            const Result<JsonValue> root = document.parse(line);
            CHECK(root);  // it is a record
            read_cells(root.value(), columns, row);
            keep_row(row, table);
        }
    });
    return why.empty() ? std::optional(std::move(table)) : std::nullopt;
}

/// Of the requests of one pass through the trace, all of which are on the page.
static PrefixForecast forecast_of(const ReportedRun& run, const PageTable& requests) {
    if (requests.kept < requests.read) {
        return {.why_not = "Prompt sharing is shown only for shorter runs."};
    }
    struct FiredPrompt {
        std::int64_t fired_ns;
        SentPrompt prompt;
    };
    std::vector<FiredPrompt> fired;
    for (std::size_t row = 0; row < requests.kept; ++row) {
        const auto of = [&](const char* name) { return requests.find(name)->integer(row); };
        if (of("pass").value_or(0) > 0 || of("live_turns")) {
            return {.why_not =
                        "Prompts were not only the trace's: the run replayed it several times, or "
                        "prompts had answers of this run."};
        }
        if (of("side")) {
            return {.why_not = "Each row went to two servers, each with its own cache."};
        }
        if (const OptionalNs at = of("fired_ns")) {
            const auto index = static_cast<std::uint32_t>(of("row").value_or(0));
            fired.push_back({*at, {index, of("input_length"), of("cached_tokens")}});
        }
    }
    std::ranges::stable_sort(fired, {}, &FiredPrompt::fired_ns);
    std::vector<SentPrompt> sent;
    for (const FiredPrompt& one : fired) {
        sent.push_back(one.prompt);
    }
    return forecast_prefixes(run, sent);
}

static bool add_server(JsonWriter& json, const ReportedRun& run, std::string& why) {
    Result<std::vector<PageColumn>> columns = read_server_table(run.folder + "/server.jsonl", why);
    if (columns) {
        const std::uint64_t rows = columns.value().front().rows();
        put_value(json.key("server"), PageTable{std::move(columns).value(), rows, rows});
    }
    return static_cast<bool>(columns);
}

static void put_run(JsonWriter& json, const ReportedRun& run) {
    const RunFacts& facts = run.facts;
    put(json, {{"run",
                JsonPairs{{"program", std::string("driftless ") + version()},
                          {"kernel", facts.host.kernel},
                          {"cpu", facts.host.cpu_model},
                          {"driver", facts.drivers()},
                          {"zero_utc_ms", facts.segments.front().clock.zero_utc_ns / 1'000'000},
                          {"segments", facts.segments.size()},
                          {"ended", facts.ended},
                          {"calibration", facts.calibration.why_not.empty()
                                              ? how_calibrated(facts.calibration)
                                              : "not calibrated: " + facts.calibration.why_not}}}});
}

/// Head and lines of each table, as people see them.
static void put_groups(JsonWriter& json, const std::vector<GroupTable>& tables) {
    std::vector<std::vector<std::vector<std::string>>> groups;
    for (const GroupTable& table : tables) {
        GroupCells cells = group_cells(table);
        cells.lines.insert(cells.lines.begin(), std::move(cells.head));
        groups.push_back(std::move(cells.lines));
    }
    put(json, {{"groups", groups}, {"group_units", group_units}});
}

/// Of so many records the page has every so many-th.
static std::uint64_t stride_of(std::uint64_t records, std::uint64_t records_max) {
    return records > records_max ? (records + records_max - 1) / records_max : 1;
}

/// All that the page shows, as one JSON object; nothing where a file cannot be read.
static std::optional<std::string> data_of(const ReportedRun& run, std::uint64_t records_max,
                                          std::string& why) {
    const std::uint64_t records = run.figures.rows + run.figures.warmup_rows;
    PageReadings readings;
    if (why = readings.begin(run); !why.empty()) {
        return {};
    }
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    put(json, {{"format", 1}});
    put_run(json, run);
    json.key("summary").raw(run.summary);
    std::vector<std::string> said{requests_text(run.figures, run.info)};
    for (const std::string& line : goodput_lines(run.figures)) {
        said.push_back("Goodput " + line);
    }
    put(json, {{"said", said}, {"definitions", definitions_of(defined_on_page)}});
    json.key("tables").begin_object();
    PrefixForecast forecast;
    for (const RunTable which : page_tables) {
        const bool is_requests = which == RunTable::requests;
        const std::optional<PageTable> table =
            is_requests ? read_requests(run, stride_of(records, records_max), readings, why)
                        : read_table(run, which, why);
        if (!table) {
            return {};
        }
        put_value(json.key(name_of(which)), *table);
        if (is_requests) {
            forecast = forecast_of(run, *table);
        }
    }
    if (!add_server(json, run, why)) {
        return {};
    }
    json.end_object();
    put(json, {{"forecast", forecast}});
    if (why = readings.end(run); !why.empty()) {
        return {};
    }
    readings.write(json, stride_of(records, records_max));
    put_groups(json, run.groups);
    json.end_object();
    return text;
}

Result<std::string> page_of(const ReportedRun& run, std::string& why, std::uint64_t records_max) {
    const std::optional<std::string> data = data_of(run, records_max, why);
    if (!data) {
        return Error{ErrorCode::invalid, 0, "read the run"};
    }
    return page_text(run.info.trace + " " + run.info.date, run_scripts, *data);
}

}  // namespace driftless
