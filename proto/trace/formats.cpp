#include "proto/trace/formats.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

static constexpr const TraceFormat* formats[] = {
    &mooncake_format,     &mooncake_delta_format,  &qwen_format,
    &weka_format,         &azure_format,           &burstgpt_format,
    &vidur_format,        &dynamo_format,          &agentic_mooncake_format,
    &lmcache_format,      &mlperf_format,          &tensorrt_format,
    &workload_log_format, &aibrix_format,          &aiperf_turns_format,
    &sharegpt_format,     &vllm_multi_turn_format, &sglang_agentic_format,
    &isb1_format,         &canonical_format,       &generic_format};

std::span<const TraceFormat* const> trace_formats() {
    return formats;
}

const TraceFormat* find_trace_format(std::string_view name) {
    for (const TraceFormat* format : formats) {
        if (!name.empty() && (name == format->name || name == format->alias)) {
            return format;
        }
    }
    return nullptr;
}

std::string trace_format_names() {
    return joined(formats, ", ", &TraceFormat::name);
}

bool RowContext::refuse(std::string_view field, std::string_view value, std::string problem,
                        std::string remedy) const {
    std::string where = place;
    where += place.empty() || field.empty() ? "" : ".";
    errors.add({std::string(file), line, where + std::string(field),
                std::string(cut_at_code_point(value, value_bytes_max)), std::move(problem),
                std::move(remedy)});
    return false;
}

template <typename Source>
static void emit_row(const RowContext& context, const TraceRow& row, const Source& source) {
    context.columns.note(source, context.known);
    Trace& trace = context.draft.trace();
    if (context.columns.keeps()) {
        trace.kept.push_back(context.columns.kept(source));
    }
    TraceRow& added = context.draft.add(row);
    added.line = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(context.line, std::numeric_limits<std::uint32_t>::max()));
}

void RowContext::emit(const TraceRow& row, const JsonValue& source) const {
    emit_row(*this, row, source);
}

void RowContext::emit(const TraceRow& row, const CsvRow& source) const {
    emit_row(*this, row, source);
}

Field field_of(const JsonValue& value, std::string_view name) {
    Field field;
    field.name = name;
    if (!value.present() || value.is(JsonType::null)) {
        return field;
    }
    field.json = value;
    field.raw = value.raw();
    field.text = value.as_string().value_or(field.raw);
    field.present = !field.text.empty();
    return field;
}

Field field_of(const CsvRow& row, std::string_view name) {
    const std::string_view cell = row.find(name).value_or(std::string_view{});
    return {name, cell, cell, {}, !cell.empty()};
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && stop == text.data() + text.size()) {
        return value;
    }
    const Result<std::uint64_t> whole = parse_whole(text);
    return whole ? std::optional(whole.value()) : std::nullopt;
}

/// What would fix a text that is no wall clock.
static const char* clock_remedy(std::string_view text) {
    constexpr std::uint64_t day_min = 36526;  // the year 2000, as spreadsheets count days
    constexpr std::uint64_t day_max = 73051;  // 2100
    if (!scan_decimal(text)) {
        return "write it as 2023-11-16 18:15:46.68";
    }
    const std::size_t point = text.find('.');
    const auto days = whole_number(text.substr(0, point));
    return point != text.npos && days && *days >= day_min && *days < day_max
               ? "it looks like a spreadsheet's count of days; write it as 2023-11-16 18:15:46.68"
               : "use --time-unit for the unit of numbers";
}

static void refuse_time(const RowContext& context, const Field& field, TimeUnit unit,
                        ErrorCode code) {
    const std::string kind = unit == TimeUnit::iso ? "an ISO-8601 time" : "a decimal number";
    if (code == ErrorCode::invalid) {
        const bool other = unit != TimeUnit::iso && parse_time(field.text, TimeUnit::iso);
        context.refuse(field.name, field.text, "is not " + kind,
                       unit == TimeUnit::iso ? clock_remedy(field.text)
                       : other               ? "for dates use --time-unit iso"
                                             : "write the time this way");
    } else if (unit == TimeUnit::iso) {
        context.refuse(field.name, field.text, "is not within 1970 and 2115", "correct the row");
    } else if (field.text.starts_with('-')) {
        context.refuse(field.name, field.text, "is negative", "use times and delays of 0 or more");
    } else {
        context.refuse(field.name, field.text,
                       std::string("is beyond 146 years in ") + name_of(unit),
                       "choose another unit with --time-unit");
    }
}

