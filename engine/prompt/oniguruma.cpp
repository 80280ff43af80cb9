#include <algorithm>
#include <array>
#include <vector>

#include "engine/prompt/tokenizer.hpp"

namespace driftless {

// Unicode's White_Space property as the inside of a class.
static constexpr std::string_view blanks =
    R"(\t-\r\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Scripts that published expressions name.
static constexpr std::array<std::string_view, 12> scripts{
    "Han",    "Hiragana", "Katakana", "Hangul", "Latin",      "Greek",
    "Arabic", "Cyrillic", "Hebrew",   "Thai",   "Devanagari", "Bengali"};

namespace {

class Rewriter {
  public:
    Rewriter(std::string_view in, std::string& why) : in_(in), why_(why) {}
    Result<std::string> run();

  private:
    bool take_class();
    bool take_operand(std::string& operand, bool& plain);
    bool take_class_item(std::string& items);
    void take_escape(std::string& out, bool in_class);
    void take_property(std::string& out);
    void take_interval();
    std::size_t interval_end() const;
    bool refuse(const char* what);
    bool at(std::string_view text) const { return in_.substr(next_).starts_with(text); }

    std::string_view in_;
    std::string& why_;
    std::size_t next_ = 0;
    std::string out_;
    std::size_t atom_ = 0;  ///< where in `out_` the thing begins that a quantifier would repeat
    std::vector<std::size_t> groups_;
};

}  // namespace

bool Rewriter::refuse(const char* what) {
    why_ = "the regular expression '" + std::string(in_) + "' uses " + what;
    return false;
}

Result<std::string> Rewriter::run() {
    while (next_ < in_.size()) {
        const char c = in_[next_];
        if (c == '[') {
            if (!take_class()) {
                return Error{ErrorCode::unsupported, 0, "rewrite a regular expression"};
            }
        } else if (c == '{' && interval_end() > 0) {
            take_interval();
        } else if (c == '\\') {
            atom_ = out_.size();
            take_escape(out_, false);
        } else {
            if (c == ')') {
                atom_ = groups_.empty() ? 0 : groups_.back();
                if (!groups_.empty()) {
                    groups_.pop_back();
                }
            } else if (std::string_view("*+?|").find(c) == std::string_view::npos) {
                atom_ = out_.size();
            }
            if (c == '(') {
                groups_.push_back(out_.size());
            }
            const std::size_t bytes = at("(?") ? 2 : 1;  // the ? is no quantifier
            out_ += in_.substr(next_, bytes);
            next_ += bytes;
        }
    }
    return out_;
}

// Where an interval quantifier that begins at `next_` ends, or 0.
std::size_t Rewriter::interval_end() const {
    const std::size_t close = in_.find('}', next_);
    if (close == in_.npos || close == next_ + 1) {
        return 0;
    }
    const std::string_view inside = in_.substr(next_ + 1, close - next_ - 1);
    const bool digits = inside.find_first_not_of("0123456789,") == inside.npos;
    return digits && inside != "," ? close + 1 : 0;
}

// In Oniguruma X{n,m}+ repeats X{n,m}, and so does X{n}?.
void Rewriter::take_interval() {
    const std::size_t end = interval_end();
    const std::string_view interval = in_.substr(next_, end - next_);
    const char follows = end < in_.size() ? in_[end] : '\0';
    const bool stacked = follows == '+' || (follows == '?' && interval.find(',') == interval.npos);
    if (stacked) {
        out_.insert(atom_, "(?:");
    }
    out_ += interval;
    if (stacked) {
        out_ += ')';
    }
    next_ = end;
}

// A class. PCRE2 knows none within a class: items of one that adds are beside the others; one
// that adds all but its items becomes an alternative; what `&&` asks becomes a look ahead.
bool Rewriter::take_class() {
    atom_ = out_.size();
    ++next_;
    const bool inverted = at("^");
    next_ += inverted ? 1 : 0;
    std::string all;  // of the operands of && but the last, as look-aheads
    std::string operand;
    bool plain = false;
    for (bool more = true; more;) {
        if (!take_operand(operand, plain)) {
            return false;
        }
        more = at("&&");
        if (more) {
            all += "(?=" + operand + ")";
            next_ += 2;
        }
    }
    next_ = std::min(next_ + 1, in_.size());
    if (inverted && plain && all.empty()) {
        out_ += "[^" + operand.substr(1);
    } else if (inverted) {
        out_ += "(?:(?!" + all + operand + ")(?s:.))";
    } else {
        out_ += all.empty() ? operand : "(?:" + all + operand + ")";
    }
    return true;
}

// Items and classes up to the end of the class or to `&&`. `plain`: it is one class of items.
bool Rewriter::take_operand(std::string& operand, bool& plain) {
    std::string items;
    std::string others;
    while (next_ < in_.size() && !at("&&") && (!at("]") || (items.empty() && others.empty()))) {
        if (at("[") && !at("[:")) {
            std::string inner;
            const bool inverted = in_.substr(next_).starts_with("[^");
            next_ += inverted ? 2 : 1;
            while (next_ < in_.size() && !at("]")) {
                if (!take_class_item(inner)) {
                    return false;
                }
            }
            ++next_;
            if (inverted) {
                others += "|[^" + inner + "]";
            } else {
                items += inner;
            }
        } else if (!take_class_item(items)) {
            return false;
        }
    }
    if (next_ >= in_.size()) {
        return refuse("a class without an end");
    }
    plain = others.empty();
    operand = "[" + items + "]";
    if (!plain) {
        operand = items.empty() ? "(?:" + others.substr(1) + ")" : "(?:" + operand + others + ")";
    }
    return true;
}

bool Rewriter::take_class_item(std::string& items) {
    if (at("&&")) {
        return refuse("'&&' in a class within a class, which is not supported");
    }
    if (at("[:")) {
        const std::size_t end = in_.find(":]", next_);
        if (end == in_.npos) {
            return refuse("a class with '[:' without ':]', which is not supported");
        }
        items += in_.substr(next_, end + 2 - next_);
        next_ = end + 2;
        return true;
    }
    if (at("[")) {
        return refuse("classes nested three deep, which is not supported");
    }
    if (at("\\")) {
        take_escape(items, true);
        return true;
    }
    items += in_[next_++];
    return true;
}

void Rewriter::take_escape(std::string& out, bool in_class) {
    const char c = next_ + 1 < in_.size() ? in_[next_ + 1] : '\\';
    const auto put_class = [&](std::string_view open, std::string_view items) {
        if (!in_class) {
            out += open;
        }
        out += items;
        if (!in_class) {
            out += ']';
        }
        next_ += 2;
    };
    if (c == 's') {
        put_class("[", blanks);
    } else if (c == 'S' && !in_class) {
        put_class("[^", blanks);
    } else if (c == 'h') {
        put_class("[", "0-9a-fA-F");
    } else if (c == 'p' || c == 'P') {
        take_property(out);
    } else if (c == 'u' && next_ + 6 <= in_.size() &&
               in_.substr(next_ + 2, 4).find_first_not_of("0123456789abcdefABCDEF") == in_.npos) {
        out += "\\x{" + std::string(in_.substr(next_ + 2, 4)) + "}";
        next_ += 6;
    } else {
        out += in_.substr(next_, 2);
        next_ += 2;
    }
}

void Rewriter::take_property(std::string& out) {
    const std::size_t end = in_.find('}', next_);
    if (next_ + 2 >= in_.size() || in_[next_ + 2] != '{' || end == in_.npos) {
        out += in_.substr(next_, 2);
        next_ += 2;
        return;
    }
    std::string_view name = in_.substr(next_ + 3, end - next_ - 3);
    out += in_.substr(next_, 3);
    if (name.starts_with('^')) {
        out += '^';
        name.remove_prefix(1);
    }
    if (std::find(scripts.begin(), scripts.end(), name) != scripts.end()) {
        out += "sc:";
    }
    out += name;
    out += '}';
    next_ = end + 1;
}

Result<std::string> pcre2_of_oniguruma(std::string_view expression, std::string& why) {
    return Rewriter(expression, why).run();
}

}  // namespace driftless
