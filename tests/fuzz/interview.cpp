// A whole preflight with a server that says anything: it ends, either it knows enough or it says
// why not, and what it tells people holds neither a secret nor a byte that a terminal obeys.
// An input is the API, the kind of prompt, then one answer after the other, split at byte 0x1e.

#include "engine/server/preflight.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "tests/fuzz/shared/target.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {
namespace {

constexpr char next_answer = '\x1e';
constexpr const char* secret = "sk-fuzz-0123456789";
constexpr std::size_t names_max = 64 * 1024;  // what an input can list

std::vector<CannedAnswer> answers_of(std::string_view bytes) {
    std::vector<CannedAnswer> answers;
    for (std::size_t end = 0; end != bytes.npos;) {  // ends: each answer takes a byte
        end = bytes.find(next_answer);
        CannedAnswer& answer = answers.emplace_back();
        answer.wire = bytes.substr(0, end);
        answer.closes = true;
        bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    }
    return answers;
}

PreflightPlan plan_of(std::uint8_t api, PromptKind kind, const WordTable& words) {
    PreflightPlan plan;
    plan.server.host = "simulated";
    plan.server.secrets = {secret};
    plan.server.run_id = "sim";
    plan.dialect = &dialect_of(Api{api});
    plan.api_path = plan.dialect->default_path;
    plan.body.prompt = kind;
    plan.words = &words;
    return plan;
}

void check_words(const std::string& text) {
    CHECK(printable(text) == text);
    CHECK(text.find(secret) == text.npos);
}

void interview(const PreflightPlan& plan, const Script& script) {
    SimDriver driver(1, Weather{}, mock::CoreOptions{}, script);
    Loop loop(driver, 8);
    Preflight preflight(loop, plan);
    const bool ok = preflight.run();
    CHECK(ok == preflight.failure().text.empty());
    check_words(preflight.failure().text);
    const PreflightFindings& found = preflight.findings();
    check_words(found.model);
    check_words(found.server);
    check_words(found.owned_by);
    for (const std::vector<std::string>& reported : {found.models, found.notes}) {
        CHECK(reported.size() <= names_max);
        for (const std::string& text : reported) {
            check_words(text);
        }
    }
    CHECK(driver.in_flight() == 0 && driver.sockets_open() == 0);
}

void fuzz_interview(std::string_view bytes) {
    if (bytes.size() < 2) {
        return;
    }
    static const WordTable ids = WordTable::token_ids(1000);
    const auto first = static_cast<std::uint8_t>(bytes[0]);
    const auto kind = bytes[1] % 2 == 0 ? PromptKind::text : PromptKind::ids;
    const auto api =
        static_cast<std::uint8_t>(first % static_cast<std::uint8_t>(Api::user_template));
    const std::vector<CannedAnswer> answers = answers_of(bytes.substr(2));
    const Script script{.answers = &answers, .share = 1, .in_turn = true};
    interview(plan_of(api, kind, kind == PromptKind::ids ? ids : WordTable::built_in()), script);
}

const FuzzTargets interview_target = {{"interview", fuzz_interview}};

}  // namespace
}  // namespace driftless::sim
