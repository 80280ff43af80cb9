/// Secrets: what must never be printed or recorded, and how text is cleaned of it.
///
/// Pure functions on text. A secret is the value of `--api-key`, of a header that carries a
/// credential, of a member of `--extra-body` or of a URL's parameter whose name says that it does,
/// or the user part of a URL. (Values that came as `env:NAME` are, too: cmd/replay/invocation.hpp.)
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

/// Names, of headers and of members of a body, whose texts are credentials: Authorization, Cookie,
/// and all that speak of keys, tokens or secrets. Ignores case.
bool is_secret_name(std::string_view name);

/// A text, or one of a list of texts, that is a member of a secret name, at whatever depth. Members
/// of an object with a secret name are judged by their own names: a JSON schema may describe a
/// field "key".
struct SecretMember {
    std::string name;
    std::string value;
    std::string raw;  ///< as written, with its quotes
};

/// None where `json` cannot be read. Numbers are no credentials: "max_tokens" is one.
std::vector<SecretMember> secret_members(std::string_view json);

/// "http://user:word@host" becomes "http://***@host", without scheme too, and "?api_key=word"
/// becomes "?api_key=***"; other text stays as it is.
std::string mask_url(std::string_view text);

/// Parameters of a URL's query or fragment whose names say that they are credentials: as written,
/// and where that differs without its percent-encoding.
std::vector<Header> secret_parameters(std::string_view url);

/// Parts of a shell command that are credentials, in their order: by the names before them
/// (`-H 'X-Key: word'`, `KEY=word`, `--token=word`, `--token word`, `"token": "word"`), in a URL or
/// behind `-u` (`user:word`), or by how they begin (`sk-`, `hf_`). What the shell fills in ($KEY)
/// is none, nor is a number.
std::vector<std::string_view> secrets_in_command(std::string_view command);

/// Text with a part of a JSON object in it, which may be cut or quoted itself: the texts of members
/// with secret names are masked.
std::string mask_members(std::string_view text);

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
/// "kind=openai_http,target=URL,api_key=KEY", as GuideLLM takes a backend.
std::string mask_backend(std::string_view list);

/// The value as it may be shown.
std::string mask_value(Mask mask, std::string_view value);

/// Of a value that was refused, so that nobody knows where in it a password stands: of
/// URLs, all before the last "@", and all of a query; of a header, all but its name.
std::string mask_refused(Mask mask, std::string_view value);

/// Where an argument is `NAME=value` of a secret name, as a shell assigns a variable before a
/// command: where its value begins; else 0.
std::size_t assigned_secret_at(std::string_view argument);

/// The texts that are secrets, for masking in what a server sends back (`masked`): each value; what
/// stands behind a blank of it, which is how a server repeats it without "Bearer" or "Basic"; what
/// the base64 of "Basic" stands for, with and without the user's name; and of cookies the value of
/// each pair. Longest first. Shorter ones than `secret_bytes_min` are left out.
std::vector<std::string> secrets_of(const std::vector<Header>& credentials);

}  // namespace driftless
