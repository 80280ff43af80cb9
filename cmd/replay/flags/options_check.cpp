#include "cmd/replay/flags/options_check.hpp"

#include <algorithm>

#include "cmd/goodput_values.hpp"
#include "cmd/replay/flags/dual_flags.hpp"
#include "cmd/replay/flags/extra_body.hpp"
#include "cmd/replay/flags/host_flags.hpp"
#include "cmd/replay/flags/model_option.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/rate_flags.hpp"
#include "cmd/replay/flags/row_headers.hpp"
#include "cmd/replay/flags/session_flags.hpp"
#include "cmd/replay/flags/tls_flags.hpp"
#include "cmd/secrets.hpp"
#include "cmd/trace_values.hpp"
#include "proto/core/letter_case.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

namespace {

void add_target(const Url& url, const std::string& api_path, ReplayOptions& options) {
    ReplayTarget target;
    target.url = url;
    target.api_path = join_path(url.path, api_path);
    target.root_path = root_path(url.path, api_path);
    options.server.targets.push_back(std::move(target));
}

/// `--endpoint http://host:port/whole/path`: the URL of the API itself, as trace-replayer takes it.
std::string add_endpoint_url(const std::string& text, ReplayOptions& options) {
    const Result<Url> url = parse_url(text);
    if (!url) {
        return "--endpoint \"" + mask_refused("--endpoint", text) + "\" " + url.error().doing;
    }
    const std::string api_path = path_of(*options.request.dialect, options.request.stream);
    const std::string& path = url.value().path;
    const bool is_whole = !path.empty() && root_path(path, api_path) == path;
    add_target(url.value(), is_whole ? path : api_path, options);
    return "";
}

std::string complete_targets(const TypedServer& server, ReplayOptions& options) {
    const bool endpoint_is_url = looks_like_url(server.endpoint);
    const int ways =
        (server.urls.empty() ? 0 : 1) + (server.host.empty() ? 0 : 1) + (endpoint_is_url ? 1 : 0);
    if (ways > 1) {
        return "the server is given twice; remove all but --url";
    }
    if (endpoint_is_url) {
        return add_endpoint_url(server.endpoint, options);
    }
    std::string api_path = server.endpoint.empty()
                               ? path_of(*options.request.dialect, options.request.stream)
                               : server.endpoint;
    if (api_path.front() != '/') {
        api_path.insert(0, 1, '/');
    }
    if (!is_request_target(api_path)) {  // a blank or a line end would begin another field
        return "--endpoint has a blank or a control byte; percent-encode it";
    }
    for (const Url& url : server.urls) {
        add_target(url, api_path, options);
    }
    if (!server.host.empty()) {
        const bool literal = server.host.find(':') != std::string::npos;
        const std::string host = literal ? "[" + server.host + "]" : server.host;
        const Result<Url> url = parse_url(host + ":" + std::to_string(server.port));
        if (!url) {
            return "--host \"" + mask_refused("--host", server.host) + "\" " + url.error().doing;
        }
        add_target(url.value(), api_path, options);
    }
    if (server.against && options.server.targets.size() == 1) {  // else it is refused
        add_target(*server.against, api_path, options);
        options.server.dual = true;
    }
    for (const std::string& path : options.workload.files.paths) {
        if (looks_like_url(path)) {
            return mask_url(path) + " stands where a trace belongs; " +
                   (ways > 0 ? "a trace is a file: download it first" : "put --url before it");
        }
    }
    if (options.server.targets.empty() && !options.dry_run) {
        return "--url is missing; give the server, as in --url http://127.0.0.1:8000";
    }
    return "";
}

std::string complete_key(const std::string& typed, const std::string& from_environment,
                         RequestFlags& request) {
    const bool has_authorization =
        std::any_of(request.headers.begin(), request.headers.end(),
                    [](const Header& header) { return is_authorization(header.name); });
    if (has_authorization && !typed.empty()) {
        return "--api-key and --header Authorization cannot be combined; remove one";
    }
    const std::string& key = typed.empty() ? from_environment : typed;
    if (has_authorization || key.empty()) {
        return "";
    }
    const std::string field = request.dialect->key_header;
    Result<Header> header =
        parse_header(field.empty() ? "Authorization: Bearer " + key : field + ": " + key);
    if (!header) {
        return std::string(typed.empty() ? "OPENAI_API_KEY" : "--api-key") +
               " has a control byte; remove it";
    }
    request.headers.push_back(std::move(header).value());
    return "";
}

/// Headers of the API itself; what the user gave under the same name goes before them.
std::string complete_headers(ReplayOptions& options) {
    const FixedHeader& fixed = options.request.dialect->fixed_header;
    const std::pair<std::string, std::string> wanted[] = {
        {fixed.name, fixed.value},
        {"routing-strategy", options.request.routing_strategy},
        {"user", options.request.user},
    };
    for (const auto& [name, value] : wanted) {
        if (name.empty() || value.empty() || has_header(options.request, name)) {
            continue;
        }
        Result<Header> header = parse_header(name + ": " + value);
        if (!header) {
            return "the value of header " + name + " has a control byte; remove it";
        }
        options.request.headers.push_back(std::move(header).value());
    }
    return "";
}

/// Each name once, in whatever case; those of the dialect behind the user's.
std::string complete_record_headers(ReplayOptions& options) {
    std::vector<std::string>& names = options.request.record_headers;
    const auto is_named = [&names](std::size_t count, std::string_view name) {
        return std::any_of(
            names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count),
            [name](const std::string& other) { return equal_ignoring_case(other, name); });
    };
    if (names.size() > record_headers_max) {
        return "--record-header is given " + std::to_string(names.size()) +
               " times; give at most 8";
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (is_named(i, names[i])) {
            return "--record-header " + names[i] + " is given twice; remove one";
        }
    }
    for (const char* name : options.request.dialect->recorded_headers) {
        if (name[0] != '\0' && !is_named(names.size(), name)) {
            names.emplace_back(name);
        }
    }
    return "";
}

