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

/// What a shell takes for the name of a variable.
static bool is_variable_name(std::string_view name) {
    return name.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

/// Names of parameters, beside those that a header would have: signed URLs, functions of clouds.
static bool is_secret_parameter(std::string_view name) {
    return is_secret_name(name) ||
           is_any_of(lower(name), {"sig", "signature", "code", "pwd", "pass", "credential"});
}

static std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char* const digits = text.data() + at + 1;
        unsigned char byte = 0;
        if (text[at] == '%' && at + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            at += 2;
        } else {
            out += text[at];
        }
    }
    return out;
}

namespace {

/// Places of the values of secret parameters in a URL: behind `?` or `#`, between `&` or `;`.
struct Parameter {
    std::string_view name;
    std::size_t value_at;
    std::size_t value_bytes;
};

}  // namespace

static std::vector<Parameter> find_secret_parameters(std::string_view url) {
    std::vector<Parameter> found;
    std::size_t at = url.find_first_of("?#");
    while (at < url.size()) {
        const std::size_t begin = at + 1;
        at = std::min(url.find_first_of("?#&;", begin), url.size());
        const std::string_view pair = url.substr(begin, at - begin);
        const std::size_t equals = pair.find('=');
        if (equals != pair.npos && equals + 1 < pair.size() &&
            is_secret_parameter(percent_decoded(pair.substr(0, equals)))) {
            found.push_back({pair.substr(0, equals), begin + equals + 1, pair.size() - equals - 1});
        }
    }
    return found;
}

/// From the last to the first, so that no place moves before its turn.
static std::string mask_parameters(std::string text) {
    for (const Parameter& one : std::views::reverse(find_secret_parameters(text))) {
        text.replace(one.value_at, one.value_bytes, mask_text);
    }
    return text;
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

/// Members of bodies that speak of keys and tokens and hold none: names of caches, and the special
/// tokens of a model.
static bool is_plain(std::string_view member) {
    return is_any_of(member, {"prompt_cache_key", "cache_key", "eos_token", "bos_token",
                              "stop_token", "pad_token"});
}

/// Where user or host begin: behind "http://", also with a slash or the colon too few.
static std::size_t host_at(std::string_view url) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const std::size_t scheme = std::min(url.find_first_not_of(letters), url.size());
    const std::string_view rest = url.substr(scheme);
    const bool is_scheme = rest.starts_with(":/") || rest.starts_with("//");
    return is_scheme ? std::min(url.find_first_not_of('/', scheme + 1), url.size()) : 0;
}

/// Of "host:80" and "host"; not of "user:word".
static bool ends_in_port(std::string_view host) {
    const std::size_t colon = host.rfind(':');
    return colon == host.npos || host.find('@') != host.npos || host.starts_with('[') ||
           host.find_first_not_of("0123456789", colon + 1) == host.npos;
}

namespace {

/// An event is "+T ACTION WHAT": where its action begins, and what stands behind that. The end of
/// the text, where it has no such word.
struct EventWords {
    std::size_t action;
    std::size_t action_end;
    std::size_t what;
};

}  // namespace

