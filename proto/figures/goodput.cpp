#include "proto/figures/goodput.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

constexpr const char* remedy =
    "is not a key to group by; use phase, turn, api, url, side, model, outcome, kept.NAME, "
    "header.NAME or input:PARTS";
constexpr std::string_view nothing = "-";
constexpr std::uint32_t parts_min = 2;
constexpr std::uint32_t parts_max = 20;

struct PlainKey {
    std::string_view name;
    GroupKey::Kind kind;
};
constexpr std::array plain_keys{
    PlainKey{"phase", GroupKey::Kind::phase}, PlainKey{"turn", GroupKey::Kind::turn},
    PlainKey{"api", GroupKey::Kind::api},     PlainKey{"url", GroupKey::Kind::url},
    PlainKey{"model", GroupKey::Kind::model}, PlainKey{"outcome", GroupKey::Kind::outcome},
    PlainKey{"side", GroupKey::Kind::side},
};

std::string kept_value(const std::string& kept, const std::string& member, JsonDocument& document) {
    const Result<JsonValue> root = document.parse(kept.empty() ? "null" : kept);
    const JsonValue value = root ? root.value().find(member) : JsonValue();
    if (!value.present() || value.is(JsonType::null)) {
        return std::string(nothing);
    }
    return std::string(value.as_string().value_or(value.raw()));
}

std::string header_value_of(const Record& record, const std::string& name) {
    for (const RecordedHeader& header : record.headers) {
        if (header.value && equal_ignoring_case(header.name, name)) {
            return *header.value;
        }
    }
    return std::string(nothing);
}

}  // namespace

Result<GroupKey> parse_group_key(std::string_view text) {
    GroupKey key;
    key.text = text;
    const auto* plain = std::find_if(plain_keys.begin(), plain_keys.end(),
                                     [text](const PlainKey& one) { return one.name == text; });
    if (plain != plain_keys.end()) {
        key.kind = plain->kind;
        return key;
    }
    for (const auto& [prefix, kind] :
         {std::pair{"kept.", GroupKey::Kind::kept}, std::pair{"header.", GroupKey::Kind::header}}) {
        if (text.starts_with(prefix) && text.size() > std::string_view(prefix).size()) {
            key.kind = kind;
            key.member = text.substr(std::string_view(prefix).size());
            return key;
        }
    }
    if (text.starts_with("input:")) {
        const auto [end, error] =
            std::from_chars(text.data() + 6, text.data() + text.size(), key.parts);
        if (error == std::errc() && end == text.data() + text.size() && key.parts >= parts_min &&
            key.parts <= parts_max) {
            key.kind = GroupKey::Kind::input;
            return key;
        }
    }
    return Error{ErrorCode::invalid, 0, remedy};
}

std::string group_value(const GroupKey& key, const Record& record, JsonDocument& document) {
    switch (key.kind) {
        case GroupKey::Kind::phase:
            return name_of(record.phase);
        case GroupKey::Kind::turn:
            return record.turn ? std::to_string(*record.turn) : std::string(nothing);
        case GroupKey::Kind::api:
            return record.api;
        case GroupKey::Kind::url:
            return record.url.empty() ? std::string(nothing) : record.url;
        case GroupKey::Kind::model:
            return record.model.value_or(std::string(nothing));
        case GroupKey::Kind::outcome:
            return name_of(record.outcome);
        case GroupKey::Kind::side:
            return record.side == Side::none ? std::string(nothing) : name_of(record.side);
        case GroupKey::Kind::kept:
            return kept_value(record.kept, key.member, document);
        case GroupKey::Kind::header:
            return header_value_of(record, key.member);
        case GroupKey::Kind::input:
            return std::to_string(record.input_length.value_or(0));
    }
    return std::string(nothing);
}

std::vector<std::uint32_t> length_bounds(std::vector<std::uint32_t>& lengths, std::uint32_t parts) {
    std::sort(lengths.begin(), lengths.end());
    std::vector<std::uint32_t> bounds;
    for (std::uint32_t part = 1; part <= parts && !lengths.empty(); ++part) {
        const std::size_t last = lengths.size() * part / parts;
        const std::uint32_t bound = lengths[std::max<std::size_t>(last, 1) - 1];
        if (bounds.empty() || bound > bounds.back()) {
            bounds.push_back(bound);
        }
    }
    return bounds;
}

namespace {

/// Of a request that was abandoned.
bool had_broken_one(const GoodputLimits& limits, const Record& record) {
    const OptionalNs& left = record.fired_ns;
    const std::int64_t waited_ns =
        left && record.ended_ns ? *record.ended_ns - *left : std::int64_t{0};
    const std::int64_t ttft_ns = record.ttft_ns.value_or(waited_ns);
    const std::int64_t since_due_ns =
        record.ttft_due_ns.value_or(record.ended_ns ? *record.ended_ns - record.due_ns : 0);
    return (limits.ttft_ns && ttft_ns > *limits.ttft_ns) ||
           (limits.ttft_due_ns && since_due_ns > *limits.ttft_due_ns) ||
           (limits.e2e_ns && waited_ns > *limits.e2e_ns);
}

}  // namespace

std::optional<bool> is_good(const GoodputLimits& limits, const Record& record) {
    if (record.outcome == Outcome::abandoned) {
        return had_broken_one(limits, record) ? std::optional(false) : std::nullopt;
    }
    if (record.outcome == Outcome::ok && lost_in_client(record)) {
        return std::nullopt;  // its first or last token may be among what was lost
    }
    const bool ttft = !limits.ttft_ns || (record.ttft_ns && *record.ttft_ns <= *limits.ttft_ns);
    const bool e2e = !limits.e2e_ns || (record.e2e_ns && *record.e2e_ns <= *limits.e2e_ns);
    const bool from_due =
        !limits.ttft_due_ns || (record.ttft_due_ns && *record.ttft_due_ns <= *limits.ttft_due_ns);
    if (record.outcome != Outcome::ok || !ttft || !from_due || !e2e) {
        return false;
    }
    if (limits.tpot_ns && !record.tpot_ns && !counts_output(record)) {
        return std::nullopt;
    }
    return !limits.tpot_ns || !record.tpot_ns ||
           *record.tpot_ns <= static_cast<double>(*limits.tpot_ns);
}

std::optional<std::size_t> rule_of(const GoodputRules& rules, const Record& record) {
    std::optional<JsonDocument> document;  // only groups need one
    std::optional<std::size_t> common;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].key) {
            common = i;
            continue;
        }
        if (!document) {
            document.emplace();
        }
        if (group_value(*rules[i].key, record, *document) == rules[i].value) {
            return i;
        }
    }
    return common;
}

GoodputLimits common_limits(const GoodputRules& rules) {
    const auto found = std::find_if(rules.begin(), rules.end(),
                                    [](const GoodputRule& one) { return !one.key.has_value(); });
    return found == rules.end() ? GoodputLimits() : found->limits;
}

std::string group_text(const GoodputRule& rule) {
    return rule.key ? rule.key->text + "=" + rule.value : "others";
}

}  // namespace driftless
