#include "cmd/mock/pages.hpp"

#include <string_view>

#include "cmd/mock/core.hpp"
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

constexpr std::string_view json_type = "application/json";

const char* status_line(int status) {
    switch (status) {
        case 200:
            return "HTTP/1.1 200 OK\r\n";
        case 400:
            return "HTTP/1.1 400 Bad Request\r\n";
        case 404:
            return "HTTP/1.1 404 Not Found\r\n";
        case 405:
            return "HTTP/1.1 405 Method Not Allowed\r\n";
        case 413:
            return "HTTP/1.1 413 Content Too Large\r\n";
        case 429:
            return "HTTP/1.1 429 Too Many Requests\r\n";
        case 431:
            return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
        default:
            return "HTTP/1.1 500 Internal Server Error\r\n";
    }
}

void append_keep_alive(std::string& out, const Reply& reply) {
    if (reply.timeout_s == 0 && reply.answers_max == 0) {
        return;
    }
    out += "keep-alive: ";
    if (reply.timeout_s != 0) {
        out += "timeout=" + std::to_string(reply.timeout_s);
        out += reply.answers_max != 0 ? ", " : "";
    }
    if (reply.answers_max != 0) {
        out += "max=" + std::to_string(reply.answers_max);
    }
    out += "\r\n";
}

void append_common_fields(std::string& out, const Reply& reply) {
    out += "server: driftless-mock\r\n";
    if (!reply.request_id.empty()) {
        out += "x-request-id: ";
        out += reply.request_id;
        out += "\r\n";
    }
    if (!reply.pod.empty()) {
        out += "target-pod: ";
        out += reply.pod;
        out += "\r\n";
    }
    if (reply.close) {
        out += "connection: close\r\n";
        return;
    }
    append_keep_alive(out, reply);
}

}  // namespace

void append_stream_head(std::string& out, const Reply& reply, std::string_view content_type) {
    out += status_line(200);
    append_common_fields(out, reply);
    out += "content-type: ";
    out += content_type;
    out += "\r\ntransfer-encoding: chunked\r\n\r\n";
}

void append_page(std::string& out, const Reply& reply, int status, std::string_view content_type,
                 std::string_view body, std::string_view extra_fields) {
    out += status_line(status);
    append_common_fields(out, reply);
    out += extra_fields;
    out += "content-length: ";
    out += std::to_string(body.size());
    if (!body.empty()) {
        out += "\r\ncontent-type: ";
        out += content_type;
    }
    out += "\r\n\r\n";
    out += body;
}

namespace {

void write_vllm_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("error").begin_object();
    json.key("message").string(refusal.message).key("type").string(refusal.type);
    json.key("param").null().key("code").integer(refusal.status);
    json.end_object().end_object();
}

}  // namespace

void append_refusal(std::string& out, const Reply& reply, const Refusal& refusal,
                    void (*write)(std::string& out, const Refusal& refusal),
                    std::string_view extra_fields) {
    std::string body;
    (write != nullptr ? write : write_vllm_refusal)(body, refusal);
    append_page(out, reply, refusal.status, json_type, body, extra_fields);
}

void append_not_found(std::string& out, const Reply& reply) {
    append_page(out, reply, 404, json_type, R"({"detail":"Not Found"})");
}

void append_method_not_allowed(std::string& out, const Reply& reply, std::string_view allowed) {
    std::string allow = "allow: ";
    allow += allowed;
    allow += "\r\n";
    append_page(out, reply, 405, json_type, R"({"detail":"Method Not Allowed"})", allow);
}

void append_bad_http(std::string& out, bool head_too_large) {
    append_page(out, Reply{{}, true, {}}, head_too_large ? 431 : 400, "text/plain; charset=utf-8",
                "Invalid HTTP request received.");
}

void append_models(std::string& out, const Reply& reply, const ModelLimits& model,
                   std::int64_t created_s) {
    std::string body;
    JsonWriter json(body);
    json.begin_object().key("object").string("list").key("data").begin_array().begin_object();
    json.key("id").string(model.name).key("object").string("model");
    json.key("created").integer(created_s).key("owned_by").string(model.owned_by);
    json.key("root").string(model.name).key("parent").null();
    json.key("max_model_len").unsigned_integer(model.context_tokens);
    json.key("permission").begin_array().end_array();
    json.end_object().end_array().end_object();
    append_page(out, reply, 200, json_type, body);
}

namespace {

void write_tgi_tokens(JsonWriter& json, std::span<const std::uint32_t> tokens) {
    json.begin_array();
    for (const std::uint32_t token : tokens) {
        json.begin_object().key("id").unsigned_integer(token).key("text").string("");
        json.key("start").integer(0).key("stop").integer(0).end_object();
    }
    json.end_array();
}

}  // namespace

void append_tokenized(std::string& out, const Reply& reply, const ModelLimits& model,
                      std::span<const std::uint32_t> tokens, TokenizeForm form) {
    std::string body;
    JsonWriter json(body);
    if (form == TokenizeForm::tgi) {
        write_tgi_tokens(json, tokens);
        append_page(out, reply, 200, json_type, body);
        return;
    }
    const bool bare = form == TokenizeForm::llama_cpp;
    json.begin_object();
    if (!bare) {
        json.key("count").unsigned_integer(tokens.size());
        json.key("max_model_len").unsigned_integer(model.context_tokens);
    }
    json.key("tokens").begin_array();
    for (const std::uint32_t token : tokens) {
        json.unsigned_integer(token);
    }
    json.end_array();
    if (!bare) {
        json.key("token_strs").null();
    }
    json.end_object();
    append_page(out, reply, 200, json_type, body);
}

