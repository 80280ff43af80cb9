/// What a request body asks for, by the receiver's own reading of JSON.

#include "tests/e2e/receiver/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/receiver/starvation.hpp"
#include "tests/e2e/receiver/wire.hpp"

namespace receiver {

struct Asked {
    bool understood = false;  ///< a JSON object with a prompt
    bool is_chat = false;     ///< `messages` instead of `prompt`
    bool is_ids = false;      ///< the prompt is an array of numbers
    bool stream = false;
    bool ignore_eos = false;
    std::int64_t words = 0;    ///< blank-separated words, or array items
    std::int64_t tokens = 16;  ///< max_tokens or max_completion_tokens
};

Asked read_body(std::string_view body);

namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Walks JSON text value by value, from left to right. Accepts some texts that are no JSON; what it
/// must not do is miscount what is.
class Walker {
  public:
    explicit Walker(std::string_view text) : text_(text) {}

    bool at(char c) {
        skip_blanks();
        return position_ < text_.size() && text_[position_] == c;
    }
    bool take(char c) {
        const bool there = at(c);
        position_ += there ? 1 : 0;
        return there;
    }
    bool over() {
        skip_blanks();
        return position_ >= text_.size();
    }

    /// The next value as written: a string with its quotes, an array or object with all in it.
    std::string_view value() {
        skip_blanks();
        const std::size_t begin = position_;
        std::size_t depth = 0;
        while (position_ < text_.size()) {
            const char c = text_[position_];
            if (c == '"') {
                skip_string();
            } else if (c == '[' || c == '{') {
                ++depth;
                ++position_;
            } else if (c == ']' || c == '}') {
                if (depth == 0) {
                    break;
                }
                --depth;
                ++position_;
            } else if (depth == 0 && (c == ',' || c == ':')) {
                break;
            } else {
                ++position_;
            }
            if (depth == 0 && (c == '"' || c == ']' || c == '}')) {
                break;
            }
        }
        std::string_view found = text_.substr(begin, position_ - begin);
        while (!found.empty() && blanks.find(found.back()) != blanks.npos) {
            found.remove_suffix(1);
        }
        return found;
    }

  private:
    void skip_blanks() {
        while (position_ < text_.size() && blanks.find(text_[position_]) != blanks.npos) {
            ++position_;
        }
    }
    void skip_string() {
        ++position_;
        while (position_ < text_.size() && text_[position_] != '"') {
            position_ += text_[position_] == '\\' ? 2 : 1;
        }
        ++position_;
    }

    std::string_view text_;
    std::size_t position_ = 0;
};

/// Calls `see(key, value)` for each member; keys come with their quotes.
template <typename See>
bool each_member(std::string_view object, See see) {
    Walker walker(object);
    if (!walker.take('{')) {
        return false;
    }
    while (!walker.at('}')) {
        const std::string_view key = walker.value();
        if (!walker.take(':')) {
            return false;
        }
        see(key, walker.value());
        if (!walker.take(',') && !walker.at('}')) {
            return false;
        }
    }
    return walker.take('}') && walker.over();
}

template <typename See>
void each_element(std::string_view array, See see) {
    Walker walker(array);
    if (!walker.take('[')) {
        return;
    }
    while (!walker.over() && !walker.at(']')) {
        see(walker.value());
        walker.take(',');
    }
}

std::int64_t words_of(std::string_view quoted) {
    std::int64_t words = 0;
    bool in_word = false;
    for (const char c : quoted.substr(1, quoted.size() - 2)) {
        words += c != ' ' && !in_word ? 1 : 0;
        in_word = c != ' ';
    }
    return words;
}

void read_prompt(std::string_view prompt, Asked& asked) {
    if (prompt.size() < 2 || (prompt[0] != '"' && prompt[0] != '[')) {
        return;
    }
    asked.understood = true;
    if (prompt.starts_with('"')) {
        asked.words += words_of(prompt);
        return;
    }
    asked.is_ids = true;
    each_element(prompt, [&](std::string_view) { ++asked.words; });
}

void read_messages(std::string_view messages, Asked& asked) {
    asked.is_chat = true;
    each_element(messages, [&](std::string_view message) {
        each_member(message, [&](std::string_view key, std::string_view value) {
            if (key == "\"content\"") {
                read_prompt(value, asked);
            }
        });
    });
}

}  // namespace

