#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <vector>

#include "cmd/reading/prefix_cache.hpp"
#include "cmd/reading/trace_figures.hpp"
#include "engine/plan/forecast.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/agents.hpp"

namespace driftless {

namespace {

void write_count(JsonWriter& json, std::string_view key, std::uint64_t count) {
    json.key(key).unsigned_integer(count);
}

/// A part of a whole; null where the whole is 0.
void write_rate(JsonWriter& json, std::string_view key, std::uint64_t part, std::uint64_t whole) {
    json.key(key);
    whole == 0 ? json.null() : json.number(static_cast<double>(part) / static_cast<double>(whole));
}

void write_trace(JsonWriter& json, const Trace& trace) {
    char digest[17];
    std::snprintf(digest, sizeof digest, "%016" PRIx64, trace.digest);
    json.key("trace").begin_object();
    json.key("format").string(trace.format);
    json.key("time_unit").string(trace.time_unit);
    json.key("block_size");
    trace.block_size == 0 ? json.null() : json.unsigned_integer(trace.block_size);
    json.key("partial_blocks_have_ids");
    trace.block_size == 0 ? json.null() : json.boolean(trace.tail_rule == TailRule::ceil);
    write_count(json, "name_spaces", trace.name_spaces);
    write_count(json, "bytes", trace.bytes);
    json.key("digest").string(digest);
    write_count(json, "rows", trace.rows.size());
    write_count(json, "rows_unsorted", trace.rows_unsorted);
    write_count(json, "zero_outputs", trace.zero_outputs);
    write_count(json, "surplus_ids", trace.surplus_ids);
    write_count(json, "rows_uncovered", trace.rows_uncovered);
    write_count(json, "unknown_values", trace.unknown_keys);
    json.key("remarks").begin_array();
    for (const Remark& remark : trace.remarks) {
        json.begin_object().key("text").string(remark.count == 1 ? remark.one : remark.many);
        write_count(json, "count", remark.count);
        json.end_object();
    }
    json.end_array().end_object();
}

void write_errors(JsonWriter& json, const InputErrors& errors) {
    json.key("errors").begin_object();
    write_count(json, "count", errors.count);
    json.key("list").begin_array();
    for (const InputError& error : errors.list) {
        json.begin_object();
        json.key("file").string(error.file);
        write_count(json, "line", error.line);
        json.key("field").string(error.field);
        json.key("value").string(error.value);
        json.key("problem").string(error.problem);
        json.key("remedy").string(error.remedy);
        json.end_object();
    }
    json.end_array().end_object();
}

void write_burst(JsonWriter& json, std::string_view key, const Burst& burst) {
    json.key(key).begin_object();
    write_count(json, "rows", burst.rows);
    write_count(json, "input_tokens", burst.input_tokens);
    json.key("at_ns").integer(burst.at_ns).end_object();
}

void write_arrivals(JsonWriter& json, const ArrivalFigures& f) {
    json.key("arrivals").begin_object();
    json.key("span_ns").integer(f.span_ns);
    json.key("rows_per_s").number(f.rows_per_s);
    write_count(json, "instants", f.instants);
    write_burst(json, "largest_instant", f.most_rows);
    write_burst(json, "heaviest_instant", f.most_tokens);
    json.key("windows").begin_array();
    for (std::size_t i = 0; i < windows_ns.size(); ++i) {
        json.begin_object().key("window_ns").integer(windows_ns[i]);
        write_count(json, "most_rows", f.peaks[i].rows);
        write_count(json, "most_rows_anywhere", f.peaks[i].rows_anywhere);
        write_count(json, "most_input_tokens_anywhere", f.peaks[i].input_tokens_anywhere);
        write_count(json, "windows", f.dispersion[i].windows);
        json.key("dispersion").number(f.dispersion[i].recorded);
        json.key("dispersion_spread").number(f.dispersion[i].spread).end_object();
    }
    json.end_array().key("gap_variation").begin_object();
    json.key("recorded").number(f.gap_variation);
    json.key("spread").number(f.gap_variation_spread).end_object().end_object();
}

void write_timeline(JsonWriter& json, const Timeline& line) {
    const auto values = [&](std::string_view key, const std::vector<std::uint64_t>& list) {
        json.key(key).begin_array();
        for (const std::uint64_t value : list) {
            json.unsigned_integer(value);
        }
        json.end_array();
    };
    json.key("timeline").begin_object().key("bucket_ns").integer(line.bucket_ns);
    values("rows", line.rows);
    values("input_tokens", line.input_tokens);
    values("output_tokens", line.output_tokens);
    values("blocks_used", line.blocks_used);
    values("blocks_new", line.blocks_new);
    json.end_object();
}

void write_lengths(JsonWriter& json, std::string_view key, const LengthFigures& f) {
    json.key(key).begin_object();
    write_members(json, f.distribution);
    write_count(json, "sum", f.sum);
    json.key("histogram").begin_array();
    for (std::size_t power = 0; power < f.by_power.size(); ++power) {
        if (f.by_power[power] > 0) {
            json.begin_object();
            write_count(json, "from", std::uint64_t{1} << power);
            write_count(json, "rows", f.by_power[power]);
            json.end_object();
        }
    }
    json.end_array().end_object();
}

void write_context(JsonWriter& json, const std::optional<ContextFigures>& f) {
    json.key("context");
    if (!f) {
        json.null();
        return;
    }
    json.begin_object();
    write_count(json, "max_model_len", f->limit);
    write_count(json, "rows_over", f->rows_over);
    write_count(json, "rows_without_room", f->input_over);
    json.end_object();
}

void write_sessions(JsonWriter& json, const SessionFigures& f) {
    json.key("sessions").begin_object();
    write_count(json, "sessions", f.sessions);
    write_count(json, "rows", f.rows);
    write_distribution(json, "rows_each", f.rows_each);
    write_distribution(json, "length_ns", f.length_ns);
    write_count(json, "dependencies", f.dependencies);
    write_count(json, "overlaps", f.overlaps);
    write_distribution(json, "delay_ns", f.delay_ns);
    json.end_object();
}

void write_blocks(JsonWriter& json, const InspectFigures& figures) {
    json.key("blocks");
    if (!figures.has_blocks) {
        json.null();
        return;
    }
    const BlockFigures& f = figures.blocks;
    json.begin_object();
    write_count(json, "references", f.references);
    write_count(json, "ids", f.ids);
    write_count(json, "prefixes", f.prefixes);
    json.key("chained").boolean(f.chained());
    write_count(json, "ids_moving", f.ids_moving);
    write_count(json, "ids_joining", f.ids_joining);
    write_count(json, "ids_of_two_lengths", f.ids_of_two_lengths);
    write_count(json, "ids_partial", f.ids_partial);
    write_count(json, "ids_partial_shared", f.ids_partial_shared);
    write_count(json, "rows_complete", f.rows_complete);
    write_count(json, "rows_in_part", f.rows_in_part);
    write_count(json, "rows_new", f.rows_new);
    write_count(json, "rows_without_ids", f.rows_without_ids);
    write_count(json, "expected_cached_tokens", figures.foretold.cached_tokens);
    json.end_object();
}

/// Hits in blocks and tokens, and their shares of all.
void write_hits(JsonWriter& json, const CapacityFigures& f, std::uint64_t blocks,
                std::uint64_t tokens) {
    write_count(json, "hit_blocks", blocks);
    write_count(json, "hit_tokens", tokens);
    write_rate(json, "hit_rate_blocks", blocks, f.references);
    write_rate(json, "hit_rate_tokens", tokens, f.input_tokens);
}

void write_capacity(JsonWriter& json, const CapacityFigures& f) {
    json.begin_object();
    write_count(json, "block_size", f.block_size);
    write_count(json, "references", f.references);
    write_count(json, "distinct", f.distinct);
    write_hits(json, f, f.hit_blocks, f.hit_tokens);
    json.key("sizes").begin_array();
    for (std::size_t i = 0; i < ideal_shares.size(); ++i) {
        json.begin_object().key("share").number(ideal_shares[i] / 1000.0);
        write_count(json, "blocks", f.blocks_for[i]);
        write_count(json, "tokens", f.blocks_for[i] * f.block_size);
        json.end_object();
    }
    json.end_array().key("curve").begin_array();
    for (const CapacityPoint& point : f.curve) {
        json.begin_object();
        write_count(json, "blocks", point.blocks);
        write_count(json, "tokens", point.blocks * f.block_size);
        write_hits(json, f, point.hit_blocks, point.hit_tokens);
        json.end_object();
    }
    json.end_array().end_object();
}

void write_file(JsonWriter& json, const FileFigures& f) {
    json.begin_object().key("name").string(f.name);
    write_count(json, "rows", f.rows);
    json.key("span_ns").integer(f.span_ns);
    write_count(json, "input_tokens", f.input_tokens);
    write_count(json, "output_tokens", f.output_tokens);
    write_count(json, "references", f.references);
    write_count(json, "hit_blocks", f.hit_blocks);
    write_count(json, "hit_tokens", f.hit_tokens);
    json.end_object();
}

}  // namespace

void append_json(std::string& out, const Trace& trace, const InspectFigures& figures) {
    const std::size_t begin = out.size();
    JsonWriter json(out);
    json.begin_object().key("schema").integer(inspect_schema);
    json.key("name").string(trace.name);
    write_errors(json, {});
    write_trace(json, trace);
    write_count(json, "rows", figures.rows);
    write_count(json, "rows_outside", figures.rows_outside);
    write_arrivals(json, figures.arrivals);
    write_timeline(json, figures.timeline);
    write_lengths(json, "input_tokens", figures.input);
    write_lengths(json, "output_tokens", figures.output);
    write_context(json, figures.context);
    write_sessions(json, figures.sessions);
    write_blocks(json, figures);
    json.key("capacity").begin_array();
    for (const CapacityFigures& one : figures.capacity) {
        write_capacity(json, one);
    }
    json.end_array().key("files").begin_array();
    for (const FileFigures& file : figures.files) {
        write_file(json, file);
    }
    json.end_array().end_object();
    escape_unprintable_json(out, begin);
}

void append_json(std::string& out, const Trace& trace, const InputErrors& errors) {
    const std::size_t begin = out.size();
    JsonWriter json(out);
    json.begin_object().key("schema").integer(inspect_schema);
    json.key("name").string(trace.name);
    write_errors(json, errors);
    for (const char* key :
         {"trace", "rows", "rows_outside", "arrivals", "timeline", "input_tokens", "output_tokens",
          "context", "sessions", "blocks", "capacity", "files"}) {
        json.key(key).null();
    }
    json.end_object();
    escape_unprintable_json(out, begin);
}

namespace {

enum class Action : std::uint8_t { first, hit, partial_hit, miss, no_hash_ids };
constexpr const char* action_names[] = {"FIRST", "HIT", "PARTIAL_HIT", "MISS", "NO_HASH_IDS"};

struct Request {
    std::uint64_t place = 0;  ///< `req`
    Action action = Action::first;
    std::uint64_t in_tokens = 0;
    std::uint64_t blocks = 0;
    std::uint64_t blocks_before = 0;  ///< of the request before
    std::uint64_t shared = 0;         ///< blocks of the longest prefix of any request before
    std::uint64_t hit_tokens = 0;
    std::uint64_t kept = 0;  ///< blocks of the prefix that it shares with the request before
    std::uint64_t kept_tokens = 0;
};

struct Sums {
    std::uint64_t requests = 0;
    std::uint64_t actions[5] = {};
    std::uint64_t hit_tokens = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t set_hits = 0;
    std::uint64_t set_total = 0;

