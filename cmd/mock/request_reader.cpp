#include "cmd/mock/request_reader.hpp"

#include "cmd/mock/core.hpp"

namespace driftless::mock {

RequestReader::Found RequestReader::feed(std::string_view& bytes) {
    for (;;) {  // every step consumes bytes or ends the request
        const RequestParser::Step step = parser_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        switch (step.piece) {
            case RequestPiece::need_more:
                return Found::part;
            case RequestPiece::head_done:
                take_head();
                return Found::head;
            case RequestPiece::body:
                body_refused_ = route_ != Route::other && !body_.feed(step.span);
                break;
            case RequestPiece::done:
                return Found::done;
            case RequestPiece::error:
                return Found::bad;
        }
    }
}

void RequestReader::take_head() {
    const std::string_view target = parser_.target();
    const std::string_view path = target.substr(0, target.find('?'));
    voice_ = nullptr;
    route_ = parser_.method() == "POST" ? find_route(path) : Route::other;
    history_.reset();
    const bool check = core_.options().check_history != 0 && route_ == Route::generate;
    body_.reset(prompt_, prompt_keys(), check ? &history_ : nullptr);
    prompt_.reset(core_.options().cache_block_tokens, template_now(), core_.texts(),
                  &core_.options().words);
    if (route_ == Route::tokenize) {
        prompt_.record_tokens();
    }
    body_refused_ = false;
}

/// Where a POST goes.
Route RequestReader::find_route(std::string_view path) {
    const TokenizeForm form = core_.options().tokenize;
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
TemplateTokens RequestReader::template_now() {
    const CoreOptions& options = core_.options();
    TemplateTokens around = options.overhead;
    around.pre += static_cast<std::uint32_t>(core_.count_request() %
                                             (std::uint64_t{options.overhead_varies} + 1));
    if (route_ == Route::tokenize && options.tokenize_overhead) {
        return *options.tokenize_overhead;
    }
    const bool bare = route_ == Route::tokenize && options.tokenize != TokenizeForm::vllm;
    return bare ? TemplateTokens{} : around;
}

/// Where the prompt stands in the bodies of this route.
PromptKeys RequestReader::prompt_keys() const {
    if (route_ == Route::generate) {
        return {voice_->asked.text, voice_->asked.ids, voice_->asked.messages};
    }
    if (route_ != Route::tokenize) {
        return {};
    }
    switch (core_.options().tokenize) {
        case TokenizeForm::llama_cpp:
            return {.text = "content"};
        case TokenizeForm::tgi:
            return {.text = "inputs"};
        default:
            return {"prompt", "prompt", true};
    }
}

std::optional<Refusal> RequestReader::read_completion() {
    return read_asked(core_.document(), body_.frame(), voice_->asked, core_.options().model,
                      prompt_, asked_);
}

std::optional<Refusal> RequestReader::read_tokenize() {
    return mock::read_tokenize(core_.document(), body_.frame(), core_.options().model,
                               core_.options().tokenize, prompt_);
}

std::optional<Refusal> RequestReader::read_template(std::string& escaped) {
    return mock::read_template(core_.document(), body_.frame(), core_.options().model,
                               core_.options().overhead, escaped);
}

}  // namespace driftless::mock
