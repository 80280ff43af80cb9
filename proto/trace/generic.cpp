#include <algorithm>

#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"
#include "proto/trace/csv.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {
namespace {

enum Key : std::size_t { key_time, key_in, key_out, key_hashes, key_session, key_turn, key_delay };

}  // namespace

static constexpr std::string_view keys[] = {"time",    "in",   "out",  "hashes",
                                            "session", "turn", "delay"};

namespace {

/// The fields of a row by key; their names are those of the columns.
struct Fields {
    Field of[std::size(keys)];
};

}  // namespace

static bool has(const JsonValue& row, std::string_view column) {
    return row.find_path(column).present();
}
static bool has(const CsvRow& row, std::string_view column) {
    return row.find(column).has_value();
}
static Field field_of_path(const JsonValue& row, std::string_view column) {
    return field_of(row.find_path(column), column);
}
static Field field_of_path(const CsvRow& row, std::string_view column) {
    return field_of(row, column);
}

/// The fields of a row; notes which mapped columns it has.
template <typename Source>
static Fields fields_of(RowContext& context, const Source& row) {
    Fields fields;
    for (std::size_t i = 0; i < std::size(keys); ++i) {
        std::string_view column = keys[i];
        for (MappedColumn& one : context.rules.map) {
            if (one.key == keys[i]) {
                column = one.column;
                one.seen = one.seen || has(row, column);
            }
        }
        fields.of[i] = field_of_path(row, column);
    }
    return fields;
}

static bool is_mapped(const RowContext& context, Key key) {
    return std::ranges::count(context.rules.map, keys[key], &MappedColumn::key) > 0;
}

/// Fixes the unit by the first time that is seen. False where it shows none.
static bool choose_unit(RowContext& context, const Field& time) {
    if (context.rules.unit != TimeUnit::automatic || !time.present) {
        return true;
    }
    const auto unit = guess_time_unit(time.text);
    if (!unit) {
        const bool is_number = scan_decimal(time.text).has_value();
        context.refuse(time.name, time.text,
                       is_number ? "does not show its unit" : "is neither a number nor a date",
                       is_number ? "use --time-unit s, ms, us, ns or iso"
                                 : "correct it, or name another column; a date is "
                                   "2026-01-31T23:59:59.5Z");
        context.stop = Stop::trace;
        return false;
    }
    context.rules.unit = *unit;
    return true;
}

static std::string names_of(const JsonValue& row) {
    return joined(map_names(row));
}
static std::string names_of(const CsvRow& row) {
    return joined(row.header().names());
}

/// What a key that every row needs stands for.
static constexpr const char* meaning_of(Key key) {
    return key == key_time ? "arrival times" : key == key_in ? "input tokens" : "output tokens";
}

/// Of a key that the map lacks, and that no column has as its name.
template <typename Source>
static void refuse_unmapped(RowContext& context, Key key, const Source& source) {
    context.refuse("--map", "", std::string("does not say which column has the ") + meaning_of(key),
                   "add " + std::string(keys[key]) + "=COLUMN to it; columns are " +
                       names_of(source) +
                       (key == key_time  ? "; if none has times, use replay --rate R"
                        : key == key_out ? "; if none has them, use --default-output N"
                                         : ""));
}

/// What replaces a column is given by a flag.
static bool can_lack(const RowRules& rules, Key key) {
    return (key == key_time && rules.times_free) ||
           (key == key_out && (rules.default_output > 0 || rules.output_free));
}

/// The three columns that every row needs must be there from the first row on: a map that names
/// them wrongly is one error, not one a row.
template <typename Source>
static bool check_needed(RowContext& context, const Fields& fields, const Source& source) {
    for (const Key key : {key_time, key_in, key_out}) {
        const std::string_view column = fields.of[key].name;
        const bool is_free = column == keys[key] && can_lack(context.rules, key);
        if (context.draft.rows() == 0 && !is_free && !has(source, column)) {
            if (is_mapped(context, key)) {
                context.refuse("--map", std::string(keys[key]) + "=" + std::string(column),
                               "does not name a column", "columns are " + names_of(source));
            } else {
                refuse_unmapped(context, key, source);
            }
            context.stop = Stop::trace;
        }
    }
    return context.stop == Stop::none;
}