static EventWords words_of(std::string_view event) {
    constexpr std::string_view blanks = " \t";
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

std::string mask_key(std::string_view key) {
    return std::string(environment_name(key).empty() ? mask_text : key);
}

std::string mask_header(std::string_view text) {
    const std::size_t cut = text.find_first_of(":=");
    if (cut == text.npos && is_secret_name(text)) {  // of what is refused, too
        return std::string(mask_text);
    }
    if (cut == text.npos || !is_secret_name(trim_blanks(text.substr(0, cut))) ||
        !environment_name(trim_blanks(text.substr(cut + 1))).empty()) {
        return std::string(text);
    }
    return std::string(text.substr(0, cut + 1)) + std::string(mask_text);
}

std::string mask_json(std::string_view json) {
    std::string out(json);
    const std::string mask = '"' + std::string(mask_text) + '"';
    for (const SecretMember& member : secret_members(json)) {
        for (std::size_t at = out.find(member.raw); at != std::string::npos;
             at = out.find(member.raw, at + mask.size())) {
            out.replace(at, member.raw.size(), mask);
        }
    }
    JsonDocument document;
    return document.parse(json) || !is_secret_name(json) ? out : std::string(mask_text);
}

std::string mask_backend(std::string_view list) {
    std::string out;
    while (!list.empty()) {
        const bool is_last = list.find(',') == list.npos;
        std::string_view value = take_until(list, ",");
        const std::size_t equals = value.find('=');
        const std::string_view name = equals == value.npos ? "" : take_until(value, "=");
        out += equals == value.npos ? "" : std::string(name) + '=';
        out += is_secret_name(name) ? std::string(mask_text) : mask_url(value);
        out += is_last ? "" : ",";
    }
    return out;
}

std::string mask_event(std::string_view event) {
    const std::string_view url = event.substr(posted_url_at(event));
    std::string_view rest = event.substr(0, event.size() - url.size());
    std::string shown;
    for (const std::string_view secret : secrets_in_command(rest)) {
        const auto before = static_cast<std::size_t>(secret.data() - rest.data());
        shown += std::string(rest.substr(0, before)) + std::string(mask_text);
        rest.remove_prefix(before + secret.size());
    }
    return shown + std::string(rest) + mask_url(url);
}

std::string mask_refused(Mask mask, std::string_view value) {
    if (mask == mask_header) {  // without its name, nobody knows what it is
        const std::size_t cut = value.find_first_of(":=");
        const std::string_view name = cut == value.npos ? "" : value.substr(0, cut + 1);
        return std::string(name) + std::string(mask_text);
    }
    std::string shown = mask_value(mask, value);
    if (mask != mask_event && mask != mask_url && value.find("://") == value.npos) {
        return shown;
    }
    const std::size_t url = mask == mask_event ? words_of(shown).what : 0;
    const std::size_t begin = url + host_at(std::string_view(shown).substr(url));
    const std::size_t at = shown.rfind('@');
    if (at != shown.npos && at > begin && !shown.starts_with("unix:")) {
        shown = shown.substr(0, begin) + std::string(mask_text) + shown.substr(at);
    }
    const std::size_t query = shown.find('?');
    return query == shown.npos ? shown : shown.substr(0, query + 1) + std::string(mask_text);
}

std::string mask_value(Mask mask, std::string_view value) {
    return mask != nullptr ? mask(value) : std::string(value);
}

bool is_authorization(std::string_view header_name) {
    return equal_ignoring_case(header_name, "authorization");
}

bool is_secret_name(std::string_view text) {
    constexpr std::array<std::string_view, 6> parts{"auth",  "cookie", "key",
                                                    "token", "secret", "password"};
    return std::ranges::any_of(parts, [name = lower(text)](std::string_view part) {
        return name.find(part) != name.npos;
    });
}

std::vector<Header> secret_parameters(std::string_view url) {
    std::vector<Header> parameters;
    for (const Parameter& found : find_secret_parameters(url)) {
        const std::string value(url.substr(found.value_at, found.value_bytes));
        parameters.push_back({std::string(found.name), value});
        if (const std::string decoded = percent_decoded(value); decoded != value) {
            parameters.push_back({std::string(found.name), decoded});
        }
    }
    return parameters;
}

static constexpr std::string_view blanks = " \t";
static constexpr std::string_view quotes = "\"'";

/// What begins there: up to the quote that it stands in (0: none), else to where a shell ends a
/// word, with the quotes in it.
static std::string_view word_at(std::string_view command, std::size_t begin, char quote) {
    const std::string_view rest = command.substr(begin);
    return trim_blanks(
        rest.substr(0, quote != 0 ? rest.find(quote) : rest.find_first_of(" \t;|&<>")));
}

/// The quote at that place; 0: none.
static char quote_at(std::string_view command, std::size_t at) {
    return at < command.size() && quotes.find(command[at]) != quotes.npos ? command[at] : '\0';
}

/// The same, in quotes of its own or without.
static std::string_view value_at(std::string_view command, std::size_t at) {
    const char quote = quote_at(command, at);
    return word_at(command, at + (quote != 0 ? 1 : 0), quote);
}

/// `NAME=word`, `NAME: word`, `"NAME": "word"`.
static std::string_view named_secret(std::string_view command, std::size_t at) {
    constexpr std::string_view of_names =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const bool closes = quote_at(command, at - 1) != 0;
    const std::size_t name_end = at - (closes ? 1 : 0);
    const std::size_t begin = command.substr(0, name_end).find_last_not_of(of_names) + 1;
    const char quote = quote_at(command, begin - 1);
    const bool begins = begin == 0 || quote != 0 || blanks.find(command[begin - 1]) != blanks.npos;
    if (!begins || !is_secret_name(command.substr(begin, name_end - begin))) {
        return {};
    }
    const std::size_t value = std::min(command.find_first_not_of(blanks, at + 1), command.size());
    if (quote_at(command, value) != 0) {
        return value_at(command, value);
    }
    return word_at(command, at + 1, closes ? '\0' : quote);
}

/// `--api-key word`, `-u user:word`: by the flag, whose word begins there.
static std::string_view flag_secret(std::string_view command, std::size_t at) {
    constexpr std::array<std::string_view, 6> ends{"key",    "token",    "secret",
                                                   "passwd", "password", "auth"};
    const std::string_view flag = word_at(command, at, '\0');
    const std::size_t blank = at + flag.size();
    const std::size_t next = std::min(command.find_first_not_of(blanks, blank), command.size());
    if (!flag.starts_with('-') || next == blank || next == command.size() || command[next] == '-') {
        return {};
    }
    const std::string_view value = value_at(command, next);
    if (flag == "-u" || flag == "--user") {
        const std::size_t colon = value.find(':');
        return colon == value.npos ? std::string_view() : value.substr(colon + 1);
    }
    const std::string name = lower(flag);
    const bool is_secret =
        std::ranges::any_of(ends, [&name](std::string_view end) { return name.ends_with(end); });
    return is_secret ? value : std::string_view();
}

/// `http://user:word@host`: all before the host.
static std::string_view url_secret(std::string_view command, std::size_t scheme) {
    const std::string_view rest = command.substr(scheme + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\"'"));
    const std::size_t at = authority.rfind('@');
    return at == authority.npos ? std::string_view() : authority.substr(0, at);
}

