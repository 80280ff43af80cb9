#include "engine/server/asker.hpp"

#include <utility>

#include "engine/io/driver.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

static constexpr Duration turn_max = milliseconds(100);

static constexpr const char* own_lack =
    "this host has no descriptor, port or memory left; raise ulimit -n or "
    "net.ipv4.ip_local_port_range";

/// What to do where no whole answer came.
static const char* remedy_for(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_http:
            return "check host and port of --url; if the server speaks TLS, use https://";
        case ErrorCode::too_large:
            return "check --url and --endpoint: the page may not be from a model server";
        case ErrorCode::exhausted:
            return own_lack;
        case ErrorCode::closed:
        case ErrorCode::reset:
            return "see the log of the server, or of the proxy in front of it, for the reason";
        default:
            return "check that the server is up; --wait-ready T waits for it";
    }
}

Asker::Asker(Loop& loop, const AskedServer& server, std::uint32_t first)
    : loop_(loop), server_(server), inquiry_(loop), next_name_(first) {}

std::string Asker::request_bytes(const std::string& method, const std::string& path,
                                 const std::string& body) {
    RequestHeadSpec spec;
    spec.method = method;
    spec.target = path;
    spec.host = server_.host;
    spec.headers = server_.headers;
    const RequestHead head(spec);
    const std::string id =
        request_id_of(server_.run_id, {RequestName::Kind::probe, next_name_++, 0, 0});
    std::string bytes(head.bytes_max(id.size()), '\0');
    bytes.resize(head.write(bytes.data(), id, body.size()));
    return bytes + body;
}

Task<bool> Asker::fetch(const std::string& method, const std::string& path, const std::string& body,
                        BodyWatch watch) {
    asked_at_ = loop_.driver().now();
    late_ = out_of_time();
    if (late_ || stopped()) {
        error_ = late_ ? Error{ErrorCode::timed_out, 0, "ask in time"}
                       : Error{ErrorCode::cancelled, 0, "ask the server"};
        reply_ = Reply{};
        co_return false;
    }
    request_ = request_bytes(method, path, body);
    asked_ = method + " " + path;
    const AskLimits limits = end_ ? server_.limits.capped(*end_ - asked_at_) : server_.limits;
    asking_ = true;
    Result<Reply> reply =
        co_await inquiry_.ask(server_.address, server_.tls, request_, limits, watch);
    asking_ = false;
    if (!reply) {
        error_ = reply.error();
        late_ = error_.code == ErrorCode::timed_out && out_of_time();
        reply_ = Reply{};
        co_return false;
    }
    reply_ = std::move(reply).value();
    co_return true;
}

Task<std::vector<std::int64_t>> Asker::tokenize(TokenizeForm form, const std::string& model,
                                                std::string_view escaped) {
    std::string text(escaped);
    std::vector<std::int64_t> tokens;
    if (form == TokenizeForm::templated) {
        const std::string asked = template_body(model, text);
        const bool templated =
            co_await fetch("POST", server_.root_path + apply_template_path, asked);
        if (!templated || reply_.status != 200) {
            co_return tokens;
        }
        text = read_templated(document_, reply_.body);
        if (text.empty()) {
            co_return tokens;
        }
    }
    const std::string body = tokenize_body(form, model, text);
    const bool answered = co_await fetch("POST", server_.root_path + tokenize_path(form), body);
    if (answered && reply_.status == 200) {
        tokens = read_tokens(document_, reply_.body);
    }
    co_return tokens;
}

std::string Asker::why() const {
    if (late_) {
        return "the preflight has asked for " + limit_text(whole_) +
               ", as long as it may; use a faster server, or --no-preflight with --model";
    }
    if (inquiry_.tls_failure() != 0) {
        return describe(inquiry_.tls_failure());
    }
    if (error_.code == ErrorCode::timed_out && error_.sys_errno == 0) {
        return describe(inquiry_.timeout());
    }
    std::string why = error_.code == ErrorCode::bad_http
                          ? "its answer is not HTTP (" + std::string(error_.doing) + ")"
                          : std::string(error_.doing) + " failed (" + name_of(error_.code) + ")";
    if (heard()) {
        const std::string_view begun = inquiry_.begun();
        why += "; the answer begins \"" +
               printable_words(begun.substr(0, begun.find_first_of("\r\n"))) + "\"";
    }
    if (is_of_tls_port(inquiry_.begun())) {
        return why + "; the server expects TLS; use https:// in --url";
    }
    const bool may_be_tls = server_.tls == nullptr && !heard() &&
                            (error_.code == ErrorCode::closed || error_.code == ErrorCode::reset);
    return why + "; " + (is_own_lack(error_.sys_errno) ? own_lack : remedy_for(error_.code)) +
           (may_be_tls ? "; if it speaks TLS, use https:// in --url" : "");
}

std::string Asker::printable_words(std::string_view words) const {
    return printable(masked(words, server_.secrets, words_bytes_max));
}

std::string Asker::location() const {
    return printable_words(header_value(reply_.head, "location"));
}

void Asker::tell_of_wait() {
    const Duration waited = loop_.driver().now() - asked_at_;
    if (!asking_ || server_.tell_waiting == nullptr || waited < tell_after_) {
        return;
    }
    tell_after_ = tell_after_ + tell_after_;
    server_.tell_waiting(printable_words(asked_) + " has had no whole answer for " +
                         limit_text(seconds(waited.ns / seconds(1).ns)) + "; waiting up to " +
                         limit_text(server_.limits.total));
}

/// The root of a job; ends in `done`.
Task<void> Asker::root(Task<bool>& job, bool& ok, bool& done) {
    ok = co_await std::move(job);
    done = true;
}

bool Asker::run(Task<bool>&& job) {
    bool ok = false;
    bool done = false;
    loop_.jobs().spawn(root(job, ok, done));
    while (!done) {
        if (stopped()) {
            inquiry_.cancel();
        }
        tell_of_wait();
        (void)loop_.turn(loop_.driver().now() + turn_max, Wait::sleep);
    }
    loop_.jobs().reap();
    return ok;
}

static constexpr std::size_t page_timers = 8;

PageAsker::PageAsker(Driver& driver, const AskedServer& server)
    : loop_(driver, page_timers), asker_(loop_, server) {}

const Reply* PageAsker::get(const std::string& path) {
    const bool answered = asker_.run(asker_.fetch("GET", path, ""));
    return answered ? &asker_.reply() : nullptr;
}

}  // namespace driftless
