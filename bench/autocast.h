// LibTorch's own bf16.
#pragma once

#include <ATen/autocast_mode.h>

namespace nascent {

// While it lives, convolutions compute in bf16, and what follows takes what they give.
class AutocastScope {
 public:
  explicit AutocastScope(bool enabled) : enabled_(enabled) {
    if (!enabled_) return;
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(true);
    at::autocast::increment_nesting();
  }
  ~AutocastScope() {
    if (!enabled_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(false);
  }
  AutocastScope(const AutocastScope&) = delete;

 private:
  bool enabled_;
};

}  // namespace nascent
