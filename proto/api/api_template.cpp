#include "proto/api/api_template.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/http/request.hpp"
#include "proto/json/document.hpp"
#include "proto/json/put.hpp"
#include "proto/json/write.hpp"

namespace driftless {

// Template body: the body that a user describes, with its placeholders filled. What makes no sense
// is refused before rows are sent.

/// These bytes mark the row's prompt and length in a filled body. No JSON text contains them.
static constexpr char prompt_mark = '\x01';
static constexpr char length_mark = '\x02';

static constexpr const char* placeholder_names =
    "{prompt}, {output_length}, {model}, {stream}, {ignore_eos}";

/// The first of those placeholders in a text; empty: none.
static std::string_view placeholder_in(std::string_view text) {
    std::string_view known = placeholder_names;
    while (!known.empty()) {
        const std::string_view name = known.substr(0, known.find(','));
        if (text.find(name) != std::string_view::npos) {
            return name;
        }
        known.remove_prefix(std::min(name.size() + 2, known.size()));
    }
    return {};
}

namespace {

struct FilledBody {
    std::string text;
    std::string unknown;        ///< the first placeholder that is none of ours; empty: none
    std::string misplaced;      ///< the first string with one that goes out unfilled; empty: none
    bool prompt_alone = false;  ///< {prompt} is a whole value
    bool extra_fits = true;     ///< the extra members leave the prompt where it is
};

}  // namespace

static constexpr std::string_view prompt_name = "{prompt}";
static constexpr std::string_view length_name = "\"{output_length}\"";
static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";

namespace {

/// Walks over ours, with what is to be merged beside it, and writes as it goes.
///
/// Fills `{prompt}` inside any string, and the other placeholders where they are a whole string.
/// The length is left out, with the member whose value it is, under `--output free`.
class Filler {
  public:
    explicit Filler(const BodySpec& spec) : spec_(spec) {}

    /// `extra` (absent: none) is an object that goes into the body as a merge patch does (RFC
    /// 7396): objects of the same name member by member, all else in place of ours, a null removes
    /// ours. It does not fit where it would take away the prompt, or more than the length alone.
    FilledBody fill(const JsonValue& body, const JsonValue& extra) {
        open({body, extra});
        JsonValue at = body.first();
        while (true) {  // ends: each turn leaves a value of the body behind
            if (at.present() && write(at)) {
                at = at.first();
                continue;
            }
            if (!at.present()) {
                at = close();
                if (around_.empty()) {
                    return std::move(filled_);
                }
            }
            at = at.next();
        }
    }

  private:
    /// An object or array that is being written, and what goes into it; absent: nothing does.
    struct Level {
        JsonValue ours;
        JsonValue extra;
    };

    void open(const Level& level) {
        level.ours.is(JsonType::object) ? json_.begin_object() : json_.begin_array();
        around_.push_back(level);  // bounded by json_depth_max
    }

    /// Ends the innermost level, behind the members that are new in it.
    JsonValue close() {
        const Level level = around_.back();
        around_.pop_back();
        for (JsonValue one = level.extra.first(); one.present(); one = one.next()) {
            const bool is_first = level.extra.find(one.key()).raw().data() == one.raw().data();
            if (is_first && !level.ours.find(one.key()).present()) {
                put(one);
            }
        }
        level.ours.is(JsonType::object) ? json_.end_object() : json_.end_array();
        return level.ours;
    }

    /// Writes one member or element. True: it was opened, and what it holds comes next.
    bool write(const JsonValue& ours) {
        const Level& level = around_.back();
        const bool is_member = level.ours.is(JsonType::object);
        const JsonValue extra = is_member ? level.extra.find(ours.key()) : JsonValue();
        if (extra.present() && !(extra.is(JsonType::object) && ours.is(JsonType::object))) {
            filled_.extra_fits = filled_.extra_fits && may_go(ours);
            put(extra);
            return false;
        }
        if (spec_.output == OutputRule::free && ours.raw() == length_name) {
            return false;
        }
        if (is_member) {
            json_.key(ours.key());
        }
        if (is_container(ours)) {
            open({ours, extra});
            return true;
        }
        json_.raw(fill_scalar(ours));
        return false;
    }

    /// A member of the user's, as it stands; several servers refuse nulls.
    void put(const JsonValue& extra) {
        if (!extra.is(JsonType::null)) {
            json_.key(extra.key()).raw(extra.raw());
        }
    }

    static bool may_go(const JsonValue& ours) {
        const std::string_view raw = ours.raw();
        return raw == length_name || (raw.find(prompt_name) == std::string_view::npos &&
                                      raw.find(length_name) == std::string_view::npos);
    }

