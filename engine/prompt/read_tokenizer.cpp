#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/prompt/tokenizer.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// The parts of a tokenizer.json that are lists of steps, read into what runs them. Each reader
// returns false, and says why, at the first thing it does not know. Sequences within sequences are
// gone through without recursion.

static std::string type_of(JsonValue step) {
    return std::string(step.find("type").as_string().value_or("(none)"));
}

static bool refuse_type(const char* what, JsonValue step, std::string& why) {
    why = std::string("it has a ") + what + " of type '" + type_of(step) +
          "', which is not supported";
    return false;
}

static std::string text_at(JsonValue step, std::string_view name, std::string_view otherwise = {}) {
    return std::string(step.find(name).as_string().value_or(otherwise));
}

static bool flag_at(JsonValue step, std::string_view name, bool otherwise) {
    return step.find(name).as_bool().value_or(otherwise);
}

// {"String": ".."} or {"Regex": ".."}.
static bool read_pattern(JsonValue json, Pattern& pattern, std::string& why) {
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

static bool read_behavior(JsonValue json, SplitStep::Behavior& behavior, std::string& why) {
    const std::string_view text = json.as_string().value_or("Isolated");
    const std::optional<SplitStep::Behavior> known = from_name<SplitStep::Behavior>(text);
    if (!known) {
        why = "it has a pre-tokenizer with the behavior '" + std::string(text) +
              "', which is not supported";
        return false;
    }
    behavior = *known;
    return true;
}

static void add_byte_level(JsonValue json, Splitter& splitter) {
    if (flag_at(json, "add_prefix_space", true)) {
        splitter.add({.kind = SplitStep::Kind::prefix_blank});
    }
    if (flag_at(json, "use_regex", true)) {
        std::string why;
        splitter.add({.pattern = Pattern::compile(gpt2_expression, why).value()});
    }
    splitter.add({.kind = SplitStep::Kind::letters});
}

static bool add_metaspace(JsonValue json, Splitter& splitter, std::string& why) {
    SplitStep mark;
    mark.kind = SplitStep::Kind::mark_blanks;
    mark.mark = text_at(json, "replacement", blank_mark);
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
    Pattern cut = Pattern::literal(mark.mark);
    splitter.add(std::move(mark));
    if (flag_at(json, "split", true)) {
        splitter.add(
            {.behavior = SplitStep::Behavior::merged_with_next, .pattern = std::move(cut)});
    }
    return true;
}

static bool add_pre_tokenizer(JsonValue json, Splitter& splitter, bool& byte_level,
                              std::string& why) {
    const std::string type = type_of(json);
    SplitStep step;
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
    if (type == "Split") {
        step.invert = flag_at(json, "invert", false);
        if (!read_pattern(json.find("pattern"), step.pattern, why) ||
            !read_behavior(json.find("behavior"), step.behavior, why)) {
            return false;
        }
    } else if (type == "Digits") {
        step.kind = SplitStep::Kind::digits;
        step.behavior = flag_at(json, "individual_digits", false) ? SplitStep::Behavior::isolated
                                                                  : SplitStep::Behavior::contiguous;
    } else if (type == "Punctuation") {
        step.kind = SplitStep::Kind::punctuation;
        if (!read_behavior(json.find("behavior"), step.behavior, why)) {
            return false;
        }
    } else if (type == "WhitespaceSplit") {
        step.kind = SplitStep::Kind::spaces;
        step.behavior = SplitStep::Behavior::removed;
    } else if (type == "CharDelimiterSplit") {
        step.pattern = Pattern::literal(text_at(json, "delimiter"));
        step.behavior = SplitStep::Behavior::removed;
    } else {
        return refuse_type("pre-tokenizer", json, why);
    }
    splitter.add(std::move(step));
    return true;
}

static bool add_normalizer(JsonValue json, Normalizer& normalizer, std::string& why) {
    const std::optional<NormalizerStep::Kind> kind = from_name<NormalizerStep::Kind>(type_of(json));
    if (!kind) {
        return refuse_type("normalizer", json, why);
    }
    NormalizerStep step;
    step.kind = *kind;
    if (step.kind == NormalizerStep::Kind::strip) {
        step.left = flag_at(json, "strip_left", true);
        step.right = flag_at(json, "strip_right", true);
    } else if (step.kind == NormalizerStep::Kind::prepend) {
        step.text = text_at(json, "prepend");
    } else if (step.kind == NormalizerStep::Kind::replace) {
        step.text = text_at(json, "content");
        if (!read_pattern(json.find("pattern"), step.pattern, why)) {
            return false;
        }
    }
    normalizer.add(std::move(step));
    return true;
}

static bool add_decoder(JsonValue json, bool byte_level, Decoder& decoder, std::string& why) {
    const std::optional<DecoderStep::Kind> kind = from_name<DecoderStep::Kind>(type_of(json));
    if (!kind) {
        return refuse_type("decoder", json, why);
    }
    DecoderStep step;
    step.kind = *kind;
    if (step.kind == DecoderStep::Kind::replace) {
        step.text = text_at(json, "content");
        if (!read_pattern(json.find("pattern"), step.pattern, why)) {
            return false;
        }
    } else if (step.kind == DecoderStep::Kind::strip) {
        step.text = text_at(json, "content", " ");
        step.start = static_cast<std::uint32_t>(json.find("start").as_u64().value_or(0));
        step.stop = static_cast<std::uint32_t>(json.find("stop").as_u64().value_or(0));
        if (step.text.empty()) {
            return true;
        }
    } else if (step.kind == DecoderStep::Kind::marks) {
        step.text = text_at(json, "replacement", blank_mark);
        step.drop_first = text_at(json, "prepend_scheme", "always") != "never" &&
                          flag_at(json, "add_prefix_space", true);
        if (step.text.empty()) {
            return refuse_type("decoder", json, why);
        }
    } else if (step.kind == DecoderStep::Kind::letters && byte_level) {
        return true;  // the vocabulary of a byte-level model holds bytes already
    }
    decoder.add(std::move(step));
    return true;
}

// {"sep": ["</s>", 2], "cls": ["<s>", 0]}.
static bool read_cls_and_sep(JsonValue json, std::vector<TokenId>& before,
                             std::vector<TokenId>& after) {
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
static bool read_template(JsonValue json, std::vector<TokenId>& before,
                          std::vector<TokenId>& after) {
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

/// Calls `add` with each element of a step that may be a sequence of steps, each of which may be
/// one again, until it says false; `list` is the name under which a sequence has its elements.
template <typename Add>
static bool add_steps(JsonValue step, std::string_view list, Add add) {
    std::vector<JsonValue> open;  // what is yet to be looked at, last first
    if (step.is(JsonType::object)) {
        open.push_back(step);
    }
    while (!open.empty()) {
        const JsonValue next = open.back();
        open.pop_back();
        if (type_of(next) != "Sequence") {
            if (!add(next)) {
                return false;
            }
            continue;
        }
        std::vector<JsonValue> inner;
        for (JsonValue one = next.find(list).first(); one.present(); one = one.next()) {
            inner.push_back(one);
        }
        open.insert(open.end(), inner.rbegin(), inner.rend());
    }
    return true;
}

static bool add_post_processor(JsonValue step, std::vector<TokenId>& before,
                               std::vector<TokenId>& after, std::string& why) {
    const std::string type = type_of(step);
    const bool pair = type == "BertProcessing" || type == "RobertaProcessing";
    if (type == "ByteLevel") {
        return true;  // changes offsets only
    }
    if (!pair && type != "TemplateProcessing") {
        return refuse_type("post-processor", step, why);
    }
    if (!(pair ? read_cls_and_sep(step, before, after) : read_template(step, before, after))) {
        why = "its post-processor names tokens without ids";
        return false;
    }
    return true;
}

// Ids may run ahead of the number of tokens by this much before memory is taken for them.
static constexpr std::uint64_t ids_ahead_max = 1'000'000;

namespace {

class Reader {
  public:
    explicit Reader(std::string& why) : why_(why) {}
    Result<TokenizerParts> read(std::string_view text);

  private:
    bool refuse(std::string why) {
        why_ = std::move(why);
        return false;
    }
    bool read_steps(JsonValue root);
    bool read_rules(JsonValue model);
    bool read_vocabulary(JsonValue vocabulary);
    bool read_merges(JsonValue merges);
    bool read_added(JsonValue added);
    bool check_holes();
    bool append_token(std::string_view written, std::string& out) const;

    std::string& why_;
    TokenizerParts parts_;
    TokenId last_made_ = 0;  ///< the largest id that a merge makes
};

}  // namespace

// The bytes for which a token as written stands; false where no text leads to it.
bool Reader::append_token(std::string_view written, std::string& out) const {
    if (parts_.bpe.rules.bytes) {
        return append_bytes_of_letters(out, written);
    }
    out += written;
    return true;
}

/// Pieces are merged from bytes where a pre-tokenizer says so.
bool Reader::read_steps(JsonValue root) {
    bool& bytes = parts_.bpe.rules.bytes;
    const bool cuts =
        add_steps(root.find("normalizer"), "normalizers",
                  [&](JsonValue step) { return add_normalizer(step, parts_.normalizer, why_); }) &&
        add_steps(root.find("pre_tokenizer"), "pretokenizers", [&](JsonValue step) {
            return add_pre_tokenizer(step, parts_.splitter, bytes, why_);
        });
    if (cuts && bytes && parts_.normalizer.to_letters()) {
        return refuse("it maps bytes to letters twice, in its normalizer and in its pre-tokenizer");
    }
    const JsonValue decoder = root.find("decoder");
    parts_.decoder.separator = decoder.is(JsonType::object) || bytes ? "" : " ";
    return cuts &&
           add_steps(
               decoder, "decoders",
               [&](JsonValue step) { return add_decoder(step, bytes, parts_.decoder, why_); }) &&
           add_steps(root.find("post_processor"), "processors", [&](JsonValue step) {
               return add_post_processor(step, parts_.before, parts_.after, why_);
           });
}

bool Reader::read_rules(JsonValue model) {
    const std::string type(model.find("type").as_string().value_or("BPE"));
    if (type != "BPE") {
        return refuse("its model is of type '" + type + "'; BPE is supported");
    }
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!model.find(name).as_string().value_or("").empty()) {
            return refuse(std::string("its model has a ") + name + ", which is not supported");
        }
    }
    if (model.find("dropout").as_double().value_or(0) != 0) {
        return refuse(
            "its model has a dropout, which gives the same text different tokens each time");
    }
    BpeRules& rules = parts_.bpe.rules;
    rules.ignore_merges = flag_at(model, "ignore_merges", false);
    rules.byte_fallback = flag_at(model, "byte_fallback", false);
    rules.fuse_unknown = flag_at(model, "fuse_unk", false);
    return true;
}

bool Reader::read_vocabulary(JsonValue vocabulary) {
    const std::size_t count = vocabulary.size();
    if (!vocabulary.is(JsonType::object) || count == 0) {
        return refuse("its model has no 'vocab'");
    }
    Vocabulary& out = parts_.bpe.vocabulary;
    out.reserve(count, vocabulary.raw().size());
    std::string bytes;
    for (JsonValue entry = vocabulary.first(); entry.present(); entry = entry.next()) {
        const auto id = entry.as_u64();
        const std::string_view written = entry.key();
        if (!id || *id > token_id_max || *id > count + ids_ahead_max) {
            return refuse("its token '" + std::string(written) + "' has the id " +
                          std::string(entry.raw().substr(0, 40)) + ", which cannot be");
        }
        const auto token = static_cast<TokenId>(*id);
        if (const auto other = out.bytes(token)) {
            return refuse("two of its tokens have the id " + std::to_string(token) + ": '" +
                          std::string(*other) + "' and '" + std::string(written) + "'");
        }
        bytes.clear();
        if (append_token(written, bytes) && !bytes.empty()) {
            out.set(token, bytes);
        } else {
            out.set_unreachable(token, written);
        }
    }
    return true;
}

// Both spellings: "a b" and ["a", "b"].
bool Reader::read_merges(JsonValue merges) {
    if (!merges.is(JsonType::array)) {
        return refuse("its model has no 'merges'");
    }
    Bpe& bpe = parts_.bpe;
    bpe.merges.reserve(merges.size());
    std::uint32_t rank = 0;
    std::string bytes;
    for (JsonValue merge = merges.first(); merge.present(); merge = merge.next(), ++rank) {
        std::string_view left;
        std::string_view right;
        if (const auto line = merge.as_string()) {
            const std::size_t blank = line->find(' ');
            left = line->substr(0, blank);
            right = blank == line->npos ? std::string_view{} : line->substr(blank + 1);
        } else {
            left = merge.at(0).as_string().value_or("");
            right = merge.at(1).as_string().value_or("");
        }
        if (left.empty() || right.empty() ||
            (merge.is(JsonType::string) && right.find(' ') != right.npos)) {
            return refuse("its merge " + std::to_string(rank) +
                          " is not a pair of tokens: " + std::string(merge.raw().substr(0, 80)));
        }
        bytes.clear();
        if (!append_token(left, bytes)) {
            continue;  // no text leads there
        }
        const std::size_t cut = bytes.size();
        if (!append_token(right, bytes)) {
            continue;
        }
        const std::string_view both = bytes;
        const auto left_id = bpe.vocabulary.find(both.substr(0, cut));
        const auto right_id = bpe.vocabulary.find(both.substr(cut));
        const auto result = bpe.vocabulary.find(both);
        if (!left_id || !right_id || !result) {
            return refuse("its merge " + std::to_string(rank) + " (" +
                          std::string(merge.raw().substr(0, 80)) +
                          ") names a token that its vocabulary lacks");
        }
        bpe.merges.set(*left_id, *right_id, {rank, *result});
        last_made_ = std::max(last_made_, *result);
    }
    return true;
}

bool Reader::read_added(JsonValue added) {
    std::unordered_set<std::string_view> seen;
    std::string bytes;
    parts_.added.reserve(added.size());
    for (JsonValue entry = added.first(); entry.present(); entry = entry.next()) {
        const auto id = entry.find("id").as_u64();
        const auto text = entry.find("content").as_string();
        if (!id || *id > token_id_max || !text) {
            return refuse("one of its added tokens has no id or no content: " +
                          std::string(entry.raw().substr(0, 80)));
        }
        if (text->empty() || !seen.insert(*text).second) {
            continue;
        }
        bytes.clear();
        const auto known =
            append_token(*text, bytes) ? parts_.bpe.vocabulary.find(bytes) : std::nullopt;
        AddedToken token = added_token(entry, known.value_or(static_cast<TokenId>(*id)), *text);
        token.normalized = flag_at(entry, "normalized", false);
        parts_.added.push_back(std::move(token));
    }
    return true;
}

// Files of OpenAI's models lack some of the ids behind the last merged token, among special ones.
// Before it a hole is damage: the vocabulary of such a file is not that of its model.
bool Reader::check_holes() {
    const Vocabulary& vocabulary = parts_.bpe.vocabulary;
    std::unordered_set<TokenId> added;
    for (const AddedToken& token : parts_.added) {
        added.insert(token.id);
    }
    TokenId first = 0;
    std::uint64_t holes = 0;
    for (TokenId id = 0; id < last_made_; ++id) {
        if (!vocabulary.bytes(id) && !added.contains(id)) {
            first = holes == 0 ? id : first;
            ++holes;
        }
    }
    return holes == 0 ||
           refuse("its vocabulary has holes: no token has the id " + std::to_string(first) +
                  (holes == 1 ? "" : ", nor " + std::to_string(holes - 1) + " others") +
                  fetch_again);
}

Result<TokenizerParts> Reader::read(std::string_view text) {
    if (text.empty()) {
        why_ = std::string("it is empty") + fetch_again;
        return Error{ErrorCode::bad_json, 0, "read a tokenizer"};
    }
    if (text.front() == '\n' && text.find('\0') != text.npos) {  // a protocol buffer
        why_ = "it is a SentencePiece model; take the tokenizer.json of the same model";
        return Error{ErrorCode::unsupported, 0, "read a tokenizer"};
    }
    JsonDocument document;
    const Result<JsonValue> parsed = document.parse(text);
    if (!parsed) {
        const std::size_t at = document.error_offset();
        why_ = parsed.error().code == ErrorCode::too_large ? "it is too large or too deeply nested"
               : at >= text.size() ? "its JSON is cut off after " + std::to_string(text.size()) +
                                         " bytes" + fetch_again
                                   : "it is not JSON: byte " + std::to_string(at) + " is wrong";
        return Error{parsed.error().code, 0, "read a tokenizer"};
    }
    const JsonValue root = parsed.value();
    const JsonValue model = root.find("model");
    if (!model.present() && root.find("config").find("pattern").present()) {
        return read_tekken(root, why_);
    }
    if (!model.is(JsonType::object)) {
        why_ = "it has no 'model', so it is not a tokenizer.json";
        return Error{ErrorCode::missing, 0, "read a tokenizer"};
    }
    Bpe& bpe = parts_.bpe;
    bool ok = read_steps(root) && read_rules(model) && read_vocabulary(model.find("vocab")) &&
              read_merges(model.find("merges")) && read_added(root.find("added_tokens")) &&
              check_holes();
    if (const auto unknown = model.find("unk_token").as_string(); ok && unknown) {
        std::string bytes;
        if (append_token(*unknown, bytes)) {
            bpe.rules.unknown = bpe.vocabulary.find(bytes);
        }
        ok = bpe.rules.unknown ||
             refuse("its unk_token '" + std::string(*unknown) + "' is not in its vocabulary");
    }
    parts_.blank = bpe.rules.bytes                  ? " "
                   : parts_.normalizer.to_letters() ? blank_letter
                                                    : blank_mark;
    if (!ok) {
        return Error{ErrorCode::unsupported, 0, "read a tokenizer"};
    }
    bpe.prepare();
    return std::move(parts_);
}

AddedToken added_token(JsonValue entry, TokenId id, std::string_view text) {
    return {.id = id,
            .text = std::string(text),
            .single_word = flag_at(entry, "single_word", false),
            .strip_left = flag_at(entry, "lstrip", false),
            .strip_right = flag_at(entry, "rstrip", false),
            .special = flag_at(entry, "special", false)};
}

Result<TokenizerParts> read_tokenizer(std::string_view json, std::string& why) {
    return Reader(why).read(json);
}

}  // namespace driftless