void append_props(std::string& out, const Reply& reply, const ModelLimits& model) {
    std::string body;
    JsonWriter json(body);
    json.begin_object().key("default_generation_settings").begin_object();
    json.key("n_ctx").unsigned_integer(model.context_tokens).end_object();
    json.key("total_slots").integer(1).key("build_info").string("driftless-mock").end_object();
    append_page(out, reply, 200, json_type, body);
}

void append_info(std::string& out, const Reply& reply, const ModelLimits& model) {
    std::string body;
    JsonWriter json(body);
    json.begin_object().key("model_id").string(model.name);
    json.key("max_input_tokens").unsigned_integer(model.context_tokens - 1);
    json.key("max_total_tokens").unsigned_integer(model.context_tokens).end_object();
    append_page(out, reply, 200, json_type, body);
}

void append_templated(std::string& out, const Reply& reply, std::string_view escaped) {
    std::string body = R"({"prompt":")";
    body += escaped;
    body += "\"}";
    append_page(out, reply, 200, json_type, body);
}

namespace {

/// Counters and gauges in the text format of Prometheus.
class MetricsPage {
  public:
    MetricsPage(std::string& out, std::string_view prefix, std::string_view labels)
        : out_(out), prefix_(prefix), labels_(labels) {}

    void counter(std::string_view name, std::uint64_t value) {
        add("counter", name, std::to_string(value) + ".0");
    }
    void gauge(std::string_view name, std::uint64_t value) {
        add("gauge", name, std::to_string(value) + ".0");
    }
    void gauge(std::string_view name, double value) { add("gauge", name, std::to_string(value)); }

  private:
    void add(std::string_view kind, std::string_view name, const std::string& value) {
        out_.append("# TYPE ").append(prefix_).append(name).append(" ").append(kind);
        out_.append("\n").append(prefix_).append(name).append(labels_);
        out_.append(" ").append(value).append("\n");
    }

    std::string& out_;
    std::string_view prefix_;
    std::string_view labels_;
};

void append_vllm_metrics(std::string& out, const std::string& model, const Metrics& metrics) {
    const std::string labels = R"({engine="0",model_name=")" + model + "\"}";
    MetricsPage page(out, "vllm:", labels);
    page.gauge("num_requests_running", metrics.running);
    page.gauge("num_requests_waiting", metrics.waiting);
    page.counter("prompt_tokens_total", metrics.prompt_tokens);
    page.counter("generation_tokens_total", metrics.generation_tokens);
    page.counter("prefix_cache_queries_total", metrics.cache_queries);
    page.counter("prefix_cache_hits_total", metrics.cache_hits);
    page.counter("request_success_total", metrics.requests_ok);
    if (metrics.cache_blocks > 0) {  // as vLLM does: the labels say it
        const std::string config = "{block_size=\"" + std::to_string(metrics.cache_block_tokens) +
                                   "\",engine=\"0\",num_gpu_blocks=\"" +
                                   std::to_string(metrics.cache_blocks) + "\"}";
        MetricsPage(out, "vllm:", config).gauge("cache_config_info", std::uint64_t{1});
    }
}

// SGLang's rate is that of its latest batches, ours that of all prompts so far. How full a memory
// is that the mock does not have (`token_usage`) is not said.
void append_sglang_metrics(std::string& out, const std::string& model, const Metrics& metrics) {
    const std::string labels = R"({model_name=")" + model + "\"}";
    MetricsPage page(out, "sglang:", labels);
    page.gauge("num_running_reqs", metrics.running);
    page.gauge("num_queue_reqs", metrics.waiting);
    page.counter("prompt_tokens_total", metrics.prompt_tokens);
    page.counter("generation_tokens_total", metrics.generation_tokens);
    page.gauge("cache_hit_rate", metrics.cache_queries == 0
                                     ? 0.0
                                     : static_cast<double>(metrics.cache_hits) /
                                           static_cast<double>(metrics.cache_queries));
    page.counter("num_requests_total", metrics.requests_ok);
    if (metrics.cache_blocks > 0) {
        page.gauge("max_total_num_tokens", metrics.cache_blocks * metrics.cache_block_tokens);
    }
}

}  // namespace

void append_metrics(std::string& out, const Reply& reply, const ModelLimits& model,
                    const Metrics& metrics, MetricNames names) {
    if (!names.vllm && !names.sglang) {
        append_not_found(out, reply);
        return;
    }
    std::string label;  // backslash, quote and line end are escaped as in JSON
    append_json_escaped(label, model.name);
    std::string body;
    if (names.vllm) {
        append_vllm_metrics(body, label, metrics);
    }
    if (names.sglang) {
        append_sglang_metrics(body, label, metrics);
    }
    append_page(out, reply, 200, "text/plain; version=0.0.4; charset=utf-8", body);
}

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
