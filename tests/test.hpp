/// GoogleTest, and what tests use of the standard library, in one include.
#pragma once

#include <gtest/gtest.h>

#include "tests/std.hpp"
