#include "cmd/replay/flags/tools/tool_flags.hpp"

#include <algorithm>
#include <utility>

#include "cmd/secrets.hpp"
#include "proto/core/decimal.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

/// A number may be negative; a flag begins with a letter behind its dashes.
bool is_flag(std::string_view argument) {
    return argument.size() > 1 && argument.front() == '-' &&
           (argument[1] < '0' || argument[1] > '9') && argument[1] != '.';
}

std::size_t count_values(std::span<const std::string> behind) {
    return static_cast<std::size_t>(std::find_if(behind.begin(), behind.end(), is_flag) -
                                    behind.begin());
}

/// Not its name on a hub.
bool is_path(std::string_view text) {
    return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") ||
           text.ends_with(".json") || text.ends_with(".tiktoken") || text.ends_with(".model");
}

/// `text` is the flag of ours, perhaps with its value behind a space.
void add_renamed(const ToolFlag& flag, std::string_view typed, std::string_view value,
                 Spelled& out) {
    const std::string_view ours = flag.text;
    const std::size_t space = ours.find(' ');
    const std::string name(ours.substr(0, space));
    if (!name.empty()) {
        out.typed_as.emplace_back(name, typed);
    }
    do {  // each turn takes a value off
        const std::size_t end =
            flag.values == Values::many ? value.find_first_of(" ,") : value.npos;
        if (!name.empty()) {
            out.arguments.push_back(name);
        }
        if (space != ours.npos || flag.values != Values::none) {
            out.arguments.emplace_back(space != ours.npos ? ours.substr(space + 1)
                                                          : value.substr(0, end));
        }
        value = end == value.npos ? "" : value.substr(end + 1);
    } while (!value.empty());
}

}  // namespace

bool is_one_of(std::string_view list, std::string_view value) {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find('|'));
        if (one == value) {
            return true;
        }
        list.remove_prefix(std::min(one.size() + 1, list.size()));
    }
    return false;
}

const ToolTable* table_of(ForeignTool tool) {
    switch (tool) {
        case ForeignTool::kv_cache_tester:
            return &kv_cache_tester_table();
        case ForeignTool::aiperf:
            return &aiperf_table();
        case ForeignTool::mlperf:
            return &mlperf_table();
        case ForeignTool::vllm:
            return &vllm_table();
        case ForeignTool::sglang:
            return &sglang_table();
        case ForeignTool::guidellm:
            return &guidellm_table();
        case ForeignTool::none:
        case ForeignTool::other:
            break;
    }
    return nullptr;
}

const ToolFlag* ToolFlags::find(std::string_view typed) const {
    const ToolTable own = table_ == nullptr ? ToolTable{} : *table_;
    for (const std::span<const ToolFlag> flags : {own.flags, own.others, common_flags()}) {
        for (const ToolFlag& one : flags) {
            if (is_one_of(one.typed, typed)) {
                return &one;
            }
        }
    }
    return nullptr;
}

std::optional<std::size_t> ToolFlags::take(std::string_view typed, const std::string* value,
                                           std::span<const std::string> behind, Spelled& out) {
    const ToolFlag* const flag = find(typed);
    if (flag == nullptr) {
        return std::nullopt;
    }
    if (flag->values == Values::none) {
        apply(*flag, typed, "", out);
        return 0;
    }
    if (flag->values == Values::many) {
        const std::size_t count = value != nullptr ? 0 : count_values(behind);
        std::string all = value != nullptr ? *value : "";
        for (const std::string& one : behind.subspan(0, count)) {
            all += (all.empty() ? "" : " ") + one;
        }
        apply(*flag, typed, all, out);
        return count;
    }
    if (value == nullptr && behind.empty()) {
        refuse_line(out, std::string(typed) + ": needs a value");
        return 0;
    }
    apply(*flag, typed, value != nullptr ? *value : behind.front(), out);
    return value != nullptr ? 0 : 1;
}

void ToolFlags::apply(const ToolFlag& flag, std::string_view typed, std::string_view value,
                      Spelled& out) {
    const std::string shown =
        std::string(typed) + (value.empty() ? "" : " " + mask_value(typed, value));
    switch (flag.becomes) {
        case Becomes::flag:
            add_renamed(flag, typed, value, out);
            return;
        case Becomes::nothing:
            add_note(out, shown + " is ignored: " + flag.text);
            return;
        case Becomes::refused:
            if (is_one_of(flag.neutral, value) && flag.values != Values::none) {
                add_note(out, shown + " is ignored: it changes nothing here");
            } else {
                refuse_line(out, shown + ": " + flag.text);
            }
            return;
        case Becomes::together:
            kept_.keep(flag.typed.substr(0, flag.typed.find('|')), value, flag.values);
            return;
    }
}

void ToolFlags::finish(Spelled& out) const {
    if (table_ != nullptr && out.refused.empty()) {
        table_->finish(kept_, out);
    }
}

void add_flag(Spelled& out, std::string_view flag, std::string_view value) {
    out.arguments.emplace_back(flag);
    out.arguments.emplace_back(value);
}

bool has_argument(const Spelled& out, std::string_view flag) {
    return std::find(out.arguments.begin(), out.arguments.end(), flag) != out.arguments.end();
}

