#include "cmd/replay/flags/row_headers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cmd/replay/flags/choose.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/secrets.hpp"
#include "proto/core/check.hpp"
#include "proto/core/letter_case.hpp"

namespace driftless {

namespace {

struct FamilyHeader {
    const char* name;
    const char* value;
};

/// What AIPerf sends for its AgentX scenario: one id for each playing of a session, under all names
/// that routers go by (ai-dynamo/aiperf, transports/base_transports.py). AIPerf draws the ids at
/// random; here they follow from the trace, so that they are the same in each run. Of a session
/// without a parent its last header is left out.
constexpr std::array agentx_headers{
    FamilyHeader{"X-Correlation-ID", "{session}-{pass}"},
    FamilyHeader{"X-Session-ID", "{session}-{pass}"},
    FamilyHeader{"X-Session-Affinity", "{session}-{pass}"},
    FamilyHeader{"X-SMG-Routing-Key", "{session}-{pass}"},    // SGLang Model Gateway
    FamilyHeader{"X-Dynamo-Session-ID", "{session}-{pass}"},  // Dynamo
    FamilyHeader{"X-Dynamo-Parent-Session-ID", "{parent}-{pass}"},
};

bool has_piece(const FieldTemplate& field, Placeholder placeholder) {
    return std::any_of(
        field.pieces.begin(), field.pieces.end(),
        [placeholder](const TemplatePiece& piece) { return piece.placeholder == placeholder; });
}

std::string why_no_template(const FieldTemplate& field, const ReplayOptions& options) {
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

void add_family(RequestFlags& request) {
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

}  // namespace

std::string unknown_placeholder(const std::string& unknown, std::string_view text) {
    return "{" + unknown + (text.find(unknown + "}") == text.npos ? "" : "}") +
           " is not one of {row}, {session}, {tree}, {parent}, {turn}, {pass}, {user} and "
           "{kept.COLUMN}; for the text {NAME} write {{NAME}}";
}

std::string unfilled(const FieldTemplate& field, const ReplayOptions& options) {
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

Result<SessionHeaders> parse_session_headers(std::string_view text) {
    constexpr std::array choices{Choice<SessionHeaders>{"none", SessionHeaders::none},
                                 Choice<SessionHeaders>{"agentx", SessionHeaders::agentx}};
    return choose(text, choices, "is not one of none, agentx");
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

}  // namespace driftless
