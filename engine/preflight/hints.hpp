/// Hints: what people can do about what a server says or lacks: the flag that it was started
/// without, and the likely remedy of a refusal.
///
/// Words only: it asks nothing and decides nothing. Flags are those of the servers' own help
/// (wire-formats.md, section 1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/preflight/findings.hpp"
#include "engine/preflight/probe.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

/// The first `shown` names and how many there are beside them: "a, b, and 3 more".
std::string list_first(const std::vector<std::string>& names, std::size_t shown);

/// One line for each thing that records will lack because of how the server was started; its kind
/// is what it says of itself (`owned_by` of its model, else its Server header).
/// Where the API, or the template of one, has no place for a number, that is said instead.
/// `sets_lengths`: prompts are made to lengths; recorded text is sent as it is.
std::vector<std::string> hints_for(const PreflightFindings& found, const Dialect& dialect,
                                   bool sets_lengths = true);

/// What the server says of itself, lower case: the owner of its model and its Server header; the
/// header alone where the owner cannot be true.
std::string kind_of(const PreflightFindings& found);

/// What was asked and refused, in the server's words.
struct Refusal {
    int status = 0;
    std::string_view message;
    std::string_view location;         ///< where a redirect leads
    std::string_view path;             ///< that was asked, behind the one of `--url`: "/v1/models"
    std::string_view kind = {};        ///< what the server says of itself: owner and Server header
    std::string_view model = {};       ///< that was asked for
    const Dialect* dialect = nullptr;  ///< that was spoken; null: none
    bool ids = false;                  ///< the prompt was an array of token ids
    Unreadable unreadable = Unreadable::no;  ///< the answer was whole, and cannot be read
};

/// What may fix a refusal, as a clause; empty where its status and words tell nothing. `models`:
/// those that the server lists.
std::string remedy_for(const Refusal& refusal, const std::vector<std::string>& models);

}  // namespace driftless
