#include "cmd/replay/run/asked_urls.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/io/reachable.hpp"
#include "proto/core/letter_case.hpp"

namespace driftless {

namespace {

/// For a name with several addresses: "localhost" is often ::1 first, where many do not listen.
constexpr Duration connect_patience = milliseconds(500);

/// Keys go to the servers of the run, and to nobody else. The number of `targets` where it is none.
std::size_t server_of(const Url& url, const std::vector<ReplayTarget>& targets) {
    const auto found =
        std::find_if(targets.begin(), targets.end(), [&url](const ReplayTarget& target) {
            return target.url.host == url.host && target.url.port == url.port &&
                   target.url.tls == url.tls && target.url.unix_socket == url.unix_socket;
        });
    return static_cast<std::size_t>(found - targets.begin());
}

bool has_header(const std::vector<Header>& headers, const std::string& name) {
    return std::any_of(headers.begin(), headers.end(),
                       [&name](const Header& one) { return equal_ignoring_case(one.name, name); });
}

std::string request_of(const Url& url, const char* method, std::vector<Header> headers) {
    RequestHeadSpec spec;
    spec.method = method;
    spec.target = url.path.empty() ? "/" : url.path;
    spec.host = host_header(url);
    spec.headers = std::move(headers);
    const RequestHead head(spec);
    std::string bytes(head.bytes_max(0), '\0');
    bytes.resize(head.write(bytes.data(), "", 0));
    return bytes;
}

}  // namespace

/// Where a URL of no server of the run leads to.
OrExit<Address> AskedUrls::find(const std::string& flag, const Url& url) const {
    if (url.unix_socket) {
        const Result<Address> path = unix_address(url.host);
        if (path) {
            return path.value();
        }
        complain("driftless: %s %s: the path is longer than 107 bytes; use a shorter one",
                 flag.c_str(), to_text(url).c_str());
        return exit_usage;
    }
    const Result<std::vector<Address>> found = resolve(url.host, url.port);
    if (!found || found.value().empty()) {
        complain("driftless: %s %s: the host name cannot be resolved; check it", flag.c_str(),
                 to_text(url).c_str());
        return exit_preflight;
    }
    std::optional<Address> reachable;
    if (found.value().size() > 1) {
        reachable = first_reachable(by_turns(found.value()), connect_patience);
    }
    return reachable.value_or(found.value().front());
}

OrExit<AskedUrl> AskedUrls::prepare(const std::string& flag, const Url& url, const char* method,
                                    std::vector<Header> headers) {
    const Invocation& invocation = parts_.invocation();
    const ServerFlags& server = invocation.options.server;
    const std::size_t target = server_of(url, server.targets);
    const bool is_ours = target < server.targets.size();
    AskedUrl asked;
    if (is_ours) {
        asked.address = parts_.server().targets.endpoints[target].address;
        for (const Header& own : invocation.credentials.headers) {
            if (!has_header(headers, own.name)) {
                headers.push_back(own);
            }
        }
    } else {
        const OrExit<Address> address = find(flag, url);
        if (!address) {
            return address.exit_code();
        }
        asked.address = address.value();
    }
    if (url.tls && tls_ == nullptr) {
        std::string why;
        Result<TlsContext> made = TlsContext::client(server.tls, why);
        if (!made) {
            complain("driftless: %s: %s", flag.c_str(), why.c_str());
            return exit_usage;
        }
        tls_ = std::make_unique<TlsContext>(std::move(made).value());
    }
    if (url.tls) {
        peers_.push_back(std::make_unique<TlsPeer>(*tls_, url.host));
        asked.tls = peers_.back().get();
    }
    asked.request = request_of(url, method, std::move(headers));
    return asked;
}

}  // namespace driftless
