// What a run says of its load, by its summary and its records.
#include "cmd/find/judged_probe.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cmd/exit_codes.hpp"
#include "proto/record/record.hpp"

namespace driftless {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// A folder with records of so many rows, 10 ms apart, whose TTFT and answer grow by so much a row.
class JudgedProbeTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "judged_probe_" + std::to_string(::getpid());
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write_records(unsigned rows, std::int64_t growth_ns) const {
        std::string text;
        for (unsigned i = 0; i < rows; ++i) {
            Record record;
            record.row = record.request = i;
            record.due_ns = i * 10 * ms;
            record.fired_ns = record.due_ns;
            record.first_token_ns = record.due_ns + 20 * ms + i * growth_ns;
            record.ended_ns = *record.first_token_ns + 20 * ms;
            record.outcome = Outcome::ok;
            append_jsonl(text, record);
        }
        std::ofstream(folder_ + "/requests.jsonl") << text;
    }

    JudgedProbe judge(const std::string& verdict, unsigned rows, double ttft_ms, double errors,
                      int exit_code = exit_done) const {
        const Slos slos = parse_slos("ttft:p90<100ms").value();
        const auto finding = [](double value, const char* unit, bool fails) {
            return R"({"fail_if":"x","value":)" + std::to_string(value) + R"(,"unit":")" + unit +
                   R"(","fails":)" + (fails ? "true}" : "false}");
        };
        const std::string text = R"({"fired":)" + std::to_string(rows) +
                                 R"(,"warmup":{"fired":0},"verdict":{"name":")" + verdict +
                                 R"(","reasons":["a reason"]},"thresholds":[)" +
                                 finding(ttft_ms, "ms", ttft_ms >= 100) + "," +
                                 finding(errors, "share", errors >= 0.01) + "]}";
        CellEnd end;
        end.outcome = exit_code == exit_done ? CellOutcome::completed : CellOutcome::threshold;
        end.exit_code = exit_code;
        end.summary.emplace(CellSummary::read(text).value());
        EXPECT_TRUE(can_be_judged(end));
        JudgedProbe probe;
        const Result<void> judged = judge_probe(end, folder_, slos, probe);
        EXPECT_TRUE(judged) << judged.error().doing;
        return probe;
    }

    std::string folder_;
};

TEST_F(JudgedProbeTest, MeetsOrFails) {
    write_records(100, 0);
    const JudgedProbe meets = judge("certified", 100, 40, 0);
    EXPECT_EQ(meets.outcome, ProbeOutcome::meets);
    EXPECT_EQ(meets.rows, 100U);
    EXPECT_EQ(meets.stability.stability, Stability::stable);
    EXPECT_EQ(meets.binds, "");
    const JudgedProbe fails = judge("uncalibrated", 100, 400, 0, exit_threshold);
    EXPECT_EQ(fails.outcome, ProbeOutcome::fails);
    EXPECT_EQ(fails.binds, "ttft:p90<100ms");
    EXPECT_NE(fails.why.find("400.000 ms"), std::string::npos) << fails.why;
    // What lies beyond its bound by the largest factor binds.
    EXPECT_EQ(judge("certified", 100, 400, 0.5, exit_threshold).binds, "errors<1%");
    EXPECT_EQ(judge("certified", 100, 400, 0.02, exit_threshold).binds, "ttft:p90<100ms");
}

TEST_F(JudgedProbeTest, ThrowsAwayWhatTheClientSpoiled) {
    write_records(100, 0);
    for (const char* verdict : {"client-limited", "host-noisy", "network-limited"}) {
        const JudgedProbe probe = judge(verdict, 100, 40, 0);
        EXPECT_EQ(probe.outcome, ProbeOutcome::spoiled);
        EXPECT_EQ(probe.why, std::string(verdict) + ": a reason");
    }
    EXPECT_EQ(judge("certified-with-exclusions", 100, 40, 0).outcome, ProbeOutcome::meets);
}

TEST_F(JudgedProbeTest, ThrowsAwayWhatIsTooShort) {
    write_records(63, 0);
    EXPECT_EQ(judge("certified", 63, 40, 0).outcome, ProbeOutcome::too_short);
    EXPECT_EQ(judge("certified", 63, 400, 0).outcome, ProbeOutcome::too_short);
    write_records(64, 0);
    EXPECT_EQ(judge("certified", 64, 40, 0).outcome, ProbeOutcome::meets);
}

// TTFT is within its bound, and would not be in a longer run.
TEST_F(JudgedProbeTest, FailsWhatTheServerDoesNotKeepUpWith) {
    write_records(200, ms);
    const JudgedProbe probe = judge("certified", 200, 99, 0);
    EXPECT_EQ(probe.outcome, ProbeOutcome::fails);
    EXPECT_EQ(probe.binds, "stability");
    EXPECT_NE(probe.why.find("does not keep up"), std::string::npos);
}

TEST(JudgedProbe, NeedsARunThatEnded) {
    CellEnd end;
    EXPECT_FALSE(can_be_judged(end));
    end.exit_code = exit_preflight;
    EXPECT_FALSE(can_be_judged(end));
    end.exit_code = exit_no_success;
    EXPECT_FALSE(can_be_judged(end));
    end.summary.emplace(CellSummary::read("{}").value());
    EXPECT_TRUE(can_be_judged(end));
    end.outcome = CellOutcome::interrupted;
    EXPECT_FALSE(can_be_judged(end));
}

}  // namespace
}  // namespace driftless
