#include "proto/json/pointer.hpp"

#include <algorithm>
#include <charconv>

namespace driftless {

namespace {

/// One step as it stands between slashes: "~1" is a slash, "~0" a tilde (RFC 6901, section 4).
std::optional<std::string> unescape(std::string_view escaped) {
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
std::optional<std::size_t> index_of(std::string_view name) {
    std::size_t index = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, wrong] = std::from_chars(name.data(), end, index);
    const bool padded = name.size() > 1 && name.front() == '0';
    return name.empty() || padded || wrong != std::errc{} || rest != end
               ? std::nullopt
               : std::optional<std::size_t>(index);
}

}  // namespace

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

}  // namespace driftless
