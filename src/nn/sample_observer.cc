#include "nascent/nn/sample_observer.h"

namespace nascent {

namespace {

thread_local SampleObserver* current_observer = nullptr;

}  // namespace

SampleObserver* sample_observer() { return current_observer; }

SampleObserverScope::SampleObserverScope(SampleObserver& observer) : before_(current_observer) {
  current_observer = &observer;
}

SampleObserverScope::~SampleObserverScope() { current_observer = before_; }

}  // namespace nascent