    std::string fill_scalar(const JsonValue& value) {
        std::string raw(value.raw());
        if (!value.is(JsonType::string)) {
            return raw;
        }
        const std::string_view text = std::string_view(raw).substr(1, raw.size() - 2);
        if (text == prompt_name) {
            filled_.prompt_alone = true;
            const char* const around = spec_.prompt == PromptKind::ids ? "[]" : "\"\"";
            return {around[0], prompt_mark, around[1]};
        }
        if (text.size() > 2 && text.starts_with('{') &&
            text.find_first_not_of(letters, 1) == text.size() - 1 && text.ends_with('}')) {
            return fill_placeholder(raw);
        }
        if (const std::size_t at = raw.find(prompt_name); at != std::string::npos) {
            raw.replace(at, prompt_name.size(), 1, prompt_mark);
        }
        if (filled_.misplaced.empty() && !placeholder_in(raw).empty()) {
            filled_.misplaced = std::string(value.raw());
        }
        return raw;
    }

    std::string fill_placeholder(const std::string& raw) {
        if (raw == length_name) {
            return {length_mark};
        }
        if (raw == "\"{model}\"") {
            return json_text(spec_.model);
        }
        if (raw == "\"{stream}\"") {
            return spec_.stream ? "true" : "false";
        }
        if (raw == "\"{ignore_eos}\"") {
            return spec_.output == OutputRule::exact && spec_.ignore_eos ? "true" : "false";
        }
        filled_.unknown = filled_.unknown.empty() ? raw : filled_.unknown;
        return raw;
    }

