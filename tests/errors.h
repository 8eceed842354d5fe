// The text of the Error that a call throws, for tests of what users get to read.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nascent/core/error.h"

namespace nascent {

// A failure where it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace nascent
