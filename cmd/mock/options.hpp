/// The command line of `driftless mock`, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/mock/core.hpp"
#include "cmd/mock/server.hpp"
#include "engine/tls/context.hpp"

namespace driftless::mock {

struct MockOptions {
    std::string host = "127.0.0.1";  ///< never a public address unless asked for
    std::uint16_t port = 8000;       ///< 0: any that is free
    std::string unix_path;           ///< instead of host and port, where not empty
    CoreOptions core;
    ServerOptions server;
    std::string log_path;   ///< empty: no log
    TlsServerOptions tls;   ///< `cert_file` empty: plain HTTP
    std::string tokenizer;  ///< file; empty: words are tokens
    std::optional<std::uint32_t> cpu;
};

/// What a command line came to: options to run with, or an exit code after help or a refusal was
/// printed.
struct ParsedMock {
    std::optional<int> exit_code;
    MockOptions options;
};

ParsedMock parse_mock_options(int argc, char** argv);

}  // namespace driftless::mock