/// What would fix a count that contradicts its length.
static std::string count_remedy(std::uint64_t tokens, std::uint64_t count) {
    IdCounts one;
    one.add(tokens, count);
    const std::string fits = one.sizes_of_all();
    return (fits.empty() ? "no block size of 16, 32, .. 1024 would fit"
                         : "--block-size " + fits + " would fit") +
           "; or use --lenient to ignore surplus ids and fill missing ones with private tokens";
}

/// A name without what tells two spellings of it apart: case, and what joins its words.
static std::string plain_name(std::string_view name) {
    std::string plain = lower(name);
    std::erase_if(plain, [](char c) { return c == '_' || c == '-' || c == ' '; });
    return plain;
}

/// Lists that the row lacks a field, under another spelling of it where the row has one. Always
/// false.
static bool refuse_missing(const RowContext& context, std::string_view name, std::string remedy) {
    const std::string plain = plain_name(name);
    for (JsonValue value = context.object.first(); value.present(); value = value.next()) {
        if (value.key() != name && plain_name(value.key()) == plain) {
            remedy = "the row has \"" + std::string(value.key()) +
                     "\": rename it, or name all columns with --map time=KEY,in=KEY,out=KEY";
            break;
        }
    }
    return context.refuse(name, "", "is missing", std::move(remedy));
}

std::optional<std::int64_t> read_time(const RowContext& context, const Field& field) {
    if (!field.present && context.rules.times_free) {
        return 0;
    }
    if (!field.present) {
        std::string remedy = "give every row its arrival time";
        if (context.object.present()) {
            remedy +=
                "; if no row has one, use replay --rate R or --concurrency N, or add times 100 "
                "apart: jq -c '." +
                std::string(field.name) + " = input_line_number * 100' FILE > NEW_FILE";
        }
        refuse_missing(context, field.name, std::move(remedy));
        return std::nullopt;
    }
    return read_gap(context, field, context.rules.unit);
}

std::optional<std::int64_t> read_gap(const RowContext& context, const Field& field, TimeUnit unit) {
    const Result<std::int64_t> time = parse_time(field.text, unit);
    if (!time) {
        refuse_time(context, field, unit, time.error().code);
        return std::nullopt;
    }
    return time.value();
}

std::optional<std::int64_t> read_pause(const RowContext& context, const Field& field,
                                       TimeUnit unit) {
    return field.present ? read_gap(context, field, unit) : std::optional<std::int64_t>(0);
}

bool check_length(const RowContext& context, const Field& field) {
    if (!field.present || parse_time(field.text, context.rules.unit)) {
        return true;
    }
    return context.refuse(field.name, field.raw, "is not a length of time from 0 to 146 years",
                          "correct it, or write null if it was not recorded");
}

std::optional<std::uint32_t> read_tokens(const RowContext& context, const Field& field,
                                         std::uint32_t least) {
    if (!field.present) {
        refuse_missing(context, field.name, "give every row one");
        return std::nullopt;
    }
    const std::optional<std::uint64_t> tokens = whole_number(field.raw);
    if (tokens && *tokens >= least && *tokens <= row_tokens_max) {
        return static_cast<std::uint32_t>(*tokens);
    }
    context.refuse(field.name, field.raw,
                   "is not a whole number of tokens from " + std::to_string(least) + " to " +
                       std::to_string(row_tokens_max),
                   "correct the row");
    return std::nullopt;
}

