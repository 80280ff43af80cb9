/// Secrets: what must never be printed or recorded, and how text is cleaned of it.
///
/// Pure functions on text. One rule for commands, headers, members of bodies, parameters of URLs
/// and labels: a secret is the value of a secret name (`is_secret_name`), what is behind a
/// scheme (`Bearer word`), what begins as a known kind of key does (`sk-`), and the user part of a
/// URL. (Values that came as `env:NAME` are, too: cmd/replay/invocation.hpp.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/core/text.hpp"
#include "proto/http/request.hpp"

namespace driftless {

bool is_authorization(std::string_view header_name);

/// NAME if a value is `env:NAME`, a reference to an environment variable and not itself a secret;
/// else empty.
std::string_view environment_name(std::string_view value);

/// Names whose values are credentials, by their last word: keys, tokens, passwords, cookies and the
/// like, but for tokens of models (`eos_token`) and `cache_key`. Ignores case.
bool is_secret_name(std::string_view name);

/// A secret in a text: where it stands, and what it is without the shell's quotes and escapes.
struct SecretPart {
    std::size_t at;
    std::size_t bytes;
    std::string value;
};

/// Secrets of a text, at places that may overlap, with names before these separators. What a shell
/// or the environment fills in ($KEY, env:KEY) is none, nor is a number of tokens.
std::vector<SecretPart> secrets_in_text(std::string_view text, std::string_view separators = "=:");

/// The same, of each word of a shell command and of commands in its quotes, and of options that are
/// known to take passwords (`curl -u user:word`, `sshpass -p word`).
std::vector<SecretPart> secrets_in_command(std::string_view command);

/// A text of a JSON object that is a secret or has one in it, at whatever depth. All texts in a
/// member of a secret name are; but "properties" describe the fields of others.
struct SecretMember {
    std::string name;   ///< of the member, or of the one around its array
    std::string value;  ///< the secret
    std::string raw;    ///< the text as written, with its quotes
};

/// None where `json` cannot be read. Numbers are no credentials: "max_tokens" is one.
std::vector<SecretMember> secret_members(std::string_view json);

/// "http://user:word@host" becomes "http://***@host", without scheme too, and "?api_key=word"
/// becomes "?api_key=***"; other text stays as it is.
std::string mask_url(std::string_view text);

/// Secrets in the path, the query and the fragment of a URL: as written, and where that differs
/// without their percent-encoding.
std::vector<Header> secret_parameters(std::string_view url);

/// Text with a part of a JSON object in it, which may be cut or quoted itself: the texts of members
/// with secret names are masked.
std::string mask_members(std::string_view text);

/// The text with its secrets masked.
std::string mask_parts(std::string_view text, std::vector<SecretPart> parts);

/// How a value is shown that may hold a secret; nullptr: all of it.
using Mask = std::string (*)(std::string_view value);
/// All of it, but for a reference to the environment.
std::string mask_key(std::string_view key);
/// "Name: value" or "Name=value": the value, where the name calls for it.
std::string mask_header(std::string_view text);
/// A JSON object: the texts of its credentials. One that cannot be read is shown, so that its
/// mistake can be found, unless it speaks of such.
std::string mask_json(std::string_view json);
/// "+T ACTION WHAT": in a command, and in a URL that it posts to.
std::string mask_event(std::string_view event);
/// Any text.
std::string mask_any(std::string_view text);

/// The value as it may be shown.
std::string mask_value(Mask mask, std::string_view value);

/// Of a value that was refused, so that it is not known where in it a password stands: of
/// URLs, all before the last "@", and all of a query or fragment; of a header, all but its name.
std::string mask_refused(Mask mask, std::string_view value);

/// Where an argument is `NAME=value` of a secret name, as a shell assigns a variable before a
/// command: where its value begins; else 0.
std::size_t assigned_secret_at(std::string_view argument);

/// The texts that are secrets, for masking in what a server sends back (`masked`): each value; what
/// is behind a blank of it, which is how a server repeats it without "Bearer" or "Basic"; what
/// the base64 of "Basic" stands for, with and without the user's name; and of cookies the value of
/// each pair. Longest first. Shorter ones than `secret_bytes_min` are left out.
std::vector<std::string> secrets_of(const std::vector<Header>& credentials);

}  // namespace driftless
