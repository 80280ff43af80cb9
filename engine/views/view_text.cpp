#include "engine/views/view_text.hpp"

#include <algorithm>
#include <cstdio>

#include "proto/core/counted.hpp"

namespace driftless {

std::string fixed(double value, int decimals) {
    char text[400];  // a double of 309 digits, and decimals
    const int length = std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return std::string(text, static_cast<std::size_t>(std::max(length, 0)));
}

std::string with_commas(double value, int decimals) {
    std::string digits = fixed(value, decimals);
    const std::size_t begin = digits.front() == '-' ? 1 : 0;
    std::size_t at = std::min(digits.find('.'), digits.size());
    while (at > begin + 3) {  // bounded by the digits
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string pad_right(std::string_view text, std::size_t width) {
    std::string padded(text);
    padded.resize(std::max(width, text.size()), ' ');
    return padded;
}

std::string pad_left(std::string_view text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + std::string(text);
}

std::string centred(std::string_view text, std::size_t width, char filler) {
    const std::size_t room = width - std::min(width, text.size());
    return std::string(room / 2, filler) + std::string(text) + std::string(room - room / 2, filler);
}

void add_pair(std::string& screen, std::string_view label, std::string_view value) {
    screen += pad_right(label, 40) + " " + pad_right(value, 10) + "\n";
}

void add_pair(std::string& screen, std::string_view label, double value) {
    add_pair(screen, label, fixed(value, 2));
}

std::string ViewTable::text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i == 0) {
                line = pad_right(row[i], widths[i]);
            } else {
                line.append(2, ' ').append(pad_left(row[i], widths[i]));
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

JsonWriter& put_number(JsonWriter& json, std::string_view key, double value) {
    return json.key(key).number(value);
}
JsonWriter& put_integer(JsonWriter& json, std::string_view key, std::int64_t value) {
    return json.key(key).integer(value);
}
JsonWriter& put_text(JsonWriter& json, std::string_view key, std::string_view value) {
    return json.key(key).string(value);
}

std::vector<std::string> notes_on(const ViewedRun& run, const ViewNeeds& needs) {
    std::vector<std::string> notes;
    if (needs.events && !run.has_events) {
        notes.emplace_back(
            "the records are from a version without stamps of roles, finishes and end markers: the "
            "first and the last token stand in for them");
    }
    if (needs.gaps && !run.has_chunks) {
        notes.emplace_back("not computable: gaps between events, because of --chunks none");
    }
    const auto count = [&run](auto is) {
        return static_cast<std::uint64_t>(
            std::count_if(run.requests.begin(), run.requests.end(), is));
    };
    const std::uint64_t guessed =
        count([](const ViewedRequest& one) { return one.tokens_are_chunks(); });
    const std::uint64_t by_usage = count([](const ViewedRequest& one) {
        return one.output_usage && !one.chunks.empty() && one.chunks.front().tokens < 0;
    });
    if (needs.client_tokens && by_usage > 0) {
        notes.push_back("usage instead of re-tokenised text: the tool counts tokens itself, " +
                        counted(by_usage, "request", "requests") + " here by the server's count");
    }
    if (guessed > 0) {
        notes.push_back("there is no count of the tokens of " +
                        counted(guessed, "request", "requests") + ": one token for each chunk");
    }
    if (run.unsent > 0) {
        notes.push_back(counted(run.unsent, "row", "rows") +
                        " were never sent, or have no end: they are in no figure");
    }
    return notes;
}

std::int64_t tokens_or_usage(const ViewedRequest& request, std::string_view kinds) {
    return request.tokens_of(kinds).value_or(request.output_usage.value_or(0));
}

}  // namespace driftless
