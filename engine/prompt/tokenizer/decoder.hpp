/// Decoder: from the texts of tokens back to one text.
///
/// A list of steps over the list of texts, as Hugging Face's decoders define them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/prompt/tokenizer/pattern.hpp"

namespace driftless {

struct DecoderStep {
    enum class Kind : std::uint8_t {
        replace,        ///< each match of `pattern` by `text`
        byte_fallback,  ///< runs of <0xNN> by their bytes; by U+FFFD each where that is no UTF-8
        fuse,           ///< all texts become one
        strip,          ///< up to `start` and `stop` times `text` off the ends of each
        letters,        ///< letters of bytes by their bytes, all texts become one
        marks,          ///< `text` is a blank; a first one is dropped where `drop_first`
    };
    Kind kind = Kind::fuse;
    Pattern pattern = Pattern::literal("");
    std::string text;
    std::uint32_t start = 0;
    std::uint32_t stop = 0;
    bool drop_first = false;
};

class Decoder {
  public:
    void add(DecoderStep step) { steps_.push_back(std::move(step)); }
    /// Runs the steps and joins the texts.
    std::string run(std::vector<std::string> texts);
    /// What stands between texts in the end: a blank, where a tokenizer names no decoder.
    std::string separator;

  private:
    std::vector<DecoderStep> steps_;
};

}  // namespace driftless
