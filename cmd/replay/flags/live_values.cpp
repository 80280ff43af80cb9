#include "cmd/replay/flags/live_values.hpp"

#include <algorithm>
#include <array>

#include "cmd/replay/flags/choose.hpp"

namespace driftless {

Result<Assistant> parse_assistant(std::string_view text) {
    constexpr std::array choices{Choice<Assistant>{"recorded", Assistant::recorded},
                                 Choice<Assistant>{"live", Assistant::live}};
    return choose(text, choices, "is not one of recorded, live");
}

const char* name_of(Assistant assistant) {
    return assistant == Assistant::live ? "live" : "recorded";
}

Result<KeptWords> parse_kept_words(std::string_view text) {
    constexpr std::array choices{Choice<bool KeptWords::*>{"text", &KeptWords::text},
                                 Choice<bool KeptWords::*>{"tools", &KeptWords::tools},
                                 Choice<bool KeptWords::*>{"reasoning", &KeptWords::reasoning}};
    KeptWords kept{false, false, false};
    while (true) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const Result<bool KeptWords::*> one =
            choose(text.substr(0, comma), choices,
                   "is not a comma-separated list of text, tools, reasoning");
        if (!one) {
            return one.error();
        }
        kept.*one.value() = true;
        if (comma == text.size()) {
            return kept;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string text_of(const KeptWords& kept) {
    std::string text;
    for (const auto& [name, is_kept] :
         {std::pair("text", kept.text), std::pair("tools", kept.tools),
          std::pair("reasoning", kept.reasoning)}) {
        if (is_kept) {
            text += text.empty() ? "" : ",";
            text += name;
        }
    }
    return text;
}

}  // namespace driftless
