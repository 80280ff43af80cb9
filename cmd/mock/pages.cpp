#include "cmd/mock/pages.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cmd/mock/core.hpp"
#include "cmd/mock/voice.hpp"
#include "proto/json/put.hpp"

namespace driftless::mock {

static constexpr std::string_view json_type = "application/json";

static constexpr std::pair<int, std::string_view> statuses[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {413, "Content Too Large"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
};

static void append_keep_alive(std::string& out, const Reply& reply) {
    if (reply.timeout_s == 0 && reply.answers_max == 0) {
        return;
    }
    out += "keep-alive: ";
    if (reply.timeout_s != 0) {
        append(out, "timeout=", reply.timeout_s, reply.answers_max != 0 ? ", " : "");
    }
    if (reply.answers_max != 0) {
        append(out, "max=", reply.answers_max);
    }
    out += "\r\n";
}

/// The line of a status of the table, and the fields that all responses have.
static void append_head(std::string& out, int status, const Reply& reply) {
    const auto* const row =
        std::ranges::find(statuses, status, &std::pair<int, std::string_view>::first);
    append(out, "HTTP/1.1 ", row->first, " ", row->second, "\r\nserver: driftless-mock\r\n");
    if (!reply.request_id.empty()) {
        append(out, "x-request-id: ", reply.request_id, "\r\n");
    }
    if (!reply.pod.empty()) {
        append(out, "target-pod: ", reply.pod, "\r\n");
    }
    if (reply.close) {
        out += "connection: close\r\n";
        return;
    }
    append_keep_alive(out, reply);
}

void append_stream_head(std::string& out, const Reply& reply, std::string_view content_type) {
    append_head(out, 200, reply);
    append(out, "content-type: ", content_type, "\r\ntransfer-encoding: chunked\r\n\r\n");
}

void append_page(std::string& out, const Reply& reply, int status, std::string_view content_type,
                 std::string_view body, std::string_view extra_fields) {
    append_head(out, status, reply);
    append(out, extra_fields, "content-length: ", body.size());
    if (!body.empty()) {
        append(out, "\r\ncontent-type: ", content_type);
    }
    append(out, "\r\n\r\n", body);
}

static void write_vllm_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    put_object(json, {{"error", JsonPairs{{"message", refusal.message},
                                          {"type", refusal.type},
                                          {"param", nullptr},
                                          {"code", refusal.status}}}});
}

void append_refusal(std::string& out, const Reply& reply, const Refusal& refusal,
                    void (*write)(std::string& out, const Refusal& refusal),
                    std::string_view extra_fields) {
    std::string body;
    (write != nullptr ? write : write_vllm_refusal)(body, refusal);
    append_page(out, reply, refusal.status, json_type, body, extra_fields);
}

void append_bad_http(std::string& out, bool head_too_large) {
    append_page(out, Reply{{}, true, {}}, head_too_large ? 431 : 400, "text/plain; charset=utf-8",
                "Invalid HTTP request received.");
}

static void write_tgi_tokens(JsonWriter& json, std::span<const std::uint32_t> tokens) {
    json.begin_array();
    for (const std::uint32_t token : tokens) {
        put_object(json, {{"id", token}, {"text", ""}, {"start", 0}, {"stop", 0}});
    }
    json.end_array();
}

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

void append_templated(std::string& out, const Reply& reply, std::string_view escaped) {
    std::string body;
    append(body, R"({"prompt":")", escaped, "\"}");
    append_page(out, reply, 200, json_type, body);
}

/// A counter or a gauge in the text format of Prometheus.
static void append_metric(std::string& out, std::string_view kind, std::string_view name,
                          std::string_view labels, const std::string& value) {
    append(out, "# TYPE ", name, " ", kind, "\n", name, labels, " ", value, "\n");
}

static void append_vllm_metrics(std::string& out, const std::string& model,
                                const Metrics& metrics) {
    const std::string labels = R"({engine="0",model_name=")" + model + "\"}";
    const auto add = [&](std::string_view kind, std::string_view name, std::uint64_t value) {
        append_metric(out, kind, name, labels, std::to_string(value) + ".0");
    };
    add("gauge", "vllm:num_requests_running", metrics.running);
    add("gauge", "vllm:num_requests_waiting", metrics.waiting);
    add("counter", "vllm:prompt_tokens_total", metrics.prompt_tokens);
    add("counter", "vllm:generation_tokens_total", metrics.generation_tokens);
    add("counter", "vllm:prefix_cache_queries_total", metrics.cache_queries);
    add("counter", "vllm:prefix_cache_hits_total", metrics.cache_hits);
    add("counter", "vllm:request_success_total", metrics.requests_ok);
    if (metrics.cache_blocks > 0) {  // as vLLM does: the labels say it
        std::string config;
        append(config, "{block_size=\"", metrics.cache_block_tokens,
               "\",engine=\"0\",num_gpu_blocks=\"", metrics.cache_blocks, "\"}");
        append_metric(out, "gauge", "vllm:cache_config_info", config, "1.0");
    }
}

