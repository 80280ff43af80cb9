#include "proto/export/perfetto.hpp"

#include <protozero/pbf_writer.hpp>

namespace driftless {

namespace {

using protozero::pbf_writer;

// Numbers of fields, by message.
namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace trace_packet {
constexpr std::uint32_t timestamp = 8;
constexpr std::uint32_t trusted_packet_sequence_id = 10;
constexpr std::uint32_t track_event = 11;
constexpr std::uint32_t interned_data = 12;
constexpr std::uint32_t sequence_flags = 13;
constexpr std::uint32_t track_descriptor = 60;
}  // namespace trace_packet
namespace interned_data {
constexpr std::uint32_t debug_annotation_names = 3;
}
namespace debug_annotation_name {
constexpr std::uint32_t iid = 1;
constexpr std::uint32_t name = 2;
}  // namespace debug_annotation_name
namespace track_descriptor {
constexpr std::uint32_t uuid = 1;
constexpr std::uint32_t name = 2;
constexpr std::uint32_t parent_uuid = 5;
}  // namespace track_descriptor
namespace track_event {
constexpr std::uint32_t debug_annotations = 4;
constexpr std::uint32_t type = 9;
constexpr std::uint32_t track_uuid = 11;
constexpr std::uint32_t name = 23;
}  // namespace track_event
namespace debug_annotation {
constexpr std::uint32_t name_iid = 1;
constexpr std::uint32_t bool_value = 2;
constexpr std::uint32_t int_value = 4;
constexpr std::uint32_t double_value = 5;
constexpr std::uint32_t string_value = 6;
}  // namespace debug_annotation

// TrackEvent.Type
constexpr std::uint32_t type_slice_begin = 1;
constexpr std::uint32_t type_slice_end = 2;
constexpr std::uint32_t type_instant = 3;
// TracePacket.SequenceFlags
constexpr std::uint32_t incremental_state_cleared = 1;
constexpr std::uint32_t needs_incremental_state = 2;

/// Numbers of interned texts begin at 1.
std::uint64_t iid_of(std::size_t index) {
    return index + 1;
}

void add_argument(pbf_writer& event, const TraceArgument& argument) {
    pbf_writer annotation(event, track_event::debug_annotations);
    annotation.add_uint64(debug_annotation::name_iid, iid_of(argument.name));
    switch (argument.kind) {
        case ArgumentKind::integer:
            annotation.add_int64(debug_annotation::int_value, argument.integer);
            break;
        case ArgumentKind::number:
            annotation.add_double(debug_annotation::double_value, argument.number);
            break;
        case ArgumentKind::boolean:
            annotation.add_bool(debug_annotation::bool_value, argument.integer != 0);
            break;
        case ArgumentKind::text:
            annotation.add_string(debug_annotation::string_value, argument.text.data(),
                                  argument.text.size());
            break;
    }
}

}  // namespace

void PerfettoTrace::begin(std::span<const std::string_view> argument_names) {
    pbf_writer all(out_);
    pbf_writer packet(all, trace::packet);
    packet.add_uint32(trace_packet::trusted_packet_sequence_id, sequence_);
    packet.add_uint32(trace_packet::sequence_flags,
                      incremental_state_cleared | needs_incremental_state);
    pbf_writer interned(packet, trace_packet::interned_data);
    for (std::size_t i = 0; i < argument_names.size(); ++i) {
        pbf_writer name(interned, interned_data::debug_annotation_names);
        name.add_uint64(debug_annotation_name::iid, iid_of(i));
        name.add_string(debug_annotation_name::name, argument_names[i].data(),
                        argument_names[i].size());
    }
}

void PerfettoTrace::track(std::uint64_t uuid, std::uint64_t parent, std::string_view name) {
    pbf_writer all(out_);
    pbf_writer packet(all, trace::packet);
    packet.add_uint32(trace_packet::trusted_packet_sequence_id, sequence_);
    pbf_writer descriptor(packet, trace_packet::track_descriptor);
    descriptor.add_uint64(track_descriptor::uuid, uuid);
    if (parent != 0) {
        descriptor.add_uint64(track_descriptor::parent_uuid, parent);
    }
    descriptor.add_string(track_descriptor::name, name.data(), name.size());
}

void PerfettoTrace::event(std::uint32_t type, std::uint64_t track, std::int64_t at_ns,
                          std::string_view name, std::span<const TraceArgument> arguments) {
    pbf_writer all(out_);
    pbf_writer packet(all, trace::packet);
    packet.add_uint64(trace_packet::timestamp, static_cast<std::uint64_t>(at_ns));
    packet.add_uint32(trace_packet::trusted_packet_sequence_id, sequence_);
    packet.add_uint32(trace_packet::sequence_flags, needs_incremental_state);
    pbf_writer event(packet, trace_packet::track_event);
    event.add_enum(track_event::type, static_cast<std::int32_t>(type));
    event.add_uint64(track_event::track_uuid, track);
    if (!name.empty()) {
        event.add_string(track_event::name, name.data(), name.size());
    }
    for (const TraceArgument& argument : arguments) {
        add_argument(event, argument);
    }
}

void PerfettoTrace::slice_begin(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                                std::span<const TraceArgument> arguments) {
    event(type_slice_begin, track, at_ns, name, arguments);
}

void PerfettoTrace::slice_end(std::uint64_t track, std::int64_t at_ns) {
    event(type_slice_end, track, at_ns, "", {});
}

void PerfettoTrace::instant(std::uint64_t track, std::int64_t at_ns, std::string_view name,
                            std::span<const TraceArgument> arguments) {
    event(type_instant, track, at_ns, name, arguments);
}

}  // namespace driftless
