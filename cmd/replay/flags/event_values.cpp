#include "cmd/replay/flags/event_values.hpp"

#include <utility>

#include "cmd/secrets.hpp"
#include "cmd/values.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

Error invalid(const char* doing) {
    return {ErrorCode::invalid, 0, doing};
}

/// The first word of a text, which loses it.
std::string_view take_word(std::string_view& text) {
    const std::size_t end = text.find_first_of(" \t");
    const std::string_view word = text.substr(0, end);
    text = trim_blanks(end == text.npos ? std::string_view() : text.substr(end));
    return word;
}

}  // namespace

Result<TypedEvent> parse_event(std::string_view text) {
    std::string_view rest = trim_blanks(text);
    const std::string_view at = take_word(rest);
    const std::string_view verb = take_word(rest);
    if (!at.starts_with('+')) {
        return invalid(
            "is not an event; use \"+90s post URL\", \"+2m run COMMAND\" or "
            "\"+10m label TEXT\"");
    }
    const Result<std::int64_t> at_ns = parse_duration_ns(at.substr(1));
    if (!at_ns) {
        return Error{at_ns.error().code, 0,
                     "does not begin with a time after the start of the run; use +90s or +1.5m"};
    }
    TypedEvent event;
    event.at_ns = at_ns.value();
    event.what = rest;
    if (rest.empty()) {
        return invalid(
            "has no action; use \"+90s post URL\", \"+2m run COMMAND\" or \"+10m label TEXT\"");
    }
    if (verb == "run") {
        event.kind = TimedEventKind::run;
    } else if (verb == "label") {
        event.kind = TimedEventKind::label;
    } else if (verb == "post") {
        event.kind = TimedEventKind::post;
        Result<Url> url = parse_url(rest);
        if (!url) {
            return url.error();
        }
        event.url = std::move(url).value();
    } else {
        return invalid("has an unknown action; use post, run or label");
    }
    return event;
}

std::string read_events(const std::string& path, std::vector<TypedEvent>& out) {
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return "--events " + path + ": cannot be read: " + reason_of(text.error());
    }
    return parse_events("--events " + path, text.value(), out);
}

std::string parse_events(const std::string& where, std::string_view text,
                         std::vector<TypedEvent>& out) {
    std::string_view rest = text;
    for (std::size_t line = 1; !rest.empty(); ++line) {
        const std::size_t end = rest.find('\n');
        const std::string_view typed = trim(rest.substr(0, end), " \t\r");
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
        if (typed.empty() || typed.starts_with('#')) {
            continue;
        }
        Result<TypedEvent> event = parse_event(typed);
        if (!event) {
            return where + ":" + std::to_string(line) + ": \"" + mask_refused("--event", typed) +
                   "\" " + event.error().doing;
        }
        out.push_back(std::move(event).value());
    }
    return "";
}

}  // namespace driftless
