#include "tests/e2e/receiver/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/e2e/receiver/body.hpp"
#include "tests/e2e/receiver/clock.hpp"

namespace receiver {

namespace {

struct Request {
    std::string method;
    std::string target;
    std::string id;
    std::string body;
    unsigned connection = 0;  ///< in the order in which they were accepted
    std::int64_t first_byte_ns = 0;
    std::int64_t last_byte_ns = 0;
    bool from_kernel = true;  ///< both stamps are the kernel's
};

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Value of a header field, blanks trimmed; empty where there is none.
std::string field(std::string_view head, std::string_view name) {
    std::size_t line = head.find("\r\n");
    while (line != head.npos && line + 2 < head.size()) {
        const std::size_t begin = line + 2;
        const std::size_t end = head.find("\r\n", begin);
        const std::string_view text = head.substr(begin, end - begin);
        bool same = text.size() > name.size() && text[name.size()] == ':';
        for (std::size_t i = 0; same && i < name.size(); ++i) {
            same = lower(text[i]) == name[i];
        }
        if (same) {
            std::string_view value = text.substr(name.size() + 1);
            value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
            return std::string(value);
        }
        line = end;
    }
    return "";
}

/// Reads one request. The first byte is read alone, so that its stamp is its own as far as the
/// kernel keeps it; `room` is scratch. False at the end of the connection.
bool read_request(int socket, std::vector<char>& room, Request& request) {
    std::string bytes(1, '\0');
    const Received first = receive(socket, bytes.data(), 1);
    if (first.bytes != 1) {
        return false;
    }
    request.first_byte_ns = request.last_byte_ns = first.arrival_ns;
    request.from_kernel = first.from_kernel;
    std::size_t head_end = bytes.npos;
    std::size_t whole = bytes.npos;
    while (bytes.size() < whole) {
        const Received more = receive(socket, room.data(), room.size());
        if (more.bytes <= 0) {
            return false;
        }
        bytes.append(room.data(), static_cast<std::size_t>(more.bytes));
        request.last_byte_ns = more.arrival_ns;
        request.from_kernel = request.from_kernel && more.from_kernel;
        if (head_end == bytes.npos && (head_end = bytes.find("\r\n\r\n")) != bytes.npos) {
            const std::string length = field(bytes.substr(0, head_end + 2), "content-length");
            whole = head_end + 4 + std::strtoull(length.c_str(), nullptr, 10);
        }
    }
    const std::size_t blank = bytes.find(' ');
    request.method = bytes.substr(0, blank);
    request.target = bytes.substr(blank + 1, bytes.find(' ', blank + 1) - blank - 1);
    request.id = field(std::string_view(bytes).substr(0, head_end + 2), "x-request-id");
    request.body = bytes.substr(head_end + 4, whole - head_end - 4);
    return true;
}

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool send_whole(int socket, int status, const std::string& body) {
    return send_all(socket, "HTTP/1.1 " + std::to_string(status) +
                                " Status\r\nContent-Type: application/json\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body);
}

std::string chunk_of(const std::string& event) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", event.size() + 8);
    return size + ("data: " + event + "\n\n") + "\r\n";
}

std::string usage_of(const Asked& asked, std::int64_t prompt_tokens) {
    return R"("usage":{"prompt_tokens":)" + std::to_string(prompt_tokens) +
           R"(,"completion_tokens":)" + std::to_string(asked.tokens) + "}";
}

std::string token_event(const Asked& asked, std::int64_t index) {
    const std::string text = "t" + std::to_string(index) + " ";
    const std::string finish = index + 1 == asked.tokens ? "\"length\"" : "null";
    const std::string choice =
        asked.is_chat ? R"("delta":{"content":")" + text + "\"}" : R"("text":")" + text + "\"";
    return R"({"id":"r","choices":[{"index":0,)" + choice + R"(,"finish_reason":)" + finish + "}]}";
}

/// Streams the tokens on their schedule; each is stamped right before its send.
bool send_tokens(int socket, const Behaviour& behaviour, const Request& request, const Asked& asked,
                 std::vector<std::int64_t>& sent) {
    std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    if (asked.is_chat) {  // an event, but no token
        head += chunk_of(
            R"({"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})");
    }
    bool open = send_all(socket, head);
    for (std::int64_t i = 0; open && i < asked.tokens; ++i) {
        const std::string bytes = chunk_of(token_event(asked, i));
        sleep_until(request.last_byte_ns + behaviour.first_ns + i * behaviour.between_ns);
        sent.push_back(monotonic_ns());
        open = send_all(socket, bytes);
    }
    return open;
}

