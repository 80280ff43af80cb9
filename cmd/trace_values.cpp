#include "cmd/trace_values.hpp"

#include <algorithm>
#include <utility>

#include "cmd/values.hpp"
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/generic.hpp"

namespace driftless {

namespace {

constexpr std::string_view model_key = "model";

}  // namespace

Result<std::string> parse_trace_format(std::string_view text) {
    if (find_trace_format(text) != nullptr) {
        return std::string(text);
    }
    static const std::string why = "is not one of " + trace_format_names();
    return Error{ErrorCode::invalid, 0, why.c_str()};
}

Result<std::string> parse_time_unit(std::string_view text) {
    if (time_unit_from_name(text)) {
        return std::string(text);
    }
    return Error{ErrorCode::invalid, 0, "is not one of ns, us, ms, s, iso, auto"};
}

Result<std::vector<MappedColumn>> parse_map(std::string_view text) {
    constexpr Error wrong{ErrorCode::invalid, 0,
                          "is not a map; use KEY=COLUMN,.. with the keys time, in, out, hashes, "
                          "session, turn, delay and model"};
    constexpr Error wrong_key{ErrorCode::invalid, 0,
                              "has an unknown key; the keys are time, in, out, hashes, session, "
                              "turn, delay and model, as in in=COLUMN"};
    constexpr Error key_twice{ErrorCode::invalid, 0, "has a key twice; give each one column"};
    const Result<std::vector<std::string>> parts = parse_list(text);
    if (!parts) {
        return wrong;
    }
    std::vector<MappedColumn> map;
    for (const std::string& part : parts.value()) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string key = part.substr(0, equals);
        const auto keys = map_keys();
        const bool twice = std::any_of(map.begin(), map.end(),
                                       [&](const MappedColumn& one) { return one.key == key; });
        if (equals + 1 >= part.size()) {
            return wrong;
        }
        if (key != model_key && std::find(keys.begin(), keys.end(), key) == keys.end()) {
            return wrong_key;
        }
        if (twice) {
            return key_twice;
        }
        map.push_back({key, part.substr(equals + 1)});
    }
    return map;
}

std::string take_model_column(std::vector<MappedColumn>& map) {
    const auto found = std::find_if(map.begin(), map.end(),
                                    [](const MappedColumn& one) { return one.key == model_key; });
    if (found == map.end()) {
        return "";
    }
    std::string column = std::move(found->column);
    map.erase(found);
    return column;
}

std::string model_column_refusal(std::vector<MappedColumn> map) {
    const std::string column = take_model_column(map);
    return column.empty()
               ? ""
               : "--map model=" + column +
                     " names the models of requests, but nothing is sent here; remove model=" +
                     column + " from --map";
}

Result<FlatAgents> parse_flat_agents(std::string_view text) {
    if (text != "chains" && text != "keep") {
        return Error{ErrorCode::invalid, 0, "is not one of chains, keep"};
    }
    return text == "keep" ? FlatAgents::keep : FlatAgents::chains;
}

std::string flat_agents_refusal(FlatAgents agents, Sessions sessions) {
    return agents == FlatAgents::chains || sessions == Sessions::closed
               ? ""
               : "--flat-agents keep applies to turns that wait for answers, but no row waits; add "
                 "--sessions closed";
}

Result<IdScope> parse_hash_scope(std::string_view text) {
    if (text == "file") {
        return IdScope::file;
    }
    if (text == "all") {
        return IdScope::all;
    }
    if (text == "session") {
        return IdScope::session;
    }
    return Error{ErrorCode::invalid, 0, "is not one of file, all, session"};
}

Result<Sessions> parse_sessions(std::string_view text) {
    if (text == "recorded") {
        return Sessions::recorded;
    }
    if (text == "open") {
        return Sessions::open;
    }
    if (text == "closed") {
        return Sessions::closed;
    }
    return Error{ErrorCode::invalid, 0, "is not one of recorded, open, closed"};
}

const char* name_of(Sessions sessions) {
    return sessions == Sessions::recorded ? "recorded"
           : sessions == Sessions::open   ? "open"
                                          : "closed";
}

Result<const TraceTarget*> parse_trace_target(std::string_view text) {
    if (const TraceTarget* target = find_trace_target(text); target != nullptr) {
        return target;
    }
    return Error{ErrorCode::invalid, 0, "is not one of canonical, mooncake"};
}

}  // namespace driftless
