#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/prompt/tokenizer/read_ranks.hpp"
#include "engine/prompt/tokenizer/read_steps.hpp"
#include "engine/prompt/tokenizer/text.hpp"
#include "engine/prompt/tokenizer/tokenizer.hpp"

namespace driftless {

namespace {

// Ids may run ahead of the number of tokens by this much before memory is taken for them.
constexpr std::uint64_t ids_ahead_max = 1'000'000;

class Reader {
  public:
    explicit Reader(std::string& why) : why_(why) {}
    Result<TokenizerParts> read(std::string_view text);

  private:
    bool refuse(std::string why) {
        why_ = std::move(why);
        return false;
    }
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

// The bytes for which a token as written stands; false where no text leads to it.
bool Reader::append_token(std::string_view written, std::string& out) const {
    if (parts_.bpe.rules.bytes) {
        return append_bytes_of_letters(out, written);
    }
    out += written;
    return true;
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
    rules.ignore_merges = model.find("ignore_merges").as_bool().value_or(false);
    rules.byte_fallback = model.find("byte_fallback").as_bool().value_or(false);
    rules.fuse_unknown = model.find("fuse_unk").as_bool().value_or(false);
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
        const auto flag = [&](std::string_view name) {
            return entry.find(name).as_bool().value_or(false);
        };
        AddedToken token;
        bytes.clear();
        const auto known =
            append_token(*text, bytes) ? parts_.bpe.vocabulary.find(bytes) : std::nullopt;
        token.id = known.value_or(static_cast<TokenId>(*id));
        token.text = *text;
        token.single_word = flag("single_word");
        token.strip_left = flag("lstrip");
        token.strip_right = flag("rstrip");
        token.normalized = flag("normalized");
        token.special = flag("special");
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
                  "; fetch it again from where the model is published");
}

Result<TokenizerParts> Reader::read(std::string_view text) {
    if (text.empty()) {
        why_ = "it is empty; fetch it again from where the model is published";
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
                                         " bytes; fetch it again from where the model is published"
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
    bool ok =
        read_normalizer(root.find("normalizer"), parts_.normalizer, why_) &&
        read_pre_tokenizer(root.find("pre_tokenizer"), parts_.splitter, bpe.rules.bytes, why_) &&
        (!bpe.rules.bytes || !parts_.normalizer.to_letters() ||
         refuse("it maps bytes to letters twice, in its normalizer and in its pre-tokenizer")) &&
        read_decoder(root.find("decoder"), bpe.rules.bytes, parts_.decoder, why_) &&
        read_post_processor(root.find("post_processor"), parts_.before, parts_.after, why_);
    ok = ok && read_rules(model) && read_vocabulary(model.find("vocab")) &&
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

}  // namespace

Result<TokenizerParts> read_tokenizer(std::string_view json, std::string& why) {
    return Reader(why).read(json);
}

}  // namespace driftless
