// Langfuse: observations as its blob export, its batch export and its API write them (snake and
// camel case), a line each, as pages (`data`), or inside their traces (`observations`).
#include "proto/logs/fields.hpp"
#include "proto/logs/format.hpp"
#include "proto/logs/messages.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

bool is_observation(const JsonValue& object) {
    return object.find("type").is(JsonType::string) &&
           member(object, {"trace_id", "traceId"}).present() &&
           member(object, {"start_time", "startTime"}).present();
}

/// A page or a trace: observations inside.
JsonValue list_of(const JsonValue& object) {
    const JsonValue list = member(object, {"observations", "data"});
    return list.is(JsonType::array) && is_observation(list.first()) ? list : JsonValue{};
}

bool matches(const JsonValue& object) {
    return is_observation(object) || list_of(object).present();
}

/// Its usage keys are parts that add up: "input", "input_cached_tokens", "output",
/// "output_reasoning_tokens"; Anthropic's cache counts say input in their names, too.
std::optional<std::uint32_t> sum_of(const JsonValue& usage, std::string_view kind) {
    std::optional<std::uint32_t> sum;
    for (JsonValue one = usage.first(); one.present(); one = one.next()) {
        const auto tokens = tokens_of(one);
        const bool cost = one.key().find("ost") != std::string_view::npos;
        if (tokens && !cost && one.key().find(kind) != std::string_view::npos &&
            sum.value_or(0) + *tokens <= row_tokens_max) {
            sum = sum.value_or(0) + *tokens;
        }
    }
    return sum;
}

void read_counts(const LogContext& context, const JsonValue& object, LogCall& call) {
    JsonValue usage = member(object, {"usage_details", "usageDetails", "usage"});
    if (const auto text = usage.as_string()) {
        const Result<JsonValue> parsed = context.inner.parse(*text);
        usage = parsed ? parsed.value() : JsonValue{};
    }
    if (const auto own = tokens_of(member(usage, {"promptTokens", "prompt_tokens"}))) {
        call.input_tokens = own;
        call.output_tokens = tokens_of(member(usage, {"completionTokens", "completion_tokens"}));
        return;
    }
    const auto input = sum_of(usage, "input");
    const auto output = sum_of(usage, "output");
    // Where a model has no tokenizer there, all counts are 0: that is no count.
    call.input_tokens = input.value_or(0) > 0 ? input : call.input_tokens;
    call.output_tokens = input.value_or(0) + output.value_or(0) > 0 ? output : call.output_tokens;
}

void read_observation(const LogContext& context, const JsonValue& object,
                      std::string_view session) {
    if (text_member(object, {"type"}) != "GENERATION") {
        context.remark("observation other than GENERATION left out",
                       "observations other than GENERATION left out");
        return;
    }
    LogCall call;
    if (!read_times(context, member(object, {"start_time", "startTime"}),
                    member(object, {"end_time", "endTime"}), "start_time", call)) {
        return;
    }
    add_messages(context, member(object, {"input"}), call);
    read_response(context, member(object, {"output"}), call);
    read_counts(context, object, call);
    call.failed = text_member(object, {"level"}) == "ERROR";
    const bool first_chunk =
        member(object, {"completion_start_time", "completionStartTime"}).present();
    call.streamed = first_chunk ? std::optional(true) : std::nullopt;
    const std::string_view own = text_member(object, {"session_id", "sessionId"});
    call.session = !own.empty()       ? own
                   : !session.empty() ? session
                                      : text_member(object, {"trace_id", "traceId"});
    call.id = text_member(object, {"id"});
    call.model = text_member(object, {"model", "provided_model_name", "providedModelName"});
    context.keep(call, [&](std::string_view name) { return object.find_path(name); });
    context.add(std::move(call));
}

void read(LogContext& context, const JsonValue& object) {
    const JsonValue list = list_of(object);
    if (!list.present()) {
        read_observation(context, object, "");
        return;
    }
    const std::string outside = context.place;
    const std::string_view session = text_member(object, {"session_id", "sessionId"});
    std::size_t number = 0;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        context.place = outside + std::string(list.key()) + "[" + std::to_string(number++) + "].";
        read_observation(context, one, session);
    }
    context.place = outside;
}

}  // namespace

constinit const LogFormat langfuse_log = {
    .name = "langfuse",
    .what = "Langfuse",
    .matches = matches,
    .read = read,
};

}  // namespace driftless
