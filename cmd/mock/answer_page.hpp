/// What the mock answers beside completions and tokenizing: its pages, by path and method.
#pragma once

#include <string>

#include "cmd/mock/pages.hpp"
#include "engine/time/instant.hpp"
#include "proto/http/request_parser.hpp"

namespace driftless::mock {

class MockCore;

/// Appends the response to a request for a page: the page, a 404 or a 405. Empties the cache if the
/// page does.
void answer_page(std::string& out, const Reply& reply, const RequestParser& head, MockCore& core,
                 Instant now);

}  // namespace driftless::mock