/// A row without an output length: what the user said to do with it. False: refused.
static bool assume_output(const RowContext& context, const Field& output, TraceRow& row) {
    const RowRules& rules = context.rules;
    if (rules.default_output == 0 && !rules.output_free) {
        return refuse_missing(context, output.name,
                              "use --default-output N to ask such rows for N tokens, or replay "
                              "--output free for no limit");
    }
    row.output_length = rules.default_output;
    context.draft.remark("row without an output length", "rows without an output length");
    return true;
}

/// An output of 0 is taken as 1 and counted. False after an error.
static bool read_output(const RowContext& context, const Field& output, TraceRow& row) {
    const auto tokens = read_tokens(context, output, 0);
    row.output_length = std::max(tokens.value_or(0), 1U);
    context.draft.trace().zero_outputs += tokens == 0U ? 1 : 0;
    return tokens.has_value();
}

bool read_lengths(const RowContext& context, const Field& input, const Field& output,
                  TraceRow& row) {
    const auto in = read_tokens(context, input, 1);
    row.input_length = in.value_or(0);
    const bool out =
        output.present ? read_output(context, output, row) : assume_output(context, output, row);
    return in && out;
}

bool check_objects(const RowContext& context, const JsonValue& list, std::string_view name) {
    bool objects = !list.present() || (list.is(JsonType::array) && !list.integers());
    for (JsonValue one = list.first(); objects && one.present(); one = one.next()) {
        objects = one.is(JsonType::object);
    }
    return objects ||
           context.refuse(name, list.raw(), "is not a list of objects", "correct the row");
}

bool check_filled(const RowContext& context, const JsonValue& list, std::string_view name,
                  const char* remedy) {
    return check_objects(context, list, name) &&
           (list.size() > 0 ||
            context.refuse(name, list.raw(), list.present() ? "is empty" : "is missing", remedy));
}

std::optional<Trigger> read_trigger(const RowContext& context, const JsonValue& edge,
                                    std::string_view name) {
    const JsonValue trigger = edge.find("trigger");
    if (!trigger.present() || trigger.as_string() == "completion") {
        return Trigger::completion;
    }
    if (trigger.as_string() == "dispatch") {
        return Trigger::dispatch;
    }
    context.refuse(name, edge.raw(), "has a trigger that is not completion or dispatch",
                   "correct the row");
    return std::nullopt;
}

bool read_ids(const RowContext& context, const JsonValue& list) {
    if (!list.is(JsonType::array)) {
        return context.refuse("hash_ids", list.raw(), "is not a list of block ids",
                              "correct the row");
    }
    if (const auto ids = list.integers()) {
        context.draft.ids().add(*ids);
        return true;
    }
    for (JsonValue value = list.first(); value.present(); value = value.next()) {
        const auto id =
            value.is(JsonType::number) ? whole_number(value.raw()) : std::optional<std::uint64_t>();
        if (!id) {
            return context.refuse("hash_ids", value.raw(), "is not a block id",
                                  "use whole numbers from 0 to 2^64 - 1");
        }
        context.draft.ids().add(*id);
    }
    return true;
}

bool read_row_ids(const RowContext& context, const JsonValue& list) {
    context.draft.ids().begin();
    if (!list.present()) {
        context.draft.ids().note_missing(context.line);
    }
    return !list.present() || read_ids(context, list);
}

bool agree_on_block_size(RowContext& context, const Field& size, std::uint32_t tokens) {
    std::uint32_t& chosen = context.rules.block_size;
    if (chosen != 0 && chosen != tokens) {
        return context.refuse(size.name, size.text, "differs from " + std::to_string(chosen),
                              "a trace has one block size; make --block-size agree with it");
    }
    chosen = tokens;
    return true;
}

bool refuse_count(const RowContext& context, std::uint64_t count, std::uint32_t tokens,
                  std::uint64_t needed) {
    return context.refuse("hash_ids", std::to_string(count) + (count == 1 ? " id" : " ids"),
                          "contradicts input_length " + std::to_string(tokens) +
                              ", which at block size " + std::to_string(context.rules.block_size) +
                              " needs " + std::to_string(needed),
                          count_remedy(tokens, count));
}

