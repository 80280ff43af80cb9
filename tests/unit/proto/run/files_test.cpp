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

/// What the page says of a file: the rows of its table are those of its schema.
std::string table_of(const SchemaFields& fields, const std::string& schema_path) {
    const JsonText schema(source_file(schema_path));
    std::string table = "| key | unit | since | meaning |\n|---|---|---|---|\n";
    for (const auto& [key, since] : fields.keys) {
        const JsonValue one = schema.root.find("properties").find(key);
        const std::string type(one.find("type").raw());
        const bool is_list = says(type, "array");
        const std::string unit(one.find("unit").as_string().value_or(
            key.ends_with("_ns")    ? (says(type, "number") ? "ns, fractional" : "ns")
            : says(type, "boolean") ? "bool"
            : says(type, "object")  ? "object"
                                    : ""));
        EXPECT_EQ(one.find("since").as_i64().value_or(1), since) << key;
        table += "| `" + key + "` | " + (is_list ? "list" : "") +
                 (is_list && !unit.empty() ? " of " : "") + unit + " | " +
                 (since > 1 ? std::to_string(since) : "") + " | " +
                 std::string(one.find("description").as_string().value_or("")) + " |\n";
    }
    return table;
}

/// DRIFTLESS_WRITE_PAGES=1 writes the table into the page, below its heading.
void expect_rows(const std::string& heading, const std::string& schema_path,
                 const SchemaFields& fields) {
    const std::string path = "proto/run/README.md";
    std::string page = source_file(path);
    const std::size_t begin = page.find("| key |", page.find("\n" + heading + "\n"));
    ASSERT_NE(begin, page.npos);
    const std::size_t end = page.find("\n\n", begin) + 1;
    const std::string table = table_of(fields, schema_path);
    if (std::getenv("DRIFTLESS_WRITE_PAGES") != nullptr) {
        std::ofstream(source_path(path)) << page.replace(begin, end - begin, table);
        return;
    }
    EXPECT_EQ(lines_of(page.substr(begin, end - begin)), lines_of(table)) << schema_path;
}

// A field that is added, dropped or moved is so in the published schema, and in the table of keys.
TEST(FilesOfARun, ArePublishedAsTheyAreWritten) {
    expect_rows("## Keys", "proto/run/record.schema.json",
                expect_published("record.schema.json", Record()));
    expect_rows("## Periods", "proto/run/period.schema.json",
                expect_published("period.schema.json", Period()));
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
