/// RecordOrder: what orders the records of a run, and tells them apart. RecordOrders reads it from
/// a line of `requests.jsonl` without what follows it. It owns what it needs for that, and
/// allocates nothing in the long run; for one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct RecordOrder {
    std::int64_t due_ns = 0;  ///< ns from time 0
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
    Side side = Side::none;
};

class RecordOrders {
  public:
    /// The line comes without its newline. Of a line as it is written nothing behind `due_ns` is
    /// looked at: whether it is a whole record says `read_record`. Errors: bad_json, missing,
    /// out_of_range; `doing` is the key.
    Result<RecordOrder> read(std::string_view line);

  private:
    JsonDocument document_;
    Record record_;
};

}  // namespace driftless