Asked read_body(std::string_view body) {
    Asked asked;
    const bool whole = each_member(body, [&](std::string_view key, std::string_view value) {
        if (key == "\"prompt\"") {
            read_prompt(value, asked);
        } else if (key == "\"messages\"") {
            read_messages(value, asked);
        } else if (key == "\"stream\"") {
            asked.stream = value == "true";
        } else if (key == "\"ignore_eos\"") {
            asked.ignore_eos = value == "true";
        } else if (key == "\"max_tokens\"" || key == "\"max_completion_tokens\"") {
            asked.tokens = std::atoll(std::string(value).c_str());
        }
    });
    asked.understood = asked.understood && whole;
    return asked;
}

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
    Starvation starved;       ///< between its first and its last byte
};

/// When a write began and ended: what it carried left between the two, however late we ran.
struct Sent {
    std::int64_t began_ns = 0;
    std::int64_t ended_ns = 0;
    std::uint64_t end = 0;     ///< bytes of the connection up to its last one
    std::int64_t left_ns = 0;  ///< the kernel's stamp; 0: not known
};

struct Answered {
    Sent head;
    std::vector<Sent> tokens;  // [tokens]; those of one write share it
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

void read_slowly(const Behaviour& behaviour, std::int64_t bytes) {
    if (behaviour.read_mb_s > 0) {
        sleep_until(monotonic_ns() + bytes * 1000 / behaviour.read_mb_s);
    }
}

/// Reads one request. The first byte is read alone, so that its stamp is its own as far as the
/// kernel keeps it; `room` is scratch. False at the end of the connection.
bool read_request(Wire& wire, const Behaviour& behaviour, std::vector<char>& room,
                  Request& request) {
    std::string bytes(1, '\0');
    const Received first = wire.read(bytes.data(), 1);
    if (first.bytes != 1) {
        return false;
    }
    StarvationMeter meter;
    request.first_byte_ns = request.last_byte_ns = first.arrival_ns;
    request.from_kernel = first.from_kernel;
    std::size_t head_end = bytes.npos;
    std::size_t whole = bytes.npos;
    while (bytes.size() < whole) {
        meter.begin_wait();
        const Received more = wire.read(room.data(), room.size());
        meter.end_wait();
        if (more.bytes <= 0) {
            return false;
        }
        read_slowly(behaviour, more.bytes);
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
    request.starved = meter.starved();
    return true;
}

bool send_whole(Wire& wire, int status, const std::string& body) {
    return wire.write("HTTP/1.1 " + std::to_string(status) +
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

bool send_stamped(Wire& wire, std::string_view bytes, Sent& sent) {
    sent.began_ns = monotonic_ns();
    const bool open = wire.write(bytes);
    sent.ended_ns = monotonic_ns();
    sent.end = wire.written();
    return open;
}

/// Streams the tokens on their schedule; each write is stamped right before and right after.
bool send_tokens(Wire& wire, const Behaviour& behaviour, const Request& request, const Asked& asked,
                 Answered& answered) {
    std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    if (asked.is_chat) {  // an event, but no token
        head += chunk_of(
            R"({"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})");
    }
    bool open = send_stamped(wire, head, answered.head);
    for (std::int64_t i = 0; open && i < asked.tokens; i += behaviour.per_write) {
        const std::int64_t end = std::min(i + behaviour.per_write, asked.tokens);
        std::string bytes;
        for (std::int64_t token = i; token < end; ++token) {
            bytes += chunk_of(token_event(asked, token));
        }
        sleep_until(request.last_byte_ns + behaviour.first_ns + i * behaviour.between_ns);
        Sent sent;
        open = send_stamped(wire, bytes, sent);
        sent.left_ns = wire.left_ns(sent.end);
        answered.tokens.insert(answered.tokens.end(), static_cast<std::size_t>(end - i), sent);
    }
    return open;
}

/// When those left that TCP kept back; waits for the last of them, but not for long.
void stamp_tokens(Wire& wire, std::vector<Sent>& tokens) {
    const std::int64_t until = monotonic_ns() + 200'000'000;
    while (!tokens.empty() && wire.left_ns(tokens.back().end) == 0 && monotonic_ns() < until) {
        sleep_until(monotonic_ns() + 1'000'000);
    }
    for (Sent& one : tokens) {
        one.left_ns = one.left_ns == 0 ? wire.left_ns(one.end) : one.left_ns;
    }
}

/// What follows the tokens, or the whole of an answer that is no stream.
bool send_end(Wire& wire, const Asked& asked, std::int64_t prompt_tokens) {
    const std::string usage = usage_of(asked, prompt_tokens) + "}";
    return asked.stream ? wire.write(chunk_of(R"({"id":"r","choices":[],)" + usage) +
                                     chunk_of("[DONE]") + "0\r\n\r\n")
                        : send_whole(wire, 200,
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

void add_array(std::string& line, const char* name, const std::vector<Sent>& sent,
               std::int64_t Sent::* stamp) {
    line += std::string(",\"") + name + "\":[";
    for (std::size_t i = 0; i < sent.size(); ++i) {
        line += (i == 0 ? "" : ",") + std::to_string(sent[i].*stamp);
    }
    line += ']';
}

std::string log_line(const Request& request, const Asked& asked, std::int64_t prompt_tokens,
                     const Answered& answered, bool whole) {
    std::string line =
        R"({"request_id":")" + request.id + R"(","target":")" + request.target +
        R"(","connection":)" + std::to_string(request.connection) + R"(,"first_byte_ns":)" +
        std::to_string(request.first_byte_ns) + R"(,"last_byte_ns":)" +
        std::to_string(request.last_byte_ns) + R"(,"starved_ns":)" +
        std::to_string(request.starved.long_waits_ns) + R"(,"starved_longest_ns":)" +
        std::to_string(request.starved.longest_ns) + R"(,"from_kernel":)" +
        (request.from_kernel ? "true" : "false") + R"(,"is_ids":)" +
        (asked.is_ids ? "true" : "false") + R"(,"prompt_tokens":)" + std::to_string(prompt_tokens) +
        R"(,"body_bytes":)" + std::to_string(request.body.size()) + R"(,"body_hash":")" +
        std::to_string(hash_of(request.body)) + '"' + R"(,"asked_tokens":)" +
        std::to_string(asked.tokens) + R"(,"head_ns":)" + std::to_string(answered.head.began_ns) +
        R"(,"head_ended_ns":)" + std::to_string(answered.head.ended_ns) + R"(,"whole":)" +
        (whole ? "true" : "false");
    add_array(line, "token_ns", answered.tokens, &Sent::began_ns);
    add_array(line, "token_ended_ns", answered.tokens, &Sent::ended_ns);
    add_array(line, "token_left_ns", answered.tokens, &Sent::left_ns);
    return line + "}\n";
}

bool answer(Wire& wire, const Behaviour& behaviour, const Request& request, Log& log) {
    const bool is_probe = request.method == "GET" || request.id.substr(0, 20).ends_with("-a");
    static std::atomic<bool> announced{false};
    if (behaviour.announce && !is_probe && !announced.exchange(true)) {
        std::printf("row\n");
        std::fflush(stdout);
    }
    if (behaviour.status != 200 && !(behaviour.probes_only && is_probe)) {
        return send_whole(wire, behaviour.status,
                          R"({"error":{"message":"the receiver refuses everything"}})");
    }
    if (request.method == "GET" && request.target == "/v1/models") {
        return send_whole(wire, 200, R"({"object":"list","data":[{"id":"receiver"}]})");
    }
    const bool is_api =
        request.target == "/v1/chat/completions" || request.target == "/v1/completions";
    if (request.method != "POST" || !is_api) {
        return send_whole(wire, 404, R"({"detail":"Not Found"})");
    }
    const Asked asked = read_body(request.body);
    if (!asked.understood) {
        return send_whole(wire, 400, R"({"error":{"message":"no prompt in the body"}})");
    }
    const std::int64_t prompt_tokens = asked.words + (asked.is_ids ? 0 : behaviour.overhead);
    Answered answered;
    const bool open = !asked.stream || send_tokens(wire, behaviour, request, asked, answered);
    stamp_tokens(wire, answered.tokens);
    // Before the answer's end: whoever has read that may end this process, and finds the line.
    log.write(log_line(request, asked, prompt_tokens, answered, open));
    return open && send_end(wire, asked, prompt_tokens);
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
    Wire wire(socket);
    bool open = (behaviour.tls == nullptr || wire.secure(behaviour.tls)) &&
                (behaviour.lost_per_mille == 0 || wire.lose(behaviour.lost_per_mille));
    // Taken before the first request, not while one arrives. A slow reader sleeps often and
    // shortly.
    std::vector<char> room(behaviour.read_mb_s > 0 ? 1 << 14 : 1 << 17);
    while (open) {  // until the peer closes
        Request request;
        request.connection = number;
        open = wire.wait(behaviour.idle_ms) && read_request(wire, behaviour, room, request) &&
               answer(wire, behaviour, request, log);
    }
}

}  // namespace receiver