std::string complete_events(EventFlags& events) {
    const std::string why = events.file.empty() ? "" : read_events(events.file, events.typed);
    return why.empty() && events.typed.size() > events_max
               ? "--event: there are " + std::to_string(events.typed.size()) +
                     " of them: " + std::to_string(events_max) + " at most"
               : why;
}

std::string complete_speed(ReplayOptions& options) {
    const Result<Speed> speed = parse_speed(options.workload.speed_text);
    if (!speed) {
        return "--speed \"" + options.workload.speed_text +
               "\" is not a speed; use a positive decimal, where 2 is twice as fast";
    }
    options.workload.plan.speed = speed.value();
    options.workload.files.output_free = options.request.output == OutputRule::free;
    options.workload.load.seed = options.workload.plan.seed;
    return "";
}

std::string dataset_contradiction(const ReplayOptions& options) {
    if (options.prompts.dataset.empty()) {
        return options.prompts.dataset_column.empty()
                   ? ""
                   : "--dataset-column needs --dataset; give both";
    }
    if (options.prompts.tokenizer.empty()) {
        return "--dataset needs the model's --tokenizer, to cut text to exact numbers of tokens; "
               "give both";
    }
    if (options.request.prompt == PromptKind::ids) {
        return "--dataset gives text, but --prompt ids sends no text; remove one";
    }
    if (options.workload.load.share != Sharing::none) {
        return "--share builds prompts from shared words, --dataset gives each row its own text; "
               "remove one";
    }
    return "";
}

std::string compressed_records(const ReplayOptions& options) {
    for (const char* ending : {".gz", ".bz2", ".xz", ".zst"}) {
        if (options.results.records_path.ends_with(ending)) {
            return "--output-path " + options.results.records_path +
                   ": records are written uncompressed, so that a killed run keeps them; name the "
                   "file without " +
                   ending + ", and compress it afterwards";
        }
    }
    return "";
}

/// Figures that count good requests.
std::string goodput_contradiction(const ReplayOptions& options) {
    const std::string why = goodput_refusal(options.results.goodput, options.workload.files.keep);
    if (!why.empty()) {
        return why;
    }
    return options.results.goodput.empty() ? limits_missing(options.results.fail_if) : "";
}

std::string growth_contradiction(const ReplayOptions& options) {
    if (options.rules.required && options.rules.typed.empty()) {
        return "--require-rules needs rules to hold; add --rules NAME, or remove it";
    }
    if (!options.results.stop_when.empty() && options.results.period_ns == 0) {
        return "--stop-when needs periods, but --period none disables them; remove one";
    }
    if (options.workload.grow && options.results.period_ns == 0) {
        return "--grow needs periods, but --period none disables them; remove one";
    }
    if (options.workload.grow && !options.request.stream) {
        return "--grow needs first tokens, but --no-stream has none; remove one";
    }
    return "";
}

/// Flags of what stands in requests, and of what is counted and named in the results.
std::string request_contradiction(const ReplayOptions& options) {
    if (!options.request.length_member.empty() && !options.request.dialect->has_two_length_names) {
        return std::string("--length-field cannot be used with --api ") +
               options.request.dialect->name + ", which has only one name for it; remove it";
    }
    if (options.request.traceparent && has_header(options.request, "traceparent")) {
        return "--traceparent and --header traceparent cannot be combined; remove one";
    }
    if (!options.request.stream && options.request.continuous_usage) {
        return "--continuous-usage counts chunks, but --no-stream has none; remove one";
    }
    if (std::string why = repeated_label(options.results.labels); !why.empty()) {
        return why;
    }
    return goodput_contradiction(options);
}

