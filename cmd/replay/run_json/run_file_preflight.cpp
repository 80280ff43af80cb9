#include "cmd/replay/run_json/run_file_preflight.hpp"

#include "cmd/replay/run_json/json_strings.hpp"

namespace driftless {

void write_preflight(JsonWriter& json, const Server& server,
                     const std::vector<std::string>& warnings) {
    const PreflightFindings& found = server.findings;
    json.key("preflight");
    if (!server.preflight_done) {
        json.null();
        return;
    }
    const auto known = [](std::int64_t value) {
        return value < 0 ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{value};
    };
    json.begin_object();
    json.key("model").string(found.model);
    strings(json, "models", found.models);
    json.key("server").string(found.server);
    json.key("owned_by").string(found.owned_by);
    json.key("keep_alive_timeout_s").optional_integer(found.keep_alive.timeout_s);
    json.key("keep_alive_max").optional_integer(found.keep_alive.max);
    json.key("max_model_len").optional_integer(known(found.max_model_len));
    json.key("max_input_tokens").optional_integer(known(found.max_input_tokens));
    json.key("overhead_source").string(found.overhead_source);
    json.key("split_known").boolean(found.split_known);
    json.key("split_source").string(found.split_source);
    json.key("server_block").optional_integer(known(found.server_block));
    json.key("server_block_source");
    found.server_block_source.empty() ? json.null() : json.string(found.server_block_source);
    json.key("has_tokenize").boolean(found.tokenize.has_value());
    json.key("tokenize_form");
    found.tokenize ? json.string(name_of(*found.tokenize)) : json.null();
    json.key("has_usage").boolean(found.has_usage);
    json.key("has_cached_tokens").boolean(found.has_cached_tokens);
    json.key("has_token_ids").boolean(found.has_token_ids);
    json.key("has_end_mark");
    found.has_end_mark ? json.boolean(*found.has_end_mark) : json.null();
    json.key("ignore_eos").boolean(found.ignore_eos);
    json.key("stream_options").boolean(found.stream_options);
    json.key("length_asked").optional_integer(known(found.length_asked));
    json.key("length_made").optional_integer(known(found.length_made));
    json.key("stream_chunks").optional_integer(known(found.stream_chunks));
    json.key("stream_receives").optional_integer(known(found.stream_receives));
    json.key("headers_before_token").boolean(found.headers_before_token);
    json.key("words_asked").optional_integer(known(found.words_asked));
    json.key("words_counted")
        .optional_integer(found.words_asked < 0 ? std::optional<std::int64_t>{}
                                                : found.words_counted);
    json.key("words_exact").boolean(found.words == WordVerdict::exact);
    json.key("words_verdict").string(name_of(found.words));
    json.key("word_questions").unsigned_integer(found.word_questions);
    json.key("word_joins").unsigned_integer(found.joins);
    strings(json, "words_dropped", found.dropped_words);
    json.key("first_words_asked").unsigned_integer(found.first_words_asked);
    json.key("first_words").unsigned_integer(found.first_words.size());
    json.key("requests").unsigned_integer(found.requests);
    json.key("probe_ns").optional_integer(known(found.probe_ns));
    std::vector<std::string> notes = found.notes;
    notes.insert(notes.end(), warnings.begin(), warnings.end());
    strings(json, "notes", notes);
    json.end_object();
}

void write_cache_probe(JsonWriter& json, const CacheProbe& probe) {
    json.key("cache_probe").begin_object();
    json.key("state").string(name_of(probe.state));
    json.key("why");
    probe.why.empty() ? json.null() : json.string(probe.why);
    json.key("tokens").unsigned_integer(probe.tokens);
    json.key("cached_tokens").unsigned_integer(probe.cached_tokens);
    json.key("reset");
    probe.reset.empty() ? json.null() : json.string(probe.reset);
    json.end_object();
}

void write_verified(JsonWriter& json, const std::optional<VerifyFindings>& verified) {
    json.key("verified");
    if (!verified) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows").unsigned_integer(verified->rows);
    json.key("tokens").unsigned_integer(verified->tokens);
    json.key("pairs").unsigned_integer(verified->pairs);
    json.key("shared_tokens").unsigned_integer(verified->shared_tokens);
    json.key("shared_beyond").unsigned_integer(verified->shared_beyond);
    json.end_object();
}

}  // namespace driftless
