#include "cmd/replay/spelling.hpp"

#include <array>
#include <cstddef>

namespace driftless {

namespace {

struct Alias {
    std::string_view typed;
    std::string_view name;
};
/// Names of vllm bench, AIPerf, guidellm and trace-replayer that mean the same.
constexpr std::array aliases{
    Alias{"--base-url", "--url"},
    Alias{"--backend", "--api"},
    Alias{"--endpoint-type", "--api"},
    Alias{"--model-name", "--model"},
    Alias{"--scale-factor", "--speed"},
    Alias{"--num-prompts", "--limit"},
    Alias{"--max-requests", "--limit"},
    Alias{"--time-in-secs", "--duration"},
    Alias{"-o", "--out"},
};

constexpr const char* time_scale_refusal =
    "--time-scale: means 'slower' in one tool and 'faster' in another; "
    "write --speed X, where 2 is twice as fast";

std::string_view own_name(std::string_view typed) {
    for (const Alias& alias : aliases) {
        if (alias.typed == typed) {
            return alias.name;
        }
    }
    return typed;
}

bool is_goodput_part(std::string_view argument) {
    return argument.starts_with("ttft:") || argument.starts_with("tpot:") ||
           argument.starts_with("e2e:") || argument.starts_with("e2el:");
}

}  // namespace

Spelled spell(const std::vector<std::string>& arguments) {
    Spelled spelled;
    std::vector<std::string>& out = spelled.arguments;
    bool in_goodput = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--") {
            out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                       arguments.end());
            break;
        }
        if (in_goodput && is_goodput_part(argument)) {
            out.back() += " " + arguments[i];
            continue;
        }
        const bool is_flag = argument.size() > 1 && argument.front() == '-';
        const std::size_t equals = argument.find('=');
        const std::string_view typed = is_flag ? argument.substr(0, equals) : argument;
        if (typed == "--time-scale") {
            spelled.refused = time_scale_refusal;
            return spelled;
        }
        // The value of `--goodput` begins what may be gathered.
        in_goodput = !is_flag && !out.empty() && out.back() == "--goodput";
        if (!is_flag) {
            out.emplace_back(argument);
            continue;
        }
        out.emplace_back(own_name(typed));
        if (equals != argument.npos) {
            out.emplace_back(argument.substr(equals + 1));
            in_goodput = typed == "--goodput";
        }
    }
    return spelled;
}

}  // namespace driftless
