#include "cmd/replay/flags/body_spec.hpp"

namespace driftless {

BodySpec body_spec(const ReplayOptions& options) {
    BodySpec spec;
    spec.model = options.request.model;
    spec.prompt = options.request.prompt;
    spec.output = options.request.output;
    spec.ignore_eos =
        options.request.output == OutputRule::exact && options.request.dialect->has_ignore_eos;
    spec.continuous_usage = options.request.continuous_usage;
    spec.stream = options.request.stream;
    spec.length_member = options.request.length_member;
    spec.extra_body = options.request.extra_body;
    return spec;
}

}  // namespace driftless
