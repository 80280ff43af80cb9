// Whatever a server answers to the preflight's questions is read without harm; a template's text is
// JSON text again.

#include "engine/server/findings.hpp"
#include "engine/server/tokenize.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void fuzz_preflight(std::string_view bytes) {
    Reply reply;
    reply.status = 200;
    reply.body.assign(bytes);
    JsonDocument document;
    const std::vector<std::int64_t> tokens = read_tokens(document, reply.body);
    const AroundWords around = compare_words(tokens, tokens);
    CHECK(around.overhead.pre == tokens.size() && around.first_cost == 0);
    const std::string escaped = read_templated(document, reply.body);
    const std::string body = tokenize_body(TokenizeForm::templated, "m", escaped);
    CHECK(document.parse(body));
    (void)read_context(reply.body);
    reply.head =
        "HTTP/1.1 200 OK\r\nx-prompt-tokens: " + reply.body.substr(0, reply.body.find('\n')) +
        "\r\n\r\n";
    constexpr std::int64_t parts_max = 3;  // that a prompt is counted in
    for (auto api = std::uint8_t{0}; api < static_cast<std::uint8_t>(Api::user_template); ++api) {
        const bool stream = bytes.size() % 2 == 0;
        const Probe probe = read_probe(dialect_of(Api{api}), stream, reply);
        CHECK(probe.status == 200);
        CHECK(probe.prompt_tokens >= -1 && probe.prompt_tokens <= parts_max * tokens_reported_max);
    }
    reply.status = 503;
    CHECK(!read_probe(dialect_of(Api::openai_chat), true, reply).ok);
}

const FuzzTargets preflight_target = {{"preflight", fuzz_preflight}};

}  // namespace
}  // namespace driftless
