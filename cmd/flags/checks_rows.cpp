#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/option_values.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr double ns_per_s = 1e9;

namespace {

/// One line of a shape.
struct Point {
    double seconds = 0;
    double rate = 0;
};

}  // namespace

/// What is wrong with the line; empty: nothing.
static std::string read_point(std::string_view line, const std::vector<Point>& before,
                              Point& point) {
    const std::size_t comma = line.find(',');
    const Result<std::int64_t> at = parse_duration_ns(trim_blanks(line.substr(0, comma)));
    const Result<double> rate = comma == line.npos
                                    ? Result<double>(invalid(""))
                                    : parse_rate_or_zero(trim_blanks(line.substr(comma + 1)));
    if (!at || !rate) {
        return "is not SECONDS,RATE; write lines such as 60,12.5";
    }
    point = {static_cast<double>(at.value()) / ns_per_s, rate.value()};
    if (before.empty() && at.value() != 0) {
        return "does not begin at second 0; give the rate at second 0 in the first line";
    }
    if (!before.empty() && point.seconds < before.back().seconds) {
        return "is earlier than the line before it; sort the lines by seconds";
    }
    if (before.size() == shape_lines_max) {
        return "is one line too many; use at most 100000 lines";
    }
    return "";
}

static std::string read_points(const std::string& where, std::string_view text,
                               std::vector<Point>& points) {
    TextLines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        if (points.empty() && line == "seconds,rate") {
            continue;
        }
        Point point;
        if (const std::string why = read_point(line, points, point); !why.empty()) {
            return where + ":" + std::to_string(lines.number) + ": \"" +
                   std::string(line.substr(0, 80)) + "\" " + why;
        }
        points.push_back(point);
    }
    return "";
}

static RateCurve curve_of(const TypedRamp& ramp) {
    RateCurve curve(ramp.to);
    const double length_s = static_cast<double>(ramp.length_ns) / ns_per_s;
    if (ramp.steps == 0) {
        curve.add(length_s, ramp.from, ramp.to, ramp.form);
        return curve;
    }
    for (std::uint32_t step = 0; step < ramp.steps; ++step) {
        const double rate = ramp.from + (ramp.to - ramp.from) * step / (ramp.steps - 1);
        curve.add(length_s / ramp.steps, rate, rate);
    }
    return curve;
}

/// The flag that says the rate, and whether there are two.
static std::string rate_flag(const RateFlags& flags, std::string& refusal) {
    const std::pair<bool, const char*> all[] = {
        {flags.rate.has_value(), "--rate"},
        {flags.ramp.has_value(), "--ramp"},
        {!flags.shape_file.empty(), "--shape"},
    };
    std::string found;
    for (const auto& [given, name] : all) {
        if (given && !found.empty()) {
            refusal = found + " and " + name + " both set the rate; remove one";
        }
        found = given && found.empty() ? name : found;
    }
    return found;
}

/// What goes on beside a rate, and cannot.
static std::string rate_contradiction(const WorkloadFlags& workload, const std::string& flag) {
    const RateFlags& rates = workload.rates;
    const bool draws = rates.arrivals.value_or(TypedArrivals()).law != ArrivalLaw::recorded;
    return first_that_holds({
        {workload.user_count.most > 0,
         flag +
             " sets when sessions begin, but with --users a session begins when another has ended; "
             "remove one; --sessions closed without --users follows the rate"},
        {rates.rate && rates.rate->infinite && rates.arrivals,
         "--rate inf sends all rows at time 0, so --arrivals has no gaps to draw; remove one"},
        {workload.files.sessions == Sessions::recorded && workload.speed_text != "1",
         "--speed changes recorded instants, but " + flag +
             " replaces them; remove --speed, or give another rate"},
        {workload.plan.spread && draws,
         "--spread changes recorded instants, but " + flag + " replaces them; remove one"},
    });
}

