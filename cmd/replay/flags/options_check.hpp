/// What flags mean together: the second half of parsing, after each value was read by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// The server as it was typed, before it is a list of targets.
struct TypedServer {
    std::vector<Url> urls;
    std::optional<Url> against;
    std::string endpoint;  ///< a path, or a URL as other tools take it
    std::string host;
    std::uint32_t port = 0;
    std::string api_key;  ///< empty: not typed
};

/// Fills in what follows from several flags (targets, headers, speed) and looks for contradictions.
/// Returns one line that says what is wrong and what to do, or the empty text.
std::string complete(const TypedServer& server, const std::string& api_key_from_environment,
                     ReplayOptions& options);

}  // namespace driftless
