#include "cmd/flags/option_values.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "cmd/base/secrets.hpp"
#include "cmd/base/values.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

static constexpr const char* certify_remedy =
    "is not a limit; use one duration, or \"sent:5ms read:5ms error:1ms\", all above 0";

static Result<void> read_certify_part(std::string_view part, CertifyWithin& within) {
    const std::size_t colon = part.find(':');
    const std::string_view name = colon == part.npos ? std::string_view() : part.substr(0, colon);
    const Result<std::int64_t> limit =
        parse_positive_duration_ns(colon == part.npos ? part : part.substr(colon + 1));
    const bool all = colon == part.npos;
    if (!limit || !(all || name == "sent" || name == "read" || name == "error")) {
        return invalid(certify_remedy);
    }
    constexpr std::int64_t default_part = 5;  // of 5 ms
    within.sent_ns = all || name == "sent" ? limit.value() : within.sent_ns;
    within.read_ns = all || name == "read" ? limit.value() : within.read_ns;
    within.error_ns = name == "error" ? limit.value()
                      : all           ? std::max<std::int64_t>(limit.value() / default_part, 1)
                                      : within.error_ns;
    return {};
}

Result<GapRule> parse_gap_rule(std::string_view text) {
    if (text == "original" || text == "api-scaled") {
        return invalid(
            text == "original"
                ? "would wait the recorded distance of two starts after an answer, "
                  "counting the answer's time twice; use start-to-start"
                : "would add the recorded time of an answer to that of this run, counting "
                  "it twice; use end-to-start");
    }
    return gap_choices(text == "think-only" ? "end-to-start" : text);
}

Result<WriterCpu> parse_writer_cpu(std::string_view text) {
    using Where = WriterCpu::Where;
    static constexpr Choices<WriterCpu> places(
        {{"beside", {Where::beside}}, {"apart", {Where::apart}}, {"auto", {Where::automatic}}},
        "is not a CPU, or one of ");
    const Result<std::uint32_t> cpu = parse_u32(text);
    return cpu ? WriterCpu{Where::on, cpu.value()} : places(text);
}

Result<const Dialect*> parse_api(std::string_view text) {
    if (const Dialect* dialect = find_dialect(text); dialect != nullptr) {
        return dialect;
    }
    static const std::string remedy = "is not one of " + dialect_names();
    return invalid(remedy.c_str());
}

Result<ArmAhead> parse_arm_ahead(std::string_view text) {
    if (text == "all") {
        return ArmAhead{.all = true, .window_ns = 0};
    }
    const Result<std::int64_t> window = parse_positive_duration_ns(text);
    if (!window) {
        return window.error();
    }
    return ArmAhead{.all = false, .window_ns = window.value()};
}

Result<std::int64_t> parse_period(std::string_view text) {
    constexpr std::int64_t least_ns = 100'000'000;  // a line costs the writer about 0.1 ms
    constexpr std::int64_t most_ns = 24 * 3600 * std::int64_t{1'000'000'000};
    if (text == "none") {
        return std::int64_t{0};
    }
    return within(parse_duration_ns(text), least_ns, most_ns,
                  "is not a period; use 100ms to 24h, or none");
}

Result<std::uint64_t> parse_save_responses(std::string_view text) {
    return text == "all" ? Result<std::uint64_t>(save_all_responses) : parse_count(text);
}

Result<Overhead> parse_overhead(std::string_view text) {
    const std::size_t comma = text.find(',');
    const Result<std::uint32_t> pre = parse_u32(text.substr(0, comma));
    const Result<std::uint32_t> post =
        comma == text.npos ? Result<std::uint32_t>(0U) : parse_u32(text.substr(comma + 1));
    if (!pre || !post || comma == text.npos) {
        return invalid("is not PRE,POST: two numbers of tokens, as in 5,3");
    }
    return Overhead{.pre = pre.value(), .post = post.value()};
}

Result<CertifyWithin> parse_certify_within(std::string_view text) {
    const std::vector<std::string_view> parts = words_in(text, " ,");
    CertifyWithin within;
    for (const std::string_view part : parts) {
        if (const Result<void> read = read_certify_part(part, within); !read) {
            return read.error();
        }
    }
    return parts.empty() ? Result<CertifyWithin>(invalid(certify_remedy)) : within;
}

std::string text_of(const CertifyWithin& within) {
    return "sent:" + duration_to_text(within.sent_ns) +
           " read:" + duration_to_text(within.read_ns) +
           " error:" + duration_to_text(within.error_ns);
}

Result<std::pair<std::string, std::string>> parse_label(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) {
        return invalid("is not a label; use KEY=VALUE");
    }
    if (!secrets_in_text(text).empty()) {
        return invalid("looks like a key, and run.json keeps labels; remove it, or rename it");
    }
    return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

std::string repeated_label(const std::vector<std::pair<std::string, std::string>>& labels) {
    for (std::size_t i = 1; i < labels.size(); ++i) {
        for (std::size_t before = 0; before < i; ++before) {
            if (labels[before].first == labels[i].first) {
                return "--label " + labels[i].first + " is given twice, as \"" +
                       labels[before].second + "\" and as \"" + labels[i].second +
                       "\"; give each key once";
            }
        }
    }
    return "";
}

Result<std::string> parse_extra_body(std::string_view text) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    if (!root || !root.value().is(JsonType::object)) {
        return invalid(R"(is not a JSON object; use '{"top_p": 0.9}')");
    }
    return std::string(text);
}

