// Benchmark results from the forms they are published in.
#pragma once

#include <filesystem>
#include <string>

#include "nascent/table/table_builder.h"

namespace nascent {

// A CSV or JSON file, a file of validations (.scores), or a folder of NATS-Bench "simple" records, by what it is.
// `space` names the search space; "" takes that of the first architecture. An Error names the place that is wrong.
TableBuilder import_table(const std::filesystem::path& source, const std::string& space = "");

// One row per architecture. CSV: a header of column names; JSON: an array of objects, or an object of objects by
// architecture. "arch" is the architecture in any text form, "index" its number in the benchmark's own order
// (optional), the others are names of measures (table/measure.h). Empty fields and nulls are missing values.
TableBuilder import_csv(const std::filesystem::path& file, const std::string& space = "");
TableBuilder import_json(const std::filesystem::path& file, const std::string& space = "");

// What strategies validated by training, from the file that keeps it: accuracy and time after each number of epochs.
TableBuilder import_validations(const std::filesystem::path& file, const std::string& space = "");

// NATS-Bench's topology search space: NNNNNN.pickle.pbz2, one per architecture. What is kept: by seed, accuracies after
// each schedule and validation accuracies after every epoch of the shortest one; training and evaluation times,
// latency, multiply-adds, parameters.
TableBuilder import_nats(const std::filesystem::path& folder);

}  // namespace nascent
