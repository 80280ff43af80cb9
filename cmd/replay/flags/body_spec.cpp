#include "cmd/replay/flags/body_spec.hpp"

namespace driftless {

BodySpec body_spec(const ReplayOptions& options) {
    BodySpec spec;
    spec.model = options.model;
    spec.prompt = options.prompt;
    spec.output = options.output;
    spec.ignore_eos = options.output == OutputRule::exact && options.dialect->has_ignore_eos;
    spec.continuous_usage = options.continuous_usage;
    spec.stream = options.stream;
    spec.length_member = options.length_member;
    spec.extra_body = options.extra_body;
    return spec;
}

}  // namespace driftless
