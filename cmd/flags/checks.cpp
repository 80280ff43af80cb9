#include "cmd/flags/checks.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/summary_values.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"
#include "proto/run/client_sample.hpp"

namespace driftless {

static void add_target(const Url& url, const std::string& api_path, ReplayOptions& options) {
    ReplayTarget target;
    target.url = url;
    target.api_path = join_path(url.path, api_path);
    target.root_path = root_path(url.path, api_path);
    options.server.targets.push_back(std::move(target));
}

/// `--endpoint http://host:port/whole/path`: the URL of the API itself, as trace-replayer takes it.
static std::string add_endpoint_url(const std::string& text, ReplayOptions& options) {
    const Result<Url> url = parse_url(text);
    if (!url) {
        return "--endpoint \"" + mask_refused(mask_url, text) + "\" " + url.error().doing;
    }
    const std::string api_path = path_of(*options.request.dialect, options.request.stream);
    const std::string& path = url.value().path;
    const bool is_whole = !path.empty() && root_path(path, api_path) == path;
    add_target(url.value(), is_whole ? path : api_path, options);
    return "";
}

static std::string complete_targets(const TypedServer& server, ReplayOptions& options) {
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
        const std::size_t colon = server.host.find(':');
        const bool literal = colon != server.host.npos;
        if (literal && server.host.find_first_not_of("0123456789", colon + 1) == server.host.npos) {
            return "--host has a port; use --host " +
                   mask_refused(mask_url, server.host.substr(0, colon)) + " --port " +
                   server.host.substr(colon + 1);
        }
        const std::string host = literal ? "[" + server.host + "]" : server.host;
        const Result<Url> url = parse_url(host + ":" + std::to_string(server.port));
        if (!url) {
            return "--host \"" + mask_refused(mask_url, server.host) + "\" " + url.error().doing;
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

static std::string complete_key(const std::string& typed, const std::string& from_environment,
                                RequestFlags& request) {
    const bool has_authorization =
        std::ranges::any_of(request.headers, is_authorization, &Header::name);
    if (has_authorization && !typed.empty()) {
        return "--api-key and --header Authorization cannot be combined; remove one";
    }
    const std::string& key = typed.empty() ? from_environment : typed;
    if (has_authorization || key.empty()) {
        return "";
    }
    request.key_of_environment = typed.empty();
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
static std::string complete_headers(ReplayOptions& options) {
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
static std::string complete_record_headers(ReplayOptions& options) {
    std::vector<std::string>& names = options.request.record_headers;
    const auto is_named = [&names](std::size_t count, std::string_view name) {
        return std::ranges::any_of(std::span(names).first(count), [name](const auto& other) {
            return equal_ignoring_case(other, name);
        });
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

static std::string complete_events(EventFlags& events) {
    const std::string why = events.file.empty() ? "" : read_events(events.file, events.typed);
    return why.empty() && events.typed.size() > events_max
               ? "--event: there are " + std::to_string(events.typed.size()) +
                     " of them: " + std::to_string(events_max) + " at most"
               : why;
}

static std::string dataset_contradiction(const ReplayOptions& options) {
    const PromptFlags& prompts = options.prompts;
    const bool given = !prompts.dataset.empty();
    return first_that_holds({
        {!given && !prompts.dataset_column.empty(), "--dataset-column needs --dataset; give both"},
        {given && prompts.tokenizer.empty(),
         "--dataset needs the model's --tokenizer, to cut text to exact numbers of tokens; give "
         "both"},
        {given && options.request.prompt == PromptKind::ids,
         "--dataset gives text, but --prompt ids sends no text; remove one"},
        {given && options.workload.load.share != Sharing::none,
         "--share builds prompts from shared words, --dataset gives each row its own text; remove "
         "one"},
    });
}

static std::string compressed_records(const ReplayOptions& options) {
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
static std::string goodput_contradiction(const ReplayOptions& options) {
    const std::string why = group_refusal(options.results.goodput, options.results.fail_if,
                                          options.workload.files.keep);
    if (!why.empty()) {
        return why;
    }
    return options.results.goodput.empty() ? limits_missing(options.results.fail_if) : "";
}

/// What asks for a figure, or has limits, that no answer of the run will have a time for.
static std::string unmeasured_refusal(const ReplayOptions& options) {
    std::string what;
    const auto look = [&what](const std::string& flag, bool is_of_stream) {
        what = what.empty() && is_of_stream ? flag : what;
    };
    look("--grow", options.workload.grow && options.workload.grow->metric != GrowMetric::e2e);
    for (const Threshold& one : options.results.fail_if) {
        look("--fail-if \"" + one.text + "\"", one.figure->is_of_stream);
    }
    for (const StopRule& one : options.results.stop_when) {
        look("--stop-when \"" + one.text + "\"", one.threshold.figure->is_of_stream);
    }
    for (const GoodputRule& one : options.results.goodput) {
        look("--goodput", one.limits.needs_first_token());
    }
    return what.empty() || options.request.stream
               ? ""
               : what + " needs first tokens, but --no-stream has none; remove one";
}

static std::string growth_contradiction(const ReplayOptions& options) {
    const bool has_periods = options.results.period_ns > 0;
    const bool grows = options.workload.grow.has_value();
    return first_that_holds({
        {options.rules.required && options.rules.typed.empty(),
         "--require-rules needs rules to hold; add --rules NAME, or remove it"},
        {!options.results.stop_when.empty() && !has_periods,
         "--stop-when needs periods, but --period none disables them; remove one"},
        {grows && !has_periods,
         "--grow needs periods, but --period none disables them; remove one"},
        {true, unmeasured_refusal(options)},
    });
}

/// Flags of what is in requests, and of what is counted and named in the results.
static std::string request_contradiction(const ReplayOptions& options) {
    const RequestFlags& request = options.request;
    return first_that_holds({
        {!request.length_member.empty() && !request.dialect->has_two_length_names,
         std::string("--length-field cannot be used with --api ") + request.dialect->name +
             ", which has only one name for it; remove it"},
        {request.traceparent && has_header(request, "traceparent"),
         "--traceparent and --header traceparent cannot be combined; remove one"},
        {!request.stream && request.continuous_usage,
         "--continuous-usage counts chunks, but --no-stream has none; remove one"},
        {true, repeated_label(options.results.labels)},
        {true, goodput_contradiction(options)},
    });
}

/// A body that is saved must hold no key.
static std::string saved_secret(const ReplayOptions& options) {
    if (options.prompts.save_prompts.empty()) {
        return "";
    }
    const std::vector<SecretMember> secrets = secret_members(options.request.extra_body);
    return secrets.empty()
               ? ""
               : "--save-prompts writes whole bodies, and --extra-body has the key \"" +
                     secrets.front().name + "\"; give the key with --api-key or --header instead";
}

/// Flags of probes, which are not sent.
static std::string probe_contradiction(const ReplayOptions& options) {
    const ServerFlags& server = options.server;
    const RequestFlags& request = options.request;
    const std::string forbids = options.dry_run ? "--dry-run" : "--no-preflight";
    const bool probes = server.preflight && !options.dry_run;
    return first_that_holds({
        {!server.preflight && request.model.empty() && !options.dry_run &&
             request.dialect->names_model,
         "--no-preflight requires --model; name the model"},
        {server.verify_prompts > 0 && !probes,
         "--verify-prompts asks the server, but " + forbids + " forbids it; remove one"},
        {server.reset_cache && !(probes && server.warm_probe),
         "--reset-cache is checked with probes, but " + (probes ? "--no-warm-probe" : forbids) +
             " forbids them; remove one"},
    });
}

/// Once the targets are known.
static std::string sticky_contradiction(const ReplayOptions& options) {
    const bool spreads =
        options.sending.balance == Balance::turn && options.server.targets.size() > 1;
    return options.sending.connection == ConnectionRule::sticky && spreads
               ? "--connection sticky keeps a session on one connection, but --balance turn sends "
                 "its rows to all URLs; use --balance session"
               : "";
}

static std::string contradiction(const ReplayOptions& options) {
    const WorkloadFlags& workload = options.workload;
    const RequestFlags& request = options.request;
    return first_that_holds({
        {workload.files.paths.empty(), "no trace is given; name a file, a directory or -"},
        {request.prompt == PromptKind::ids && !request.dialect->takes_ids,
         std::string("--prompt ids cannot be used with --api ") + request.dialect->name +
             "; use --api openai-completions"},
        {true, flat_agents_refusal(workload.files.flat_agents, workload.files.sessions)},
        {true, dataset_contradiction(options)},
        {true, compressed_records(options)},
        {true, extra_body_contradiction(request)},
        {true, probe_contradiction(options)},
        {!request.dialect->has_routing_headers &&
             (!request.routing_strategy.empty() || !request.user.empty()),
         "--routing-strategy and --user are only for AIBrix; use --api aibrix, or --header"},
        {true, saved_secret(options)},
        {true, request_contradiction(options)},
        {true, growth_contradiction(options)},
        {!options.server.preflight && options.server.wait_ready_ns.has_value(),
         "--wait-ready probes the server, but --no-preflight forbids it; remove one"},
        {true, host_contradiction(options)},
        {true, range_refusal(workload.plan)},
    });
}

/// A flag under which the answers of one server decide when rows leave; empty: there is none.
static std::string loop_flag(const ReplayOptions& options) {
    const WorkloadFlags& workload = options.workload;
    if (workload.concurrency || workload.users.single_rows) {
        return "--concurrency";
    }
    if (workload.users.users > 0) {
        return "--users";
    }
    if (workload.files.sessions == Sessions::closed) {
        return "--sessions closed";
    }
    if (options.request.assistant == Assistant::live) {
        return "--assistant live";
    }
    if (options.sending.budget_input) {
        return "--budget-input";
    }
    return options.sending.budget_output ? "--budget-output" : "";
}

static std::string other_contradiction(const ReplayOptions& options) {
    return first_that_holds({
        {options.server.connect_to.has_value(),
         "--connect-to would connect both servers to the same address; put the address into --url "
         "or --against instead"},
        {options.sending.connection == ConnectionRule::sticky,
         "--connection sticky gives each session one connection, but --against needs two; remove "
         "one of the flags"},
        {!options.prompts.save_prompts.empty(),
         "--save-prompts saves one body per row, but --against makes two; save them without "
         "--against"},
        {!options.request.against_model.empty() &&
             options.request.model.find('{') != std::string::npos,
         "--model with a column already names each row's model for both servers; remove "
         "--against-model"},
    });
}

static std::string dual_contradiction(const TypedServer& server, const ReplayOptions& options) {
    if (!server.against) {
        return options.request.against_model.empty() ? ""
                                                     : "--against-model needs --against; give both";
    }
    if (!options.server.dual) {
        return options.server.targets.empty()
                   ? "--against is the second server; give the first with --url"
                   : "--against sends each row to two servers, while several --url split the rows; "
                     "give only one --url";
    }
    if (const std::string flag = loop_flag(options); !flag.empty()) {
        return "--against sends each row to both servers at one instant, but with " + flag +
               " the answers of one server decide when rows are sent; remove one of the flags";
    }
    return other_contradiction(options);
}

/// Flags of TLS where nothing is asked over it. Pages of metrics and events may be.
static std::string tls_without_https(const ReplayOptions& options) {
    const TlsClientOptions& tls = options.server.tls;
    const bool any = std::ranges::any_of(options.server.targets, &Url::tls, &ReplayTarget::url);
    const char* const flag = !tls.ca_file.empty()     ? "--ca"
                             : !tls.verify            ? "--insecure"
                             : !tls.cert_file.empty() ? "--cert"
                                                      : nullptr;
    const bool asks_others =
        options.metrics.has(MetricsPlace::Kind::url) || !options.events.typed.empty();
    return flag == nullptr || any || asks_others || options.server.targets.empty()
               ? ""
               : std::string(flag) + " is for https, and no server is asked over it; remove " +
                     flag + ", or use https:// in --url";
}

static std::string tls_contradiction(const ReplayOptions& options) {
    const TlsClientOptions& tls = options.server.tls;
    return first_that_holds({
        {!tls.key_file.empty() && tls.cert_file.empty(),
         "--key needs --cert; give the client certificate as well"},
        {!tls.verify && !tls.ca_file.empty(), "--insecure and --ca cannot be combined; remove one"},
        {true, tls_without_https(options)},
    });
}

namespace {

/// A cap of this process that its engines share.
struct SharedCap {
    const char* flag;
    std::uint64_t value;  ///< 0: there is none
};

}  // namespace

static std::vector<SharedCap> shared_caps(const ReplayOptions& options) {
    const SendingFlags& sending = options.sending;
    const UserRules& users = options.workload.users;
    const ShardPlace& shard = options.shard.place;
    return {{"--max-inflight", sending.inflight_max.value_or(0)},
            {"--connections", sending.connections.value_or(0)},
            {users.single_rows ? "--concurrency" : "--users",
             part_of(users.users, shard.count, shard.index)},
            {"--budget-input", sending.budget_input ? sending.budget_input->rate.tokens : 0},
            {"--budget-output", sending.budget_output ? sending.budget_output->rate.tokens : 0}};
}

/// What contradicts `--engines`.
static std::string engines_refusal(const ReplayOptions& options) {
    const std::uint32_t engines = options.host.engines;
    if (engines <= 1) {
        return "";
    }
    const std::string typed = "--engines " + std::to_string(engines);
    if (const std::string flag = one_engine_flag(options); !flag.empty()) {
        return typed + " and " + flag +
               " cannot be combined, because no engine sees the whole run; remove one";
    }
    for (const SharedCap& cap : shared_caps(options)) {
        if (cap.value > 0 && cap.value < engines) {
            return std::string(cap.flag) + " " + std::to_string(cap.value) +
                   (options.shard.is_part() ? " (the part of this shard)" : "") + " is less than " +
                   typed + ", and each engine needs a part; use a lower --engines";
        }
    }
    return "";
}

/// The column is kept, so that its text is at hand when the models are named.
static std::string take_mapped_model(ReplayOptions& options) {
    const std::string column = take_model_column(options.workload.files.map);
    if (column.empty()) {
        return "";
    }
    if (!options.request.model.empty()) {
        return "--model " + options.request.model + " and --map model=" + column +
               " both name the model; remove one";
    }
    if (column.find_first_of("{}") != std::string::npos) {
        return "--map model=" + column +
               ": a column with braces in its name cannot be mapped; rename the column in the "
               "trace";
    }
    std::vector<std::string>& keep = options.workload.files.keep;
    if (std::find(keep.begin(), keep.end(), column) == keep.end()) {
        keep.push_back(column);
    }
    options.workload.files.model_column = column;
    options.request.model = "{kept." + column + "}";
    return "";
}

static std::string complete_model(ReplayOptions& options) {
    if (std::string why = take_mapped_model(options); !why.empty()) {
        return why;
    }
    std::string unknown;
    FieldTemplate model = parse_field_template({"--model", options.request.model}, unknown);
    const auto is_other = [](const TemplatePiece& piece) {
        return piece.placeholder != Placeholder::none && piece.placeholder != Placeholder::kept;
    };
    const auto other = std::find_if(model.pieces.begin(), model.pieces.end(), is_other);
    if (other != model.pieces.end()) {
        unknown = to_text(*other);
    }
    if (!unknown.empty()) {
        return "--model: {" + unknown + "} is not {kept.COLUMN}; {{" + unknown +
               "}} stands for that text itself";
    }
    if (model.is_literal()) {
        options.request.model = model.literal();
        return "";
    }
    if (const std::string why = unkept_column(model, options.workload.files.keep); !why.empty()) {
        return "--model: " + why;
    }
    if (!options.request.dialect->names_model || options.request.dialect->form != nullptr ||
        !names_model_first(*options.request.dialect)) {
        return std::string("--model with a column cannot be used with --api ") +
               options.request.dialect->name +
               ": its requests do not name a model; remove the column";
    }
    options.request.row_model = std::move(model);
    return "";
}

std::string first_that_holds(std::initializer_list<Check> checks) {
    const auto* const found = std::find_if(checks.begin(), checks.end(), [](const Check& check) {
        return check.holds && !check.why.empty();
    });
    return found == checks.end() ? "" : found->why;
}

std::string one_engine_flag(const ReplayOptions& options) {
    const UserRules& users = options.workload.users;
    if (options.request.assistant == Assistant::live) {
        return "--assistant live";
    }
    if (options.workload.grow) {
        return "--grow";
    }
    if (users.start.warms_up()) {
        return users.start.is_inside() ? "--start-within" : "--warmup-requests";
    }
    return users.idle.system_ns ? "--system-idle-cap" : "";
}

std::uint32_t engines_most(const ReplayOptions& options) {
    std::uint64_t most = engines_max;
    for (const SharedCap& cap : shared_caps(options)) {
        most = cap.value > 0 ? std::min(most, cap.value) : most;
    }
    return static_cast<std::uint32_t>(most);
}

std::string host_contradiction(const ReplayOptions& options) {
    const HostFlags& host = options.host;
    return first_that_holds({
        {options.calibration.require_certified && options.calibration.source == "none",
         "--require-certified and --calibration none cannot be combined; remove one"},
        {host.warm_sends && host.wait == WaitPolicy::sleep,
         "--warm-send needs an engine that spins; use --wait hybrid, not sleep"},
        {host.realtime && host.wait == WaitPolicy::spin,
         "--realtime with --wait spin loses 5 % of the time; use --wait hybrid"},
        {host.realtime && host.scheduling.has_value(),
         "--realtime and --scheduling cannot be combined; remove one"},
        {true, engines_refusal(options)},
    });
}

std::string complete(const TypedServer& server, const std::string& api_key_from_environment,
                     ReplayOptions& options) {
    std::string why;
    const auto is_well = [&why](std::string said) {
        why = std::move(said);
        return why.empty();
    };
    options.workload.files.output_free = options.request.output == OutputRule::free;
    options.workload.load.seed = options.workload.plan.seed;
    (void)(is_well(describe_api(options.request.dialect, options.request.template_file,
                                options.request.described)) &&
           is_well(complete_events(options.events)) && is_well(complete_metrics(options.metrics)) &&
           is_well(complete_sessions(options.workload, options.request.output)) &&
           is_well(complete_rates(options.workload)) && is_well(contradiction(options)) &&
           is_well(complete_speed(options.workload.speed_text, options.workload.plan)) &&
           is_well(complete_targets(server, options)) &&
           is_well(dual_contradiction(server, options)) && is_well(tls_contradiction(options)) &&
           is_well(sticky_contradiction(options)) && is_well(complete_model(options)) &&
           is_well(complete_row_headers(options)) && is_well(complete_extra_body(options)) &&
           is_well(complete_key(server.api_key, api_key_from_environment, options.request)) &&
           is_well(complete_headers(options)) && is_well(complete_record_headers(options)));
    return why;
}

}  // namespace driftless
