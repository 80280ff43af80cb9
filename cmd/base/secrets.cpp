#include "cmd/base/secrets.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <utility>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

static bool is_any_of(std::string_view text, std::initializer_list<std::string_view> all) {
    return std::ranges::find(all, text) != all.end();
}

static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static constexpr std::string_view digits = "0123456789";
static constexpr std::string_view blanks = " \t";

static bool is_one_of(char c, std::string_view all) {
    return all.find(c) != all.npos;
}

static bool is_alphanumeric(char c) {
    return is_one_of(c, letters) || is_one_of(c, digits);
}

/// What a shell takes for the name of a variable.
static bool is_variable_name(std::string_view name) {
    return std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

static std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char* const code = text.data() + at + 1;
        unsigned char byte = 0;
        if (text[at] == '%' && at + 2 < text.size() &&
            std::from_chars(code, code + 2, byte, 16).ptr == code + 2) {
            out += static_cast<char>(byte);
            at += 2;
        } else {
            out += text[at];
        }
    }
    return out;
}

/// `a=1; b="2"`: 1 and 2, which a server may repeat one by one.
static std::vector<std::string_view> cookie_values(std::string_view pairs) {
    std::vector<std::string_view> values;
    while (!pairs.empty()) {
        const std::string_view pair = take_until(pairs, ";");
        const std::size_t equals = pair.find('=');
        std::string_view value = equals == pair.npos ? "" : trim_blanks(pair.substr(equals + 1));
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
        }
        values.push_back(value);
    }
    return values;
}

/// Where user or host begin: behind "http://", also with a slash or the colon too few.
static std::size_t host_at(std::string_view url) {
    const std::size_t scheme = std::min(url.find_first_not_of(letters), url.size());
    const std::string_view rest = url.substr(scheme);
    const bool is_scheme = rest.starts_with(":/") || rest.starts_with("//");
    return is_scheme ? std::min(url.find_first_not_of('/', scheme + 1), url.size()) : 0;
}

/// Of "host:80" and "host"; not of "user:word".
static bool ends_in_port(std::string_view host) {
    const std::size_t colon = host.rfind(':');
    return colon == host.npos || host.find('@') != host.npos || host.starts_with('[') ||
           host.find_first_not_of(digits, colon + 1) == host.npos;
}

namespace {

/// An event is "+T ACTION WHAT": where its action begins, and what is behind that. The end of
/// the text, where it has no such word.
struct EventWords {
    std::size_t action;
    std::size_t action_end;
    std::size_t what;
};

}  // namespace

static EventWords words_of(std::string_view event) {
    const auto bounded = [event](std::size_t at) { return std::min(at, event.size()); };
    const std::size_t time = bounded(event.find_first_not_of(blanks));
    const std::size_t time_end = bounded(event.find_first_of(blanks, time));
    const std::size_t action = bounded(event.find_first_not_of(blanks, time_end));
    const std::size_t action_end = bounded(event.find_first_of(blanks, action));
    return {action, action_end, bounded(event.find_first_not_of(blanks, action_end))};
}

/// Where the URL of "+T post URL" begins; the end, where the event is another.
static std::size_t posted_url_at(std::string_view event) {
    const EventWords words = words_of(event);
    const bool posts = event.substr(words.action, words.action_end - words.action) == "post";
    return posts ? words.what : event.size();
}

std::string_view environment_name(std::string_view value) {
    constexpr std::string_view prefix = "env:";
    const std::string_view name = value.starts_with(prefix) ? value.substr(prefix.size()) : "";
    return is_variable_name(name) ? name : "";
}

// The rule: what is a secret, wherever it stands.

namespace {

/// `of_secret_or_word`: "key" and the like may also name a word, which a key does not look like.
enum class NameTells { nothing, of_secret_or_word, of_secret };

}  // namespace

