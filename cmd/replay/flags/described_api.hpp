/// DescribedApi: the server of `--api template`, as the file of `--template` describes it. Owned by
/// the options of a run, on the heap: the dialect refers to the rest.
#pragma once

#include <memory>
#include <string>

#include "proto/api/api_template.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

struct DescribedApi {
    ApiTemplate form;
    Dialect dialect;
};

/// If `dialect` is the one of templates: reads the file, and replaces `dialect` by what the file
/// describes. Does nothing for other dialects. Returns the empty text, or one line that says what
/// is wrong.
std::string describe_api(const Dialect*& dialect, const std::string& file,
                         std::unique_ptr<DescribedApi>& described);

}  // namespace driftless
