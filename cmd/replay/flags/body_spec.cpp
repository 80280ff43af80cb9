#include "cmd/replay/flags/body_spec.hpp"

namespace driftless {

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

}  // namespace driftless
