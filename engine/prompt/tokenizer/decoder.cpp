#include "engine/prompt/tokenizer/decoder.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "engine/prompt/tokenizer/text.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

void replace(std::string& text, DecoderStep& step) {
    std::string out;
    std::size_t done = 0;
    Pattern::Search search;
    while (const auto match = step.pattern.next(text, search)) {
        out.append(text, done, match->begin - done);
        out += step.text;
        done = match->end;
    }
    out.append(text, done);
    text.swap(out);
}

// The byte of a text like "<0x0A>".
std::optional<char> fallback_byte(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with('>')) {
        return std::nullopt;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
    if (error != std::errc() || end != text.data() + 5) {
        return std::nullopt;
    }
    return static_cast<char>(value);
}

void join_fallback_bytes(std::vector<std::string>& texts) {
    std::vector<std::string> out;
    std::string run;
    const auto end_run = [&] {
        if (utf8_valid_prefix(run) == run.size()) {
            out.push_back(run);
        } else {
            for (std::size_t i = 0; i < run.size(); ++i) {
                out.emplace_back(replacement_utf8);
            }
        }
        run.clear();
    };
    for (std::string& text : texts) {
        if (const auto byte = fallback_byte(text)) {
            run += *byte;
            continue;
        }
        if (!run.empty()) {
            end_run();
        }
        out.push_back(std::move(text));
    }
    if (!run.empty()) {
        end_run();
    }
    texts.swap(out);
}

void strip(std::string& text, const DecoderStep& step) {
    std::string_view rest = text;
    for (std::uint32_t i = 0; i < step.start && rest.starts_with(step.text); ++i) {
        rest.remove_prefix(step.text.size());
    }
    for (std::uint32_t i = 0; i < step.stop && rest.ends_with(step.text); ++i) {
        rest.remove_suffix(step.text.size());
    }
    text = std::string(rest);
}

// In the first text a mark is no blank but the prefix that encoding put there.
void blanks_of_marks(std::string& text, const DecoderStep& step, bool first) {
    std::string out;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (!rest.starts_with(step.text)) {
            out += rest.front();
            rest.remove_prefix(1);
            continue;
        }
        if (!first || !step.drop_first) {
            out += ' ';
        }
        rest.remove_prefix(step.text.size());
    }
    text.swap(out);
}

// What is not of the alphabet stays as it is.
std::string bytes_of_letters(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) {
        if (!append_bytes_of_letters(out, text)) {
            out += text;
        }
    }
    return out;
}

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
    std::string out;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        out += i == 0 ? std::string_view{} : separator;
        out += texts[i];
    }
    return out;
}

}  // namespace

std::string Decoder::run(std::vector<std::string> texts) {
    for (DecoderStep& step : steps_) {
        if (step.kind == DecoderStep::Kind::byte_fallback) {
            join_fallback_bytes(texts);
            continue;
        }
        if (step.kind == DecoderStep::Kind::fuse) {
            texts.assign(1, joined(texts, {}));
            continue;
        }
        if (step.kind == DecoderStep::Kind::letters) {
            texts.assign(1, bytes_of_letters(texts));
            continue;
        }
        for (std::size_t i = 0; i < texts.size(); ++i) {
            if (step.kind == DecoderStep::Kind::replace) {
                replace(texts[i], step);
            } else if (step.kind == DecoderStep::Kind::strip) {
                strip(texts[i], step);
            } else {
                blanks_of_marks(texts[i], step, i == 0);
            }
        }
    }
    return joined(texts, separator);
}

}  // namespace driftless
