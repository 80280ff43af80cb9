#include "proto/run/period.hpp"
#include "proto/run/record_lines.hpp"
#include "proto/run/server_log.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

/// A walk that tells what the published schema of a file must say of each field: its key, in the
/// order of the walk, its type, the names of a closed list, and whether each line has it.
class SchemaFields {
  public:
    template <typename T>
    void value(const char* key, int since, const T&, bool or_null = false, bool always = true) {
        if constexpr (std::is_enum_v<T>) {
            or_null = or_null || (always && first_is_null<T>);
            const std::size_t first = first_is_null<T> ? 1 : 0;
            for (std::size_t i = first; i < closed_list<T>.size(); ++i) {
                names_ += (i > first ? ", \"" : "\"") + std::string(closed_list<T>[i]) + "\"";
            }
            names_ += or_null && !names_.empty() ? ", null" : "";
        }
        add(key, since,
            std::is_enum_v<T> || std::is_same_v<T, std::string> ? "string"
            : std::is_same_v<T, bool>                           ? "boolean"
            : std::is_same_v<T, double>                         ? "number"
                                                                : "integer",
            or_null, always);
    }
    template <typename T>
    void value(const char* key, int since, const std::optional<T>&) {
        value(key, since, T(), true);
    }
    template <typename T>
    void if_known(const char* key, int since, const std::optional<T>&) {
        value(key, since, T(), false, false);
    }
    void text(const char* key, int since, const std::string&) { add(key, since, "string", true); }
    void texts(const char* key, int since, const std::vector<std::string>&) {
        add(key, since, "array", true);
    }
    void object(const char* key, int since, const std::string&) { add(key, since, "object", true); }
    void digest(const char* key, int since, std::optional<std::uint64_t>) {
        add(key, since, "string", true);
    }
    template <typename T>
    void chunks(const char* key, int since, const std::vector<T>&, bool) {
        add(key, since, "array", true);
    }
    void chunks(const char* key, int since, const std::string&) { add(key, since, "string", true); }
    template <typename Pair>
    void by_name(const char* key, int since, const std::vector<Pair>&) {
        add(key, since, "object", false);
    }
    template <typename Entries, typename Value>
    void series(const char* series, const char* values, int since, const Entries&, Value) {
        add(series, since, "array", false, since == 1);
        add(values, since, "array", false, since == 1);
    }

    std::string properties;
    std::string required;
    std::vector<std::pair<std::string, int>> keys;  ///< and since which schema

  private:
    void add(const char* key, int since, const std::string& type, bool or_null,
             bool always = true) {
        properties += std::string(key) + " " +
                      (or_null ? "[\"" + type + "\", \"null\"]" : "\"" + type + "\"") +
                      (names_.empty() ? "" : " [" + names_ + "]") + "\n";
        names_.clear();
        required += always ? std::string(key) + "\n" : "";
        keys.emplace_back(key, since);
    }

    std::string names_;
};

/// The same by the schema; `shard` of merged files alone is left out.
SchemaFields published(const std::string& path, bool has_shard) {
    const JsonText schema(source_file(path));
    SchemaFields fields;
    JsonValue one = schema.root.find("properties").first();
    for (; one.present(); one = one.next()) {
        if (has_shard || one.key() != "shard") {
            const JsonValue names = one.find("enum");
            const std::string type(one.find("type").present() ? one.find("type").raw()
                                                              : "\"string\"");
            fields.properties += std::string(one.key()) + " " + type +
                                 (names.present() ? " " + std::string(names.raw()) : "") + "\n";
        }
    }
    for (one = schema.root.find("required").first(); one.present(); one = one.next()) {
        fields.required += std::string(*one.as_string()) + "\n";
    }
    return fields;
}

template <typename T>
SchemaFields expect_published(const char* schema, const T& value) {
    SchemaFields fields;
    walk(fields, value);
    const std::string path = std::string("proto/run/") + schema;
    const SchemaFields said = published(path, std::is_same_v<T, Record>);
    EXPECT_EQ(said.properties, fields.properties) << path;
    EXPECT_EQ(said.required, fields.required) << path;
    return fields;
}

/// The keys stand in the first cells of a table of the page, in this order, with the units of the
/// schema; the page says which schema of a later version added them.
void expect_rows(const std::string& schema_path, const SchemaFields& fields) {
    const JsonText schema(source_file(schema_path));
    const std::string page = source_file("proto/run/README.md");
    const std::vector<std::string> lines = lines_of(page);
    std::size_t at = 0;
    for (const auto& [key, since] : fields.keys) {
        const auto names_key = [&name = key](const std::string& line) {
            return line.starts_with("| ") &&
                   says(line.substr(0, line.find(" | ")), "`" + name + "`");
        };
        while (at < lines.size() && !names_key(lines[at])) {
            ++at;
        }
        ASSERT_LT(at, lines.size()) << key << " has no row, or not in the order of the line";
        const JsonValue unit = schema.root.find("properties").find(key).find("unit");
        const std::string wanted(key.ends_with("_ns") ? "ns" : unit.as_string().value_or(""));
        const std::string cells = lines[at].substr(lines[at].find(" |") + 2);
        EXPECT_TRUE(says(cells.substr(0, cells.find('|')), wanted))
            << key << " counts in " << wanted;
        if (since > 1) {
            const std::size_t from = page.find("chema " + std::to_string(since) + " ");
            EXPECT_TRUE(
                says(page.substr(from, page.find("chema ", from + 1) - from), "`" + key + "`"))
                << key << " came with schema " << since;
        }
    }
}

// A field that is added, dropped or moved is so in the published schema, and in the table of keys.
TEST(FilesOfARun, ArePublishedAsTheyAreWritten) {
    expect_rows("proto/run/record.schema.json", expect_published("record.schema.json", Record()));
    expect_rows("proto/run/period.schema.json", expect_published("period.schema.json", Period()));
    expect_published("fired.schema.json", FiredRow());
    expect_published("timed_event.schema.json", TimedEvent());
    expect_published("server_series.schema.json", ServerSeries());
    expect_published("server_scrape.schema.json", ServerScrape());
}

// Null is read as nothing, also into a field that begins with something.
TEST(FilesOfARun, APeriodReadsBackAsItself) {
    for (const std::optional<std::int64_t> corrected : {std::optional<std::int64_t>(), {7}}) {
        std::string line;
        append_json_line(line, Period{.output_tokens_corrected = corrected});
        JsonDocument document;
        const Result<Period> read = read_json_line<Period>(document, line, "read a period");
        ASSERT_TRUE(read);
        EXPECT_EQ(read.value().output_tokens_corrected, corrected);
    }
}

}  // namespace
}  // namespace driftless
