#include "cmd/compare/table/run_keys.hpp"

#include <algorithm>
#include <array>

namespace driftless {

namespace {

/// Where a key stands in summary.json.
enum class Place : std::uint8_t { root, run, flag };

struct Key {
    std::string_view name;  ///< as the flag, without dashes
    Place place;
    std::string_view key;  ///< in the JSON; of a flag: empty
};

constexpr std::array load{
    Key{"url", Place::run, "urls"},           Key{"model", Place::root, "model_id"},
    Key{"api", Place::root, "endpoint_type"}, Key{"tokenizer", Place::root, "tokenizer_id"},
    Key{"speed", Place::run, "speed"},        Key{"rate", Place::run, "rate"},
    Key{"arrivals", Place::run, "arrivals"},  Key{"users", Place::run, "users"},
    Key{"sessions", Place::run, "sessions"},  Key{"spread", Place::run, "spread"},
    Key{"for", Place::run, "for_ns"},         Key{"gap", Place::flag, ""},
    Key{"gap-cap", Place::flag, ""},          Key{"replicate", Place::flag, ""},
    Key{"replicate-within", Place::flag, ""}, Key{"max-inflight", Place::root, "max_concurrency"},
};

constexpr std::array window{
    Key{"trace", Place::run, "trace_digest"}, Key{"start", Place::run, "start_ns"},
    Key{"end", Place::run, "end_ns"},         Key{"duration", Place::run, "duration_ns"},
    Key{"limit", Place::run, "limit"},
};

constexpr std::array contents{
    Key{"seed", Place::run, "seed"},         Key{"prompt", Place::run, "prompt"},
    Key{"output", Place::run, "output"},     Key{"share", Place::flag, ""},
    Key{"max-context", Place::flag, ""},     Key{"max-trees", Place::flag, ""},
    Key{"sample-sessions", Place::flag, ""}, Key{"dataset", Place::flag, ""},
    Key{"dataset-column", Place::flag, ""},  Key{"assistant", Place::flag, ""},
    Key{"live-keep", Place::flag, ""},       Key{"length-field", Place::flag, ""},
    Key{"abandon", Place::flag, ""},         Key{"grow", Place::flag, ""},
    Key{"no-stream", Place::flag, ""},       Key{"extra-body", Place::flag, ""},
};

/// The text of a value, without the quotes of a string; null, false and what is absent are empty.
std::string text_of(JsonValue value) {
    if (const auto text = value.as_string()) {
        return std::string(*text);
    }
    if (value.is(JsonType::array)) {
        std::string all;
        for (JsonValue one = value.first(); one.present(); one = one.next()) {
            all += (all.empty() ? "" : " ") + std::string(one.as_string().value_or(one.raw()));
        }
        return all;
    }
    const bool empty = !value.present() || value.is(JsonType::null) || value.as_bool() == false;
    return empty ? "" : std::string(value.raw());
}

/// All values of a flag of replay, as `run.arguments` has them.
std::string flag_text(JsonValue arguments, std::string_view name) {
    const std::string flag = "--" + std::string(name);
    std::string all;
    for (JsonValue one = arguments.first(); one.present(); one = one.next()) {
        const std::string_view text = one.as_string().value_or("");
        const bool is_it =
            text.starts_with(flag) && (text.size() == flag.size() || text[flag.size()] == '=');
        if (is_it) {
            const std::string_view value =
                text.size() == flag.size() ? "true" : text.substr(flag.size() + 1);
            all += (all.empty() ? "" : " ") + std::string(value);
        }
    }
    return all;
}

template <std::size_t N>
void add_keys(const std::array<Key, N>& keys, JsonValue summary, std::vector<CellValue>& out) {
    const JsonValue run = summary.find("run");
    for (const Key& key : keys) {
        std::string value;
        switch (key.place) {
            case Place::root:
                value = text_of(summary.find(key.key));
                break;
            case Place::run:
                value = text_of(run.find(key.key));
                break;
            case Place::flag:
                value = flag_text(run.find("arguments"), key.name);
                break;
        }
        out.push_back({std::string(key.name), std::move(value)});
    }
}

}  // namespace

std::vector<CellValue> load_keys(JsonValue summary) {
    std::vector<CellValue> keys;
    add_keys(load, summary, keys);
    return keys;
}

std::vector<CellValue> corpus_keys(JsonValue summary) {
    std::vector<CellValue> keys;
    add_keys(window, summary, keys);
    add_keys(contents, summary, keys);
    return keys;
}

bool is_of_window(std::string_view corpus_key) {
    return std::any_of(window.begin(), window.end(),
                       [corpus_key](const Key& key) { return key.name == corpus_key; });
}

std::string words_of_key(std::string_view key) {
    return key == "trace" ? "trace" : "--" + std::string(key);
}

std::string_view value_in(const std::vector<CellValue>& values, std::string_view name) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [name](const CellValue& one) { return one.name == name; });
    return found == values.end() ? std::string_view() : std::string_view(found->value);
}

bool has_value(const std::vector<CellValue>& values, std::string_view name) {
    return std::any_of(values.begin(), values.end(),
                       [name](const CellValue& one) { return one.name == name; });
}

}  // namespace driftless
