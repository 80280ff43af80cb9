#include "proto/json/document.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "proto/json/nodes.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

namespace {
// Document capacity to begin with: a streaming event, with room.
constexpr std::size_t capacity_min = 4096;
constexpr std::size_t text_bytes_max = simdjson::SIMDJSON_MAXSIZE_BYTES - 1;
}  // namespace

struct JsonDocument::State {
    JsonNodes nodes;
    std::unique_ptr<simdjson::internal::dom_parser_implementation> finder;
    std::size_t capacity = 0;
    std::size_t error_offset = 0;
    bool packs = false;

    bool reserve(std::size_t bytes);
    Error fail(ErrorCode code, std::size_t offset) {
        error_offset = offset;
        return {code, 0, "parse JSON"};
    }
    Error fail_structure(simdjson::error_code error);
};

// Room for a text of that size in all parts. Grows by doubling; never shrinks.
bool JsonDocument::State::reserve(std::size_t bytes) {
    if (bytes <= capacity && finder != nullptr) {
        return true;
    }
    const std::size_t wanted =
        std::min(text_bytes_max, std::max({bytes, 2 * capacity, capacity_min}));
    const simdjson::error_code error =
        finder == nullptr ? simdjson::get_active_implementation()->create_dom_parser_implementation(
                                wanted, json_depth_max, finder)
                          : finder->allocate(wanted, json_depth_max);
    if (error != simdjson::SUCCESS) {
        return false;
    }
    nodes.text.resize(wanted + simdjson::SIMDJSON_PADDING);
    capacity = wanted;
    return true;
}

Error JsonDocument::State::fail_structure(simdjson::error_code error) {
    const std::string_view text{nodes.text.data(), nodes.text_bytes};
    if (error == simdjson::UTF8_ERROR) {
        return fail(ErrorCode::bad_json, utf8_valid_prefix(text));
    }
    if (error == simdjson::UNESCAPED_CHARS) {
        const auto control = [](char c) {
            return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
        };
        const auto at = std::find_if(text.begin(), text.end(), control);
        return fail(ErrorCode::bad_json, static_cast<std::size_t>(at - text.begin()));
    }
    return fail(ErrorCode::bad_json, text.size());
}

JsonDocument::JsonDocument(JsonArrays arrays) : state_(std::make_unique<State>()) {
    state_->packs = arrays == JsonArrays::packed;
    state_->nodes.last_wins = state_->packs;
}
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;

Result<JsonValue> JsonDocument::parse(std::string_view text) {
    State& state = *state_;
    JsonNodes& nodes = state.nodes;
    if (text.empty()) {
        return state.fail(ErrorCode::bad_json, 0);
    }
    if (text.size() > text_bytes_max || !state.reserve(text.size())) {
        return state.fail(ErrorCode::too_large, 0);
    }
    std::memcpy(nodes.text.data(), text.data(), text.size());
    std::memset(nodes.text.data() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
    nodes.text_bytes = text.size();

    const auto* bytes = reinterpret_cast<const std::uint8_t*>(nodes.text.data());
    const simdjson::error_code error =
        state.finder->stage1(bytes, text.size(), simdjson::stage1_mode::regular);
    if (error != simdjson::SUCCESS) {
        return state.fail_structure(error);
    }
    const std::size_t structurals = state.finder->n_structural_indexes;
    const bool has_escapes = std::memchr(text.data(), '\\', text.size()) != nullptr;
    nodes.reserve(structurals, has_escapes ? text.size() : 0, state.packs ? structurals / 2 : 0);
    const JsonFailure failure = build_nodes(nodes, state.finder->structural_indexes.get(),
                                            structurals, has_escapes, state.packs);
    if (failure.failed) {
        return state.fail(failure.too_deep ? ErrorCode::too_large : ErrorCode::bad_json,
                          failure.offset);
    }
    return JsonValue(&nodes, 0);
}

std::size_t JsonDocument::error_offset() const {
    return state_->error_offset;
}

}  // namespace driftless
