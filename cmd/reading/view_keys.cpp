#include "cmd/reading/view_keys.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace driftless {

Counted counted_of(const ViewedRequest& request, std::vector<std::int64_t> events_ns,
                   std::int64_t end_ns, std::int64_t prompt, std::int64_t output) {
    const std::int64_t fired = request.fired_ns;
    if (request.stamped == ViewedStamps::whole) {
        events_ns.clear();
    }
    const OptionalNs first =
        events_ns.empty() ? std::nullopt : OptionalNs(events_ns.front() - fired);
    return {fired, first, end_ns - fired, prompt, output, std::move(events_ns)};
}

Tally tally_of(const ViewedRun& run, std::optional<Counted> (*counted)(const ViewedRequest&)) {
    Tally tally;
    tally.seconds = in_s(run.duration_ns);
    for (const ViewedRequest& request : run.requests) {
        std::optional<Counted> one = counted(request);
        if (!one) {
            ++tally.failed;
            continue;
        }
        one->seen = &request;
        tally.has_chunks = tally.has_chunks && one->has_chunks();
        tally.input += one->prompt;
        tally.output += one->output;
        tally.span.add(one->begin_ns, one->end_ns());
        tally.ok.push_back(std::move(*one));
    }
    return tally;
}

std::int64_t count_good(const Tally& tally, const GoodputLimits& limits, RequestFigure tpot,
                        double ns_per_unit) {
    return std::count_if(tally.ok.begin(), tally.ok.end(), [&](const Counted& one) {
        const auto within_tpot = [&](const Known& value) {
            return value && *value <= as_double(*limits.tpot_ns) / ns_per_unit;
        };
        return (!limits.ttft_ns || (one.first_ns && *one.first_ns <= *limits.ttft_ns)) &&
               (!limits.tpot_ns || within_tpot(tpot(one))) &&
               (!limits.e2e_ns || one.last_ns <= *limits.e2e_ns);
    });
}

std::int64_t count_good(const Tally& tally, const GoodputLimits& limits) {
    return count_good(
        tally, limits, [](const Counted& one) -> Known { return tpot_ms(one).value_or(0); },
        ns_per_ms);
}

void append(ToolKeys& keys, ToolKeys more) {
    std::move(more.begin(), more.end(), std::back_inserter(keys));
}

ToolKeys measured(ToolKeys keys, const Tally& tally) {
    for (ToolKey& row : keys) {
        const RequestFigure* const figure = std::get_if<RequestFigure>(&row.value);
        const Gaps* const gaps = std::get_if<Gaps>(&row.value);
        ValueList values;
        for (const Counted& one : tally.ok) {
            if (const Known value = figure != nullptr ? (*figure)(one) : std::nullopt) {
                values.add(*value);
            }
            const std::size_t events =
                gaps != nullptr && one.has_chunks() ? one.events_ns.size() : 0;
            for (std::size_t i = 1; i < events; ++i) {
                values.add(as_double(one.events_ns[i] - one.events_ns[i - 1]) / gaps->ns_per_unit);
            }
        }
        if (figure != nullptr || gaps != nullptr) {
            const bool computable = tally.has_chunks || !values.empty();
            row.value = computed_if(computable, std::move(values));
        }
    }
    return keys;
}

KeyValue plain_statistic(const ToolKey& row, std::string_view name) {
    return name == "count" ? KeyValue(static_cast<std::int64_t>(row.values().count()))
                           : KeyValue(row.statistic(name));
}

std::vector<std::string> words_in(std::string_view text) {
    std::istringstream words{std::string(text)};
    return {std::istream_iterator<std::string>(words), {}};
}

static std::string json_of(const KeyValue& value, const FileStyle& style) {
    std::string text;
    JsonWriter json(text);
    if (const auto* const count = std::get_if<std::int64_t>(&value)) {
        json.integer(*count);
    } else if (const auto* const number = std::get_if<double>(&value)) {
        style.put_number(json, *number);
    } else if (const auto* const words = std::get_if<std::string>(&value)) {
        json.string(*words);
    } else {
        json.null();
    }
    return text;
}

static void add_members(std::vector<ToolMember>& members, const ToolKey& row,
                        const FileStyle& style) {
    const auto* const values = std::get_if<ValueList>(&row.value);
    const std::string folder = row.key.substr(0, row.key.rfind('/') + 1);
    const bool has_unit = style.unit_key[0] != '\0' && !row.unit.empty();
    const std::size_t star = row.key.find('*');
    const bool is_empty = star != row.key.npos && (values == nullptr || values->empty());
    if (is_empty && (style.empty != FileStyle::Empty::zeros || (has_unit && values == nullptr))) {
        if (style.empty == FileStyle::Empty::null) {
            members.push_back({folder.substr(0, folder.size() - 1), "null"});
        } else if (style.empty == FileStyle::Empty::object) {
            members.push_back({folder, ""});
        }
        return;
    }
    if (has_unit) {
        members.push_back({folder + style.unit_key, json_of(row.unit, style)});
    }
    if (star == row.key.npos) {
        members.push_back({row.key, row.key == folder ? "" : json_of(row.value, style)});
        return;
    }
    for (const std::string& name : words_in(style.statistics)) {
        const KeyValue value = values != nullptr ? style.statistic(row, name) : row.value;
        members.push_back({std::string(row.key).replace(star, 1, name), json_of(value, style)});
    }
}