    const BodySpec& spec_;
    FilledBody filled_;
    JsonWriter json_{filled_.text};
    std::vector<Level> around_;
};

}  // namespace

// The dialect of a file: bodies with their placeholders filled, events read by pointers.

static constexpr TokenizeForm all_tokenize_forms[] = {TokenizeForm::prompt, TokenizeForm::prompt_v1,
                                                      TokenizeForm::content, TokenizeForm::inputs};

/// `--api template` before its file is read.
static Result<BodyFrame> make_no_frame(const BodySpec&) {
    return Error{ErrorCode::invalid, 0, "use --api template without --template FILE"};
}

static void read_no_event(const JsonValue&, EventReading& reading) {
    reading.kind = EventReading::Kind::ignored;
}

static void read_usage(const ApiTemplate& form, const JsonValue& root, EventReading& reading) {
    reading.prompt_tokens = count_of(form.prompt_tokens.find(root));
    reading.completion_tokens = count_of(form.completion_tokens.find(root));
    reading.cached_tokens = count_of(form.cached_tokens.find(root));
    reading.has_usage =
        reading.prompt_tokens >= 0 || reading.completion_tokens >= 0 || reading.cached_tokens >= 0;
    reading.usage_is_running =
        reading.has_usage && reading.token_bearing && reading.finish_reason.empty();
}

Result<BodyFrame> make_template_frame(const ApiTemplate& form, const BodySpec& spec) {
    if (spec.prompt == PromptKind::ids && !form.prompt_alone) {
        return Error{ErrorCode::invalid, 0, "put token ids into the text of a template"};
    }
    JsonDocument document;
    const Result<JsonValue> body = document.parse(form.body);
    CHECK(static_cast<bool>(body));
    JsonDocument extra_document;
    const Result<JsonValue> extra = read_extra_body(spec, extra_document);
    if (!extra) {
        return extra.error();
    }
    const FilledBody filled = Filler(spec).fill(body.value(), extra.value());
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

namespace {

struct Place {
    std::string_view name;
    JsonPointer ApiTemplate::* pointer;
};

}  // namespace

static constexpr Place places[] = {
    {"content", &ApiTemplate::content},
    {"reasoning", &ApiTemplate::reasoning},
    {"finish_reason", &ApiTemplate::finish_reason},
    {"prompt_tokens", &ApiTemplate::prompt_tokens},
    {"completion_tokens", &ApiTemplate::completion_tokens},
    {"cached_tokens", &ApiTemplate::cached_tokens},
    {"response_id", &ApiTemplate::response_id},
    {"error", &ApiTemplate::error},
};

namespace {

/// Reads member by member; the first fault is said and ends it.
class Reader {
  public:
    Reader(ApiTemplate& form, std::string& why) : form_(form), why_(why) {}

    Result<void> read(const JsonValue& root) {
        for (JsonValue member = root.first(); member.present(); member = member.next()) {
            const Result<void> taken = read_member(member);
            if (!taken) {
                return taken;
            }
        }
        if (form_.path.empty()) {
            return missing("path", "\"/generate\"");
        }
        if (form_.body.empty()) {
            return missing("body", R"({"prompt": "{prompt}", "max_tokens": "{output_length}"})");
        }
        return has_content_ ? Result<void>{} : missing("event.content", "\"/choices/0/text\"");
    }

  private:
    Result<void> read_member(const JsonValue& member) {
        const std::string_view name = member.key();
        if (name == "path") {
            return read_path(member);
        }
        if (name == "body") {
            return read_body(member);
        }
        if (name == "event") {
            return read_event(member);
        }
        if (name == "framing") {
            const auto text = member.as_string();
            form_.framing = text == "ndjson" ? Framing::lines : Framing::sse;
            return text == "sse" || text == "ndjson"
                       ? Result<void>{}
                       : wrong(name, member, "is not one of \"sse\", \"ndjson\"");
        }
        if (name == "end") {
            form_.end = trim(member.as_string().value_or(""), white_space);  // as payloads are read
            return form_.end.empty() ? wrong(name, member, R"(is not a string such as "[END]")")
                                     : Result<void>{};
        }
        if (name == "repeats_text") {
            form_.repeats_text = member.as_bool().value_or(false);
            return member.is(JsonType::boolean) ? Result<void>{}
                                                : wrong(name, member, "is not true or false");
        }
        return wrong(name, member,
                     "is not known; the members are path, body, event, framing, end, repeats_text");
    }

    Result<void> read_path(const JsonValue& member) {
        form_.path = std::string(member.as_string().value_or(""));
        if (!placeholder_in(form_.path).empty()) {
            return wrong("path", member,
                         "has a placeholder, which is not filled there; write the text itself");
        }
        const bool good = form_.path.starts_with('/') && is_request_target(form_.path);
        return good ? Result<void>{}
                    : wrong("path", member, "is not a path; write it as in \"/v1/generate\"");
    }

    Result<void> read_event(const JsonValue& event) {
        if (!event.is(JsonType::object)) {
            return wrong("event", event,
                         R"(is not an object; write it as in {"content": "/text"})");
        }
        for (JsonValue member = event.first(); member.present(); member = member.next()) {
            const std::string name = "event." + std::string(member.key());
            const auto* const place = std::ranges::find(places, member.key(), &Place::name);
            if (place == std::end(places)) {
                return wrong(name, member,
                             "is not known; the members are content, reasoning, finish_reason, "
                             "prompt_tokens, completion_tokens, cached_tokens, response_id, error");
            }
            Result<JsonPointer> pointer = JsonPointer::parse(member.as_string().value_or("?"));
            if (!pointer) {
                return wrong(name, member, pointer.error().doing);
            }
            form_.*place->pointer = std::move(pointer).value();
            has_content_ = has_content_ || place->pointer == &ApiTemplate::content;
        }
        return {};
    }

    Result<void> read_body(const JsonValue& member) {
        if (!member.is(JsonType::object)) {
            return wrong("body", member,
                         R"(is not an object; write it as in {"text": "{prompt}"})");
        }
        form_.body = std::string(member.raw());
        const FilledBody filled = Filler(BodySpec()).fill(member, {});
        if (!filled.unknown.empty()) {
            return fault(filled.unknown + " in body is not a placeholder; the placeholders are " +
                         placeholder_names);
        }
        const std::string& text = filled.text;
        if (std::count(text.begin(), text.end(), prompt_mark) != 1 ||
            text.find("{prompt}") != std::string::npos) {
            return fault(
                "body has no {prompt}, or more than one; write \"{prompt}\" once, where the prompt "
                "goes");
        }
        if (!filled.misplaced.empty()) {
            return fault(filled.misplaced +
                         " in body has a placeholder inside a longer text, where only {prompt} is "
                         "filled; make the placeholder the whole text, or write the value itself");
        }
        if (std::count(text.begin(), text.end(), length_mark) != 1 ||
            text.find(length_mark) < text.find(prompt_mark)) {
            return fault(
                "body has no \"{output_length}\" after its {prompt}, or more than one; write it "
                "once, as the limit of output tokens");
        }
        form_.prompt_alone = filled.prompt_alone;
        form_.has_model = form_.body.find("\"{model}\"") != std::string::npos;
        form_.has_ignore_eos = form_.body.find("\"{ignore_eos}\"") != std::string::npos;
        return {};
    }

    Result<void> fault(std::string text) {
        why_ = std::move(text);
        return Error{ErrorCode::invalid, 0, "read the template"};
    }
    Result<void> wrong(std::string_view name, const JsonValue& value, std::string_view what) {
        constexpr std::size_t shown_bytes_max = 60;
        return fault(std::string(name) + ": " +
                     std::string(value.raw().substr(0, shown_bytes_max)) + " " + std::string(what));
    }
    Result<void> missing(std::string_view name, std::string_view example) {
        (void)fault(std::string(name) + " is missing; write it as in " + std::string(example));
        return Error{ErrorCode::missing, 0, "read the template"};
    }

    ApiTemplate& form_;
    std::string& why_;
    bool has_content_ = false;
};

}  // namespace

Result<ApiTemplate> read_api_template(std::string_view text, std::string& why) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    if (!root || !root.value().is(JsonType::object)) {
        const std::size_t at = root ? 0 : document.error_offset();
        const auto line =
            std::count(text.begin(),
                       text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), '\n');
        why = "line " + std::to_string(line + 1) + " is not a JSON object; correct the file";
        return Error{ErrorCode::bad_json, 0, "read the template"};
    }
    ApiTemplate form;
    Reader reader(form, why);
    const Result<void> good = reader.read(root.value());
    if (!good) {
        return good.error();
    }
    Digest digest;
    digest.add(text);
    form.digest = digest.value();
    return form;
}

}  // namespace driftless