static std::string read_shape(const std::string& path, RateCurve& curve) {
    const std::string where = "--shape " + path;
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return where + ": cannot be read (" + reason_of(text.error()) +
               "); name a file of lines SECONDS,RATE";
    }
    return parse_shape(where, text.value(), curve);
}

std::string parse_shape(const std::string& where, std::string_view text, RateCurve& curve) {
    std::vector<Point> points;
    if (const std::string why = read_points(where, text, points); !why.empty()) {
        return why;
    }
    if (points.size() < 2) {
        return where + ": has " + (points.empty() ? "no line" : "one line") +
               "; a shape needs two or more lines SECONDS,RATE; for one constant rate use --rate R";
    }
    curve = RateCurve(points.front().rate);
    for (std::size_t i = 1; i < points.size(); ++i) {
        const double length_s = points[i].seconds - points[i - 1].seconds;
        if (length_s > 0) {
            curve.add(length_s, points[i - 1].rate, points[i].rate);
        }
    }
    curve.hold(points.back().rate);
    if (curve.is_zero()) {
        return where + ": its rate is always 0; give a rate above 0 in some line";
    }
    return "";
}

std::string complete_rates(WorkloadFlags& workload) {
    const RateFlags& flags = workload.rates;
    std::string refusal;
    const std::string flag = rate_flag(flags, refusal);
    if (!refusal.empty()) {
        return refusal;
    }
    if (flag.empty()) {
        return flags.arrivals ? "--arrivals draws the gaps of a rate; add --rate R" : "";
    }
    if (const std::string why = rate_contradiction(workload, flag); !why.empty()) {
        return why;
    }
    const TypedArrivals typed = flags.arrivals.value_or(TypedArrivals());
    ArrivalRules rules;
    rules.law = typed.law;
    rules.shape = typed.shape;
    rules.scaled = typed.scaled;
    rules.seed = workload.plan.seed;
    rules.by_trees = workload.files.sessions != Sessions::recorded;
    rules.duration_ns = workload.plan.duration_ns;
    if (flags.rate) {
        rules.all_at_once = flags.rate->infinite;
        rules.curve = RateCurve(flags.rate->per_second);
    } else if (flags.ramp && flags.ramp->over_rows) {
        rules.over_rows = RampOverRows{flags.ramp->from, flags.ramp->to, flags.ramp->form};
    } else if (flags.ramp) {
        rules.curve = curve_of(*flags.ramp);
    } else if (const std::string why = read_shape(flags.shape_file, rules.curve); !why.empty()) {
        return why;
    }
    workload.files.times_free = typed.law != ArrivalLaw::recorded || rules.all_at_once;
    workload.arrivals = std::move(rules);
    return "";
}

static std::string gap_contradiction(const WorkloadFlags& workload) {
    const bool waits = workload.files.sessions == Sessions::closed;
    return first_that_holds({
        {workload.gap == GapRule::none && workload.gap_cap_ns,
         "--gap none leaves no gaps for --gap-cap to shorten; remove one"},
        {!waits && (workload.gap || workload.gap_cap_ns),
         std::string(workload.gap ? "--gap" : "--gap-cap") +
             " applies to turns that wait for answers, but no row waits; add --sessions closed"},
    });
}

/// The first flag that shapes users, or of those about whole sessions; nullptr where none is given.
static const char* flag_of_users(const WorkloadFlags& workload, bool of_sessions) {
    struct UserFlag {
        bool is_given;
        bool is_of_sessions;
        const char* name;
    };
    const UserRules& users = workload.users;
    const std::array<UserFlag, 14> flags = {{
        {users.ramp_ns > 0, false, "--user-ramp"},
        {users.order != TreeRule::file, true, "--session-order"},
        {users.recycle, false, "--recycle"},
        {users.shares_system, true, "--recycle-share"},
        {users.tree_barrier, true, "--barrier"},
        {users.for_ns.has_value(), false, "--for"},
        {workload.on_failure.has_value(), false, "--on-failure"},
        {users.failures.waits_for_429, false, "--on-429 wait"},
        {users.idle.tree_ns.has_value(), true, "--tree-idle-cap"},
        {users.idle.system_ns.has_value(), true, "--system-idle-cap"},
        {workload.start_within.has_value(), true, "--start-within"},
        {users.start.by_turns, true, "--start-by"},
        {users.start.prime_one_token, true, "--prime"},
        {users.start.warmup_requests > 0, true, "--warmup-requests"},
    }};
    for (const UserFlag& flag : flags) {
        if (flag.is_given && (flag.is_of_sessions || !of_sessions)) {
            return flag.name;
        }
    }
    return nullptr;
}

