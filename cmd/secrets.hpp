/// Secrets: what must never be printed or recorded, and how text is cleaned of it.
///
/// Pure functions on text. A secret is the value of `--api-key`, of a header that carries a
/// credential, or the user part of a URL.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/http/request.hpp"
#include "proto/record/masked.hpp"

namespace driftless {

bool is_authorization(std::string_view header_name);

/// NAME where a value is `env:NAME`, a reference to a variable of the environment and no secret
/// itself; else empty.
std::string_view environment_name(std::string_view value);

/// Header names whose values are credentials: Authorization, Cookie, and all that speak of keys,
/// tokens or secrets. Ignores case.
bool is_secret_header(std::string_view header_name);

/// "http://user:word@host" becomes "http://***@host", without scheme too; other text stays as it
/// is.
std::string mask_url(std::string_view text);

/// The value of a flag as it may be shown.
std::string mask_value(std::string_view flag, std::string_view value);

/// A command line as it may be recorded: `arguments` with the secrets in the values of flags
/// masked, whether written as `--flag value` or `--flag=value`.
std::vector<std::string> mask_command(const std::vector<std::string>& arguments);

/// The values of the headers that are secrets, for masking in what a server sends back; a bearer
/// token counts without its "Bearer ". Shorter ones than 4 bytes are left out: they would mask
/// ordinary text.
std::vector<std::string> secrets_of(const std::vector<Header>& headers);

}  // namespace driftless
