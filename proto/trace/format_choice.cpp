#include "proto/trace/format_choice.hpp"

#include <optional>
#include <string>
#include <utility>

#include "proto/trace/generic.hpp"
#include "proto/trace/map_hint.hpp"
#include "proto/trace/shapes.hpp"

namespace driftless {

FormatChoice::FormatChoice(const ReadOptions& options, TraceDraft& draft)
    : options_(options), draft_(draft) {
    rules_.lenient = options.lenient;
    rules_.unit_stated = !options.time_unit.empty() && options.time_unit != "auto";
    rules_.format_stated = !options.format.empty();
    const bool need_no_arrivals = options.times_free && options.sessions == Sessions::recorded;
    rules_.sessions = need_no_arrivals ? Sessions::open : options.sessions;
    rules_.times_free = options.times_free;
    rules_.flat_agents = options.flat_agents;
    rules_.default_output = options.default_output;
    rules_.output_free = options.output_free;
    rules_.map = options.map;
}

bool FormatChoice::check_options(const RowContext& none, const TraceFormat* named) const {
    bool fine = true;
    if (!options_.time_unit.empty() && !time_unit_from_name(options_.time_unit)) {
        none.refuse("--time-unit", options_.time_unit, "is not a unit of time",
                    "use s, ms, us, ns, iso or auto");
        fine = false;
    }
    if (named == nullptr && !options_.format.empty()) {
        none.refuse("--format", options_.format, "is not a format that this version reads",
                    "it reads " + trace_format_names());
        fine = false;
    }
    if (!options_.map.empty() && named != nullptr && named != &generic_format) {
        none.refuse("--map", options_.map[0].key, "has no effect on the format " + options_.format,
                    "remove one of the two; --map alone reads any columns");
        fine = false;
    }
    return fine;
}

bool FormatChoice::take_options(const RowContext& none) {
    const TraceFormat* const named = find_trace_format(options_.format);
    if (!check_options(none, named)) {
        return false;
    }
    if (named != nullptr) {
        choose(*named);
    } else if (!options_.map.empty()) {
        choose(generic_format);
    }
    return true;
}

void FormatChoice::choose(const TraceFormat& format) {
    format_ = &format;
    const auto unit = time_unit_from_name(options_.time_unit);
    rules_.time_unit = unit.value_or(format.time_unit);
    if (rules_.time_unit == TimeUnit::automatic && format.time_unit != TimeUnit::automatic) {
        rules_.time_unit = format.time_unit;
    }
    rules_.block_size = options_.block_size > 0 ? options_.block_size : format.block_size;
    list_known();
    draft_.trace().format = format.name;
    if (format.shared_ids) {
        draft_.share_name_space();
    }
}

void FormatChoice::list_known() {
    known_.assign(format_->columns.begin(), format_->columns.end());
    for (const MappedColumn& one : rules_.map) {
        known_.push_back(one.column);  // may have dots itself
        known_.push_back(std::string_view(one.column).substr(0, one.column.find('.')));
    }
    if (format_ == &generic_format) {
        known_.insert(known_.end(), map_keys().begin(), map_keys().end());
    }
}

void FormatChoice::begin_file() {
    file_checked_ = !options_.format.empty() || !options_.map.empty();
}

bool FormatChoice::admit(const RowContext& context, const JsonValue& row) {
    if (file_checked_) {
        return true;
    }
    const ForeignShape foreign = foreign_shape(row);
    std::vector<const TraceFormat*> found;
    for (const TraceFormat* one : trace_formats()) {
        if (foreign.what.empty() && one->matches != nullptr && one->matches(row)) {
            found.push_back(one);
        }
    }
    std::string problem = "does not have the keys of a known format";
    std::string remedy = map_remedy(map_names(row), options_.time_unit) +
                         "; or choose one of these with --format: " + trace_format_names();
    if (const std::string list(list_of_rows(row)); !list.empty()) {
        remedy = "if its rows stand in \"" + list + "\", put each on one line: jq -c '." + list +
                 "[]' FILE > NEW_FILE; else " + remedy;
    }
    if (!foreign.what.empty()) {
        problem = "looks like " + std::string(foreign.what);
        remedy = foreign.remedy;
    } else if (found.size() > 1) {
        problem = std::string("has the keys of ") + found[0]->name + " and of " + found[1]->name;
        remedy = "choose one with --format";
    } else if (found.size() == 1 && format_ != nullptr && format_ != found[0]) {
        problem = std::string("looks like ") + found[0]->name + ", but the trace began as " +
                  format_->name;
        remedy = "replay files of different formats separately";
    } else if (found.size() == 1) {
        file_checked_ = true;
        if (format_ == nullptr) {
            choose(*found[0]);
        }
        return true;
    }
    context.refuse("", row.raw(), problem, remedy);
    return false;
}

bool FormatChoice::admit(CsvHeader& header) {
    const TraceFormat* const found = find_format(header);
    spell_map(header);
    if (format_ == nullptr && found != nullptr) {
        choose(*found);
    }
    return format_ != nullptr && format_->read_csv != nullptr &&
           (found == format_ || format_->matches_header == nullptr);
}

/// The format whose columns these are, in any case of letters. The header takes its spelling. Where
/// the format was chosen before, no other one is looked at.
const TraceFormat* FormatChoice::find_format(CsvHeader& header) const {
    const TraceFormat* found = nullptr;
    CsvHeader spelled = header;
    for (const TraceFormat* one : trace_formats()) {
        const bool is_other = format_ != nullptr && one != format_;
        if (is_other || one->matches_header == nullptr) {
            continue;
        }
        CsvHeader adopted = header;
        adopted.adopt(one->columns);
        if (one->matches_header(adopted)) {
            found = one;
            spelled = std::move(adopted);
        }
    }
    header = std::move(spelled);
    return found;
}

/// Where map and header differ in upper and lower case only.
void FormatChoice::spell_map(const CsvHeader& header) {
    for (MappedColumn& one : rules_.map) {
        if (const std::optional<std::size_t> at = header.find_in_any_case(one.column)) {
            one.column = header.names()[*at];
        }
    }
    if (format_ != nullptr) {
        list_known();
    }
}

}  // namespace driftless