/// What is sent before the measurement.
static std::string warm_up_contradiction(const WorkloadFlags& workload, OutputRule output) {
    const StartRules& start = workload.users.start;
    const bool has_requests = start.warmup_requests > 0;
    return first_that_holds({
        {!start.is_inside() && (start.by_turns || start.prime_one_token),
         std::string(start.by_turns ? "--start-by" : "--prime") +
             " applies to trees that begin inside their recordings; add --start-within A:B"},
        {start.warms_up() && workload.users.ramp_ns > 0,
         std::string(start.is_inside() ? "--start-within" : "--warmup-requests") +
             " starts the measurement for all users at once, but --user-ramp spreads the starts; "
             "remove one"},
        {(has_requests || start.prime_one_token) && output == OutputRule::free,
         std::string(has_requests ? "--warmup-requests" : "--prime one-token") +
             " asks for one token, but --output free asks for no length; remove one"},
    });
}

/// Users that are added while the run goes on.
static std::string complete_growth(WorkloadFlags& workload) {
    const UserCount& count = workload.user_count;
    const std::string typed =
        "--users " + std::to_string(count.first) + ".." + std::to_string(count.most);
    if (count.first == count.most) {
        return workload.grow
                   ? "--grow adds users; give the smallest and largest number, as in --users 2..64"
                   : "";
    }
    if (!workload.grow) {
        return typed + " is a range, which needs --grow METRIC:LIMIT; add it, or give one number";
    }
    workload.users.users_first = count.first;
    workload.grow->users_first = count.first;
    workload.grow->users_max = count.most;
    return "";
}

/// What is about sessions; nullptr where nothing of it is given.
static const char* flag_of_trees(const WorkloadFlags& workload) {
    return workload.user_count.most > 0                    ? "--users"
           : workload.grow                                 ? "--grow"
           : workload.files.sessions != Sessions::recorded ? "--sessions"
                                                           : flag_of_users(workload, true);
}

/// Single rows are kept open: there is no other time than that of their ends.
static std::string loop_contradiction(const WorkloadFlags& workload) {
    const char* const flag = flag_of_trees(workload);
    const RateFlags& rates = workload.rates;
    return first_that_holds({
        {flag != nullptr,
         std::string(flag != nullptr ? flag : "") +
             " applies to sessions, but --concurrency sends single rows; remove one, or keep N "
             "sessions live with --users N"},
        {workload.plan.duration_ns.has_value(),
         "--duration selects rows by known instants, but --concurrency sends a row when another "
         "has ended; use --for T instead"},
        {workload.plan.spread || workload.speed_text != "1",
         std::string(workload.plan.spread ? "--spread" : "--speed") +
             " changes recorded instants, but --concurrency sends a row when another has ended; "
             "remove one"},
        {rates.rate || rates.ramp || !rates.shape_file.empty() || rates.arrivals,
         "--concurrency sends a row when another has ended, not at a rate; remove one, or cap the "
         "rate with --max-inflight N"},
    });
}

