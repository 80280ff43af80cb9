/// Player: a client in virtual time for tests of the mock's core. It sends requests, takes answers
/// at the instants that the core names, and reads HTTP in the most naive way.
#pragma once

#include "cmd/mock/core.hpp"
#include "tests/test.hpp"

namespace driftless::mock {

/// What one produce gave, and when.
struct Sent {
    std::int64_t at_ns;
    std::string bytes;
};

class Player {
  public:
    explicit Player(const CoreOptions& options) : core(options), connection(&core.open(now)) {}

    /// Sends bytes, `piece_bytes` a time.
    void send(std::string_view bytes, std::size_t piece_bytes = SIZE_MAX) {
        while (!bytes.empty()) {
            const std::string piece(bytes.substr(0, piece_bytes));  // gone after the call
            bytes.remove_prefix(piece.size());
            connection->receive(piece, now);
        }
    }

    /// Lets time pass until the core has nothing more to send.
    void run(std::size_t sends_max = 100'000) {
        for (;;) {  // ends: each step and each produce moves its deadline on
            const Instant deadline = std::min(connection->next_deadline(), core.next_deadline());
            if (deadline == never || sends.size() >= sends_max) {
                return;
            }
            now = std::max(now, deadline);
            core.advance(now);
            if (connection->next_deadline() > now) {
                continue;
            }
            std::string out;
            connection->produce(now, out);
            sends.push_back({now.ns, out});
            received += out;
        }
    }

    /// Sends a request, takes the whole answer, and gives its bytes.
    std::string ask(std::string_view request, std::size_t piece_bytes = SIZE_MAX) {
        sends.clear();
        received.clear();
        send(request, piece_bytes);
        run();
        return received;
    }

    RequestLog take_log() {
        RequestLog entry;
        EXPECT_TRUE(core.take_finished(entry));
        return entry;
    }

    MockCore core;
    Instant now{1'000'000};
    MockConnection* connection;
    std::vector<Sent> sends;
    std::string received;
};

inline std::string post(std::string_view target, std::string_view body,
                        std::string_view fields = "X-Request-Id: run-7\r\n") {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: mock\r\n" + std::string(fields) +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

inline std::string get(std::string_view target) {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: mock\r\n\r\n";
}

/// A streamed chat request of `words` words and `tokens` tokens.
inline std::string chat(std::size_t words, std::size_t tokens,
                        std::string_view fields = "X-Request-Id: run-7\r\n",
                        std::string_view more = "") {
    std::string prompt;
    for (std::size_t i = 0; i < words; ++i) {
        prompt += (i == 0 ? "w" : " w") + std::to_string(i);
    }
    return post("/v1/chat/completions",
                R"({"model":"mock-model","messages":[{"role":"user","content":")" + prompt +
                    R"("}],"max_completion_tokens":)" + std::to_string(tokens) +
                    R"(,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true)" +
                    std::string(more) + "}}",
                fields);
}

inline int status_of(const std::string& response) {
    return response.size() < 12 ? 0 : std::stoi(response.substr(9, 3));
}

inline std::string head_of(const std::string& response) {
    return response.substr(0, response.find("\r\n\r\n") + 4);
}

/// The body as the head frames it; `complete` false where the end is missing.
inline std::string body_of(const std::string& response, bool* complete = nullptr) {
    bool ignored = false;
    bool& whole = complete == nullptr ? ignored : *complete;
    whole = false;
    const std::string head = head_of(response);
    std::string rest = response.substr(head.size());
    if (head.find("transfer-encoding: chunked\r\n") == std::string::npos) {
        const std::size_t at = head.find("content-length: ");
        whole = at != std::string::npos && rest.size() == std::stoul(head.substr(at + 16));
        return rest;
    }
    std::string body;
    while (!rest.empty()) {
        const std::size_t line = rest.find("\r\n");
        const std::size_t bytes = std::stoul(rest.substr(0, line), nullptr, 16);
        if (rest.size() < line + 4 + bytes || rest.substr(line + 2 + bytes, 2) != "\r\n") {
            ADD_FAILURE() << "a chunk is not whole: " << rest;
            break;
        }
        body += rest.substr(line + 2, bytes);
        rest.erase(0, line + 4 + bytes);
        if (bytes == 0) {
            whole = rest.empty();
            break;
        }
    }
    return body;
}

/// The data of each event of a stream.
inline std::vector<std::string> events_of(const std::string& response, bool* complete = nullptr) {
    std::vector<std::string> events;
    std::string body = body_of(response, complete);
    while (!body.empty()) {
        const std::size_t end = body.find("\n\n");
        EXPECT_EQ(body.substr(0, 6), "data: ");
        EXPECT_NE(end, std::string::npos);
        events.push_back(body.substr(6, end - 6));
        body.erase(0, end + 2);
    }
    return events;
}

}  // namespace driftless::mock
