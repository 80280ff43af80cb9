#include "proto/trace/format.hpp"

#include "proto/trace/mooncake.hpp"

namespace driftless {
namespace {

constexpr const TraceFormat* formats[] = {&mooncake_format};

/// A shape is known by keys that stand together in its rows (trace-formats 12.6).
struct Shape {
    std::string_view keys[3];  ///< all must be there; empty: none asked
    std::string_view what;
};

constexpr Shape shapes[] = {
    {{"chat_id", "hash_ids"}, "a Qwen (Bailian) trace: its rows have chat_id"},
    {{"hash_ids", "session_id"}, "AIPerf's extended Mooncake: its rows have session_id"},
    {{"hash_ids", "delay"}, "AIPerf's extended Mooncake: its rows have delay"},
    {{"text_input"}, "AIPerf's extended Mooncake: its rows have text_input"},
    {{"timestamp", "messages"}, "AIPerf's extended Mooncake: its rows have messages"},
    {{"timestamp", "payload"}, "AIPerf's extended Mooncake: its rows have payload"},
    {{"requests", "block_size"}, "a Weka (kv-cache-tester) conversation"},
    {{"schema", "hash_ids"}, "a Dynamo trace: its rows have schema"},
    {{"event"}, "a Dynamo request trace: its rows have event"},
    {{"body", "timestamp"}, "a log of request bodies"},
    {{"resourceSpans"}, "an OTLP export"},
    {{"spans"}, "an OpenTelemetry export"},
    {{"session_id", "input", "pre_gap"}, "an LMCache agentic trace"},
    {{"session_id", "turns"}, "AIPerf conversations"},
    {{"captureData"}, "a SageMaker data capture"},
    {{"conversations"}, "ShareGPT conversations, which have no times"},
};

struct Prefix {
    std::string_view bytes;
    std::string_view what;
};

constexpr Prefix prefixes[] = {
    {"PAR1", "a Parquet file"},
    {"ARROW1", "an Arrow file"},
    {"TIMESTAMP,", "an Azure CSV trace"},
    {"Timestamp,", "a BurstGPT CSV trace"},
    {"[", "one JSON array over the whole file"},
    {"PK\x03\x04", "a zip archive"},
};

}  // namespace

std::span<const TraceFormat* const> trace_formats() {
    return formats;
}

const TraceFormat* find_trace_format(std::string_view name) {
    for (const TraceFormat* format : formats) {
        if (name == format->name) {
            return format;
        }
    }
    return nullptr;
}

std::string trace_format_names() {
    std::string names;
    for (const TraceFormat* format : formats) {
        names += names.empty() ? "" : ", ";
        names += format->name;
    }
    return names;
}

std::string_view foreign_shape(const JsonValue& row) {
    if (row.find("hash_ids").is(JsonType::object)) {
        return "a RAGPulse trace: its hash_ids are objects";
    }
    for (const Shape& shape : shapes) {
        bool all = true;
        for (const std::string_view key : shape.keys) {
            all = all && (key.empty() || row.find(key).present());
        }
        if (all) {
            return shape.what;
        }
    }
    return {};
}

std::string_view foreign_text_shape(std::string_view line) {
    for (const Prefix& prefix : prefixes) {
        if (line.starts_with(prefix.bytes)) {
            return prefix.what;
        }
    }
    return {};
}

void RowContext::refuse(std::string_view field, std::string_view value, std::string problem,
                        std::string remedy) const {
    std::size_t bytes = std::min(value.size(), value_bytes_max);
    while (bytes < value.size() && bytes > 0 &&
           (static_cast<unsigned char>(value[bytes]) & 0xC0U) == 0x80U) {
        --bytes;
    }
    errors.add({std::string(file), line, std::string(field), std::string(value.substr(0, bytes)),
                std::move(problem), std::move(remedy)});
}

}  // namespace driftless