/// Users play closed sessions; what shapes them is nothing without them.
static std::string complete_users(WorkloadFlags& workload, OutputRule output) {
    UserRules& users = workload.users;
    users.single_rows = workload.concurrency.has_value();
    users.users = workload.concurrency.value_or(workload.user_count.most);
    if (std::string why = users.single_rows ? loop_contradiction(workload) : ""; !why.empty()) {
        return why;
    }
    if (std::string why = complete_growth(workload); !why.empty()) {
        return why;
    }
    if (users.users == 0) {
        const char* const flag = flag_of_users(workload, false);
        return flag == nullptr
                   ? ""
                   : std::string(flag) + " applies to users; add --users N (or --concurrency N)";
    }
    std::string why = first_that_holds({
        {workload.files.sessions == Sessions::open,
         "--users replays closed sessions, but --sessions open does not wait for answers; remove "
         "one"},
        {users.recycle && !users.for_ns,
         "--recycle repeats the trace without end; add --for T to end the run"},
        {users.shares_system && !users.recycle,
         "--recycle-share applies to passes, but the trace is replayed only once; add --recycle"},
        {users.for_ns && users.ramp_ns >= *users.for_ns,
         "--user-ramp is not shorter than --for; shorten it"},
    });
    if (!why.empty()) {
        return why;
    }
    if (workload.on_failure) {
        users.failures.rule = workload.on_failure->rule;
        users.failures.retries_max = workload.on_failure->retries_max;
    }
    if (workload.start_within) {
        users.start.from = workload.start_within->from;
        users.start.to = workload.start_within->to;
    }
    users.start.gap_cap_ns = workload.gap == GapRule::none ? 0 : workload.gap_cap_ns;
    workload.files.sessions = users.single_rows ? Sessions::recorded : Sessions::closed;
    workload.files.times_free = users.single_rows;
    users.seed = workload.plan.seed;
    return warm_up_contradiction(workload, output);
}

std::string complete_sessions(WorkloadFlags& workload, OutputRule output) {
    if (workload.users.drain_ns && !workload.users.for_ns) {
        return "--drain is the time after the end of --for; add --for T";
    }
    const std::string why = complete_users(workload, output);
    return why.empty() ? gap_contradiction(workload) : why;
}

BodySpec body_spec(const RequestFlags& request) {
    BodySpec spec;
    spec.model = request.model;
    spec.prompt = request.prompt;
    spec.output = request.output;
    spec.ignore_eos = request.output == OutputRule::exact && request.dialect->has_ignore_eos;
    spec.continuous_usage = request.continuous_usage;
    spec.stream = request.stream;
    spec.length_member = request.length_member;
    spec.extra_body = request.extra_body;
    if (request.row_body) {  // what rows have in common
        spec.extra_body = request.row_body->fill(
            [](const FieldTemplate&) { return std::optional<std::string>(); });
    }
    return spec;
}

namespace {

struct FamilyHeader {
    const char* name;
    const char* value;
};

}  // namespace

/// What AIPerf sends for its AgentX scenario: one id for each playing of a session, under all names
/// that routers go by (ai-dynamo/aiperf, transports/base_transports.py). AIPerf draws the ids at
/// random; here they follow from the trace, so that they are the same in each run. Of a session
/// without a parent its last header is left out.
static constexpr std::array agentx_headers{
    FamilyHeader{"X-Correlation-ID", "{session}-{pass}"},
    FamilyHeader{"X-Session-ID", "{session}-{pass}"},
    FamilyHeader{"X-Session-Affinity", "{session}-{pass}"},
    FamilyHeader{"X-SMG-Routing-Key", "{session}-{pass}"},    // SGLang Model Gateway
    FamilyHeader{"X-Dynamo-Session-ID", "{session}-{pass}"},  // Dynamo
    FamilyHeader{"X-Dynamo-Parent-Session-ID", "{parent}-{pass}"},
};

static bool has_piece(const FieldTemplate& field, Placeholder placeholder) {
    return std::ranges::find(field.pieces, placeholder, &TemplatePiece::placeholder) !=
           field.pieces.end();
}

/// Why a template with an `unknown` placeholder is refused, in a flag of this text.
static std::string unknown_placeholder(const std::string& unknown, std::string_view text) {
    return "{" + unknown + (text.find(unknown + "}") == text.npos ? "" : "}") +
           " is not one of {row}, {session}, {tree}, {parent}, {turn}, {pass}, {user} and "
           "{kept.COLUMN}; for the text {NAME} write {{NAME}}";
}

