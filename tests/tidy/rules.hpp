/// Rules: the checkable half of the style, one function each. Every one reads files and gives
/// findings; the tests run it over the tree, and over a planted fault that it must find.
#pragma once

#include <vector>

#include "tests/tidy/source.hpp"

namespace driftless::tidy {

using Files = std::vector<SourceFile>;
using Findings = std::vector<Finding>;

// Who may include whom (design, section 2).
Findings check_direction(const Files& files);
Findings check_heavy_headers(const Files& files);

// Shape (style, rules 2 and 4).
Findings check_lines(const Files& files);
Findings check_file_sizes(const Files& files);
Findings check_function_sizes(const Files& files);
Findings check_header_openings(const Files& files);
Findings check_words(const Files& files);
/// A function that one source of the product uses is static; types alone need a namespace.
Findings check_local_functions(const Files& files);

// What users read (style, rules 29 and 30).
Findings check_plain_words(const Files& files);
Findings check_remedies(const Files& files);

// One name, one type: what is defined in two files under one name, the linker takes for one.
Findings check_type_names(const Files& files);
/// Comments name only files that are there: one a line and ending.
Findings check_file_names(const Files& files);

// Ownership and time (style, rules 5 and 19).
Findings check_banned_names(const Files& files);

// Coroutines (style, rules 11 and 12).
Findings check_lambda_coroutines(const Files& files);
Findings check_awaits(const Files& files);

}  // namespace driftless::tidy