std::string contradiction(const ReplayOptions& options) {
    if (options.workload.files.paths.empty()) {
        return "no trace is given; name a file, a directory or -";
    }
    if (options.request.prompt == PromptKind::ids && !options.request.dialect->takes_ids) {
        return std::string("--prompt ids cannot be used with --api ") +
               options.request.dialect->name + "; use --api openai-completions";
    }
    if (const std::string why = flat_agents_refusal(options.workload.files.flat_agents,
                                                    options.workload.files.sessions);
        !why.empty()) {
        return why;
    }
    if (const std::string why = dataset_contradiction(options); !why.empty()) {
        return why;
    }
    if (const std::string why = compressed_records(options); !why.empty()) {
        return why;
    }
    if (const std::string why = extra_body_contradiction(options.request); !why.empty()) {
        return why;
    }
    if (!options.server.preflight && options.request.model.empty() && !options.dry_run &&
        options.request.dialect->names_model) {
        return "--no-preflight requires --model; name the model";
    }
    if (options.server.verify_prompts > 0 && (!options.server.preflight || options.dry_run)) {
        return std::string("--verify-prompts asks the server, but ") +
               (options.dry_run ? "--dry-run" : "--no-preflight") + " forbids it; remove one";
    }
    if (options.server.reset_cache &&
        (!options.server.preflight || !options.server.warm_probe || options.dry_run)) {
        return std::string("--reset-cache is checked with probes, but ") +
               (options.dry_run            ? "--dry-run"
                : options.server.preflight ? "--no-warm-probe"
                                           : "--no-preflight") +
               " forbids them; remove one";
    }
    if (!options.request.dialect->has_routing_headers &&
        (!options.request.routing_strategy.empty() || !options.request.user.empty())) {
        return "--routing-strategy and --user are only for AIBrix; use --api aibrix, or --header";
    }
    if (!options.prompts.save_prompts.empty()) {
        const std::vector<SecretMember> secrets = secret_members(options.request.extra_body);
        if (!secrets.empty()) {
            return "--save-prompts writes whole bodies, and --extra-body has the key \"" +
                   secrets.front().name + "\"; give the key with --api-key or --header instead";
        }
    }
    if (const std::string why = request_contradiction(options); !why.empty()) {
        return why;
    }
    if (const std::string why = growth_contradiction(options); !why.empty()) {
        return why;
    }
    if (!options.server.preflight && options.server.wait_ready_ns) {
        return "--wait-ready probes the server, but --no-preflight forbids it; remove one";
    }
    if (const std::string why = host_contradiction(options); !why.empty()) {
        return why;
    }
    if (options.workload.plan.start_ns && options.workload.plan.end_ns &&
        *options.workload.plan.end_ns <= *options.workload.plan.start_ns) {
        return "--end must be later than --start";
    }
    return "";
}

}  // namespace

std::string complete(const TypedServer& server, const std::string& api_key_from_environment,
                     ReplayOptions& options) {
    std::string why = describe_api(options.request.dialect, options.request.template_file,
                                   options.request.described);
    if (why.empty()) {
        why = complete_events(options.events);
    }
    if (why.empty()) {
        why = complete_metrics(options.metrics);
    }
    if (why.empty()) {
        why = complete_sessions(options.workload, options.request.output);
    }
    if (why.empty()) {
        why = complete_rates(options.workload);
    }
    if (why.empty()) {
        why = contradiction(options);
    }
    if (why.empty()) {
        why = complete_speed(options);
    }
    if (why.empty()) {
        why = complete_targets(server, options);
    }
    if (why.empty()) {
        why = dual_contradiction(server, options);
    }
    if (why.empty()) {
        why = tls_contradiction(options);
    }
    if (why.empty() && options.sending.connection == ConnectionRule::sticky &&
        options.sending.balance == Balance::turn && options.server.targets.size() > 1) {
        why =
            "--connection sticky keeps a session on one connection, but --balance turn sends its "
            "rows to all URLs; use --balance session";
    }
    if (why.empty()) {
        why = complete_model(options);
    }
    if (why.empty()) {
        why = complete_row_headers(options);
    }
    if (why.empty()) {
        why = complete_extra_body(options);
    }
    if (why.empty()) {
        why = complete_key(server.api_key, api_key_from_environment, options.request);
    }
    if (why.empty()) {
        why = complete_headers(options);
    }
    if (why.empty()) {
        why = complete_record_headers(options);
    }
    return why;
}

}  // namespace driftless
