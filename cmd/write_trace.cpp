#include "cmd/write_trace.hpp"

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "engine/input/sink.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;

}  // namespace

int write_trace(const Trace& trace, const TraceTarget& target, std::vector<WrittenRow> rows,
                const std::string& path, std::FILE* say) {
    const std::size_t count = rows.size();
    TraceWriter writer(trace, target, std::move(rows));
    Result<OutputSink> sink = OutputSink::create(path);
    if (!sink) {
        return fail_new_file("--out", path, sink.error());
    }
    std::string text;
    std::uint64_t bytes = 0;
    for (bool more = true; more;) {
        more = writer.next(text);
        if (!more || text.size() >= write_bytes) {
            bytes += text.size();
            const Result<void> written = sink.value().write(text);
            if (!written) {
                return fail_new_file("--out", path, written.error());
            }
            text.clear();
        }
    }
    const Result<void> finished = sink.value().finish();
    if (!finished) {
        return fail_new_file("--out", path, finished.error());
    }
    for (const std::string& line : writer.losses()) {
        std::fprintf(say, "loss: %s\n", line.c_str());
    }
    std::fprintf(say, "wrote: %s: %zu %s, format %s, %llu bytes before compression\n", path.c_str(),
                 count, count == 1 ? "row" : "rows", target.name,
                 static_cast<unsigned long long>(bytes));
    return exit_done;
}

}  // namespace driftless
