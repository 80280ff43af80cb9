#include "proto/json/document.hpp"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/nodes.hpp"
#include "proto/json/write.hpp"

namespace driftless {

// Document capacity to begin with: a streaming event, with room.
static constexpr std::size_t capacity_min = 4096;
static constexpr std::size_t text_bytes_max = simdjson::SIMDJSON_MAXSIZE_BYTES - 1;

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
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

ParsedJson::ParsedJson(const Result<std::string>& text) {
    const Result<JsonValue> parsed = document.parse(text ? text.value() : "");
    root = parsed ? parsed.value() : JsonValue();
}

void copy_members(JsonWriter& json, JsonValue object, const std::vector<JsonMember>& changed) {
    for (JsonValue one = object.first(); one.present(); one = one.next()) {
        const auto found = std::ranges::find(changed, one.key(), &JsonMember::first);
        if (found == changed.end()) {
            json.key(one.key()).raw(one.raw());
        } else if (!found->second.empty()) {
            json.key(one.key()).raw(found->second);
        }
    }
}

std::string with_members(JsonValue object, const std::vector<JsonMember>& changed) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    copy_members(json, object, changed);
    json.end_object();
    return text;
}

std::string kept_text(JsonValue value) {
    return std::string(value.as_string().value_or(""));
}

std::vector<std::string> texts_of(JsonValue array) {
    std::vector<std::string> texts;
    for (JsonValue one = array.first(); one.present(); one = one.next()) {
        texts.push_back(kept_text(one));
    }
    return texts;
}

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

static const JsonNode* node_of(const JsonNodes* nodes, std::uint32_t index) {
    return nodes == nullptr ? nullptr : &nodes->nodes[index];
}

