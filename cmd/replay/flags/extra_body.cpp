#include "cmd/replay/flags/extra_body.hpp"

#include "cmd/replay/flags/body_spec.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

std::string extra_body_contradiction(const RequestFlags& request) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(request.extra_body);
    if (request.extra_body.empty() || !extra) {
        return "";
    }
    BodySpec spec = body_spec(request);
    spec.model = "m";  // it may not be known yet
    // One by one, so that the one at fault has a name.
    for (JsonValue member = extra.value().first(); member.present(); member = member.next()) {
        if (member.key() == "stream" && member.as_bool() != request.stream) {
            return std::string("--extra-body: \"stream\" decides how answers are read; remove it") +
                   (request.stream ? ", and use --no-stream" : ", and --no-stream");
        }
        spec.extra_body.clear();
        JsonWriter json(spec.extra_body);
        json.begin_object().key(member.key()).raw(member.raw());
        json.end_object();
        const Result<BodyFrame> frame = request.dialect->frame(spec);
        if (!frame) {
            return "--extra-body: \"" + std::string(member.key()) + "\" " + frame.error().doing;
        }
    }
    return "";
}

}  // namespace driftless
