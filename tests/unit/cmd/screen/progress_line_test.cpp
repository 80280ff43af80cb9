// The progress line says the same at every size of a run, and nothing where nobody watches.
#include "cmd/screen/progress_line.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace driftless {
namespace {

// Numbers are grouped, times short, failures shown once there are any.
TEST(ProgressLine, SaysHowFarTheRunIs) {
    Progress progress;
    progress.elapsed_ns = 12'400'000'000;
    progress.left_ns = 24'000'000'000;
    progress.rows = 12031;
    progress.fired = 4210;
    progress.inflight = 312;
    progress.tokens_per_s = 1'208'123.4;
    progress.drift_max_ns = 1400;
    EXPECT_EQ(progress_text(progress),
              "0:12 / 0:24 left  fired 4,210 of 12,031  in flight 312  1,208,123 tok/s  "
              "worst drift 1.4 us");
    progress.elapsed_ns = 3'661'000'000'000;
    progress.left_ns = 0;
    progress.drift_max_ns = 999;
    progress.failed = 1000;
    EXPECT_EQ(progress_text(progress),
              "1:01:01 / 0:00 left  fired 4,210 of 12,031  in flight 312  1,208,123 tok/s  "
              "worst drift 999 ns  failed 1,000");
}

// A pipe is no terminal: no callback, and not a byte.
TEST(ProgressLine, IsQuietWithoutATerminal) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
        ProgressLine line(ends[1]);
        EXPECT_EQ(line.callback().call, nullptr);
        line.show(Progress());
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

}  // namespace
}  // namespace driftless
