#include "cmd/replay/flags/tls_flags.hpp"

#include <algorithm>

namespace driftless {

namespace {

/// Flags of TLS where nothing is asked over it. Pages of metrics and events may be.
std::string tls_without_https(const ReplayOptions& options) {
    const TlsClientOptions& tls = options.server.tls;
    const bool any = std::any_of(options.server.targets.begin(), options.server.targets.end(),
                                 [](const ReplayTarget& one) { return one.url.tls; });
    const char* const flag = !tls.ca_file.empty()     ? "--ca"
                             : !tls.verify            ? "--insecure"
                             : !tls.cert_file.empty() ? "--cert"
                                                      : nullptr;
    const bool asks_others =
        options.metrics.has(MetricsPlace::Kind::url) || !options.events.typed.empty();
    return flag == nullptr || any || asks_others || options.server.targets.empty()
               ? ""
               : std::string(flag) + " is for https, and no server is asked over it; remove " +
                     flag + ", or use https:// in --url";
}

}  // namespace

std::string tls_contradiction(const ReplayOptions& options) {
    if (!options.server.tls.key_file.empty() && options.server.tls.cert_file.empty()) {
        return "--key needs --cert; give the client certificate as well";
    }
    if (!options.server.tls.verify && !options.server.tls.ca_file.empty()) {
        return "--insecure and --ca cannot be combined; remove one";
    }
    return tls_without_https(options);
}

}  // namespace driftless