Result<std::uint32_t> parse_u32(std::string_view text) {
    const Result<std::uint64_t> value = parse_count(text);
    if (!value) {
        return value.error();
    }
    if (value.value() > std::numeric_limits<std::uint32_t>::max()) {
        return Error{ErrorCode::out_of_range, 0, "is more than 4294967295"};
    }
    return static_cast<std::uint32_t>(value.value());
}

Result<std::uint32_t> parse_positive_u32(std::string_view text) {
    const Result<std::uint32_t> value = parse_u32(text);
    if (value && value.value() == 0) {
        return Error{ErrorCode::out_of_range, 0, "must be at least 1"};
    }
    return value;
}

Result<std::uint32_t> parse_buffer_count(std::string_view text) {
    constexpr std::uint32_t most = 32'768;
    const Result<std::uint32_t> value = parse_u32(text);
    if (value &&
        (!std::has_single_bit(value.value()) || value.value() < 2 || value.value() > most)) {
        return Error{ErrorCode::out_of_range, 0, "must be a power of two from 2 to 32768"};
    }
    return value;
}

Result<std::int64_t> parse_positive_duration_ns(std::string_view text) {
    const Result<std::int64_t> value = parse_duration_ns(text);
    if (value && value.value() == 0) {
        return Error{ErrorCode::out_of_range, 0, "must be longer than 0"};
    }
    return value;
}

Result<std::string> parse_text(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; give it a value, or remove it");
    }
    return std::string(text);
}

Result<std::string> parse_path(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; name a file");
    }
    return std::string(text);
}

Result<std::string> parse_path_on_disk(std::string_view text) {
    if (text == "-") {
        return invalid("cannot be written to standard output; name a path (./- for that name)");
    }
    return parse_path(text);
}

Result<std::string> parse_folder(std::string_view text) {
    return parse_text(without_slashes(std::string(text)));
}

Result<Header> parse_added_header(std::string_view text) {
    Result<Header> header = parse_header(text);
    if (!header && text.find_first_of("\r\n") != text.npos) {
        return invalid("has a line end, which would begin another header; remove it");
    }
    if (!header) {
        return invalid(
            "is not a header that can be added; use 'Name: value' (framing headers cannot "
            "be overridden)");
    }
    return header;
}

Result<std::string> parse_header_name(std::string_view text) {
    if (!is_header_name(text)) {
        return invalid("is not a header name; use only the name, as in X-Pod");
    }
    return std::string(text);
}

std::string unkept_column(const FieldTemplate& field, const std::vector<std::string>& keep) {
    for (const TemplatePiece& piece : field.pieces) {
        if (piece.placeholder == Placeholder::kept &&
            std::find(keep.begin(), keep.end(), piece.text) == keep.end()) {
            return "{" + to_text(piece) + "} is a column that is not kept; add --keep " +
                   piece.text;
        }
    }
    return "";
}

static constexpr std::string_view model_key = "model";

Result<std::string> parse_trace_format(std::string_view text) {
    if (find_trace_format(text) != nullptr) {
        return std::string(text);
    }
    static const std::string why = "is not one of " + trace_format_names();
    return invalid(why.c_str());
}

Result<std::string> parse_time_unit(std::string_view text) {
    if (from_name<TimeUnit>(text)) {
        return std::string(text);
    }
    static const std::string why = "is not one of " + time_unit_names();
    return invalid(why.c_str());
}

Result<std::vector<MappedColumn>> parse_map(std::string_view text) {
    constexpr Error wrong = invalid(
        "is not a map; use KEY=COLUMN,.. with the keys time, in, out, hashes, "
        "session, turn, delay and model");
    constexpr Error wrong_key = invalid(
        "has an unknown key; the keys are time, in, out, hashes, session, "
        "turn, delay and model, as in in=COLUMN");
    constexpr Error key_twice = invalid("has a key twice; give each one column");
    const Result<std::vector<std::string>> parts = parse_list(text);
    if (!parts) {
        return wrong;
    }
    std::vector<MappedColumn> map;
    for (const std::string& part : parts.value()) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string key = part.substr(0, equals);
        const auto keys = map_keys();
        const bool twice = std::ranges::find(map, key, &MappedColumn::key) != map.end();
        if (equals + 1 >= part.size()) {
            return wrong;
        }
        if (key != model_key && std::find(keys.begin(), keys.end(), key) == keys.end()) {
            return wrong_key;
        }
        if (twice) {
            return key_twice;
        }
        map.push_back({key, part.substr(equals + 1)});
    }
    return map;
}

