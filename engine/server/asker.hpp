/// Asker: questions to one server before time 0, one after the other, each under a name of its own
/// (RequestName: a probe). Keeps the latest answer. Owned by whoever asks; refers to the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/driver.hpp"
#include "engine/io/inquiry.hpp"
#include "engine/server/tokenize.hpp"
#include "proto/http/request.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// The server that is asked, and in whose name.
struct AskedServer {
    Address address;
    TlsPeer* tls = nullptr;  ///< null: plain
    std::string host;        ///< value of the Host header
    std::string root_path;   ///< what is before "/v1"
    std::vector<Header> headers;
    std::vector<std::string> secrets;  ///< never to be in what is printed of it (text.hpp)
    std::string run_id;
    AskLimits limits{seconds(60)};                    ///< of each request
    const std::atomic<int>* stop_requests = nullptr;  ///< the user's; more than 0 ends it
    /// Is told, a few times at most, of a request that is not answered for long; may be null.
    void (*tell_waiting)(const std::string& line) = nullptr;
};

class Asker {
  public:
    /// Names count from `first`; names are given once in a run.
    Asker(Loop& loop, const AskedServer& server, std::uint32_t first = 1);

    /// One request. False where no answer came: `error` says why; `cancelled` where the user has
    /// stopped it, also before it was sent.
    Task<bool> fetch(const std::string& method, const std::string& path, const std::string& body,
                     BodyWatch watch = {});
    const Reply& reply() const { return reply_; }
    const Error& error() const { return error_; }
    /// The error as clauses for people: "connect failed (refused)", or in the words of TLS; how an
    /// answer begins that is no whole one; what may fix it.
    std::string why() const;
    /// Why the latest question has no answer that helps: its status, or `why`.
    std::string status_or_why() const {
        return reply_.status > 0 ? "status " + std::to_string(reply_.status) : why();
    }
    /// Words of the server as they may be printed: without secrets, cut to `words_bytes_max`, and
    /// such as a terminal may get.
    std::string printable_words(std::string_view words) const;
    /// Where the latest answer redirects to, as printable words; empty: nowhere.
    std::string location() const;

    /// The tokens of an escaped text, as `form` has them; empty where the server does not say.
    Task<std::vector<std::int64_t>> tokenize(TokenizeForm form, const std::string& model,
                                             std::string_view escaped);

    /// Turns the loop until the job has ended; what it returned. The caller writes the job as the
    /// argument itself, so that it lives until then. Bounded by the timeouts of the requests.
    bool run(Task<bool>&& job);
    /// What is asked later than this is not sent: it fails with `timed_out`.
    void end_after(Duration whole) {
        whole_ = whole;
        end_ = loop_.driver().now() + whole;
    }
    bool stopped() const {
        return server_.stop_requests != nullptr &&
               server_.stop_requests->load(std::memory_order_relaxed) > 0;
    }
    /// Whether a part of an answer came, at least.
    bool heard() const { return !inquiry_.begun().empty(); }
    /// Whether the latest question ended by a limit of its own, without an answer.
    bool hung() const {
        return reply_.status == 0 && error_.code == ErrorCode::timed_out && !late_;
    }
    /// Whether the latest question that was not too late was sent, or some of it.
    bool reached() const { return inquiry_.phase() >= AskPhase::first_byte; }
    Loop& loop() const { return loop_; }
    std::uint32_t next_name() const { return next_name_; }

    static constexpr std::size_t words_bytes_max = 256;
    /// A request that is not answered for so long is told of; the next one only after twice as
    /// long, and so on: a slow server does not fill the screen.
    static constexpr Duration told_after = seconds(5);

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return loop_.frames(); }
    ReadyList& ready() { return loop_.ready(); }

  private:
    std::string request_bytes(const std::string& method, const std::string& path,
                              const std::string& body);
    Task<void> root(Task<bool>& job, bool& ok, bool& done);
    void tell_of_wait();
    bool out_of_time() const { return end_ && *end_ <= loop_.driver().now(); }

    Loop& loop_;
    const AskedServer& server_;
    Inquiry inquiry_;
    JsonDocument document_;
    std::uint32_t next_name_;
    std::string request_;
    std::string asked_;  ///< "GET /v1/models"
    Instant asked_at_;
    bool asking_ = false;
    Duration tell_after_ = told_after;
    std::optional<Instant> end_;
    Duration whole_;     ///< time until `end_`
    bool late_ = false;  ///< the latest question came behind `end_`, or was cut short by it
    Reply reply_;
    Error error_;
};

/// PageAsker: one page of a server at a time, for those who have no run: its status and body, by
/// the same way as a preflight. Owned by whoever asks; refers to the driver and the server.
class PageAsker {
  public:
    PageAsker(Driver& driver, const AskedServer& server);

    /// GET of a path. Bounded by the server's timeout, and ended by its `stop_requests`. Null where
    /// no answer came; valid until the next call.
    const Reply* get(const std::string& path);
    /// Why none came.
    std::string why() const { return asker_.why(); }

  private:
    Loop loop_;
    Asker asker_;
};

}  // namespace driftless
