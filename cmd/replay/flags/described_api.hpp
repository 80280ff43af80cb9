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

/// Reads the file where `dialect` is that of templates, and makes `dialect` what it describes.
/// Nothing to do for other dialects. Returns why not, as one line for people, or "".
std::string describe_api(const Dialect*& dialect, const std::string& file,
                         std::unique_ptr<DescribedApi>& described);

}  // namespace driftless
