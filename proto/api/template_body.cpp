#include "proto/api/template_body.hpp"

#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::string_view prompt_name = "{prompt}";
constexpr std::string_view length_name = "\"{output_length}\"";

class Filler {
  public:
    Filler(const BodySpec& spec, FilledBody& body) : spec_(spec), body_(body) {}

    /// The value as JSON text, marks in it; empty where it is left out.
    std::string fill(const JsonValue& value) {
        std::string out;
        JsonWriter json(out);
        std::vector<JsonValue> around;  // bounded by json_depth_max
        JsonValue at = value;
        while (true) {  // ends: each turn leaves a value of the text behind
            if (!at.present()) {
                at = around.back();
                around.pop_back();
                at.is(JsonType::object) ? json.end_object() : json.end_array();
            } else if (!is_left_out(at)) {
                if (!around.empty() && around.back().is(JsonType::object)) {
                    json.key(at.key());
                }
                if (at.is(JsonType::object) || at.is(JsonType::array)) {
                    at.is(JsonType::object) ? json.begin_object() : json.begin_array();
                    around.push_back(at);
                    at = at.first();
                    continue;
                }
                json.raw(fill_scalar(at));
            }
            if (around.empty()) {
                return out;
            }
            at = at.next();
        }
    }

  private:
    bool is_left_out(const JsonValue& value) const {
        return spec_.output == OutputRule::free && value.raw() == length_name;
    }

    std::string fill_scalar(const JsonValue& value) {
        std::string raw(value.raw());
        if (!value.is(JsonType::string)) {
            return raw;
        }
        const std::string_view text = std::string_view(raw).substr(1, raw.size() - 2);
        if (text == prompt_name) {
            body_.prompt_alone = true;
            const char* const around = spec_.prompt == PromptKind::ids ? "[]" : "\"\"";
            return {around[0], prompt_mark, around[1]};
        }
        if (const std::size_t at = raw.find(prompt_name); at != std::string::npos) {
            return raw.replace(at, prompt_name.size(), 1, prompt_mark);
        }
        if (text.size() > 2 && text.starts_with('{') &&
            text.find_first_not_of(letters, 1) == text.size() - 1 && text.ends_with('}')) {
            return fill_placeholder(raw);
        }
        return raw;
    }

    std::string fill_placeholder(const std::string& raw) {
        if (raw == length_name) {
            return {length_mark};
        }
        if (raw == "\"{model}\"") {
            return in_json_quotes(spec_.model);
        }
        if (raw == "\"{stream}\"") {
            return spec_.stream ? "true" : "false";
        }
        if (raw == "\"{ignore_eos}\"") {
            return spec_.output == OutputRule::exact && spec_.ignore_eos ? "true" : "false";
        }
        body_.unknown = body_.unknown.empty() ? raw : body_.unknown;
        return raw;
    }

    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    const BodySpec& spec_;
    FilledBody& body_;
};

}  // namespace

FilledBody fill_body(const JsonValue& body, const BodySpec& spec) {
    FilledBody filled;
    Filler filler(spec, filled);
    for (JsonValue member = body.first(); member.present(); member = member.next()) {
        std::string json = filler.fill(member);
        if (!json.empty()) {
            filled.members.push_back({std::string(member.key()), std::move(json)});
        }
    }
    return filled;
}

}  // namespace driftless
