#include "proto/trace/whole_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace/aibrix.hpp"
#include "proto/trace/blocks.hpp"
#include "proto/trace/generic.hpp"
#include "proto/trace/id_counts.hpp"
#include "proto/trace/session_pieces.hpp"

namespace driftless {
namespace {

/// Where several rows contradict the block size and all of them fit another, one line says so
/// first.
void suggest_block_size(const RowContext& whole) {
    const std::string sizes = whole.draft.ids().counts().sizes_of_all();
    if (whole.draft.ids().counts().wrong() > 1 && !sizes.empty() && !whole.rules.lenient) {
        whole.errors.add_first({std::string(whole.file), 0, "hash_ids", "",
                                "contradict blocks of " + std::to_string(whole.rules.block_size) +
                                    " tokens in " +
                                    std::to_string(whole.draft.ids().counts().wrong()) + " of " +
                                    std::to_string(whole.draft.ids().counts().rows()) + " rows",
                                "use --block-size " + sizes});
    }
}

/// A kept column that no row has is a typing error of the user's.
void check_kept(const RowContext& whole, std::string_view model_column) {
    for (const std::string& name : whole.columns.missing()) {
        RowContext none = whole;
        none.file = "";
        const bool model = name == model_column;
        none.refuse(model ? "--map" : "--keep", model ? "model=" + name : name,
                    model ? "names a column that no row has" : "is not a column of any row",
                    whole.columns.unknown_names().empty()
                        ? "columns are " + joined(whole.columns.names())
                        : "other columns are " + joined(whole.columns.unknown_names()));
    }
}

/// So is a mapped one.
void check_map(const RowContext& whole) {
    for (const MappedColumn& one : whole.rules.map) {
        if (!one.seen) {
            RowContext none = whole;
            none.file = "";
            none.refuse("--map", one.key + "=" + one.column, "names a column that no row has",
                        whole.columns.unknown_names().empty()
                            ? "correct it, or remove it"
                            : "other columns are " + joined(whole.columns.unknown_names()));
        }
    }
}

/// Rows without ids are refused where others have some; a trace without any has no blocks.
void check_blocks(RowContext whole, const TraceFormat& format) {
    Trace& trace = whole.draft.trace();
    if (format.block_check == BlockCheck::by_trace && whole.errors.empty()) {
        settle_blocks(whole);
    }
    if (trace.ids.empty()) {
        whole.rules.block_size = 0;
        return;
    }
    const std::uint64_t missing = whole.draft.ids().rows_missing();
    if (whole.rules.lenient) {
        trace.rows_uncovered += missing;
    } else if (missing > 0) {
        whole.line = whole.draft.ids().first_line_missing();
        whole.refuse("hash_ids", "",
                     "is missing here" +
                         (missing == 1 ? std::string()
                                       : " and in " + std::to_string(missing - 1) + " more rows"),
                     "other rows have it; use --lenient to fill these prompts with private tokens");
    }
}

/// `--lenient` repairs some rows; where the block size itself is wrong it would throw the sharing
/// away that the trace records.
void check_surplus(const RowContext& whole) {
    constexpr std::uint64_t dropped_share = 100;  // one in so many may be dropped
    const IdCounts& counts = whole.draft.ids().counts();
    const std::uint64_t dropped = whole.draft.trace().surplus_ids;
    const IdCounts::Best best = counts.best();
    if (!whole.rules.lenient || counts.ids() < dropped_share ||
        dropped * dropped_share <= counts.ids() || best.size == whole.rules.block_size) {
        return;
    }
    whole.errors.add_first(
        {std::string(whole.file), 0, "hash_ids", "",
         "would lose " + std::to_string(dropped) + " of " + std::to_string(counts.ids()) +
             " ids at blocks of " + std::to_string(whole.rules.block_size) + " tokens",
         "--block-size " + std::to_string(best.size) + " fits " + std::to_string(best.rows) +
             " of " + std::to_string(counts.rows()) + " rows, and best of all sizes"});
}

constexpr std::int64_t ms = 1'000'000;

/// Times of seconds that are read as milliseconds come a thousand times too close to each other:
/// all of them within 100 s, at 250 instants a second or more. So may a short and heavy trace.
void note_dense_times(const RowContext& whole, std::int64_t first_ns) {
    constexpr std::int64_t span_max_ns = 100'000 * ms;
    constexpr std::int64_t gap_max_ns = 4 * ms;
    constexpr std::size_t instants_min = 3;
    const Trace& trace = whole.draft.trace();
    std::vector<std::int64_t> instants;
    if (whole.rules.times_free) {
        return;  // others decide when rows are sent
    }
    for (const TraceRow& row : trace.rows) {
        if (row.at_ns - first_ns > span_max_ns || trace.rows_laid_out > 0) {
            return;
        }
        instants.push_back(row.at_ns);
    }
    std::sort(instants.begin(), instants.end());
    instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
    const auto gaps = static_cast<std::int64_t>(instants.size()) - 1;
    if (instants.size() >= instants_min && instants.back() - first_ns <= gaps * gap_max_ns) {
        constexpr const char* dense =
            "rows come at 250 instants a second or more, as their times are read as milliseconds: "
            "if they are seconds, use --time-unit s";
        whole.draft.remark(dense, dense, trace.rows.size());
    }
}

/// Times that nobody gave a unit, and that are dates between 2010 and 2040 as seconds since 1970:
/// as the milliseconds of the format they would be two to four weeks of 1970.
void check_seconds(const RowContext& whole) {
    constexpr std::int64_t year_2010 = 1'262'304'000;
    constexpr std::int64_t year_2040 = 2'208'988'800;
    const Trace& trace = whole.draft.trace();
    if (whole.rules.unit_stated || whole.rules.time_unit != TimeUnit::ms || trace.rows.empty()) {
        return;
    }
    const auto first =
        std::min_element(trace.rows.begin(), trace.rows.end(),
                         [](const TraceRow& a, const TraceRow& b) { return a.at_ns < b.at_ns; });
    const std::int64_t time = first->at_ns / ms;
    if (time < year_2010 || time >= year_2040) {
        note_dense_times(whole, first->at_ns);
        return;
    }
    RowContext none = whole;
    none.file = "";
    none.refuse("the first time", std::to_string(time),
                "is read as milliseconds, and looks like seconds since 1970",
                "choose --time-unit s or --time-unit ms");
}

/// Times in milliseconds with a fraction, which may as well be seconds. No doubt is left where they
/// would be seconds after the year 5000, or where the rows, as seconds, would come less than once a
/// minute for more than eleven days.
void check_unit(const RowContext& whole) {
    constexpr std::int64_t epoch_in_ms = 100'000'000'000;
    constexpr std::int64_t span_min = 1'000'000;
    constexpr std::int64_t gap_min = 60;
    const Trace& trace = whole.draft.trace();
    const auto& doubt = whole.draft.doubt();
    if (!doubt || trace.rows.empty()) {
        check_seconds(whole);
        return;
    }
    const auto [first, last] =
        std::minmax_element(trace.rows.begin(), trace.rows.end(),
                            [](const TraceRow& a, const TraceRow& b) { return a.at_ns < b.at_ns; });
    const std::int64_t span = (last->at_ns - first->at_ns) / ms;
    const auto rows = static_cast<std::int64_t>(trace.rows.size());
    if (first->at_ns / ms >= epoch_in_ms || (span >= span_min && span / rows >= gap_min)) {
        whole.draft.remark(
            "time with a fraction of a ms: the whole trace shows that times are in ms",
            "times with fractions: the whole trace shows that times are in ms");
        return;
    }
    RowContext here = whole;
    here.line = doubt->line;
    here.file = doubt->file;
    here.refuse(doubt->name, doubt->text,
                "has a fraction: it may be in milliseconds, as in Mooncake traces, or in seconds",
                "choose --time-unit s or --time-unit ms");
}

void settle_pieces(RowContext whole, const TraceFormat& format) {
    if (format.pieces && whole.errors.empty()) {
        settle_session_pieces(whole);
    } else if (&format == &generic_format || &format == &aibrix_format) {
        note_unread_pieces(whole);
    }
}

}  // namespace

void check_whole_trace(const RowContext& whole, const TraceFormat* format,
                       std::string_view model_column) {
    const bool empty = whole.draft.trace().rows.empty();
    if (empty && whole.errors.empty()) {
        whole.refuse("", "", "has no rows", "a trace needs at least one");
    }
    suggest_block_size(whole);
    if (!empty) {
        check_kept(whole, model_column);
        check_map(whole);
        check_blocks(whole, *format);
        check_surplus(whole);
        check_unit(whole);
        settle_pieces(whole, *format);
    }
}

}  // namespace driftless
