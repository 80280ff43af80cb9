#include "cmd/base/toml_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <sstream>

#include "proto/core/text.hpp"

namespace driftless {

/// The fewest digits that read back to the same number, without an exponent: "0.123456789", "inf".
static std::string decimal_text(double value) {
    std::string text(400, '\0');  // 309 digits before the point, or 324 zeros and 17 digits
    const auto [end, error] =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    text.resize(error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0);
    return text;
}

/// Whether a key has so many parts that the library, which goes down into them, has no stack left.
static bool is_too_deep(std::string_view text) {
    constexpr std::size_t parts_max = 256;
    std::size_t dots = 0;
    char quote = 0;
    for (const char one : text) {
        const bool ends = one == '\n' || one == quote;
        if (quote != 0) {
            quote = ends ? 0 : quote;
        } else if (one == '"' || one == '\'' || one == '#') {
            quote = one == '#' ? '\n' : one;
        } else if (std::string_view("\n=,[]{}").find(one) != std::string_view::npos) {
            dots = 0;
        }
        dots += quote == 0 && one == '.' ? 1 : 0;
        if (dots >= parts_max) {
            return true;
        }
    }
    return false;
}

/// The library throws; nothing else here does.
std::string parse_toml(std::string_view text, toml::table& out) {
    if (is_too_deep(text)) {
        return "a key has more than 256 parts; use fewer dots";
    }
    try {
        out = toml::parse(text);
    } catch (const toml::parse_error& error) {
        const std::size_t number = error.source().begin.line;
        const std::string_view what = error.description();
        std::string_view line;
        for (std::size_t i = 0; i < number; ++i) {
            line = take_until(text, "\n");
        }
        const std::size_t equals = line.find('=');
        const std::string_view key = trim_blanks(line.substr(0, equals));
        const bool is_bare = equals != line.npos && what.find("string") == what.npos &&
                             what.find("key-value") == what.npos;
        std::ostringstream why;
        why << "line " << number << ": " << what;
        if (is_bare) {
            why << "; put text in quotes, as in " << key << " = \"..\"";
        }
        return why.str();
    }
    return "";
}

std::string arguments_as_toml(const std::vector<std::string>& arguments) {
    toml::table table;
    for (const std::string& argument : arguments) {
        const bool is_flag = argument.starts_with("--");
        const std::size_t equals = is_flag ? argument.find('=') : argument.npos;
        const std::string key = is_flag ? argument.substr(2, equals - 2) : "trace";
        if (is_flag && equals == argument.npos) {
            table.insert_or_assign(key, true);
            continue;
        }
        const std::string value = is_flag ? argument.substr(equals + 1) : argument;
        toml::node* const before = table.get(key);
        if (before == nullptr) {
            table.insert_or_assign(key, value);
        } else if (toml::array* const list = before->as_array(); list != nullptr) {
            list->push_back(value);
        } else {
            table.insert_or_assign(key, toml::array{before->value_or(std::string()), value});
        }
    }
    std::ostringstream text;
    text << table << "\n";
    return text.str();
}

void TomlReader::check_keys(const toml::table& table, const char* place,
                            std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : table) {
        if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
            fail(value, std::string(place) + std::string(key.str()) +
                            " is not known; remove or correct it");
        }
    }
}

void TomlReader::text(const toml::table& table, const char* key, std::string& out, bool needed) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        needed ? fail(table, std::string(key) + " is missing; add it") : void();
    } else if (const auto value = node->value_exact<std::string>(); value) {
        out = *value;
    } else {
        fail(*node, std::string(key) + " is not a text; put it in quotes");
    }
}

void TomlReader::number(const toml::table& table, const char* key, std::optional<double>& out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        return;
    }
    out = node->is_number() ? node->value<double>() : std::nullopt;
    if (!out) {
        fail(*node, std::string(key) + " is not a number");
    }
}

void TomlReader::boolean(const toml::table& table, const char* key, bool& out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        return;
    }
    if (const auto value = node->value_exact<bool>(); value) {
        out = *value;
    } else {
        fail(*node, std::string(key) + " is not true or false");
    }
}

void TomlReader::scalar(const toml::node& node, const char* key, std::vector<std::string>& out) {
    std::ostringstream text;
    if (const auto* const words = node.as_string(); words != nullptr) {
        text << words->get();
    } else if (const auto* const whole = node.as_integer(); whole != nullptr) {
        text << whole->get();
    } else if (const auto* const real = node.as_floating_point(); real != nullptr) {
        text << decimal_text(real->get());
    } else if (const auto* const either = node.as_boolean(); either != nullptr) {
        text << (either->get() ? "true" : "false");
    } else {
        fail(node, std::string(key) + " is not a text, a number, or a list of them");
    }
    out.push_back(text.str());
}

void TomlReader::scalars(const toml::table& table, const char* key, std::vector<std::string>& out) {
    if (const toml::node* node = table.get(key); node != nullptr) {
        all_of(*node, key, out);
    }
}

void TomlReader::all_of(const toml::node& node, const char* key, std::vector<std::string>& out) {
    const toml::array* const list = node.as_array();
    if (list == nullptr) {
        scalar(node, key, out);
        return;
    }
    for (const toml::node& one : *list) {
        scalar(one, key, out);
    }
}

void TomlReader::flag(const toml::node& node, const std::string& key,
                      std::vector<std::string>& out) {
    if (const auto on = node.value_exact<bool>(); on) {
        if (*on) {
            out.push_back("--" + key);
        }
        return;
    }
    std::vector<std::string> values;
    all_of(node, key.c_str(), values);
    for (const std::string& value : values) {
        out.push_back("--" + key + "=" + value);
    }
}

void TomlReader::flags(const toml::table& table, std::initializer_list<std::string_view> other,
                       std::vector<std::string>& out) {
    for (const auto& [name, node] : table) {
        const std::string key(name.str());
        if (std::find(other.begin(), other.end(), key) == other.end()) {
            flag(node, key, out);
        }
    }
}

const toml::table* TomlReader::table(const toml::table& above, const char* key) {
    const toml::node* node = above.get(key);
    if (node != nullptr && !node->is_table()) {
        fail(*node, std::string(key) + " is not written as [" + key + "]");
    }
    return node != nullptr ? node->as_table() : nullptr;
}

void TomlReader::tables(const toml::table& above, const char* key,
                        const std::function<void(const toml::table&)>& read) {
    const toml::node* node = above.get(key);
    const toml::array* const array = node != nullptr ? node->as_array() : nullptr;
    const auto refuse = [&](const toml::node& place) {
        fail(place, std::string(key) + " is not written as [[" + key + "]]");
    };
    if (node != nullptr && array == nullptr) {
        refuse(*node);
    }
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
        const toml::table* const table = array->get_as<toml::table>(i);
        table != nullptr ? read(*table) : refuse(*array->get(i));
    }
}

void TomlReader::fail(const toml::node& node, const std::string& what) {
    if (why_.empty()) {
        std::ostringstream line;
        line << "line " << node.source().begin.line << ": " << what;
        why_ = line.str();
    }
}

}  // namespace driftless
