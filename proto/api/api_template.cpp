#include "proto/api/api_template.hpp"

#include <algorithm>

#include "proto/api/event.hpp"
#include "proto/api/template_body.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/http/url.hpp"

namespace driftless {

namespace {

struct Place {
    std::string_view name;
    JsonPointer ApiTemplate::* pointer;
};
constexpr Place places[] = {
    {"content", &ApiTemplate::content},
    {"reasoning", &ApiTemplate::reasoning},
    {"finish_reason", &ApiTemplate::finish_reason},
    {"prompt_tokens", &ApiTemplate::prompt_tokens},
    {"completion_tokens", &ApiTemplate::completion_tokens},
    {"cached_tokens", &ApiTemplate::cached_tokens},
    {"response_id", &ApiTemplate::response_id},
    {"error", &ApiTemplate::error},
};

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
            const auto place =
                std::find_if(std::begin(places), std::end(places),
                             [&member](const Place& known) { return known.name == member.key(); });
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
        const FilledBody filled = fill_body(member, {}, {});
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
