#include "cmd/mock/answer_page.hpp"

#include <string_view>

#include "cmd/mock/core.hpp"
#include "cmd/mock/voice.hpp"

namespace driftless::mock {

namespace {

constexpr std::string_view vllm_reset = "/reset_prefix_cache";
constexpr std::string_view sglang_reset = "/flush_cache";

bool has_reset(std::string_view path, CacheReset whose) {
    const bool vllm = whose != CacheReset::sglang && whose != CacheReset::none;
    const bool sglang = whose != CacheReset::vllm && whose != CacheReset::none;
    return (path == vllm_reset && vllm) || (path == sglang_reset && sglang);
}

}  // namespace

void answer_page(std::string& out, const Reply& reply, const RequestParser& head, MockCore& core,
                 Instant now) {
    struct Page {
        std::string_view path;
        std::string_view method;
    };
    static constexpr Page pages[] = {
        {"/v1/models", "GET"}, {"/health", "GET"},   {"/metrics", "GET"},
        {"/version", "GET"},   {"/props", "GET"},    {"/info", "GET"},
        {"/tokenize", "POST"}, {vllm_reset, "POST"}, {sglang_reset, "POST"}};
    const std::string_view target = head.target();
    const std::string_view path = target.substr(0, target.find('?'));
    const CoreOptions& options = core.options();
    const bool resets = has_reset(path, options.cache_reset);
    const bool absent = (path == "/tokenize" && options.tokenize == TokenizeForm::none) ||
                        ((path == vllm_reset || path == sglang_reset) && !resets);
    for (const Page& page : pages) {
        if (page.path == path && !absent && page.method != head.method()) {
            append_method_not_allowed(out, reply, page.method);
            return;
        }
    }
    if (head.method() != "POST" && find_voice(path, false) != nullptr) {
        append_method_not_allowed(out, reply, "POST");
        return;
    }
    if (resets) {
        if (options.cache_reset != CacheReset::pretended) {
            core.reset_cache();
        }
        append_page(out, reply, 200, "text/plain", path == sglang_reset ? "Cache flushed.\n" : "");
    } else if (path == "/v1/models") {
        append_models(out, reply, options.model, core.utc_seconds(now));
    } else if (path == "/health") {
        append_page(out, reply, 200, {}, {});
    } else if (path == "/metrics") {
        append_metrics(out, reply, options.model, core.metrics(), options.metric_names);
    } else if (path == "/props") {
        append_props(out, reply, options.model);
    } else if (path == "/info") {
        append_info(out, reply, options.model);
    } else if (path == "/version") {
        append_page(out, reply, 200, "application/json", R"({"version":"driftless-mock"})");
    } else {
        append_not_found(out, reply);
    }
}

}  // namespace driftless::mock
