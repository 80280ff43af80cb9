#include "proto/api/answer_words.hpp"

#include <algorithm>

#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::size_t calls_max = 256;
constexpr std::size_t calls_bytes_max = std::size_t{4} << 20;

}  // namespace

void SaidCalls::append(std::string& to, const JsonValue& text) {
    const std::string_view said = text.as_string().value_or(std::string_view{});
    const std::string_view kept = said.substr(0, calls_bytes_max - bytes_);
    to += kept;
    bytes_ += kept.size();
    cut_ = cut_ || kept.size() < said.size();
}

// A part names its call by an index; where servers leave it out, by its place in the list.
void SaidCalls::take(const JsonValue& calls) {
    std::uint64_t place = 0;
    for (JsonValue part = calls.first(); part.present(); part = part.next(), ++place) {
        const std::uint64_t index = part.find("index").as_u64().value_or(place);
        auto call = std::find_if(calls_.begin(), calls_.end(),
                                 [index](const SaidCall& one) { return one.index == index; });
        if (call == calls_.end()) {
            if (calls_.size() == calls_max) {
                cut_ = true;
                continue;
            }
            call = calls_.insert(calls_.end(), SaidCall{index, "", "", ""});
        }
        const JsonValue function = part.find("function");
        if (call->id.empty()) {  // some servers repeat it
            append(call->id, part.find("id"));
        }
        if (call->name.empty()) {
            append(call->name, function.find("name"));
        }
        append(call->arguments, function.find("arguments"));
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
        for (const SaidCall& call : calls) {
            json.begin_object();
            json.key("id").string(call.id);
            json.key("type").string("function");
            json.key("function").begin_object();
            json.key("name").string(call.name);
            json.key("arguments").string(call.arguments);
            json.end_object().end_object();
        }
        json.end_array();
    }
    json.end_object();
}

}  // namespace driftless
