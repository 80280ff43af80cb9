// Any bytes as a file, compressed or not: what comes out is the same however the bytes come in,
// plain bytes come out as they are, and what breaks off says so.
#include <fcntl.h>
#include <unistd.h>

#include "engine/plan/compressed_files.hpp"
#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

constexpr std::size_t packet_bytes = 4096;           // PIPE_BUF: a write of it stays whole
constexpr std::size_t input_bytes_max = 12 << 10;    // packets and single bytes fit a pipe
constexpr std::size_t output_bytes_max = 512 << 10;  // 4 KB of zstd can be gigabytes
constexpr std::size_t singles = 128;                 // bytes that come one by one

struct Read {
    std::string bytes;
    bool failed = false;
    bool more = false;
    std::string compression;
    bool operator==(const Read&) const = default;
};

// A pipe in packets: each of its reads gives one of them.
class Packets {
  public:
    Packets() {
        CHECK(::pipe2(ends_, O_DIRECT | O_CLOEXEC) == 0);
        CHECK(::fcntl(ends_[1], F_SETPIPE_SZ, 1 << 20) > 0);
    }
    ~Packets() { ::close(ends_[0]); }
    void write(std::string_view bytes) const {
        for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), packet_bytes))) {
            const std::string_view packet = bytes.substr(0, packet_bytes);
            CHECK(::write(ends_[1], packet.data(), packet.size()) ==
                  static_cast<ssize_t>(packet.size()));
        }
    }
    Read read() const {
        const std::string path = "/proc/self/fd/" + std::to_string(ends_[0]);
        Result<InputSource> source = InputSource::open(path);
        CHECK(static_cast<bool>(source));
        ::close(ends_[1]);
        Read out;
        Result<std::string_view> piece = source.value().read();
        while (piece && !piece.value().empty() && out.bytes.size() < output_bytes_max) {
            out.bytes += piece.value();
            piece = source.value().read();
        }
        out.failed = !piece;
        out.more = piece && !piece.value().empty();
        out.compression = source.value().compression();
        CHECK(piece || !source.value().error_text().empty());
        return out;
    }

  private:
    int ends_[2];
};

Read read_split(std::string_view bytes, std::size_t split) {
    const Packets packets;
    packets.write(bytes.substr(0, split));
    packets.write(bytes.substr(split));
    return packets.read();
}

Read read_singles(std::string_view bytes) {
    const Packets packets;
    for (std::size_t i = 0; i < std::min(bytes.size(), singles); ++i) {
        packets.write(bytes.substr(i, 1));
    }
    packets.write(bytes.substr(std::min(bytes.size(), singles)));
    return packets.read();
}

void fuzz_compressed(std::string_view any) {
    if (any.size() > input_bytes_max) {
        return;
    }
    const FuzzInput input = read_input(any);
    const Read whole = read_split(input.bytes, 0);
    CHECK(whole.more || read_split(input.bytes, input.split) == whole);
    CHECK(whole.more || read_singles(input.bytes) == whole);
    const bool skipped = input.bytes.size() > 3 && input.bytes.substr(1, 3) == "\x2A\x4D\x18";
    CHECK(whole.compression != "none" || skipped || (whole.bytes == input.bytes && !whole.failed));
}

const FuzzTargets compressed_target = {{"compressed", fuzz_compressed}};

}  // namespace
}  // namespace driftless