std::string take_model_column(std::vector<MappedColumn>& map) {
    const auto found = std::ranges::find(map, model_key, &MappedColumn::key);
    if (found == map.end()) {
        return "";
    }
    std::string column = std::move(found->column);
    map.erase(found);
    return column;
}

std::string complete_speed(const std::string& text, PlanOptions& plan) {
    const Result<Speed> speed = parse_speed(text);
    if (!speed) {
        return "--speed \"" + text +
               "\" is not a speed; use a positive decimal, where 2 is twice as fast";
    }
    plan.speed = speed.value();
    return "";
}

std::string range_refusal(const PlanOptions& plan) {
    return plan.start_ns && plan.end_ns && *plan.end_ns <= *plan.start_ns
               ? "--end must be later than --start"
               : "";
}

std::string model_column_refusal(std::vector<MappedColumn> map) {
    const std::string column = take_model_column(map);
    return column.empty()
               ? ""
               : "--map model=" + column +
                     " names the models of requests, but nothing is sent here; remove model=" +
                     column + " from --map";
}

std::string flat_agents_refusal(FlatAgents agents, Sessions sessions) {
    return agents == FlatAgents::chains || sessions == Sessions::closed
               ? ""
               : "--flat-agents keep applies to turns that wait for answers, but no row waits; add "
                 "--sessions closed";
}

Result<const TraceTarget*> parse_trace_target(std::string_view text) {
    if (const TraceTarget* target = find_trace_target(text); target != nullptr) {
        return target;
    }
    return invalid("is not one of canonical, mooncake");
}

static constexpr std::uint64_t copies_max = 1'000'000;

Result<std::optional<Share>> parse_sample(std::string_view text) {
    const Result<Share> share = parse_share(text);
    if (!share) {
        return Error{share.error().code, 0,
                     "is not a share; use a decimal above 0 and up to 1, or 10%"};
    }
    return share.value().billionths == Share{}.billionths ? std::optional<Share>()
                                                          : std::optional(share.value());
}

Result<Copies> parse_copies(std::string_view text) {
    constexpr std::string_view by_rows = "rows:";
    const bool is_rows = text.starts_with(by_rows);
    const Result<std::uint64_t> count =
        parse_positive_count(text.substr(is_rows ? by_rows.size() : 0));
    if (!count || count.value() > (is_rows ? replicated_rows_max : copies_max)) {
        return invalid(
            "is not a number of copies from 1 to 1000000, or rows:N with N from 1 to "
            "100000000");
    }
    const auto number = static_cast<std::uint32_t>(count.value());
    return is_rows ? Copies{1, number} : Copies{number, 0};
}

const char* load_refusal(const Error& error) {
    switch (error.code) {
        case ErrorCode::exists:
            return "--share: the trace's block ids already say what rows share; remove this flag";
        case ErrorCode::missing:
            return "--share session: the trace has no sessions; use --share all";
        case ErrorCode::not_found:
            return "--max-context: every session of the trace has a longer request; raise the "
                   "limit";
        default:
            return "--replicate: all copies together have more than 4,294,967,294 rows; use fewer "
                   "copies";
    }
}

std::vector<std::string> load_notes(const LoadFigures& figures) {
    std::vector<std::string> notes;
    if (figures.share != Sharing::none) {
        notes.push_back(std::to_string(figures.rows_sharing) + " of " +
                        std::to_string(figures.rows_read) +
                        " rows are prefixes of one shared prompt" +
                        (figures.share == Sharing::session ? " a session" : ""));
    }
    if (const AdmissionFigures& admission = figures.admission; admission.families > 0) {
        notes.push_back(std::to_string(admission.kept) + " of " +
                        std::to_string(admission.families) + " session trees are used; " +
                        std::to_string(admission.too_long) +
                        " have a request longer than --max-context");
    }
    if (figures.families > 0) {
        notes.push_back("sample of " + std::to_string(figures.families_sampled) + " of " +
                        std::to_string(figures.families) + " sessions, " +
                        std::to_string(figures.rows_sampled) + " of " +
                        std::to_string(figures.rows_read) + " rows");
    }
    if (figures.copies > 1) {
        notes.push_back(std::to_string(figures.copies) + " copies of " +
                        std::to_string(figures.rows_sampled) + " rows, which share nothing and " +
                        (figures.in_turn ? "follow each other"
                                         : "start within " + duration_to_text(figures.within_ns)));
    }
    return notes;
}

}  // namespace driftless
