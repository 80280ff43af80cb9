#include "cmd/report/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/report/record_pass.hpp"
#include "cmd/screen/lines.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

std::string digest_text(std::optional<std::uint64_t> digest) {
    return digest ? fmt::format("{:016x}", *digest) : "unknown";
}

std::uint64_t digest_of(const WorkCertificate& certificate) {
    Digest digest;
    for (const std::uint64_t part :
         {certificate.trace_digest, certificate.schedule_digest,
          certificate.prompts_digest.value_or(0),
          std::uint64_t{certificate.prompts_digest ? 1U : 0U}, certificate.selected,
          certificate.sent, certificate.dropped, certificate.clamped}) {
        digest.add_u64(part);
    }
    return digest.value();
}

std::optional<double> share_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::nullopt
                      : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

std::string share_text(const std::optional<double>& share) {
    return share ? fmt::format("{:.2f} %", 100 * *share) : "unknown";
}

std::uint64_t rules_in(const ReportedRun& run, RuleState state) {
    return static_cast<std::uint64_t>(
        std::count_if(run.info.rules.begin(), run.info.rules.end(),
                      [state](const RuleFinding& one) { return one.state == state; }));
}

void add_first_turn(const Record& record, WorkCertificate& out) {
    const bool first = !record.session || record.turn.value_or(1) == 1;
    if (record.phase != Phase::profile || !first || !record.fired_ns) {
        return;
    }
    ++out.first_turns;
    if (record.cached_tokens) {
        const auto count = [](std::int64_t tokens) {
            return static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0));
        };
        out.first_turn_cached += count(*record.cached_tokens);
        out.first_turn_prompt +=
            count(record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)}));
        out.first_turn_expected += count(record.expected_cached_tokens.value_or(0));
        out.first_turns_unforetold += record.expected_cached_tokens ? 0 : 1;
    }
}

}  // namespace

std::string read_certificate(const ReportedRun& run, WorkCertificate& out) {
    const SummaryFigures& f = run.figures;
    out.trace_digest = run.facts.trace_digest;
    out.schedule_digest = run.facts.schedule_digest;
    out.prompts_digest = run.facts.prompts_digest;
    out.selected = run.facts.rows;
    out.sent = f.fired;
    out.dropped = f.dropped;
    out.clamped = run.info.clamped_rows;
    out.unsent = f.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    HitLoss loss;
    std::uint64_t prompts = 0;
    std::uint64_t expected = 0;
    std::uint64_t reported = 0;
    const std::string why = each_record(run, [&](const Record& record) {
        loss.add(record);
        add_first_turn(record, out);
        if (record.phase == Phase::profile && record.fired_ns && record.expected_cached_tokens) {
            const std::int64_t prompt =
                record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)});
            prompts += static_cast<std::uint64_t>(std::max<std::int64_t>(prompt, 0));
            expected += static_cast<std::uint64_t>(*record.expected_cached_tokens);
        }
        if (record.phase == Phase::profile && record.cached_tokens && record.prompt_tokens) {
            reported += static_cast<std::uint64_t>(*record.prompt_tokens);
        }
    });
    out.ceiling = f.shard_role.forecast_apart ? std::nullopt : share_of(expected, prompts);
    out.observed = f.cache_rows_reported == 0 ? std::nullopt : share_of(f.cached_tokens, reported);
    out.loss = loss.tokens();
    out.digest = digest_of(out);
    return why;
}

std::string certificate_screen(const ReportedRun& run, const WorkCertificate& certificate) {
    Lines lines;
    lines.blank();
    lines.add("Certificate", digest_text(certificate.digest) +
                                 ": runs with the same certificate played the same work");
    lines.add(
        "", fmt::format("trace {}, schedule {}, prompts {}", digest_text(certificate.trace_digest),
                        digest_text(certificate.schedule_digest),
                        digest_text(certificate.prompts_digest)));
    lines.add("", fmt::format("{} rows selected, {} sent, {} dropped after a failure, {} clamped "
                              "to one word, {} not sent",
                              certificate.selected, certificate.sent, certificate.dropped,
                              certificate.clamped, certificate.unsent));
    if (!run.info.rules.empty()) {
        lines.add(
            "", fmt::format("rules: {} met, {} violated, {} unknown", rules_in(run, RuleState::met),
                            rules_in(run, RuleState::violated), rules_in(run, RuleState::unknown)));
    }
    lines.add("Hit rate", fmt::format("ceiling {}, observed {}", share_text(certificate.ceiling),
                                      share_text(certificate.observed)));
    lines.add("First turns",
              fmt::format("{} sent; hits {} of their prompts, {} expected", certificate.first_turns,
                          share_text(share_of(certificate.first_turn_cached,
                                              certificate.first_turn_prompt)),
                          share_text(certificate.first_turns_unforetold > 0
                                         ? std::nullopt
                                         : share_of(certificate.first_turn_expected,
                                                    certificate.first_turn_prompt))));
    lines.add("Hits lost", hit_loss_text(certificate.loss));
    return lines.take();
}

void write_certificate(JsonWriter& json, const ReportedRun& run,
                       const WorkCertificate& certificate) {
    const auto digest = [&json](const char* key, std::optional<std::uint64_t> value) {
        json.key(key);
        value ? json.string(digest_text(value)) : json.null();
    };
    const auto count = [&json](const char* key, std::uint64_t value) {
        json.key(key).unsigned_integer(value);
    };
    const auto share = [&json](const char* key, const std::optional<double>& value) {
        json.key(key);
        value ? json.number(*value) : json.null();
    };
    json.begin_object();
    digest("digest", certificate.digest);
    digest("trace_digest", certificate.trace_digest);
    digest("schedule_digest", certificate.schedule_digest);
    digest("prompts_digest", certificate.prompts_digest);
    count("selected", certificate.selected);
    count("sent", certificate.sent);
    count("dropped", certificate.dropped);
    count("clamped", certificate.clamped);
    count("not_sent", certificate.unsent);
    count("rules_met", rules_in(run, RuleState::met));
    count("rules_violated", rules_in(run, RuleState::violated));
    count("rules_unknown", rules_in(run, RuleState::unknown));
    share("ceiling_hit_rate", certificate.ceiling);
    share("observed_hit_rate", certificate.observed);
    json.key("first_turns").begin_object();
    count("sent", certificate.first_turns);
    count("prompt_tokens", certificate.first_turn_prompt);
    count("cached_tokens", certificate.first_turn_cached);
    json.key("expected_cached_tokens");
    certificate.first_turns_unforetold == 0 ? json.unsigned_integer(certificate.first_turn_expected)
                                            : json.null();
    json.end_object();
    json.key("hits_lost").begin_object();
    count("rows", certificate.loss.rows);
    count("expected_tokens", certificate.loss.expected);
    count("tokens", certificate.loss.lost);
    count("gained_tokens", certificate.loss.gained);
    for (const HitLossCause& cause : hit_loss_causes) {
        count(cause.key, certificate.loss.*cause.tokens);
    }
    json.end_object();
    json.end_object();
}

}  // namespace driftless