    void add(const Sums& other) {
        requests += other.requests;
        for (std::size_t i = 0; i < std::size(actions); ++i) {
            actions[i] += other.actions[i];
        }
        hit_tokens += other.hit_tokens;
        input_tokens += other.input_tokens;
        set_hits += other.set_hits;
        set_total += other.set_total;
    }
};

/// Whether each session is a sub-agent: named as another one, a slash, and more.
std::vector<bool> sub_agents(const Trace& trace) {
    std::vector<std::string_view> names(trace.sessions.begin(), trace.sessions.end());
    std::sort(names.begin(), names.end());
    std::vector<bool> result;
    for (const std::string_view name : trace.sessions) {
        bool sub = false;
        for (std::size_t slash = name.find('/'); slash != name.npos && !sub;
             slash = name.find('/', slash + 1)) {
            sub = std::binary_search(names.begin(), names.end(), name.substr(0, slash));
        }
        result.push_back(sub);
    }
    return result;
}

/// Plays the requests of one file.
class Simulation {
  public:
    Simulation(const Trace& trace, const std::vector<bool>& is_sub_agent)
        : trace_(trace), is_sub_agent_(is_sub_agent), seen_(trace.sessions.size()), tree_(trace) {
        for (std::size_t session = 0; session < seen_.size(); ++session) {
            // A chain inside a sub-agent has no place of its own.
            seen_[session] = trace.sessions[session].find(chain_mark) != std::string::npos;
        }
    }

