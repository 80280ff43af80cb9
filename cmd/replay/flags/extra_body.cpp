#include "cmd/replay/flags/extra_body.hpp"

#include <utility>

#include "cmd/replay/flags/body_spec.hpp"
#include "cmd/replay/flags/row_headers.hpp"
#include "proto/api/body.hpp"

namespace driftless {

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
