#include "cmd/report/perfetto.hpp"

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/report/jsonl_rows.hpp"
#include "cmd/report/lane_slices.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/input/sink.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;

/// The file, and the packets that are not in it yet.
struct TraceFile {
    OutputSink sink;
    std::string packets;

    Result<void> write(std::size_t more_than) {
        if (packets.size() <= more_than) {
            return {};
        }
        const Result<void> written = sink.write(packets);
        packets.clear();
        return written;
    }
};

int refuse(const std::string& why) {
    complain("driftless report: %s", why.c_str());
    return exit_input;
}

int fail(const std::string& path, const Error& error) {
    return fail_new_file("--perfetto", path, error);
}

}  // namespace

int write_perfetto(const ReportedRun& run, const std::string& path) {
    std::string why;
    Result<JsonlRows> records =
        JsonlRows::open(run.records_path(), figures_of(RunTable::requests), why);
    Result<JsonlRows> events =
        JsonlRows::open(run.events_path(), figures_of(RunTable::events), why);
    if (!records || !events) {
        return refuse(why);
    }
    Result<OutputSink> sink = OutputSink::create(path);
    if (!sink) {
        return fail(path, sink.error());
    }
    TraceFile file{std::move(sink).value(), {}};
    std::vector<std::string_view> names;
    for (const JsonlRows* rows : {&records.value(), &events.value()}) {
        for (const Figure& column : rows->columns()) {
            names.push_back(column.name);
        }
    }
    Digest digest;
    digest.add(run.facts.segments.front().run_id);
    const std::uint64_t identity = digest.value();
    PerfettoTrace trace(file.packets, static_cast<std::uint32_t>(identity) | 1);
    trace.begin(names);
    const std::string name = "driftless " + run.info.trace + " " + run.info.date;
    LaneSlices slices(trace, records.value().columns(), events.value().columns(),
                      {run.facts.segments.front().clock.zero_utc_ns, identity, name});
    while (const TableRow* row = records.value().next()) {
        slices.add(*row);
        if (const Result<void> written = file.write(write_bytes); !written) {
            return fail(path, written.error());
        }
    }
    while (const TableRow* row = events.value().next()) {
        slices.add_event(*row);
    }
    for (const JsonlRows* rows : {&records.value(), &events.value()}) {
        if (!rows->why().empty()) {
            return refuse(rows->why());
        }
    }
    Result<void> done = file.write(0);
    if (done) {
        done = file.sink.finish();
    }
    return done ? exit_done : fail(path, done.error());
}

}  // namespace driftless
