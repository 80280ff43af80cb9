#include "proto/trace/read.hpp"

#include <algorithm>

#include "proto/trace/blocks.hpp"
#include "proto/trace/generic.hpp"
#include "proto/trace/tails.hpp"

namespace driftless {
namespace {

std::string_view trim(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
        return {};
    }
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

TraceReader::TraceReader(const ReadOptions& options, Trace& out, InputErrors& errors)
    : options_(options), trace_(out), errors_(errors), draft_(out), columns_(options.keep) {
    rules_.lenient = options.lenient;
    rules_.unit_stated = !options.time_unit.empty() || !options.format.empty();
    rules_.sessions_open = options.sessions_open;
    rules_.default_output = options.default_output;
    rules_.output_free = options.output_free;
    rules_.map = options.map;
    draft_.name_spaces().set_scope(options.id_scope);
    check_options(options);
}

RowContext TraceReader::context(std::uint64_t line) {
    return {rules_, draft_, columns_, errors_, known_, file_, line};
}

void TraceReader::check_options(const ReadOptions& options) {
    const RowContext none = context(0);
    if (!options.time_unit.empty() && !time_unit_from_name(options.time_unit)) {
        none.refuse("--time-unit", options.time_unit, "is not a unit of time",
                    "it is one of s, ms, us, ns, iso, auto");
        stopped_ = true;
    }
    const TraceFormat* format = find_trace_format(options.format);
    if (format == nullptr && !options.format.empty()) {
        none.refuse("--format", options.format, "is not a format that this version reads",
                    "it reads " + trace_format_names());
        stopped_ = true;
    }
    if (!options.map.empty() && format != nullptr && format != &generic_format) {
        none.refuse("--map", options.map[0].key, "has no effect on the format " + options.format,
                    "remove one of the two; --map alone reads any columns");
        stopped_ = true;
    }
    format = format == nullptr && !options.map.empty() ? &generic_format : format;
    if (format != nullptr && !stopped_) {
        choose(*format);
    }
}

void TraceReader::choose(const TraceFormat& format) {
    format_ = &format;
    const auto unit = time_unit_from_name(options_.time_unit);
    rules_.time_unit = unit.value_or(format.time_unit);
    if (rules_.time_unit == TimeUnit::automatic && format.time_unit != TimeUnit::automatic) {
        rules_.time_unit = format.time_unit;
    }
    rules_.block_size = options_.block_size > 0 ? options_.block_size : format.block_size;
    list_known();
    trace_.format = format.name;
    if (format.shared_ids) {
        draft_.share_name_space();
    }
}

void TraceReader::list_known() {
    known_.assign(format_->columns.begin(), format_->columns.end());
    for (const MappedColumn& one : rules_.map) {
        known_.push_back(std::string_view(one.column).substr(0, one.column.find('.')));
    }
    if (format_ == &generic_format) {
        known_.insert(known_.end(), map_keys().begin(), map_keys().end());
    }
}

void TraceReader::begin_file(std::string_view name) {
    end_file();
    file_ = name;
    draft_.begin_file(name);
    container_ = Container::unknown;
    headerless_ = false;
    format_checked_ = !options_.format.empty() || !options_.map.empty();
    previous_ns_ = 0;
}

/// A text that is still open has not been closed in its file.
void TraceReader::end_file() {
    if (container_ == Container::gathered && !texts_.text().empty()) {
        RowContext at_start = context(texts_.line());
        json_text(at_start, texts_.text());
    } else if (container_ == Container::csv && !text_.empty()) {
        context(text_line_)
            .refuse("", text_, "has a quote that is never closed", "correct the line");
    }
    text_.clear();
    texts_.clear();
    container_ = Container::refused;
}

bool TraceReader::add_line(std::uint64_t number, std::string_view line) {
    if (stopped_ || container_ == Container::refused) {
        return false;
    }
    if (container_ == Container::gathered) {
        gather(number, line);
        return container_ != Container::refused;
    }
    const std::string_view trimmed = trim(line);
    if (trimmed.empty() && text_.empty()) {
        return true;
    }
    RowContext here = context(number);
    if (container_ == Container::unknown) {
        const Container found = container_of(here, line, trimmed);
        container_ = found;
        if (found == Container::gathered) {
            gather(number, line);
        }
        const bool row = found != Container::csv || headerless_;  // a header is no row
        if (!row || found == Container::gathered || found == Container::refused) {
            return container_ != Container::refused;
        }
    }
    if (container_ == Container::csv) {
        csv_line(number, line);
    } else {
        json_text(here, trimmed);
    }
    return container_ != Container::refused;
}

/// A kept column that no row has is a typing error of the user's.
void TraceReader::check_kept() {
    for (const std::string& name : columns_.missing()) {
        RowContext none = context(0);
        none.file = "";
        const bool model = name == options_.model_column;
        none.refuse(model ? "--map" : "--keep", model ? "model=" + name : name,
                    model ? "names a column that no row has" : "is not a column of any row",
                    columns_.unknown_names().empty()
                        ? "columns are " + joined(columns_.names())
                        : "other columns are " + joined(columns_.unknown_names()));
    }
}

/// So is a mapped one.
void TraceReader::check_map() {
    for (const MappedColumn& one : rules_.map) {
        if (!one.seen) {
            RowContext none = context(0);
            none.file = "";
            none.refuse("--map", one.key + "=" + one.column, "names a column that no row has",
                        columns_.unknown_names().empty()
                            ? "correct it, or remove it"
                            : "other columns are " + joined(columns_.unknown_names()));
        }
    }
}

/// Rows without ids are refused where others have some; a trace without any has no blocks.
void TraceReader::check_blocks() {
    RowContext whole = context(0);
    if (format_->block_check == BlockCheck::by_trace && errors_.empty()) {
        settle_blocks(whole);
    }
    if (trace_.ids.empty()) {
        rules_.block_size = 0;
        return;
    }
    const std::uint64_t missing = draft_.ids().rows_missing();
    if (rules_.lenient) {
        trace_.rows_uncovered += missing;
    } else if (missing > 0) {
        whole.line = draft_.ids().first_line_missing();
        whole.refuse("hash_ids", "",
                     "is missing here" +
                         (missing == 1 ? std::string()
                                       : " and in " + std::to_string(missing - 1) + " more rows"),
                     "other rows have it; --lenient fills these prompts with private tokens");
    }
}

/// Whole times that nobody gave a unit, and that are dates between 2010 and 2040 as seconds since
/// 1970: as the milliseconds of the format they would be two to four weeks of 1970.
void TraceReader::check_epoch() {
    constexpr std::int64_t ms = 1'000'000;
    constexpr std::int64_t year_2010 = 1'262'304'000;
    constexpr std::int64_t year_2040 = 2'208'988'800;
    if (rules_.unit_stated || rules_.time_unit != TimeUnit::ms || trace_.rows.empty()) {
        return;
    }
    const auto first =
        std::min_element(trace_.rows.begin(), trace_.rows.end(),
                         [](const TraceRow& a, const TraceRow& b) { return a.at_ns < b.at_ns; });
    const std::int64_t time = first->at_ns / ms;
    if (time < year_2010 || time >= year_2040) {
        return;
    }
    RowContext whole = context(0);
    whole.file = "";
    whole.refuse("the first time", std::to_string(time),
                 "is read as milliseconds, and looks like seconds since 1970",
                 "--time-unit s or --time-unit ms says what it is");
}

/// Times in milliseconds with a fraction, which may as well be seconds. No doubt is left where they
/// would be seconds after the year 5000, or where the rows, as seconds, would come less than once a
/// minute for more than eleven days.
void TraceReader::check_unit() {
    constexpr std::int64_t ms = 1'000'000;
    constexpr std::int64_t epoch_in_ms = 100'000'000'000;
    constexpr std::int64_t span_min = 1'000'000;
    constexpr std::int64_t gap_min = 60;
    const auto& doubt = draft_.doubt();
    if (!doubt || trace_.rows.empty()) {
        check_epoch();
        return;
    }
    const auto [first, last] =
        std::minmax_element(trace_.rows.begin(), trace_.rows.end(),
                            [](const TraceRow& a, const TraceRow& b) { return a.at_ns < b.at_ns; });
    const std::int64_t span = (last->at_ns - first->at_ns) / ms;
    const auto rows = static_cast<std::int64_t>(trace_.rows.size());
    if (first->at_ns / ms >= epoch_in_ms || (span >= span_min && span / rows >= gap_min)) {
        draft_.remark("time with a fraction of a ms: the whole trace shows that they are ms",
                      "times with fractions: the whole trace shows that they are ms");
        return;
    }
    RowContext here = context(doubt->line);
    here.file = doubt->file;
    here.refuse(doubt->name, doubt->text,
                "has a fraction: it may be milliseconds, as Mooncake has them, or seconds",
                "--time-unit s or --time-unit ms says what it is");
}

/// `--lenient` repairs some rows; where the block size itself is wrong it would throw the sharing
/// away that the trace records.
void TraceReader::check_surplus() {
    constexpr std::uint64_t dropped_share = 100;  // one in so many may be dropped
    const IdCounts& counts = draft_.ids().counts();
    const std::uint64_t dropped = trace_.surplus_ids;
    const IdCounts::Best best = counts.best();
    if (!rules_.lenient || counts.ids() < dropped_share ||
        dropped * dropped_share <= counts.ids() || best.size == rules_.block_size) {
        return;
    }
    errors_.add_first(
        {file_, 0, "hash_ids", "",
         "would lose " + std::to_string(dropped) + " of " + std::to_string(counts.ids()) +
             " ids at blocks of " + std::to_string(rules_.block_size) + " tokens",
         "--block-size " + std::to_string(best.size) + " fits " + std::to_string(best.rows) +
             " of " + std::to_string(counts.rows()) + " rows, and best of all sizes"});
}

/// Where several rows contradict the block size and all of them fit another, one line says so
/// first.
void TraceReader::suggest_block_size() {
    const std::string sizes = draft_.ids().counts().sizes_of_all();
    if (draft_.ids().counts().wrong() > 1 && !sizes.empty() && !rules_.lenient) {
        errors_.add_first({file_, 0, "hash_ids", "",
                           "contradict blocks of " + std::to_string(rules_.block_size) +
                               " tokens in " + std::to_string(draft_.ids().counts().wrong()) +
                               " of " + std::to_string(draft_.ids().counts().rows()) + " rows",
                           "all rows fit --block-size " + sizes});
    }
}

void TraceReader::rebase_and_sort() {
    // The index settles equal instants, so that the order is stable.
    const auto before = [](const TraceRow& a, const TraceRow& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
    };
    if (!std::is_sorted(trace_.rows.begin(), trace_.rows.end(), before)) {
        std::sort(trace_.rows.begin(), trace_.rows.end(), before);
    }
    const std::int64_t first = trace_.rows.empty() ? 0 : trace_.rows.front().at_ns;
    for (TraceRow& row : trace_.rows) {
        row.at_ns -= first;
    }
}

bool TraceReader::finish() {
    end_file();
    draft_.finish();
    trace_.unknown_keys = columns_.unknown();
    if (!stopped_ && trace_.rows.empty() && errors_.empty()) {
        context(0).refuse("", "", "holds no row", "a trace needs at least one");
    }
    if (!stopped_) {
        suggest_block_size();
    }
    if (!stopped_ && !trace_.rows.empty()) {
        check_kept();
        check_map();
        check_blocks();
        check_surplus();
        check_unit();
    }
    trace_.time_unit = name_of(rules_.time_unit);
    trace_.block_size = rules_.block_size;
    draft_.remark("block id names blocks of two lengths: they share the shorter one's tokens",
                  "block ids name blocks of two lengths each: they share the shorter one's tokens",
                  errors_.empty() ? uneven_tails(trace_) : 0);
    rebase_and_sort();
    return errors_.empty();
}

}  // namespace driftless
