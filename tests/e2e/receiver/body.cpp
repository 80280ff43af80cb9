#include "tests/e2e/receiver/body.hpp"

#include <cstddef>
#include <cstdlib>
#include <string>

namespace receiver {

namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Walks JSON text value by value, from left to right. Accepts some texts that are no JSON; what it
/// must not do is miscount what is.
class Walker {
  public:
    explicit Walker(std::string_view text) : text_(text) {}

    bool at(char c) {
        skip_blanks();
        return position_ < text_.size() && text_[position_] == c;
    }
    bool take(char c) {
        const bool there = at(c);
        position_ += there ? 1 : 0;
        return there;
    }
    bool over() {
        skip_blanks();
        return position_ >= text_.size();
    }

    /// The next value as written: a string with its quotes, an array or object with all in it.
    std::string_view value() {
        skip_blanks();
        const std::size_t begin = position_;
        std::size_t depth = 0;
        while (position_ < text_.size()) {
            const char c = text_[position_];
            if (c == '"') {
                skip_string();
            } else if (c == '[' || c == '{') {
                ++depth;
                ++position_;
            } else if (c == ']' || c == '}') {
                if (depth == 0) {
                    break;
                }
                --depth;
                ++position_;
            } else if (depth == 0 && (c == ',' || c == ':')) {
                break;
            } else {
                ++position_;
            }
            if (depth == 0 && (c == '"' || c == ']' || c == '}')) {
                break;
            }
        }
        std::string_view found = text_.substr(begin, position_ - begin);
        while (!found.empty() && blanks.find(found.back()) != blanks.npos) {
            found.remove_suffix(1);
        }
        return found;
    }

  private:
    void skip_blanks() {
        while (position_ < text_.size() && blanks.find(text_[position_]) != blanks.npos) {
            ++position_;
        }
    }
    void skip_string() {
        ++position_;
        while (position_ < text_.size() && text_[position_] != '"') {
            position_ += text_[position_] == '\\' ? 2 : 1;
        }
        ++position_;
    }

    std::string_view text_;
    std::size_t position_ = 0;
};

/// Calls `see(key, value)` for each member; keys come with their quotes.
template <typename See>
bool each_member(std::string_view object, See see) {
    Walker walker(object);
    if (!walker.take('{')) {
        return false;
    }
    while (!walker.at('}')) {
        const std::string_view key = walker.value();
        if (!walker.take(':')) {
            return false;
        }
        see(key, walker.value());
        if (!walker.take(',') && !walker.at('}')) {
            return false;
        }
    }
    return walker.take('}') && walker.over();
}

template <typename See>
void each_element(std::string_view array, See see) {
    Walker walker(array);
    if (!walker.take('[')) {
        return;
    }
    while (!walker.over() && !walker.at(']')) {
        see(walker.value());
        walker.take(',');
    }
}

std::int64_t words_of(std::string_view quoted) {
    std::int64_t words = 0;
    bool in_word = false;
    for (const char c : quoted.substr(1, quoted.size() - 2)) {
        words += c != ' ' && !in_word ? 1 : 0;
        in_word = c != ' ';
    }
    return words;
}

void read_prompt(std::string_view prompt, Asked& asked) {
    if (prompt.size() < 2 || (prompt[0] != '"' && prompt[0] != '[')) {
        return;
    }
    asked.understood = true;
    if (prompt.starts_with('"')) {
        asked.words += words_of(prompt);
        return;
    }
    asked.is_ids = true;
    each_element(prompt, [&](std::string_view) { ++asked.words; });
}

void read_messages(std::string_view messages, Asked& asked) {
    asked.is_chat = true;
    each_element(messages, [&](std::string_view message) {
        each_member(message, [&](std::string_view key, std::string_view value) {
            if (key == "\"content\"") {
                read_prompt(value, asked);
            }
        });
    });
}

}  // namespace

Asked read_body(std::string_view body) {
    Asked asked;
    const bool whole = each_member(body, [&](std::string_view key, std::string_view value) {
        if (key == "\"prompt\"") {
            read_prompt(value, asked);
        } else if (key == "\"messages\"") {
            read_messages(value, asked);
        } else if (key == "\"stream\"") {
            asked.stream = value == "true";
        } else if (key == "\"ignore_eos\"") {
            asked.ignore_eos = value == "true";
        } else if (key == "\"max_tokens\"" || key == "\"max_completion_tokens\"") {
            asked.tokens = std::atoll(std::string(value).c_str());
        }
    });
    asked.understood = asked.understood && whole;
    return asked;
}

}  // namespace receiver
