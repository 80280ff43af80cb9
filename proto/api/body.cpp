#include "proto/api/body.hpp"

#include <algorithm>

#include "proto/json/write.hpp"

namespace driftless {

std::string_view length_name_of(const BodySpec& spec, std::string_view usual) {
    return spec.length_member.empty() ? usual : spec.length_member;
}

void set_member(std::vector<BodyMember>& members, std::string_view name, std::string_view json) {
    const auto same =
        std::find_if(members.begin(), members.end(),
                     [name](const BodyMember& member) { return member.name == name; });
    if (json == "null") {
        if (same != members.end()) {
            members.erase(same);
        }
    } else if (same != members.end()) {
        same->json = json;
    } else {
        members.push_back({std::string(name), std::string(json)});
    }
}

bool has_member(const std::vector<BodyMember>& members, std::string_view name) {
    return std::any_of(members.begin(), members.end(),
                       [name](const BodyMember& member) { return member.name == name; });
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
    out += ',';
    out += in_json_quotes(name);
    out += ':';
    out += value;
}

namespace {

/// Applies the members of `object` to the list that holds the length. True: it sets the length.
bool apply_beside_length(const JsonValue& object, const BodyShape& shape,
                         std::vector<BodyMember>& members) {
    bool length_taken = false;
    for (JsonValue member = object.first(); member.present(); member = member.next()) {
        length_taken = length_taken || member.key() == shape.length_name;
        set_member(members, member.key(), member.raw());
    }
    return length_taken;
}

/// Applies `--extra-body`; gives whether it takes the length out of our hands.
Result<bool> apply_extra(const BodySpec& spec, const BodyShape& shape, BodyMembers& members) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(spec.extra_body);
    if (!extra) {
        return extra.error();
    }
    if (!extra.value().is(JsonType::object)) {
        return Error{ErrorCode::invalid, 0, "is not a JSON object"};
    }
    bool length_taken = false;
    for (JsonValue member = extra.value().first(); member.present(); member = member.next()) {
        const std::string_view name = member.key();
        if (name == shape.prompt_name) {
            return extra_takes_prompt;
        }
        if (!shape.nest.empty() && name == shape.nest) {
            if (!member.is(JsonType::object)) {
                return Error{ErrorCode::invalid, 0,
                             "has other members; give an object, which is merged into it"};
            }
            length_taken = apply_beside_length(member, shape, members.nested) || length_taken;
            continue;
        }
        length_taken = length_taken || (shape.nest.empty() && name == shape.length_name);
        set_member(has_member(members.first, name) ? members.first : members.last, name,
                   member.raw());
    }
    return length_taken;
}

void append_members(std::string& out, const std::vector<BodyMember>& members) {
    for (const BodyMember& member : members) {
        append_member(out, member.name, member.json);
    }
}

}  // namespace

std::string in_json_quotes(std::string_view text) {
    std::string out;
    JsonWriter(out).string(text);
    return out;
}

std::string joined_objects(std::string_view first, std::string_view second) {
    std::vector<BodyMember> all;
    for (const std::string_view text : {first, second}) {
        JsonDocument document;
        const Result<JsonValue> object = document.parse(text);
        const JsonValue members = object ? object.value() : JsonValue();
        for (JsonValue one = members.first(); one.present(); one = one.next()) {
            if (!has_member(all, one.key())) {
                all.push_back({std::string(one.key()), std::string(one.raw())});
            }
        }
    }
    std::string out;
    append_members(out, all);
    out.resize(std::max<std::size_t>(out.size(), 1));
    out.front() = '{';  // in place of the first comma
    return out + '}';
}

// One by one, so that the one at fault has a name.
std::string refused_extra(const Dialect& dialect, BodySpec spec, std::string_view extra) {
    JsonDocument document;
    const Result<JsonValue> object = document.parse(extra);
    const JsonValue members = object ? object.value() : JsonValue();
    for (JsonValue member = members.first(); member.present(); member = member.next()) {
        if (member.key() == "stream" && member.as_bool() != spec.stream) {
            return "\"stream\" decides how answers are read; remove it";
        }
        spec.extra_body.clear();
        JsonWriter json(spec.extra_body);
        json.begin_object().key(member.key()).raw(member.raw());
        json.end_object();
        if (const Result<BodyFrame> frame = dialect.frame(spec); !frame) {
            return in_json_quotes(member.key()) + " " + frame.error().doing;
        }
    }
    return "";
}

std::vector<BodyMember> model_member(const BodySpec& spec) {
    return spec.model.empty() ? std::vector<BodyMember>()
                              : std::vector<BodyMember>{{"model", in_json_quotes(spec.model)}};
}

BodyMembers flat_members(const BodySpec& spec) {
    BodyMembers members;
    members.first = model_member(spec);
    if (spec.stream) {
        members.last.push_back({"stream", "true"});
    }
    members.last.push_back({"temperature", "0"});
    if (spec.output == OutputRule::exact && spec.ignore_eos) {
        members.last.push_back({"ignore_eos", "true"});
    }
    return members;
}

Result<BodyFrame> make_frame(const BodySpec& spec, const BodyShape& shape, BodyMembers members) {
    BodyFrame frame;
    frame.has_length = spec.output != OutputRule::free;
    if (!spec.extra_body.empty()) {
        const Result<bool> length_taken = apply_extra(spec, shape, members);
        if (!length_taken) {
            return length_taken.error();
        }
        frame.has_length = frame.has_length && !length_taken.value();
    }
    append_members(frame.before, members.first);
    append_member(frame.before, shape.prompt_name, shape.prompt_open);
    frame.before.front() = '{';  // in place of the first comma
    frame.between = shape.prompt_close;
    std::string inside;
    if (frame.has_length) {
        append_member(inside, shape.length_name, {});
    }
    std::string behind;
    append_members(behind, members.nested);
    if (!shape.nest.empty()) {
        behind += '}';
        // What comes first in the nest has no comma before it.
        std::string& first = frame.has_length ? inside : behind;
        first.erase(0, first.front() == ',' ? 1 : 0);
        append_member(frame.between, shape.nest, "{");
    }
    frame.between += inside;
    frame.after = behind;
    append_members(frame.after, members.last);
    frame.after += '}';
    return frame;
}

}  // namespace driftless
