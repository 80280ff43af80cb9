#include <algorithm>
#include <charconv>

#include "proto/core/check.hpp"
#include "proto/json/document.hpp"
#include "proto/json/nodes.hpp"

namespace driftless {

namespace {

const JsonNode* node_of(const JsonNodes* nodes, std::uint32_t index) {
    return nodes == nullptr ? nullptr : &nodes->nodes[index];
}

// A whole number as written, without fraction and exponent; nothing where it does not fit.
template <typename Integer>
std::optional<Integer> read_integer(std::string_view digits) {
    Integer value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return value;
}

// The node that follows the whole subtree of `node`.
std::uint32_t node_after(const JsonNode& node, std::uint32_t index) {
    const bool container = node.type == JsonType::object || node.type == JsonType::array;
    return container && !node.is_packed ? node.after : index + 1;
}

}  // namespace

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
    JsonValue found = find(path);
    JsonValue at = *this;
    while (!found.present() && at.present() && !path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        at = at.find(path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
        found = path.empty() ? at : JsonValue{};
    }
    return found;
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

}  // namespace driftless