void add_default(Spelled& out, std::string_view flag, std::string_view value) {
    if (!has_argument(out, flag)) {
        add_flag(out, flag, value);
    }
}

void add_note(Spelled& out, std::string note) {
    out.notes.push_back(std::move(note));
}

void refuse_line(Spelled& out, std::string why) {
    if (out.refused.empty()) {
        out.refused = std::move(why);
    }
}

void extend_members(std::string& members, std::string_view name, std::string_view value) {
    const bool literal =
        value == "true" || value == "false" || value == "null" || scan_decimal(value).has_value();
    std::string member;
    JsonWriter json(member);
    json.begin_object().key(name);
    literal ? json.raw(value) : json.string(value);
    json.end_object();
    members += (members.empty() ? "" : ",") + member.substr(1, member.size() - 2);
}

void add_members(Spelled& out, const std::string& members) {
    if (!members.empty()) {
        add_flag(out, "--extra-body", "{" + members + "}");
    }
}

void add_members_beside(Spelled& out, const std::string& members, const std::string& object) {
    JsonDocument document;
    const Result<JsonValue> given = document.parse(object);
    JsonDocument others;
    const Result<JsonValue> added = others.parse("{" + members + "}");
    if (object.empty() || !added || !given || !given.value().is(JsonType::object)) {
        add_members(out, members);
        if (!object.empty()) {
            add_flag(out, "--extra-body", object);  // what is wrong with it, its own parser says
        }
        return;
    }
    std::vector<std::string> names;
    for (JsonValue one = given.value().first(); one.present(); one = one.next()) {
        names.emplace_back(one.key());
    }
    std::string all = object.substr(0, object.rfind('}'));
    for (JsonValue one = added.value().first(); one.present(); one = one.next()) {
        if (std::find(names.begin(), names.end(), one.key()) == names.end()) {
            all += (names.empty() ? "\"" : ",\"") + std::string(one.key()) +
                   "\":" + std::string(one.raw());
            names.emplace_back(one.key());
        }
    }
    add_flag(out, "--extra-body", all + "}");
}

std::string argument_of(const Spelled& out, std::string_view flag) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    return found == out.arguments.end() || found + 1 == out.arguments.end() ? "" : *(found + 1);
}

void note_unused(const KeptFlags& kept, std::initializer_list<std::string_view> flags,
                 const char* why, Spelled& out) {
    for (const std::string_view flag : flags) {
        if (kept.has(flag)) {
            add_note(out, std::string(flag) + " is ignored: " + why);
        }
    }
}

void set_argument(Spelled& out, std::string_view flag, std::string_view value) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    if (found == out.arguments.end() || found + 1 == out.arguments.end()) {
        add_flag(out, flag, value);
    } else {
        *(found + 1) = value;
    }
}

void add_headers(Spelled& out, std::string_view pairs) {
    while (!pairs.empty()) {
        const std::string_view pair = pairs.substr(0, pairs.find(' '));
        pairs.remove_prefix(std::min(pair.size() + 1, pairs.size()));
        const std::size_t equals = pair.find('=');
        if (equals == pair.npos) {
            refuse_line(out, "--header \"" + mask_value("--header", pair) +
                                 "\": is not NAME=VALUE, as this tool takes it; put --header "
                                 "NAME:VALUE before the tool's own words");
            return;
        }
        add_flag(out, "--header",
                 std::string(pair.substr(0, equals)) + ": " + std::string(pair.substr(equals + 1)));
    }
}

void add_default_server(Spelled& out, std::string_view port) {
    if (has_argument(out, "--url") || has_argument(out, "--host") ||
        has_argument(out, "--endpoint") || has_argument(out, "--from") ||
        has_argument(out, "--resume")) {
        return;
    }
    add_flag(out, "--host", "127.0.0.1");
    add_default(out, "--port", port);
    add_note(out, "no server is named: using 127.0.0.1:" + argument_of(out, "--port") +
                      ", the tool's default");
}

bool is_positive(std::string_view text) {
    const auto decimal = scan_decimal(text);
    if (!decimal || decimal->negative) {
        return false;
    }
    const Result<Scaled> scaled = scale(*decimal, 9);
    return !scaled || scaled.value().value > 0;
}

void finish_tokenizer(const KeptFlags& kept, Spelled& out) {
    const std::string name = kept.get("--tokenizer");
    if (is_path(name)) {
        add_flag(out, "--tokenizer", name);
    } else if (!name.empty()) {
        add_note(out, "--tokenizer " + name +
                          " is ignored: words of one token each need no tokenizer; --tokenizer "
                          "FILE takes the model's own");
    }
}

void finish_serving(const KeptFlags& kept, Spelled& out) {
    add_headers(out, kept.get("--header"));
    finish_tokenizer(kept, out);
    if (kept.has("--served-model-name")) {
        set_argument(out, "--model", kept.get("--served-model-name"));
    }
    const std::string length = kept.get("--custom-output-len", kept.get("--sharegpt-output-len"));
    if (out.makes_rows) {
        note_unused(kept, {"--custom-output-len", "--sharegpt-output-len"},
                    "synthetic answers have a length of their own", out);
    } else if (!length.empty()) {
        add_default(out, "--default-output", length);
    }
}

}  // namespace driftless