// SGLang's rate is that of its latest batches, ours that of all prompts so far. How full a memory
// is that the mock does not have (`token_usage`) is not said.
static void append_sglang_metrics(std::string& out, const std::string& model,
                                  const Metrics& metrics) {
    const std::string labels = R"({model_name=")" + model + "\"}";
    const auto add = [&](std::string_view kind, std::string_view name, std::uint64_t value) {
        append_metric(out, kind, name, labels, std::to_string(value) + ".0");
    };
    add("gauge", "sglang:num_running_reqs", metrics.running);
    add("gauge", "sglang:num_queue_reqs", metrics.waiting);
    add("counter", "sglang:prompt_tokens_total", metrics.prompt_tokens);
    add("counter", "sglang:generation_tokens_total", metrics.generation_tokens);
    const auto queries = static_cast<double>(metrics.cache_queries);
    const double rate = queries == 0 ? 0 : static_cast<double>(metrics.cache_hits) / queries;
    append_metric(out, "gauge", "sglang:cache_hit_rate", labels, std::to_string(rate));
    add("counter", "sglang:num_requests_total", metrics.requests_ok);
    if (metrics.cache_blocks > 0) {
        add("gauge", "sglang:max_total_num_tokens",
            metrics.cache_blocks * metrics.cache_block_tokens);
    }
}

static void append_error(std::string& out, const Reply& reply, int status, std::string_view detail,
                         std::string_view extra_fields = {}) {
    append_page(out, reply, status, json_type, R"({"detail":")" + std::string(detail) + "\"}",
                extra_fields);
}

/// FastAPI's.
static void append_not_found(std::string& out, const Reply& reply) {
    append_error(out, reply, 404, "Not Found");
}

static void append_metrics(std::string& out, const Reply& reply, const ModelLimits& model,
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

static constexpr std::string_view vllm_reset = "/reset_prefix_cache";
static constexpr std::string_view sglang_reset = "/flush_cache";

static bool has_reset(std::string_view path, CacheReset whose) {
    const bool vllm = whose != CacheReset::sglang && whose != CacheReset::none;
    const bool sglang = whose != CacheReset::vllm && whose != CacheReset::none;
    return (path == vllm_reset && vllm) || (path == sglang_reset && sglang);
}

static void write_models(JsonWriter& json, MockCore& core, Instant now) {
    const ModelLimits& model = core.options().model;
    json.key("object").string("list").key("data").begin_array();
    put_object(json, {{"id", model.name},
                      {"object", "model"},
                      {"created", core.utc_seconds(now)},
                      {"owned_by", model.owned_by},
                      {"root", model.name},
                      {"parent", nullptr},
                      {"max_model_len", model.context_tokens},
                      {"permission", std::vector<int>{}}});
    json.end_array();
}

/// llama.cpp's, with the one member that clients read: the context of a slot.
static void write_props(JsonWriter& json, MockCore& core, Instant) {
    put(json,
        {{"default_generation_settings", JsonPairs{{"n_ctx", core.options().model.context_tokens}}},
         {"total_slots", 1},
         {"build_info", "driftless-mock"}});
}

/// TGI's, likewise.
static void write_info(JsonWriter& json, MockCore& core, Instant) {
    const ModelLimits& model = core.options().model;
    put(json, {{"model_id", model.name},
               {"max_input_tokens", model.context_tokens - 1},
               {"max_total_tokens", model.context_tokens}});
}

static void write_version(JsonWriter& json, MockCore&, Instant) {
    json.key("version").string("driftless-mock");
}

namespace {

struct Page {
    std::string_view path;
    std::string_view method;
    /// Writes the members of a JSON page; nullptr: it is another one.
    void (*write)(JsonWriter& json, MockCore& core, Instant now) = nullptr;
};

}  // namespace

static constexpr Page pages[] = {{"/v1/models", "GET", write_models},
                                 {"/health", "GET"},
                                 {"/metrics", "GET"},
                                 {"/version", "GET", write_version},
                                 {"/props", "GET", write_props},
                                 {"/info", "GET", write_info},
                                 {"/tokenize", "POST"},
                                 {vllm_reset, "POST"},
                                 {sglang_reset, "POST"}};

void answer_page(std::string& out, const Reply& reply, const RequestParser& head, MockCore& core,
                 Instant now) {
    const std::string_view target = head.target();
    const std::string_view path = target.substr(0, target.find('?'));
    const CoreOptions& options = core.options();
    const bool resets = has_reset(path, options.cache_reset);
    const bool absent = (path == "/tokenize" && options.tokenize == TokenizeForm::none) ||
                        ((path == vllm_reset || path == sglang_reset) && !resets);
    const Page* const page = std::ranges::find(pages, path, &Page::path);
    const bool known = page != std::end(pages) && !absent;
    const bool is_voice = head.method() != "POST" && find_voice(path, false) != nullptr;
    if (is_voice || (known && page->method != head.method())) {
        const std::string allowed(is_voice ? "POST" : page->method);
        append_error(out, reply, 405, "Method Not Allowed", "allow: " + allowed + "\r\n");
    } else if (resets) {
        if (options.cache_reset != CacheReset::pretended) {
            core.reset_cache();
        }
        append_page(out, reply, 200, "text/plain", path == sglang_reset ? "Cache flushed.\n" : "");
    } else if (path == "/health") {
        append_page(out, reply, 200, {}, {});
    } else if (path == "/metrics") {
        append_metrics(out, reply, options.model, core.metrics(), options.metric_names);
    } else if (known && page->write != nullptr) {
        std::string body;
        JsonWriter json(body);
        json.begin_object();
        page->write(json, core, now);
        json.end_object();
        append_page(out, reply, 200, json_type, body);
    } else {
        append_not_found(out, reply);
    }
}

}  // namespace driftless::mock