/// "clientSecret", "X-Auth-Token", "api_key_2": its words in small letters, without numbers.
static std::vector<std::string> words_of_name(std::string_view name) {
    std::vector<std::string> words;
    bool was_small = false;
    bool begins = true;
    for (const char c : name) {
        const bool is_capital = c >= 'A' && c <= 'Z';
        begins = begins || (is_capital && was_small);
        was_small = c >= 'a' && c <= 'z';
        if (!is_capital && !was_small) {
            begins = true;
            continue;
        }
        if (begins) {
            words.emplace_back();
        }
        begins = false;
        words.back() += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return words;
}

/// By its last two words, and by the end of the last: `author`, `SECRET_NAME` and `key-file` tell
/// of nothing.
static NameTells value_by_name(std::string_view name) {
    std::vector<std::string> words = words_of_name(name);
    while (words.size() > 1 &&  // "b" of b64, "v" of v2
           is_any_of(words.back(), {"value", "base", "id", "data", "string", "text", "raw", "hash",
                                    "pem", "confirmation", "b", "v"})) {
        words.pop_back();
    }
    if (words.empty()) {
        return NameTells::nothing;
    }
    const std::string last = words.back();
    const std::string end = (words.size() > 1 ? words[words.size() - 2] : "") + last;
    const std::string_view one = std::string_view(end).substr(
        0, end.size() - (end.ends_with('s') && !end.ends_with("ss") ? 1 : 0));
    const auto ends_with = [one](std::initializer_list<std::string_view> all) {
        return std::ranges::any_of(all, [one](auto word) { return one.ends_with(word); });
    };
    if (ends_with({"cachekey", "eostoken", "bostoken", "stoptoken", "padtoken", "compass", "bypass",
                   "oldpwd"})) {
        return NameTells::nothing;
    }
    if (last != "tokens" &&
        (is_any_of(last, {"jwt", "pat", "sig", "creds"}) ||
         ends_with({"token",          "secret",    "password",  "passwd",     "passwort",
                    "passphrase",     "passcode",  "pass",      "pwd",        "authorization",
                    "authentication", "signature", "cookie",    "credential", "bearer",
                    "apikey",         "accesskey", "secretkey", "privatekey", "authkey"}))) {
        return NameTells::of_secret;
    }
    return ends_with({"key", "token", "auth"}) ? NameTells::of_secret_or_word : NameTells::nothing;
}

bool is_secret_name(std::string_view name) {
    return value_by_name(name) != NameTells::nothing;
}

static constexpr std::string_view quotes = "\"'";

namespace {

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};

}  // namespace

static bool is_in_name(char c) {
    return is_alphanumeric(c) || is_one_of(c, "-_%[]");
}

/// The quote at that place; 0: none.
static char quote_at(std::string_view text, std::size_t at) {
    return at < text.size() && is_one_of(text[at], quotes) ? text[at] : '\0';
}

static std::size_t skip_blanks(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(blanks, at), text.size());
}

static bool is_scheme(std::string_view word) {
    return is_any_of(lower(word), {"bearer", "basic", "digest", "token", "apikey"});
}

/// Keys have digits or capitals; `hf_transfer` is a word.
static bool is_like_key(std::string_view text) {
    return text.find_first_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != text.npos;
}

/// Whether there is more in a value than the shell fills in: `$NAME`, `${NAME}`, `$(..)`, `..`.
static bool has_own_text(std::string_view value) {
    while (!value.empty()) {  // ends: each turn takes a byte
        const char first = value.front();
        value.remove_prefix(1);
        if (first == '`' || (first == '$' && value.starts_with('('))) {
            (void)take_until(value, first == '`' ? "`" : ")");
        } else if (first == '$') {
            value.remove_prefix(value.starts_with('{') ? 1 : 0);
            while (!value.empty() && (is_alphanumeric(value[0]) || value[0] == '_')) {
                value.remove_prefix(1);
            }
        } else if (is_alphanumeric(first) || static_cast<unsigned char>(first) >= 0x80) {
            return true;
        }
    }
    return false;
}

