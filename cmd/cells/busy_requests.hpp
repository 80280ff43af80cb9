/// Requests that a server works on, from the text of its /metrics page. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace driftless {

/// The sum of all running and waiting requests that the page has, over all engines and models; by
/// the names of vLLM, SGLang, TGI, llama.cpp and Dynamo. Nothing where it has none of them.
std::optional<double> busy_requests(std::string_view page);

}  // namespace driftless