/// What follows the tokens, or the whole of an answer that is no stream.
bool send_end(int socket, const Asked& asked, std::int64_t prompt_tokens) {
    const std::string usage = usage_of(asked, prompt_tokens) + "}";
    return asked.stream ? send_all(socket, chunk_of(R"({"id":"r","choices":[],)" + usage) +
                                               chunk_of("[DONE]") + "0\r\n\r\n")
                        : send_whole(socket, 200,
                                     R"({"id":"r","choices":[{"index":0,"text":"t",)"
                                     R"("message":{"role":"assistant","content":"t"}}],)" +
                                         usage);
}

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view bytes) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : bytes) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    return hash;
}

std::string log_line(const Request& request, const Asked& asked, std::int64_t prompt_tokens,
                     const std::vector<std::int64_t>& sent) {
    std::string line = R"({"request_id":")" + request.id + R"(","target":")" + request.target +
                       R"(","connection":)" + std::to_string(request.connection) +
                       R"(,"first_byte_ns":)" + std::to_string(request.first_byte_ns) +
                       R"(,"last_byte_ns":)" + std::to_string(request.last_byte_ns) +
                       R"(,"from_kernel":)" + (request.from_kernel ? "true" : "false") +
                       R"(,"is_ids":)" + (asked.is_ids ? "true" : "false") +
                       R"(,"prompt_tokens":)" + std::to_string(prompt_tokens) +
                       R"(,"body_bytes":)" + std::to_string(request.body.size()) +
                       R"(,"body_hash":")" + std::to_string(hash_of(request.body)) + '"' +
                       R"(,"asked_tokens":)" + std::to_string(asked.tokens) + R"(,"token_ns":[)";
    for (std::size_t i = 0; i < sent.size(); ++i) {
        line += (i == 0 ? "" : ",") + std::to_string(sent[i]);
    }
    return line + "]}\n";
}

bool answer(int socket, const Behaviour& behaviour, const Request& request, Log& log) {
    const bool is_probe =
        request.method == "GET" || request.id.find("preflight") != request.id.npos;
    if (behaviour.status != 200 && !(behaviour.probes_only && is_probe)) {
        return send_whole(socket, behaviour.status,
                          R"({"error":{"message":"the receiver refuses everything"}})");
    }
    if (request.method == "GET" && request.target == "/v1/models") {
        return send_whole(socket, 200, R"({"object":"list","data":[{"id":"receiver"}]})");
    }
    const bool is_api =
        request.target == "/v1/chat/completions" || request.target == "/v1/completions";
    if (request.method != "POST" || !is_api) {
        return send_whole(socket, 404, R"({"detail":"Not Found"})");
    }
    const Asked asked = read_body(request.body);
    if (!asked.understood) {
        return send_whole(socket, 400, R"({"error":{"message":"no prompt in the body"}})");
    }
    const std::int64_t prompt_tokens = asked.words + (asked.is_ids ? 0 : behaviour.overhead);
    std::vector<std::int64_t> sent;
    const bool open = !asked.stream || send_tokens(socket, behaviour, request, asked, sent);
    // Before the answer's end: whoever has read that may end this process, and finds the line.
    log.write(log_line(request, asked, prompt_tokens, sent));
    return open && send_end(socket, asked, prompt_tokens);
}

}  // namespace

void Log::write(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (file_ != nullptr) {
        std::fwrite(line.data(), 1, line.size(), file_);
        std::fflush(file_);
    }
}

void serve(int socket, const Behaviour& behaviour, Log& log) {
    static std::atomic<unsigned> accepted{0};
    const unsigned number = accepted++;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::vector<char> room(1 << 20);  // taken before the first request, not while one arrives
    bool open = true;
    while (open) {  // until the peer closes
        Request request;
        request.connection = number;
        pollfd asked{socket, POLLIN, 0};
        open = poll(&asked, 1, behaviour.idle_ms) == 1 && read_request(socket, room, request) &&
               answer(socket, behaviour, request, log);
    }
    close(socket);
}

}  // namespace receiver
