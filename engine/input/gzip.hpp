/// GzipDecoder: gzip members, one behind the other, decoded to the last byte that is there.
///
/// By zlib itself: libarchive gives a broken member's bytes back only in whole blocks of 64 KiB,
/// and logs that are still being written (Dynamo's jsonl_gz) end in a broken member, whose last
/// rows are wanted. What stands behind the last member and is none (padding) is ignored, as gzip
/// does. Owns zlib's state and one buffer; reads from the RawBytes that it is given.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/input/raw_bytes.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class GzipDecoder {
  public:
    GzipDecoder();
    ~GzipDecoder();

    /// The next piece, valid until the next read; empty at the end. Errors: truncated (the member
    /// ends early or is damaged; everything before was given), io_failed.
    Result<std::string_view> read(RawBytes& raw);

    /// Why the last read failed: "truncated gzip input".
    const std::string& error_text() const { return error_text_; }

  private:
    struct State;
    enum class Step : bool { more, stop };

    Result<Step> decode_some(RawBytes& raw);
    Result<Step> next_member(RawBytes& raw);

    std::unique_ptr<State> state_;
    std::string error_text_;
};

}  // namespace driftless
