#include "cmd/mock/request_reader.hpp"

#include <algorithm>

#include "cmd/mock/core.hpp"
#include "cmd/mock/pages.hpp"

namespace driftless::mock {

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

void BodyReader::reset(PromptCount& count, PromptKeys keys, HistoryReader* history) {
    count_ = &count;
    history_ = history;
    keys_ = keys;
    at_ = At::outside;
    escaped_ = after_colon_ = in_messages_ = false;
    depth_ = 0;
    objects_ = 0;
    frame_.clear();
    key_.clear();
}

bool BodyReader::feed(std::string_view bytes) {
    while (!bytes.empty() && at_ != At::refused) {
        bytes.remove_prefix(step(bytes));
        if (frame_.size() > frame_bytes_max || count_->too_long()) {
            at_ = At::refused;
        }
    }
    return at_ != At::refused;
}

/// Consumes at least one byte, or changes the state.
std::size_t BodyReader::step(std::string_view bytes) {
    switch (at_) {
        case At::outside:
            return outside(bytes);
        case At::key:
        case At::string:
            return string(bytes);
        case At::text:
        case At::ids:
            return prompt_value(bytes);
        case At::array_head:
            if (is_blank(bytes[0])) {
                return 1;
            }
            at_ = bytes[0] >= '0' && bytes[0] <= '9' ? At::ids : At::outside;
            return 0;
        case At::refused:
            break;
    }
    return bytes.size();
}

std::size_t BodyReader::outside(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size() && at_ == At::outside) {
        const char byte = bytes[used++];
        if (!is_blank(byte)) {  // blanks mean nothing here, and may be many
            frame_ += byte;
            structural(byte);
        }
    }
    return used;
}

void BodyReader::structural(char byte) {
    switch (byte) {
        case '{':
            open(true);
            break;
        case '[': {
            const bool prompt = is_prompt_array();
            open(false);
            if (prompt && at_ == At::outside) {
                at_ = At::array_head;
            }
            break;
        }
        case '}':
        case ']':
            close();
            break;
        case ':':
            after_colon_ = true;
            break;
        case ',':
            after_colon_ = false;
            break;
        case '"':
            open_string();
            break;
        default:
            break;  // a number, a literal, or nonsense that the frame's parser will name
    }
}

void BodyReader::open(bool object) {
    if (depth_ == body_depth_max) {
        at_ = At::refused;
        return;
    }
    if (depth_ == 1 && in_object() && keys_.messages && key_ == "messages") {
        in_messages_ = true;
    }
    if (between_messages()) {
        history_->begin_message();
    }
    objects_ = objects_ << 1 | (object ? 1u : 0u);
    ++depth_;
    after_colon_ = false;
}

void BodyReader::close() {
    if (depth_ > 0) {
        --depth_;
        objects_ >>= 1;
    }
    if (between_messages()) {
        history_->end_message();
    }
    if (depth_ <= 1) {
        in_messages_ = false;
    }
}

void BodyReader::open_string() {
    escaped_ = false;
    if (in_object() && !after_colon_) {
        key_.clear();
        at_ = At::key;
    } else {
        at_ = is_prompt_text() ? At::text : At::string;
        if (at_ == At::text) {
            count_->begin_text();
        }
    }
}

bool BodyReader::is_prompt_text() const {
    if (!in_object()) {
        return false;
    }
    return (in_messages_ && (key_ == "content" || key_ == "text")) ||
           (depth_ == 1 && !keys_.text.empty() && key_ == keys_.text);
}

bool BodyReader::is_prompt_array() const {
    return depth_ == 1 && in_object() && after_colon_ && !keys_.ids.empty() && key_ == keys_.ids;
}

/// A key, or a string that stays in the frame: copied up to its closing quote.
std::size_t BodyReader::string(std::string_view bytes) {
    const bool is_value = at_ == At::string;
    std::size_t used = 0;
    while (used < bytes.size()) {
        const char byte = bytes[used++];
        if (byte == '"' && !escaped_) {
            if (at_ == At::key) {
                key_.append(bytes.substr(0, used - 1));
            }
            at_ = At::outside;
            break;
        }
        escaped_ = byte == '\\' && !escaped_;
    }
    if (at_ == At::key) {
        key_.append(bytes.substr(0, used));
    }
    frame_.append(bytes.substr(0, used));
    if (is_value && at_ == At::outside) {
        note_role();
    }
    return used;
}

/// The string that ends the frame may be the role of a message.
void BodyReader::note_role() {
    if (history_ != nullptr && in_messages_ && depth_ == 3 && in_object() && key_ == "role") {
        history_->set_assistant(frame_.ends_with(R"("assistant")"));
    }
}

