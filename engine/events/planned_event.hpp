/// PlannedEvent: what a run does at an instant beside sending rows: a POST, a command, a label.
/// Values, made before time 0; nothing is resolved or formatted any more when it begins.
#pragma once

#include <cstdint>
#include <string>

#include "engine/io/address.hpp"
#include "engine/tls/context.hpp"
#include "proto/record/timed_event.hpp"

namespace driftless {

struct PlannedEvent {
    std::uint64_t number = 0;  ///< as given, from 0
    std::int64_t at_ns = 0;    ///< from time 0
    TimedEventKind kind = TimedEventKind::label;
    std::string what;  ///< URL, command line or label
    // Of a POST.
    Address address;
    TlsPeer* tls = nullptr;  ///< null: plain; outlives the run
    std::string request;     ///< the whole of it
};

}  // namespace driftless
