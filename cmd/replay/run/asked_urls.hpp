/// AskedUrls: addresses that a run asks beside its rows (events, pages of metrics): where their
/// connections go to, with TLS, and the bytes of the request. Made before the run. Owns what TLS
/// needs, for one thread: threads that ask beside each other have one each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/io/address.hpp"
#include "engine/tls/context.hpp"
#include "proto/http/request.hpp"
#include "proto/http/url.hpp"

namespace driftless {

struct AskedUrl {
    Address address;
    TlsPeer* tls = nullptr;  ///< null: plain; of AskedUrls, which outlives it
    std::string request;     ///< the whole of it, without a body
};

class AskedUrls {
  public:
    explicit AskedUrls(const ReplayParts& parts) : parts_(parts) {}

    /// `flag` is named in errors ("--event post"). A server of the run is asked at the run's own
    /// address, with the run's headers, keys among them, except for those that `headers` replaces;
    /// all others get only `headers`. Prints what fails.
    OrExit<AskedUrl> prepare(const std::string& flag, const Url& url, const char* method,
                             std::vector<Header> headers);

  private:
    OrExit<Address> find(const std::string& flag, const Url& url) const;

    const ReplayParts& parts_;
    std::unique_ptr<TlsContext> tls_;
    std::vector<std::unique_ptr<TlsPeer>> peers_;
};

}  // namespace driftless