std::size_t BodyReader::prompt_value(std::string_view bytes) {
    const std::size_t used = at_ == At::text ? count_->add_text(bytes) : count_->add_ids(bytes);
    if (at_ == At::text && history_ != nullptr && in_messages_) {
        history_->add_text(bytes.substr(0, used));
    }
    if (used == bytes.size()) {
        return used;
    }
    count_->end_value();
    frame_ += bytes[used];  // the quote or the bracket
    if (at_ == At::ids) {
        close();
    }
    at_ = At::outside;
    return used + 1;
}

static std::optional<Refusal> bad_request(std::string message) {
    return Refusal{400, "BadRequestError", std::move(message)};
}

/// As FastAPI's validation errors look once vLLM has turned them into a 400.
static std::optional<Refusal> field_error(std::string_view field, std::string_view problem) {
    std::string message;
    append(message, "1 validation error:\n  {'type': 'value_error', 'loc': ('body', '", field,
           "'), 'msg': '", problem, "'}");
    return bad_request(std::move(message));
}

/// Adds a string that the BodyReader did not recognise as prompt; what it did is empty here.
static void add_left_text(const JsonValue& value, PromptCount& count) {
    const std::string_view inside = value.raw().substr(1, value.raw().size() - 2);
    count.begin_text();
    count.add_text(inside);
    count.end_value();
}

static std::optional<Refusal> read_prompt(const JsonValue& prompt, std::string_view field,
                                          PromptCount& count) {
    if (!prompt.present()) {
        return field_error(field, "Field required");
    }
    if (prompt.is(JsonType::string)) {
        add_left_text(prompt, count);
        return std::nullopt;
    }
    if (!prompt.is(JsonType::array)) {
        return field_error(field, "Input should be a valid string or array");
    }
    if (prompt.size() > 1) {
        return bad_request("one prompt a request: a batch of prompts is not answered here");
    }
    const JsonValue only = prompt.first();
    if (!only.present()) {
        return std::nullopt;
    }
    if (only.is(JsonType::string)) {
        add_left_text(only, count);
    } else if (only.is(JsonType::array) && only.size() > 0 && only.first().is(JsonType::number)) {
        count.add_ids(only.raw().substr(1));
        count.end_value();
    } else {
        return field_error(field, "Input should be a valid string or array of integers");
    }
    return std::nullopt;
}

static std::optional<Refusal> read_messages(const JsonValue& messages, PromptCount& count) {
    if (!messages.present()) {
        return field_error("messages", "Field required");
    }
    if (!messages.is(JsonType::array) || messages.size() == 0) {
        return field_error("messages", "Input should be a non-empty list");
    }
    for (JsonValue message = messages.first(); message.present(); message = message.next()) {
        if (!message.is(JsonType::object)) {
            return field_error("messages", "Input should be a valid dictionary");
        }
        const JsonValue content = message.find("content");
        if (content.is(JsonType::string)) {
            add_left_text(content, count);
        } else if (content.is(JsonType::array)) {
            for (JsonValue part = content.first(); part.present(); part = part.next()) {
                const JsonValue text = part.find("text");
                if (text.is(JsonType::string)) {
                    add_left_text(text, count);
                }
            }
        }
    }
    count.begin_text();  // a template stands around messages without content, too
    return std::nullopt;
}

static std::optional<Refusal> check_model(const JsonValue& body, const ModelLimits& model) {
    const std::optional<std::string_view> name = body.find("model").as_string();
    if (name && *name != model.name) {
        return Refusal{404, "NotFoundError",
                       "The model `" + std::string(*name) + "` does not exist."};
    }
    return std::nullopt;
}

/// The body as an object of a known model.
static std::optional<Refusal> read_body(JsonDocument& document, std::string_view frame,
                                        const ModelLimits& model, JsonValue& body) {
    const Result<JsonValue> parsed = document.parse(frame);
    if (!parsed) {
        return bad_request(
            "1 validation error:\n  {'type': 'json_invalid', 'loc': ('body',), "
            "'msg': 'JSON decode error'}");
    }
    body = parsed.value();
    if (!body.is(JsonType::object)) {
        return bad_request(
            "1 validation error:\n  {'type': 'model_attributes_type', 'loc': "
            "('body',), 'msg': 'Input should be a valid dictionary'}");
    }
    return check_model(body, model);
}

