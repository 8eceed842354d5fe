// A folder of its own for each test of tables, and small tables to look things up in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "errors.h"
#include "nascent/core/files.h"
#include "nascent/table/benchmark_table.h"
#include "nascent/table/table_builder.h"
#include "temporary_folder.h"

namespace nascent {

class TableTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file(path(name), text);
    return path(name);
  }

  // The folder of real data, or a loud skip.
  static std::string real_data() {
    const char* folder = std::getenv("NASCENT_DATA");
    return folder == nullptr ? "" : folder;
  }

  // NAS-Bench-201 with made-up results that are easy to reason about: validation is `quality` of the space's index.
  template <class Quality>
  BenchmarkTable made_up(Quality quality) const {
    TableBuilder builder(find_space("nasbench201"), "made up");
    for (double i = 0; i < builder.space().count(); ++i) {
      const size_t row = builder.add(builder.space().at(i), -1);
      const double accuracy = quality(builder.space().at(i));
      builder.set(row, {.data = "toy", .quantity = "valid", .budget = Budget(4, 12)}, accuracy / 2);
      builder.set(row, {.data = "toy", .quantity = "valid", .budget = Budget(12)}, accuracy);
      builder.set(row, {.data = "toy", .quantity = "test", .budget = Budget(12)}, accuracy);
      builder.set(row, {.data = "toy", .quantity = "train_seconds", .budget = Budget(12)}, 120);
    }
    builder.write(path("made-up.table"));
    return BenchmarkTable(path("made-up.table"));
  }

 private:
  TemporaryFolder folder_;
};

inline Genotype nb201(const std::string& text) { return parse_genotype(text, "nasbench201"); }

}  // namespace nascent
