// The dialect of a file: bodies with their placeholders filled, events read by pointers.
#include "proto/api/api_template.hpp"
#include "proto/api/body.hpp"
#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"
#include "proto/api/template_body.hpp"
#include "proto/core/check.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

constexpr TokenizeForm all_tokenize_forms[] = {TokenizeForm::prompt, TokenizeForm::prompt_v1,
                                               TokenizeForm::content, TokenizeForm::inputs};

/// A server that nobody has described yet: `--api template` before its file is read.
Result<BodyFrame> make_no_frame(const BodySpec&) {
    return Error{ErrorCode::invalid, 0, "use --api template without --template FILE"};
}

void read_no_event(const JsonValue&, EventReading& reading) {
    reading.kind = EventReading::Kind::ignored;
}

void read_usage(const ApiTemplate& form, const JsonValue& root, EventReading& reading) {
    reading.prompt_tokens = count_of(form.prompt_tokens.find(root));
    reading.completion_tokens = count_of(form.completion_tokens.find(root));
    reading.cached_tokens = count_of(form.cached_tokens.find(root));
    reading.has_usage =
        reading.prompt_tokens >= 0 || reading.completion_tokens >= 0 || reading.cached_tokens >= 0;
    reading.usage_is_running =
        reading.has_usage && reading.token_bearing && reading.finish_reason.empty();
}

}  // namespace

Result<BodyFrame> make_template_frame(const ApiTemplate& form, const BodySpec& spec) {
    if (spec.prompt == PromptKind::ids && !form.prompt_alone) {
        return Error{ErrorCode::invalid, 0, "put token ids into the text of a template"};
    }
    JsonDocument document;
    const Result<JsonValue> body = document.parse(form.body);
    CHECK(static_cast<bool>(body));
    JsonDocument extra_document;
    JsonValue extra;
    if (!spec.extra_body.empty()) {
        const Result<JsonValue> read = extra_document.parse(spec.extra_body);
        if (!read) {
            return read.error();
        }
        if (!read.value().is(JsonType::object)) {
            return Error{ErrorCode::invalid, 0, "is not a JSON object"};
        }
        extra = read.value();
    }
    const FilledBody filled = fill_body(body.value(), spec, extra);
    if (!filled.extra_fits) {
        return extra_takes_prompt;
    }
    const std::string& text = filled.text;
    const std::size_t prompt = text.find(prompt_mark);
    const std::size_t length = text.find(length_mark);
    BodyFrame frame;
    frame.has_length = length != std::string::npos;
    frame.before = text.substr(0, prompt);
    frame.between = text.substr(prompt + 1, frame.has_length ? length - prompt - 1 : length);
    frame.after = frame.has_length ? text.substr(length + 1) : "";
    return frame;
}

bool ends_stream(const ApiTemplate& form, std::string_view data) {
    return !form.end.empty() && trim(data, white_space) == form.end;
}

void read_template_event(const ApiTemplate& form, const JsonValue& root, EventReading& reading) {
    if (const auto message = error_said(form.error.find(root))) {
        reading.kind = EventReading::Kind::error;
        reading.error_message = *message;
        return;
    }
    const JsonValue content = form.content.find(root);
    const JsonValue finish = form.finish_reason.find(root);
    reading.content = text_of(content);
    reading.reasoning = text_of(form.reasoning.find(root));
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty();
    reading.repeats_text = form.repeats_text;
    reading.finish_reason = finish.as_bool().value_or(false) ? "stop" : text_of(finish);
    reading.response_id = text_of(form.response_id.find(root));
    read_usage(form, root, reading);
    if (!content.present() && !reading.token_bearing && !reading.has_usage &&
        reading.finish_reason.empty() && reading.response_id.empty()) {
        reading.kind = EventReading::Kind::ignored;
    }
}

Dialect dialect_of(const ApiTemplate& form) {
    Dialect dialect = template_dialect;
    dialect.default_path = form.path.c_str();
    dialect.framing = form.framing;
    dialect.takes_ids = form.prompt_alone;
    dialect.has_ignore_eos = form.has_ignore_eos;
    dialect.names_model = form.has_model;
    dialect.repeats_text = form.repeats_text;
    dialect.reports_prompt_tokens = form.prompt_tokens.leads();
    dialect.reports_cached_tokens = form.cached_tokens.leads();
    dialect.has_end_mark = !form.end.empty() || form.finish_reason.leads();
    dialect.form = &form;
    return dialect;
}

// Whether a chat template stands around the prompt is not known: so it is taken to.
const Dialect template_dialect{
    .api = Api::user_template,
    .name = "template",
    .help = "any API that --template FILE describes (driftless help templates.md)",
    .takes_ids = true,
    .templated = true,
    .tokenize_forms = all_tokenize_forms,
    .described_by_file = true,
    .make_body_frame = make_no_frame,
    .read_event = read_no_event};

}  // namespace driftless