static std::optional<Refusal> check_prompt(const ModelLimits& model, const PromptCount& count) {
    if (count.tokens() == 0) {
        return bad_request("Either prompt or prompt_embeds must be provided and non-empty.");
    }
    if (count.tokens() > model.context_tokens) {
        return bad_request("Input length (" + std::to_string(count.tokens()) +
                           ") exceeds model's maximum context length (" +
                           std::to_string(model.context_tokens) + ").");
    }
    return std::nullopt;
}

/// The newer name goes before the older one.
static std::optional<Refusal> read_length(const JsonValue& body, const AskedShape& shape,
                                          const ModelLimits& model, Asked& asked) {
    const JsonValue holder = shape.nest.empty() ? body : body.find(shape.nest);
    std::string_view field = shape.length;
    const bool is_known = model.knows_new_length || shape.length_too.empty();
    JsonValue length = is_known ? holder.find(field) : JsonValue();
    if ((!length.present() || length.is(JsonType::null)) && !shape.length_too.empty()) {
        field = shape.length_too;
        length = holder.find(field);
    }
    if (!length.present() || length.is(JsonType::null)) {
        return std::nullopt;
    }
    const std::optional<std::uint64_t> tokens = length.as_u64();
    if (!tokens) {
        return field_error(field, "Input should be a valid non-negative integer");
    }
    if (*tokens == 0) {
        return bad_request(std::string(field) + " must be at least 1, got 0.");
    }
    asked.output_tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(*tokens, UINT32_MAX));
    return std::nullopt;
}

static std::optional<Refusal> read_stream_options(const JsonValue& body, const AskedShape& shape,
                                                  Asked& asked) {
    const JsonValue stream = body.find("stream");
    if (stream.present() && !stream.is(JsonType::null) && !stream.is(JsonType::boolean)) {
        return field_error("stream", "Input should be a valid boolean");
    }
    using Streams = AskedShape::Streams;
    asked.stream = stream.as_bool().value_or(shape.streams == Streams::unless_refused);
    if (shape.streams == Streams::always || shape.streams == Streams::never) {
        asked.stream = shape.streams == Streams::always;
    }
    if (!shape.has_options) {
        asked.include_usage = true;
        return std::nullopt;
    }
    const JsonValue options = body.find("stream_options");
    if (!options.is(JsonType::object)) {
        return std::nullopt;
    }
    if (!asked.stream) {
        return bad_request("Stream options can only be defined when `stream=True`.");
    }
    asked.include_usage = options.find("include_usage").as_bool().value_or(false);
    asked.continuous_usage =
        asked.include_usage && options.find("continuous_usage_stats").as_bool().value_or(false);
    return std::nullopt;
}

std::optional<Refusal> RequestReader::read_completion() {
    const AskedShape& shape = voice_->asked;
    const ModelLimits& model = core_.options().model;
    PromptCount& count = prompt_;
    Asked& asked = asked_;
    asked = Asked();
    JsonValue body;
    std::optional<Refusal> refusal = read_body(core_.document(), body_.frame(), model, body);
    if (!refusal) {
        const bool has_ids = !shape.ids.empty() && body.find(shape.ids).present();
        const std::string_view prompt = has_ids ? shape.ids : shape.text;
        refusal = shape.messages ? read_messages(body.find("messages"), count)
                                 : read_prompt(body.find(prompt), prompt, count);
    }
    count.finish();
    if (!refusal) {
        refusal = check_prompt(model, count);
    }
    if (!refusal) {
        refusal = read_length(body, shape, model, asked);
    }
    if (!refusal) {
        refusal = read_stream_options(body, shape, asked);
    }
    if (!refusal && !model.takes_ignore_eos && body.find("ignore_eos").present()) {
        refusal = bad_request("Unrecognized request argument supplied: ignore_eos");
    }
    const std::uint32_t room =
        model.context_tokens - std::min(count.tokens(), model.context_tokens);
    asked.output_tokens = std::min(asked.output_tokens, std::max(room, 1u));
    return refusal;
}

std::optional<Refusal> RequestReader::read_tokenize() {
    const ModelLimits& model = core_.options().model;
    const TokenizeForm form = core_.options().tokenize;
    PromptCount& count = prompt_;
    JsonValue body;
    std::optional<Refusal> refusal = read_body(core_.document(), body_.frame(), model, body);
    if (refusal) {
        return refusal;
    }
    if (form == TokenizeForm::llama_cpp) {  // without content: no tokens, and no complaint
        if (body.find("content").is(JsonType::string)) {
            add_left_text(body.find("content"), count);
            count.finish();
        }
        return std::nullopt;
    }
    if (form == TokenizeForm::tgi) {
        refusal = read_prompt(body.find("inputs"), "inputs", count);
        count.finish();
        return refusal;
    }
    const bool chat = form == TokenizeForm::vllm && body.find("messages").present();
    refusal = chat ? read_messages(body.find("messages"), count)
                   : read_prompt(body.find("prompt"), "prompt", count);
    if (!refusal && (!chat || body.find("add_generation_prompt").as_bool().value_or(true))) {
        count.finish();
    }
    return refusal;
}

