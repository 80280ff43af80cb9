/// TomlReader: reads members of TOML tables one after another, and reports the first error. The
/// only place in this project that reads TOML: files that need it include this and not the library.
/// Throws nothing, prints nothing.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// Empty where the text is read into `out`, else what is wrong: "line 3: ...".
std::string parse_toml(std::string_view text, toml::table& out);

/// Arguments as keys, which `TomlReader::flags` reads back: flags by their names, what is none
/// under `trace`.
std::string arguments_as_toml(const std::vector<std::string>& arguments);

class TomlReader {
  public:
    /// "line 3: gate is not known"; empty: nothing was wrong so far.
    const std::string& why() const { return why_; }

    /// Each key is one of `known`; `place` is before its name in what is said.
    void check_keys(const toml::table& table, const char* place,
                    std::initializer_list<std::string_view> known);
    /// A member that is not there leaves `out` as it is.
    void text(const toml::table& table, const char* key, std::string& out, bool needed);
    void number(const toml::table& table, const char* key, std::optional<double>& out);
    void boolean(const toml::table& table, const char* key, bool& out);
    /// A text, number or boolean as it is typed on a command line; or a list of them.
    void scalars(const toml::table& table, const char* key, std::vector<std::string>& out);
    /// A key as a flag: `--KEY=VALUE`, for a list once for each of its values; true is a flag
    /// without value, false none.
    void flag(const toml::node& node, const std::string& key, std::vector<std::string>& out);
    /// Every key but those of `other`.
    void flags(const toml::table& table, std::initializer_list<std::string_view> other,
               std::vector<std::string>& out);
    /// A table, or null.
    const toml::table* table(const toml::table& above, const char* key);
    /// Each of an array of tables, [[key]]; none where the key is not there.
    void tables(const toml::table& above, const char* key,
                const std::function<void(const toml::table&)>& read);
    void fail(const toml::node& node, const std::string& what);

  private:
    void all_of(const toml::node& node, const char* key, std::vector<std::string>& out);
    void scalar(const toml::node& node, const char* key, std::vector<std::string>& out);

    std::string why_;
};

}  // namespace driftless