static void add_id(const RowContext& context, std::string_view text) {
    const auto number = whole_number(text);
    if (number) {
        context.draft.ids().add(*number);
        return;
    }
    Xxh64 hash;
    hash.add(text);
    context.draft.ids().add(hash.value());
}

static bool read_json_ids(const RowContext& context, const Field& field) {
    if (!field.json.is(JsonType::array)) {
        return context.refuse(field.name, field.raw, "is not a list of block ids",
                              "correct the row");
    }
    if (const auto ids = field.json.integers()) {
        context.draft.ids().add(*ids);
        return true;
    }
    for (JsonValue id = field.json.first(); id.present(); id = id.next()) {
        const bool text = id.is(JsonType::string);
        if (!text && !(id.is(JsonType::number) && whole_number(id.raw()))) {
            return context.refuse(field.name, id.raw(), "is not a block id",
                                  "use strings, or whole numbers from 0 to 2^64 - 1");
        }
        add_id(context, text ? *id.as_string() : id.raw());
    }
    return true;
}

static void read_cell_ids(const RowContext& context, std::string_view cell) {
    constexpr std::string_view between = " ,;[]\t\"'";
    while (!cell.empty()) {
        const std::size_t begin = std::min(cell.find_first_not_of(between), cell.size());
        cell.remove_prefix(begin);
        const std::size_t end = std::min(cell.find_first_of(between), cell.size());
        if (end > 0) {
            add_id(context, cell.substr(0, end));
        }
        cell.remove_prefix(end);
    }
}

static bool read_blocks(const RowContext& context, const Field& ids) {
    context.draft.ids().begin();
    if (!ids.present) {
        context.draft.ids().note_missing(context.line);
        return true;
    }
    if (ids.json.present()) {
        return read_json_ids(context, ids);
    }
    read_cell_ids(context, ids.text);
    return true;
}

/// Session, turn and delay, where they are mapped. False after an error.
static bool read_turn(RowContext& context, const Fields& fields, TraceRow& row) {
    const Field& delay = fields.of[key_delay];
    const TimeUnit unit = context.rules.unit == TimeUnit::iso ? TimeUnit::s : context.rules.unit;
    const auto delay_ns = read_pause(context, delay, unit);
    const Field& turn = fields.of[key_turn];
    const auto number = turn.present ? whole_number(turn.text) : std::optional<std::uint64_t>(0);
    if (!number || *number > row_tokens_max) {
        return context.refuse(turn.name, turn.text, "is not a turn number", "use numbers from 1");
    }
    if (!delay_ns) {
        return false;
    }
    if (row.session != no_session) {
        context.draft.sessions().next_turn(row, *delay_ns);
    }
    if (turn.present) {
        context.draft.number_turn(row, static_cast<std::uint32_t>(*number));
    }
    return true;
}

template <typename Source>
static void read_row(RowContext& context, const Source& source) {
    const Fields fields = fields_of(context, source);
    if (!check_needed(context, fields, source) || !choose_unit(context, fields.of[key_time])) {
        return;
    }
    TraceRow row;
    const bool lengths = read_lengths(context, fields.of[key_in], fields.of[key_out], row);
    const auto time = read_time(context, fields.of[key_time]);
    const bool blocks = read_blocks(context, fields.of[key_hashes]);
    if (!lengths || !time || !blocks) {
        return;
    }
    row.at_ns = *time;
    if (fields.of[key_session].present) {
        row.session = context.draft.sessions().find(fields.of[key_session].text);
    }
    if (read_turn(context, fields, row)) {
        context.emit(row, source);
    }
}

std::span<const std::string_view> map_keys() {
    return keys;
}

constinit const TraceFormat generic_format = {
    .name = "generic",
    .time_unit = TimeUnit::automatic,
    .block_check = BlockCheck::by_trace,
    .read_json = read_row<JsonValue>,
    .read_csv = read_row<CsvRow>,
};

}  // namespace driftless