/// Whether the value of a secret name is a secret: not what the shell or the environment fills in,
/// not a number of tokens, not a word.
static bool is_secret_value(std::string_view name, std::string_view value) {
    const std::size_t blank = value.find_first_of(blanks);
    if (blank != value.npos && is_scheme(value.substr(0, blank))) {
        value = trim_blanks(value.substr(blank));
    }
    constexpr std::size_t word_bytes_max = 15;
    const bool may_be_word = value_by_name(name) == NameTells::of_secret_or_word;
    const bool is_word =
        is_any_of(lower(value), {"none", "null", "true", "false", "on", "off", "yes", "no"}) ||
        (may_be_word && value.size() <= word_bytes_max &&
         value.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_.") == value.npos);
    const bool is_placeholder =  // {row}, {kept.user}
        value.size() > 2 && value.starts_with('{') && value.ends_with('}') &&
        std::ranges::all_of(value.substr(1, value.size() - 2),
                            [](char c) { return is_in_name(c) || c == '.'; });
    if (is_word || is_placeholder) {
        return false;
    }
    const bool is_count = value.find_first_not_of("0123456789.") == value.npos &&
                          (may_be_word || lower(name).find("token") != std::string::npos);
    return !is_count && environment_name(value).empty() && has_own_text(value);
}

static bool speaks_of_secret(std::string_view text) {
    while (!text.empty()) {  // ends: each turn takes a byte or more
        const auto end =
            static_cast<std::size_t>(std::ranges::find_if_not(text, is_in_name) - text.begin());
        if (is_secret_name(text.substr(0, end))) {
            return true;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

/// Where a text ends that begins behind a quote with so many backslashes before it: a quote inside
/// of it has more.
static std::size_t end_of_quoted(std::string_view text, std::size_t opening,
                                 std::size_t backslashes) {
    for (std::size_t at = text.find(text[opening], opening + 1); at != text.npos;
         at = text.find(text[opening], at + 1)) {
        const std::size_t end = text.substr(0, at).find_last_not_of('\\') + 1;
        if (at - std::max(end, opening + 1) <= backslashes) {
            return std::max(end, opening + 1);
        }
    }
    return text.size();
}

/// `NAME=word`, `NAME: word`, `"NAME": "word"`, `?NAME=word&`, by the place of `=` or `:`.
static Range named_secret(std::string_view text, std::size_t at) {
    std::size_t name_end = text.substr(0, at).find_last_not_of(blanks) + 1;
    const bool quoted = name_end > 0 && quote_at(text, name_end - 1) != 0;
    name_end = quoted ? text.substr(0, name_end - 1).find_last_not_of('\\') + 1 : name_end;
    const auto outside = [](char c) { return !is_in_name(c); };
    const auto name_begin =
        std::find_if(text.rend() - static_cast<std::ptrdiff_t>(name_end), text.rend(), outside);
    const auto begin = static_cast<std::size_t>(text.rend() - name_begin);
    const std::string name = percent_decoded(text.substr(begin, name_end - begin));
    const char before = begin > 0 ? text[begin - 1] : ' ';
    const bool in_url = is_one_of(before, "?#&;") && text.find_first_of("?#") < begin;
    if (is_one_of(before, "/@$") || (before == '.' && text[at] == ':') ||
        !(is_secret_name(name) || (in_url && lower(name) == "code"))) {
        return {};
    }
    std::size_t value = skip_blanks(text, at + 1);
    const std::size_t opening = std::min(text.find_first_not_of('\\', value), text.size());
    std::size_t end = text.size();
    if (quote_at(text, opening) != 0) {
        end = end_of_quoted(text, opening, opening - value);
        value = opening + 1;
    } else if (quoted) {
        const bool of_tokens = lower(name).find("token") != std::string::npos;
        end = value < end && is_one_of(text[value], "[{") && !of_tokens ? end : value;  // no number
        value += value < end ? 1 : 0;
    } else if (in_url) {
        end = text.find_first_of("&;# \t\"'", value);
    } else if (is_one_of(before, quotes)) {
        end = text.find(before, value);
    } else if (text[at] == ':' && value == at + 1) {  // a port
        const std::size_t port = text.find_first_not_of(digits, value);
        end = port > value && text.substr(std::min(port, end)).substr(0, 1) == "/" ? value : end;
    }
    end = std::min(end, text.size());
    return is_secret_value(name, trim_blanks(text.substr(value, end - value))) ? Range{value, end}
                                                                               : Range{};
}

/// `http://user:word@host`: all before the host, by the place of "://".
static Range user_in_url(std::string_view text, std::size_t scheme) {
    const std::size_t begin = scheme + 3;
    const std::string_view rest = text.substr(begin);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\"'"));
    const std::size_t at = authority.rfind('@');
    return at != authority.npos && has_own_text(authority.substr(0, at)) ? Range{begin, begin + at}
                                                                         : Range{};
}

/// `Bearer word`: to the end of the text or of the quotes around it. In a sentence, where more
/// words follow, only what looks like a key.
static Range behind_scheme(std::string_view text, std::size_t at) {
    const std::size_t end = std::min(text.find_first_not_of(letters, at), text.size());
    const std::size_t value = skip_blanks(text, end);
    if (value == end || !is_scheme(text.substr(at, end - at))) {
        return {};
    }
    const char quote = at > 0 ? quote_at(text, at - 1) : '\0';
    const std::size_t close = quote != 0 ? text.find(quote, value) : text.npos;
    std::string_view secret = trim_blanks(text.substr(value, close - value));
    const std::string_view word = secret.substr(0, secret.find_first_of(blanks));
    if (word != secret && lower(text.substr(at, end - at)) != "digest") {
        secret = is_like_key(word) ? word : std::string_view();
    }
    return is_secret_value("", secret) ? Range{value, value + secret.size()} : Range{};
}

/// `sk-..`, and others that show by how they begin what they are: what is behind that.
static Range known_key(std::string_view text, std::size_t at) {
    constexpr std::array<std::string_view, 14> heads{
        "sk-",   "hf_",  "ghp_", "gho_", "ghs_",   "github_pat_", "glpat-",
        "xoxb-", "AKIA", "ASIA", "AIza", "nvapi-", "gsk_",        "eyJ"};
    const std::string_view rest = text.substr(at);
    for (const std::string_view head : heads) {
        if (rest.starts_with(head)) {
            const auto stops = [](char c) {
                return !is_alphanumeric(c) && !is_one_of(c, "-_.+=~");
            };
            const auto bytes =
                static_cast<std::size_t>(std::ranges::find_if(rest, stops) - rest.begin());
            const std::string_view key = rest.substr(0, bytes);
            const bool is_key = head == "sk-"   ? bytes > head.size()
                                : head == "eyJ" ? key.find('.') != key.npos
                                                : is_like_key(key.substr(head.size()));
            return is_key ? Range{at + head.size(), at + bytes} : Range{};
        }
    }
    return {};
}

/// All of a text, with names before these separators.
static std::vector<Range> ranges_in(std::string_view text, std::string_view separators) {
    std::vector<Range> found;
    const auto add = [&found](Range range) {
        if (range.begin < range.end) {
            found.push_back(range);
        }
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (is_one_of(text[at], separators)) {
            add(named_secret(text, at));
        }
        if (text.substr(at).starts_with("://")) {
            add(user_in_url(text, at));
        }
        const char before = at > 0 ? text[at - 1] : ' ';
        if (is_alphanumeric(text[at]) && !is_alphanumeric(before) && !is_one_of(before, "-_")) {
            add(known_key(text, at));
            add(behind_scheme(text, at));
        }
    }
    return found;
}

namespace {

/// A word as the shell passes it on: without quotes and escapes.
struct Word {
    std::string text{};
    std::vector<std::size_t> places{};  ///< of each byte, in the command
    bool begins = false;                ///< it is the first word of a command

    void add(const Word& from, std::size_t at) {
        text += from.text[at];
        places.push_back(from.places[at]);
    }
    SecretPart part(Range range) const {
        return {places[range.begin], places[range.end - 1] + 1 - places[range.begin],
                text.substr(range.begin, range.end - range.begin)};
    }
};

}  // namespace

static std::vector<Word> shell_words(const Word& command) {
    std::vector<Word> words;
    Word word{.begins = true};
    const auto end_word = [&](bool begins) {
        if (!word.text.empty()) {
            words.push_back(std::move(word));
            word = {};
        }
        word.begins = word.begins || begins;
    };
    char quote = 0;
    const std::string_view text = command.text;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const bool escapes = c == '\\' && quote != '\'' && at + 1 < text.size() &&
                             (quote == 0 || is_one_of(text[at + 1], "\"\\$`\n"));
        if (escapes) {
            ++at;
            if (text[at] != '\n') {  // else the line goes on
                word.add(command, at);
            }
        } else if (quote != 0 ? c == quote : is_one_of(c, quotes)) {
            quote = quote != 0 ? '\0' : c;
        } else if (quote == 0 && is_one_of(c, " \t\n;|&()`<>")) {
            end_word(!is_one_of(c, " \t<>"));
        } else if (quote != 0 || c != '$' || quote_at(text, at + 1) == 0) {  // else $'..'
            word.add(command, at);
        }
    }
    end_word(false);
    return words;
}

namespace {

/// Options whose names do not say that their values are secrets.
struct SecretOption {
    std::string_view of;  ///< begins the name of a program or a word before; empty: of any
    std::string_view option;
    enum { whole, behind_colon, pairs, joined } takes;
};

}  // namespace

static constexpr SecretOption secret_options[] = {
    {"", "-u", SecretOption::behind_colon},
    {"", "--user", SecretOption::behind_colon},
    {"", "--proxy-user", SecretOption::behind_colon},
    {"curl", "-U", SecretOption::behind_colon},
    {"curl", "-b", SecretOption::pairs},
    {"sshpass", "-p", SecretOption::whole},
    {"login", "-p", SecretOption::whole},
    {"redis-cli", "-a", SecretOption::whole},
    {"vault", "login", SecretOption::whole},
    {"mysql", "-p", SecretOption::joined},
    {"mariadb", "-p", SecretOption::joined},
};

/// What follows the option in `value`, from `begin` on.
static Range of_option(const SecretOption& option, std::string_view value, std::size_t begin) {
    const std::string_view text = value.substr(begin);
    if (option.takes == SecretOption::behind_colon) {
        const std::size_t colon = text.find(':');
        const bool are_numbers = text.find_first_not_of("0123456789:") == text.npos;  // of a user
        const bool is_format = text.starts_with('+');                                 // of date
        begin = colon == text.npos || are_numbers || is_format ? value.size() : begin + colon + 1;
    }
    if (option.takes == SecretOption::pairs) {  // else it names a file
        begin = std::min(value.find('=', begin), value.size() - 1) + 1;
    }
    return has_own_text(value.substr(begin)) ? Range{begin, value.size()} : Range{};
}

/// The word behind a flag with a secret name, `NAME:`, a scheme, `password`.
static bool tells_of_secret(std::string_view word, std::string_view next) {
    const std::string_view name = word.substr(0, word.size() - (word.ends_with(':') ? 1 : 0));
    const bool is_name = std::ranges::all_of(name, is_in_name);
    const bool is_told =
        name != word || name.starts_with('-') || lower(name) == "password" ||
        (name.find('_') != name.npos && name == lower(name));  // aws_secret_access_key
    const bool is_capital = word.front() >= 'A' && word.front() <= 'Z';
    return (is_name && is_told && is_secret_name(name) && is_secret_value(name, next) &&
            !is_scheme(next)) ||
           (is_scheme(word) && (is_capital || word == "bearer") && is_secret_value("", next));
}

static void add_told(const std::vector<Word>& words, std::size_t i,
                     std::vector<SecretPart>& parts) {
    const std::string_view word = words[i].text;
    const bool has_next =
        i + 1 < words.size() && !words[i + 1].begins && !words[i + 1].text.starts_with('-');
    const auto add = [&parts](const Word& from, Range range) {
        if (range.begin < range.end) {
            parts.push_back(from.part(range));
        }
    };
    if (has_next && tells_of_secret(word, words[i + 1].text)) {
        add(words[i + 1], {0, words[i + 1].text.size()});
    }
    std::size_t first = i;
    while (first > 0 && !words[first].begins) {
        --first;
    }
    for (const SecretOption& one : secret_options) {
        const bool is_of =
            one.of.empty() ||
            std::any_of(words.begin() + static_cast<std::ptrdiff_t>(first),
                        words.begin() + static_cast<std::ptrdiff_t>(i), [&one](const Word& before) {
                            const std::string_view path = before.text;
                            return path.substr(path.rfind('/') + 1).starts_with(one.of);
                        });
        const bool is_long = one.option.starts_with("--");
        const bool is_last_of_letters =  // curl -su
            !is_long && word.starts_with('-') && word.ends_with(one.option.substr(1)) &&
            word.find_first_not_of(letters, 1) == word.npos;
        if (!is_of) {
            continue;
        }
        if ((word == one.option || is_last_of_letters) && has_next &&
            one.takes != SecretOption::joined) {
            add(words[i + 1], of_option(one, words[i + 1].text, 0));
        } else if (word.size() > one.option.size() && word.starts_with(one.option) &&
                   one.option.starts_with('-') && (!is_long || word[one.option.size()] == '=')) {
            add(words[i], of_option(one, word, one.option.size() + (is_long ? 1 : 0)));
        }
    }
}

std::vector<SecretPart> secrets_in_text(std::string_view text, std::string_view separators) {
    std::vector<SecretPart> parts;
    for (const Range& range : ranges_in(text, separators)) {
        parts.push_back({range.begin, range.end - range.begin,
                         std::string(text.substr(range.begin, range.end - range.begin))});
    }
    return parts;
}

std::vector<SecretPart> secrets_in_command(std::string_view command) {
    std::vector<SecretPart> parts;
    std::vector<Word> open{{.text = std::string(command)}};
    for (std::size_t i = 0; i < command.size(); ++i) {
        open[0].places.push_back(i);
    }
    while (!open.empty()) {  // ends: a word with a blank is shorter than its command, by its quotes
        const std::vector<Word> words = shell_words(open.back());
        open.pop_back();
        for (std::size_t i = 0; i < words.size(); ++i) {
            for (const Range& range : ranges_in(words[i].text, "=:")) {
                parts.push_back(words[i].part(range));
            }
            add_told(words, i, parts);
            const bool is_json = is_one_of(words[i].text.front(), "{[");
            if (!is_json && words[i].text.find_first_of(blanks) != std::string::npos) {  // sh -c
                open.push_back(words[i]);
            }
        }
    }
    return parts;
}

std::string mask_parts(std::string_view text, std::vector<SecretPart> parts) {
    std::ranges::sort(parts, {}, &SecretPart::at);
    std::string shown;
    std::size_t end = 0;  // of what is shown or masked
    for (const SecretPart& part : parts) {
        if (part.at >= end) {
            shown += std::string(text.substr(end, part.at - end)) + std::string(mask_text);
        }
        end = std::max(end, part.at + part.bytes);
    }
    return shown + std::string(text.substr(end));
}

std::string mask_any(std::string_view text) {
    return mask_parts(text, secrets_in_text(text));
}

std::string mask_members(std::string_view text) {
    std::vector<SecretPart> parts;
    for (std::size_t at = text.find(':'); at != text.npos; at = text.find(':', at + 1)) {
        const std::size_t name_end = text.substr(0, at).find_last_not_of(blanks);
        const Range range = name_end != text.npos && quote_at(text, name_end) != 0
                                ? named_secret(text, at)
                                : Range{};
        if (range.begin < range.end && quote_at(text, range.begin - 1) != 0) {
            parts.push_back({range.begin, range.end - range.begin, ""});
        }
    }
    return mask_parts(text, std::move(parts));
}

std::vector<Header> secret_parameters(std::string_view url) {
    std::vector<Header> parameters;
    for (const SecretPart& part : secrets_in_text(url)) {
        parameters.push_back({"", part.value});
        if (const std::string decoded = percent_decoded(part.value); decoded != part.value) {
            parameters.push_back({"", decoded});
        }
    }
    return parameters;
}

std::string mask_key(std::string_view key) {
    return std::string(environment_name(key).empty() ? mask_text : key);
}

std::string mask_header(std::string_view text) {
    const std::size_t cut = std::min(text.find_first_of(":="), text.size());
    const std::string_view name = trim_blanks(text.substr(0, cut));
    const std::string_view value = text.substr(std::min(cut + 1, text.size()));
    if (cut == text.size() && speaks_of_secret(text)) {  // of what is refused, too
        return std::string(mask_text);
    }
    if (is_secret_name(name) && is_secret_value(name, trim_blanks(value))) {
        return std::string(text.substr(0, cut + 1)) + std::string(mask_text);
    }
    return std::string(text.substr(0, text.size() - value.size())) + mask_any(value);
}

std::string mask_json(std::string_view json) {
    std::string out(json);
    for (const SecretMember& member : secret_members(json)) {
        const std::string_view text = std::string_view(member.raw).substr(1, member.raw.size() - 2);
        const bool whole = member.value == text || text.find('\\') != text.npos;
        const std::string shown =
            '"' + (whole ? std::string(mask_text) : mask_parts(text, secrets_in_text(text, "="))) +
            '"';
        for (std::size_t at = out.find(member.raw); at != std::string::npos;
             at = out.find(member.raw, at + shown.size())) {
            out.replace(at, member.raw.size(), shown);
        }
    }
    JsonDocument document;
    return document.parse(json)     ? out
           : speaks_of_secret(json) ? std::string(mask_text)
                                    : mask_any(out);
}

std::string mask_event(std::string_view event) {
    const std::size_t url = posted_url_at(event);
    const std::string_view rest = event.substr(0, url);
    return mask_parts(rest, secrets_in_command(rest)) + mask_url(event.substr(url));
}

std::string mask_refused(Mask mask, std::string_view value) {
    if (mask == mask_header) {  // without its name it may be anything
        const std::size_t cut = value.find_first_of(":=");
        const std::string_view name = cut == value.npos ? "" : value.substr(0, cut + 1);
        return std::string(name) + std::string(mask_text);
    }
    if (mask == mask_json && !value.starts_with('{')) {  // nor does this have names
        return std::string(mask_text);
    }
    std::string shown = mask_value(mask != nullptr ? mask : mask_any, value);
    if (mask != mask_event && mask != mask_url && value.find("://") == value.npos) {
        return shown;
    }
    const std::size_t url = mask == mask_event ? words_of(shown).what : 0;
    const std::size_t begin = url + host_at(std::string_view(shown).substr(url));
    const std::size_t at = shown.rfind('@');
    if (at != shown.npos && at > begin && !shown.starts_with("unix:")) {
        shown = shown.substr(0, begin) + std::string(mask_text) + shown.substr(at);
    }
    const std::size_t query = shown.find_first_of("?#", at == shown.npos ? 0 : at);
    return query == shown.npos ? shown : shown.substr(0, query + 1) + std::string(mask_text);
}

std::string mask_value(Mask mask, std::string_view value) {
    return mask != nullptr ? mask(value) : std::string(value);
}

bool is_authorization(std::string_view header_name) {
    return equal_ignoring_case(header_name, "authorization");
}

std::string mask_url(std::string_view text) {
    const std::size_t begin = host_at(text);
    std::size_t end = text.find_first_of("/?#", begin);
    if (!ends_in_port(text.substr(begin, end - begin))) {
        end = text.find_first_of("?#", begin);  // a word with a slash: user:w/rd@host
    }
    const std::size_t at = text.substr(0, end).rfind('@');
    // `unix:@name` is an abstract socket.
    const bool has_user = at != text.npos && at >= begin && !text.starts_with("unix:");
    const std::size_t host = has_user ? at : begin;
    const std::size_t path = std::min(text.find_first_of("/?#", host), text.size());
    return std::string(text.substr(0, begin)) + (has_user ? std::string(mask_text) : "") +
           std::string(text.substr(host, path - host)) + mask_any(text.substr(path));
}

std::size_t assigned_secret_at(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    if (equals == argument.npos) {
        return 0;
    }
    const std::string_view name = argument.substr(0, equals);
    return is_variable_name(name) && is_secret_name(name) ? equals + 1 : 0;
}

std::vector<SecretMember> secret_members(std::string_view json) {
    struct Open {
        JsonValue value;
        std::string name;        ///< of the member that it is, or is in
        bool is_secret = false;  ///< it, or what it is in, has a secret name
        bool is_schema = false;  ///< names inside of it are those of fields
    };
    JsonDocument document;
    const Result<JsonValue> root = document.parse(json);
    std::vector<SecretMember> found;
    std::vector<Open> open;
    if (root) {
        open.push_back({root.value(), ""});
    }
    while (!open.empty()) {  // ends: each value is opened once
        const Open one = open.back();
        open.pop_back();
        if (const auto text = one.value.as_string(); text) {
            const std::string raw(one.value.raw());
            const bool whole = one.is_secret && is_secret_value(one.name, *text);
            if (whole) {
                found.push_back({one.name, std::string(*text), raw});
            }
            for (const SecretPart& part : secrets_in_text(whole ? "" : *text, "=")) {
                found.push_back({one.name, part.value, raw});
            }
        }
        for (JsonValue inner = one.value.first(); inner.present(); inner = inner.next()) {
            if (one.value.is(JsonType::array)) {
                open.push_back({inner, one.name, one.is_secret});
                continue;
            }
            const std::string name(inner.key());
            const bool secret = !one.is_schema && (one.is_secret || is_secret_name(name));
            open.push_back({inner, name, secret, is_any_of(name, {"properties", "$defs"})});
        }
    }
    return found;
}

std::vector<std::string> secrets_of(const std::vector<Header>& credentials) {
    std::vector<std::string> secrets;
    const auto add = [&secrets](std::string_view text) {
        if (text.size() >= secret_bytes_min) {
            secrets.emplace_back(text);
        }
    };
    for (const Header& credential : credentials) {
        std::string_view value = credential.value;
        add(value);
        for (std::size_t blank = value.find(' '); blank != value.npos; blank = value.find(' ')) {
            value = trim_blanks(value.substr(blank));
            add(value);
        }
        const bool is_pair = lower(credential.value).starts_with("basic ");
        if (std::string pair; is_pair && append_base64(pair, value)) {  // "user:password"
            add(pair);
            add(std::string_view(pair).substr(std::min(pair.find(':') + 1, pair.size())));
        }
        if (lower(credential.name).find("cookie") != std::string::npos) {
            for (const std::string_view part : cookie_values(credential.value)) {
                add(part);
            }
        }
    }
    std::sort(secrets.begin(), secrets.end(), [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    secrets.erase(std::unique(secrets.begin(), secrets.end()), secrets.end());
    return secrets;
}

}  // namespace driftless
