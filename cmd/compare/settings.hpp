/// Flags in which two runs differ beside their work, for the reader: the connection, limits,
/// headers. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace driftless {

/// The arguments of `replay` (TRACE.., then `--flag=value`) that only one of two runs has, each
/// side as one text. Without those that name the server, the work or where files go.
std::pair<std::string, std::string> differing_settings(const std::vector<std::string>& a,
                                                       const std::vector<std::string>& b);

/// The same, also without what only changes what the client observes and records: metrics, events,
/// answers, periods.
std::pair<std::string, std::string> differing_sending(const std::vector<std::string>& a,
                                                      const std::vector<std::string>& b);

/// Those of the arguments that `differing_sending` compares, sorted.
std::vector<std::string> sending_settings(const std::vector<std::string>& arguments);

}  // namespace driftless