/// Why a template cannot be filled in a run with these options, or the empty text.
static std::string unfilled(const FieldTemplate& field, const ReplayOptions& options) {
    if (has_piece(field, Placeholder::user) && options.workload.users.users == 0) {
        return "{user} is the user that sends a row, but there are no users; add --users N, or "
               "remove {user}";
    }
    if (has_piece(field, Placeholder::user) && options.workload.users.single_rows) {
        return "{user} is not known when a request is prepared, because with --concurrency any "
               "place can send it; remove {user}";
    }
    return unkept_column(field, options.workload.files.keep);
}

static std::string why_no_template(const FieldTemplate& field, const ReplayOptions& options) {
    const std::string flag = "--header " + field.name + ": ";
    const bool is_key = is_authorization(field.name) ||
                        equal_ignoring_case(field.name, options.request.dialect->key_header);
    if (is_key) {
        return flag + "a key is the same for all rows; remove its placeholder";
    }
    if (equal_ignoring_case(field.name, "Host") ||
        equal_ignoring_case(field.name, "Content-Type")) {
        return flag + "it is the same for all rows; remove its placeholder";
    }
    const std::string why = unfilled(field, options);
    return why.empty() ? "" : flag + why;
}

static void add_family(RequestFlags& request) {
    if (request.session_headers == SessionHeaders::none) {
        return;
    }
    std::vector<FieldTemplate> added;
    for (const FamilyHeader& header : agentx_headers) {
        if (!has_header(request, header.name)) {
            std::string unknown;
            added.push_back(parse_field_template({header.name, header.value}, unknown));
            CHECK(unknown.empty());
            added.back().flag = "--session-headers agentx";
        }
    }
    std::move(added.begin(), added.end(), std::back_inserter(request.row_headers));
}

bool has_header(const RequestFlags& request, std::string_view name) {
    const auto is_it = [name](const auto& field) { return equal_ignoring_case(field.name, name); };
    return std::any_of(request.headers.begin(), request.headers.end(), is_it) ||
           std::any_of(request.row_headers.begin(), request.row_headers.end(), is_it);
}

std::string complete_row_headers(ReplayOptions& options) {
    std::vector<Header> same;
    for (Header& header : options.request.headers) {
        std::string unknown;
        FieldTemplate field = parse_field_template(header, unknown);
        if (!unknown.empty()) {
            return "--header " + field.name + ": " + unknown_placeholder(unknown, header.value);
        }
        if (field.is_literal()) {
            same.push_back({field.name, field.literal()});
            continue;
        }
        if (std::string why = why_no_template(field, options); !why.empty()) {
            return why;
        }
        options.request.row_headers.push_back(std::move(field));
    }
    options.request.headers = std::move(same);
    add_family(options.request);
    return "";
}

std::string extra_body_contradiction(const RequestFlags& request) {
    BodySpec spec = body_spec(request);
    spec.model = "m";  // it may not be known yet
    const std::string why = refused_extra(*request.dialect, spec, request.extra_body);
    if (why.starts_with("\"stream\"")) {
        return "--extra-body: " + why +
               (request.stream ? ", and use --no-stream" : ", and --no-stream");
    }
    return why.empty() ? "" : "--extra-body: " + why;
}

std::string complete_extra_body(ReplayOptions& options) {
    RequestFlags& request = options.request;
    std::string unknown;
    BodyTemplate members = parse_body_template(request.extra_body, unknown);
    if (!unknown.empty()) {
        return "--extra-body: " + unknown_placeholder(unknown, request.extra_body);
    }
    for (const BodyTemplate::Hole& hole : members.holes) {
        if (const std::string why = unfilled(hole.value, options); !why.empty()) {
            return "--extra-body: " + why;
        }
    }
    if (!members.holes.empty()) {
        request.row_body = std::move(members);
    } else if (members.unescaped) {
        request.extra_body = members.end;
    }
    return "";
}

}  // namespace driftless
