#include "cmd/replay/flags/tools/tool_flags.hpp"

#include <algorithm>
#include <utility>

#include "proto/core/decimal.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

bool is_neutral(std::string_view list, std::string_view value) {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find('|'));
        if (one == value) {
            return true;
        }
        list.remove_prefix(std::min(one.size() + 1, list.size()));
    }
    return false;
}

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

}  // namespace

const ToolTable* table_of(ForeignTool tool) {
    switch (tool) {
        case ForeignTool::kv_cache_tester:
            return &kv_cache_tester_table();
        case ForeignTool::aiperf:
            return &aiperf_table();
        case ForeignTool::mlperf:
            return &mlperf_table();
        case ForeignTool::none:
        case ForeignTool::other:
        case ForeignTool::vllm:
        case ForeignTool::sglang:
        case ForeignTool::guidellm:
            break;
    }
    return nullptr;
}

std::optional<std::size_t> ToolFlags::take(std::string_view typed, const std::string* value,
                                           std::span<const std::string> behind, Spelled& out) {
    if (table_ == nullptr) {
        return std::nullopt;
    }
    const auto flag = std::find_if(table_->flags.begin(), table_->flags.end(),
                                   [typed](const ToolFlag& one) { return one.typed == typed; });
    if (flag == table_->flags.end()) {
        return std::nullopt;
    }
    if (flag->values == Values::none) {
        apply(*flag, "", out);
        return 0;
    }
    if (flag->values == Values::many) {
        const std::size_t count = value != nullptr ? 0 : count_values(behind);
        std::string all = value != nullptr ? *value : "";
        for (const std::string& one : behind.subspan(0, count)) {
            all += (all.empty() ? "" : " ") + one;
        }
        apply(*flag, all, out);
        return count;
    }
    if (value == nullptr && behind.empty()) {
        refuse_line(out, std::string(typed) + ": needs a value");
        return 0;
    }
    apply(*flag, value != nullptr ? *value : behind.front(), out);
    return value != nullptr ? 0 : 1;
}

void ToolFlags::apply(const ToolFlag& flag, std::string_view value, Spelled& out) {
    const std::string shown =
        std::string(flag.typed) + (value.empty() ? "" : " " + std::string(value));
    switch (flag.becomes) {
        case Becomes::flag:
            if (*flag.text != '\0') {
                out.arguments.emplace_back(flag.text);
            }
            if (flag.values != Values::none) {
                out.arguments.emplace_back(value);
            }
            return;
        case Becomes::nothing:
            add_note(out, shown + " is ignored: " + flag.text);
            return;
        case Becomes::refused:
            if (is_neutral(flag.neutral, value) && flag.values != Values::none) {
                add_note(out, shown + " is ignored: it changes nothing here");
            } else {
                refuse_line(out, shown + ": " + flag.text);
            }
            return;
        case Becomes::together:
            kept_.keep(flag.typed, value);
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
                          " is ignored: words of one token each need none; --tokenizer FILE takes "
                          "the model's own");
    }
}

}  // namespace driftless
