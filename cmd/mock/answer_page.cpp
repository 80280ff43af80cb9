#include "cmd/mock/answer_page.hpp"

#include <string_view>

#include "cmd/mock/core.hpp"
#include "cmd/mock/voice.hpp"

namespace driftless::mock {

void answer_page(std::string& out, const Reply& reply, const RequestParser& head,
                 const MockCore& core, Instant now) {
    struct Page {
        std::string_view path;
        std::string_view method;
    };
    static constexpr Page pages[] = {{"/v1/models", "GET"}, {"/health", "GET"}, {"/metrics", "GET"},
                                     {"/version", "GET"},   {"/props", "GET"},  {"/info", "GET"},
                                     {"/tokenize", "POST"}};
    const std::string_view target = head.target();
    const std::string_view path = target.substr(0, target.find('?'));
    const CoreOptions& options = core.options();
    const bool untokenized = path == "/tokenize" && options.tokenize == TokenizeForm::none;
    for (const Page& page : pages) {
        if (page.path == path && !untokenized && page.method != head.method()) {
            append_method_not_allowed(out, reply, page.method);
            return;
        }
    }
    if (head.method() != "POST" && find_voice(path, false) != nullptr) {
        append_method_not_allowed(out, reply, "POST");
        return;
    }
    if (path == "/v1/models") {
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
