#include "engine/prompt/tokenizer/read_steps.hpp"

#include <array>
#include <utility>

#include "engine/prompt/tokenizer/text.hpp"

namespace driftless {

namespace {

constexpr const char* gpt2_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string type_of(JsonValue step) {
    return std::string(step.find("type").as_string().value_or("(none)"));
}

bool refuse_type(const char* what, JsonValue step, std::string& why) {
    why = std::string("it has a ") + what + " of type '" + type_of(step) +
          "', which is not supported";
    return false;
}

std::string text_at(JsonValue step, std::string_view name, std::string_view otherwise = {}) {
    return std::string(step.find(name).as_string().value_or(otherwise));
}

bool flag_at(JsonValue step, std::string_view name, bool otherwise) {
    return step.find(name).as_bool().value_or(otherwise);
}

// {"String": ".."} or {"Regex": ".."}.
bool read_pattern(JsonValue json, Pattern& pattern, std::string& why) {
    if (const auto text = json.find("String").as_string()) {
        pattern = Pattern::literal(*text);
        return true;
    }
    const auto expression = json.find("Regex").as_string();
    if (!expression) {
        why = "it has a pattern that is neither a String nor a Regex";
        return false;
    }
    Result<Pattern> compiled = Pattern::compile(*expression, why);
    if (!compiled) {
        return false;
    }
    pattern = std::move(compiled).value();
    return true;
}

struct BehaviorName {
    std::string_view name;
    SplitStep::Behavior behavior;
};
constexpr std::array behaviors{
    BehaviorName{"Isolated", SplitStep::Behavior::isolated},
    BehaviorName{"Removed", SplitStep::Behavior::removed},
    BehaviorName{"Contiguous", SplitStep::Behavior::contiguous},
    BehaviorName{"MergedWithPrevious", SplitStep::Behavior::merged_with_previous},
    BehaviorName{"MergedWithNext", SplitStep::Behavior::merged_with_next},
};

bool read_behavior(JsonValue json, SplitStep::Behavior& behavior, std::string& why) {
    const std::string text = std::string(json.as_string().value_or("Isolated"));
    for (const BehaviorName& known : behaviors) {
        if (known.name == text) {
            behavior = known.behavior;
            return true;
        }
    }
    why = "it has a pre-tokenizer with the behavior '" + text + "', which is not supported";
    return false;
}

void add_byte_level(JsonValue json, Splitter& splitter) {
    if (flag_at(json, "add_prefix_space", true)) {
        SplitStep step;
        step.kind = SplitStep::Kind::prefix_blank;
        splitter.add(std::move(step));
    }
    if (flag_at(json, "use_regex", true)) {
        std::string why;
        SplitStep step;
        step.behavior = SplitStep::Behavior::isolated;
        step.pattern = Pattern::compile(gpt2_expression, why).value();
        splitter.add(std::move(step));
    }
    SplitStep letters;
    letters.kind = SplitStep::Kind::letters;
    splitter.add(std::move(letters));
}

bool add_metaspace(JsonValue json, Splitter& splitter, std::string& why) {
    SplitStep mark;
    mark.kind = SplitStep::Kind::mark_blanks;
    mark.mark = text_at(json, "replacement", "\xE2\x96\x81");
    const std::string scheme = text_at(json, "prepend_scheme", "always");
    mark.prefix = SplitStep::Prefix::always;
    if (scheme == "never" || !flag_at(json, "add_prefix_space", true)) {
        mark.prefix = SplitStep::Prefix::none;
    } else if (scheme == "first") {
        mark.prefix = SplitStep::Prefix::first;
    } else if (scheme != "always") {
        why = "its Metaspace has the prepend_scheme '" + scheme + "', which is not supported";
        return false;
    }
    SplitStep cut;
    cut.behavior = SplitStep::Behavior::merged_with_next;
    cut.pattern = Pattern::literal(mark.mark);
    splitter.add(std::move(mark));
    if (flag_at(json, "split", true)) {
        splitter.add(std::move(cut));
    }
    return true;
}

// Steps that cut at a class of characters.
bool add_class(SplitStep::Kind kind, SplitStep::Behavior behavior, Splitter& splitter) {
    SplitStep step;
    step.kind = kind;
    step.behavior = behavior;
    splitter.add(std::move(step));
    return true;
}

bool add_pre_tokenizer(JsonValue json, Splitter& splitter, bool& byte_level, std::string& why) {
    using Behavior = SplitStep::Behavior;
    const std::string type = type_of(json);
    SplitStep step;
    if (type == "Split") {
        step.invert = flag_at(json, "invert", false);
        if (!read_pattern(json.find("pattern"), step.pattern, why) ||
            !read_behavior(json.find("behavior"), step.behavior, why)) {
            return false;
        }
        splitter.add(std::move(step));
        return true;
    }
    if (type == "ByteLevel") {
        if (byte_level) {
            why = "it has two pre-tokenizers of type 'ByteLevel', which is not supported";
            return false;
        }
        byte_level = true;
        add_byte_level(json, splitter);
        return true;
    }
    if (type == "Metaspace") {
        return add_metaspace(json, splitter, why);
    }
    if (type == "Digits") {
        const bool each = flag_at(json, "individual_digits", false);
        return add_class(SplitStep::Kind::digits, each ? Behavior::isolated : Behavior::contiguous,
                         splitter);
    }
    if (type == "Punctuation") {
        Behavior behavior = Behavior::isolated;
        return read_behavior(json.find("behavior"), behavior, why) &&
               add_class(SplitStep::Kind::punctuation, behavior, splitter);
    }
    if (type == "WhitespaceSplit") {
        return add_class(SplitStep::Kind::white_space, Behavior::removed, splitter);
    }
    if (type == "CharDelimiterSplit") {
        step.behavior = Behavior::removed;
        step.pattern = Pattern::literal(text_at(json, "delimiter"));
        splitter.add(std::move(step));
        return true;
    }
    return refuse_type("pre-tokenizer", json, why);
}

struct FormName {
    std::string_view name;
    NormalizerStep::Kind kind;
};
constexpr std::array plain_normalizers{
    FormName{"NFC", NormalizerStep::Kind::nfc},
    FormName{"NFD", NormalizerStep::Kind::nfd},
    FormName{"NFKC", NormalizerStep::Kind::nfkc},
    FormName{"NFKD", NormalizerStep::Kind::nfkd},
    FormName{"Lowercase", NormalizerStep::Kind::lowercase},
    FormName{"StripAccents", NormalizerStep::Kind::strip_accents},
    FormName{"ByteLevel", NormalizerStep::Kind::letters},
};

bool add_normalizer(JsonValue json, Normalizer& normalizer, std::string& why) {
    const std::string type = type_of(json);
    NormalizerStep step;
    for (const FormName& known : plain_normalizers) {
        if (known.name == type) {
            step.kind = known.kind;
            normalizer.add(std::move(step));
            return true;
        }
    }
    if (type == "Strip") {
        step.kind = NormalizerStep::Kind::strip;
        step.left = flag_at(json, "strip_left", true);
        step.right = flag_at(json, "strip_right", true);
    } else if (type == "Prepend") {
        step.kind = NormalizerStep::Kind::prepend;
        step.text = text_at(json, "prepend");
    } else if (type == "Replace") {
        step.kind = NormalizerStep::Kind::replace;
        step.text = text_at(json, "content");
        if (!read_pattern(json.find("pattern"), step.pattern, why)) {
            return false;
        }
    } else {
        return refuse_type("normalizer", json, why);
    }
    normalizer.add(std::move(step));
    return true;
}

bool add_decoder(JsonValue json, bool byte_level, Decoder& decoder, std::string& why) {
    const std::string type = type_of(json);
    DecoderStep step;
    if (type == "Replace") {
        step.kind = DecoderStep::Kind::replace;
        step.text = text_at(json, "content");
        if (!read_pattern(json.find("pattern"), step.pattern, why)) {
            return false;
        }
    } else if (type == "ByteFallback") {
        step.kind = DecoderStep::Kind::byte_fallback;
    } else if (type == "Fuse") {
        step.kind = DecoderStep::Kind::fuse;
    } else if (type == "Strip") {
        step.kind = DecoderStep::Kind::strip;
        step.text = text_at(json, "content", " ");
        step.start = static_cast<std::uint32_t>(json.find("start").as_u64().value_or(0));
        step.stop = static_cast<std::uint32_t>(json.find("stop").as_u64().value_or(0));
        if (step.text.empty()) {
            return true;
        }
    } else if (type == "Metaspace") {
        step.kind = DecoderStep::Kind::marks;
        step.text = text_at(json, "replacement", "\xE2\x96\x81");
        step.drop_first = text_at(json, "prepend_scheme", "always") != "never" &&
                          flag_at(json, "add_prefix_space", true);
        if (step.text.empty()) {
            return refuse_type("decoder", json, why);
        }
    } else if (type == "ByteLevel") {
        if (byte_level) {
            return true;  // the vocabulary of a byte-level model holds bytes already
        }
        step.kind = DecoderStep::Kind::letters;
    } else {
        return refuse_type("decoder", json, why);
    }
    decoder.add(std::move(step));
    return true;
}

// {"sep": ["</s>", 2], "cls": ["<s>", 0]}.
bool read_cls_and_sep(JsonValue json, std::vector<TokenId>& before, std::vector<TokenId>& after) {
    const auto cls = json.find("cls").at(1).as_u64();
    const auto sep = json.find("sep").at(1).as_u64();
    if (!cls || !sep || *cls > token_id_max || *sep > token_id_max) {
        return false;
    }
    before.push_back(static_cast<TokenId>(*cls));
    after.push_back(static_cast<TokenId>(*sep));
    return true;
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {..}}],
//  "special_tokens": {"<s>": {"ids": [1]}}}.
bool read_template(JsonValue json, std::vector<TokenId>& before, std::vector<TokenId>& after) {
    bool text_seen = false;
    for (JsonValue item = json.find("single").first(); item.present(); item = item.next()) {
        if (item.find("Sequence").present()) {
            text_seen = true;
            continue;
        }
        const std::string name = text_at(item.find("SpecialToken"), "id");
        const JsonValue ids = json.find("special_tokens").find(name).find("ids");
        if (!ids.is(JsonType::array)) {
            return false;
        }
        for (JsonValue id = ids.first(); id.present(); id = id.next()) {
            const auto value = id.as_u64();
            if (!value || *value > token_id_max) {
                return false;
            }
            (text_seen ? after : before).push_back(static_cast<TokenId>(*value));
        }
    }
    return text_seen;
}

}  // namespace