std::optional<Refusal> RequestReader::read_template(std::string& escaped) {
    const TemplateTokens around = core_.options().overhead;
    JsonValue body;
    const std::optional<Refusal> refusal =
        read_body(core_.document(), body_.frame(), core_.options().model, body);
    if (refusal) {
        return refusal;
    }
    const JsonValue messages = body.find("messages");
    if (!messages.is(JsonType::array) || messages.size() == 0) {
        return bad_request("'messages' is required");
    }
    for (std::uint32_t i = 0; i < around.pre; ++i) {
        escaped += "<head" + std::to_string(i) + "> ";
    }
    for (JsonValue message = messages.first(); message.present(); message = message.next()) {
        const JsonValue content = message.find("content");
        if (content.is(JsonType::string)) {
            escaped += content.raw().substr(1, content.raw().size() - 2);
            escaped += ' ';
        }
    }
    for (std::uint32_t i = 0; i < around.post; ++i) {
        escaped += "<tail" + std::to_string(i) + "> ";
    }
    return std::nullopt;
}

RequestReader::Found RequestReader::feed(std::string_view& bytes) {
    for (;;) {  // every step consumes bytes or ends the request
        const RequestParser::Step step = parser_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        switch (step.piece) {
            case RequestPiece::need_more:
                return Found::part;
            case RequestPiece::head_done:
                take_head();
                return Found::head;
            case RequestPiece::body:
                body_refused_ = route_ != Route::other && !body_.feed(step.span);
                break;
            case RequestPiece::done:
                return Found::done;
            case RequestPiece::error:
                return Found::bad;
        }
    }
}

void RequestReader::take_head() {
    const std::string_view target = parser_.target();
    const std::string_view path = target.substr(0, target.find('?'));
    voice_ = nullptr;
    route_ = parser_.method() == "POST" ? find_route(path) : Route::other;
    history_.reset();
    const bool check = core_.options().check_history != 0 && route_ == Route::generate;
    body_.reset(prompt_, prompt_keys(), check ? &history_ : nullptr);
    prompt_.reset(core_.options().cache_block_tokens, template_now(), core_.texts(),
                  &core_.options().words);
    if (route_ == Route::tokenize) {
        prompt_.record_tokens();
    }
    body_refused_ = false;
}

/// Where a POST goes.
Route RequestReader::find_route(std::string_view path) {
    const TokenizeForm form = core_.options().tokenize;
    voice_ = find_voice(path, form == TokenizeForm::tgi);
    if (voice_ != nullptr) {
        return Route::generate;
    }
    if (path == "/tokenize" && form != TokenizeForm::none) {
        return Route::tokenize;
    }
    if (path == "/v1/tokenize" && form == TokenizeForm::sglang) {
        return Route::tokenize;
    }
    return path == "/apply-template" && form == TokenizeForm::llama_cpp ? Route::apply_template
                                                                        : Route::other;
}

/// The template around the prompt of this request, as this route counts it.
TemplateTokens RequestReader::template_now() {
    const CoreOptions& options = core_.options();
    TemplateTokens around = options.overhead;
    around.pre += static_cast<std::uint32_t>(core_.count_request() %
                                             (std::uint64_t{options.overhead_varies} + 1));
    if (route_ == Route::tokenize && options.tokenize_overhead) {
        return *options.tokenize_overhead;
    }
    const bool bare = route_ == Route::tokenize && options.tokenize != TokenizeForm::vllm;
    return bare ? TemplateTokens{} : around;
}

/// Where the prompt is in the bodies of this route.
PromptKeys RequestReader::prompt_keys() const {
    if (route_ == Route::generate) {
        return {voice_->asked.text, voice_->asked.ids, voice_->asked.messages};
    }
    if (route_ != Route::tokenize) {
        return {};
    }
    switch (core_.options().tokenize) {
        case TokenizeForm::llama_cpp:
            return {.text = "content"};
        case TokenizeForm::tgi:
            return {.text = "inputs"};
        default:
            return {"prompt", "prompt", true};
    }
}

}  // namespace driftless::mock