bool check_count(const RowContext& context, std::uint32_t tokens) {
    TraceDraft& draft = context.draft;
    const std::uint64_t count = draft.ids().count();
    const std::uint64_t needed = blocks_of(tokens, context.rules.block_size);
    draft.ids().counts().add(tokens, count);
    draft.ids().counts().add_wrong(count != needed);
    if (count != needed && !context.rules.lenient) {
        return refuse_count(context, count, tokens, needed);
    }
    if (count > needed) {
        draft.trace().surplus_ids += count - needed;
        draft.ids().cut(needed);
    }
    draft.trace().rows_uncovered += count < needed ? 1 : 0;
    return true;
}

static bool refuse(const RowContext& context, const JsonValue& value, std::string problem,
                   std::string remedy) {
    return context.refuse(value.key(), value.raw(), std::move(problem), std::move(remedy));
}

static bool check_one(const RowContext& context, const RecordedFields& fields) {
    const JsonValue& first = fields.text.present()       ? fields.text
                             : fields.messages.present() ? fields.messages
                                                         : fields.payload;
    const int count = fields.text.present() + fields.messages.present() + fields.payload.present();
    if (count != 1) {
        return refuse(context, first, "is given together with another prompt",
                      "use only one of text_input, messages and payload");
    }
    return true;
}

static bool check_messages(const RowContext& context, const RecordedFields& fields) {
    if (!check_filled(context, fields.messages, fields.messages.key(), "correct the row")) {
        return false;
    }
    for (JsonValue one = fields.messages.first(); one.present(); one = one.next()) {
        if (one.find("role").as_string().value_or("").empty()) {
            return context.refuse(fields.messages.key(), one.raw(), "is a message without a role",
                                  "give every message a role, a string");
        }
        const JsonValue content = given(one.find("content"));
        if (content.present() && !content.is(JsonType::string) && !content.is(JsonType::array)) {
            return context.refuse(fields.messages.key(), one.raw(),
                                  "is a message whose content is not text or a list of parts",
                                  "correct the message; for no content use null");
        }
    }
    return check_objects(context, fields.tools, "tools");
}

static bool check(const RowContext& context, const RecordedFields& fields) {
    if (!check_one(context, fields)) {
        return false;
    }
    if (fields.tools.size() > 0 && !fields.messages.present()) {
        return refuse(context, fields.tools, "is given without messages",
                      "tools need messages, and a payload has its own; remove them");
    }
    if (fields.extra.present() && !fields.extra.is(JsonType::object)) {
        return refuse(context, fields.extra, "is not an object", "correct the row");
    }
    if (fields.messages.present()) {
        return check_messages(context, fields);
    }
    if (fields.payload.present()) {
        return (fields.payload.is(JsonType::object) && fields.payload.size() > 0) ||
               refuse(context, fields.payload, "is not an object with members", "correct the row");
    }
    return !fields.text.as_string().value_or("").empty() ||
           refuse(context, fields.text, "is not text", "write the prompt as a non-empty string");
}

/// Line breaks are between values only, where a JSON text was text of its own.
static std::string on_one_line(std::string json) {
    std::erase_if(json, [](char byte) { return byte == '\n' || byte == '\r'; });
    return json;
}

/// The next row's request is this JSON object.
static void give(const RowContext& context, std::string request) {
    context.draft.set_body(on_one_line(std::move(request)));
    context.draft.trace().recorded = true;
}

void give_chat(const RowContext& context, const ChatTexts& chat) {
    std::string request;
    JsonWriter json(request);
    json.begin_object().key("messages").begin_array().raw(chat.messages).end_array();
    if (!chat.tools.empty()) {
        json.key("tools").raw(chat.tools);
    }
    if (!chat.extra.empty()) {
        json.key("extra").raw(chat.extra);
    }
    json.end_object();
    give(context, std::move(request));
}

void give_extra(const RowContext& context, const JsonValue& extra) {
    if (extra.present() && extra.size() > 0) {
        context.draft.set_extra(on_one_line(std::string(extra.raw())));
    }
}