std::vector<ToolMember> members_of(const ToolKeys& keys, const FileStyle& style) {
    std::vector<ToolMember> members;
    for (const ToolKey& row : keys) {
        if (!row.key.empty()) {
            add_members(members, row, style);
        }
    }
    return members;
}

std::string file_of(const ToolKeys& keys, const FileStyle& style) {
    std::string text;
    JsonWriter json(text);
    std::string open;  // folders, "a/b/"
    const auto leave = [&](std::string_view folder) {
        while (!folder.starts_with(open)) {
            open.pop_back();
            const bool is_array = open.ends_with("[]");
            open.resize(open.rfind('/') + 1);
            is_array ? json.end_object().end_array() : json.end_object();
        }
    };
    json.begin_object();
    for (const auto& [path, value] : members_of(keys, style)) {
        const std::string_view folder(path.data(), path.rfind('/') + 1);
        leave(folder);
        while (open.size() < folder.size()) {
            const std::string_view deeper = folder.substr(open.size());
            const std::string_view name = deeper.substr(0, deeper.find('/'));
            const bool is_array = name.ends_with("[]");
            json.key(name.substr(0, name.size() - (is_array ? 2 : 0)));
            is_array ? json.begin_array().begin_object() : json.begin_object();
            open.append(name) += '/';
        }
        if (!value.empty()) {
            json.key(path.substr(folder.size())).raw(value);
        }
    }
    leave("");
    json.end_object();
    return text + "\n";
}

std::vector<const ToolKey*> lines_of(const ToolKeys& keys) {
    std::vector<const ToolKey*> lines;
    for (const ToolKey& row : keys) {
        if (!row.label.empty()) {
            lines.push_back(&row);
        }
    }
    std::ranges::stable_sort(lines, {}, &ToolKey::place);
    return lines;
}

std::string table_of(std::vector<std::string> head, const ToolKeys& keys,
                     std::string (*write)(const ToolKey& row, std::string_view name),
                     const char* none) {
    ViewTable table(head);
    for (const ToolKey* const line : lines_of(keys)) {
        std::vector<std::string> cells(head.size(), none);
        cells[0] = line->label;
        if (const auto* const value = std::get_if<double>(&line->value)) {
            cells[1] = with_commas(*value, 2);
        } else if (line->computable()) {
            std::transform(head.begin() + 1, head.end(), cells.begin() + 1,
                           [&](const std::string& name) { return write(*line, name); });
        }
        table.add(std::move(cells));
    }
    return table.text();
}

ServingPeaks peaks_of(const Tally& tally) {
    constexpr std::int64_t second_ns = 1'000'000'000;
    constexpr std::int64_t seconds_max = 1'000'000;  // a day and more; longer runs have no peak
    const std::int64_t seconds = (tally.span.length_ns() + second_ns - 1) / second_ns + 1;
    ServingPeaks peaks;
    if (tally.ok.empty() || seconds > seconds_max) {
        return peaks;
    }
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(seconds));
    std::vector<std::int64_t> changes(static_cast<std::size_t>(seconds) + 1);
    const auto bin = [first = tally.span.first_ns](std::int64_t at_ns) {
        return static_cast<std::size_t>(std::max<std::int64_t>(at_ns - first, 0) / second_ns);
    };
    for (const Counted& one : tally.ok) {
        for (const std::int64_t event : one.events_ns) {
            tokens[std::min(bin(event), tokens.size() - 1)] += 1;
        }
        changes[bin(one.begin_ns)] += 1;
        changes[bin(one.end_ns()) + 1] -= 1;
    }
    std::int64_t open = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        open += changes[i];
        peaks.tokens_per_s = std::max(peaks.tokens_per_s, tokens[i]);
        peaks.concurrent = std::max(peaks.concurrent, open);
    }
    return peaks;
}

static void add_pair(std::string& screen, std::string_view label, std::string_view value) {
    screen += pad_right(label, 40) + " " + pad_right(value, 10) + "\n";
}

std::string serving_screen(const ToolKeys& keys) {
    constexpr const char* shown[][2] = {{"Mean ", "mean"},
                                        {"Median ", "median"},
                                        {"P90 ", "p90"},
                                        {"P95 ", "p95"},
                                        {"P99 ", "p99"}};
    std::string screen = centred(" Serving Benchmark Result ", 50, '=') + "\n";
    for (const ToolKey* const line : lines_of(keys)) {
        if (line->key.starts_with('*')) {
            screen += centred(line->label, 50, '-') + "\n";
            for (const auto& [label, statistic] : shown) {
                add_pair(screen, label + line->unit + " (ms):",
                         line->computable() ? fixed(line->statistic(statistic), 2) : "-");
            }
        } else if (!line->computable()) {
            add_pair(screen, line->label, "-");
        } else if (const auto* const count = std::get_if<std::int64_t>(&line->value)) {
            add_pair(screen, line->label, std::to_string(*count));
        } else if (const auto* const number = std::get_if<double>(&line->value)) {
            add_pair(screen, line->label, fixed(*number, 2));
        } else if (const auto* const text = std::get_if<std::string>(&line->value)) {
            add_pair(screen, line->label, *text);
        } else if (line->key.empty()) {
            screen += centred(line->label, 50, '-') + "\n";
        }
    }
    return screen + std::string(50, '=') + "\n";
}

}  // namespace driftless