    /// Rows come in file order. `requests`: where each is noted, or nullptr.
    void add(const TraceRow& row, std::vector<Request>* requests);
    const Sums& sums() const { return sums_; }

  private:
    Request play(const TraceRow& row);
    void count_set(const TraceRow& row);

    const Trace& trace_;
    const std::vector<bool>& is_sub_agent_;
    std::vector<bool> seen_;  ///< [session] a sub-agent whose place is counted
    PrefixTree tree_;
    /// [id in its namespace] the request that had it first
    std::unordered_map<std::uint64_t, std::uint64_t> first_request_;
    const TraceRow* before_ = nullptr;
    std::uint64_t place_ = 0;
    Sums sums_;
};

void Simulation::add(const TraceRow& row, std::vector<Request>* requests) {
    if (row.session != no_session && is_sub_agent_[row.session]) {
        place_ += seen_[row.session] ? 0 : 1;
        seen_[row.session] = true;
        return;
    }
    const Request request = play(row);
    ++sums_.requests;
    ++sums_.actions[static_cast<std::size_t>(request.action)];
    sums_.hit_tokens += request.hit_tokens;
    sums_.input_tokens += request.in_tokens;
    count_set(row);
    before_ = &row;
    if (requests != nullptr) {
        requests->push_back(request);
    }
}

Request Simulation::play(const TraceRow& row) {
    const PrefixTree::Path path = tree_.enter(row);
    Request request;
    request.place = place_++;
    request.in_tokens = row.input_length;
    request.blocks = path.blocks;
    request.shared = path.known;
    request.hit_tokens =
        std::min<std::uint64_t>(request.shared * trace_.block_size, row.input_length);
    if (before_ == nullptr) {
        request.action = Action::first;
    } else if (request.blocks == 0) {
        request.action = Action::no_hash_ids;
    } else if (request.shared == 0) {
        request.action = Action::miss;
    } else {
        request.action = request.shared == request.blocks ? Action::hit : Action::partial_hit;
    }
    if (before_ != nullptr) {
        const auto now = trace_.ids_of(row);
        const auto then = trace_.ids_of(*before_);
        request.blocks_before = then.size();
        const auto end = std::mismatch(now.begin(), now.end(), then.begin(), then.end()).first;
        request.kept = row.name_space == before_->name_space
                           ? static_cast<std::uint64_t>(std::distance(now.begin(), end))
                           : 0;
        request.kept_tokens =
            std::min<std::uint64_t>(request.kept * trace_.block_size, row.input_length);
    }
    return request;
}

/// Blocks that some request before had, wherever.
void Simulation::count_set(const TraceRow& row) {
    const auto ids = trace_.ids_of(row);
    for (std::size_t at = 0; at < ids.size(); ++at) {
        const auto known = first_request_.try_emplace(
            std::uint64_t{row.name_space} << 32 | ids.number(at), sums_.requests);
        sums_.set_hits += known.first->second < sums_.requests ? 1 : 0;
        ++sums_.set_total;
    }
}

/// A rate with four decimals, 0 of nothing.
double rate(std::uint64_t part, std::uint64_t whole) {
    return whole == 0
               ? 0
               : std::nearbyint(static_cast<double>(part) / static_cast<double>(whole) * 10000) /
                     10000;
}

void write_sums(JsonWriter& json, const Sums& sums) {
    json.key("first").unsigned_integer(sums.actions[0]);
    json.key("hit").unsigned_integer(sums.actions[1]);
    json.key("partial_hit").unsigned_integer(sums.actions[2]);
    json.key("miss").unsigned_integer(sums.actions[3]);
    json.key("no_hash_ids").unsigned_integer(sums.actions[4]);
    json.key("hash_block_hit_tokens").unsigned_integer(sums.hit_tokens);
    json.key("hash_block_input_tokens").unsigned_integer(sums.input_tokens);
    json.key("hash_block_cache_hit_rate").number(rate(sums.hit_tokens, sums.input_tokens));
    json.key("set_cache_hit_blocks").unsigned_integer(sums.set_hits);
    json.key("set_cache_total_blocks").unsigned_integer(sums.set_total);
    json.key("set_cache_hit_rate").number(rate(sums.set_hits, sums.set_total));
}

void write_request(JsonWriter& json, const Request& request) {
    json.begin_object();
    json.key("req").unsigned_integer(request.place);
    json.key("action").string(action_names[static_cast<std::size_t>(request.action)]);
    json.key("in_tokens").unsigned_integer(request.in_tokens);
    json.key("hash_id_count").unsigned_integer(request.blocks);
    json.key("prev_hash_id_count").unsigned_integer(request.blocks_before);
    json.key("kept").unsigned_integer(request.kept);
    json.key("removed").unsigned_integer(request.blocks_before - request.kept);
    json.key("new").unsigned_integer(request.blocks - request.kept);
    json.key("kept_tokens").unsigned_integer(request.kept_tokens);
    json.key("full_reset").boolean(request.blocks_before > 0 && request.kept == 0);
    json.key("shared_prefix_with_any_prior").unsigned_integer(request.shared);
    json.key("hash_block_hit_tokens").unsigned_integer(request.hit_tokens);
    json.key("hash_block_miss_tokens").unsigned_integer(request.in_tokens - request.hit_tokens);
    json.end_object();
}

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

void append_hash_block_report(std::string& out, const Trace& trace, std::string_view origin) {
    std::vector<const TraceRow*> rows;
    for (const TraceRow& row : trace.rows) {
        rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(),
              [](const TraceRow* a, const TraceRow* b) { return a->index < b->index; });
    const std::vector<bool> is_sub_agent = sub_agents(trace);
    const bool one_file = trace.files.size() <= 1;
    std::vector<Request> requests;
    std::vector<Sums> files;
    std::size_t next = 0;
    for (std::size_t file = 0; file < std::max<std::size_t>(1, trace.files.size()); ++file) {
        const std::size_t end =
            file + 1 < trace.files.size() ? trace.files[file + 1].first_row : rows.size();
        Simulation simulation(trace, is_sub_agent);
        for (; next < rows.size() && (one_file || rows[next]->index < end); ++next) {
            simulation.add(*rows[next], one_file ? &requests : nullptr);
        }
        files.push_back(simulation.sums());
    }
    Sums all;
    for (const Sums& sums : files) {
        all.add(sums);
    }
    JsonWriter json(out);
    json.begin_object().key(one_file ? "trace" : "trace_dir").string(origin);
    json.key("mode").string("hash-block");
    if (one_file) {
        json.key("total_requests").unsigned_integer(all.requests);
        json.key("summary").begin_object();
        write_sums(json, all);
        json.end_object().key("requests").begin_array();
        for (const Request& request : requests) {
            write_request(json, request);
        }
    } else {
        json.key("num_traces").unsigned_integer(files.size());
        json.key("aggregate").begin_object();
        write_sums(json, all);
        json.key("total_requests").unsigned_integer(all.requests).end_object();
        json.key("per_trace").begin_array();
        for (std::size_t i = 0; i < files.size(); ++i) {
            json.begin_object().key("trace").string(file_name(trace.files[i].name));
            json.key("total_requests").unsigned_integer(files[i].requests);
            json.key("summary").begin_object();
            write_sums(json, files[i]);
            json.end_object().end_object();
        }
    }
    json.end_array().end_object();
    out += '\n';
}

}  // namespace driftless
