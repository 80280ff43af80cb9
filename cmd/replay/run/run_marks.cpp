#include "cmd/replay/run/run_marks.hpp"

namespace driftless {

RunMarks run_marks(Run& run, RequestPass& pass, const EventRing& ring, ReplayParts& parts,
                   const PromptBuilder::CacheMarks& before) {
    RunMarks marks;
    marks.lanes_max = run.lane_counts().open_max;
    marks.body_region = pass.bodies().region_bytes();
    marks.body_max = pass.bodies().used_bytes_max();
    marks.row_fields = parts.row_fields().bytes();
    marks.event_ring = ring.capacity_bytes();
    marks.event_ring_max = ring.high_bytes();
    const PromptBuilder::CacheMarks cache = parts.prompts().cache_marks();
    marks.block_cache = cache.bytes;
    marks.block_cache_hits = cache.hits - before.hits;
    marks.block_cache_misses = cache.misses - before.misses;
    marks.frames = run.frame_marks().slab_bytes;
    marks.frames_max = run.frame_marks().live_max;
    return marks;
}

}  // namespace driftless