void note_delta(const RowContext& context) {
    context.draft.trace().deltas = true;
    context.draft.remark("row has only new messages: answers of the run go between them",
                         "rows have only new messages: answers of the run go between them");
}

bool read_recorded(const RowContext& context, const RecordedFields& fields) {
    if (!check(context, fields)) {
        return false;
    }
    std::string request;
    JsonWriter json(request);
    json.begin_object();
    const auto add = [&json](const char* name, const JsonValue& value) {
        if (value.present()) {
            json.key(name).raw(value.raw());
        }
    };
    add("text_input", fields.text);
    add("messages", fields.messages);
    add("tools", fields.tools.size() > 0 ? fields.tools : JsonValue());
    if (!fields.tools.present() && fields.messages.present() && !fields.tools_before.empty()) {
        json.key("tools").raw(fields.tools_before);
    }
    add("payload", fields.payload);
    add("extra", fields.extra);
    json.end_object();
    give(context, std::move(request));
    return true;
}

/// The tokens that a body asks for, no fewer; 0 where it sets a mere limit. That is no length:
/// most answers end before it.
static std::uint32_t exact_output_of(const JsonValue& body) {
    const JsonValue newer = given(body.find("max_completion_tokens"));
    const JsonValue limit = newer.present() ? newer : body.find("max_tokens");
    const auto tokens = limit.as_u64();
    const bool exact = body.find("ignore_eos").as_bool().value_or(false) ||
                       body.find("min_tokens").as_u64() == tokens;
    return tokens && exact && *tokens <= row_tokens_max ? static_cast<std::uint32_t>(*tokens) : 0;
}

bool read_recorded_lengths(const RowContext& context, const Field& input, const Field& output,
                           TraceRow& row, const JsonValue& body) {
    row.input_length = 0;
    const std::uint32_t exact = output.present ? 0 : exact_output_of(body);
    row.output_length = exact > 0 ? exact : context.rules.default_output;
    if (input.present) {
        const auto tokens = read_tokens(context, input, 1);
        if (!tokens) {
            return false;
        }
        row.input_length = *tokens;
    }
    if (output.present) {
        return read_output(context, output, row);
    }
    if (exact == 0 && row.output_length > 0) {
        context.draft.remark("row without an output length", "rows without an output length");
    }
    return true;
}

std::int64_t lay_out_turn(const RowContext& context, std::uint32_t session, std::int64_t gap_ns) {
    const SessionTail& last = context.draft.sessions().tail(session);
    context.draft.trace().rows_laid_out += last.last_row == no_row ? 0 : 1;
    return later(last.last_at_ns, gap_ns);
}

std::optional<std::int64_t> read_turn_time(const RowContext& context, const Field& time,
                                           std::uint32_t session, std::int64_t gap_ns) {
    if (time.present) {
        return read_time(context, time);
    }
    if (context.rules.sessions == Sessions::recorded) {
        context.refuse(time.name, "", "is missing: the row follows its session's previous answer",
                       "use --sessions closed to send it when that answer has ended, or --sessions "
                       "open to send it by the recorded gaps, as if answers took no time");
        return std::nullopt;
    }
    const bool first = context.draft.sessions().tail(session).last_row == no_row;
    return first ? 0 : lay_out_turn(context, session, gap_ns);
}

bool admit_untimed(RowContext& context, const char* problem, const char* remedy,
                   std::string_view field, std::string_view value, const char* more) {
    if (context.rules.sessions != Sessions::recorded) {
        return true;
    }
    context.stop = Stop::trace;
    return context.refuse(field, value, problem, std::string(remedy) + more);
}

bool admit_conversations(RowContext& context, const char* more) {
    return admit_untimed(
        context, "has conversations, which have no arrival times",
        "use --sessions closed to start each at time 0 (replay --users N: N at a time) with turns "
        "waiting for answers, or --sessions open to send turns by the recorded delays",
        {}, {}, more);
}

}  // namespace driftless
