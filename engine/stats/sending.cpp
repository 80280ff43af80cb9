#include "engine/stats/sending.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

void add_known(Sample& sample, std::int64_t value) {
    if (value >= 0) {
        sample.add(static_cast<double>(value));
    }
}

struct CapSamples {
    Sample held, drift;
    void add(std::int64_t held_ns, std::int64_t drift_ns) {
        held.add(static_cast<double>(held_ns));
        drift.add(static_cast<double>(drift_ns));
    }
    HeldFigures figures() const { return {held.distribution(), drift.distribution()}; }
};

}  // namespace

void Sending::add(const Record& record) {
    Row row{};
    row.due_ns = record.due_ns;
    row.row = record.row;
    row.left = record.fired_ns.has_value();
    if (!row.left) {
        rows_.push_back(row);
        return;
    }
    row.drift_ns = *record.fired_ns - record.due_ns;
    row.wire_delay_ns = record.wire_ns.has_value() ? *record.wire_ns - *record.fired_ns : -1;
    row.receive_delay_ns = record.receive_delay_ns.value_or(-1);
    row.submit_ns = record.submit_ns.value_or(-1);
    row.cause = record.late_cause;
    rows_.push_back(row);
    if (is_wish(row.cause) || row.cause == LateCause::limit) {
        held_.push_back({record.held_ns, row.drift_ns, row.cause});
    }
}

SendingFigures Sending::figures() const {
    SendingFigures figures;
    Sample drift, submit, wire_delay, wire_drift, receive_delay;
    std::array<Sample, late_cause_count> by_cause;
    CapSamples by_user, by_budget, by_host;
    for (const Held& one : held_) {
        CapSamples& of = one.cause == LateCause::limit    ? by_host
                         : one.cause == LateCause::budget ? by_budget
                                                          : by_user;
        of.add(one.held_ns, one.drift_ns);
    }
    for (const Row& row : rows_) {
        if (!row.left) {
            continue;
        }
        figures.wire_unknown += row.wire_delay_ns < 0 ? 1 : 0;
        add_known(submit, row.submit_ns);
        add_known(wire_delay, row.wire_delay_ns);
        add_known(receive_delay, row.receive_delay_ns);
        if (is_wish(row.cause)) {
            continue;
        }
        CHECK(static_cast<std::size_t>(row.cause) < by_cause.size());
        drift.add(static_cast<double>(row.drift_ns));
        by_cause[static_cast<std::size_t>(row.cause)].add(static_cast<double>(row.drift_ns));
        add_known(wire_drift, row.wire_delay_ns < 0 ? -1 : row.drift_ns + row.wire_delay_ns);
    }
    figures.drift = drift.distribution();
    figures.submit = submit.distribution();
    figures.wire_delay = wire_delay.distribution();
    figures.wire_drift = wire_drift.distribution();
    figures.receive_delay = receive_delay.distribution();
    for (std::size_t i = 0; i < by_cause.size(); ++i) {
        figures.by_cause[i] = by_cause[i].distribution();
    }
    figures.held_by_user = by_user.figures();
    figures.held_by_budget = by_budget.figures();
    figures.held_by_host = by_host.figures();
    figures.by_rank = by_rank(figures.instant_rows_max);
    CHECK(figures.instant_rows_max <= rows_.size());
    return figures;
}

// Rows of one instant are fired in file order, so that the rank is their place in it; a row that
// did not leave, or was held back, has a place too, as far as it is known.
std::vector<RankFigures> Sending::by_rank(std::uint32_t& instant_rows_max) const {
    std::vector<Row> rows(rows_.begin(), rows_.end());
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::tie(a.due_ns, a.row) < std::tie(b.due_ns, b.row);
    });
    std::vector<Sample> buckets;
    std::size_t first_of_instant = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        first_of_instant = rows[i].due_ns == rows[first_of_instant].due_ns ? first_of_instant : i;
        if (!rows[i].left) {
            continue;
        }
        const std::size_t bucket = std::bit_width(i - first_of_instant);
        instant_rows_max =
            std::max(instant_rows_max, static_cast<std::uint32_t>(i - first_of_instant + 1));
        if (!is_wish(rows[i].cause)) {
            CHECK(bucket <= 32);  // ranks have 32 bits
            buckets.resize(std::max(buckets.size(), bucket + 1));
            buckets[bucket].add(static_cast<double>(rows[i].drift_ns));
        }
    }
    std::vector<RankFigures> figures;
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
        const std::uint32_t first = bucket == 0 ? 0 : 1u << (bucket - 1);
        const std::uint32_t last = bucket == 0 ? 0 : (1u << bucket) - 1;
        if (buckets[bucket].count() > 0) {
            figures.push_back({first, last, buckets[bucket].distribution()});
        }
    }
    return figures;
}

}  // namespace driftless
