/// LogFormat: a format of logs as a table entry, one file per format beside this one.
///
/// A format knows where a gateway or an exporter puts times, messages, usage and sessions. It gets
/// one JSON object at a time and adds the calls that it finds there; lines and files are the
/// reader's (read.hpp), tokens and block ids the engine's. What it leaves out, it counts; what it
/// cannot do without, it refuses by name. Error messages never quote a value: it may be private
/// text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/logs/call.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// A column that `--keep` names.
struct KeptColumn {
    std::string name;
    bool seen = false;  ///< some call had it
};

/// Where a format puts its calls and its complaints. Lives as long as the reader's call.
struct LogContext {
    std::vector<LogCall>& calls;
    std::vector<Remark>& remarks;
    std::vector<KeptColumn>& columns;
    InputErrors& errors;
    JsonDocument& inner;  ///< for JSON that stands in a string; parsing again ends the one before
    std::string_view file;
    std::uint64_t line = 0;
    std::string place = {};  ///< inside the line, before a field's name: "spans[3]."

    void refuse(std::string_view field, std::string problem, std::string remedy) const;
    /// Counts a fact that a person should know.
    void remark(const char* one, const char* many) const;

    /// Carries the kept columns of a call; `find` gives the value of a name, or an absent one.
    template <typename Find>
    void keep(LogCall& call, Find find) const {
        if (columns.empty()) {
            return;
        }
        JsonWriter json(call.kept);
        json.begin_object();
        for (KeptColumn& column : columns) {
            const JsonValue value = find(std::string_view(column.name));
            column.seen = column.seen || value.present();
            json.key(column.name).raw(value.present() ? value.raw() : "null");
        }
        json.end_object();
    }

    /// Adds a call that is complete.
    void add(LogCall call) const;
};

struct LogFormat {
    const char* name = "";  ///< as `--log-format` spells it
    const char* what = "";  ///< whose it is, for messages
    /// Whether an object of the log looks like this format.
    bool (*matches)(const JsonValue& object) = nullptr;
    /// Adds the calls of an object, or lists what is wrong with it.
    void (*read)(LogContext& context, const JsonValue& object) = nullptr;
};

/// All formats, the most particular first: the first that matches is the one.
std::span<const LogFormat* const> log_formats();
const LogFormat* find_log_format(std::string_view name);
/// The names, comma-separated, for messages.
std::string log_format_names();

extern const LogFormat otel_log;
extern const LogFormat langfuse_log;
extern const LogFormat litellm_log;
extern const LogFormat plain_log;

}  // namespace driftless
