#include "proto/trace/format.hpp"

#include <algorithm>
#include <limits>

#include "proto/trace/agentic_mooncake.hpp"
#include "proto/trace/aibrix.hpp"
#include "proto/trace/aiperf_turns.hpp"
#include "proto/trace/azure.hpp"
#include "proto/trace/burstgpt.hpp"
#include "proto/trace/canonical.hpp"
#include "proto/trace/conversations.hpp"
#include "proto/trace/dynamo.hpp"
#include "proto/trace/generic.hpp"
#include "proto/trace/isb1.hpp"
#include "proto/trace/lmcache.hpp"
#include "proto/trace/mlperf.hpp"
#include "proto/trace/mooncake.hpp"
#include "proto/trace/qwen.hpp"
#include "proto/trace/sglang_agentic.hpp"
#include "proto/trace/tensorrt.hpp"
#include "proto/trace/vidur.hpp"
#include "proto/trace/weka.hpp"
#include "proto/trace/workload_log.hpp"

namespace driftless {
namespace {

constexpr const TraceFormat* formats[] = {
    &mooncake_format,     &mooncake_delta_format,  &qwen_format,
    &weka_format,         &azure_format,           &burstgpt_format,
    &vidur_format,        &dynamo_format,          &agentic_mooncake_format,
    &lmcache_format,      &mlperf_format,          &tensorrt_format,
    &workload_log_format, &aibrix_format,          &aiperf_turns_format,
    &sharegpt_format,     &vllm_multi_turn_format, &sglang_agentic_format,
    &isb1_format,         &canonical_format,       &generic_format};

}  // namespace

std::span<const TraceFormat* const> trace_formats() {
    return formats;
}

const TraceFormat* find_trace_format(std::string_view name) {
    for (const TraceFormat* format : formats) {
        if (!name.empty() && (name == format->name || name == format->alias)) {
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

void RowContext::refuse(std::string_view field, std::string_view value, std::string problem,
                        std::string remedy) const {
    std::size_t bytes = std::min(value.size(), value_bytes_max);
    while (bytes < value.size() && bytes > 0 &&
           (static_cast<unsigned char>(value[bytes]) & 0xC0U) == 0x80U) {
        --bytes;
    }
    std::string where = place;
    where += place.empty() || field.empty() ? "" : ".";
    errors.add({std::string(file), line, where + std::string(field),
                std::string(value.substr(0, bytes)), std::move(problem), std::move(remedy)});
}

namespace {

template <typename Source>
void emit_row(const RowContext& context, const TraceRow& row, const Source& source) {
    context.columns.note(source, context.known);
    Trace& trace = context.draft.trace();
    if (context.columns.keeps()) {
        trace.kept.push_back(context.columns.kept(source));
    }
    TraceRow& added = context.draft.add(row);
    added.line = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(context.line, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void RowContext::emit(const TraceRow& row, const JsonValue& source) const {
    emit_row(*this, row, source);
}

void RowContext::emit(const TraceRow& row, const CsvRow& source) const {
    emit_row(*this, row, source);
}

}  // namespace driftless
