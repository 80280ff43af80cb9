#include "proto/api/template_body.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "proto/api/body.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::string_view prompt_name = "{prompt}";
constexpr std::string_view length_name = "\"{output_length}\"";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";

bool is_container(const JsonValue& value) {
    return value.is(JsonType::object) || value.is(JsonType::array);
}

/// Walks over ours, with what is to be merged beside it, and writes as it goes.
class Filler {
  public:
    explicit Filler(const BodySpec& spec) : spec_(spec) {}

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
            return in_json_quotes(spec_.model);
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

std::string_view placeholder_in(std::string_view text) {
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

FilledBody fill_body(const JsonValue& body, const BodySpec& spec, const JsonValue& extra) {
    return Filler(spec).fill(body, extra);
}

}  // namespace driftless
