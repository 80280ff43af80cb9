/// DescribedApi: the server of `--api template`, as the file of `--template` describes it. Owned by
/// the options of a run, on the heap: the dialect refers to the rest.
#pragma once

#include <memory>
#include <string>
#include <vector>

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

/// Notes which API a name of --api stands for, where it is not the API's own: "openai" is the
/// completions API to most tools, and a chat to some.
void note_api(const std::vector<std::string>& typed, const Dialect& dialect,
              std::vector<std::string>& notes);

}  // namespace driftless
