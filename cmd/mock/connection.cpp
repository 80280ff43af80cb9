/// The request side of a MockConnection: from bytes to what is to be answered.
#include <utility>

#include "cmd/mock/core.hpp"

namespace driftless::mock {

namespace {

/// The seed of one request: the same id gives the same answer at the same pace, whenever it comes.
std::uint64_t seed_of(std::uint64_t seed, std::string_view request_id) {
    Digest digest;
    digest.add(request_id);
    return mix64(seed ^ digest.value());
}

}  // namespace

void MockConnection::open(std::uint64_t number, Instant now) {
    number_ = number;
    phase_ = Phase::reading;
    action_ = Action::keep;
    has_slot_ = bad_http_ = false;
    made_ = 0;
    parser_.reset();
    pipelined_.clear();
    ready_.clear();
    slow_.clear();
    slow_left_ = 0;
    answered_ = 0;
    fault_ = Fault::none;
    now_idle(now);
    host = nullptr;
    if (refuses_connection(core_.options_.faults, mix64(core_.options_.seed ^ number))) {
        phase_ = Phase::over;
        action_ = Action::reset;
    }
}

/// The peer is gone. What was being made ends here.
void MockConnection::abandon(Instant now) {
    if (phase_ == Phase::queued) {
        core_.leave_queue(*this);
    }
    if (phase_ == Phase::queued || phase_ == Phase::whole || phase_ == Phase::stream) {
        end_answer(now, Ending::aborted);
    } else if (phase_ == Phase::stalled) {
        end_answer(now, Ending::faulted);
    }
    phase_ = Phase::over;
}

void MockConnection::receive(std::string_view bytes, Instant now) {
    if (phase_ != Phase::reading) {
        if (pipelined_.size() + bytes.size() > pipelined_bytes_max) {
            abandon(now);
            action_ = Action::reset;
        } else if (phase_ != Phase::over) {
            pipelined_ += bytes;
        }
        return;
    }
    take(bytes, now);
}

void MockConnection::take(std::string_view bytes, Instant now) {
    if (parser_.idle()) {
        idle_ends_ = never;
        log_ = RequestLog();
        log_.start_ns = now.ns;
    }
    bool more = true;
    while (more && phase_ == Phase::reading) {  // every step consumes bytes or ends the request
        const RequestParser::Step step = parser_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        switch (step.piece) {
            case RequestPiece::need_more:
                more = false;
                break;
            case RequestPiece::head_done:
                take_head(now);
                break;
            case RequestPiece::body:
                body_refused_ = route_ != Route::other && !body_.feed(step.span);
                break;
            case RequestPiece::done:
                take_request(now);
                break;
            case RequestPiece::error:
                append_bad_http(ready_, parser_.head_too_large());
                phase_ = Phase::page;
                bad_http_ = true;
                return;
        }
    }
    pipelined_ += bytes;
}

/// Where a POST goes.
MockConnection::Route MockConnection::route_of(std::string_view path) {
    const TokenizeForm form = core_.options_.tokenize;
    voice_ = find_voice(path, form == TokenizeForm::tgi);
    if (voice_ != nullptr) {
        return Route::generate;
    }
    if (path == "/tokenize" && form != TokenizeForm::none) {
        return Route::tokenize;
    }
    if (path == "/v1/tokenize" && form == TokenizeForm::sglang) {
        return Route::tokenize;
    }
    return path == "/apply-template" && form == TokenizeForm::llama_cpp ? Route::apply_template
                                                                        : Route::other;
}

/// The template around the prompt of this request, as this route counts it.
TemplateTokens MockConnection::template_now() {
    const CoreOptions& options = core_.options_;
    TemplateTokens around = options.overhead;
    around.pre += static_cast<std::uint32_t>(core_.requests_++ %
                                             (std::uint64_t{options.overhead_varies} + 1));
    if (route_ == Route::tokenize && options.tokenize_overhead) {
        return *options.tokenize_overhead;
    }
    const bool bare = route_ == Route::tokenize && options.tokenize != TokenizeForm::vllm;
    return bare ? TemplateTokens{} : around;
}

/// Where the prompt stands in the bodies of this route.
PromptKeys MockConnection::prompt_keys() const {
    if (route_ == Route::generate) {
        return {voice_->asked.text, voice_->asked.ids, voice_->asked.messages};
    }
    if (route_ != Route::tokenize) {
        return {};
    }
    switch (core_.options_.tokenize) {
        case TokenizeForm::llama_cpp:
            return {.text = "content"};
        case TokenizeForm::tgi:
            return {.text = "inputs"};
        default:
            return {"prompt", "prompt", true};
    }
}

void MockConnection::take_head(Instant) {
    const CoreOptions& options = core_.options_;
    const std::string_view target = parser_.target();
    const std::string_view path = target.substr(0, target.find('?'));
    voice_ = nullptr;
    route_ = parser_.method() == "POST" ? route_of(path) : Route::other;
    body_.reset(prompt_, prompt_keys());
    prompt_.reset(options.cache_block_tokens, template_now(),
                  core_.texts_ ? &*core_.texts_ : nullptr, &options.words);
    if (route_ == Route::tokenize) {
        prompt_.record_tokens();
    }
    body_refused_ = head_sent_ = false;
    log_.request_id = parser_.header("X-Request-Id");
    fault_ = Fault::none;
    if (route_ == Route::generate) {
        if (log_.request_id.empty()) {
            log_.request_id = "mock." + std::to_string(number_) + '.' + std::to_string(answered_);
        }
        seed_ = seed_of(options.seed, log_.request_id);
        log_.row = row_of_request_id(log_.request_id);
        log_.traceparent = parser_.header("traceparent");
        log_.connection = number_;
        log_.api = dialect_of(voice_->api).name;
        log_.tokens_per_chunk = options.pace.tokens_per_chunk;
        log_.fault = fault_ = fault_of_request(options.faults, log_.row, seed_);
    }
    if (fault_ == Fault::refuse) {
        end_answer({log_.start_ns}, Ending::faulted);
        phase_ = Phase::over;
        action_ = Action::reset;
    } else if (parser_.expects_continue()) {
        ready_ += "HTTP/1.1 100 Continue\r\n\r\n";
    }
    slow_left_ = fault_ == Fault::slow ? slow_bytes : 0;
}

void MockConnection::take_request(Instant now) {
    log_.last_byte_ns = now.ns;
    phase_ = Phase::page;
    if (body_refused_) {
        refuse({413, "BadRequestError", "The request body is too large or too deep."}, now);
    } else if (route_ == Route::generate) {
        answer_completion(now);
    } else if (route_ == Route::tokenize) {
        answer_tokenize(now);
    } else if (route_ == Route::apply_template) {
        answer_template(now);
    } else {
        answer_page(now);
    }
}

void MockConnection::answer_page(Instant now) {
    struct Page {
        std::string_view path;
        std::string_view method;
    };
    static constexpr Page pages[] = {{"/v1/models", "GET"}, {"/health", "GET"}, {"/metrics", "GET"},
                                     {"/version", "GET"},   {"/props", "GET"},  {"/info", "GET"},
                                     {"/tokenize", "POST"}};
    const std::string_view target = parser_.target();
    const std::string_view path = target.substr(0, target.find('?'));
    const ModelLimits& model = core_.options_.model;
    const bool untokenized = path == "/tokenize" && core_.options_.tokenize == TokenizeForm::none;
    for (const Page& page : pages) {
        if (page.path == path && !untokenized && page.method != parser_.method()) {
            append_method_not_allowed(ready_, reply(), page.method);
            return;
        }
    }
    if (parser_.method() != "POST" && find_voice(path, false) != nullptr) {
        append_method_not_allowed(ready_, reply(), "POST");
        return;
    }
    if (path == "/v1/models") {
        append_models(ready_, reply(), model, core_.utc_seconds(now));
    } else if (path == "/health") {
        append_page(ready_, reply(), 200, {}, {});
    } else if (path == "/metrics") {
        append_metrics(ready_, reply(), model, core_.metrics(), core_.options_.metric_names);
    } else if (path == "/props") {
        append_props(ready_, reply(), model);
    } else if (path == "/info") {
        append_info(ready_, reply(), model);
    } else if (path == "/version") {
        append_page(ready_, reply(), 200, "application/json", R"({"version":"driftless-mock"})");
    } else {
        append_not_found(ready_, reply());
    }
}

void MockConnection::answer_tokenize(Instant now) {
    const ModelLimits& model = core_.options_.model;
    const TokenizeForm form = core_.options_.tokenize;
    const auto refusal = read_tokenize(core_.document_, body_.frame(), model, form, prompt_);
    if (refusal) {
        refuse(*refusal, now);
    } else {
        append_tokenized(ready_, reply(), model, prompt_.recorded(), form);
    }
}

void MockConnection::answer_template(Instant now) {
    const CoreOptions& options = core_.options_;
    std::string escaped;
    const auto refusal =
        read_template(core_.document_, body_.frame(), options.model, options.overhead, escaped);
    if (refusal) {
        refuse(*refusal, now);
    } else {
        append_templated(ready_, reply(), escaped);
    }
}

void MockConnection::answer_completion(Instant now) {
    const auto refusal = read_asked(core_.document_, body_.frame(), voice_->asked,
                                    core_.options_.model, prompt_, asked_);
    log_.stream = asked_.stream;
    log_.prompt_tokens = prompt_.tokens();
    log_.asked_tokens = asked_.output_tokens;
    if (refusal) {
        refuse(*refusal, now);
    } else if (fault_ == Fault::http_429) {
        refuse({429, "RateLimitError", "Rate limit reached (fault 429)."}, now,
               "retry-after: 1\r\n");
    } else if (fault_ == Fault::http_500) {
        refuse({500, "InternalServerError", "Internal server error (fault 500)."}, now);
    } else {
        open_answer(now);
    }
}

/// An answer at once instead of tokens.
void MockConnection::refuse(const Refusal& refusal, Instant now, std::string_view extra_fields) {
    append_refusal(ready_, reply(), refusal, voice_ != nullptr ? voice_->refusal : nullptr,
                   extra_fields);
    if (route_ == Route::generate) {
        log_.status = refusal.status;
        end_answer(now, Ending::complete);
    }
}

bool MockConnection::last_on_connection() const {
    const std::uint32_t limit = core_.options_.keep_alive_requests;
    return !parser_.keep_alive() || (limit != 0 && answered_ + 1 >= limit);
}

/// From here on the peer may let the connection stand for as long as the limit says.
void MockConnection::now_idle(Instant now) {
    const Duration limit = core_.options_.keep_alive_timeout;
    idle_ends_ = limit.ns == 0 ? never : now + limit;
}

bool MockConnection::idle_for_too_long(Instant now) const {
    return phase_ == Phase::reading && parser_.idle() && now >= idle_ends_;
}

Reply MockConnection::reply() const {
    const CoreOptions& options = core_.options_;
    Reply reply{.request_id = log_.request_id, .close = last_on_connection(), .pod = options.pod};
    if (options.announce_keep_alive) {
        reply.timeout_s = static_cast<std::uint32_t>(options.keep_alive_timeout.ns / seconds(1).ns);
        reply.answers_max = options.keep_alive_requests;
    }
    return reply;
}

}  // namespace driftless::mock
