// The report's curves: every number that the events of a kind carry, drawn without knowing what it means.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/events.h"
#include "nascent/run/event_store.h"
#include "nascent/run/plot.h"

namespace nascent {

// A plot with its caption, as <figure>s are made of them.
struct Panel {
  std::string title;
  std::string by;  // what runs along the horizontal axis: "epoch", "step"
  Plot plot;
};

// Keys that end in "loss" share one panel, those that end in "top1" or "top5" another; every other key has its own.
std::vector<Panel> panels_of(const std::vector<Event>& events, const std::string& by);

// Panels as a grid of figures; where gnuplot is missing, `otherwise`.
std::string figures(const std::vector<Panel>& panels, const std::string& otherwise);

// Names and colours of curves; "" for a single one.
std::string legend(const std::vector<Curve>& curves);

// All curves of a run: by epoch, by step, and of whatever other kinds of events there are.
std::string curve_section(const EventStore& store);

}  // namespace nascent
