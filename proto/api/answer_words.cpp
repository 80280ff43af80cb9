#include "proto/api/answer_words.hpp"

#include <algorithm>
#include <optional>

#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::size_t calls_max = 256;
constexpr std::size_t calls_bytes_max = std::size_t{4} << 20;

std::string_view text_or_empty(const JsonValue& value) {
    return value.as_string().value_or(std::string_view{});
}

}  // namespace

void SaidCalls::append(std::string& to, std::string_view text) {
    const std::string_view kept = text.substr(0, calls_bytes_max - bytes_);
    to += kept;
    bytes_ += kept.size();
    cut_ = cut_ || kept.size() < text.size();
}

/// The call that a part is of, new where there is none; nullptr where there is no room for it.
SaidCall* SaidCalls::call_of(const JsonValue& part) {
    const std::optional<std::uint64_t> index = part.find("index").as_u64();
    const std::string_view id = text_or_empty(part.find("id"));
    const auto is_its = [&](const SaidCall& one) {
        const bool same_id = id.empty() || one.id.empty() || one.id == id;
        return same_id && (!index || one.index == *index);
    };
    const auto latest = std::find_if(calls_.rbegin(), calls_.rend(), is_its);
    // Without an index and an id a part goes on with the call before it, unless it names another.
    const bool begins =
        !index && id.empty() && !text_or_empty(part.find("function").find("name")).empty();
    if (latest != calls_.rend() && !(begins && !latest->name.empty())) {
        return &*latest;
    }
    if (calls_.size() == calls_max) {
        cut_ = true;
        return nullptr;
    }
    const std::uint64_t next = calls_.empty() ? 0 : calls_.back().index + 1;
    return &calls_.emplace_back(SaidCall{index.value_or(next), "", "", ""});
}

void SaidCalls::take(const JsonValue& calls) {
    for (JsonValue part = calls.first(); part.present(); part = part.next()) {
        SaidCall* const call = part.is(JsonType::object) ? call_of(part) : nullptr;
        if (call == nullptr) {
            continue;
        }
        const JsonValue function = part.find("function");
        const JsonValue arguments = function.find("arguments");
        if (const std::string_view id = text_or_empty(part.find("id")); id != call->id) {
            append(call->id, id);
        }
        if (const std::string_view name = text_or_empty(function.find("name"));
            name != call->name) {
            append(call->name, name);  // some servers repeat it
        }
        // Some servers send the object in place of its text.
        append(call->arguments,
               arguments.is(JsonType::object) ? arguments.raw() : text_or_empty(arguments));
    }
}

void SaidCalls::clear() {
    calls_.clear();
    bytes_ = 0;
    cut_ = false;
}

void append_answer_message(std::string& out, std::string_view content, std::string_view reasoning,
                           const std::vector<SaidCall>& calls, const KeptWords& kept) {
    const bool has_calls = kept.tools && !calls.empty();
    std::vector<const SaidCall*> in_order;
    for (const SaidCall& call : calls) {
        in_order.push_back(&call);
    }
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const SaidCall* a, const SaidCall* b) { return a->index < b->index; });
    JsonWriter json(out);
    json.begin_object();
    json.key("role").string("assistant");
    json.key("content");
    if (has_calls && (content.empty() || !kept.text)) {
        json.null();
    } else {
        json.string(kept.text ? content : std::string_view{});
    }
    if (kept.reasoning && !reasoning.empty()) {
        json.key("reasoning_content").string(reasoning);
    }
    if (has_calls) {
        json.key("tool_calls").begin_array();
        for (const SaidCall* call : in_order) {
            json.begin_object();
            json.key("id").string(call->id);
            json.key("type").string("function");
            json.key("function").begin_object();
            json.key("name").string(call->name);
            json.key("arguments").string(call->arguments);
            json.end_object().end_object();
        }
        json.end_array();
    }
    json.end_object();
}

}  // namespace driftless