// A whole number as written, without fraction and exponent; nothing where it does not fit.
template <typename Integer>
static std::optional<Integer> read_integer(std::string_view digits) {
    Integer value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// The node that follows the whole subtree of `node`.
static std::uint32_t node_after(const JsonNode& node, std::uint32_t index) {
    const bool container = node.type == JsonType::object || node.type == JsonType::array;
    return container && !node.is_packed ? node.after : index + 1;
}

bool JsonValue::is(JsonType wanted) const {
    return nodes_ != nullptr && nodes_->nodes[node_].type == wanted;
}

JsonType JsonValue::type() const {
    CHECK(present());
    return nodes_->nodes[node_].type;
}

std::string_view JsonValue::raw() const {
    const JsonNode* const node = node_of(nodes_, node_);
    return node == nullptr ? std::string_view{} : nodes_->raw(*node);
}

std::optional<std::uint64_t> JsonValue::as_u64() const {
    return is(JsonType::number) ? read_integer<std::uint64_t>(raw()) : std::nullopt;
}

std::optional<std::int64_t> JsonValue::as_i64() const {
    return is(JsonType::number) ? read_integer<std::int64_t>(raw()) : std::nullopt;
}

std::optional<double> JsonValue::as_double() const {
    if (!is(JsonType::number)) {
        return std::nullopt;
    }
    const std::string_view text = raw();
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::optional<double>(value) : std::nullopt;
}

std::optional<bool> JsonValue::as_bool() const {
    return is(JsonType::boolean) ? std::optional<bool>(raw().front() == 't') : std::nullopt;
}

std::optional<std::string_view> JsonValue::as_string() const {
    return is(JsonType::string) ? std::optional(nodes_->string(nodes_->nodes[node_]))
                                : std::nullopt;
}

JsonValue JsonValue::find(std::string_view name) const {
    if (!is(JsonType::object)) {
        return {};
    }
    const JsonNode* const nodes = nodes_->nodes.get();
    std::uint32_t member = node_ + 2;
    JsonValue found;
    for (std::uint32_t left = nodes[node_].size; left > 0; --left) {
        if (nodes_->string(nodes[member - 1]) == name) {
            found = {nodes_, member};
            if (!nodes_->last_wins) {
                return found;
            }
        }
        member = node_after(nodes[member], member) + 1;
    }
    return found;
}

JsonValue JsonValue::find_path(std::string_view path) const {
    JsonValue at = *this;
    while (true) {  // each turn takes a name off
        const JsonValue found = at.find(path);
        const std::size_t dot = path.find('.');
        if (found.present() || dot == path.npos) {
            return found;
        }
        at = at.find(path.substr(0, dot));
        path.remove_prefix(dot + 1);
    }
}

std::optional<std::span<const std::uint64_t>> JsonValue::integers() const {
    if (!is(JsonType::array) || !nodes_->nodes[node_].is_packed) {
        return std::nullopt;
    }
    const JsonNode& node = nodes_->nodes[node_];
    return std::span<const std::uint64_t>(nodes_->integers.get() + node.integers, node.size);
}

JsonValue JsonValue::at(std::size_t index) const {
    if (!is(JsonType::array) || index >= size()) {
        return {};
    }
    JsonValue element = first();
    for (std::size_t i = 0; i < index; ++i) {
        element = element.next();
    }
    return element;
}

std::size_t JsonValue::size() const {
    return is(JsonType::object) || is(JsonType::array) ? nodes_->nodes[node_].size : 0;
}

JsonValue JsonValue::first() const {
    if (size() == 0 || nodes_->nodes[node_].is_packed) {
        return {};
    }
    return {nodes_, node_ + (is(JsonType::object) ? 2 : 1)};
}

JsonValue JsonValue::next() const {
    const JsonNode* const node = node_of(nodes_, node_);
    if (node == nullptr || node->is_last) {
        return {};
    }
    return {nodes_, node_after(*node, node_) + (node->is_member ? 1 : 0)};
}

std::string_view JsonValue::key() const {
    const JsonNode* const node = node_of(nodes_, node_);
    return node == nullptr || !node->is_member ? std::string_view{}
                                               : nodes_->string(nodes_->nodes[node_ - 1]);
}

/// One step as it is between slashes: "~1" is a slash, "~0" a tilde (RFC 6901, section 4).
static std::optional<std::string> unescape(std::string_view escaped) {
    std::string name;
    for (std::size_t at = 0; at < escaped.size(); ++at) {
        if (escaped[at] != '~') {
            name += escaped[at];
            continue;
        }
        ++at;
        if (at == escaped.size() || (escaped[at] != '0' && escaped[at] != '1')) {
            return std::nullopt;
        }
        name += escaped[at] == '0' ? '~' : '/';
    }
    return name;
}

/// Digits without a leading zero, or "0".
static std::optional<std::size_t> index_of(std::string_view name) {
    const bool padded = name.size() > 1 && name.front() == '0';
    return padded ? std::nullopt : read_integer<std::size_t>(name);
}

Result<JsonPointer> JsonPointer::parse(std::string_view text) {
    JsonPointer pointer;
    pointer.steps_.emplace();
    if (!text.empty() && text.front() != '/') {
        return Error{ErrorCode::invalid, 0, "is not a JSON pointer; write it as in \"/choices/0\""};
    }
    while (!text.empty()) {
        text.remove_prefix(1);
        const std::size_t end = std::min(text.find('/'), text.size());
        std::optional<std::string> name = unescape(text.substr(0, end));
        if (!name) {
            return Error{ErrorCode::invalid, 0,
                         "has a ~ without 0 or 1 after it; write ~0 for ~ and ~1 for /"};
        }
        text.remove_prefix(end);
        const std::optional<std::size_t> index = index_of(*name);
        pointer.steps_->push_back({std::move(*name), index});
    }
    return pointer;
}

JsonValue JsonPointer::find(JsonValue root) const {
    if (!steps_) {
        return {};
    }
    JsonValue value = root;
    for (const Step& step : *steps_) {
        if (value.is(JsonType::array)) {
            value = step.index ? value.at(*step.index) : JsonValue{};
        } else {
            value = value.find(step.name);
        }
    }
    return value;
}

/// Offset behind the closing quote of the string that begins at `at`; npos where it stays open.
static std::size_t behind_string(std::string_view line, std::size_t at) {
    for (++at; at < line.size(); ++at) {
        if (line[at] == '"') {
            return at + 1;
        }
        at += line[at] == '\\' ? 1 : 0;
    }
    return line.npos;
}

JsonTexts::Found JsonTexts::take(std::uint64_t number, std::string_view& line) {
    if (text_.empty()) {
        line.remove_prefix(std::min(line.find_first_not_of(white_space), line.size()));
        line_ = number;
    }
    const std::size_t end = find_end(line);
    const std::string_view part = line.substr(0, end);
    if (text_.size() + part.size() >= bytes_max) {
        return Found::too_long;
    }
    text_ += part;
    line.remove_prefix(part.size());
    if (end == line.npos) {
        text_ += text_.empty() ? "" : "\n";
        return Found::part;
    }
    return Found::whole;
}

void JsonTexts::clear() {
    text_.clear();
    depth_ = 0;
}

/// Offset just behind the bracket that closes the text; npos where the line does not hold it.
std::size_t JsonTexts::find_end(std::string_view line) {
    std::size_t at = line.find_first_of("\"{}[]");
    while (at != line.npos) {  // each turn goes behind a bracket or a string
        const char c = line[at];
        if (c == '"') {
            at = behind_string(line, at);
            if (at == line.npos) {
                return line.size();
            }
        } else if (c == '{' || c == '[') {
            ++depth_;
            ++at;
        } else {
            ++at;
            depth_ -= depth_ > 0 ? 1 : 0;
            if (depth_ == 0) {
                return at;
            }
        }
        at = line.find_first_of("\"{}[]", at);
    }
    return line.npos;
}

void JsonElements::feed(std::string_view piece) {
    CHECK(piece_.empty());
    piece_ = piece;
}

/// Whether a byte of an element is its end: a comma or a bracket that is not of the element.
bool JsonElements::ends_here(char byte) {
    if (in_string_) {
        in_string_ = escaped_ || byte != '"';
        escaped_ = !escaped_ && byte == '\\';
        return false;
    }
    switch (byte) {
        case '"':
            in_string_ = true;
            return false;
        case '[':
        case '{':
            ++depth_;
            return false;
        case ']':
        case '}':
            if (depth_ == 0) {
                return byte == ']';
            }
            --depth_;
            return false;
        default:
            return byte == ',' && depth_ == 0;
    }
}

/// Moves over what is in front of the array, or behind it.
void JsonElements::skip_outside() {
    piece_.remove_prefix(std::min(piece_.find_first_not_of(white_space), piece_.size()));
    if (piece_.empty()) {
        return;
    }
    const bool opens = state_ == State::before && piece_.front() == '[';
    state_ = opens ? State::inside : State::wrong;
    piece_.remove_prefix(opens ? 1 : piece_.size());
}

std::optional<std::string_view> JsonElements::next() {
    if (carry_given_) {
        carry_.clear();
        carry_given_ = false;
    }
    if (state_ == State::before || state_ == State::behind) {
        skip_outside();
    }
    if (state_ != State::inside) {
        piece_ = {};
        return std::nullopt;
    }
    std::size_t end = 0;
    while (end < piece_.size() && !ends_here(piece_[end])) {
        ++end;
    }
    if (carry_.size() + end > json_element_bytes_max) {
        state_ = State::too_long;
        piece_ = {};
        return std::nullopt;
    }
    const std::string_view text = piece_.substr(0, end);
    const bool ended = end < piece_.size();
    const bool last = ended && piece_[end] == ']';
    piece_.remove_prefix(ended ? end + 1 : end);
    if (ended && carry_.empty()) {
        return give(text, last);
    }
    carry_ += text;
    carry_given_ = ended;
    return ended ? give(carry_, last) : std::nullopt;
}

std::optional<std::string_view> JsonElements::give(std::string_view text, bool last) {
    state_ = last ? State::behind : State::inside;
    text = trim(text, white_space);
    if (last && number_ == 0 && text.empty()) {
        return next();  // an array of nothing: what is left is behind it
    }
    ++number_;
    return text;
}

}  // namespace driftless
