// Running and waiting requests of a /metrics page, by the names of each server.
#include <gtest/gtest.h>

#include "cmd/runs/sweep.hpp"

namespace driftless {
namespace {

TEST(BusyRequests, AreSummedOverEngines) {
    EXPECT_EQ(busy_requests("# HELP vllm:num_requests_running Number\n"
                            "# TYPE vllm:num_requests_running gauge\n"
                            "vllm:num_requests_running{engine=\"0\",model_name=\"a b}c\"} 2.0\n"
                            "vllm:num_requests_running{engine=\"1\"} 1.0\n"
                            "vllm:num_requests_waiting{engine=\"0\"} 4\n"
                            "vllm:num_requests_waiting_by_reason{reason=\"x\"} 9\n"
                            "vllm:num_requests_swapped 5\n"),
              7);
    EXPECT_EQ(busy_requests("sglang:num_running_reqs{x=\"y\"} 0.0\nsglang:num_queue_reqs 0"), 0);
    EXPECT_EQ(busy_requests("llamacpp:requests_processing 1\n"), 1);
    EXPECT_EQ(busy_requests("tgi_queue_size 3 1700000000000\n"), 3);
}

TEST(BusyRequests, AreNotKnownWithoutTheirCounters) {
    EXPECT_EQ(busy_requests(""), std::nullopt);
    EXPECT_EQ(busy_requests("process_cpu_seconds_total 3\n"), std::nullopt);
    EXPECT_EQ(busy_requests("vllm:num_requests_running{engine=\"0\" 2\n"), std::nullopt);
    EXPECT_EQ(busy_requests("vllm:num_requests_running NaN\n"), std::nullopt);
}

}  // namespace
}  // namespace driftless
