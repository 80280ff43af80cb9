#include "proto/logs/format.hpp"

#include <utility>

namespace driftless {
namespace {

constexpr const LogFormat* formats[] = {&otel_log, &langfuse_log, &litellm_log, &plain_log};

}  // namespace

std::span<const LogFormat* const> log_formats() {
    return formats;
}

const LogFormat* find_log_format(std::string_view name) {
    for (const LogFormat* format : formats) {
        if (name == format->name) {
            return format;
        }
    }
    return nullptr;
}

std::string log_format_names() {
    std::string names;
    for (const LogFormat* format : formats) {
        names += names.empty() ? "" : ", ";
        names += format->name;
    }
    return names;
}

void LogContext::refuse(std::string_view field, std::string problem, std::string remedy) const {
    errors.add({std::string(file), line, place + std::string(field), "", std::move(problem),
                std::move(remedy)});
}

void LogContext::remark(const char* one, const char* many) const {
    for (Remark& known : remarks) {
        if (std::string_view(known.many) == many) {
            ++known.count;
            return;
        }
    }
    remarks.push_back({one, many, 1});
}

void LogContext::add(LogCall call) const {
    call.line = line;
    call.place = place;
    calls.push_back(std::move(call));
}

}  // namespace driftless
