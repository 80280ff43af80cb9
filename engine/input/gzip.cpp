#include "engine/input/gzip.hpp"

#include <zlib.h>

#include "proto/core/check.hpp"

namespace driftless {
namespace {

constexpr std::size_t piece_bytes = std::size_t{256} << 10;
constexpr int window_bits = 15 + 16;  ///< the largest window; 16 asks for gzip's header and trailer
constexpr std::string_view magic = "\x1F\x8B";

}  // namespace

struct GzipDecoder::State {
    State() { CHECK(inflateInit2(&stream, window_bits) == Z_OK); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { (void)inflateEnd(&stream); }

    z_stream stream = {};
    bool ended = false;  ///< behind the last member
    bool broken = false;
    std::unique_ptr<char[]> piece = std::make_unique_for_overwrite<char[]>(piece_bytes);
};

GzipDecoder::GzipDecoder() : state_(std::make_unique<State>()) {}
GzipDecoder::~GzipDecoder() = default;

Result<std::string_view> GzipDecoder::read(RawBytes& raw) {
    z_stream& stream = state_->stream;
    stream.next_out = reinterpret_cast<Bytef*>(state_->piece.get());
    stream.avail_out = piece_bytes;
    while (stream.avail_out > 0 && !state_->ended && !state_->broken) {
        const Result<Step> step = decode_some(raw);
        if (!step) {
            return step.error();
        }
        if (step.value() == Step::stop) {
            break;
        }
    }
    const std::size_t bytes = piece_bytes - stream.avail_out;
    if (bytes == 0 && state_->broken) {
        return Error{ErrorCode::truncated, 0, "read the trace"};
    }
    return std::string_view(state_->piece.get(), bytes);
}

/// Decodes what lies ahead, as far as there is room.
Result<GzipDecoder::Step> GzipDecoder::decode_some(RawBytes& raw) {
    const Result<std::string_view> ahead = raw.ahead();
    if (!ahead) {
        return ahead.error();
    }
    if (ahead.value().empty()) {
        error_text_ = "truncated gzip input";
        state_->broken = true;
        return Step::stop;
    }
    z_stream& stream = state_->stream;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(ahead.value().data()));
    stream.avail_in = static_cast<uInt>(ahead.value().size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    raw.take(ahead.value().size() - stream.avail_in);
    if (result == Z_STREAM_END) {
        return next_member(raw);
    }
    if (result != Z_OK) {  // Z_BUF_ERROR cannot be: there are bytes, and there is room
        error_text_ = "damaged gzip input";
        error_text_ += stream.msg == nullptr ? "" : " (" + std::string(stream.msg) + ")";
        state_->broken = true;
        return Step::stop;
    }
    return Step::more;
}

Result<GzipDecoder::Step> GzipDecoder::next_member(RawBytes& raw) {
    const Result<std::string_view> ahead = raw.ahead(magic.size());
    if (!ahead) {
        return ahead.error();
    }
    state_->ended = !ahead.value().starts_with(magic);
    CHECK(inflateReset(&state_->stream) == Z_OK);
    return state_->ended ? Step::stop : Step::more;
}

}  // namespace driftless
