// The options that differ from what they are where nobody sets them.
//
//   for_changed_options(options, [](const std::string& flag, const Option& option, const Json& usual) { ... });
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

template <class Options, class Visit>
void for_changed_options(Options options, Visit visit) {
  Options defaults;
  OptionTable given, usual;
  options.declare(given);
  defaults.declare(usual);
  for (size_t i = 0; i < given.options().size(); ++i) {
    const Option& option = given.options()[i];
    const Json otherwise = usual.options()[i].value();
    if (option.value() != otherwise) visit(given.flag(option), option, otherwise);
  }
}

}  // namespace nascent
