#include "cmd/help/asked_tables.hpp"

#include "proto/core/check.hpp"

namespace driftless {

namespace {

AskedTables* living = nullptr;

}  // namespace

AskedTables::AskedTables() {
    CHECK(living == nullptr);
    living = this;
}

AskedTables::~AskedTables() {
    living = nullptr;
}

AskedTables* AskedTables::current() {
    return living;
}

}  // namespace driftless