/// A secret that begins at that place, or is told of there; empty: none.
static std::string_view secret_at(std::string_view command, std::size_t at) {
    const char here = command[at];
    if (here == '=' || here == ':') {
        const std::string_view named = named_secret(command, at);
        return named.empty() && command.substr(at).starts_with("://") ? url_secret(command, at)
                                                                      : named;
    }
    const char quote = quote_at(command, at - 1);
    if (at > 0 && quote == 0 && blanks.find(command[at - 1]) == blanks.npos) {
        return {};
    }
    const std::string_view word = word_at(command, at, quote);
    const bool is_key = word.starts_with("sk-") || word.starts_with("hf_");
    return is_key ? word : here == '-' ? flag_secret(command, at) : std::string_view();
}

std::vector<std::string_view> secrets_in_command(std::string_view command) {
    std::vector<std::string_view> secrets;
    for (std::size_t at = 0; at < command.size(); ++at) {
        const std::string_view value = secret_at(command, at);
        const bool is_number = value.find_first_not_of("0123456789.") == value.npos;
        if (!is_number && value.find('$') == value.npos) {  // the shell fills it in
            secrets.push_back(value);
            at = static_cast<std::size_t>(value.data() + value.size() - command.data()) - 1;
        }
    }
    return secrets;
}

std::string mask_members(std::string_view text) {
    std::vector<std::string> parts(1);  // between quotes
    for (const char c : text) {
        c == '"' ? void(parts.emplace_back()) : parts.back().push_back(c);
    }
    // A quote inside of a text has more backslashes before it than the quotes around that.
    const auto depth = [](std::string_view part) {
        return part.size() - (part.find_last_not_of('\\') + 1);
    };
    const auto bare = [&depth](std::string_view part) {
        return trim_blanks(part.substr(0, part.size() - depth(part)));
    };
    for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
        if (bare(parts[i + 1]) != ":" || !is_secret_name(bare(parts[i]))) {
            continue;
        }
        std::size_t end = i + 2;
        while (end + 1 < parts.size() && depth(parts[end]) > depth(parts[i])) {
            ++end;
        }
        parts[i + 2] = std::string(mask_text) + std::string(depth(parts[end]), '\\');
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 3,
                    parts.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    }
    return joined(parts, "\"");
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
    if (!has_user) {
        return mask_parameters(std::string(text));
    }
    return std::string(text.substr(0, begin)) + std::string(mask_text) +
           mask_parameters(std::string(text.substr(at)));
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
        std::string name;  ///< the secret name that it stands under; empty: none
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
        if (const auto text = one.value.as_string(); text && !one.name.empty()) {
            found.push_back({one.name, std::string(*text), std::string(one.value.raw())});
        }
        for (JsonValue inner = one.value.first(); inner.present(); inner = inner.next()) {
            const bool element = one.value.is(JsonType::array);
            const bool secret = !element && is_secret_name(inner.key()) && !is_plain(inner.key());
            open.push_back({inner, element ? one.name : secret ? std::string(inner.key()) : ""});
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