std::vector<JsonValue> flatten_steps(JsonValue step, std::string_view list) {
    std::vector<JsonValue> open;  // what is yet to be looked at, last first
    std::vector<JsonValue> flat;
    if (step.is(JsonType::object)) {
        open.push_back(step);
    }
    while (!open.empty()) {
        const JsonValue next = open.back();
        open.pop_back();
        if (type_of(next) != "Sequence") {
            flat.push_back(next);
            continue;
        }
        std::vector<JsonValue> inner;
        for (JsonValue one = next.find(list).first(); one.present(); one = one.next()) {
            inner.push_back(one);
        }
        open.insert(open.end(), inner.rbegin(), inner.rend());
    }
    return flat;
}

bool read_normalizer(JsonValue json, Normalizer& normalizer, std::string& why) {
    for (const JsonValue& step : flatten_steps(json, "normalizers")) {
        if (!add_normalizer(step, normalizer, why)) {
            return false;
        }
    }
    return true;
}

bool read_pre_tokenizer(JsonValue json, Splitter& splitter, bool& byte_level, std::string& why) {
    for (const JsonValue& step : flatten_steps(json, "pretokenizers")) {
        if (!add_pre_tokenizer(step, splitter, byte_level, why)) {
            return false;
        }
    }
    return true;
}

bool read_decoder(JsonValue json, bool byte_level, Decoder& decoder, std::string& why) {
    decoder.separator = json.is(JsonType::object) || byte_level ? "" : " ";
    for (const JsonValue& step : flatten_steps(json, "decoders")) {
        if (!add_decoder(step, byte_level, decoder, why)) {
            return false;
        }
    }
    return true;
}

bool read_post_processor(JsonValue json, std::vector<TokenId>& before, std::vector<TokenId>& after,
                         std::string& why) {
    for (const JsonValue& step : flatten_steps(json, "processors")) {
        const std::string type = type_of(step);
        const bool pair = type == "BertProcessing" || type == "RobertaProcessing";
        if (type == "ByteLevel") {
            continue;  // changes offsets only
        }
        if (!pair && type != "TemplateProcessing") {
            return refuse_type("post-processor", step, why);
        }
        if (!(pair ? read_cls_and_sep(step, before, after) : read_template(step, before, after))) {
            why = "its post-processor names tokens without ids";
            return false;
        }
    }
    return true;
}

}  // namespace driftless
