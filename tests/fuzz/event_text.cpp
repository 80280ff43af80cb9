// Any lines as --event texts and as a file of them: refused with what is wrong, or events that,
// typed anew, are the same; and whatever stands in the URL of one is masked where a password is.
#include "cmd/base/secrets.hpp"
#include "cmd/flags/replay_values.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

constexpr std::string_view key = "planted-Key-0123456789";

void check_same(const TypedEvent& event) {
    const Result<TypedEvent> again = parse_event("+" + duration_to_text(event.at_ns) + " " +
                                                 name_of(event.kind) + " " + event.what);
    CHECK(static_cast<bool>(again));
    CHECK(again.value().at_ns == event.at_ns && again.value().kind == event.kind);
    CHECK(again.value().what == event.what);
    CHECK(to_text(again.value().url) == to_text(event.url));
}

// The text with another URL, which has a secret. It is refused, and the message repeats it.
void check_masking(std::string_view text, const TypedEvent& event) {
    if (event.kind != TimedEventKind::post) {
        return;
    }
    const std::size_t url = text.rfind(event.what);
    CHECK(url != text.npos);
    const std::string before(text.substr(0, url));
    for (const char* const form : {"http://me:%s@host/v1", "http://host/v1?api_key=%s"}) {
        std::string typed = before + form;
        typed.replace(typed.rfind("%s"), 2, key);
        CHECK(!parse_event(typed));
        CHECK(mask_event(typed).find(key) == std::string::npos);
    }
}

void fuzz_event_text(std::string_view text) {
    const std::string_view first = text.substr(0, text.find('\n'));
    if (const Result<TypedEvent> event = parse_event(first); event) {
        CHECK(event.value().at_ns >= 0 && !event.value().what.empty());
        check_same(event.value());
        check_masking(first, event.value());
    } else {
        CHECK(!std::string_view(event.error().doing).empty());
    }
    std::vector<TypedEvent> events;
    const std::string why = parse_events("--events file", text, events);
    CHECK(why.empty() || why.starts_with("--events file:"));
    for (const TypedEvent& event : events) {
        check_same(event);
    }
}

const FuzzTargets event_text_target = {{"event_text", fuzz_event_text}};

}  // namespace
}  // namespace driftless
